//! What a root was asked for with, stored with the request: a resume goes on with the same agent, model and prices,
//! whatever has changed outside since.

use std::sync::Arc;

use guildhall_agent::{Scribe, Text};
use guildhall_kernel::{AgentName, Brief, Msat, Path, SessionFact, TextKind, TextRef};
use guildhall_local::{Journal, SessionId};
use serde::{Deserialize, Serialize};

use crate::hall::HallError;
use crate::models::Locked;

/// Who does the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its name.
    pub name: AgentName,
    /// Who it is and by which rules it works.
    pub instructions: String,
    /// The tools that it may use, by name; all if it does not say.
    pub tools: Option<Vec<String>>,
}

impl Agent {
    /// An agent that may use every tool of the hall.
    pub fn new(name: AgentName, instructions: impl Into<String>) -> Agent {
        Agent { name, instructions: instructions.into(), tools: None }
    }
}

/// Who works, with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seated {
    /// The agent.
    pub agent: Agent,
    /// Its model, as `PROVIDER/NAME`.
    pub model: String,
    /// The prices.
    pub locked: Locked,
}

/// Everything that is fixed when a root is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Who works, with what.
    pub seated: Seated,
    /// After how many tokens in all it is to wrap up.
    pub tokens_max: Option<u64>,
    /// The brief: a process that ends before the contract is opened loses nothing.
    pub brief: Arc<Brief>,
}

impl Setup {
    /// Writes it down.
    pub(crate) fn text(&self, scribe: &Scribe) -> Text {
        scribe.text(TextKind::Prices, &serde_json::to_string(self).expect("a setup is JSON"))
    }

    async fn read(journal: &Journal, of: TextRef) -> Result<Setup, HallError> {
        let text = journal.text(of.hash).await?.unwrap_or_default();
        serde_json::from_slice(&text).map_err(|why| HallError::Damaged(format!("what a root was set up with: {why}")))
    }
}

/// A root of a session: what it was granted, and by whom it is worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its path.
    pub path: Path,
    /// What it was granted.
    pub granted: Msat,
    /// What it was set up with.
    pub setup: Setup,
}

/// Reads the newest root that was asked for in a session.
pub(crate) async fn newest_root(journal: &Journal, id: &SessionId) -> Result<Root, HallError> {
    let requested = journal.account(id).await?.into_iter().rev().find_map(|fact| match fact {
        SessionFact::Requested { root, money, prices } => Some((root, money, prices)),
        SessionFact::Funded { .. } | SessionFact::Corrected { .. } | SessionFact::Ended { .. } => None,
    });
    let (path, granted, prices) = requested.ok_or_else(|| HallError::NothingToResume(id.clone()))?;
    Ok(Root { path, granted, setup: Setup::read(journal, prices).await? })
}
