//! Prices of tokens.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use guildhall_agent::{Usage, Wire};
use guildhall_kernel::Msat;
use guildhall_models::{
    ALIASES, BaseUrl, Chosen, Endpoint, Key, LOCAL_PRICE, Price, PriceBook, REPLY_TOKENS_MAX, Rate, Seller, Usd, choose,
};

/// The middle of November 2026.
fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_794_700_000)
}

fn book(rate: &str) -> PriceBook {
    PriceBook::new(Rate::parse(rate).unwrap(), now())
}

fn anthropic() -> Seller {
    Seller::Provider("anthropic".into())
}

fn msat(msat: u64) -> Msat {
    Msat::new(msat).unwrap()
}

fn usd(text: &str) -> Usd {
    Usd::parse(text).unwrap()
}

#[test]
fn a_cached_call_costs_what_a_calculation_by_hand_gives() {
    let usage = Usage { input: 10_000, cache_read: 8_000, cache_write: 1_000, output: 1_000 };
    // 1000 × 5 + 8000 × 0.5 + 1000 × 6.25 + 1000 × 25 dollars per million are 0.04025 dollars.
    let cost = |rate: &str| book(rate).cost(&anthropic(), "claude-opus-4-5", &usage).unwrap();
    assert_eq!(cost("100000"), msat(40_250));
    // At this rate the exact result is 45175.084… msat.
    assert_eq!(cost("89097.8"), msat(45_176));
}

#[test]
fn the_error_of_a_float_costs_nothing() {
    let usage = Usage { input: 10_000, output: 1_000, ..Usage::default() };
    assert_eq!(book("100000").cost(&anthropic(), "claude-opus-4-5", &usage), Ok(msat(75_000)));
    assert_eq!(book("100000").cost(&anthropic(), "claude-opus-4-5", &Usage::default()), Ok(Msat::ZERO));
    let one = Usage { input: 1, ..Usage::default() };
    assert_eq!(book("100000000").cost(&anthropic(), "claude-opus-4-5", &one), Ok(msat(1)));
}

#[test]
fn impossible_usage_costs_at_most_the_supply_and_never_panics() {
    let all = Usage { input: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX, output: u64::MAX };
    let book = book("0.000000001")
        .with_price("expensive", Price::flat(Usd::from_nanos(u64::MAX.into()), Usd::from_nanos(u64::MAX.into())));
    assert_eq!(book.cost(&anthropic(), "claude-opus-4-5", &all), Ok(Msat::SUPPLY));
    assert_eq!(book.cost(&anthropic(), "expensive", &all), Ok(Msat::SUPPLY));
    assert_eq!(book.cost(&Seller::Local, "x", &all), Ok(Msat::SUPPLY));
}

#[test]
fn an_unknown_model_is_an_error_and_never_free() {
    let error = book("100000").cost(&anthropic(), "claude-nonesuch", &Usage::default()).unwrap_err();
    assert_eq!(error.to_string(), "no price is known for the model \"claude-nonesuch\" of anthropic");
    assert_eq!(book("100000").tariff(&anthropic(), "claude-nonesuch"), Err(error));
}

#[test]
fn a_price_in_the_config_replaces_all_other_prices() {
    let price = Price { input: usd("1"), cache_read: usd("0.1"), cache_write: usd("2"), output: usd("4") };
    let book = book("100000").with_price("claude-nonesuch", price).with_price("llama", price);
    let usage = Usage { input: 1_000_000, cache_read: 500_000, cache_write: 250_000, output: 1_000_000 };
    // 0.25 + 0.05 + 0.5 + 4 dollars.
    assert_eq!(book.cost(&anthropic(), "claude-nonesuch", &usage), Ok(msat(4_800_000)));
    assert_eq!(book.cost(&Seller::Local, "llama", &usage), Ok(msat(4_800_000)));
    let tariff = book.tariff(&Seller::Local, "llama").unwrap();
    assert_eq!((tariff.input, tariff.output), (msat(2_000_000), msat(4_000_000)));
    let text = serde_json::to_string(&price).unwrap();
    assert_eq!(text, r#"{"input":"$1.00","cache_read":"$0.10","cache_write":"$2.00","output":"$4.00"}"#);
    assert_eq!(serde_json::from_str::<Price>(&text).unwrap(), price);
}

#[test]
fn a_tariff_is_never_below_the_cost_of_a_call() {
    let book = book("91234.56");
    for (_, model) in ALIASES {
        let tariff = book.tariff(&anthropic(), model).unwrap();
        assert_eq!(tariff.max_tokens, REPLY_TOKENS_MAX);
        for input in [0, 1, 999, 99_999, 100_001, 250_000, 1_000_000] {
            for (cache_read, cache_write) in [(0, 0), (input, 0), (0, input), (input / 2, input / 2)] {
                let usage = Usage { input, cache_read, cache_write, output: 8192 };
                let cost = book.cost(&anthropic(), model, &usage).unwrap();
                assert!(cost <= tariff.ceiling(input, 8192), "{model} {usage:?}");
            }
        }
    }
}

#[test]
fn a_limit_on_prompts_removes_the_expensive_tiers() {
    let long = book("100000").tariff(&anthropic(), "claude-haiku-5-5").unwrap();
    let short = book("100000").with_prompt_max(100_000).tariff(&anthropic(), "claude-haiku-5-5").unwrap();
    assert_eq!((long.input, long.output), (msat(625_000), msat(2_500_000)));
    assert_eq!((short.input, short.output), (msat(125_000), msat(500_000)));
}

#[test]
fn local_servers_have_a_low_tariff_and_other_sellers_are_found_by_url() {
    let at = |url: &str, key: Option<&str>| {
        Endpoint::new(BaseUrl::parse(url).unwrap(), key.map(|key| Key::new(key).unwrap()), "m")
    };
    let seller = |wire, url: &str, key| Seller::of(wire, &at(url, key));
    let provider = |name: &str| Seller::Provider(name.into());
    assert_eq!(seller(Wire::OpenAi, "http://127.0.0.1:11434", None), Seller::Local);
    assert_eq!(seller(Wire::OpenAi, "http://127.0.0.1:11434", Some("k")), provider("openai"));
    assert_eq!(seller(Wire::OpenAi, "https://api.openai.com/v1", Some("k")), provider("openai"));
    assert_eq!(seller(Wire::OpenAi, "https://openrouter.ai/api/v1", Some("k")), provider("openrouter"));
    assert_eq!(seller(Wire::OpenAi, "https://api.groq.com/openai/v1", Some("k")), provider("groq"));
    assert_eq!(seller(Wire::Anthropic, "https://proxy.example", Some("k")), provider("anthropic"));
    let tariff = book("100000").tariff(&Seller::Local, "anything").unwrap();
    assert_eq!((tariff.input, tariff.output), (msat(100_000), msat(400_000)));
    assert!(LOCAL_PRICE.input > Usd::default() && LOCAL_PRICE.output > Usd::default());
}

#[test]
fn the_aliases_are_models_of_the_price_table() {
    for (alias, model) in ALIASES {
        assert_eq!(choose(alias), Chosen::Model(model.to_owned()));
        assert!(book("100000").listed("anthropic").iter().any(|listed| listed.model == model), "{model}");
    }
    assert_eq!(choose(" INHERIT "), Chosen::Inherit);
    assert_eq!(choose(""), Chosen::Inherit);
    assert_eq!(choose("claude-opus-4-5"), Chosen::Model("claude-opus-4-5".into()));
}

#[test]
fn known_models_are_listed_with_their_prices() {
    let listed = book("100000").listed("anthropic");
    let sonnet = listed.iter().find(|listed| listed.model == "claude-sonnet-5-5").unwrap();
    let price = Price { input: usd("2"), cache_read: usd("0.1"), cache_write: usd("2.5"), output: usd("10") };
    assert_eq!((sonnet.price, sonnet.window), (price, Some(1_000_000)));
    let openai = book("100000").listed("openai");
    assert!(openai.len() > 20 && openai.iter().all(|listed| listed.price.output > Usd::default()));
    assert!(openai.iter().all(|listed| !listed.model.contains("embedding")));
    assert_eq!(book("100000").listed("nobody"), []);
}

#[test]
fn dollars_and_rates_are_read_and_written_exactly() {
    assert_eq!(usd("0.000000001").nanos(), 1);
    assert_eq!(usd("12").to_string(), "$12.00");
    assert_eq!(usd("0.1234").to_string(), "$0.1234");
    for text in ["", "-1", "1e3", "0.0000000001", "1.2.3", ".5", "NaN", "99999999999999999999", "1,5"] {
        assert!(Usd::parse(text).is_err(), "{text}");
    }
    assert!(Rate::parse("0").is_err());
    let rate = Rate::parse("91234.56").unwrap();
    assert_eq!(rate.to_usd(rate.to_msat(usd("0.25"))).to_string(), "$0.250000028");
    assert_eq!(rate.to_usd(Msat::SUPPLY).to_string(), "$1915925760000.00", "more than 2^64 billionths of a dollar");
    assert_eq!(rate.to_usd(Msat::ZERO).to_string(), "$0.00");
    assert_eq!(serde_json::to_string(&rate.to_usd(Msat::from_sat(1).unwrap())).unwrap(), "\"$0.000912345\"");
    assert_eq!(serde_json::from_str::<Rate>("\"91234.56\"").unwrap(), rate);
}
