//! The quote after a rehearsal.

use serde_json::{Value, json};

use crate::house::{House, Wire, msat, says};

#[test]
fn a_rehearsal_ends_with_a_quote_and_other_work_does_not() {
    let house = House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]));
    let rehearsed = house.run(&["--model", "rehearsal"]).expect(0).json();
    let quotes = rehearsed["quote"].as_array().unwrap();
    let models: Vec<&str> = quotes.iter().filter_map(|quote| quote["model"].as_str()).collect();
    assert!(models.len() == 2 && models[0].contains("haiku") && models[1].contains("sonnet"), "{models:?}");
    let least: Vec<u64> = quotes.iter().map(|quote| msat(&quote["at_least"])).collect();
    assert!(0 < least[0] && least[0] < least[1], "{least:?}");
    assert!(quotes.iter().all(|quote| quote["estimate"] == Value::Bool(true)), "{quotes:?}");
    house
        .guildhall(&["run", "When is the meeting?", "--model", "rehearsal"])
        .expect(0)
        .says("quote, an estimate")
        .says("at least");
    assert_eq!(house.requests().len(), 0);
    assert_eq!(house.run(&[]).expect(0).json()["quote"], json!([]));
}
