//! The price table of `genai-prices`. It calculates in floats; this module converts them to integers.

use std::time::SystemTime;

use genai_prices::{Calculator, PriceRequest, UsageKey};
use guildhall_agent::{Usage, Usd};

use super::book::Calculated;

/// The limit on token counts. Floats are exact up to here.
const TOKENS_MAX: u64 = 1 << 53;

/// Returns the provider at a URL, if the table knows the URL.
pub(super) fn provider_at(url: &str) -> Option<&'static str> {
    Some(Calculator::bundled().find_provider(None, Some(url)).ok()??.id())
}

/// Returns a provider's models, each with its window, in the table's order.
pub(super) fn models_of(provider: &str) -> Vec<(String, Option<u64>)> {
    let found = Calculator::bundled().find_provider(Some(provider), None).ok().flatten();
    let models = found.iter().flat_map(|provider| provider.models());
    models.map(|model| (model.id().to_owned(), model.context_window())).collect()
}

/// Returns the cost of a usage at a point in time, if the table knows the model.
pub(super) fn calculated(provider: &str, model: &str, usage: &Usage, at: SystemTime) -> Option<Calculated> {
    let input = usage.input.min(TOKENS_MAX);
    let cache_read = usage.cache_read.min(input);
    let tokens = genai_prices::Usage::from([
        (UsageKey::INPUT_TOKENS, float(input)),
        (UsageKey::CACHE_READ_TOKENS, float(cache_read)),
        (UsageKey::CACHE_WRITE_TOKENS, float(usage.cache_write.min(input - cache_read))),
        (UsageKey::OUTPUT_TOKENS, float(usage.output.min(TOKENS_MAX))),
    ]);
    let request = PriceRequest::new(model, &tokens).with_provider_id(provider).with_timestamp(at);
    let found = Calculator::bundled().calculate(&request).ok()?;
    Some(Calculated {
        input: from_float(found.input_price)?,
        output: from_float(found.output_price)?,
        total: from_float(found.total_price)?,
        provider: found.provider_id,
        model: found.model_id,
    })
}

#[expect(clippy::cast_precision_loss, reason = "at most TOKENS_MAX, up to which floats are exact")]
fn float(tokens: u64) -> f64 {
    tokens as f64
}

/// Rounds a float of the price table to the nearest billionth. The float's error is smaller than that, and rounding up here would
/// charge for the error. A too large float becomes the largest amount; a negative one or NaN becomes `None`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked, and it saturates")]
fn from_float(dollars: f64) -> Option<Usd> {
    (dollars >= 0.0).then_some(Usd::from_nanos((dollars * 1e9).round() as u128))
}
