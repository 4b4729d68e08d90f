//! The loop: record facts, perform open asks, wait for an input, take a step. It is the same after a crash. The work for one
//! input does not grow with the number of open asks.

use std::sync::Arc;

use guildhall_kernel::{AskId, Brief, Cause, Contract, Corrupt, Input, Path, Refusal, Report};

use crate::engine::Engine;

/// Why a contract could not be run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the names say it")]
pub enum RunError<E: std::error::Error + 'static> {
    /// The engine failed. Nothing recorded is lost.
    #[error(transparent)]
    Engine(E),
    /// The stored facts of the contract break a law.
    #[error("the stored facts of contract {contract} are damaged: {source}")]
    Corrupt { contract: Path, source: Corrupt },
    /// The kernel refused the brief.
    #[error("{0}")]
    Refused(Refusal),
}

/// Runs a contract to its report, from its brief or from the point where it was interrupted.
pub async fn run<E: Engine>(engine: &mut E, brief: Arc<Brief>) -> Result<Report, RunError<E::Error>> {
    let mut contract = begin(engine, brief).await?;
    // A waiting input comes before anything that the contract does by itself, so that a cancelled contract asks nothing. A closed
    // contract takes no input: the engine handles late ones, and a top-up goes to the session.
    if contract.report().is_none()
        && let Some(input) = engine.ready().await.map_err(RunError::Engine)?
    {
        take(engine, &mut contract, input).await.map_err(RunError::Engine)?;
    }
    let (mut shown, mut course) = (AskId(0), Course::of(&contract));
    loop {
        if let Some(report) = contract.report() {
            return Ok(report.clone());
        }
        // When the contract begins to close, the engine is shown all open asks again.
        if Course::of(&contract) != course {
            (shown, course) = (AskId(0), Course::of(&contract));
        }
        for (id, ask) in contract.outstanding_after(shown) {
            engine.perform(&contract, id, ask);
            shown = shown.max(id);
        }
        let input = engine.next(&contract).await.map_err(RunError::Engine)?;
        take(engine, &mut contract, input).await.map_err(RunError::Engine)?;
    }
}

/// How many steps share one wait for the disk.
const STEPS_MAX: usize = 256;

/// Takes a step for an input, and for further inputs that are ready, until a step gives the engine something to do. Then it
/// makes the facts durable together: a hirer with a thousand reports does not wait for the disk a thousand times.
async fn take<E: Engine>(engine: &mut E, contract: &mut Contract, first: Input) -> Result<(), E::Error> {
    let course = Course::of(contract);
    let (mut next, mut steps) = (Some(first), 0);
    while let Some(input) = next {
        let (cause, now) = (input.cause(), engine.now());
        let facts = contract.step(input, now);
        let asks = facts.iter().any(|fact| fact.asked().is_some());
        if !facts.is_empty() {
            engine.record(cause, now, facts).await?;
        }
        steps += 1;
        let follows = asks || contract.report().is_some() || Course::of(contract) != course;
        next = if follows || steps == STEPS_MAX { None } else { engine.ready().await? };
    }
    engine.durable().await
}

/// The part of a contract's state that changes how the engine treats its asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    Working,
    Closing,
    Cancelled,
}

impl Course {
    fn of(contract: &Contract) -> Course {
        match (contract.is_cancelled(), contract.is_closing()) {
            (true, _) => Course::Cancelled,
            (false, true) => Course::Closing,
            (false, false) => Course::Working,
        }
    }
}

async fn begin<E: Engine>(engine: &mut E, brief: Arc<Brief>) -> Result<Contract, RunError<E::Error>> {
    let stored = engine.stored().await.map_err(RunError::Engine)?;
    if !stored.is_empty() {
        let contract = brief.path.clone();
        return Contract::restore(stored).map_err(|source| RunError::Corrupt { contract, source });
    }
    let now = engine.now();
    let (contract, facts) = Contract::open(brief, now).map_err(RunError::Refused)?;
    engine.record(Cause::Opening, now, facts).await.map_err(RunError::Engine)?;
    engine.durable().await.map_err(RunError::Engine)?;
    Ok(contract)
}
