//! What a prompt is made from, as data: for models that are programs within the process. It never leaves the process, and it
//! does not depend on how the runtime words things for language models.

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_kernel::{
    AgentName, Answer, Ask, AskId, AskKey, Brief, CallRef, Fact, Nudge, Origin, Outcome, Path, Refusal, Sender,
    Stimulus, TextRef, Turn,
};
use serde_json::{Value, json};

use crate::hiring::{DelegationTool, Team, Worker};
use crate::history::History;
use crate::model::Reply;
use crate::roster::Dialect;
use crate::status::Status;
use crate::text::{TextError, Texts};

/// Everything a prompt tells an agent, as data.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PromptData {
    pub agent: AgentName,
    /// The agents that this agent may hire, if it may hire.
    pub team: Option<TeamData>,
    /// The task of the brief, without terms and checks.
    pub task: String,
    /// Whether the reply may make calls, or is the last.
    pub turn: Turn,
    pub status: Status,
    /// What the contract heard and replied since its brief, in the order of its transcript: what comes while the model is at
    /// work follows its reply, and what calls brought is in the order of the calls.
    pub heard: Vec<Heard>,
}

/// A team, as its hirer knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct TeamData {
    pub dialect: Dialect,
    /// The agents, in the order of the hirer's file.
    pub members: Vec<Member>,
    /// Whether an agent without a file may be hired, too.
    pub allows_ad_hoc: bool,
}

/// An agent that can be hired.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Member {
    pub name: String,
    pub description: String,
    /// What it is hired for, apart from its name.
    pub specialties: Vec<String>,
}

impl TeamData {
    /// Returns the name of the tool that hires, and the arguments that hire an agent for a task.
    pub fn hire(&self, agent: &str, task: &str) -> (&'static str, Value) {
        let arguments = match self.dialect {
            Dialect::DelegateTask => json!({"specialty": agent, "task": task}),
            Dialect::DelegateToAgent => json!({"target_agent": agent, "prompt": task}),
            Dialect::Agent => json!({"subagent_type": agent, "description": "A part of the task", "prompt": task}),
        };
        (DelegationTool::Hire.name(self.dialect), arguments)
    }

    fn of(team: &Team) -> TeamData {
        let member = |worker: &Worker| Member {
            name: worker.name.as_str().to_owned(),
            description: worker.description.clone(),
            specialties: worker.specialties.clone(),
        };
        TeamData {
            dialect: team.dialect,
            members: team.others().map(member).collect(),
            allows_ad_hoc: team.ad_hoc.is_some(),
        }
    }
}

/// One thing that a contract heard, or replied.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Heard {
    /// The agent's own reply.
    Reply(Arc<Reply>),
    /// What a tool call brought.
    Result {
        /// The call's id, as the model gave it.
        call: String,
        text: String,
        failed: bool,
    },
    /// An agent was hired.
    Hired {
        /// The call that hired it, if a call did.
        call: Option<String>,
        hire: Path,
        agent: AgentName,
    },
    /// A call was refused, or a hire that the runtime proposed.
    Refused {
        /// The call, if a call was refused.
        call: Option<String>,
        why: Refusal,
    },
    /// A hire reported.
    Report(HeardReport),
    /// A hire asks something and waits for the answer.
    Question { from: Path, text: String },
    /// Another contract said something.
    Message { from: Path, text: String },
    /// The owner said something.
    Owner(String),
    /// The runtime demands something of the next reply.
    Nudged(Nudge),
}

/// A report, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct HeardReport {
    /// The call that hired the agent, if a call did.
    pub call: Option<String>,
    pub hire: Path,
    pub agent: AgentName,
    pub outcome: Outcome,
    pub task: String,
    /// What it said. Empty if it ended before it said anything.
    pub text: String,
}

impl PromptData {
    /// Collects what a contract was told.
    pub(crate) fn of(
        brief: &Brief,
        history: History<'_>,
        team: Option<&Team>,
        turn: Turn,
        status: Status,
    ) -> Result<PromptData, TextError> {
        let History { facts, texts, .. } = history;
        let (asks, calls) = (BTreeMap::new(), BTreeMap::new());
        let mut collector = Collector { texts, asks, calls, told: Vec::new(), heard: Vec::new() };
        for fact in facts {
            collector.take(fact)?;
        }
        collector.turn();
        let (agent, task) = (brief.agent.clone(), texts.text(&brief.task)?);
        Ok(PromptData { agent, team: team.map(TeamData::of), task, turn, status, heard: collector.heard })
    }
}

struct Collector<'a> {
    texts: &'a dyn Texts,
    /// What was asked, for the facts that answer it.
    asks: BTreeMap<AskId, (&'a Ask, Option<CallRef>)>,
    /// The ids that the model gave its calls.
    calls: BTreeMap<CallRef, String>,
    /// What is heard before the next turn, each with its call.
    told: Vec<(Option<CallRef>, Heard)>,
    heard: Vec<Heard>,
}

impl<'a> Collector<'a> {
    fn take(&mut self, fact: &'a Fact) -> Result<(), TextError> {
        match fact {
            Fact::Asked { id, ask, origin, .. } => {
                let at = call_of(*origin);
                self.asks.insert(*id, (ask, at));
                match ask {
                    Ask::Model(_) => self.turn(),
                    Ask::Hire { brief, .. } => {
                        let (hire, agent) = (brief.path.clone(), brief.agent.clone());
                        self.told.push((at, Heard::Hired { call: self.id(at), hire, agent }));
                    }
                    Ask::Tool(_) | Ask::Check(_) | Ask::Question { .. } | Ask::Tell { .. } => {}
                }
            }
            Fact::Answered { id, answer: Answer::Said(said), .. } => match self.texts.reply(&said.reply) {
                // What is shown in place of a reply that can't be read has no calls that a program could match.
                Err(TextError::NotReply { .. }) => {}
                reply => {
                    let reply = reply?;
                    let place = |index| CallRef { reply: *id, index };
                    self.calls.extend((0..).zip(&reply.calls).map(|(index, call)| (place(index), call.id.clone())));
                    self.heard.push(Heard::Reply(reply));
                }
            },
            Fact::Answered { id, answer, .. } => self.answered(*id, answer)?,
            Fact::Refused { why, origin, .. } => {
                let at = call_of(*origin);
                self.told.push((at, Heard::Refused { call: self.id(at), why: why.clone() }));
            }
            Fact::Heard { from, stimulus: stimulus @ (Stimulus::Message(text) | Stimulus::Question(text)) } => {
                let text = self.texts.text(text)?;
                let heard = match from {
                    Sender::Owner { .. } => Heard::Owner(text),
                    Sender::Contract(AskKey { contract: from, .. }) if matches!(stimulus, Stimulus::Question(_)) => {
                        Heard::Question { from: from.clone(), text }
                    }
                    Sender::Contract(AskKey { contract: from, .. }) => Heard::Message { from: from.clone(), text },
                };
                self.told.push((None, heard));
            }
            Fact::Nudged(nudge) => self.told.push((None, Heard::Nudged(*nudge))),
            Fact::Opened(_)
            | Fact::Heard { .. }
            | Fact::Raised { .. }
            | Fact::Waiting { .. }
            | Fact::Woke { .. }
            | Fact::Compacted { .. }
            | Fact::Closing(_)
            | Fact::Closed(_) => {}
        }
        Ok(())
    }

    fn answered(&mut self, id: AskId, answer: &Answer) -> Result<(), TextError> {
        let Some((ask, at)) = self.asks.get(&id).copied() else { return Ok(()) };
        let text = |of: Option<TextRef>| of.map(|of| self.texts.text(&of)).transpose().map(Option::unwrap_or_default);
        let heard = match (ask, answer) {
            (Ask::Hire { brief, .. }, Answer::Report(report)) => {
                // A contract that ended before it said anything has its task for a text.
                let text = text(answer.text().filter(|text| *text != brief.task))?;
                let (hire, agent, task) = (brief.path.clone(), brief.agent.clone(), self.texts.text(&brief.task)?);
                Heard::Report(HeardReport { call: self.id(at), hire, agent, outcome: report.outcome, task, text })
            }
            (Ask::Tool(_) | Ask::Question { .. }, answer) => {
                let text = text(answer.text())?;
                if matches!(answer, Answer::Text(_)) {
                    // The words that answer a question were heard just before; they are told as its answer alone.
                    self.told.pop();
                }
                let Some(call) = self.id(at).filter(|_| *answer != Answer::Approved) else { return Ok(()) };
                let failed = matches!(answer, Answer::Failed(_) | Answer::Lost | Answer::Aborted);
                Heard::Result { call, text, failed }
            }
            (Ask::Model(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Tell { .. }, _) => return Ok(()),
        };
        self.told.push((at, heard));
        Ok(())
    }

    /// Ends what the agent is told before its next turn. Answers arrive in any order; calls have one.
    fn turn(&mut self) {
        self.told.sort_by_key(|(call, _)| (call.is_none(), *call));
        self.heard.extend(self.told.drain(..).map(|(_, heard)| heard));
    }

    /// The id that the model gave a call.
    fn id(&self, at: Option<CallRef>) -> Option<String> {
        at.and_then(|call| self.calls.get(&call).cloned())
    }
}

fn call_of(origin: Origin) -> Option<CallRef> {
    if let Origin::Call(call) = origin { Some(call) } else { None }
}
