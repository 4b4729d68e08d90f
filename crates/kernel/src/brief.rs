//! What a hirer passes on: the offer that is considered, and the brief that an admitted offer becomes.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::money::{Heads, Msat};
use crate::name::{AgentName, Power};
use crate::path::{AskId, DEPTH_MAX, Path};
use crate::refusal::Refusal;
use crate::tariff::{FRAME_TOKENS, Tariff};
use crate::text::{Hash, TextRef};
use crate::time::{Millis, WRAP_UP_MARGIN_MAX};

/// The longest brief: its task and all its terms, in bytes.
pub const BRIEF_BYTES_MAX: u64 = 64 * 1024;

/// Everything a contract may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Money: the contract's purse, and its hirer's hold.
    pub money: Msat,
    /// How many hires, its hires' own included.
    pub heads: Heads,
    /// How many levels of hires below it.
    pub depth: u8,
    /// When its report is due, if ever. A contract begins to wrap up a margin earlier; an engine cuts leaf calls off here.
    pub deadline: Option<Millis>,
    /// How long before the deadline it begins to wrap up. Absent without a deadline, and in form 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Millis>,
}

impl Grant {
    /// Sets the deadline of a grant that begins now, and the margin that goes with it.
    #[must_use]
    pub fn due(self, deadline: Option<Millis>, now: Millis) -> Grant {
        let margin = deadline.map(|deadline| deadline.before(now).wrap_up_margin());
        Grant { deadline, margin, ..self }
    }

    /// Returns how long before its deadline a contract begins to wrap up.
    pub fn wrap_up_margin(&self) -> Millis {
        self.margin.unwrap_or(WRAP_UP_MARGIN_MAX)
    }

    /// Returns when a contract begins to wrap up, if ever. The reports of its hires are due by then.
    pub fn wrap_up_at(&self) -> Option<Millis> {
        self.deadline.map(|deadline| deadline.before(self.wrap_up_margin()))
    }
}

/// The whole of what one contract was hired for. It never changes; what is added later is a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// The contract's id.
    pub path: Path,
    /// Who is hired.
    pub agent: AgentName,
    /// Whether the roster knows the agent.
    pub standing: Standing,
    /// What its hirer calls this contract, where that is not the agent's name. Boxed, since few have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Box<TextRef>>,
    /// What is to be done.
    pub task: TextRef,
    /// The hash of the normalised task, by which the same task is known again.
    pub task_key: Hash,
    /// What the contract and every descendant must honour, in the order in which hirers added it.
    pub terms: Arc<[TextRef]>,
    /// What this contract adds to the terms of each brief that it hands down.
    pub adds: Arc<[TextRef]>,
    /// What it may use.
    pub grant: Grant,
    /// Paid to the agent from the grant if its report is accepted; held until then.
    pub fee: Msat,
    /// The part of the grant that pays for one last request and nothing else; held until then.
    pub severance: Msat,
    /// Which model its agent works with: the number that the agent layer has given the model, or 0 for the agent's own model.
    /// Stored as `chair`, its name in the first release.
    #[serde(rename = "chair", default, skip_serializing_if = "is_own")]
    pub model_slot: u16,
    /// What its model calls cost.
    pub tariff: Tariff,
    /// How many replies it may ask for before it must wrap up.
    pub turns_max: u32,
    /// What its first request begins with.
    pub context: Context,
    /// The size of what the agent layer puts before the transcript, and of the brief as the model sees it.
    pub opening_bytes: u64,
    /// What the agent layer puts before the transcript: the system prompt and the tools, for whoever reads them later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Box<TextRef>>,
    /// Who hired whom, down to the hirer.
    pub lineage: Lineage,
    /// What it may do, and let its hires do.
    pub powers: Powers,
    /// Whom it may hire; nobody if absent.
    pub hiring: Option<Hiring>,
    /// What its report must pass before it counts as accepted.
    pub checks: Arc<[Check]>,
    /// Whether a final text ends it.
    pub stay: Stay,
}

impl Brief {
    /// Returns the least money that such a contract can work with: one minimum turn, its severance and its fee.
    pub fn minimum(&self) -> Msat {
        Msat::capped(self.needs())
    }

    /// The same, also where it is more than there is.
    fn needs(&self) -> u128 {
        let turn = self.tariff.turn_min(self.context.tokens().saturating_add(self.opening_bytes));
        [turn, self.severance, self.fee].iter().map(|part| u128::from(part.get())).sum()
    }

    /// Whether its grant is less than such a contract can work with.
    pub fn is_too_poor(&self) -> bool {
        u128::from(self.grant.money.get()) < self.needs()
    }

    /// Returns the size of what is handed over in words: the task and all terms.
    pub fn bytes(&self) -> u64 {
        let terms = self.terms.iter().map(|term| u64::from(term.bytes) + FRAME_TOKENS);
        u64::from(self.task.bytes) + terms.sum::<u64>()
    }

    /// Returns how this contract appears in the lineage of its hires.
    pub fn link(&self) -> Link {
        Link { agent: self.agent.clone(), task_key: self.task_key }
    }

    /// Returns the first of these powers that the contract may not let its hires have.
    pub fn beyond_grantable<'a>(&self, powers: &'a Powers) -> Option<&'a Power> {
        let grantable = &self.powers.grantable;
        powers.usable.beyond(grantable).or_else(|| powers.grantable.beyond(grantable))
    }

    /// Refuses a brief that no contract could lawfully work on.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.bytes() > BRIEF_BYTES_MAX {
            return Err(Refusal::BriefTooLong { bytes: self.bytes() });
        }
        if self.path.level() + usize::from(self.grant.depth) > usize::from(DEPTH_MAX) {
            return Err(Refusal::TooDeep { asked: self.grant.depth, left: DEPTH_MAX });
        }
        if self.stay == Stay::Open && self.path.level() > 0 {
            return Err(Refusal::StaysOpen);
        }
        let in_place = match self.context {
            Context::Fresh => true,
            Context::Fork { .. } => self.path.level() > 0,
            Context::After { .. } => self.path.level() == 0,
        };
        let in_line = self.lineage.upward().count() == self.path.level();
        if !in_place || !in_line || self.tariff.max_tokens == 0 || self.severance < self.tariff.last_min() {
            return Err(Refusal::Unworkable);
        }
        if self.is_too_poor() {
            let money = self.grant.money;
            return Err(Refusal::Money { asked: money, free: money, minimum: self.minimum() });
        }
        Ok(())
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_own(model_slot: &u16) -> bool {
    *model_slot == 0
}

/// Whether an agent is an entry of the roster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It has a file.
    Listed,
    /// A specialist made up for one hire; only its task tells it from others.
    AdHoc,
}

/// What a contract's first request begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// The brief alone.
    Fresh,
    /// The hirer's last request as a prefix, by reference: nothing is copied.
    Fork {
        /// The hirer's request.
        request: AskId,
        /// That request's cursor: the fork sees the hirer's facts before this one, and none that came later.
        upto: u32,
        /// An upper bound of that request's tokens.
        tokens: u64,
    },
    /// The transcript of a finished root of the same session.
    After {
        /// That root.
        root: Path,
        /// An upper bound of its tokens.
        tokens: u64,
    },
}

impl Context {
    /// An upper bound of the tokens that precede the brief.
    pub fn tokens(&self) -> u64 {
        match self {
            Context::Fresh => 0,
            Context::Fork { tokens, .. } | Context::After { tokens, .. } => *tokens,
        }
    }
}

/// Whether a final text ends a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stay {
    /// A final text is the report.
    Once,
    /// A final text means waiting for words: a conversation. Only roots may stay open.
    Open,
}

/// What a contract may do itself, and what it may let its hires do. Two sets, since one who may not
/// run a command may yet hire one who may.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Powers {
    /// What it may do.
    pub usable: PowerSet,
    /// What its hires may be given.
    pub grantable: PowerSet,
}

/// A set of powers, shared between the contracts that have the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Power>", into = "Vec<Power>")]
pub struct PowerSet(Arc<[Power]>);

impl PowerSet {
    /// Returns the first power of this set that the other lacks.
    pub fn beyond<'a>(&'a self, other: &PowerSet) -> Option<&'a Power> {
        self.0.iter().find(|power| other.0.binary_search(power).is_err())
    }

    /// Goes through the powers in order.
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

/// Whom a contract may hire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hiring {
    /// The agents of the roster that it may hire.
    pub team: Arc<[AgentName]>,
    /// Whether it may make up specialists.
    pub ad_hoc: bool,
    /// Whether it may hire itself or its hirers again, for a different task.
    pub recursive: bool,
}

/// Something a report must pass: a schema, cited receipts, files, a command. The agent layer defines what each check means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What is checked.
    pub what: TextRef,
    /// What checking costs at most; a free check always runs.
    pub price: Msat,
}

/// Whether a hirer waits for its hire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The call that hired is answered by the report.
    Blocking,
    /// The call is answered at once, the report is heard later.
    Background,
}

/// A hire as proposed: by a model's call, by the agent layer, or from outside. Admitted, it becomes a brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Who is to be hired.
    pub agent: AgentName,
    /// Whether the roster knows the agent.
    pub standing: Standing,
    /// What the hirer calls the contract, where that is not the agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Box<TextRef>>,
    /// What is to be done.
    pub task: TextRef,
    /// The hash of the normalised task.
    pub task_key: Hash,
    /// Whether the hirer's conversation comes along.
    pub inherit: Inherit,
    /// Whether the hirer waits.
    pub mode: Mode,
    /// The money, if it was said; otherwise a share of what is free.
    pub budget: Option<Msat>,
    /// The most that a share may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_max: Option<Msat>,
    /// The heads passed on, if they were said; otherwise a share of what is free.
    pub heads: Option<Heads>,
    /// The depth, if it was said; otherwise one less than the hirer's.
    pub depth: Option<u8>,
    /// The deadline, if it was said; otherwise the hirer's, less the wrap-up margin.
    pub deadline: Option<Millis>,
    /// Terms for this hire alone, after those that the hirer hands down.
    pub terms: Arc<[TextRef]>,
    /// What the hire adds to the terms of the briefs that it hands down.
    pub adds: Arc<[TextRef]>,
    /// The agent's fee.
    pub fee: Msat,
    /// The agent's severance.
    pub severance: Msat,
    /// The number of its agent's model, as in [`Brief`]. A fork has its hirer's.
    #[serde(rename = "chair", default, skip_serializing_if = "is_own")]
    pub model_slot: u16,
    /// What its model calls cost. A fork has its hirer's tariff.
    pub tariff: Tariff,
    /// How many replies it may ask for.
    pub turns_max: u32,
    /// The size of its opening.
    pub opening_bytes: u64,
    /// The powers it is to have.
    pub powers: Powers,
    /// Whom it may hire.
    pub hiring: Option<Hiring>,
    /// What its report must pass.
    pub checks: Arc<[Check]>,
}

/// Whether a hire inherits the hirer's conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inherit {
    /// Nothing but the brief.
    Fresh,
    /// The hirer's last request: the same agent goes on elsewhere.
    Fork,
}

/// Who hired whom, from the root down to a contract's hirer. Shared: a hire adds one link and copies nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage(Option<Arc<Node>>);

#[derive(Debug, PartialEq, Eq)]
struct Node {
    link: Link,
    above: Lineage,
}

/// One ancestor, as its descendants need to know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Who it was.
    pub agent: AgentName,
    /// What it was hired for, as the hash of the normalised task.
    pub task_key: Hash,
}

impl Lineage {
    /// Returns the lineage of this one's hires.
    #[must_use]
    pub fn with(&self, link: Link) -> Lineage {
        Lineage(Some(Arc::new(Node { link, above: self.clone() })))
    }

    /// Goes up, from the nearest ancestor to the root.
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
            return Err(serde::de::Error::custom("a lineage is no deeper than hires may nest"));
        }
        Ok(links.into_iter().fold(Lineage::default(), |above, link| above.with(link)))
    }
}
