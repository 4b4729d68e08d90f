//! Acceptance checks: what a hirer demands of a report. A brief contains its checks as texts. They are performed on a hire's
//! final words, without a model and without money. A hire is shown each failure, so that it can correct its report.

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

use crate::text::shortened;

/// How many wrong citations a failure shows.
const CITATIONS_MAX: usize = 8;

/// The longest citation that a failure shows, in characters.
const CITATION_CHARS_MAX: usize = 40;

const HEADING: &str = "\n\nYour report counts only if it passes these checks:";

/// One check that a report must pass. As text it is JSON.
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
    /// The report has structured output that follows this schema.
    Schema(Schema),
    /// Numbers in the structured output add up to no more than a cap.
    Sum(Sum),
    /// The report cites calls, such as `[1.2#7]`, and only calls that were made.
    Receipts,
    /// These files exist.
    Files(Vec<String>),
}

/// Says why a text is not a check.
#[derive(Debug, thiserror::Error)]
#[error("not a valid check: {0}")]
pub struct CheckError(#[from] serde_json::Error);

/// The report that a check is performed on.
pub struct Report<'a> {
    /// The final words of the hire.
    pub words: &'a str,
    /// The calls that the hire's contract made, such as `1.2#7`.
    pub receipts: &'a BTreeSet<String>,
    /// Whether a file exists.
    pub exists: &'a dyn Fn(&str) -> bool,
}

impl Check {
    /// Returns the check as a brief contains it.
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

/// Performs a check. The error tells the hire what to correct.
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
    if missing.is_empty() { Ok(()) } else { Err(format!("These files must exist and do not: {}.", missing.join(", "))) }
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
    let wrong = listed(&wrong, CITATIONS_MAX, ", ", |cited| format!("[{}]", shortened(cited, CITATION_CHARS_MAX)));
    Err(format!("Your report cites calls that you did not make: {wrong}. Cite only calls that you made, by their ids."))
}

/// Returns each text in brackets that begins like a call: digits and dots, then `#`. Several may share one pair of brackets.
fn citations(words: &str) -> impl Iterator<Item = &str> {
    let within = words.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(within, _)| within);
    let each = within.flat_map(|within| within.split([',', ';', ' '])).map(str::trim);
    each.filter(|cited| {
        let (contract, _) = cited.split_once('#').unwrap_or_default();
        !contract.is_empty() && contract.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}

/// Joins the first `most` items, and says how many more there are.
fn listed<T>(items: &[T], most: usize, separator: &str, shown: impl Fn(&T) -> String) -> String {
    let more = items.len().checked_sub(most).filter(|more| *more > 0).map(|more| format!("{more} more"));
    items.iter().take(most).map(shown).chain(more).collect::<Vec<_>>().join(separator)
}

/// Reads the checks of a brief. A text that is not a check is left out, since no report could pass it.
pub(crate) fn read<'a>(checks: impl IntoIterator<Item = &'a str>) -> Vec<Check> {
    checks.into_iter().filter_map(|text| text.parse().ok()).collect()
}

/// Describes the checks that a report must pass, as a part of the brief that its agent is shown; empty if there are none.
pub fn described(checks: &[Check]) -> String {
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
        Check::Files(files) => format!("These files exist: {}.", files.join(", ")),
    }
}
