//! The price table gives the same prices as `genai-prices`, from whose data it is made: for every name that the data knows, at
//! every time and in every tier.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use genai_prices::{Calculator, ModelInfo, PriceRequest, ProviderInfo, UsageKey};
use guildhall_agent::{Usage, Wire};
use guildhall_kernel::Msat;
use guildhall_models::{BaseUrl, Endpoint, Key, PriceBook, Rate, Seller};
use serde_json::Value;

/// The table, read without the code under test.
const TABLE: &str = include_str!("../../src/price/table.jsonl");

/// A part of a name that several rules exclude.
const SPEECH: &str = "-tts";

/// At this rate, a millisatoshi is a billionth of a dollar.
fn book(at: SystemTime) -> PriceBook {
    PriceBook::new(Rate::parse("100").unwrap(), at)
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Before and after all dates of the table, at each of its dates, and at the beginning, in the middle and at the end of each
/// time of day.
fn times() -> Vec<SystemTime> {
    let [dates, begins, ends] = ["from_s", "from_s_of_day", "until_s_of_day"].map(numbers);
    let last = dates.last().copied().unwrap_or_default() + 90 * 86_400;
    let of_day = begins.iter().chain(&ends).flat_map(|second| [last + second - 1, last + second]);
    let around = dates.iter().flat_map(|date| [date - 1, *date]);
    [1, last].into_iter().chain(around).chain(of_day).map(at).collect()
}

/// All numbers under a key of a price.
fn numbers(key: &str) -> BTreeSet<u64> {
    let lines = TABLE.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let prices = lines.flat_map(|line| line["prices"].as_array().cloned().unwrap_or_default());
    prices.filter_map(|price| price[key].as_u64()).collect()
}

/// The providers, each with the names in the rules of its models.
fn providers() -> Vec<(String, BTreeSet<String>)> {
    let mut providers: Vec<(String, BTreeSet<String>)> = Vec::new();
    for line in TABLE.lines().skip(1) {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(provider) = line["provider"].as_str() {
            providers.push((provider.to_owned(), BTreeSet::new()));
        } else {
            let names = &mut providers.last_mut().unwrap().1;
            names.insert(line["id"].as_str().unwrap().to_owned());
            collect(&line["match"], names);
        }
    }
    providers
}

/// Adds the texts of a rule, and for a pattern a text that matches it.
fn collect(rule: &Value, names: &mut BTreeSet<String>) {
    match rule {
        Value::String(text) if text.starts_with('^') => {
            let digits = [(r"\d{8}", "20260102"), (r"\d{4}", "2026"), (r"\d{2}", "11"), (r"\d", "1"), ("[-@]", "@")];
            let text = digits.iter().fold(text.clone(), |text, (class, example)| text.replace(class, example));
            names.insert(text.replace(['^', '$', '\\'], ""));
        }
        Value::String(text) => drop(names.insert(text.clone())),
        Value::Array(rules) => rules.iter().for_each(|rule| collect(rule, names)),
        Value::Object(rules) => rules.values().for_each(|rule| collect(rule, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Compares the cost of a usage. Returns whether the model has a price.
fn check(provider: &str, model: &str, usage: Usage, at: SystemTime) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let tokens = genai_prices::Usage::from([
        (UsageKey::INPUT_TOKENS, usage.input as f64),
        (UsageKey::CACHE_READ_TOKENS, usage.cache_read as f64),
        (UsageKey::CACHE_WRITE_TOKENS, usage.cache_write as f64),
        (UsageKey::OUTPUT_TOKENS, usage.output as f64),
    ]);
    let request = PriceRequest::new(model, &tokens).with_provider_id(provider).with_timestamp(at);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
    let expected = Calculator::bundled().calculate(&request).ok().map(|found| (found.total_price * 1e9).round() as u64);
    let found = book(at).cost(&Seller::Provider(provider.to_owned()), model, &usage).ok().map(Msat::get);
    assert_eq!(found, expected, "{provider} {model:?} {usage:?} at {at:?}");
    found.is_some()
}

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, cache_read: input / 3, cache_write: input / 7, output }
}

#[test]
fn every_known_name_has_the_price_of_the_data_at_every_time_and_in_every_tier() {
    let times = times();
    for (provider, names) in providers() {
        for name in &names {
            for at in &times {
                check(&provider, name, usage(999, 1001), *at);
            }
            for prompt in [1, 128_001, 200_001, 256_001, 1_000_001] {
                check(&provider, name, usage(prompt, 0), times[1]);
                check(&provider, name, Usage { input: prompt, ..Usage::default() }, times[1]);
                check(&provider, name, usage(prompt, 77), times[1]);
            }
        }
    }
}

#[test]
fn similar_names_are_found_or_unknown_as_in_the_data() {
    let at = times()[1];
    let (mut known, mut unknown) = (0, 0);
    let providers = providers();
    for (provider, names) in &providers {
        // Other providers' names as well: some providers sell the models of others.
        let others = providers.iter().flat_map(|(_, names)| names.iter().step_by(17));
        for name in names.iter().chain(others) {
            let long = format!("{name}-20260229{SPEECH}");
            let similar = [
                name.to_uppercase(),
                format!("{name}-latest"),
                format!("my-{name}"),
                format!("{name}{SPEECH}"),
                format!("{name}-20260102"),
                format!("{name}-20260102:free"),
                name.replace("-2026-", "-2026"),
                long,
            ];
            for name in similar {
                let is_known = check(provider, &name, usage(999, 1001), at);
                (known, unknown) = if is_known { (known + 1, unknown) } else { (known, unknown + 1) };
            }
        }
    }
    assert!(known > 2000 && unknown > 2000, "{known} known and {unknown} unknown names");
}

#[test]
fn windows_and_lists_of_models_are_those_of_the_data() {
    let now = times()[1];
    for provider in Calculator::bundled().providers() {
        let seller = Seller::Provider(provider.id().to_owned());
        let listed = book(now).listed(provider.id());
        let mut models = provider.models();
        for model in &listed {
            let data =
                models.find(|data| data.id() == model.model).unwrap_or_else(|| panic!("{} is missing", model.model));
            assert_eq!(model.window, data.context_window(), "{}", data.id());
        }
        for id in provider.models().map(ModelInfo::id) {
            let usage = genai_prices::Usage::new();
            let request = PriceRequest::new(id, &usage).with_provider_id(provider.id()).with_timestamp(now);
            // The first model whose names include this id may be another one. If it is another provider's, its window is known
            // only to the table.
            let found = Calculator::bundled().calculate(&request).map(|found| found.model_id);
            if let Some(model) = found.ok().and_then(|found| provider.models().find(|model| model.id() == found)) {
                assert_eq!(book(now).window(&seller, id), model.context_window(), "{} {id}", provider.id());
            }
        }
    }
}

#[test]
fn providers_are_found_by_url_as_in_the_data() {
    let urls = [
        "https://api.anthropic.com",
        "https://api.anthropic.com.example/v1",
        "https://bedrock-runtime.eu-west-1.amazonaws.com",
        "https://bedrock-runtime.amazonaws.com/v1",
        "https://mine.openai.azure.com/openai/v1",
        "https://a.b.openai.azure.com/openai/v1",
        "https://api.cohere.com/v2",
        "https://api.cohere.net/v2",
        "https://adb-1.cloud.databricks.com/serving-endpoints",
        "https://adb-1.cloud.databricks.com/other",
        "https://api.eu.residency.elevenlabs.io/v1",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://example.com/x.googleapis.com",
        "https://googleapis.com",
        "https://api.groq.com/openai/v1",
        "https://router.huggingface.co/groq/v1",
        "https://router.huggingface.co/nobody/v1",
        "https://api.minimaxi.com/v1",
        "https://api.minimax.io/v1",
        "https://me--app.modal.run/v1",
        "https://api.moonshot.cn/v1",
        "https://api.openai.com/v1",
        "https://openrouter.ai/api/v1",
        "https://api.openrouter.ai/v1",
        "https://api.x.ai/v1",
        "https://api.example.com/v1",
        "https://api.arcee.ai",
        "https://api.arcee.aix",
        "http://api.openai.com/v1",
    ];
    let mut found = 0;
    for url in urls {
        let Ok(base) = BaseUrl::parse(url) else { continue };
        let url = base.as_str().to_owned();
        let seller = Seller::of(Wire::OpenAi, &Endpoint::new(base, Some(Key::new("k").unwrap()), "m"));
        let expected = Calculator::bundled().find_provider(None, Some(&url)).unwrap().map(ProviderInfo::id);
        assert_eq!(seller, Seller::Provider(expected.unwrap_or("openai").to_owned()), "{url}");
        found += usize::from(expected.is_some());
    }
    assert!(found > 15, "only {found} URLs are known");
}
