//! Briefs and offers: an offer is a proposed hire, and an admitted offer becomes a brief.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::money::{Heads, Msat};
use crate::name::{AgentName, PayeeName, Power};
use crate::path::{AskId, DEPTH_MAX, Path};
use crate::refusal::Refusal;
use crate::tariff::{FRAME_TOKENS, Tariff};
use crate::text::{Hash, TextRef};
use crate::time::Millis;

/// The longest brief: its task and all its terms, in bytes.
pub const BRIEF_BYTES_MAX: u64 = 64 * 1024;

/// Everything that a contract may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Money: the contract's purse, and its hirer's hold.
    pub money: Msat,
    /// The number of hires, including the hires of its hires.
    pub heads: Heads,
    /// The number of levels of hires below the contract.
    pub depth: u8,
    /// When the report is due, if ever. A contract begins to wrap up one margin earlier; an engine aborts leaf calls at
    /// the deadline.
    pub deadline: Option<Millis>,
    /// How long before the deadline the contract begins to wrap up. Present if and only if there is a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Millis>,
}

impl Grant {
    /// Sets the deadline of a grant that begins now, and the margin for that deadline.
    #[must_use]
    pub fn due(self, deadline: Option<Millis>, now: Millis) -> Grant {
        let margin = deadline.map(|deadline| deadline.before(now).wrap_up_margin());
        Grant { deadline, margin, ..self }
    }

    /// Returns how long before its deadline a contract begins to wrap up. Without a deadline this is zero.
    pub fn wrap_up_margin(&self) -> Millis {
        self.margin.unwrap_or_default()
    }

    /// Returns when a contract begins to wrap up, if ever. The reports of its hires are due by then.
    pub fn wrap_up_at(&self) -> Option<Millis> {
        self.deadline.map(|deadline| deadline.before(self.wrap_up_margin()))
    }
}

/// The complete order for one contract. A brief never changes; a later addition is a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// The contract's id.
    pub path: Path,
    /// The agent that is hired.
    pub agent: AgentName,
    /// Whether the agent is in the roster.
    pub standing: Standing,
    /// The hirer's name for this contract, if it differs from the agent's name. Boxed, because few contracts have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Box<TextRef>>,
    /// The task.
    pub task: TextRef,
    /// The hash of the normalised task, which identifies equal tasks.
    pub task_key: Hash,
    /// The terms that the contract and every descendant must follow, in the order in which hirers added them.
    pub terms: Arc<[TextRef]>,
    /// The terms that this contract adds to the brief of each hire.
    pub adds: Arc<[TextRef]>,
    /// What the contract may use.
    pub grant: Grant,
    /// The maximum of the grant and all draws together: the budget that the hirer named, or the agent's own maximum. A
    /// person's top-up raises it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money_max: Option<Msat>,
    /// Paid to the agent from the grant if its report is accepted; held until then.
    pub fee: Msat,
    /// Who gets the fee, in a session with the money of a wallet. Boxed, because few contracts have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payee: Option<Box<PayeeName>>,
    /// The part of the grant that pays for one last request and nothing else; held until then.
    pub severance: Msat,
    /// The model of the agent: the number that the agent layer has given the model, or 0 for the agent's own model.
    #[serde(default, skip_serializing_if = "is_own")]
    pub model_slot: u16,
    /// The prices of its model calls.
    pub tariff: Tariff,
    /// Whether its hirer has the same model of the same provider, so that both count tokens alike.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_model: bool,
    /// The number of replies that the contract may ask for before it must wrap up.
    pub turns_max: u32,
    /// The context that the first request begins with.
    pub context: Context,
    /// The size of the opening (the system prompt and the tools) and of the brief as the model sees it.
    pub opening_bytes: u64,
    /// The opening: the system prompt and the tools, which the agent layer puts before the transcript. Stored for later
    /// readers. Contracts of the same agent share the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Arc<TextRef>>,
    /// The chain of hirers, from the root down to this contract's hirer.
    pub lineage: Lineage,
    /// What the contract may do itself and let its hires do.
    pub powers: Powers,
    /// The agents that the contract may hire; absent if it can't hire.
    pub hiring: Option<Hiring>,
    /// The checks that the report must pass to be accepted.
    pub checks: Arc<[Check]>,
    /// Whether a final text closes the contract.
    pub close_when: CloseWhen,
}

impl Brief {
    /// Returns the least money that a contract with this brief can work with: one minimum turn, its severance and its
    /// fee.
    pub fn minimum(&self) -> Msat {
        Msat::capped(self.needs())
    }

    /// Returns the same amount without the cap at the supply of bitcoin.
    fn needs(&self) -> u128 {
        let turn = self.tariff.turn_min(self.context.tokens().saturating_add(self.opening_bytes));
        [turn, self.severance, self.fee].iter().map(|part| u128::from(part.get())).sum()
    }

    /// Returns whether the grant is less than the minimum.
    pub fn has_too_little_money(&self) -> bool {
        u128::from(self.grant.money.get()) < self.needs()
    }

    /// Returns the size of the brief's texts: the task and all terms.
    pub fn bytes(&self) -> u64 {
        let terms = self.terms.iter().map(|term| u64::from(term.bytes) + FRAME_TOKENS);
        u64::from(self.task.bytes) + terms.sum::<u64>()
    }

    /// Returns how this contract appears in the lineage of its hires.
    pub fn link(&self) -> Link {
        Link { agent: self.agent.clone(), standing: self.standing, task_key: self.task_key }
    }

    /// Returns the first of these powers that the contract is not allowed to grant to its hires.
    pub fn beyond_grantable<'a>(&self, powers: &'a Powers) -> Option<&'a Power> {
        let grantable = &self.powers.grantable;
        powers.usable.beyond(grantable).or_else(|| powers.grantable.beyond(grantable))
    }

    /// Refuses a brief that no contract could work on within the laws.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.bytes() > BRIEF_BYTES_MAX {
            return Err(Refusal::BriefTooLong { bytes: self.bytes() });
        }
        if self.path.level() + usize::from(self.grant.depth) > usize::from(DEPTH_MAX) {
            return Err(Refusal::TooDeep { asked: self.grant.depth, left: DEPTH_MAX });
        }
        if self.close_when == CloseWhen::Asked && self.path.level() > 0 {
            return Err(Refusal::StaysOpen);
        }
        let in_place = match self.context {
            Context::Fresh => true,
            Context::Fork { .. } => self.path.level() > 0,
            Context::After { .. } => self.path.level() == 0,
        };
        let in_line = self.lineage.upward().count() == self.path.level();
        let on_time = self.grant.margin.is_some() == self.grant.deadline.is_some();
        if !in_place || !in_line || !on_time || self.tariff.max_tokens == 0 || self.severance < self.tariff.last_min() {
            return Err(Refusal::Unworkable);
        }
        if self.has_too_little_money() {
            let money = self.grant.money;
            return Err(Refusal::Money { asked: money, free: money, minimum: self.minimum() });
        }
        Ok(())
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_own(model_slot: &u16) -> bool {
    *model_slot == 0
}

/// Whether an agent is an entry of the roster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The agent has a file.
    Listed,
    /// An ad-hoc specialist, defined for one hire. Its name is not fixed, so only its task identifies it.
    AdHoc,
}

/// The context that a contract's first request begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// The brief alone.
    Fresh,
    /// The hirer's last request as a prefix, by reference: nothing is copied.
    Fork {
        /// The hirer's request.
        request: AskId,
        /// The cursor of that request: the fork sees the hirer's facts before this number, and no later fact.
        upto: u32,
        /// An upper bound of the request's tokens.
        tokens: u64,
    },
    /// The transcript of a finished root of the same session.
    After {
        /// The root.
        root: Path,
        /// An upper bound of its tokens.
        tokens: u64,
    },
}

impl Context {
    /// Returns an upper bound of the tokens that precede the brief.
    pub fn tokens(&self) -> u64 {
        match self {
            Context::Fresh => 0,
            Context::Fork { tokens, .. } | Context::After { tokens, .. } => *tokens,
        }
    }
}

/// When a contract closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseWhen {
    /// The contract closes with its final text, which is its report.
    FinalText,
    /// The contract stays open after a final text and waits for the owner's next message: a conversation. It closes
    /// when it is asked to. Only roots can stay open.
    Asked,
}

/// What a contract may do itself, and what it may let its hires do. Two sets, because a contract that is not allowed to
/// run a command may be allowed to hire an agent that is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Powers {
    /// The powers that the contract may use.
    pub usable: PowerSet,
    /// The powers that the contract may grant to its hires.
    pub grantable: PowerSet,
}

/// A set of powers. Contracts with equal sets share the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Power>", into = "Vec<Power>")]
pub struct PowerSet(Arc<[Power]>);

impl PowerSet {
    /// Returns the first power of this set that is missing in `other`.
    pub fn beyond<'a>(&'a self, other: &PowerSet) -> Option<&'a Power> {
        self.0.iter().find(|power| other.0.binary_search(power).is_err())
    }

    /// Iterates over the powers in order.
    pub fn iter(&self) -> impl Iterator<Item = &Power> {
        self.0.iter()
    }
}

impl From<Vec<Power>> for PowerSet {
    fn from(mut powers: Vec<Power>) -> PowerSet {
        powers.sort();
        powers.dedup();
        PowerSet(powers.into())
    }
}

impl From<PowerSet> for Vec<Power> {
    fn from(set: PowerSet) -> Vec<Power> {
        set.0.to_vec()
    }
}

/// The agents that a contract may hire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hiring {
    /// The allowed agents of the roster.
    pub team: Arc<[AgentName]>,
    /// Whether the contract may define ad-hoc specialists.
    pub ad_hoc: bool,
    /// Whether the contract may hire its own agent or an agent above it, for a different task.
    pub recursive: bool,
}

/// A check that a report must pass, for example that it matches a schema, cites receipts or names files that exist. The
/// agent layer defines what each check means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The description of the check.
    pub what: TextRef,
    /// The maximum cost of the check; a free check always runs.
    pub price: Msat,
}

/// Whether a hirer waits for its hire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The call that hired is answered by the report.
    Blocking,
    /// The call is answered immediately, the report comes later.
    Background,
}

/// A proposed hire: by a model's call, by the agent layer, or from outside. An admitted offer becomes a brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The agent to hire.
    pub agent: AgentName,
    /// Whether the agent is in the roster.
    pub standing: Standing,
    /// The hirer's name for the contract, if it differs from the agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Box<TextRef>>,
    /// The task.
    pub task: TextRef,
    /// The hash of the normalised task.
    pub task_key: Hash,
    /// Whether the hire sees the hirer's conversation.
    pub inherit: Inherit,
    /// Whether the hirer waits for the report.
    pub mode: Mode,
    /// The money, if the hirer named an amount; otherwise a share of the available money. A hire gets at most this much,
    /// its draws included.
    pub budget: Option<Msat>,
    /// The maximum of a share and the hire's draws together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_max: Option<Msat>,
    /// The heads that are passed on, if the hirer named a number; otherwise a share of the available heads.
    pub heads: Option<Heads>,
    /// The depth, if the hirer named one; otherwise one less than the hirer's.
    pub depth: Option<u8>,
    /// The deadline, if the hirer named one; otherwise the hirer's deadline minus the wrap-up margin.
    pub deadline: Option<Millis>,
    /// The terms for this hire alone, after the terms that the hirer passes on.
    pub terms: Arc<[TextRef]>,
    /// The terms that the hire adds to the briefs of its own hires.
    pub adds: Arc<[TextRef]>,
    /// The agent's fee.
    pub fee: Msat,
    /// Who gets the fee, as in [`Brief`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payee: Option<Box<PayeeName>>,
    /// The agent's severance.
    pub severance: Msat,
    /// The number of the agent's model, as in [`Brief`]. A fork uses its hirer's model.
    #[serde(default, skip_serializing_if = "is_own")]
    pub model_slot: u16,
    /// The prices of its model calls. A fork uses its hirer's tariff.
    pub tariff: Tariff,
    /// Whether the hire would have the same model as its hirer, as in [`Brief`]. A fork always has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_model: bool,
    /// The number of replies that the hire may ask for.
    pub turns_max: u32,
    /// The size of its opening.
    pub opening_bytes: u64,
    /// Its opening, as in [`Brief`]. A fork has its hirer's opening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Arc<TextRef>>,
    /// The powers of the hire.
    pub powers: Powers,
    /// The agents that the hire may hire.
    pub hiring: Option<Hiring>,
    /// The checks that the report must pass.
    pub checks: Arc<[Check]>,
}

impl Offer {
    /// Returns the agent of the hire: a fork has its hirer's agent, whatever agent the offer names.
    pub fn agent_of_hire<'a>(&'a self, hirer: &'a AgentName) -> &'a AgentName {
        if self.inherit == Inherit::Fork { hirer } else { &self.agent }
    }

    /// Returns the maximum of the hire's grant and draws together: the named budget, or the agent's own maximum.
    pub fn money_max(&self) -> Option<Msat> {
        self.budget.or(self.share_max)
    }
}

/// Whether a hire inherits the hirer's conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inherit {
    /// The hire sees the brief alone.
    Fresh,
    /// The hire sees the hirer's last request: the same agent continues in a second contract.
    Fork,
}

/// The chain of hirers, from the root down to a contract's hirer. The links are shared: a hire adds one link and copies
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage(Option<Arc<Node>>);

#[derive(Debug, PartialEq, Eq)]
struct Node {
    link: Link,
    above: Lineage,
}

/// One ancestor: the data that its descendants need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The ancestor's agent.
    pub agent: AgentName,
    /// Whether that agent is in the roster. An ad-hoc specialist may have the name of a listed agent.
    pub standing: Standing,
    /// The hash of the ancestor's normalised task.
    pub task_key: Hash,
}

impl Link {
    /// Whether the ancestor is this agent of the roster.
    pub fn is_listed(&self, agent: &AgentName) -> bool {
        self.standing == Standing::Listed && self.agent == *agent
    }
}

impl Lineage {
    /// Returns this lineage with one more link: the lineage of the contract's hires.
    #[must_use]
    pub fn with(&self, link: Link) -> Lineage {
        Lineage(Some(Arc::new(Node { link, above: self.clone() })))
    }

    /// Iterates from the nearest ancestor up to the root.
    pub fn upward(&self) -> impl Iterator<Item = &Link> {
        let mut at = self;
        std::iter::from_fn(move || {
            let node = at.0.as_ref()?;
            at = &node.above;
            Some(&node.link)
        })
    }
}

impl Serialize for Lineage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut links: Vec<&Link> = self.upward().collect();
        links.reverse();
        serializer.collect_seq(links)
    }
}

impl<'de> Deserialize<'de> for Lineage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lineage, D::Error> {
        let links = Vec::<Link>::deserialize(deserializer)?;
        if links.len() > usize::from(DEPTH_MAX) {
            return Err(serde::de::Error::custom(
                "the lineage (the chain of hirers) is longer than the maximum depth of hires",
            ));
        }
        Ok(links.into_iter().fold(Lineage::default(), |above, link| above.with(link)))
    }
}
