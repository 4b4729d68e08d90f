//! Quotes: the least that rehearsed work would cost with a real model. A quote is an estimate: a real model reads the same files,
//! but it also writes more, and it may hire other agents.

use std::time::SystemTime;

use guildhall_agent::Usage;
use guildhall_kernel::Msat;
use guildhall_models::{Chosen, Seller, choose};

use crate::bill::{Bill, Line};
use crate::models::{ANTHROPIC, Models, OPENAI};

/// The approximate number of bytes per token.
pub const TOKEN_BYTES: u64 = 4;

/// The estimated cost of rehearsed work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The full name of the model.
    pub model: String,
    /// The least that the work would cost.
    pub cost: Msat,
}

impl Models {
    /// Estimates the cost of a bill's rehearsed work with a model, at its list price: one token for every [`TOKEN_BYTES`] bytes
    /// that were read and written, and the cache price for cached bytes. `None` if the model or its price is not known.
    pub fn quote(&self, bill: &Bill, model: &str, now: SystemTime) -> Option<Quote> {
        let Chosen::Model(model) = choose(self.unalias(model)) else { return None };
        let seller = Seller::Provider(if model.starts_with("claude-") { ANTHROPIC } else { OPENAI }.to_owned());
        let at_s = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let book = self.book(at_s);
        // Use the price of prompts of usual length: the sum of all prompts is not one long prompt.
        let price = book.price(&seller, &model).ok()?;
        let cost = book.with_price(&model, price).cost(&seller, &model, &usage(bill)).ok()?;
        Some(Quote { model, cost })
    }
}

/// The tokens of all model calls, estimated from their bytes. A task list makes no model calls.
fn usage(bill: &Bill) -> Usage {
    let asking = || bill.lines.iter().filter(|line| line.model.is_some());
    let sum = |of: fn(&Line) -> u64| asking().map(of).fold(0, u64::saturating_add) / TOKEN_BYTES;
    Usage {
        input: sum(|line| line.tokens.input),
        cache_read: sum(|line| line.tokens.cached),
        output: sum(|line| line.tokens.output),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::Charges;
    use guildhall_kernel::{AgentName, Path, Tokens};

    #[test]
    fn the_bytes_of_a_task_list_are_not_quoted() {
        let line = |model: Option<&str>| Line {
            contract: Path::root(1),
            agent: AgentName::parse("ada").unwrap(),
            model: model.map(str::to_owned),
            nominal: true,
            granted: Msat::ZERO,
            own: Charges::default(),
            all: Charges::default(),
            calls: 1,
            tokens: Tokens { input: 400, cached: 0, output: 40 },
            all_tokens: Tokens::default(),
            reserved: Vec::new(),
            under_way: Vec::new(),
            overruns: Vec::new(),
            outcome: None,
            lack: None,
        };
        let lines = vec![line(None), line(Some("rehearsal")), line(Some("rehearsal"))];
        let Usage { input, output, .. } = usage(&Bill { lines });
        assert_eq!((input, output), (200, 20));
    }
}
