//! Counts how often a run has reached each variant of each kind of fact. A variant that was never reached was not
//! tested.

use std::collections::BTreeMap;
use std::fmt;

use guildhall_kernel::{
    Acceptance, Answer, Ask, Certainty, Fact, Limit, Nudge, Origin, Outcome, Refusal, Stimulus, Turn, Undone, Waking,
    Wording,
};

/// The counts of all variants.
#[derive(Clone, Debug)]
pub struct Reach {
    table: &'static [&'static str],
    unreachable: &'static [(&'static str, &'static str)],
    counts: BTreeMap<&'static str, u64>,
}

/// All variants. A new variant of the kernel must be added here: counting an unlisted variant panics.
const ALL: &[&str] = &[
    "fact opened",
    "fact asked",
    "fact answered",
    "fact queued",
    "fact refused",
    "fact raised",
    "fact raised for a draw",
    "fact heard",
    "fact waiting",
    "fact woke",
    "fact nudged",
    "fact compacted",
    "fact closing",
    "fact closed",
    "ask model",
    "ask model last",
    "ask tool",
    "ask hire",
    "ask fork",
    "ask check",
    "ask question hirer",
    "ask question owner",
    "ask draw",
    "ask tell",
    "answer said",
    "answer result",
    "answer report",
    "answer passed",
    "answer failed check",
    "answer text",
    "answer approved",
    "answer denied",
    "answer no reply",
    "answer met",
    "answer not met",
    "answer delivered",
    "answer gone",
    "answer lost",
    "answer aborted",
    "answer failed",
    "origin course",
    "origin call",
    "origin cascade",
    "origin outside",
    "heard message",
    "heard question",
    "heard top-up",
    "heard hire",
    "heard draw",
    "heard refuse draw",
    "heard drop hire",
    "heard wrap-up",
    "heard out of tokens",
    "heard cancel",
    "woke reported",
    "woke timed out",
    "woke message",
    "woke closing",
    "nudged required",
    "nudged confirm report",
    "nudged fix report",
    "nudged empty",
    "charge used",
    "charge estimated",
    "charge reserved",
    "refused can't hire",
    "refused self-hire",
    "refused unknown agent",
    "refused cycle",
    "refused same task",
    "refused passed on",
    "refused repeated",
    "refused too deep",
    "refused no heads",
    "refused money",
    "refused deadline",
    "refused powers",
    "refused no power",
    "refused not approved",
    "refused stays open",
    "refused unworkable",
    "refused brief too long",
    "refused message too long",
    "refused too many calls",
    "refused unknown hire",
    "refused nothing to await",
    "refused asked you",
    "refused not started",
    "refused stopped before start",
    "refused after waiting",
    "refused closing",
    "refused top-up stays",
    "fault money from a wrong sender",
    "refused bad amount",
    "refused bad name",
    "refused malformed",
    "refused cut call",
    "refused field",
    "refused empty text",
    "refused unknown tool",
    "refused duplicate call id",
    "outcome done",
    "outcome exhausted purse",
    "outcome exhausted turns",
    "outcome exhausted deadline",
    "outcome exhausted asked",
    "outcome exhausted length",
    "outcome failed",
    "outcome cancelled",
    "accepted",
    "not accepted",
    "text final",
    "text assembled",
    "undone required hire",
    "undone promised hire",
    "undone no hire",
    "confirmed report",
    "cut",
    "unheard",
    "fault crash",
    "fault store",
    "fault lost",
    "fault late",
    "fault doubled answer",
    "fault doubled stimulus",
    "fault clock jump",
    "replay with crashes",
    "engine replay with crashes",
    "session funded",
    "session requested",
    "session corrected",
    "session ended",
    "session returned",
];

/// The variants that no schedule can reach, with the reason.
const UNREACHABLE: &[(&str, &str)] = &[
    ("refused stays open", "an offer can't ask to stay open; see the named example"),
    ("refused unworkable", "the kernel makes only workable briefs from offers; see the named example"),
];

impl Default for Reach {
    fn default() -> Reach {
        Reach::listing(ALL, UNREACHABLE)
    }
}

impl Reach {
    /// Begins to count these names. Each unreachable name has the reason.
    pub(crate) fn listing(
        table: &'static [&'static str],
        unreachable: &'static [(&'static str, &'static str)],
    ) -> Reach {
        Reach { table, unreachable, counts: table.iter().map(|name| (*name, 0)).collect() }
    }

    /// Counts one occurrence.
    pub fn count(&mut self, name: &'static str) {
        *self.counts.get_mut(name).unwrap_or_else(|| panic!("{name:?} is not in the table of variants")) += 1;
    }

    /// Counts all variants in one fact.
    pub fn fact(&mut self, fact: &Fact) {
        match fact {
            Fact::Opened(_) => self.count("fact opened"),
            Fact::Asked { ask, origin, .. } => {
                self.count("fact asked");
                self.ask(ask);
                self.count(origin_name(*origin));
            }
            Fact::Answered { answer, cost, .. } => {
                self.count("fact answered");
                self.count(answer_name(answer));
                self.count(match cost.certainty(answer) {
                    Certainty::Used => "charge used",
                    Certainty::Estimated => "charge estimated",
                    Certainty::Reserved => "charge reserved",
                });
            }
            Fact::Queued { .. } => self.count("fact queued"),
            Fact::Refused { why, ordinal, .. } => {
                self.count("fact refused");
                if ordinal.is_some() {
                    self.count("refused after waiting");
                }
                self.count(refusal_name(why));
            }
            Fact::Raised { draw: None, .. } => self.count("fact raised"),
            Fact::Raised { draw: Some(_), .. } => self.count("fact raised for a draw"),
            Fact::Heard { stimulus, .. } => {
                self.count("fact heard");
                self.count(stimulus_name(stimulus));
            }
            Fact::Waiting { .. } => self.count("fact waiting"),
            Fact::Woke { why, .. } => {
                self.count("fact woke");
                self.count(waking_name(*why));
            }
            Fact::Nudged(nudge) => {
                self.count("fact nudged");
                self.count(nudge_name(*nudge));
            }
            Fact::Compacted { .. } => self.count("fact compacted"),
            Fact::Closing(_) => self.count("fact closing"),
            Fact::Closed(report) => {
                self.count("fact closed");
                self.count(outcome_name(report.outcome));
                self.count(match report.acceptance {
                    Acceptance::Accepted => "accepted",
                    Acceptance::NotAccepted => "not accepted",
                });
                self.count(match report.text {
                    Wording::Final(_) => "text final",
                    Wording::Assembled(_) => "text assembled",
                });
                report.undone.iter().for_each(|undone| self.count(undone_name(*undone)));
                if report.cut {
                    self.count("cut");
                }
                report.unheard.iter().for_each(|_| self.count("unheard"));
            }
        }
    }

    fn ask(&mut self, ask: &Ask) {
        use guildhall_kernel::{Addressee, Context};
        match ask {
            Ask::Model(request) => self.count(match request.turn {
                Turn::Next => "ask model",
                Turn::Last => "ask model last",
            }),
            Ask::Tool(_) => self.count("ask tool"),
            Ask::Hire { brief, .. } => self.count(match brief.context {
                Context::Fork { .. } => "ask fork",
                Context::Fresh | Context::After { .. } => "ask hire",
            }),
            Ask::Check(_) => self.count("ask check"),
            Ask::Question { to, .. } => self.count(match to {
                Addressee::Hirer => "ask question hirer",
                Addressee::Owner => "ask question owner",
            }),
            Ask::Draw { .. } => self.count("ask draw"),
            Ask::Tell { .. } => self.count("ask tell"),
        }
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Reach) {
        for (name, count) in &other.counts {
            *self.counts.get_mut(name).expect("the same table") += count;
        }
    }

    /// Returns how often a variant was reached.
    pub fn of(&self, name: &str) -> u64 {
        self.counts[name]
    }

    /// Returns the reachable variants that were reached fewer than `minimum` times.
    pub fn below(&self, minimum: u64) -> Vec<&'static str> {
        let reachable = |name: &str| self.unreachable.iter().all(|(unreachable, _)| *unreachable != name);
        let few = self.counts.iter().filter(|(name, count)| **count < minimum && reachable(name));
        few.map(|(name, _)| *name).collect()
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in self.table {
            let note = self.unreachable.iter().find(|(unreachable, _)| unreachable == name);
            let note = note.map_or(String::new(), |(_, why)| format!("   ({why})"));
            writeln!(f, "{:>12}  {name}{note}", self.counts[name])?;
        }
        Ok(())
    }
}

fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Course => "origin course",
        Origin::Call(_) => "origin call",
        Origin::Cascade => "origin cascade",
        Origin::Outside => "origin outside",
    }
}

fn answer_name(answer: &Answer) -> &'static str {
    match answer {
        Answer::Said(said) if said.confirms => "confirmed report",
        Answer::Said(_) => "answer said",
        Answer::Result(_) => "answer result",
        Answer::Report(_) => "answer report",
        Answer::Passed => "answer passed",
        Answer::FailedCheck(_) => "answer failed check",
        Answer::Text(_) => "answer text",
        Answer::Approved => "answer approved",
        Answer::Denied => "answer denied",
        Answer::NoReply => "answer no reply",
        Answer::Met => "answer met",
        Answer::NotMet => "answer not met",
        Answer::Delivered => "answer delivered",
        Answer::Gone => "answer gone",
        Answer::Lost => "answer lost",
        Answer::Aborted => "answer aborted",
        Answer::Failed(_) => "answer failed",
    }
}

fn stimulus_name(stimulus: &Stimulus) -> &'static str {
    match stimulus {
        Stimulus::Message(_) => "heard message",
        Stimulus::Question(_) => "heard question",
        Stimulus::TopUp { .. } => "heard top-up",
        Stimulus::Draw { .. } => "heard draw",
        Stimulus::RefuseDraw { .. } => "heard refuse draw",
        Stimulus::Hire(_) => "heard hire",
        Stimulus::DropHire { .. } => "heard drop hire",
        Stimulus::WrapUp => "heard wrap-up",
        Stimulus::OutOfTokens { .. } => "heard out of tokens",
        Stimulus::Cancel => "heard cancel",
    }
}

fn waking_name(waking: Waking) -> &'static str {
    match waking {
        Waking::Reported => "woke reported",
        Waking::TimedOut => "woke timed out",
        Waking::Message => "woke message",
        Waking::Closing => "woke closing",
    }
}

fn nudge_name(nudge: Nudge) -> &'static str {
    match nudge {
        Nudge::Required => "nudged required",
        Nudge::ConfirmReport => "nudged confirm report",
        Nudge::FixReport => "nudged fix report",
        Nudge::Empty => "nudged empty",
    }
}

/// Names what a report is marked for.
fn undone_name(undone: Undone) -> &'static str {
    match undone {
        Undone::RequiredHire => "undone required hire",
        Undone::PromisedHire => "undone promised hire",
        Undone::Unclear => "undone unclear",
        Undone::NoHire => "undone no hire",
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "outcome done",
        Outcome::Exhausted(Limit::Purse) => "outcome exhausted purse",
        Outcome::Exhausted(Limit::Turns) => "outcome exhausted turns",
        Outcome::Exhausted(Limit::Deadline) => "outcome exhausted deadline",
        Outcome::Exhausted(Limit::Asked) => "outcome exhausted asked",
        Outcome::Exhausted(Limit::Length) => "outcome exhausted length",
        Outcome::Failed => "outcome failed",
        Outcome::Cancelled => "outcome cancelled",
    }
}

fn refusal_name(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::CantHire => "refused can't hire",
        Refusal::SelfHire => "refused self-hire",
        Refusal::UnknownAgent { .. } => "refused unknown agent",
        Refusal::Cycle { .. } => "refused cycle",
        Refusal::SameTask { .. } => "refused same task",
        Refusal::PassedOn { .. } => "refused passed on",
        Refusal::Repeated { .. } => "refused repeated",
        Refusal::TooDeep { .. } => "refused too deep",
        Refusal::NoHeads { .. } => "refused no heads",
        Refusal::Money { .. } => "refused money",
        Refusal::Deadline { .. } => "refused deadline",
        Refusal::Powers { .. } => "refused powers",
        Refusal::NoPower { .. } => "refused no power",
        Refusal::NotApproved => "refused not approved",
        Refusal::StaysOpen => "refused stays open",
        Refusal::Unworkable => "refused unworkable",
        Refusal::BriefTooLong { .. } => "refused brief too long",
        Refusal::MessageTooLong { .. } => "refused message too long",
        Refusal::TooManyCalls { .. } => "refused too many calls",
        Refusal::UnknownHire { .. } => "refused unknown hire",
        Refusal::NothingToAwait => "refused nothing to await",
        Refusal::AskedYou { .. } => "refused asked you",
        Refusal::NotStarted { .. } => "refused not started",
        Refusal::StoppedBeforeStart { .. } => "refused stopped before start",
        Refusal::Closing => "refused closing",
        Refusal::TopUpStays { .. } => "refused top-up stays",
        Refusal::BadAmount(_) => "refused bad amount",
        Refusal::BadName(_) => "refused bad name",
        Refusal::Malformed => "refused malformed",
        Refusal::CutCall => "refused cut call",
        Refusal::Field { .. } => "refused field",
        Refusal::EmptyText => "refused empty text",
        Refusal::UnknownTool => "refused unknown tool",
        Refusal::DuplicateCallId => "refused duplicate call id",
    }
}
