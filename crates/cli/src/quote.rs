//! The quote after a rehearsal: what the same tree would cost at least with models that people know.

use std::time::SystemTime;

use guildhall::{Ended, Models, Quote, TOKEN_BYTES};
use serde_json::{Value, json};

use crate::amount::both;
use crate::world::REHEARSAL;

/// The models that are quoted.
const QUOTED: [&str; 2] = ["haiku", "sonnet"];

/// Quotes work that was rehearsed by everybody; nothing else needs a quote.
pub(crate) fn quotes(models: &Models, ended: &Ended) -> Vec<Quote> {
    if !ended.setup.staffing.models().into_iter().all(|model| model == REHEARSAL) {
        return Vec::new();
    }
    let now = SystemTime::now();
    QUOTED.iter().filter_map(|model| models.quote(&ended.bill, model, now)).collect()
}

/// For people.
pub(crate) fn lines(quotes: &[Quote], models: &Models) -> Vec<String> {
    if quotes.is_empty() {
        return Vec::new();
    }
    let head =
        format!("quote, an estimate: the same tree would cost at least, at a token for every {TOKEN_BYTES} bytes,");
    let line = |quote: &Quote| format!("  {} with {}", both(quote.cost, models.rate()), quote.model);
    std::iter::once(head).chain(quotes.iter().map(line)).collect()
}

/// For programs.
pub(crate) fn json(quotes: &[Quote], models: &Models) -> Value {
    let one = |quote: &Quote| {
        let usd = models.rate().usd_per_btc.to_usd(quote.cost);
        json!({"model": quote.model, "estimate": true, "at_least": {"msat": quote.cost, "usd": usd}})
    };
    quotes.iter().map(one).collect()
}
