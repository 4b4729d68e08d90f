//! The tokens that a root and all contracts below it may use. A request reserves all the tokens that it can use before it is
//! sent, so the sum never exceeds the limit, except by input that the provider counts above the size of the request.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use guildhall_kernel::{
    Answer, Ask, AskKey, Contract, Cost, Fact, MAX_TOKENS_MIN, Msat, Path, Request, Sender, Stimulus, TURN_TOKENS, Turn,
};
use tokio::sync::watch;

use super::waiting_call::InLine;

/// Who asks a root to wrap up when its tokens are used: the engine itself, in the place of the owner. The commands of the inbox
/// have numbers from 1.
pub(super) const TOKEN_LIMIT: Sender = Sender::Owner { command: 0 };

/// The most tokens, input and output together, that a root and all contracts below it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokensMax {
    /// The root.
    pub root: Path,
    /// The number of tokens.
    pub tokens: u64,
}

/// What a request got.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reserved {
    /// The request may be sent, with at most this many output tokens.
    Tokens(u32),
    /// There are not enough tokens left, and no call is under way that could return some.
    Exhausted {
        /// What is left for the root's last request.
        left: u64,
    },
}

/// The tokens of one root.
pub(super) struct TokenPool {
    max: TokensMax,
    state: Mutex<State>,
    /// Changes when tokens come back.
    changed: watch::Sender<()>,
    /// Held by the first request that waits. The others wait for it in their order.
    first: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    used: u64,
    /// What is kept for the root's last request.
    kept: u64,
    /// What the root was told that it has left, after the tokens were used up.
    left: Option<u64>,
    open: BTreeMap<AskKey, Open>,
    /// The tokens that open requests may have used or may use.
    reserved: u64,
    /// The number of requests that can return tokens.
    under_way: usize,
}

/// A request without an answer.
#[derive(Clone, Copy)]
struct Open {
    /// Whether its tokens have a price: then it has used none if it cost nothing.
    is_priced: bool,
    /// The tokens that it may have used in an earlier process.
    earlier: u64,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// This process has not sent it.
    Waits,
    /// It will be sent. This many tokens are reserved for it.
    Reserved(u64),
    /// It may have been sent. This many tokens are reserved for it.
    Sent(u64),
    /// It must not be sent any more.
    Withdrawn,
}

impl TokenPool {
    pub(super) fn new(max: TokensMax) -> TokenPool {
        TokenPool {
            max,
            state: Mutex::default(),
            changed: watch::Sender::new(()),
            first: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.max.root
    }

    pub(super) fn limit(&self) -> u64 {
        self.max.tokens
    }

    /// Whether this contract's requests are counted.
    pub(super) fn counts(&self, contract: &Path) -> bool {
        contract.top() == self.max.root
    }

    /// Takes a new fact.
    pub(super) fn apply(&self, contract: &Path, fact: &Fact) {
        self.take(contract, fact, |_, _| Place::Waits);
    }

    /// Takes a fact of an earlier process, which may have sent any request that has no answer, with at most the tokens that were
    /// left then.
    pub(super) fn apply_stored(&self, contract: &Path, fact: &Fact) {
        let limit = self.max.tokens;
        self.take(contract, fact, |request, state| {
            let most = request.tokens.saturating_add(request.max_tokens.into());
            Place::Sent(most.min(limit.saturating_sub(state.used).saturating_sub(state.reserved)))
        });
    }

    fn take(&self, contract: &Path, fact: &Fact, place: impl FnOnce(&Request, &State) -> Place) {
        if !self.counts(contract) {
            return;
        }
        if let Fact::Heard { stimulus: Stimulus::OutOfTokens { left }, .. } = fact {
            let mut state = self.state();
            (state.left, state.kept) = (Some(*left), *left);
        }
        let key = |ask| AskKey { contract: contract.clone(), ask };
        if let Fact::Asked { id, ask: Ask::Model(request), hold, .. } = fact {
            let mut state = self.state();
            let place = place(request, &state);
            state.put(key(*id), Open { is_priced: hold.money > Msat::ZERO, earlier: 0, place });
        } else if let Fact::Answered { id, answer, cost } = fact {
            self.state().settle(&key(*id), answer, *cost);
            self.changed.send_replace(());
        }
    }

    /// Keeps the tokens of a last request of the root that shows all reports, but not more than half of the limit for reports
    /// that have not come yet.
    pub(super) fn keep_for(&self, root: &Contract) {
        let output = u64::from(root.brief().tariff.last_output());
        let with_reports = root.tokens_with_reports(0).saturating_add(output).min(self.max.tokens / 2);
        let kept = root.tokens().saturating_add(output).max(with_reports);
        let mut state = self.state();
        if state.left.is_none() && state.kept != kept {
            state.kept = kept;
            drop(state);
            self.changed.send_replace(());
        }
    }

    /// Notes that a request waits to be sent, also one that an earlier process has left. Without a record that it waited, that
    /// process may have sent it.
    pub(super) fn enter(&self, call: &AskKey, in_line: InLine) {
        let mut state = self.state();
        if let Some(open) = state.open.get(call).copied() {
            let earlier = match (open.place, in_line) {
                (Place::Sent(tokens), InLine::NotRecorded) => tokens,
                (Place::Sent(_), InLine::Recorded | InLine::RecordIfWaiting)
                | (Place::Waits | Place::Reserved(_) | Place::Withdrawn, _) => 0,
            };
            state.put(call.clone(), Open { earlier, place: Place::Waits, ..open });
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Keeps a request that has not been sent from being sent. Returns whether it was not sent.
    pub(super) fn withdraw(&self, call: &AskKey) -> bool {
        let mut state = self.state();
        let Some(open) = state.waiting(call) else { return false };
        state.put(call.clone(), Open { place: Place::Withdrawn, ..open });
        true
    }

    /// Notes that a request is sent: from here on it may use its tokens.
    pub(super) fn leave(&self, call: &AskKey) {
        let mut state = self.state();
        if let Some(open) = state.open.get(call).copied()
            && let Place::Reserved(tokens) = open.place
        {
            state.put(call.clone(), Open { place: Place::Sent(tokens), ..open });
        }
    }

    /// Reserves the tokens of a request, if nobody waits and they are free.
    pub(super) fn try_reserve(&self, call: &AskKey, request: &Request) -> Option<Reserved> {
        let _first = self.first.try_lock().ok()?;
        self.decide(call, request)
    }

    /// Waits until the tokens of a request are free, or nothing is under way that could return some. Nobody overtakes.
    pub(super) async fn reserve(&self, call: &AskKey, request: &Request) -> Reserved {
        let _first = self.first.lock().await;
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(reserved) = self.decide(call, request) {
                return reserved;
            }
            // The sender lives as long as this pool.
            changed.changed().await.ok();
        }
    }

    /// Decides about the first request that waits. While calls are under way, it gets what it wants, or at least an ordinary turn.
    /// Otherwise it gets what is left, if that is enough for any reply.
    fn decide(&self, call: &AskKey, request: &Request) -> Option<Reserved> {
        let mut state = self.state();
        let open = state.waiting(call)?;
        let others = state.reserved.saturating_sub(open.earlier);
        let some_under_way = state.under_way > 0;
        let is_last_of_root = request.turn == Turn::Last && call.contract == self.max.root;
        let kept = if is_last_of_root { 0 } else { state.kept };
        let free = self.max.tokens.saturating_sub(state.used).saturating_sub(others).saturating_sub(kept);
        let output = free.saturating_sub(request.tokens).min(request.max_tokens.into());
        let least = if some_under_way { TURN_TOKENS } else { MAX_TOKENS_MIN };
        let output = u32::try_from(output).expect("at most the tokens of one reply");
        if output < request.max_tokens.min(least) {
            return (!some_under_way).then(|| {
                let left = self.max.tokens.saturating_sub(state.used).saturating_sub(others);
                // What the root's last request may use is kept from the last requests of its hires.
                let left = if call.contract == self.max.root { left } else { left.min(state.kept) };
                let left = state.left.unwrap_or(left);
                // The last request of a hire is refused, and its root goes on.
                if request.turn == Turn::Next || is_last_of_root {
                    (state.left, state.kept) = (Some(left), left);
                }
                Reserved::Exhausted { left }
            });
        }
        let tokens = request.tokens.saturating_add(output.into());
        state.put(call.clone(), Open { place: Place::Reserved(tokens), ..open });
        Some(Reserved::Tokens(output))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held leaves the state valid: each change is one insert, remove or sum.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns a request that has not been sent and may be.
    fn waiting(&self, call: &AskKey) -> Option<Open> {
        self.open.get(call).copied().filter(|open| open.place == Place::Waits)
    }

    /// Adds an open request, or changes it.
    fn put(&mut self, call: AskKey, open: Open) {
        self.take(&call);
        self.reserved = self.reserved.saturating_add(open.reserved());
        self.under_way += usize::from(open.is_under_way());
        self.open.insert(call, open);
    }

    fn take(&mut self, call: &AskKey) -> Option<Open> {
        let open = self.open.remove(call)?;
        self.reserved = self.reserved.saturating_sub(open.reserved());
        self.under_way -= usize::from(open.is_under_way());
        Some(open)
    }

    /// Counts what a request has used: what its provider reports, nothing for a request that certainly used none, and otherwise all
    /// that was reserved.
    fn settle(&mut self, call: &AskKey, answer: &Answer, cost: Cost) {
        let Some(open) = self.take(call) else { return };
        let reported = if let Answer::Said(said) = answer { said.used } else { None };
        // A request that cost nothing has used nothing, if tokens have a price.
        let is_unused = open.is_priced && !matches!(answer, Answer::Said(_));
        let used = match (reported, open.place) {
            (Some(used), _) => used.input.saturating_add(used.output),
            (None, Place::Sent(_)) if is_unused && cost == Cost::Known(Msat::ZERO) => 0,
            (None, Place::Sent(_)) => open.reserved(),
            (None, Place::Waits | Place::Reserved(_) | Place::Withdrawn) => open.earlier,
        };
        self.used = self.used.saturating_add(used);
    }
}

impl Open {
    /// Returns the tokens that the request may have used or may use.
    fn reserved(self) -> u64 {
        match self.place {
            Place::Waits | Place::Withdrawn => self.earlier,
            Place::Reserved(tokens) | Place::Sent(tokens) => tokens.max(self.earlier),
        }
    }

    fn is_under_way(self) -> bool {
        matches!(self.place, Place::Reserved(_) | Place::Sent(_))
    }
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::{AskId, Hash, Hold, Origin, TextKind, TextRef};

    use super::*;

    fn pool(tokens: u64) -> TokenPool {
        TokenPool::new(TokensMax { root: Path::root(1), tokens })
    }

    fn key(ask: u32) -> AskKey {
        AskKey { contract: Path::root(1).hire(1), ask: AskId(ask) }
    }

    fn request(tokens: u64, max_tokens: u32) -> Request {
        Request { upto: 1, hears: Vec::new(), tokens, max_tokens, turn: Turn::Next, cut: false }
    }

    fn asked(ask: u32, request: &Request, hold: Hold) -> Fact {
        Fact::Asked { id: AskId(ask), ask: Ask::Model(request.clone()), hold, origin: Origin::Course }
    }

    /// Asks a model that has a price, and tries to reserve. The request is sent at once.
    fn reserve(pool: &TokenPool, ask: u32, tokens: u64, max_tokens: u32) -> Option<Reserved> {
        reserve_held(pool, ask, tokens, max_tokens, Hold::money(Msat::SUPPLY))
    }

    fn reserve_held(pool: &TokenPool, ask: u32, tokens: u64, max_tokens: u32, hold: Hold) -> Option<Reserved> {
        let request = request(tokens, max_tokens);
        pool.apply(&key(ask).contract, &asked(ask, &request, hold));
        let reserved = pool.try_reserve(&key(ask), &request);
        pool.leave(&key(ask));
        reserved
    }

    fn answer(pool: &TokenPool, ask: u32, answer: Answer, cost: Cost) {
        pool.apply(&key(ask).contract, &Fact::Answered { id: AskId(ask), answer, cost });
    }

    #[test]
    fn a_request_gets_what_it_wants_or_an_ordinary_turn_or_waits_while_another_is_under_way() {
        let pool = pool(10_000);
        assert_eq!(reserve(&pool, 1, 1_000, 4_000), Some(Reserved::Tokens(4_000)));
        assert_eq!(reserve(&pool, 2, 1_000, 4_000), Some(Reserved::Tokens(4_000)));
        assert_eq!(reserve(&pool, 3, 100, 4_000), None, "nothing is left, but the others may return some");
        let why = TextRef { hash: Hash([0; 32]), bytes: 9, kind: TextKind::Error };
        answer(&pool, 1, Answer::Failed(why), Cost::Known(Msat::ZERO));
        assert_eq!(pool.try_reserve(&key(3), &request(100, 4_000)), Some(Reserved::Tokens(4_000)));
    }

    #[test]
    fn a_lost_call_has_used_all_that_was_reserved_and_a_refused_one_nothing() {
        let pool = pool(10_000);
        assert_eq!(reserve(&pool, 1, 1_000, 8_000), Some(Reserved::Tokens(8_000)));
        answer(&pool, 1, Answer::Lost, Cost::Unknown);
        assert_eq!(reserve(&pool, 2, 500, 8_000), Some(Reserved::Tokens(500)), "what is left is enough for a reply");
        answer(&pool, 2, Answer::Lost, Cost::Known(Msat::ZERO));
        assert_eq!(reserve(&pool, 3, 800, 8_000), Some(Reserved::Exhausted { left: 0 }));
    }

    #[test]
    fn without_a_price_nobody_knows_whether_a_lost_or_failed_call_used_tokens() {
        let pool = pool(10_000);
        let why = TextRef { hash: Hash([0; 32]), bytes: 9, kind: TextKind::Error };
        for (ask, end) in [(1, Answer::Lost), (2, Answer::Failed(why))] {
            assert_eq!(reserve_held(&pool, ask, 1_000, 3_000, Hold::default()), Some(Reserved::Tokens(3_000)));
            answer(&pool, ask, end, Cost::Known(Msat::ZERO));
        }
        assert_eq!(reserve(&pool, 3, 2_500, 8_000), Some(Reserved::Exhausted { left: 0 }));
    }

    #[test]
    fn what_an_earlier_process_may_have_used_stays_reserved() {
        let pool = pool(10_000);
        let stored = asked(1, &request(1_000, 5_000), Hold::default());
        pool.apply_stored(&key(1).contract, &stored);
        pool.enter(&key(1), InLine::NotRecorded);
        assert_eq!(pool.try_reserve(&key(1), &request(1_000, 5_000)), Some(Reserved::Tokens(5_000)), "it is its own");
        assert_eq!(reserve(&pool, 2, 1_000, 9_000), Some(Reserved::Tokens(3_000)));
    }

    #[test]
    fn a_request_that_was_not_sent_has_used_nothing_also_if_its_tokens_have_no_price() {
        let pool = pool(10_000);
        let request = request(1_000, 8_000);
        for ask in [1, 2] {
            pool.apply(&key(ask).contract, &asked(ask, &request, Hold::default()));
            assert_eq!(pool.try_reserve(&key(ask), &request), Some(Reserved::Tokens(8_000)));
            answer(&pool, ask, Answer::Aborted, Cost::Known(Msat::ZERO));
        }
    }
}
