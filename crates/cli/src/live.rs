//! The live lines: what happens in a session, as it happens, one line per fact that a watcher cares about.

use std::collections::BTreeMap;

use guildhall::Hall;
use guildhall::kernel::{
    AgentName, Answer, Ask, AskId, Fact, Hiring, Limit, Msat, Origin, Outcome, Path, Report, Sender, Stimulus, Stored,
    TextRef,
};

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
    /// How many each may hire.
    teams: BTreeMap<Path, usize>,
    /// Whom the runtime hires in an agent's stead, until all are known.
    selected: BTreeMap<Path, Vec<AgentName>>,
    /// What there is to say of the newest fact.
    lines: Vec<String>,
}

impl Live {
    pub(crate) fn new(hall: Hall) -> Live {
        let (agents, asks, teams, selected) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Live { hall, agents, asks, teams, selected, lines: Vec::new() }
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
        self.lines(stored).await.iter().for_each(|line| say(line));
    }

    /// Returns the lines that tell one fact.
    pub(crate) async fn lines(&mut self, stored: &Stored) -> Vec<String> {
        self.put_into_words(stored).await;
        std::mem::take(&mut self.lines)
    }

    async fn put_into_words(&mut self, stored: &Stored) {
        let contract = &stored.contract;
        self.tell_selection(contract, &stored.fact);
        match &stored.fact {
            Fact::Opened(brief) => {
                self.agents.insert(contract.clone(), brief.agent.clone());
                let task = self.text(&brief.task).await;
                self.line(contract, &format!("begins with {}: {task}", sats(brief.grant.money)));
                if let Some(hiring) = &brief.hiring {
                    self.teams.insert(contract.clone(), hiring.team.len());
                    self.line(contract, &team(hiring));
                }
            }
            Fact::Asked { id, ask: ask @ Ask::Hire { brief, .. }, hold, origin: Origin::Cascade | Origin::Promise } => {
                self.selected.entry(contract.clone()).or_default().push(brief.agent.clone());
                self.asked(contract, *id, ask, hold.money).await;
            }
            Fact::Asked { id, ask, hold, .. } => self.asked(contract, *id, ask, hold.money).await,
            Fact::Answered { id, answer, .. } => self.answered(contract, *id, answer).await,
            Fact::Refused { why, .. } => self.warn(contract, &format!("refused: {why}")),
            Fact::Nudged(nudge) => self.line(contract, &format!("is told: {nudge:?}").to_lowercase()),
            Fact::Compacted { .. } => self.line(contract, "leaves older results out to save room"),
            Fact::Closing(outcome) => self.warn(contract, &format!("wraps up: {}", ending(*outcome))),
            Fact::Closed(report) => self.closed(contract, report),
            Fact::Raised { by, .. } => self.line(contract, &format!("passes {} more on", sats(*by))),
            Fact::Heard { from: Sender::Owner { .. }, stimulus: Stimulus::TopUp { money, .. } } => {
                self.line(contract, &format!("is given {} more", sats(*money)));
            }
            Fact::Heard { stimulus: Stimulus::Message(text) | Stimulus::Question(text), .. } => {
                let words = self.text(text).await;
                self.line(contract, &format!("is told: {words}"));
            }
            Fact::Waiting { on, .. } => self.line(contract, &format!("waits for {} of its hires", on.len())),
            Fact::Heard { .. } | Fact::Woke { .. } => {}
        }
    }

    /// Says whom the runtime chose where a reply named, or promised, and hired nobody itself.
    fn tell_selection(&mut self, contract: &Path, fact: &Fact) {
        let goes_on = matches!(fact, Fact::Asked { origin: Origin::Cascade | Origin::Promise, .. });
        if goes_on {
            return;
        }
        if let Some(selected) = self.selected.remove(contract) {
            let of = self.teams.get(contract).copied().unwrap_or(selected.len());
            let line = format!("selected {} of {of}: {}", selected.len(), names(&selected));
            self.line(contract, &line);
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
        let label = if let Ask::Hire { brief, .. } = ask { format!("{} {}", brief.path, brief.agent) } else { what };
        self.asks.insert((contract.clone(), id), label);
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
            Answer::Report(report) => {
                let line = format!("hears the report of {asked}; {} come back", sats(report.change));
                self.line(contract, &line);
            }
            Answer::Result(_)
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

    fn closed(&mut self, contract: &Path, report: &Report) {
        let line =
            format!("{}; spent {}, {} come back", ending(report.outcome), sats(report.spent), sats(report.change));
        self.line(contract, &line);
    }

    async fn text(&self, of: &TextRef) -> String {
        // What can't be read now is a matter for the end of the run, not for a line on the way.
        let bytes = self.hall.journal().text(of.hash).await.ok().flatten().unwrap_or_default();
        tame(String::from_utf8_lossy(&bytes).trim(), SHOWN_CHARS_MAX)
    }

    fn line(&mut self, contract: &Path, what: &str) {
        self.lines.push(format!("{} {DIM}{what}{DIM:#}", self.who(contract)));
    }

    fn warn(&mut self, contract: &Path, what: &str) {
        let line = format!("{} {WARN}{}{WARN:#}", self.who(contract), tame(what, 4 * SHOWN_CHARS_MAX));
        self.lines.push(line);
    }

    fn who(&self, contract: &Path) -> String {
        let indent = "  ".repeat(contract.level());
        let agent = self.agents.get(contract).map_or("agent", AgentName::as_str);
        format!("{indent}{contract} {BOLD}{agent}{BOLD:#}")
    }
}

/// Whom an agent may hire, in words.
fn team(hiring: &Hiring) -> String {
    let made_up = if hiring.ad_hoc { " and may make up specialists" } else { "" };
    match &*hiring.team {
        [] if hiring.ad_hoc => "has no agents of its own, and may make up specialists".to_owned(),
        [] => "has no agents".to_owned(),
        [one] => format!("has 1 agent: {one}{made_up}"),
        several => format!("has {} agents: {}{made_up}", several.len(), names(several)),
    }
}

fn names(agents: &[AgentName]) -> String {
    agents.iter().map(AgentName::as_str).collect::<Vec<_>>().join(", ")
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
