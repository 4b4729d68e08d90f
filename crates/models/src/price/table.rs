//! The price table, made from the data of `genai-prices` by `cargo xtask prices`. It is read one provider at a time, when the
//! first price of the provider is needed. The table calculates in floats; this module converts them to integers.

use std::sync::{LazyLock, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use guildhall_agent::{Usage, Usd};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::book::Calculated;
use super::rule::Rule;

/// One line for each provider, followed by one line for each of its models. The first line names the source.
const TABLE: &str = include_str!("table.jsonl");

/// The beginning of a provider's line.
const PROVIDER: &str = "{\"provider\":";

/// The limit on token counts. Floats are exact up to here.
const TOKENS_MAX: u64 = 1 << 53;

const TOKENS_PER_PRICE: f64 = 1e6;
const REQUESTS_PER_PRICE: f64 = 1e3;
const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// A provider. The order of providers, and of the models of each, decides which one is found first.
struct Provider {
    header: Header,
    /// The lines of its models.
    lines: &'static str,
    models: OnceLock<Vec<Model>>,
}

#[derive(Deserialize)]
struct Header {
    provider: String,
    url: Rule,
    /// The providers whose models are sold as well.
    #[serde(default)]
    fallbacks: Vec<String>,
}

/// A model of the table.
#[derive(Deserialize)]
struct Model {
    id: String,
    /// The size of the model's window in tokens, if known.
    window: Option<u64>,
    #[serde(rename = "match")]
    names: Rule,
    /// The last one that applies counts.
    prices: Vec<Prices>,
}

/// The prices of a model, in dollars, and when they apply.
#[derive(Deserialize)]
struct Prices {
    /// The start, in seconds since 1970.
    from_s: Option<u64>,
    /// The start on every day, in seconds since midnight UTC.
    from_s_of_day: Option<u64>,
    until_s_of_day: Option<u64>,
    cache_read: Option<Rate>,
    cache_write: Option<Rate>,
    input: Option<Rate>,
    output: Option<Rate>,
    thousand_requests: Option<Rate>,
}

/// A price per million tokens, or per thousand requests.
#[derive(Deserialize)]
#[serde(untagged)]
enum Rate {
    Flat(f64),
    /// For prompts with more tokens than a tier's first number, its second number is the price. The last such tier counts.
    Tiered {
        base: f64,
        tiers: Vec<(u64, f64)>,
    },
}

static PROVIDERS: LazyLock<Vec<Provider>> = LazyLock::new(|| {
    let starts = TABLE.match_indices(PROVIDER).map(|(at, _)| at);
    let ends = starts.clone().skip(1).chain([TABLE.len()]);
    let provider = |(start, end): (usize, usize)| {
        let (header, lines) = TABLE[start..end].split_once('\n').expect("each provider of the table has a line");
        Provider { header: read(header), lines, models: OnceLock::new() }
    };
    starts.zip(ends).map(provider).collect()
});

fn read<T: DeserializeOwned>(line: &str) -> T {
    serde_json::from_str(line).expect("a test reads every line of the table")
}

impl Provider {
    fn models(&self) -> &[Model] {
        self.models.get_or_init(|| self.lines.lines().map(read).collect())
    }
}

/// Returns the provider at a URL, if the table knows the URL.
pub(super) fn provider_at(url: &str) -> Option<&'static str> {
    PROVIDERS.iter().find(|provider| provider.header.url.matches(url)).map(|provider| provider.header.provider.as_str())
}

/// Returns the providers that sell a model, the makers of the two protocols first. Other providers count only for a name exactly
/// as in the table, because they know their models by parts of names.
pub(super) fn sellers_of(model: &str) -> Vec<&'static str> {
    let makers = ["anthropic", "openai"];
    let makers_of = makers.into_iter().filter(|maker| find(maker, model).is_some());
    let others = PROVIDERS.iter().filter(|provider| !makers.contains(&provider.header.provider.as_str()));
    let others = others.filter(|provider| provider.models().iter().any(|sold| sold.id == model));
    makers_of.chain(others.map(|provider| provider.header.provider.as_str())).collect()
}

fn provider(id: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.header.provider == id)
}

/// Returns a provider's models, each with its window, in the table's order.
pub(super) fn models_of(id: &str) -> impl Iterator<Item = (&'static str, Option<u64>)> + use<> {
    provider(id).into_iter().flat_map(Provider::models).map(|model| (model.id.as_str(), model.window))
}

/// Returns the size of a model's window in tokens, if the table has it.
pub(super) fn window(provider: &str, model: &str) -> Option<u64> {
    find(provider, model)?.window
}

/// Returns the cost of a usage at a point in time, if the table knows the model.
pub(super) fn cost(provider: &str, model: &str, usage: &Usage, at: SystemTime) -> Option<Calculated> {
    let at_s = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let prices = &find(provider, model)?.prices;
    prices.iter().rev().find(|prices| prices.apply(at_s)).or(prices.first())?.cost(usage)
}

/// Finds a model by one of its names.
fn find(provider_id: &str, model: &str) -> Option<&'static Model> {
    let (provider, name) = (provider(provider_id)?, model.to_lowercase());
    find_exactly(provider, &name).or_else(|| find_exactly(provider, &with_long_dates(&name)?))
}

fn find_exactly(selected: &'static Provider, name: &str) -> Option<&'static Model> {
    let fallbacks = selected.header.fallbacks.iter().filter_map(|id| provider(id));
    let mut providers = std::iter::once(selected).chain(fallbacks);
    providers.find_map(|provider| provider.models().iter().find(|model| model.names.matches(name)))
}

/// Writes each date `-20251211` in a name as `-2025-12-11`, the form of the table. Returns `None` if there is no such date.
fn with_long_dates(name: &str) -> Option<String> {
    let written = |part: &str| {
        if part.split(':').next().is_some_and(is_date) {
            format!("{}-{}-{}", &part[..4], &part[4..6], &part[6..])
        } else {
            part.to_owned()
        }
    };
    let (first, rest) = name.split_once('-')?;
    let written = rest.split('-').map(written).fold(first.to_owned(), |name, part| format!("{name}-{part}"));
    (written != name).then_some(written)
}

/// Whether a text is a date of this century, `YYYYMMDD`.
fn is_date(text: &str) -> bool {
    let is_number = text.len() == 8 && text.starts_with("20") && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |range: std::ops::Range<usize>| text.get(range).and_then(|digits| digits.parse::<u32>().ok());
    let (true, Some(year), Some(month), Some(day)) = (is_number, number(0..4), number(4..6), number(6..8)) else {
        return false;
    };
    let days = match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

impl Prices {
    fn apply(&self, at_s: u64) -> bool {
        let second = at_s % SECONDS_PER_DAY;
        let has_begun = self.from_s.is_none_or(|from| at_s >= from);
        let is_in_day = match (self.from_s_of_day, self.until_s_of_day) {
            (Some(from), Some(until)) if until < from => second >= from || second < until,
            (from, until) => from.is_none_or(|from| second >= from) && until.is_none_or(|until| second < until),
        };
        has_begun && is_in_day
    }

    /// Returns the cost of a usage. A cache without a price of its own costs as much as other input.
    fn cost(&self, usage: &Usage) -> Option<Calculated> {
        let all = usage.input.min(TOKENS_MAX);
        let cache_read = usage.cache_read.min(all);
        let cache_write = usage.cache_write.min(all - cache_read);
        let cost = |rate: &Option<Rate>, tokens: u64| rate.as_ref().map(|rate| rate.cost(tokens, all));
        let read = cost(&self.cache_read, cache_read);
        let written = cost(&self.cache_write, cache_write);
        let in_cache = read.map_or(0, |_| cache_read) + written.map_or(0, |_| cache_write);
        let plain = cost(&self.input, all - in_cache);
        let input = read.unwrap_or(0.0) + written.unwrap_or(0.0) + plain.unwrap_or(0.0);
        let output = cost(&self.output, usage.output.min(TOKENS_MAX)).unwrap_or(0.0);
        let request = self.thousand_requests.as_ref().map_or(0.0, |rate| rate.at(1, all) / REQUESTS_PER_PRICE);
        Some(Calculated {
            input: from_float(input)?,
            output: from_float(output)?,
            total: from_float(request + (input + output))?,
        })
    }
}

impl Rate {
    /// Returns the price for this many tokens of a prompt of this length.
    fn at(&self, tokens: u64, prompt: u64) -> f64 {
        match self {
            Rate::Flat(price) => *price,
            Rate::Tiered { base, tiers } => {
                let reached = tiers.iter().rev().find(|(start, _)| tokens > 0 && prompt > *start);
                reached.map_or(*base, |(_, price)| *price)
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "at most TOKENS_MAX, up to which floats are exact")]
    fn cost(&self, tokens: u64, prompt: u64) -> f64 {
        self.at(tokens, prompt) * tokens as f64 / TOKENS_PER_PRICE
    }
}

/// Rounds a float of the price table to the nearest billionth. The float's error is smaller than that, and rounding up here would
/// charge for the error. A too large float becomes the largest amount; a negative one or NaN becomes `None`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked, and it saturates")]
fn from_float(dollars: f64) -> Option<Usd> {
    (dollars >= 0.0).then_some(Usd::from_nanos((dollars * 1e9).round() as u128))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_can_be_read_and_every_pattern_compiles() {
        for provider in &*PROVIDERS {
            provider.header.url.compile();
            provider.models().iter().for_each(|model| model.names.compile());
        }
        let lines = PROVIDERS.iter().map(|provider| 1 + provider.models().len()).sum::<usize>();
        assert_eq!((PROVIDERS.len(), lines), (47, TABLE.lines().count() - 1));
    }

    #[test]
    fn short_dates_are_written_as_long_dates() {
        let check = |name, expect: Option<&str>| assert_eq!(with_long_dates(name).as_deref(), expect, "{name}");
        check("gpt-5.2-20251211", Some("gpt-5.2-2025-12-11"));
        check("model-20251211:free", Some("model-2025-12-11:free"));
        check("a-20251211-20240229-b", Some("a-2025-12-11-2024-02-29-b"));
        for name in ["", "model", "20251211", "model-20250230", "model-202512110", "model-2025121", "model-2025121é"] {
            check(name, None);
        }
    }
}
