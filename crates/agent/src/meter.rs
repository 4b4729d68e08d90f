//! What a model call costs where no provider has said so: one that is stopped or breaks off, and one whose reply came without
//! usage, or with only some of it. A byte is at least a token, so bytes are an upper bound.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guildhall_kernel::{Cost, Msat, Request};

use crate::model::{Delta, Prompt, Reply, Reported, Usage};
use crate::runtime::Price;

/// Follows a call and says what it costs to stop it.
///
/// A call that never left costs nothing. One that left costs its hold, since nobody knows what its provider counts. Only a
/// model that nobody bills is known to have cost what went over the wire, at its nominal price.
#[derive(Default)]
pub struct Meter {
    left: AtomicBool,
    received: AtomicU64,
    nominal: Option<Nominal>,
}

/// What a model costs that nobody bills.
struct Nominal {
    price: Price,
    tokens: u64,
    max_tokens: u64,
}

impl Meter {
    /// Makes a meter for a call to a model that nobody bills.
    pub(crate) fn nominal(price: Price, request: &Request) -> Meter {
        let nominal = Nominal { price, tokens: request.tokens, max_tokens: request.max_tokens.into() };
        Meter { nominal: Some(nominal), ..Meter::default() }
    }

    /// Notes that the call leaves.
    pub fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Notes what a model tells of its call. One that waits to be made again has not left: those before it can't have cost
    /// anything.
    pub fn follow(&self, delta: Delta<'_>) {
        match delta {
            Delta::Asking => {
                self.received.store(0, Ordering::Release);
                self.leave();
            }
            Delta::Waiting { .. } => self.left.store(false, Ordering::Release),
            Delta::Received { bytes } => {
                self.received.fetch_add(bytes, Ordering::AcqRel);
            }
            Delta::Words(_) | Delta::Thinking | Delta::Call { .. } | Delta::Lost { .. } | Delta::Used(_) => {}
        }
    }

    /// Returns what the call costs if it ends here. What its provider has reported by now is no bill: output is counted at
    /// the end.
    pub fn cost_of_stopping(&self) -> Cost {
        match (&self.nominal, self.left.load(Ordering::Acquire)) {
            (_, false) => Cost::Known(Msat::ZERO),
            (None, true) => Cost::Unknown,
            (Some(Nominal { price, tokens, max_tokens }), true) => {
                let output = self.received.load(Ordering::Acquire).min(*max_tokens);
                Cost::Known(price(&Usage { input: *tokens, output, ..Usage::default() }))
            }
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("left", &self.left).field("received", &self.received).finish_non_exhaustive()
    }
}

/// Returns the most that a whole reply can have cost whose usage was not reported, or only in part: at the dearest price of its
/// input, and each count no less than was reported. Thoughts that a provider keeps to itself and does not report are not in it.
/// Only what was reported can make it more than was held.
pub(crate) fn estimate(price: &Price, request: &Request, prompt: &Prompt, reply: &Reply, reported: Reported) -> Msat {
    let (bytes, least) = (Usage::in_bytes(prompt, reply), reported.at_least());
    let input = bytes.input.min(request.tokens).max(least.input);
    let output = bytes.output.min(request.max_tokens.into()).max(least.output);
    let plain = Usage { input, output, ..Usage::default() };
    price(&plain).max(price(&Usage { cache_write: input, ..plain }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use guildhall_kernel::{AskId, AskKey, Cost, Msat, Path, Request, Turn};

    use super::{Meter, estimate};
    use crate::model::{Delta, Message, Part, Prompt, Reply, Reported, Usage, WaitReason};
    use crate::runtime::Price;

    fn known(msat: u64) -> Cost {
        Cost::Known(Msat::new(msat).unwrap())
    }

    /// A millisatoshi per token in, two if it is written to a cache, and five per token out.
    fn price() -> Price {
        Arc::new(|usage: &Usage| Msat::new(usage.input + usage.cache_write + 5 * usage.output).unwrap())
    }

    fn request(tokens: u64, max_tokens: u32) -> Request {
        Request { upto: 1, hears: Vec::new(), tokens, max_tokens, turn: Turn::Next }
    }

    /// A meter for a request of 1000 tokens and a reply of 50.
    fn nominal() -> Meter {
        Meter::nominal(price(), &request(1000, 50))
    }

    #[test]
    fn an_estimate_counts_all_bytes_at_the_dearest_price_and_no_more_than_was_held() {
        let prompt = Prompt {
            key: AskKey { contract: Path::root(1), ask: AskId(1) },
            system: "s".repeat(100),
            tools: Vec::new(),
            messages: vec![Message::User(vec![Part::Words("w".repeat(50))])],
            status: Some("t".repeat(10)),
            max_tokens: 0,
            must_call: None,
            data: None,
        };
        let reply = Reply::words("hello");
        let Usage { input, output, .. } = Usage::in_bytes(&prompt, &reply);
        assert!(input >= 160 && output >= 5, "{input} {output}");
        for (tokens, max_tokens, expect) in
            [(10_000, 8192, 2 * input + 5 * output), (30, 8192, 2 * 30 + 5 * output), (30, 2, 2 * 30 + 5 * 2)]
        {
            let most = estimate(&price(), &request(tokens, max_tokens), &prompt, &reply, Reported::Nothing);
            assert_eq!(most, Msat::new(expect).unwrap(), "{tokens} {max_tokens}");
        }
        for (least_input, least_output, expect) in
            [(0, 9000, 2 * input + 5 * 9000), (9000, 0, 2 * 9000 + 5 * output), (1, 1, 2 * input + 5 * output)]
        {
            let part = Reported::Part(Usage { input: least_input, output: least_output, ..Usage::default() });
            let most = estimate(&price(), &request(10_000, 8192), &prompt, &reply, part);
            assert_eq!(most, Msat::new(expect).unwrap(), "{part:?}");
        }
    }

    #[test]
    fn a_call_costs_nothing_until_it_leaves_and_while_it_waits_to_be_made_again() {
        let waiting = Delta::Waiting { seconds: 1, why: WaitReason::RateLimited, said: "HTTP 429" };
        for (meter, left) in [(Meter::default(), Cost::Unknown), (nominal(), known(1000))] {
            assert_eq!(meter.cost_of_stopping(), known(0));
            for _ in 0..2 {
                meter.follow(Delta::Asking);
                assert_eq!(meter.cost_of_stopping(), left);
                meter.follow(waiting);
                assert_eq!(meter.cost_of_stopping(), known(0));
            }
            meter.leave();
            assert_eq!(meter.cost_of_stopping(), left);
        }
    }

    #[test]
    fn a_call_that_nobody_bills_costs_what_arrived_and_any_other_its_hold() {
        let (meter, billed) = (nominal(), Meter::default());
        for meter in [&meter, &billed] {
            meter.follow(Delta::Asking);
            meter.follow(Delta::Received { bytes: 7 });
            meter.follow(Delta::Words("seven b"));
            meter.follow(Delta::Used(Usage { input: 3, output: 1, ..Usage::default() }));
            meter.follow(Delta::Received { bytes: 3 });
        }
        assert_eq!((meter.cost_of_stopping(), billed.cost_of_stopping()), (known(1050), Cost::Unknown));
        meter.follow(Delta::Received { bytes: 1_000_000 });
        assert_eq!(meter.cost_of_stopping(), known(1250), "no more than the request allowed");
    }
}
