//! Acceptance checks: what a hirer demands of a report. They travel in a brief as text and are performed on a hire's final
//! words, without a model and without money. A hire is told what fails, so that it can correct its report.

mod output;
mod schema;
mod sum;

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::money::{DecimalError, Hundredths};
pub use output::{OUTPUT_BYTES_MAX, output};
pub use schema::{Schema, SchemaError};
pub use sum::{Sum, SumError};

use crate::roster::Accept;

const CITATIONS_MAX: usize = 8;
/// The longest citation that is told, in characters.
const CITATION_CHARS_MAX: usize = 40;

const HEADING: &str = "\n\nYour report counts only if it passes these checks:";

/// One thing that a report must pass. As text it is JSON.
///
/// ```
/// use guildhall_agent::checks::Check;
/// let text = r#"{"sum":{"of":"options.price_usd","max":"2000"}}"#;
/// let check: Check = text.parse().unwrap();
/// assert_eq!(check.to_text(), text);
/// assert!(r#"{"schema":{"pattern":"^a"}}"#.parse::<Check>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// It has structured output that follows this schema.
    Schema(Schema),
    /// Numbers in its structured output add up to no more than a cap.
    Sum(Sum),
    /// It cites calls, such as `[1.2#7]`, and only such as were made.
    Receipts,
    /// These files are there.
    Files(Vec<String>),
}

/// Says that a text is no check.
#[derive(Debug, thiserror::Error)]
#[error("not a valid check: {0}")]
pub struct CheckError(#[from] serde_json::Error);

/// What a check is performed on.
pub struct Report<'a> {
    /// The final words of the hire.
    pub words: &'a str,
    /// The calls that its contract made, such as `1.2#7`.
    pub receipts: &'a BTreeSet<String>,
    /// Whether there is a file.
    pub exists: &'a dyn Fn(&str) -> bool,
}

impl Check {
    /// Returns it as it travels in a brief.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a check is JSON")
    }
}

impl FromStr for Check {
    type Err = CheckError;
    fn from_str(text: &str) -> Result<Check, CheckError> {
        Ok(serde_json::from_str(text)?)
    }
}

/// Returns the checks that an agent's file demands. A command is none yet: the roster says so.
pub fn checks_of(accept: &Accept) -> Vec<Check> {
    let Accept { schema, sum, receipts, files } = accept;
    let schema = schema.iter().cloned().map(Check::Schema);
    let sum = sum.iter().cloned().map(Check::Sum);
    let receipts = receipts.then_some(Check::Receipts);
    let files = (!files.is_empty()).then(|| Check::Files(files.clone()));
    schema.chain(sum).chain(receipts).chain(files).collect()
}

/// Performs a check. The error is what the hire is told to correct.
pub fn perform(check: &Check, report: &Report<'_>) -> Result<(), String> {
    match check {
        Check::Schema(schema) => schema.check(&required_output(report)?),
        Check::Sum(sum) => sum.check(&required_output(report)?),
        Check::Receipts => check_receipts(report.words, report.receipts),
        Check::Files(files) => check_files(files, report.exists),
    }
}

fn required_output(report: &Report<'_>) -> Result<Value, String> {
    output(report.words).ok_or_else(|| {
        "Your report has no structured output that can be read. End it with one block that begins with ```json, ends with \
         ``` and has one JSON value in it."
            .to_owned()
    })
}

fn check_files(files: &[String], exists: &dyn Fn(&str) -> bool) -> Result<(), String> {
    let missing: Vec<&str> = files.iter().map(String::as_str).filter(|file| !exists(file)).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("These files must be there and are not: {}.", missing.join(", ")))
    }
}

fn check_receipts(words: &str, made: &BTreeSet<String>) -> Result<(), String> {
    let cited: BTreeSet<&str> = citations(words).collect();
    if cited.is_empty() {
        return Err(format!(
            "Your report cites no call. Put the id of the call that shows it after each claim, such as [{}].",
            made.first().map_or("1.2#7", String::as_str)
        ));
    }
    let wrong: Vec<&str> = cited.into_iter().filter(|cited| !made.contains(*cited)).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let told =
        wrong.iter().take(CITATIONS_MAX).map(|cited| format!("[{}]", short(cited))).collect::<Vec<_>>().join(", ");
    let more =
        if wrong.len() > CITATIONS_MAX { format!(" and {} more", wrong.len() - CITATIONS_MAX) } else { String::new() };
    Err(format!(
        "Your report cites calls that you did not make: {told}{more}. Cite only calls that you made, by their ids."
    ))
}

/// What is in brackets and begins like a call: digits and dots, then `#`. Several may share one pair.
fn citations(words: &str) -> impl Iterator<Item = &str> {
    let within = words.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(within, _)| within);
    let each = within.flat_map(|within| within.split([',', ';', ' '])).map(str::trim);
    each.filter(|cited| {
        let (contract, _) = cited.split_once('#').unwrap_or_default();
        !contract.is_empty() && contract.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}

fn short(cited: &str) -> String {
    cited.chars().filter(|letter| !letter.is_control()).take(CITATION_CHARS_MAX).collect()
}

/// Reads the checks of a brief. A text that is not a check is left out, since no report could pass it.
pub(crate) fn read<'a>(checks: impl IntoIterator<Item = &'a str>) -> Vec<Check> {
    checks.into_iter().filter_map(|text| text.parse().ok()).collect()
}

/// Returns what an agent is told of the checks that its report must pass, as a part of its brief; nothing if there are none.
pub fn told(checks: &[Check]) -> String {
    let listed: String = checks.iter().flat_map(|check| ["\n- ".to_owned(), demand(check)]).collect();
    if listed.is_empty() { listed } else { format!("{HEADING}{listed}") }
}

fn demand(check: &Check) -> String {
    match check {
        Check::Schema(schema) => format!(
            "It ends with one block that begins with ```json, ends with ``` and has one JSON value in it that follows this schema: {}",
            schema.value()
        ),
        Check::Sum(sum) => {
            format!("The numbers `{}` in its JSON add up to no more than {}.", sum.of, sum.max)
        }
        Check::Receipts => {
            "Each claim is followed by the id of the call that shows it, in brackets, as the result of that call has it."
                .to_owned()
        }
        Check::Files(files) => format!("These files are there: {}.", files.join(", ")),
    }
}
