//! The live lines: what happens in a session, as it happens, one line per fact that a watcher cares about.

use std::collections::{BTreeMap, BTreeSet};

use guildhall::kernel::{
    AgentName, Answer, Ask, AskId, Brief, Certainty, Cost, Fact, Hiring, Limit, Mode, Msat, Nudge, Origin, Outcome,
    Path, Report, Sender, Stimulus, Stored, TextRef,
};
use guildhall::{Charges, Hall, Lack, Tasks, TokenLimit};

use crate::amount::sats;
use crate::bill::charges;
use crate::print::{BOLD, DIM, WARN, say, say_in, tame};

/// The most of a text that a line shows, in characters.
const SHOWN_CHARS_MAX: usize = 100;

/// How many of those whom somebody waits for are named.
const NAMED_MAX: usize = 5;

/// Tells a session's facts.
pub(crate) struct Live {
    hall: Hall,
    known: BTreeMap<Path, Known>,
    /// What was asked and is not answered.
    asks: BTreeMap<(Path, AskId), (String, Msat)>,
    /// How far the root's tokens are from their limit, if they have one.
    tokens: Option<TokenLimit>,
    /// What there is to say of the newest fact.
    lines: Vec<String>,
}

/// What is known of a contract.
#[derive(Default)]
struct Known {
    agent: Option<AgentName>,
    /// How many it may hire.
    team: usize,
    /// Whom one reply of its hires, until all are known.
    selected: Vec<AgentName>,
    /// For whom it waits, until that was told.
    awaits: Vec<String>,
    /// How many reports it has heard since it last asked its model.
    reports: usize,
    /// Whether it works off a list of tasks, without a model.
    is_list: bool,
}

impl Live {
    pub(crate) fn new(hall: Hall, tokens: Option<TokenLimit>) -> Live {
        Live { hall, known: BTreeMap::new(), asks: BTreeMap::new(), tokens, lines: Vec::new() }
    }

    /// Learns from what happened before whose facts it will tell. What there was to say of it was said.
    pub(crate) async fn know(&mut self, before: &[Stored]) {
        for stored in before {
            self.put_into_words(stored).await;
            self.lines.clear();
        }
    }

    fn of(&mut self, contract: &Path) -> &mut Known {
        self.known.entry(contract.clone()).or_default()
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
        if let Some(tokens) = &mut self.tokens {
            tokens.note(stored);
        }
        self.tell_selection(contract, &stored.fact);
        match &stored.fact {
            Fact::Opened(brief) => self.opened(contract, brief).await,
            Fact::Asked { id, ask: ask @ Ask::Hire { brief, .. }, hold, origin } => {
                if *origin != Origin::Outside {
                    self.of(contract).selected.push(brief.agent.clone());
                }
                self.asked(contract, *id, ask, hold.money).await;
            }
            Fact::Asked { id, ask, hold, .. } => self.asked(contract, *id, ask, hold.money).await,
            Fact::Answered { id, answer, cost } => self.answered(contract, *id, answer, *cost).await,
            Fact::Refused { why, .. } => self.warn(contract, &format!("refused: {why}")),
            Fact::Nudged(nudge) => self.line(contract, nudged(*nudge)),
            Fact::Compacted { .. } => self.line(contract, "leaves older results out to save room"),
            Fact::Closing(outcome) => {
                let why = ending(*outcome, self.out_of_tokens(contract));
                self.warn(contract, &format!("wraps up: {why}"));
            }
            Fact::Closed(report) => self.closed(contract, report),
            Fact::Raised { by, .. } => self.line(contract, &format!("passes {} more on", sats(*by))),
            Fact::Heard { from: Sender::Owner { .. }, stimulus: Stimulus::TopUp { money, .. } } => {
                self.line(contract, &format!("is given {} more", sats(*money)));
            }
            Fact::Heard { stimulus: Stimulus::Message(text) | Stimulus::Question(text), .. } => {
                let words = self.text(text).await;
                self.line(contract, &format!("is told: {words}"));
            }
            Fact::Waiting { on, .. } => {
                let label = |id: &AskId| self.asks.get(&(contract.clone(), *id)).map(|(label, _)| label.clone());
                let awaited: Vec<String> = on.iter().filter_map(label).collect();
                self.waits(contract, &awaited);
            }
            Fact::Heard { .. } | Fact::Woke { .. } => {}
        }
    }

    async fn opened(&mut self, contract: &Path, brief: &Brief) {
        // All that its hirer asked together with it has been told by now.
        if let Some(hirer) = contract.hirer() {
            self.selects(&hirer);
            let awaited = std::mem::take(&mut self.of(&hirer).awaits);
            self.waits(&hirer, &awaited);
        }
        let task = self.whole_text(&brief.task).await;
        let list = Tasks::read(&task);
        let task = list.as_ref().map_or(task, Tasks::label);
        let known = self.of(contract);
        known.agent = Some(brief.agent.clone());
        known.is_list = list.is_some();
        known.team = brief.hiring.as_ref().map_or(0, |hiring| hiring.team.len());
        self.line(contract, &format!("begins with {}: {}", sats(brief.grant.money), tame(&task, SHOWN_CHARS_MAX)));
        if let Some(hiring) = &brief.hiring {
            self.line(contract, &team(hiring));
        }
    }

    fn waits(&mut self, contract: &Path, awaited: &[String]) {
        let named = &awaited[..awaited.len().min(NAMED_MAX)];
        let more = match awaited.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        if !named.is_empty() {
            self.line(contract, &format!("waits for {}{more}", named.join(", ")));
        }
    }

    /// Says whom a reply has chosen, or the runtime where it named or promised somebody and hired nobody itself.
    fn tell_selection(&mut self, contract: &Path, fact: &Fact) {
        let goes_on = matches!(fact, Fact::Asked { ask: Ask::Hire { .. }, .. });
        if !goes_on {
            self.selects(contract);
        }
    }

    fn selects(&mut self, contract: &Path) {
        let Known { selected, team, .. } = self.of(contract);
        let (mut selected, team) = (std::mem::take(selected), *team);
        let mut named = BTreeSet::new();
        selected.retain(|agent| named.insert(agent.clone()));
        // Who has one agent has no choice.
        if !selected.is_empty() && team.max(selected.len()) > 1 {
            let of = team.max(selected.len());
            self.line(contract, &format!("selected {} of {of}: {}", selected.len(), names(&selected)));
        }
    }

    async fn asked(&mut self, contract: &Path, id: AskId, ask: &Ask, hold: Msat) {
        let holds = if hold == Msat::ZERO { String::new() } else { format!(" (holds {})", sats(hold)) };
        let (line, label) = match ask {
            Ask::Model(_) => {
                let asks = self.asks_model(contract);
                (format!("{asks}{holds}"), asks)
            }
            Ask::Tool(call) => {
                let call = format!("{} {}", call.tool, self.text(&call.arguments).await);
                (format!("{call}{holds}"), call)
            }
            Ask::Hire { brief, mode } => {
                let label = format!("{} {}", brief.path, brief.agent);
                if *mode == Mode::Blocking {
                    self.of(contract).awaits.push(label.clone());
                }
                (format!("hires {} with {}", brief.agent, sats(brief.grant.money)), label)
            }
            Ask::Check(_) | Ask::Question { .. } | Ask::Tell { .. } => return,
        };
        self.line(contract, &line);
        self.asks.insert((contract.clone(), id), (label, hold));
    }

    /// What a contract asks its model for.
    fn asks_model(&mut self, contract: &Path) -> String {
        let known = self.of(contract);
        match (std::mem::take(&mut known.reports), known.is_list) {
            (_, true) => "goes through its list".to_owned(),
            (0, false) => "asks the model".to_owned(),
            (1, false) => "asks the model, with a new report".to_owned(),
            (reports, false) => format!("asks the model to put {reports} reports together"),
        }
    }

    async fn answered(&mut self, contract: &Path, id: AskId, answer: &Answer, cost: Cost) {
        let known = self.asks.remove(&(contract.clone(), id));
        let (asked, hold) = known.unwrap_or_else(|| ("what was asked".to_owned(), Msat::ZERO));
        let charge = cost.within(hold);
        let reserved = match cost.certainty(answer) {
            Certainty::Reserved if charge > Msat::ZERO => {
                format!("; {} stays reserved because the call may have been billed", sats(charge))
            }
            Certainty::Reserved | Certainty::Used | Certainty::Estimated => String::new(),
        };
        // A hire's hold grows by what it is given later; what holds nothing is not told here.
        let overrun = cost.overrun(hold).filter(|_| answer.report().is_none() && hold > Msat::ZERO);
        if let Some(excess) = overrun {
            let (excess, hold) = (sats(excess), sats(hold));
            self.warn(contract, &format!("OVERRUN: the call cost {excess} more than the {hold} held for it"));
        }
        match answer {
            Answer::Said(said) => {
                if let Some(words) = &said.words {
                    let words = self.text(words).await;
                    self.line(contract, &format!("says: {words}"));
                }
            }
            Answer::Failed(why) => {
                let why = self.text(why).await;
                self.warn(contract, &format!("{why}{reserved}"));
            }
            Answer::Lost => self.warn(contract, &format!("{asked}: the answer was lost{reserved}")),
            Answer::Aborted => self.warn(contract, &format!("{asked}: stopped{reserved}")),
            Answer::Report(report) => {
                self.of(contract).reports += 1;
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
        let (reserved, estimated) = (report.reserved.unwrap_or(Msat::ZERO), report.estimated.unwrap_or(Msat::ZERO));
        let line = format!(
            "{}; {}, {} come back",
            ended_as(report.outcome, Lack::of(report), self.out_of_tokens(contract)),
            charges(Charges { used: report.used(), estimated, reserved }, sats),
            sats(report.change)
        );
        self.line(contract, &line);
    }

    /// The limit of tokens that ended a contract, if one did. Those below the root are asked by their hirer.
    fn out_of_tokens(&self, contract: &Path) -> Option<u64> {
        self.tokens.as_ref().filter(|_| contract.level() == 0).and_then(TokenLimit::ended)
    }

    async fn text(&self, of: &TextRef) -> String {
        tame(self.whole_text(of).await.trim(), SHOWN_CHARS_MAX)
    }

    async fn whole_text(&self, of: &TextRef) -> String {
        // What can't be read now is a matter for the end of the run: a line on the way names it, and goes on.
        match self.hall.journal().text(of.hash).await {
            Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(None) => format!("(the text {} is missing)", of.hash),
            Err(_) => format!("(the text {} can't be read)", of.hash),
        }
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
        let agent = self.known.get(contract).and_then(|known| known.agent.as_ref()).map_or("agent", AgentName::as_str);
        format!("{indent}{contract} {BOLD}{agent}{BOLD:#}")
    }
}

/// Whom an agent may hire, in words.
fn team(hiring: &Hiring) -> String {
    let ad_hoc = if hiring.ad_hoc { " and may make up specialists" } else { "" };
    match &*hiring.team {
        [] if hiring.ad_hoc => "has no agents of its own, and may make up specialists".to_owned(),
        [] => "has no agents".to_owned(),
        [one] => format!("has 1 agent: {one}{ad_hoc}"),
        several => format!("has {} agents: {}{ad_hoc}", several.len(), names(several)),
    }
}

fn names(agents: &[AgentName]) -> String {
    agents.iter().map(AgentName::as_str).collect::<Vec<_>>().join(", ")
}

/// Of what an agent was reminded, in words.
fn nudged(nudge: Nudge) -> &'static str {
    match nudge {
        Nudge::Required => "is reminded that it has to hire somebody",
        Nudge::Promise => "is reminded of the hire that it promised",
        Nudge::Mend => "is told to mend its report",
        Nudge::Empty => "is told that it said nothing",
    }
}

/// How a contract ended, in words; with the limit of tokens, if that ended it.
pub(crate) fn ending(outcome: Outcome, out_of_tokens: Option<u64>) -> String {
    let words = match outcome {
        Outcome::Done => "done",
        Outcome::Exhausted(Limit::Purse) => "out of money",
        Outcome::Exhausted(Limit::Turns) => "out of turns",
        Outcome::Exhausted(Limit::Deadline) => "out of time",
        Outcome::Exhausted(Limit::Asked) => match out_of_tokens {
            Some(limit) => return format!("out of tokens (limit {limit})"),
            None => "asked to wrap up",
        },
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
    };
    words.to_owned()
}

/// How a contract ended, and what its report lacks.
pub(crate) fn ended_as(outcome: Outcome, lack: Option<Lack>, out_of_tokens: Option<u64>) -> String {
    let lack = match lack {
        None => "",
        Some(Lack::Acceptance) => ", but its report is not accepted",
        Some(Lack::Hire) => ", but it hired nobody, which its file demands",
        Some(Lack::PromisedHire) => ", but a hire that it promised was not made",
    };
    format!("{}{lack}", ending(outcome, out_of_tokens))
}

/// Says something that is not about one contract.
pub(crate) fn note(line: &str) {
    say_in(DIM, line);
}
