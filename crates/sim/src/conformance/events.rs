//! What happened to the money and to the replies of a contract, in short: a script says which of these events it shows.

use std::collections::BTreeMap;

use guildhall_kernel::{
    Answer, Ask, AskId, Context, Cost, Cut, Fact, Mode, Outcome, Path, Pause, Refusal, Report, Sender, Stimulus, Turn,
};

/// Returns the events among the facts of one contract, in order. Ordinary requests, replies and calls are none.
pub(super) fn events<'a>(contract: &Path, facts: impl IntoIterator<Item = &'a Fact>) -> Vec<String> {
    let mut reader = Reader { contract, hires: BTreeMap::new() };
    facts.into_iter().filter_map(|fact| reader.event(fact)).collect()
}

struct Reader<'a> {
    contract: &'a Path,
    /// The asks that hire.
    hires: BTreeMap<AskId, Path>,
}

impl Reader<'_> {
    fn event(&mut self, fact: &Fact) -> Option<String> {
        match fact {
            Fact::Asked { id, ask, .. } => self.asked(*id, ask),
            Fact::Answered { id, answer, cost } => self.answered(*id, answer, *cost),
            Fact::Queued { ordinal, context, .. } => {
                let fork = matches!(context, Context::Fork { .. });
                Some(format!("{} waits{}", self.contract.hire(*ordinal), if fork { " as a fork" } else { "" }))
            }
            Fact::Refused { ordinal: Some(ordinal), why, .. } => {
                Some(format!("{} is refused: {}", self.contract.hire(*ordinal), name(why)))
            }
            Fact::Refused { ordinal: None, why, .. } => Some(format!("a call is refused: {}", name(why))),
            Fact::Raised { hire, draw, .. } => {
                Some(format!("{} gets {}", self.hires[hire], if draw.is_some() { "what it draws" } else { "a top-up" }))
            }
            Fact::Heard { from, stimulus } => heard(from, stimulus),
            Fact::Waiting { on, .. } => {
                let hires: Vec<String> = on.iter().map(|ordinal| self.contract.hire(*ordinal).to_string()).collect();
                Some(format!("awaits {}", hires.join(", ")))
            }
            Fact::Woke { pause: Pause::Hire(ordinal), .. } => {
                Some(format!("{} goes into the background", self.contract.hire(*ordinal)))
            }
            Fact::Woke { pause: Pause::Call(_), why } => Some(format!("the wait ends: {why:?}")),
            Fact::Closed(report) => Some(format!("closed: {}", ending(report))),
            Fact::Opened(_) | Fact::Nudged(_) | Fact::Compacted { .. } | Fact::Closing(_) => None,
        }
    }

    fn asked(&mut self, id: AskId, ask: &Ask) -> Option<String> {
        match ask {
            Ask::Model(request) => match request.turn {
                Turn::Next => None,
                Turn::Last => Some("last request".to_owned()),
            },
            Ask::Hire { brief, mode } => {
                self.hires.insert(id, brief.path.clone());
                let mode = match mode {
                    Mode::Blocking => "",
                    Mode::Background => " in the background",
                };
                Some(format!("{} begins{mode}", brief.path))
            }
            Ask::Question { .. } => Some("asks".to_owned()),
            Ask::Draw { least } => Some(format!("draws {} sat", least.get() / 1000)),
            Ask::Tell { to, what: Stimulus::RefuseDraw { .. } } => Some(format!("the draw of {to} is refused")),
            Ask::Tool(_) | Ask::Check(_) | Ask::Tell { .. } => None,
        }
    }

    fn answered(&self, id: AskId, answer: &Answer, cost: Cost) -> Option<String> {
        match answer {
            Answer::Said(said) => {
                let cut = said.cut.map(|cut| match cut {
                    Cut::MaxTokens => "a reply is cut",
                    Cut::Window => "a reply fills the window",
                });
                let estimated = match cost {
                    Cost::Estimated(money) => Some(format!("a cost is estimated: {} sat", money.get() / 1000)),
                    Cost::Known(_) | Cost::Unknown => None,
                };
                estimated.or(cut.map(str::to_owned))
            }
            Answer::Report(report) => Some(format!("{} reports: {}", self.hires[&id], ending(report))),
            Answer::Met => Some("the draw is met".to_owned()),
            Answer::NotMet => Some("the draw is not met".to_owned()),
            Answer::Text(_) => Some("is answered".to_owned()),
            Answer::NoReply => Some("is not answered".to_owned()),
            Answer::Aborted => Some("a call is stopped".to_owned()),
            Answer::Result(_)
            | Answer::Passed
            | Answer::FailedCheck(_)
            | Answer::Approved
            | Answer::Denied
            | Answer::Delivered
            | Answer::Gone
            | Answer::Lost
            | Answer::Failed(_) => None,
        }
    }
}

fn heard(from: &Sender, stimulus: &Stimulus) -> Option<String> {
    let from = match from {
        Sender::Owner { .. } => "the owner".to_owned(),
        Sender::Contract(key) => key.contract.to_string(),
    };
    let what = match stimulus {
        Stimulus::Message(_) => "sends a message",
        Stimulus::Question(_) => "asks",
        Stimulus::TopUp { draw: None, .. } => "sends a top-up",
        Stimulus::Draw { .. } => "draws",
        Stimulus::Hire(_) => "hires",
        Stimulus::DropHire { .. } => "gives up a hire",
        Stimulus::WrapUp => "asks for a wrap-up",
        Stimulus::OutOfTokens { .. } => "has no tokens left",
        Stimulus::Cancel => "cancels",
        Stimulus::TopUp { draw: Some(_), .. } | Stimulus::RefuseDraw { .. } => return None,
    };
    Some(format!("{from} {what}"))
}

fn ending(report: &Report) -> String {
    let outcome = match report.outcome {
        Outcome::Exhausted(limit) => format!("{limit:?}"),
        Outcome::Done | Outcome::Failed | Outcome::Cancelled => format!("{:?}", report.outcome),
    };
    if report.cut { format!("{outcome}, cut") } else { outcome }
}

/// Returns the name of the refusal's variant.
fn name(why: &Refusal) -> String {
    format!("{why:?}").chars().take_while(char::is_ascii_alphabetic).collect()
}
