//! Draws the state of a hall as text, for snapshots: the tree, a contract's facts, its open asks.

use guildhall_kernel::{
    Acceptance, Addressee, Answer, Ask, AskId, CallRef, Cost, Fact, Heads, Hold, Limit, Matter, Mode, Msat, Need,
    Nudge, Origin, Outcome, Path, Pause, Report, Request, Said, Stimulus, TextRef, Turn, Undone, Waking, Wording,
};

use crate::hall::Hall;
use crate::say::path;

impl Hall {
    /// Draws the contracts under the first root, each with its grant, its state and its spending.
    pub(crate) fn tree(&self) -> String {
        let rows = self.rows(&Path::root(1), "", "");
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (name, grant, state, spent) = (width(0), width(1), width(2), width(3));
        let line = |row: &[String; 4]| {
            format!("{:name$}  {:>grant$}  {:state$}  spent {:>spent$}", row[0], row[1], row[2], row[3])
        };
        rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn rows(&self, at: &Path, first: &str, below: &str) -> Vec<[String; 4]> {
        let contract = &self.contracts[at];
        let state = contract.report().map_or("at work".to_owned(), |report| outcome(report.outcome));
        let (grant, spent) = (contract.purse().granted(), contract.purse().spent());
        let name = format!("{first}{}", contract.brief().agent);
        let mut rows = vec![[name, grant.to_string(), state, spent.to_string()]];
        let hires: Vec<&Path> = self.contracts.keys().filter(|hire| hire.hirer().as_ref() == Some(at)).collect();
        for (place, hire) in hires.iter().enumerate() {
            let last = place + 1 == hires.len();
            let (branch, stem) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            rows.extend(self.rows(hire, &format!("{below}{branch}"), &format!("{below}{stem}")));
        }
        rows
    }

    /// Draws a contract's facts, one per line.
    pub(crate) fn facts(&self, at: &str) -> String {
        self.journal[&path(at)].iter().map(fact).collect::<Vec<_>>().join("\n")
    }

    /// Draws the facts of a contract that were not drawn before.
    pub(crate) fn new_facts(&mut self, at: &str) -> String {
        let facts = &self.journal[&path(at)];
        let drawn = self.drawn.insert(path(at), facts.len()).unwrap_or(0);
        facts[drawn..].iter().map(fact).collect::<Vec<_>>().join("\n")
    }

    /// Marks all facts of a contract as drawn, because the test is about the next ones.
    pub(crate) fn skip_facts(&mut self, at: &str) {
        self.drawn.insert(path(at), self.journal[&path(at)].len());
    }

    /// Draws the open asks of a contract.
    pub(crate) fn open_asks(&self, at: &str) -> String {
        let contract = self.contract(at);
        let line = |(id, ask): (AskId, &Ask)| {
            format!("{id} {}", self::ask(ask, contract.hold(id).expect("an open ask has a hold")))
        };
        contract.outstanding().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Draws a contract's purse: granted = available + held + spent.
    pub(crate) fn purse(&self, at: &str) -> String {
        let purse = self.contract(at).purse();
        let (available, held, spent) = (purse.available(), purse.held(), purse.spent());
        format!("{} = {available} available + {held} held + {spent} spent", purse.granted())
    }
}

fn fact(fact: &Fact) -> String {
    match fact {
        Fact::Opened(brief) => format!("opened {} with {}", brief.agent, brief.grant.money),
        Fact::Asked { id, ask, hold, origin: from } => {
            format!("asked {id} {}{}", self::ask(ask, *hold), origin_note(*from))
        }
        Fact::Answered { id, answer, cost } => format!("answered {id} {}{}", self::answer(answer), self::cost(*cost)),
        Fact::Queued { origin, ordinal, offer, .. } => {
            let mode = if offer.mode == Mode::Background { " in background" } else { "" };
            format!("queued {ordinal} {}{mode}{}", offer.agent, origin_note(*origin))
        }
        Fact::Refused { why, origin, ordinal, .. } => {
            let hire = ordinal.map_or(String::new(), |ordinal| format!(", hire {ordinal}"));
            format!("refused {}{hire}: {why}", self::origin(*origin))
        }
        Fact::Raised { hire, by, draw } => {
            let draw = draw.map_or(String::new(), |draw| format!(" for its draw {draw}"));
            format!("raised {hire} by {by}{draw}")
        }
        Fact::Heard { stimulus, .. } => format!("heard {}", self::stimulus(stimulus)),
        Fact::Waiting { call, on, need, until } => {
            let need = match need {
                Need::Any => "any",
                Need::All => "all",
            };
            let until = until.map_or(String::new(), |until| format!(" until {until}"));
            let on = on.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            format!("waiting {} for {need} of [{on}]{until}", self::call(*call))
        }
        Fact::Woke { pause, why } => format!("woke {}: {}", self::pause(*pause), waking(*why)),
        Fact::Nudged(nudge) => format!("nudged: {}", self::nudge(*nudge)),
        Fact::Compacted { upto, bytes } => format!("compacted the first {upto} facts: {bytes} bytes"),
        Fact::Closing(outcome) => format!("closing: {}", self::outcome(*outcome)),
        Fact::Closed(report) => format!("closed: {}", self::report(report)),
    }
}

fn ask(ask: &Ask, hold: Hold) -> String {
    match ask {
        Ask::Model(request) => self::request(request, hold.money),
        Ask::Tool(call) => format!("tool {}, holds {}", call.tool, hold.money),
        Ask::Hire { brief, mode } => {
            let mode = match mode {
                Mode::Blocking => "",
                Mode::Background => " in background",
            };
            format!("hire {} {}{mode}, holds {} {}", brief.path, brief.agent, hold.money, heads(hold.heads))
        }
        Ask::Check(check) => format!("check {}, holds {}", spelled(check.what), hold.money),
        Ask::Question { to, matter, until } => {
            let to = match to {
                Addressee::Hirer => "hirer",
                Addressee::Owner => "owner",
            };
            let matter = match matter {
                Matter::Text(text) => spelled(*text),
                Matter::Approval(call) => format!("whether to {}", call.tool),
            };
            format!("question to {to} until {until}: {matter}")
        }
        Ask::Draw { least } => format!("draw {least}"),
        Ask::Tell { to, what } => format!("tell {to} {}", stimulus(what)),
    }
}

fn request(request: &Request, hold: Msat) -> String {
    let turn = match request.turn {
        Turn::Next => "model",
        Turn::Last => "model for the last time",
    };
    let hears = if request.hears.is_empty() { String::new() } else { format!(" hearing {}", ids(&request.hears)) };
    format!("{turn}{hears}, holds {hold}")
}

fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Said(said) => self::said(said),
        Answer::Result(text) => format!("result {}", spelled(*text)),
        Answer::Report(report) => format!("report {}", outcome(report.outcome)),
        Answer::Passed => "passed".to_owned(),
        Answer::FailedCheck(text) => format!("failed check {}", spelled(*text)),
        Answer::Text(text) => format!("words {}", spelled(*text)),
        Answer::Approved => "approved".to_owned(),
        Answer::Denied => "denied".to_owned(),
        Answer::NoReply => "no reply".to_owned(),
        Answer::Met => "met".to_owned(),
        Answer::NotMet => "not met".to_owned(),
        Answer::Delivered => "delivered".to_owned(),
        Answer::Gone => "gone".to_owned(),
        Answer::Lost => "lost".to_owned(),
        Answer::Aborted => "aborted".to_owned(),
        Answer::Failed(text) => format!("failed {}", spelled(*text)),
    }
}

fn said(said: &Said) -> String {
    let words = said.words.map_or("nothing".to_owned(), spelled);
    match said.calls {
        0 if said.cut.is_some() => format!("said {words}, cut"),
        0 => format!("said {words}"),
        1 => "said 1 call".to_owned(),
        many => format!("said {many} calls"),
    }
}

fn stimulus(stimulus: &Stimulus) -> String {
    match stimulus {
        Stimulus::Message(text) => format!("message {}", spelled(*text)),
        Stimulus::Question(text) => format!("question {}", spelled(*text)),
        Stimulus::TopUp { to, money, draw: None } => format!("top-up of {money} for {to}"),
        Stimulus::TopUp { money, draw: Some(draw), .. } => format!("{money} for draw {draw}"),
        Stimulus::Draw { least } => format!("draw of {least}"),
        Stimulus::RefuseDraw { draw } => format!("no money for draw {draw}"),
        Stimulus::DropHire { ordinal } => format!("drop hire {ordinal}"),
        Stimulus::Hire(offer) => format!("hire of {}", offer.agent),
        Stimulus::WrapUp => "wrap up".to_owned(),
        Stimulus::OutOfTokens { left } => format!("out of tokens: {left} left"),
        Stimulus::Cancel => "cancel".to_owned(),
    }
}

/// Draws a report, without the parts that have their usual value.
fn report(report: &Report) -> String {
    let mut parts = vec![outcome(report.outcome)];
    parts.push(match report.acceptance {
        Acceptance::Accepted => "accepted".to_owned(),
        Acceptance::NotAccepted => "not accepted".to_owned(),
    });
    parts.push(match report.text {
        Wording::Final(text) => spelled(text),
        Wording::Assembled(text) => format!("assembled from {}", spelled(text)),
    });
    parts.extend(report.cut.then(|| "cut".to_owned()));
    parts.extend(report.output.map(|output| format!("output {}", spelled(output))));
    parts.extend(report.undone.map(|undone| format!("undone: {}", self::undone(undone))));
    parts.extend((!report.unheard.is_empty()).then(|| format!("unheard {}", ids(&report.unheard))));
    parts.push(format!("spent {}", report.spent));
    parts.extend((report.fee > Msat::ZERO).then(|| format!("fee {}", report.fee)));
    parts.push(format!("change {}", report.change));
    parts.join(", ")
}

fn outcome(outcome: Outcome) -> String {
    let name = match outcome {
        Outcome::Done => "done",
        Outcome::Exhausted(Limit::Purse) => "exhausted: purse",
        Outcome::Exhausted(Limit::Turns) => "exhausted: turns",
        Outcome::Exhausted(Limit::Deadline) => "exhausted: deadline",
        Outcome::Exhausted(Limit::Asked) => "exhausted: asked",
        Outcome::Exhausted(Limit::Length) => "exhausted: length",
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
    };
    name.to_owned()
}

fn nudge(nudge: Nudge) -> &'static str {
    match nudge {
        Nudge::Required => "required",
        Nudge::ConfirmReport => "confirm report",
        Nudge::FixReport => "fix report",
        Nudge::Empty => "empty",
    }
}

fn waking(why: Waking) -> &'static str {
    match why {
        Waking::Reported => "reported",
        Waking::TimedOut => "timed out",
        Waking::Message => "message",
        Waking::Closing => "closing",
    }
}

fn pause(pause: Pause) -> String {
    match pause {
        Pause::Call(call) => self::call(call),
        Pause::Hire(id) => format!("hire {id}"),
    }
}

fn origin(origin: Origin) -> String {
    match origin {
        Origin::Course => "by the contract itself".to_owned(),
        Origin::Call(call) => self::call(call),
        Origin::Cascade => "cascade".to_owned(),
        Origin::Outside => "from outside".to_owned(),
    }
}

/// Returns a note on the origin of an ask, if it was neither a call nor the contract itself.
fn origin_note(origin: Origin) -> &'static str {
    match origin {
        Origin::Course | Origin::Call(_) => "",
        Origin::Cascade => " (cascade)",
        Origin::Outside => " (from outside)",
    }
}

fn call(call: CallRef) -> String {
    format!("call {} of {}", call.index + 1, call.reply)
}

fn cost(cost: Cost) -> String {
    match cost {
        Cost::Known(Msat::ZERO) => String::new(),
        Cost::Known(cost) => format!(", cost {cost}"),
        Cost::Estimated(cost) => format!(", cost at most {cost}"),
        Cost::Unknown => ", cost unknown".to_owned(),
    }
}

fn heads(heads: Heads) -> String {
    if heads == Heads(1) { "and 1 head".to_owned() } else { format!("and {} heads", heads.0) }
}

fn ids(ids: &[AskId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Returns the letters in the hash of a test's text.
fn spelled(text: TextRef) -> String {
    let letters: Vec<u8> = text.hash.0.into_iter().take_while(|letter| *letter != 0).collect();
    format!("{:?}", String::from_utf8(letters).expect("the tests use ASCII"))
}

fn undone(undone: Undone) -> &'static str {
    match undone {
        Undone::RequiredHire => "required hire",
        Undone::PromisedHire => "promised hire",
        Undone::Unclear => "unclear",
        Undone::NoHire => "no hire",
    }
}
