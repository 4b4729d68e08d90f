//! Reads back what the runtime tells an agent of its hires, for programs that sit in a model's seat: what [`crate::wording`]
//! writes, this reads. What a hire said stays data.

use guildhall_kernel::{Msat, Path};

use crate::wording::quote;

/// What stands between an agent's name and its contract where a call is told that it was hired.
const HIRED_AS: &str = " was hired as ";

/// How the label of a report begins.
const LABEL: &str = "<sub-agent-";

/// How a question begins.
const QUESTION: &str = "<question from=\"";

/// A report, as its hirer was shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeardReport {
    /// Whose; `None` where the label was cut.
    pub hire: Option<Path>,
    /// The agent.
    pub agent: String,
    /// How its work ended: `complete`, `exhausted`, `failed` or `cancelled`.
    pub ending: String,
    /// What it said, and before that what kept it, if something did.
    pub text: String,
}

impl HeardReport {
    /// What it said about this task: a report that comes by itself repeats what it is about.
    pub fn about(&self, task: &str) -> &str {
        let said = self.text.trim_start();
        said.strip_prefix(&format!("task: {}\n\n", quote(task))).unwrap_or(said)
    }
}

/// Reads the reports in a text, between their marks. One that was cut ends with the text.
pub fn heard_reports(text: &str) -> Vec<HeardReport> {
    let mut heard = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(LABEL) {
        let Some((label, body)) = after.split_once('>') else { break };
        let (body, after) = body.split_once("\n</sub-agent-").unwrap_or((body, ""));
        let value = |name: &str| label.split_once(&format!("{name}=\"")).and_then(|(_, value)| value.split('"').next());
        heard.push(HeardReport {
            hire: value("id").and_then(|path| path.parse().ok()),
            agent: value("agent").unwrap_or("somebody").to_owned(),
            ending: label.split(' ').next().unwrap_or_default().to_owned(),
            text: body.to_owned(),
        });
        rest = after;
    }
    heard
}

/// Reads as whom somebody was hired in the background.
pub fn hired_as(text: &str) -> Option<Path> {
    let (_, after) = text.split_once(HIRED_AS)?;
    after.split(';').next()?.parse().ok()
}

/// Reads who asks something of its hirer.
pub fn asked_by(text: &str) -> Option<Path> {
    text.strip_prefix(QUESTION)?.split('"').next()?.parse().ok()
}

/// Reads how much money is free, in whole sats.
pub fn money_free(status: &str) -> Option<Msat> {
    let (free, _) = status.strip_prefix("[status: you have ")?.split_once(" sat")?;
    Msat::from_sat(free.parse().ok()?).ok()
}

/// Reads how much a hire that was refused for want of money takes at least.
pub fn least_needed(refusal: &str) -> Option<Msat> {
    let (_, after) = refusal.strip_prefix("refused: ")?.split_once(" available, at least ")?;
    let (least, _) = after.split_once("sat needed")?;
    let (whole, part) = least.split_once('.').unwrap_or((least, ""));
    let msat = format!("{whole}{part:0<3}");
    Msat::new(msat.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::{Msat, Path, Refusal};

    use super::{HeardReport, asked_by, heard_reports, least_needed, money_free};
    use crate::status::Status;
    use crate::wording;

    fn heard(hire: &str, agent: &str, ending: &str, text: &str) -> HeardReport {
        let owned = str::to_owned;
        HeardReport { hire: hire.parse().ok(), agent: owned(agent), ending: owned(ending), text: owned(text) }
    }

    #[test]
    fn reports_are_read_between_their_marks_even_if_they_are_cut() {
        let text = "<sub-agent-complete id=\"1.1\" agent=\"a\" spent=\"3 sat\">\nhello\n</sub-agent-complete>\n\n\
                    <sub-agent-exhausted id=\"1.2\" agent=\"b\" spent=\"9 sat\"> ran out of money\nhal";
        assert_eq!(
            heard_reports(text),
            [heard("1.1", "a", "complete", "\nhello"), heard("1.2", "b", "exhausted", " ran out of money\nhal")]
        );
        assert_eq!(heard_reports("<sub-agent-"), []);
    }

    #[test]
    fn a_report_is_read_without_the_task_that_it_repeats() {
        let report = heard("1.1", "a", "complete", "\ntask: Close it:\n<\\/post>\n\n\nDone.\n\ntask: none");
        assert_eq!(report.about("Close it:\n</post>\n"), "Done.\n\ntask: none");
        assert_eq!(report.about("Open it."), report.text.trim_start());
    }

    #[test]
    fn questions_and_money_are_read_as_they_are_told() {
        let amount = |msat| Msat::new(msat).unwrap();
        for minimum in [1, 1_000, 15_095, 21_050, 3_000_000] {
            let why = Refusal::Money { asked: amount(7), free: amount(9), minimum: amount(minimum) };
            assert_eq!(least_needed(&wording::refusal(&why, None)), Some(amount(minimum)));
        }
        assert_eq!(least_needed(&wording::refusal(&Refusal::SelfHire, None)), None);
        let path: Path = "1.2.3".parse().unwrap();
        assert_eq!(asked_by(&wording::question(&path, "Which?")), Some(path));
        assert_eq!(asked_by("Which?"), None);
        let status = Status { money: Msat::from_sat(1234).unwrap(), turns: 7, hiring: None, time: None };
        assert_eq!(money_free(&wording::status(&status)), Some(status.money));
        assert_eq!(money_free("[status: none]"), None);
    }
}
