//! What an engine is to the loop: it stores facts, performs what is asked, and brings what happens. Everything durable, timed
//! or random is behind this trait.

use guildhall_kernel::{Ask, AskId, Cause, Contract, Fact, Input, Millis, Request, Turn};

/// Returns when an engine must cut a leaf call off, if ever: half a wrap-up margin before the contract's deadline, so that
/// there is time for a last report. The last request itself may take until the deadline.
pub fn due(contract: &Contract, id: AskId) -> Option<Millis> {
    let last = matches!(contract.ask(id), Some(Ask::Model(Request { turn: Turn::Last, .. })));
    let grant = contract.brief().grant;
    let deadline = grant.deadline?;
    Some(if last { deadline } else { deadline.before(Millis(grant.wrap_up_margin().0 / 2)) })
}

/// An engine, as one contract sees it.
pub trait Engine: Send {
    /// What can go wrong with the engine itself. A model or a tool that fails is an answer, not an error.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the session's time.
    fn now(&self) -> Millis;

    /// Returns the facts of this contract that are stored, in order; none for a new one.
    fn stored(&mut self) -> impl Future<Output = Result<Vec<Fact>, Self::Error>> + Send;

    /// Gives the facts of one step their place among all that is stored, together, at the time at which it was taken. They
    /// are durable once [`Engine::durable`] returns.
    fn record(
        &mut self,
        cause: Cause,
        at: Millis,
        facts: Vec<Fact>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Returns when all that was recorded is durable. An engine that stores at once has nothing to wait for.
    fn durable(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        async { Ok(()) }
    }

    /// Starts to perform an ask whose fact is durable. It is shown once more when its contract begins to end: a call that is
    /// under way is then to be hastened or stopped, and everything else goes on.
    fn perform(&mut self, contract: &Contract, id: AskId, ask: &Ask);

    /// Waits for the next thing that happens to the contract, at most until `wake`; then it is a tick.
    fn next(&mut self, wake: Option<Millis>) -> impl Future<Output = Result<Input, Self::Error>> + Send;

    /// Returns what has happened to the contract besides, if the engine can tell without waiting for it.
    fn ready(&mut self) -> impl Future<Output = Result<Option<Input>, Self::Error>> + Send {
        async { Ok(None) }
    }
}
