//! What a prompt is made from, as data: for models that are programs within the process. It never leaves the process, and it
//! does not depend on how the runtime words things for language models.

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_kernel::{
    AgentName, Answer, Ask, AskId, Brief, CallRef, Fact, Nudge, Origin, Outcome, Path, Refusal, Report, Request,
    Sender, Stimulus, TextRef, Turn,
};
use serde_json::{Value, json};

use crate::hiring::{DelegationTool, Team};
use crate::model::Reply;
use crate::roster::Dialect;
use crate::status::Status;
use crate::texts::{TextError, Texts};

/// Everything a prompt tells an agent, as data.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptData {
    /// The agent's name.
    pub agent: AgentName,
    /// The agents that this agent may hire, if it may hire.
    pub team: Option<TeamData>,
    /// The task of the brief, without terms and checks.
    pub task: String,
    /// Whether the reply may make calls, or is the last.
    pub turn: Turn,
    /// What the contract has left.
    pub status: Status,
    /// What the contract heard and replied since its brief, in the order of its transcript: what comes while the model is at
    /// work follows its reply, and what calls brought is in the order of the calls.
    pub heard: Vec<Heard>,
}

/// A team, as its hirer knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamData {
    /// The dialect of the hiring tool.
    pub dialect: Dialect,
    /// The agents, in the order of the hirer's file.
    pub members: Vec<Member>,
    /// Whether an agent without a file may be hired, too.
    pub allows_ad_hoc: bool,
}

/// An agent that can be hired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// When to hire it, in a line.
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
        let member = |worker: &crate::hiring::Worker| Member {
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
pub enum Heard {
    /// The agent's own reply.
    Reply(Arc<Reply>),
    /// What a tool call brought.
    Result {
        /// The call's id, as the model gave it.
        call: String,
        /// The tool's text.
        text: String,
        /// Whether the call failed.
        failed: bool,
    },
    /// An agent was hired.
    Hired {
        /// The call that hired it, if a call did.
        call: Option<String>,
        /// Its contract.
        hire: Path,
        /// Its name.
        agent: AgentName,
    },
    /// A call was refused, or a hire that the runtime proposed.
    Refused {
        /// The call, if a call was refused.
        call: Option<String>,
        /// The reason.
        why: Refusal,
    },
    /// A hire reported.
    Report(HeardReport),
    /// A hire asks something and waits for the answer.
    Question {
        /// Its contract.
        from: Path,
        /// What it asks.
        text: String,
    },
    /// Another contract said something.
    Message {
        /// Which contract.
        from: Path,
        /// What it said.
        text: String,
    },
    /// The owner said something.
    Owner(String),
    /// The runtime demands something of the next reply.
    Nudged(Nudge),
}

/// A report, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeardReport {
    /// The call that hired the agent, if a call did.
    pub call: Option<String>,
    /// Its contract.
    pub hire: Path,
    /// Its name.
    pub agent: AgentName,
    /// How its work ended.
    pub outcome: Outcome,
    /// The task it was hired for.
    pub task: String,
    /// What it said. Empty if it ended before it said anything.
    pub text: String,
}

impl PromptData {
    /// Collects what a contract was told. `None` if the facts have no brief.
    pub(crate) fn of(
        facts: &[Fact],
        texts: &impl Texts,
        team: Option<&Team>,
        request: &Request,
        status: &Status,
    ) -> Result<Option<PromptData>, TextError> {
        let brief = facts.iter().find_map(|fact| if let Fact::Opened(brief) = fact { Some(brief) } else { None });
        let Some(brief) = brief else { return Ok(None) };
        let (asks, calls) = (BTreeMap::new(), BTreeMap::new());
        let mut collector = Collector { texts, asks, calls, told: Vec::new(), heard: Vec::new() };
        for fact in facts {
            collector.take(fact)?;
        }
        collector.turn();
        Ok(Some(PromptData {
            agent: brief.agent.clone(),
            team: team.map(TeamData::of),
            task: texts.text(&brief.task)?,
            turn: request.turn,
            status: *status,
            heard: collector.heard,
        }))
    }
}

struct Collector<'a, T> {
    texts: &'a T,
    /// What was asked, for the facts that answer it.
    asks: BTreeMap<AskId, (&'a Ask, Origin)>,
    /// The ids that the model gave its calls.
    calls: BTreeMap<CallRef, String>,
    /// What is heard before the next turn, each with its call.
    told: Vec<(Option<CallRef>, Heard)>,
    heard: Vec<Heard>,
}

impl<'a, T: Texts> Collector<'a, T> {
    fn take(&mut self, fact: &'a Fact) -> Result<(), TextError> {
        match fact {
            Fact::Asked { id, ask, origin, .. } => {
                self.asks.insert(*id, (ask, *origin));
                match ask {
                    Ask::Model(_) => self.turn(),
                    Ask::Hire { brief, .. } => {
                        let (hire, agent) = (brief.path.clone(), brief.agent.clone());
                        self.tell(*origin, Heard::Hired { call: self.call(*origin), hire, agent });
                    }
                    Ask::Tool(_) | Ask::Check(_) | Ask::Question { .. } | Ask::Tell { .. } => {}
                }
            }
            Fact::Answered { id, answer, .. } => self.answered(*id, answer)?,
            Fact::Refused { why, origin, .. } => {
                self.tell(*origin, Heard::Refused { call: self.call(*origin), why: why.clone() });
            }
            Fact::Heard { from, stimulus } => self.hear(from, stimulus)?,
            Fact::Nudged(nudge) => self.told.push((None, Heard::Nudged(*nudge))),
            Fact::Opened(_)
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
        if let Answer::Said(said) = answer {
            // What is shown in place of a reply that can't be read has no calls that a program could match.
            return match self.texts.reply(&said.reply) {
                Err(TextError::NotReply { .. }) => Ok(()),
                reply => {
                    let reply = reply?;
                    let place = |index| CallRef { reply: id, index };
                    self.calls.extend((0..).zip(&reply.calls).map(|(index, call)| (place(index), call.id.clone())));
                    self.heard.push(Heard::Reply(reply));
                    Ok(())
                }
            };
        }
        let Some((ask, origin)) = self.asks.get(&id).copied() else { return Ok(()) };
        match (ask, answer) {
            (Ask::Hire { brief, .. }, Answer::Report(report)) => {
                let report = self.report(brief, self.call(origin), report, answer.text())?;
                self.tell(origin, Heard::Report(report));
            }
            (Ask::Tool(_) | Ask::Question { .. }, answer) => {
                if matches!(answer, Answer::Words(_)) {
                    // The words that answer a question were heard just before; they are told as its answer alone.
                    self.told.pop();
                }
                let Some(call) = self.call(origin).filter(|_| *answer != Answer::Approved) else { return Ok(()) };
                let text = answer.text().map(|text| self.texts.text(&text)).transpose()?.unwrap_or_default();
                let failed = matches!(answer, Answer::Failed(_) | Answer::Lost | Answer::Aborted);
                self.tell(origin, Heard::Result { call, text, failed });
            }
            (Ask::Model(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Tell { .. }, _) => {}
        }
        Ok(())
    }

    fn report(
        &self,
        brief: &Brief,
        call: Option<String>,
        report: &Report,
        text: Option<TextRef>,
    ) -> Result<HeardReport, TextError> {
        // A contract that ended before it said anything has its task for a text.
        let said = text.filter(|text| *text != brief.task).map(|text| self.texts.text(&text)).transpose()?;
        let (hire, agent, task) = (brief.path.clone(), brief.agent.clone(), self.texts.text(&brief.task)?);
        Ok(HeardReport { call, hire, agent, outcome: report.outcome, task, text: said.unwrap_or_default() })
    }

    fn hear(&mut self, from: &Sender, stimulus: &Stimulus) -> Result<(), TextError> {
        let heard = match (stimulus, from) {
            (Stimulus::Message(text) | Stimulus::Question(text), Sender::Owner { .. }) => {
                Heard::Owner(self.texts.text(text)?)
            }
            (Stimulus::Message(text), Sender::Contract(key)) => {
                Heard::Message { from: key.contract.clone(), text: self.texts.text(text)? }
            }
            (Stimulus::Question(text), Sender::Contract(key)) => {
                Heard::Question { from: key.contract.clone(), text: self.texts.text(text)? }
            }
            (Stimulus::TopUp { .. } | Stimulus::Hire(_) | Stimulus::WrapUp | Stimulus::Cancel, _) => return Ok(()),
        };
        self.told.push((None, heard));
        Ok(())
    }

    fn tell(&mut self, origin: Origin, heard: Heard) {
        self.told.push((call_of(origin), heard));
    }

    /// Ends what the agent is told before its next turn. Answers arrive in any order; calls have one.
    fn turn(&mut self) {
        self.told.sort_by_key(|(call, _)| (call.is_none(), *call));
        self.heard.extend(self.told.drain(..).map(|(_, heard)| heard));
    }

    /// The id that the model gave a call.
    fn call(&self, origin: Origin) -> Option<String> {
        call_of(origin).and_then(|call| self.calls.get(&call).cloned())
    }
}

fn call_of(origin: Origin) -> Option<CallRef> {
    match origin {
        Origin::Call(call) => Some(call),
        Origin::Cascade | Origin::Promise | Origin::Outside | Origin::Course => None,
    }
}
