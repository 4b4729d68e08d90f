//! The quote after a rehearsal: the least that the same tree would cost with well-known models.

use std::time::SystemTime;

use guildhall::{Ended, Models, Quote, TOKEN_BYTES};
use serde_json::{Value, json};

use crate::amount::both;
use crate::world::REHEARSAL;

/// The models that are quoted.
const QUOTED: [&str; 2] = ["haiku", "sonnet"];

/// Returns quotes for work in which every agent used the rehearsal. Other work gets none.
pub(crate) fn quotes(models: &Models, ended: &Ended) -> Vec<Quote> {
    if !ended.setup.staffing.models().into_iter().all(|model| model == REHEARSAL) {
        return Vec::new();
    }
    let now = SystemTime::now();
    QUOTED.iter().filter_map(|model| models.quote(&ended.bill, model, now)).collect()
}

/// The quotes as lines of text.
pub(crate) fn lines(quotes: &[Quote], models: &Models) -> Vec<String> {
    if quotes.is_empty() {
        return Vec::new();
    }
    let head = format!(
        "quote, an estimate with {TOKEN_BYTES} bytes per token: with a real model, the same tree would cost at least"
    );
    let line = |quote: &Quote| format!("  {} with {}", both(quote.cost, models.rate()), quote.model);
    std::iter::once(head).chain(quotes.iter().map(line)).collect()
}

/// The quotes as JSON.
pub(crate) fn json(quotes: &[Quote], models: &Models) -> Value {
    let one = |quote: &Quote| {
        let usd = models.rate().usd_per_btc.to_usd(quote.cost);
        json!({"model": quote.model, "estimate": true, "at_least": {"msat": quote.cost, "usd": usd}})
    };
    quotes.iter().map(one).collect()
}
