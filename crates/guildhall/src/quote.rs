//! Quotes: what work that was rehearsed would cost at least with a model of a name and a price. An estimate and no promise:
//! a model reads the same files, but it thinks, and it may hire others.

use std::time::SystemTime;

use guildhall_agent::Usage;
use guildhall_kernel::Msat;
use guildhall_models::{Chosen, Seller, choose};

use crate::models::{ANTHROPIC, Models, OPENAI};
use crate::session::Bill;

/// How many bytes of text make a token, about.
pub const TOKEN_BYTES: u64 = 4;

/// What rehearsed work would cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// With which model, by its full name.
    pub model: String,
    /// At least so much.
    pub cost: Msat,
}

impl Models {
    /// Estimates what the rehearsed work of a bill would cost with a model, at its list price: a token for every
    /// [`TOKEN_BYTES`] that were read and written, and what was in a cache at the cache's price. Nothing, if the model or its
    /// price is not known.
    pub fn quote(&self, bill: &Bill, model: &str, now: SystemTime) -> Option<Quote> {
        let Chosen::Model(model) = choose(self.unalias(model)) else { return None };
        let seller = Seller::Provider(if model.starts_with("claude-") { ANTHROPIC } else { OPENAI }.to_owned());
        let at_s = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let book = self.book(at_s);
        // The price of usual prompts counts: the sum of all is no long prompt.
        let price = book.price(&seller, &model).ok()?;
        let cost = book.with_price(&model, price).cost(&seller, &model, &usage(bill)).ok()?;
        Some(Quote { model, cost })
    }
}

/// The tokens of all calls, by the bytes that they took.
fn usage(bill: &Bill) -> Usage {
    let sum = |of: fn(&crate::session::Line) -> u64| bill.lines.iter().map(of).sum::<u64>() / TOKEN_BYTES;
    Usage {
        input: sum(|line| line.tokens.input),
        cache_read: sum(|line| line.tokens.cached),
        output: sum(|line| line.tokens.output),
        ..Usage::default()
    }
}
