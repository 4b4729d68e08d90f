//! What a hirer is shown of its hires: nothing but its own facts.

use std::collections::BTreeMap;

use guildhall_kernel::{Answer, Ask, AskId, Brief, Fact, Msat, Quantity, Report};

use crate::wording;

/// A hire, as its hirer knows it.
struct Hire<'a> {
    brief: &'a Brief,
    granted: Msat,
    report: Option<&'a Report>,
}

/// Lists the hires of a contract as they were when it asked for the list, so that asking again shows the same.
pub(crate) fn list(facts: &[Fact], asked: AskId) -> String {
    let before = facts.iter().take_while(|fact| !matches!(fact, Fact::Asked { id, .. } if *id == asked));
    let mut hires: BTreeMap<AskId, Hire<'_>> = BTreeMap::new();
    for fact in before {
        note(fact, &mut hires);
    }
    if hires.is_empty() {
        return "You have hired nobody yet.".to_owned();
    }
    hires.values().map(line).collect::<Vec<_>>().join("\n")
}

fn note<'a>(fact: &'a Fact, hires: &mut BTreeMap<AskId, Hire<'a>>) {
    match fact {
        Fact::Asked { id, ask: Ask::Hire { brief, .. }, .. } => {
            hires.insert(*id, Hire { brief, granted: brief.grant.money, report: None });
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

fn line(Hire { brief, granted, report }: &Hire<'_>) -> String {
    let (path, agent) = (&brief.path, &brief.agent);
    match report {
        None => format!("{path} {agent}: at work, granted {granted}"),
        Some(report) => {
            let (label, spent) = (wording::label(report.outcome), report.spent);
            format!("{path} {agent}: reported ({label}), granted {granted}, spent {spent}")
        }
    }
}
