//! A model that can't be used: the error says what to type instead, and invents no price.

use serde_json::json;

use crate::crew::{assert_has, assert_lacks};
use crate::house::{House, Running, Wire, says};

fn house() -> House {
    House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]))
}

/// The error for a model, with the key of Anthropic alone and the maker's own address.
fn refused(house: &House, model: &str) -> String {
    let mut command = house.command(&["run", "When?", "--yes", "--model", model]);
    command.env_remove("ANTHROPIC_BASE_URL");
    let ended = Running::start(command, "").end().expect(2);
    assert_lacks(&ended.stderr, &["0.50", "1.50", "input ="]);
    ended.stderr
}

#[test]
fn a_mistyped_model_is_an_error_with_the_nearest_name() {
    let house = house();
    assert_has(&refused(&house, "sonet"), &["no model is named \"sonet\". Did you mean sonnet?"]);
    assert_has(&refused(&house, "claude-sonet-4-5"), &["Did you mean claude-sonnet-4-5?"]);
    assert_has(&refused(&house, "rehersal"), &["Did you mean rehearsal?"]);
    assert_eq!(house.requests().len(), 0);
}

#[test]
fn a_model_of_another_provider_is_an_error_with_the_provider_and_its_key() {
    let house = house();
    assert_has(&refused(&house, "gpt-5"), &["openai", "set OPENAI_API_KEY"]);
    assert_has(&refused(&house, "gemini-2.5-pro"), &["is sold by google, which is not set up", "[providers.google]"]);
    // At a proxy of Anthropic, too, which does not sell the model.
    let ended = house.guildhall(&["run", "When?", "--yes", "--model", "gpt-5"]).expect(2);
    assert_has(&ended.stderr, &["\"gpt-5\" is sold by openai, which is not set up here: set OPENAI_API_KEY"]);
}

#[test]
fn a_model_that_nobody_is_known_to_sell_needs_a_price_and_none_is_invented() {
    let house = house();
    let error = refused(&house, "corner-shop-13b");
    assert_has(
        &error,
        &["no price is known for the model \"corner-shop-13b\"", "[prices.\"corner-shop-13b\"]", "dollars"],
    );
}

#[test]
fn a_provider_that_can_not_be_reached_is_named_with_its_address() {
    let house = house();
    let mut command = house.command(&["run", "When?", "--yes"]);
    command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let ended = Running::start(command, "").end().expect(5);
    assert_has(&ended.stderr, &["anthropic can't be reached: no connection to 127.0.0.1:9: "]);
}
