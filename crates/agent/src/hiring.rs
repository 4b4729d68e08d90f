//! Hiring in the agent layer: which agents can be hired, and on which conditions. The kernel decides which hires are admitted.

mod arguments;
mod board;
mod choose;
mod list;
mod offer;
mod promise;
mod prompt;
mod read;
mod specs;
mod verdict;

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_kernel::{AgentName, Brief, Context, Hiring, Link, Msat, PayeeName, Powers, Standing, Tariff};

use crate::roster::{DelegationMode, Dialect};
use crate::text::{LazyText, Text};

pub(crate) use board::board;
pub use board::{BOARD, POST_BYTES_MAX, POSTS_MAX, Post};
pub use list::LIST;
pub(crate) use list::list;
pub(crate) use promise::{FinalText, HeldBack, SinceTold, is_asked_back, is_done};
pub use prompt::runtime_prompt;
pub(crate) use read::Reader;
pub(crate) use specs::{DelegationTool, example, spec, spec_of_two_fields, specs};
pub(crate) use verdict::verdict;

/// An agent that can be hired: the parts of an offer that do not depend on the call.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Worker {
    pub name: AgentName,
    /// When to hire the agent, in one line.
    pub description: String,
    /// What the agent is hired for, besides its name.
    pub specialties: Vec<String>,
    /// The grant if the hirer names no budget. Without it, the agent gets a share.
    pub budget_default: Option<Msat>,
    pub budget_max: Option<Msat>,
    /// The payment for an accepted report.
    pub fee: Msat,
    /// Who gets the fee, in a session with the money of a wallet.
    pub payee: Option<PayeeName>,
    /// The part of the grant that pays for a last report.
    pub severance: Msat,
    pub tariff: Tariff,
    /// The number of the agent's own model in [`Team::models`], counted from 1; 0 if it has none there.
    pub model_slot: u16,
    pub turns_max: u32,
    /// The size of the agent's opening, without its brief.
    pub opening_bytes: u64,
    /// The opening, which is the same for all contracts of the agent.
    pub opening: Option<LazyText>,
    pub powers: Powers,
    pub hiring: Option<Hiring>,
    /// The terms that the agent adds to the briefs of its hires.
    pub adds: Vec<Text>,
    /// Whether the hirer continues while the agent works, unless the call says otherwise.
    pub background: bool,
}

/// The agents that an agent may hire, and how it hires.
#[derive(Clone, Debug, PartialEq)]
pub struct Team {
    /// The tool that hires.
    pub dialect: Dialect,
    /// Whether the agent must hire, and when.
    pub mode: DelegationMode,
    /// Whether the agent's file lists its team by name.
    pub listing: Listing,
    /// The agents, in the order in which they are named.
    pub workers: Vec<Arc<Worker>>,
    /// The conditions of an ad-hoc specialist, if the agent may hire one. The call gives the name and the specialty.
    pub ad_hoc: Option<Arc<Worker>>,
    /// The agent itself, for forks.
    pub own: Arc<Worker>,
    /// Whether the agent itself is in the roster. An ad-hoc specialist may have the name of a member of its team.
    pub standing: Standing,
    /// The models that a call may ask for. A call's choice is stored as the number of its model here.
    pub models: Vec<KnownModel>,
    /// The checks that the reports of the hires must pass, as texts, in order, each with its highest cost.
    pub checks: Vec<(Text, Msat)>,
    /// More checks for the reports of single agents.
    pub checks_of: BTreeMap<AgentName, Vec<(Text, Msat)>>,
}

/// How an agent's team came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// The agent's file names each member, so the agent is expected to hire.
    ByName,
    /// The team is open to every agent, or the agent is an ad-hoc specialist with the team of its hirer.
    Open,
}

/// A model that a call can choose for a hire.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownModel {
    /// The names of the model, the shortest first.
    pub names: Vec<String>,
    /// The prices of the model's calls.
    pub tariff: Tariff,
}

/// Whether a person or an agent hired an agent. An agent that was hired by an agent can ask its hirer, and shares a board with
/// the hirer's other hires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Hired {
    /// A person hired the agent, so its contract is a root.
    ByOwner,
    ByAgent,
}

impl Hired {
    /// Returns the hirer of a contract, as its tools depend on it. A root's fork has the tools of the root, so that the prompt
    /// before its brief stays the same for a provider's cache.
    pub fn of(brief: &Brief) -> Hired {
        match (brief.path.level(), &brief.context) {
            (0, _) | (1, Context::Fork { .. }) => Hired::ByOwner,
            (_, Context::Fresh | Context::Fork { .. } | Context::After { .. }) => Hired::ByAgent,
        }
    }
}

/// Returns the members of a contract's team that work above it, from the root down. Nobody may hire them, so they are named in its
/// brief: its opening is the same for all contracts of its agent.
pub(crate) fn members_above<'a>(hiring: Option<&Hiring>, above: impl Iterator<Item = &'a Link>) -> Vec<&'a AgentName> {
    let Some(hiring) = hiring.filter(|hiring| !hiring.recursive) else { return Vec::new() };
    let is_member = |link: &&Link| link.standing == Standing::Listed && hiring.team.contains(&link.agent);
    let mut names: Vec<&AgentName> = above.filter(is_member).map(|link| &link.agent).collect();
    names.reverse();
    names
}
