//! Hiring, as an agent layer knows it: who can be hired and on which conditions. The kernel decides what is admitted.

mod arguments;
mod board;
mod choose;
mod list;
mod offer;
mod prompt;
mod read;
mod specs;
mod verdict;

use std::sync::Arc;

use guildhall_kernel::{AgentName, Brief, Context, Hiring, Msat, Powers, Tariff};

use crate::roster::{DelegationMode, Dialect};
use crate::text::Text;

pub(crate) use board::board;
pub use board::{BOARD, POST_BYTES_MAX, POSTS_MAX, Post};
pub use list::LIST;
pub(crate) use list::list;
pub use prompt::runtime_prompt;
pub(crate) use read::Reader;
pub(crate) use specs::{DelegationTool, example, specs};
pub(crate) use verdict::{FinalText, verdict};

/// Somebody who can be hired: everything of an offer that does not depend on the call.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Worker {
    pub name: AgentName,
    /// When to hire it, in a line.
    pub description: String,
    /// What it is hired for, apart from its name.
    pub specialties: Vec<String>,
    /// What it gets if its hirer names no budget; otherwise a share.
    pub budget_default: Option<Msat>,
    pub budget_max: Option<Msat>,
    /// What it is paid for an accepted report.
    pub fee: Msat,
    /// What of its grant pays for a last report.
    pub severance: Msat,
    pub tariff: Tariff,
    pub turns_max: u32,
    /// The size of its opening, without its brief.
    pub opening_bytes: u64,
    pub powers: Powers,
    pub hiring: Option<Hiring>,
    /// What it adds to the terms of the briefs that it hands down.
    pub adds: Vec<Text>,
    /// Whether its hirer goes on while it works, unless the call says otherwise.
    pub background: bool,
}

/// The agents that an agent may hire, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Team {
    /// By which tool.
    pub dialect: Dialect,
    /// Who decides whether it hires.
    pub mode: DelegationMode,
    /// The agents, in the order in which they are named.
    pub workers: Vec<Arc<Worker>>,
    /// What a specialist without a file is like, if it may make one up: the name, the description and the specialties are
    /// the call's.
    pub ad_hoc: Option<Arc<Worker>>,
    /// The agent itself, for forks.
    pub own: Arc<Worker>,
    /// The models that a call may ask for. A call's choice is stored as the number of its model here.
    pub models: Vec<KnownModel>,
    /// What the reports of its hires must pass: what to check as text, in order, with what each costs at most.
    pub checks: Vec<(Text, Msat)>,
}

/// A model that a hire may be asked to use in place of its agent's own.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownModel {
    /// What it is called, the shortest first.
    pub names: Vec<String>,
    /// What its calls cost.
    pub tariff: Tariff,
}

/// Who hired an agent. An agent that another agent hired can ask that agent, and shares a board with its other hires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Hired {
    /// A person: it is a root.
    ByOwner,
    ByAgent,
}

impl Hired {
    /// Tells who hired a contract, as far as its tools go by it. A root's fork keeps its root's tools, so that what precedes
    /// its brief stays the same for a provider's cache.
    pub fn of(brief: &Brief) -> Hired {
        match (brief.path.level(), &brief.context) {
            (0, _) | (1, Context::Fork { .. }) => Hired::ByOwner,
            (_, Context::Fresh | Context::Fork { .. } | Context::After { .. }) => Hired::ByAgent,
        }
    }
}
