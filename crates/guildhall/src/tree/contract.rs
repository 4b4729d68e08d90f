//! One contract of a session's tree.

use std::collections::BTreeMap;

use guildhall_kernel::{
    Acceptance, Addressee, AgentName, Answer, Ask, AskId, Brief, CloseWhen, Context, Cost, Fact, Heads, Hold, Millis,
    Msat, Offer, Outcome, Path, Quantity, Report, Request, Standing, Stimulus, TextRef, ToolName, Turn,
};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::bill::Lack;

/// A contract, as someone who watches the session sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeContract {
    /// The contract's path.
    pub path: Path,
    /// The path of its hirer. A root has none.
    pub hirer: Option<Path>,
    /// The agent.
    pub agent: AgentName,
    /// The hirer's name for the contract, if it differs from the agent's name.
    pub label: Option<TextRef>,
    /// Whether the agent is on the roster.
    pub standing: Standing,
    /// What the contract knows at its start besides its brief.
    pub context: StartContext,
    /// How many levels of hires the contract may have below it.
    pub depth: u8,
    /// The task.
    pub task: TextRef,
    /// The money, in millisatoshis.
    pub money: Amounts<Msat>,
    /// The heads.
    pub heads: Amounts<Heads>,
    /// How many requests to its model the contract made.
    pub requests: u32,
    /// How many tool calls it made.
    pub tool_calls: u32,
    /// How many agents it hired.
    pub hires: u32,
    /// The hires that wait for money and have not begun, by ordinal.
    pub queued: BTreeMap<u32, QueuedHire>,
    /// How many of its calls, hires, checks and top-ups were refused.
    pub refusals: u32,
    /// When it opened, in session time.
    pub opened_at: Millis,
    /// When it closed, in session time.
    pub closed_at: Option<Millis>,
    /// The report of a contract that has closed.
    pub report: Option<TreeReport>,
    fee: Msat,
    severance_of_brief: Msat,
    /// The part of the severance that is held.
    severance: Msat,
    close_when: CloseWhen,
    open: BTreeMap<AskId, OpenAsk>,
    /// How many of the open asks are work of the contract itself.
    own_work: u32,
    /// Whether a conversation waits for the next message of its owner.
    awaits_message: bool,
}

/// An account of one quantity: `granted = available + held + spent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amounts<Q> {
    /// The amount that was ever granted.
    pub granted: Q,
    /// The amount that new asks may hold.
    pub available: Q,
    /// The amount that open asks hold, and for money also the fee and the severance.
    pub held: Q,
    /// The amount that was spent.
    pub spent: Q,
}

/// The state of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContractState {
    /// A model call, a tool call or a check of the contract is open, or it is between two asks.
    Works,
    /// It waits for hires, for its hirer or for a person.
    Waits,
    /// It reported its final text.
    Done,
    /// A limit stopped it early.
    RanDry,
    /// Its model or its engine failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// Something that a contract waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Waits {
    /// The reply of its model.
    Model,
    /// The result of a tool.
    Tool {
        /// The tool.
        tool: ToolName,
    },
    /// The result of a check of its report.
    Check,
    /// The report of a hire.
    Hire {
        /// The contract of the hire.
        contract: Path,
    },
    /// An answer or a message of a person.
    Person,
    /// The answer of its hirer.
    Hirer,
    /// More money from its hirer.
    Money,
}

/// What a contract knows at its start besides its brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StartContext {
    /// Nothing.
    Fresh,
    /// The conversation of its hirer.
    Fork,
    /// The conversation of an earlier root.
    After(Path),
}

/// The report of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreeReport {
    /// How the contract ended.
    pub outcome: Outcome,
    /// Whether the hirer can rely on the report.
    pub accepted: bool,
    /// The text.
    pub text: TextRef,
    /// The structured output, if the brief demands one.
    pub output: Option<TextRef>,
    /// Whether the text is cut: its model could not finish it.
    pub cut: bool,
    /// What the report lacks, if the contract is done.
    pub lack: Option<Lack>,
}

/// A hire that waits for money and has no contract yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueuedHire {
    /// The path that its contract will have.
    pub path: Path,
    /// The agent.
    pub agent: AgentName,
    /// The hirer's name for the hire, if it differs from the agent's name.
    pub label: Option<TextRef>,
    /// The task.
    pub task: TextRef,
}

impl QueuedHire {
    fn of(hirer: &Path, own: &AgentName, ordinal: u32, offer: &Offer) -> QueuedHire {
        let agent = offer.agent_of_hire(own);
        let label = offer.label.as_deref().copied();
        QueuedHire { path: hirer.hire(ordinal), agent: agent.clone(), label, task: offer.task }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenAsk {
    hold: Hold,
    /// Whether this is the request that the severance pays for.
    is_last: bool,
    /// `None` if the contract only passes a message on.
    waits: Option<Waits>,
}

impl<Q: Quantity> Amounts<Q> {
    fn new(granted: Q) -> Amounts<Q> {
        Amounts { granted, available: granted, held: Q::ZERO, spent: Q::ZERO }
    }

    fn raise(&mut self, by: Q) {
        (self.granted, self.available) = (sum(self.granted, by), sum(self.available, by));
    }

    fn hold(&mut self, amount: Q) {
        (self.available, self.held) = (difference(self.available, amount), sum(self.held, amount));
    }

    /// Ends a hold. The cost is spent, and the rest is available again.
    fn settle(&mut self, hold: Q, cost: Q) {
        self.held = difference(self.held, hold);
        self.spent = sum(self.spent, cost);
        self.available = sum(self.available, difference(hold, cost));
    }
}

impl TreeContract {
    pub(super) fn open(brief: &Brief, at: Millis) -> TreeContract {
        let mut money = Amounts::new(brief.grant.money);
        money.hold(brief.fee);
        money.hold(brief.severance);
        TreeContract {
            path: brief.path.clone(),
            hirer: brief.path.hirer(),
            agent: brief.agent.clone(),
            label: brief.label.as_deref().copied(),
            standing: brief.standing,
            context: match &brief.context {
                Context::Fresh => StartContext::Fresh,
                Context::Fork { .. } => StartContext::Fork,
                Context::After { root, .. } => StartContext::After(root.clone()),
            },
            depth: brief.grant.depth,
            task: brief.task,
            money,
            heads: Amounts::new(brief.grant.heads),
            requests: 0,
            tool_calls: 0,
            hires: 0,
            queued: BTreeMap::new(),
            refusals: 0,
            opened_at: at,
            closed_at: None,
            report: None,
            fee: brief.fee,
            severance_of_brief: brief.severance,
            severance: brief.severance,
            close_when: brief.close_when,
            open: BTreeMap::new(),
            own_work: 0,
            awaits_message: false,
        }
    }

    /// Returns the state.
    pub fn state(&self) -> ContractState {
        match &self.report {
            Some(report) => match report.outcome {
                Outcome::Done => ContractState::Done,
                Outcome::Exhausted(_) => ContractState::RanDry,
                Outcome::Failed => ContractState::Failed,
                Outcome::Cancelled => ContractState::Cancelled,
            },
            None if self.own_work == 0 && (self.awaits_message || !self.open.is_empty()) => ContractState::Waits,
            None => ContractState::Works,
        }
    }

    /// Returns what the contract waits for, in the order in which it asked.
    pub fn waits_for(&self) -> impl Iterator<Item = &Waits> {
        let message = self.awaits_message.then_some(&Waits::Person);
        self.open.values().filter_map(|open| open.waits.as_ref()).chain(message)
    }

    pub(super) fn apply(&mut self, fact: &Fact, at: Millis) {
        match fact {
            Fact::Asked { id, ask, hold, .. } => self.asked(*id, ask, *hold),
            Fact::Answered { id, answer, cost } => self.answered(*id, answer, *cost),
            Fact::Queued { ordinal, offer, .. } => {
                self.queued.insert(*ordinal, QueuedHire::of(&self.path, &self.agent, *ordinal, offer));
            }
            Fact::Refused { ordinal, .. } => {
                self.refusals += 1;
                if let Some(ordinal) = ordinal {
                    self.queued.remove(ordinal);
                }
            }
            Fact::Raised { hire, by, .. } => {
                self.money.hold(*by);
                if let Some(open) = self.open.get_mut(hire) {
                    open.hold.money = sum(open.hold.money, *by);
                }
            }
            Fact::Heard { stimulus: Stimulus::TopUp { money, .. }, .. } => self.money.raise(*money),
            Fact::Heard { stimulus: Stimulus::Message(_), .. } | Fact::Closing(_) => self.awaits_message = false,
            Fact::Closed(report) => self.closed(report, at),
            Fact::Heard {
                stimulus:
                    Stimulus::Question(_)
                    | Stimulus::Draw { .. }
                    | Stimulus::RefuseDraw { .. }
                    | Stimulus::Hire(_)
                    | Stimulus::DropHire { .. }
                    | Stimulus::WrapUp
                    | Stimulus::OutOfTokens { .. }
                    | Stimulus::Cancel,
                ..
            }
            | Fact::Opened(_)
            | Fact::Waiting { .. }
            | Fact::Woke { .. }
            | Fact::Nudged(_)
            | Fact::Compacted { .. } => {}
        }
    }

    fn asked(&mut self, id: AskId, ask: &Ask, hold: Hold) {
        let is_last = matches!(ask, Ask::Model(Request { turn: Turn::Last, .. }));
        if is_last {
            // The severance pays for the last request, so it is available from here on.
            self.money.settle(self.severance, Msat::ZERO);
            self.severance = Msat::ZERO;
        }
        self.money.hold(hold.money);
        self.heads.hold(hold.heads);
        let waits = match ask {
            Ask::Model(_) => {
                self.requests += 1;
                self.awaits_message = false;
                Some(Waits::Model)
            }
            Ask::Tool(call) => {
                self.tool_calls += 1;
                Some(Waits::Tool { tool: call.tool.clone() })
            }
            Ask::Hire { brief, .. } => {
                self.hires += 1;
                self.queued.remove(&brief.path.ordinal());
                Some(Waits::Hire { contract: brief.path.clone() })
            }
            Ask::Check(_) => Some(Waits::Check),
            Ask::Question { to: Addressee::Owner, .. } => Some(Waits::Person),
            Ask::Question { to: Addressee::Hirer, .. } => Some(Waits::Hirer),
            Ask::Draw { .. } => Some(Waits::Money),
            Ask::Tell { .. } => None,
        };
        self.own_work += u32::from(is_own_work(waits.as_ref()));
        self.open.insert(id, OpenAsk { hold, is_last, waits });
    }

    fn answered(&mut self, id: AskId, answer: &Answer, cost: Cost) {
        let Some(OpenAsk { hold, is_last, waits }) = self.open.remove(&id) else { return };
        self.own_work -= u32::from(is_own_work(waits.as_ref()));
        let charge = cost.within(hold.money);
        self.money.settle(hold.money, charge);
        // A hire has used one head for itself, and those of its report.
        let heads = answer.report().map_or(Heads(0), |report| Heads(report.heads.0.saturating_add(1)));
        self.heads.settle(hold.heads, heads.min(hold.heads));
        if is_last {
            // The part of the severance that the request did not use is held again.
            self.severance = difference(hold.money, charge).min(self.severance_of_brief);
            self.money.hold(self.severance);
        }
        if let Answer::Said(said) = answer {
            self.awaits_message = self.close_when == CloseWhen::Asked && said.calls == 0;
        }
    }

    fn closed(&mut self, report: &Report, at: Millis) {
        self.money.settle(self.fee, report.fee);
        self.money.settle(self.severance, Msat::ZERO);
        self.severance = Msat::ZERO;
        self.awaits_message = false;
        self.closed_at = Some(at);
        self.report = Some(TreeReport {
            outcome: report.outcome,
            accepted: report.acceptance == Acceptance::Accepted,
            text: report.text.text(),
            output: report.output,
            cut: report.cut,
            lack: Lack::of(report),
        });
    }
}

impl Serialize for TreeContract {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut contract = serializer.serialize_struct("TreeContract", 20)?;
        contract.serialize_field("path", &self.path)?;
        contract.serialize_field("hirer", &self.hirer)?;
        contract.serialize_field("agent", &self.agent)?;
        contract.serialize_field("label", &self.label)?;
        contract.serialize_field("standing", &self.standing)?;
        contract.serialize_field("context", &self.context)?;
        contract.serialize_field("depth", &self.depth)?;
        contract.serialize_field("task", &self.task)?;
        contract.serialize_field("state", &self.state())?;
        contract.serialize_field("waits_for", &self.waits_for().collect::<Vec<_>>())?;
        contract.serialize_field("money", &self.money)?;
        contract.serialize_field("heads", &self.heads)?;
        contract.serialize_field("requests", &self.requests)?;
        contract.serialize_field("tool_calls", &self.tool_calls)?;
        contract.serialize_field("hires", &self.hires)?;
        contract.serialize_field("queued", &self.queued.values().collect::<Vec<_>>())?;
        contract.serialize_field("refusals", &self.refusals)?;
        contract.serialize_field("opened_at", &self.opened_at)?;
        contract.serialize_field("closed_at", &self.closed_at)?;
        contract.serialize_field("report", &self.report)?;
        contract.end()
    }
}

/// Whether an ask is work of the contract itself, not of another contract or a person.
fn is_own_work(waits: Option<&Waits>) -> bool {
    match waits {
        Some(Waits::Model | Waits::Tool { .. } | Waits::Check) => true,
        Some(Waits::Hire { .. } | Waits::Person | Waits::Hirer | Waits::Money) | None => false,
    }
}

/// Adds. Sums of lawful facts stay within the limit.
pub(super) fn sum<Q: Quantity>(one: Q, other: Q) -> Q {
    one.plus(other).unwrap_or(one)
}

/// Subtracts. Differences of lawful facts are never negative.
pub(super) fn difference<Q: Quantity>(one: Q, other: Q) -> Q {
    one.minus(other).unwrap_or(Q::ZERO)
}
