//! What a hire is told of the checks that its report must pass, before it has written one.

use super::{Check, Schema, Sum};

/// What precedes the checks in a brief.
const HEADING: &str = "\n\nYour report counts only if it passes these checks:";

/// What the checks of a brief demand.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Demands {
    /// In words, as a part of the brief; nothing if there are none.
    pub(crate) words: String,
    /// Whether calls must be cited, so that results must say what to cite them by.
    pub(crate) receipts: bool,
}

/// Puts checks, as they travel in a brief, into words. What is no check can't be met, so it is not demanded either.
pub(crate) fn demands<'a>(checks: impl IntoIterator<Item = &'a str>) -> Demands {
    let checks: Vec<Check> = checks.into_iter().filter_map(|text| text.parse().ok()).collect();
    Demands { words: told(&checks), receipts: checks.contains(&Check::Receipts) }
}

/// Returns what an agent is told of the checks that its report must pass, as a part of its brief; nothing if there are none.
pub fn told(checks: &[Check]) -> String {
    let listed: String = checks.iter().flat_map(|check| ["\n- ".to_owned(), demand(check)]).collect();
    if listed.is_empty() { listed } else { format!("{HEADING}{listed}") }
}

fn demand(check: &Check) -> String {
    match check {
        Check::Schema(schema) => demand_schema(schema),
        Check::Sum(sum) => demand_sum(sum),
        Check::Receipts => {
            "Each claim is followed by the id of the call that shows it, in brackets, as the result of that call has it."
                .to_owned()
        }
        Check::Files(files) => format!("These files are there: {}.", files.join(", ")),
    }
}

fn demand_schema(schema: &Schema) -> String {
    let value = schema.value();
    format!(
        "It ends with one block that begins with ```json, ends with ``` and has one JSON value in it that follows this schema: {value}"
    )
}

fn demand_sum(sum: &Sum) -> String {
    format!("The numbers `{}` in its JSON add up to no more than {}.", sum.of(), sum.max())
}
