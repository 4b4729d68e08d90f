//! Receipts: the calls that a report cites, such as `[1.2#7]`. Whether they bear out what is said, no program can tell; that
//! they were made, it can.

use std::collections::BTreeSet;

/// The most wrong citations that are told.
const TOLD_MAX: usize = 8;

/// The longest citation that is told, in characters.
const CITATION_CHARS_MAX: usize = 40;

/// Checks that words cite something, and nothing that was not made.
pub(super) fn check(words: &str, made: &BTreeSet<String>) -> Result<(), String> {
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
    let told = wrong.iter().take(TOLD_MAX).map(|cited| format!("[{}]", short(cited))).collect::<Vec<_>>().join(", ");
    let more = if wrong.len() > TOLD_MAX { format!(" and {} more", wrong.len() - TOLD_MAX) } else { String::new() };
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
