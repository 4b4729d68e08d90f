//! Acceptance checks: what a hirer demands of a report. They travel in a brief as text and are performed on a hire's final
//! words, without a model and without money. What fails is told so that it can be mended.

mod amount;
mod demands;
mod output;
mod receipts;
mod schema;
mod sum;

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use amount::{Hundredths, HundredthsError};
pub use demands::told;
pub(crate) use demands::{Demands, demands};
pub use output::{OUTPUT_BYTES_MAX, output};
pub use schema::{Schema, SchemaError};
pub use sum::{Sum, SumError};

use crate::roster::Accept;

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
#[error("it is no check: {0}")]
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
    let Accept { schema, sum, receipts, files, command: _ } = accept;
    let schema = schema.iter().cloned().map(Check::Schema);
    let sum = sum.iter().cloned().map(Check::Sum);
    let receipts = receipts.then_some(Check::Receipts);
    let files = (!files.is_empty()).then(|| Check::Files(files.clone()));
    schema.chain(sum).chain(receipts).chain(files).collect()
}

/// Performs a check. The error is what the hire is told to mend.
pub fn perform(check: &Check, report: &Report<'_>) -> Result<(), String> {
    match check {
        Check::Schema(schema) => schema.check(&required_output(report)?),
        Check::Sum(sum) => sum.check(&required_output(report)?),
        Check::Receipts => receipts::check(report.words, report.receipts),
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
