//! What a hirer is shown of its hires: what its own facts say.

use std::collections::BTreeMap;

use guildhall_kernel::{Answer, Ask, AskId, Brief, Fact, Msat, Quantity, Report, Sender, Stimulus};

use crate::texts::Texts;
use crate::wording;

/// A hire, as its hirer knows it.
struct Hire<'a> {
    brief: &'a Brief,
    granted: Msat,
    report: Option<&'a Report>,
    /// Whether it has asked its hirer something that has not been answered.
    asks: bool,
}

/// How much of a hire's task is shown, in bytes.
const GOAL_BYTES_MAX: usize = 160;

/// Lists the hires of a contract as they were when it asked for the list, so that asking again shows the same.
pub(crate) fn list(facts: &[Fact], asked: AskId, texts: &dyn Texts) -> String {
    let before = facts.iter().take_while(|fact| !matches!(fact, Fact::Asked { id, .. } if *id == asked));
    let mut hires: BTreeMap<AskId, Hire<'_>> = BTreeMap::new();
    for fact in before {
        note(fact, &mut hires);
    }
    if hires.is_empty() {
        return "You have hired nobody yet.".to_owned();
    }
    hires.values().map(|hire| line(hire, texts)).collect::<Vec<_>>().join("\n")
}

fn note<'a>(fact: &'a Fact, hires: &mut BTreeMap<AskId, Hire<'a>>) {
    match fact {
        Fact::Asked { id, ask: Ask::Hire { brief, .. }, .. } => {
            hires.insert(*id, Hire { brief, granted: brief.grant.money, report: None, asks: false });
        }
        Fact::Raised { hire, by } => {
            if let Some(hire) = hires.get_mut(hire) {
                hire.granted = hire.granted.plus(*by).unwrap_or(hire.granted);
            }
        }
        Fact::Answered { id, answer: Answer::Report(report), .. } => {
            if let Some(hire) = hires.get_mut(id) {
                hire.report = Some(report);
            }
        }
        Fact::Heard { from: Sender::Contract(key), stimulus: Stimulus::Question(_) } => {
            if let Some(hire) = hires.values_mut().find(|hire| hire.brief.path == key.contract) {
                hire.asks = true;
            }
        }
        Fact::Asked { ask: Ask::Tell { to, what: Stimulus::Message(_), .. }, .. } => {
            if let Some(hire) = hires.values_mut().find(|hire| hire.brief.path == *to) {
                hire.asks = false;
            }
        }
        Fact::Opened(_)
        | Fact::Asked { .. }
        | Fact::Answered { .. }
        | Fact::Refused { .. }
        | Fact::Heard { .. }
        | Fact::Waiting { .. }
        | Fact::Woke { .. }
        | Fact::Nudged(_)
        | Fact::Compacted { .. }
        | Fact::Closing(_)
        | Fact::Closed(_) => {}
    }
}

fn line(Hire { brief, granted, report, asks }: &Hire<'_>, texts: &dyn Texts) -> String {
    let label = brief.label.as_ref().and_then(|label| texts.text(label).ok());
    let (path, who) = (&brief.path, wording::who(brief, label.as_deref()));
    let state = match report {
        None if *asks => format!("waits for your answer, granted {granted}"),
        None => format!("at work, granted {granted}"),
        Some(report) => {
            let (ended, used) = (wording::label(report.outcome), report.used());
            format!("reported ({ended}), granted {granted}, used {used}")
        }
    };
    // A task that can't be read any more is left out.
    let task = texts.text(&brief.task).unwrap_or_default();
    let goal = task.split_whitespace().collect::<Vec<_>>().join(" ");
    let goal = wording::quote(&goal[..goal.floor_char_boundary(GOAL_BYTES_MAX)]);
    format!("{path} {who}: {state}; task: {goal}")
}
