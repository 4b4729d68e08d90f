//! The live lines: what happens in a session, as it happens, one line per fact that a watcher cares about.

use std::collections::BTreeMap;

use guildhall::Hall;
use guildhall::kernel::{AgentName, Answer, Ask, AskId, Fact, Limit, Msat, Outcome, Path, Report, Stored, TextRef};

use crate::amount::sats;
use crate::print::{BOLD, DIM, WARN, say, say_in, tame};

/// The most of a text that a line shows, in characters.
const SHOWN_CHARS_MAX: usize = 100;

/// Tells a session's facts.
pub(crate) struct Live {
    hall: Hall,
    agents: BTreeMap<Path, AgentName>,
    /// What was asked and is not answered.
    asks: BTreeMap<(Path, AskId), String>,
}

impl Live {
    pub(crate) fn new(hall: Hall) -> Live {
        Live { hall, agents: BTreeMap::new(), asks: BTreeMap::new() }
    }

    /// Learns from what happened before whose facts it will tell.
    pub(crate) fn know(&mut self, before: &[Stored]) {
        for stored in before {
            if let Fact::Opened(brief) = &stored.fact {
                self.agents.insert(stored.contract.clone(), brief.agent.clone());
            }
        }
    }

    /// Tells one fact.
    pub(crate) async fn tell(&mut self, stored: &Stored) {
        let contract = &stored.contract;
        match &stored.fact {
            Fact::Opened(brief) => {
                self.agents.insert(contract.clone(), brief.agent.clone());
                let task = self.text(&brief.task).await;
                self.line(contract, &format!("begins with {}: {task}", sats(brief.grant.money)));
            }
            Fact::Asked { id, ask, hold, .. } => self.asked(contract, *id, ask, hold.money).await,
            Fact::Answered { id, answer, .. } => self.answered(contract, *id, answer).await,
            Fact::Refused { why, .. } => self.warn(contract, &format!("refused: {why}")),
            Fact::Nudged(nudge) => self.line(contract, &format!("is told: {nudge:?}").to_lowercase()),
            Fact::Compacted { .. } => self.line(contract, "leaves older results out to save room"),
            Fact::Closing(outcome) => self.warn(contract, &format!("wraps up: {}", ending(*outcome))),
            Fact::Closed(report) => self.closed(contract, report),
            Fact::Raised { .. } | Fact::Heard { .. } | Fact::Waiting { .. } | Fact::Woke { .. } => {}
        }
    }

    async fn asked(&mut self, contract: &Path, id: AskId, ask: &Ask, hold: Msat) {
        let what = match ask {
            Ask::Model(_) => "asks the model".to_owned(),
            Ask::Tool(call) => format!("{} {}", call.tool, self.text(&call.arguments).await),
            Ask::Hire { brief, .. } => format!("hires {} with {}", brief.agent, sats(brief.grant.money)),
            Ask::Check(_) | Ask::Question { .. } | Ask::Tell { .. } => return,
        };
        let set_aside = if hold == Msat::ZERO { String::new() } else { format!(" (holds {})", sats(hold)) };
        self.line(contract, &format!("{what}{set_aside}"));
        self.asks.insert((contract.clone(), id), what);
    }

    async fn answered(&mut self, contract: &Path, id: AskId, answer: &Answer) {
        let asked = self.asks.remove(&(contract.clone(), id)).unwrap_or_else(|| "what was asked".to_owned());
        match answer {
            Answer::Said(said) => {
                if let Some(words) = &said.words {
                    let words = self.text(words).await;
                    self.line(contract, &format!("says: {words}"));
                }
            }
            Answer::Failed(why) => {
                let why = self.text(why).await;
                self.warn(contract, &why);
            }
            Answer::Lost => self.warn(contract, &format!("{asked}: the answer was lost; it counts as used")),
            Answer::Aborted => self.warn(contract, &format!("{asked}: stopped")),
            Answer::Report(_)
            | Answer::Result(_)
            | Answer::Passed
            | Answer::FailedCheck(_)
            | Answer::Words(_)
            | Answer::Approved
            | Answer::Denied
            | Answer::NoReply
            | Answer::Delivered
            | Answer::Gone => {}
        }
    }

    fn closed(&self, contract: &Path, report: &Report) {
        let line =
            format!("{}; spent {}, {} come back", ending(report.outcome), sats(report.spent), sats(report.change));
        self.line(contract, &line);
    }

    async fn text(&self, of: &TextRef) -> String {
        // What can't be read now is a matter for the end of the run, not for a line on the way.
        let bytes = self.hall.journal().text(of.hash).await.ok().flatten().unwrap_or_default();
        tame(String::from_utf8_lossy(&bytes).trim(), SHOWN_CHARS_MAX)
    }

    fn line(&self, contract: &Path, what: &str) {
        say(&format!("{} {DIM}{what}{DIM:#}", self.who(contract)));
    }

    fn warn(&self, contract: &Path, what: &str) {
        say(&format!("{} {WARN}{}{WARN:#}", self.who(contract), tame(what, 4 * SHOWN_CHARS_MAX)));
    }

    fn who(&self, contract: &Path) -> String {
        let indent = "  ".repeat(contract.level());
        let agent = self.agents.get(contract).map_or("agent", AgentName::as_str);
        format!("{indent}{contract} {BOLD}{agent}{BOLD:#}")
    }
}

/// How a contract ended, in words.
pub(crate) fn ending(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Exhausted(Limit::Purse) => "out of money",
        Outcome::Exhausted(Limit::Turns) => "out of turns",
        Outcome::Exhausted(Limit::Deadline) => "out of time",
        Outcome::Exhausted(Limit::Asked) => "asked to wrap up",
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
    }
}

/// Says something that is not about one contract.
pub(crate) fn note(line: &str) {
    say_in(DIM, line);
}
