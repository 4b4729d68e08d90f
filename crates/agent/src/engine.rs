//! The engine, as the loop uses it: it stores facts, performs asks, and returns inputs. Everything durable, timed or random is
//! behind this trait.

use guildhall_kernel::{Ask, AskId, Cause, Contract, Fact, Input, Millis, Request, Turn};

/// Returns the time at which an engine must stop a leaf call, if the contract has a deadline: half a wrap-up margin before the
/// deadline, so that there is time for a last report. The last request itself may take until the deadline.
pub fn due(contract: &Contract, id: AskId) -> Option<Millis> {
    let last = matches!(contract.ask(id), Some(Ask::Model(Request { turn: Turn::Last, .. })));
    let grant = contract.brief().grant;
    let deadline = grant.deadline?;
    Some(if last { deadline } else { deadline.before(Millis(grant.wrap_up_margin().0 / 2)) })
}

/// An engine, as one contract sees it.
pub trait Engine: Send {
    /// An error of the engine itself. The failure of a model or a tool is an answer, not an error.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the session's time.
    fn now(&self) -> Millis;

    /// Returns the stored facts of this contract, in order; none for a new contract.
    fn stored(&mut self) -> impl Future<Output = Result<Vec<Fact>, Self::Error>> + Send;

    /// Appends the facts of one step to the journal, together, with the time of the step. They are durable once
    /// [`Engine::durable`] returns.
    fn record(
        &mut self,
        cause: Cause,
        at: Millis,
        facts: Vec<Fact>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Waits until all recorded facts are durable. An engine that stores them immediately has nothing to wait for.
    fn durable(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        async { Ok(()) }
    }

    /// Starts to perform an ask whose fact is durable. It is called again for each open ask when the contract begins to close:
    /// the engine must then shorten or stop a call that is running, and let everything else continue.
    fn perform(&mut self, contract: &Contract, id: AskId, ask: &Ask);

    /// Waits for the contract's next input, at most until the contract must wake. At that time the input is a tick.
    fn next(&mut self, contract: &Contract) -> impl Future<Output = Result<Input, Self::Error>> + Send;

    /// Returns the contract's next input if there is one already, without waiting.
    fn ready(&mut self) -> impl Future<Output = Result<Option<Input>, Self::Error>> + Send {
        async { Ok(None) }
    }
}
