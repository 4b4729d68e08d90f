//! Checks that the lines in a report exist.

use std::fs;
use std::path::Path;

/// A line that a report cites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cited {
    pub(crate) path: String,
    pub(crate) line: u64,
}

/// Returns the lines that a report cites. Checks that each exists with the cited text and search terms.
pub(crate) fn checked(report: &str, root: &Path) -> Vec<Cited> {
    let mut cited = Vec::new();
    let mut lines = report.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((number, place)) = line.split_once(". ") else { continue };
        if number.parse::<u32>().is_err() {
            continue;
        }
        let (path, rest) = place.split_once(':').unwrap();
        let (number, text) = rest.split_once(": ").unwrap();
        let number: u64 = number.parse().unwrap();
        let line = line_of(root, path, number);
        assert!(line.replace('\t', " ").contains(text), "{path}:{number} is {line:?}, not {text:?}");
        let notes = lines.peek().and_then(|note| note.strip_prefix("   ")).unwrap_or_default();
        let shares = notes.split("; ").find_map(|note| note.strip_prefix("shares "));
        for share in shares.into_iter().flat_map(|shares| shares.split(", ")) {
            assert!(line.to_lowercase().contains(&share.to_lowercase()), "{path}:{number} lacks {share}: {line}");
        }
        cited.push(Cited { path: path.to_owned(), line: number });
    }
    cited
}

/// Returns the lines of a report's chain, each with its kind of evidence.
pub(crate) fn chain(report: &str) -> Vec<(Cited, String)> {
    let chain = report.lines().find_map(|line| line.strip_prefix("chain: ")).unwrap_or_default();
    let steps = chain.split('→').map(|step| step.split(" —").next().unwrap().trim());
    let step = |step: &str| {
        let (address, source) = step.strip_suffix(')').unwrap().split_once(" (").unwrap();
        let (path, line) = address.rsplit_once(':').unwrap();
        (Cited { path: path.to_owned(), line: line.parse().unwrap() }, source.to_owned())
    };
    steps.filter(|text| !text.is_empty()).map(step).collect()
}

fn line_of(root: &Path, path: &str, number: u64) -> String {
    let text = fs::read_to_string(root.join(path)).unwrap_or_else(|why| panic!("{path}: {why}"));
    let line = text.lines().nth(usize::try_from(number).unwrap() - 1);
    line.unwrap_or_else(|| panic!("{path} has no line {number}")).to_owned()
}
