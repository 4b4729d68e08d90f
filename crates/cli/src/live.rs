//! Turns a session's facts into lines while they happen: a line per hire and per report, a line per problem, and a status line.
//! With `-v`, also a line per ask and per answer.

mod figures;
mod hire_line;
mod name;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use anstyle::Style;
use guildhall::kernel::{
    Addressee, AgentName, Answer, Ask, AskId, AskKey, Brief, Cost, Fact, Inherit, Millis, Mode, Msat, Nudge, Offer,
    Origin, Outcome, Path, PayeeName, ReplyParts, Report, Said, Sender, Stimulus, Stored, TextRef,
};
use guildhall::{Charges, Hall, Tasks, TokenLimit, UsageWarnings};

use crate::amount::{sats, sum};
use crate::bill::charges;
use crate::markdown;
use crate::print::{BOLD, DIM, WARN, tame, tame_lines};
use crate::screen::{self, Level};

use self::figures::Tally;
use self::hire_line::HiredTasks;
pub(crate) use self::hire_line::Line;
pub(crate) use self::name::{name, name_of};
pub(crate) use self::words::{HowEnded, ending};

/// The most of a text that a line shows, in characters.
const SHOWN_CHARS_MAX: usize = 100;

/// The least room that a task is shown in, in columns.
const TASK_COLUMNS_MIN: usize = 12;

/// How many hires a "waits for" line names.
const NAMED_MAX: usize = 5;

/// Turns a session's facts into lines.
pub(crate) struct Live {
    hall: Hall,
    level: Level,
    /// Returns the width of the terminal that the lines go to, if they go to one.
    columns: fn() -> Option<usize>,
    known: BTreeMap<Path, Known>,
    /// The asks that have no answer yet.
    asks: BTreeMap<(Path, AskId), Pending>,
    paid_by: String,
    /// Counts the root's tokens, if they are limited.
    tokens: Option<TokenLimit>,
    usage_warnings: UsageWarnings,
    tally: Tally,
    /// What earlier roots of the conversation have cost.
    earlier: Charges,
    /// The lines about the newest fact, each with its contract.
    lines: Vec<(Path, Line)>,
}

/// What is known of a contract.
#[derive(Default)]
struct Known {
    /// The label that its hirer gave the contract, or else its agent's name.
    name: String,
    began: Millis,
    /// The fee that an accepted report earns, and who gets it. In play money, nobody does.
    fee: Msat,
    payee: Option<PayeeName>,
    /// How many agents it may hire.
    team: usize,
    /// The agents that its newest reply has hired so far.
    selected: Vec<AgentName>,
    /// The tasks of the hires of its newest reply.
    hired: HiredTasks,
    /// The hires it waits for that no line has named yet.
    awaits: Vec<String>,
    /// How many reports it has received since it last asked its model.
    reports: usize,
    /// Whether it works through a list of tasks, without a model.
    is_list: bool,
    parts: ReplyParts,
}

/// An ask that has no answer yet.
struct Pending {
    kind: Kind,
    what: String,
    hold: Msat,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A call of a model or a tool.
    Call,
    /// A hire. Its hold grows with the money that is added to it.
    Hire,
    /// A contract waits for more money from its hirer.
    Draw,
    /// A contract waits for an answer.
    Question,
}

impl Live {
    pub(crate) fn new(hall: Hall, tokens: Option<TokenLimit>, usage_warnings: UsageWarnings) -> Live {
        let (known, asks, lines) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (level, columns) = (screen::level(), screen::stderr_columns as fn() -> Option<usize>);
        let (at_work, queued, charges) = (BTreeSet::new(), BTreeSet::new(), Charges::default());
        let tally = Tally { since: Instant::now(), at_work, queued, charges, budget: Msat::ZERO };
        Live {
            hall,
            level,
            columns,
            known,
            asks,
            paid_by: String::new(),
            tokens,
            usage_warnings,
            tally,
            earlier: Charges::default(),
            lines,
        }
    }

    /// Sets who pays for the work.
    pub(crate) fn paid_by(self, paid_by: String) -> Live {
        Live { paid_by, ..self }
    }

    /// Returns lines about every fact, for stdout.
    pub(crate) fn in_full(hall: Hall, tokens: Option<TokenLimit>, usage_warnings: UsageWarnings) -> Live {
        Live { level: Level::Verbose, columns: screen::stdout_columns, ..Live::new(hall, tokens, usage_warnings) }
    }

    /// Takes facts that were shown earlier. They yield no lines.
    pub(crate) async fn know(&mut self, before: &[Stored]) {
        for stored in before {
            self.put_into_words(stored).await;
            self.lines.clear();
        }
    }

    /// Returns the name of each contract.
    pub(crate) fn names(&self) -> BTreeMap<Path, String> {
        self.known.iter().map(|(contract, known)| (contract.clone(), known.name.clone())).collect()
    }

    /// Returns the lines about one fact, each with its contract.
    pub(crate) async fn lines(&mut self, stored: &Stored) -> Vec<(Path, Line)> {
        self.put_into_words(stored).await;
        std::mem::take(&mut self.lines)
    }

    /// Whether the facts of a root have arrived.
    pub(crate) fn has_begun(&self) -> bool {
        !self.known.is_empty()
    }

    fn of(&mut self, contract: &Path) -> &mut Known {
        self.known.entry(contract.clone()).or_default()
    }

    async fn put_into_words(&mut self, stored: &Stored) {
        let contract = &stored.contract;
        if let Some(tokens) = &mut self.tokens {
            tokens.note(stored);
        }
        if let Some(warning) = self.usage_warnings.note(stored) {
            let warning = tame(&format!("warning: {warning}"), 4 * SHOWN_CHARS_MAX);
            self.lines.push((contract.clone(), Line::Text(format!("{WARN}{warning}{WARN:#}"))));
        }
        self.of(contract).parts.note(&stored.fact);
        self.show_selection(contract, &stored.fact);
        match &stored.fact {
            Fact::Opened(brief) => self.opened(contract, brief, stored.at).await,
            Fact::Asked { id, ask, hold, origin } => {
                if let Ask::Hire { brief, .. } = ask
                    && *origin != Origin::Outside
                {
                    self.of(contract).selected.push(brief.agent.clone());
                }
                self.asked(stored, *id, ask, hold.money).await;
            }
            Fact::Answered { id, answer, cost } => self.answered(contract, *id, answer, *cost).await,
            Fact::Queued { ordinal, offer, .. } => self.queued(contract, *ordinal, offer).await,
            Fact::Refused { why, ordinal: Some(ordinal), .. } => {
                let hire = contract.hire(*ordinal);
                self.tally.queued.remove(&hire);
                self.warn(&hire, &words::not_begun(why));
            }
            Fact::Refused { why, origin, ordinal: None, .. } => self.warn(contract, &words::refused(why, *origin)),
            Fact::Nudged(nudge) => {
                let what = words::nudged(*nudge);
                if contract.level() == 0 && screen::withdraw_reply() {
                    let is_void = *nudge != Nudge::ConfirmReport;
                    self.warn(contract, &if is_void { format!("{what}: asking again") } else { what.to_owned() });
                } else {
                    self.detail(contract, what);
                }
            }
            Fact::Compacted { .. } => self.detail(contract, "leaves older results out of its requests to save tokens"),
            Fact::Closing(outcome) => {
                // The report line of a hire or of an ended conversation says the same.
                if contract.level() == 0 && *outcome != Outcome::Done || self.level == Level::Verbose {
                    let why = words::wraps_up(*outcome, self.out_of_tokens(contract));
                    self.warn(contract, &why);
                }
            }
            Fact::Closed(report) => self.closed(contract, report, stored.at),
            Fact::Raised { hire, by, .. } => {
                if let Some(hire) = self.asks.get_mut(&(contract.clone(), *hire)) {
                    hire.hold = sum(hire.hold, *by);
                }
                self.detail(contract, &format!("gives a hire {} more", sats(*by)));
            }
            Fact::Heard { from, stimulus } => self.heard(contract, from, stimulus).await,
            Fact::Waiting { on, .. } => {
                let what = |ordinal: &u32| {
                    let hire = contract.hire(*ordinal);
                    format!("{hire} {}", self.name(&hire))
                };
                let awaited: Vec<String> = on.iter().map(what).collect();
                self.waits(contract, &awaited);
            }
            Fact::Woke { .. } => {}
        }
    }

    /// A hire has to wait for money. A fork has its hirer's agent, whatever agent the offer names.
    async fn queued(&mut self, contract: &Path, ordinal: u32, offer: &Offer) {
        let hire = contract.hire(ordinal);
        let name = match &offer.label {
            Some(label) => self.text(label).await,
            None if offer.inherit == Inherit::Fork => self.name(contract).to_owned(),
            None => offer.agent.to_string(),
        };
        *self.of(&hire) = Known { name, ..Known::default() };
        self.tally.queued.insert(hire.clone());
        let task = self.whole_text(&offer.task).await;
        self.hire_line(&hire, "waits for money".to_owned(), &task);
    }

    async fn opened(&mut self, contract: &Path, brief: &Brief, at: Millis) {
        if let Some(hirer) = contract.hirer() {
            // All asks that the hirer made together with this one are shown by now.
            self.selects(&hirer);
            let awaited = std::mem::take(&mut self.of(&hirer).awaits);
            self.waits(&hirer, &awaited);
        } else {
            (self.tally.at_work, self.tally.queued) = Default::default();
            (self.tally.charges, self.tally.budget) = (Charges::default(), brief.grant.money);
            self.begins(contract, brief, "begins").await;
        }
        self.tally.at_work.insert(contract.clone());
        self.of(contract).began = at;
        if let Some(hiring) = &brief.hiring {
            self.detail(contract, &words::team(hiring));
        }
    }

    /// Adds the line about a new contract, and keeps its name.
    async fn begins(&mut self, contract: &Path, brief: &Brief, how: &str) {
        let task = self.whole_text(&brief.task).await;
        let list = Tasks::read(&task);
        let task = list.as_ref().map_or(task, Tasks::label);
        let name = name(&self.hall, brief).await;
        let agent = if name == brief.agent.as_str() { String::new() } else { format!("({}) ", brief.agent) };
        let team = brief.hiring.as_ref().map_or(0, |hiring| hiring.team.len());
        let (fee, payee) = (brief.fee, brief.payee.as_deref().cloned());
        *self.of(contract) = Known { name, fee, payee, team, is_list: list.is_some(), ..Known::default() };
        let line = format!("{agent}{how} with {}", sats(brief.grant.money));
        self.hire_line(contract, line, &task);
    }

    fn waits(&mut self, contract: &Path, awaited: &[String]) {
        let named = &awaited[..awaited.len().min(NAMED_MAX)];
        let more = match awaited.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        if !named.is_empty() {
            self.detail(contract, &format!("waits for {}{more}", named.join(", ")));
        }
    }

    /// Adds a line with the agents that a reply has hired, once it has made its last hire.
    fn show_selection(&mut self, contract: &Path, fact: &Fact) {
        let is_hire = matches!(fact, Fact::Asked { ask: Ask::Hire { .. }, .. });
        if !is_hire {
            self.selects(contract);
        }
    }

    fn selects(&mut self, contract: &Path) {
        let Known { selected, team, .. } = self.of(contract);
        let (mut selected, team) = (std::mem::take(selected), *team);
        let mut named = BTreeSet::new();
        selected.retain(|agent| named.insert(agent.clone()));
        // An agent that may hire one agent has no choice.
        if !selected.is_empty() && team.max(selected.len()) > 1 {
            let of = team.max(selected.len());
            self.detail(contract, &format!("selected {} of {of}: {}", selected.len(), words::names(&selected)));
        }
    }

    async fn asked(&mut self, stored: &Stored, id: AskId, ask: &Ask, hold: Msat) {
        let contract = &stored.contract;
        let holds = if hold == Msat::ZERO { String::new() } else { format!(" (holds {})", sats(hold)) };
        let (what, kind) = match ask {
            Ask::Model(_) => (self.asks_model(contract), Kind::Call),
            Ask::Tool(call) => {
                (words::tool_call(call.tool.as_str(), &self.whole_text(&call.arguments).await), Kind::Call)
            }
            Ask::Hire { brief, mode } => {
                self.tally.queued.remove(&brief.path);
                self.begins(&brief.path, brief, "hired").await;
                let what = format!("{} {}", brief.path, self.name(&brief.path));
                if *mode == Mode::Blocking {
                    self.of(contract).awaits.push(what.clone());
                }
                (what, Kind::Hire)
            }
            Ask::Draw { least } => {
                let what = format!("waits for money: needs {} more from its hirer", sats(*least));
                self.line(contract, DIM, &what);
                (what, Kind::Draw)
            }
            Ask::Question { to, until, .. } => {
                let who = match (to, contract.hirer()) {
                    (Addressee::Hirer, Some(hirer)) => format!("{hirer} {}", self.name(&hirer)),
                    (Addressee::Hirer, None) | (Addressee::Owner, _) => "the user".to_owned(),
                };
                let what = format!("waits for an answer from {who}");
                let time = words::time(until.0.saturating_sub(stored.at.0));
                self.line(contract, DIM, &format!("{what}, for at most {time}"));
                (what, Kind::Question)
            }
            Ask::Check(_) | Ask::Tell { .. } => return,
        };
        if kind == Kind::Call {
            self.detail(contract, &format!("{what}{holds}"));
        }
        // The rest of a cut reply is printed together with the beginning.
        if matches!(ask, Ask::Model(_)) && contract.level() == 0 && !self.of(contract).parts.are_continued() {
            screen::ask_shown(AskKey { contract: contract.clone(), ask: id });
        }
        self.asks.insert((contract.clone(), id), Pending { kind, what, hold });
    }

    /// Describes a contract's request to its model.
    fn asks_model(&mut self, contract: &Path) -> String {
        let known = self.of(contract);
        known.hired.end();
        match (std::mem::take(&mut known.reports), known.is_list) {
            (_, true) => "works through its list".to_owned(),
            (0, false) => "asks the model".to_owned(),
            (1, false) => "asks the model, with a new report".to_owned(),
            (reports, false) => format!("asks the model to combine {reports} reports"),
        }
    }

    async fn answered(&mut self, contract: &Path, id: AskId, answer: &Answer, cost: Cost) {
        let pending = self.asks.remove(&(contract.clone(), id));
        let (asked, hold) =
            pending.map_or_else(|| ("the call".to_owned(), Msat::ZERO), |asked| (asked.what, asked.hold));
        let reserved = if answer.report().is_none() { self.count(answer, cost, hold) } else { String::new() };
        // A hire's hold grows with its top-ups, so its report is not compared here. Nor is the cost of an ask without a hold.
        let overrun = cost.overrun(hold).filter(|_| answer.report().is_none() && hold > Msat::ZERO);
        if let Some(excess) = overrun {
            let (excess, hold) = (sats(excess), sats(hold));
            self.warn(contract, &format!("OVERRUN: the call cost {excess} more than the {hold} held for it"));
        }
        match answer {
            Answer::Said(said) => self.said(contract, said).await,
            Answer::Failed(why) => {
                let why = self.text(why).await;
                self.warn(contract, &format!("the call failed: {why}{reserved}"));
            }
            Answer::Lost => self.warn(contract, &format!("{asked}: no complete answer arrived{reserved}")),
            Answer::Aborted => self.warn(contract, &format!("{asked}: stopped{reserved}")),
            Answer::Report(report) => {
                self.of(contract).reports += 1;
                let line = format!("receives the report of {asked}; {} returned", sats(report.change));
                self.detail(contract, &line);
            }
            Answer::NoReply => {
                self.line(contract, DIM, &format!("{asked}: none came in time, so it goes on without one"));
            }
            Answer::Result(_)
            | Answer::Passed
            | Answer::FailedCheck(_)
            | Answer::Text(_)
            | Answer::Approved
            | Answer::Denied
            | Answer::Met
            | Answer::NotMet
            | Answer::Delivered
            | Answer::Gone => {}
        }
    }

    /// Adds a line with the text of a reply. The last reply of a root is its answer, which is printed elsewhere.
    async fn said(&mut self, contract: &Path, said: &Said) {
        // A part of a reply is shown with the rest.
        let Some(words) = said.words.as_ref().filter(|_| !self.of(contract).parts.are_continued()) else { return };
        let is_root = contract.level() == 0;
        if is_root {
            screen::end_reply();
        }
        let hires = || self.asks.iter().any(|((hirer, _), ask)| hirer == contract && ask.kind == Kind::Hire);
        if self.level == Level::Verbose || is_root && (said.calls > 0 || hires()) {
            let words = self.whole_text(words).await;
            let reply = tame_lines(words.trim());
            let rest = if is_root && said.calls > 0 { screen::unprinted(&reply) } else { &reply };
            if let (true, Some(columns)) = (rest.len() < reply.len(), (self.columns)()) {
                // The conversation has printed the beginning while the reply arrived.
                let text = format!("\n{}\n", markdown::render(rest, columns));
                self.lines.push((contract.clone(), Line::Text(text)));
            } else {
                let words = markdown::plain(&reply);
                self.line(contract, DIM, &format!("says: {}", tame(words.trim(), SHOWN_CHARS_MAX)));
            }
        }
    }

    async fn heard(&mut self, contract: &Path, from: &Sender, stimulus: &Stimulus) {
        let by_person = matches!(from, Sender::Owner { .. });
        match stimulus {
            Stimulus::TopUp { money, .. } if by_person => {
                if contract.level() == 0 {
                    self.tally.budget = sum(self.tally.budget, *money);
                }
                self.line(contract, DIM, &format!("receives {} more", sats(*money)));
            }
            Stimulus::Question(text) => {
                let text = self.text(text).await;
                let from = match from {
                    Sender::Contract(key) => format!("{} {}", key.contract, self.name(&key.contract)),
                    Sender::Owner { .. } => "the user".to_owned(),
                };
                self.line(contract, DIM, &format!("receives a question from {from}: {text}"));
            }
            Stimulus::Message(text) if by_person || self.level == Level::Verbose => {
                let text = self.text(text).await;
                self.line(contract, DIM, &format!("receives the message: {text}"));
            }
            Stimulus::RefuseDraw { .. } => self.detail(contract, "gets no more money from its hirer"),
            Stimulus::Message(_)
            | Stimulus::TopUp { .. }
            | Stimulus::Draw { .. }
            | Stimulus::Hire(_)
            | Stimulus::DropHire { .. }
            | Stimulus::WrapUp
            | Stimulus::OutOfTokens { .. }
            | Stimulus::Cancel => {}
        }
    }

    fn closed(&mut self, contract: &Path, report: &Report, at: Millis) {
        self.tally.at_work.remove(contract);
        self.tally.charges.used = sum(self.tally.charges.used, report.fee);
        let (reserved, estimated) = (report.reserved, report.estimated);
        let Known { began, fee, payee, hired, .. } = self.of(contract);
        *hired = HiredTasks::default();
        let (began, fee) = (*began, words::fee(report.fee, *fee, payee.as_ref()));
        let how = HowEnded::of(report, self.out_of_tokens(contract));
        let style = how.style();
        let spent = charges(Charges { used: report.used(), estimated, reserved }, sats);
        let took = words::time(at.0.saturating_sub(began.0));
        let change = match self.level {
            Level::Verbose => format!("; {} returned", sats(report.change)),
            Level::Quiet | Level::Normal => String::new(),
        };
        let line = format!("{} {style}{how}{style:#}{DIM}: {spent}{fee}, {took}{change}{DIM:#}", self.who(contract));
        self.lines.push((contract.clone(), Line::Text(line)));
    }

    /// Returns the token limit that ended a contract, if a token limit did. Hires are ended by their hirer instead.
    fn out_of_tokens(&self, contract: &Path) -> Option<u64> {
        self.tokens.as_ref().filter(|_| contract.level() == 0).and_then(TokenLimit::ended)
    }

    async fn text(&self, of: &TextRef) -> String {
        tame(self.whole_text(of).await.trim(), SHOWN_CHARS_MAX)
    }

    async fn whole_text(&self, of: &TextRef) -> String {
        // The end of the run reports unreadable texts as an error. Until then the line only names the text.
        match self.hall.journal().text(of.hash).await {
            Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(None) => format!("(the text {} is missing)", of.hash),
            Err(_) => format!("(the text {} can't be read)", of.hash),
        }
    }

    /// Adds a line that only `-v` shows.
    fn detail(&mut self, contract: &Path, what: &str) {
        if self.level == Level::Verbose {
            self.line(contract, DIM, what);
        }
    }

    fn warn(&mut self, contract: &Path, what: &str) {
        self.line(contract, WARN, &tame(what, 4 * SHOWN_CHARS_MAX));
    }

    fn line(&mut self, contract: &Path, style: Style, what: &str) {
        let text = format!("{} {style}{what}{style:#}", self.who(contract));
        self.lines.push((contract.clone(), Line::Text(text)));
    }

    fn who(&self, contract: &Path) -> String {
        let room = (self.columns)().map_or(usize::MAX, |columns| columns / 4);
        let indent = " ".repeat((2 * contract.level()).min(room));
        format!("{indent}{contract} {BOLD}{}{BOLD:#}", self.name(contract))
    }

    fn name(&self, contract: &Path) -> &str {
        self.known.get(contract).map_or("agent", |known| known.name.as_str())
    }
}
