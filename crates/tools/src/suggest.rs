//! Suggestions for a path that does not exist: models guess paths, and a good suggestion saves a turn.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;

use crate::project::{PathError, Project};
use crate::text::shown_name;
use crate::walk::{DEPTH_MAX, EntryKind, walk};
use crate::watch::Watch;

const SUGGESTIONS_MAX: usize = 3;
/// How many entries are compared at most.
const ENTRIES_MAX: usize = 20_000;

/// Returns the answer to a model about a path that can't be read.
pub(crate) fn answer(project: &Project, asked: &str, error: &PathError, watch: &Watch) -> String {
    let message = format!("`{}` {error}.", shown_name(asked));
    let PathError::Missing { directory, name } = error else { return message };
    let names = similar(project, directory, name, asked, watch);
    if names.is_empty() {
        format!("{message} Use list_files to see which files exist.")
    } else {
        format!("{message} Did you mean `{}`?", names.join("` or `"))
    }
}

/// Returns files with the same name in other directories, and similar names in the same directory. The most similar come
/// first.
fn similar(project: &Project, directory: &Path, name: &OsStr, asked: &str, watch: &Watch) -> Vec<String> {
    let wanted = name.to_string_lossy().to_lowercase();
    let last = Path::new(asked).file_name().map(|last| last.to_string_lossy().to_lowercase());
    let far_max = (wanted.chars().count() / 3).clamp(1, 4);
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut entries = 0;
    let tally = walk(project, Path::new(""), DEPTH_MAX, watch, &mut |entry| {
        entries += 1;
        if entries > ENTRIES_MAX {
            return ControlFlow::Break(());
        }
        if matches!(entry.kind, EntryKind::Refused { .. } | EntryKind::Special) {
            return ControlFlow::Continue(());
        }
        let own = entry.name.to_string_lossy().to_lowercase();
        let near = if entry.path.parent() == Some(directory) { distance(&own, &wanted, far_max) } else { None };
        let same = (Some(&own) == last.as_ref()).then_some(0);
        if let Some(far) = near.or(same) {
            found.push((far, shown_name(entry.path)));
            found.sort();
            found.truncate(SUGGESTIONS_MAX);
        }
        ControlFlow::Continue(())
    });
    if tally.is_err() {
        found.clear();
    }
    found.into_iter().map(|(_, path)| path).collect()
}

/// Returns how many letters must be changed, added or removed to turn one text into the other, up to a limit.
fn distance(one: &str, other: &str, max: usize) -> Option<usize> {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > max {
        return None;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let cost = (corner + usize::from(a != b)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = row[j + 1];
            row[j + 1] = cost;
        }
    }
    Some(row[other.len()]).filter(|far| *far <= max)
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distance_counts_single_changes() {
        assert_eq!(distance("main.rs", "main.rs", 2), Some(0));
        assert_eq!(distance("mian.rs", "main.rs", 2), Some(2));
        assert_eq!(distance("lib.rs", "libs.rs", 2), Some(1));
        assert_eq!(distance("lib.rs", "main.rs", 2), None);
        assert_eq!(distance("", "ab", 2), Some(2));
    }
}
