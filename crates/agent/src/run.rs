//! The loop: record, perform what is outstanding, wait for what happens, step. It is the same after a crash.

use std::sync::Arc;

use guildhall_kernel::{Brief, Cause, Contract, Corrupt, Path, Refusal, Report};

use crate::engine::Engine;

/// Why a contract could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E: std::error::Error + 'static> {
    /// The engine failed. Nothing recorded is lost.
    #[error(transparent)]
    Engine(E),
    /// What is stored of the contract breaks a law.
    #[error("the journal of {contract} is damaged")]
    Corrupt {
        /// Which contract.
        contract: Path,
        /// Where, and how.
        source: Corrupt,
    },
    /// No contract could lawfully work on the brief.
    #[error("{0}")]
    Refused(Refusal),
}

/// Runs a contract to its report, from its brief or from wherever it was when it was interrupted.
pub async fn run<E: Engine>(engine: &mut E, brief: Arc<Brief>) -> Result<Report, RunError<E::Error>> {
    let mut contract = begin(engine, brief).await?;
    loop {
        if let Some(report) = contract.report() {
            return Ok(report.clone());
        }
        for (id, ask) in contract.outstanding() {
            engine.perform(&contract, id, ask);
        }
        let input = engine.next(contract.wake_at()).await.map_err(RunError::Engine)?;
        let cause = input.cause();
        let now = engine.now();
        let facts = contract.step(input, now);
        if !facts.is_empty() {
            engine.record(cause, now, facts).await.map_err(RunError::Engine)?;
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
    Ok(contract)
}
