//! What a project says to every agent that works on it: AGENTS.md or CLAUDE.md, the nearest one.

use std::fs;
use std::io::Read;
use std::path::Path;

/// The names that people use, the first counts more.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The most of it that is shown, in bytes.
const GUIDE_BYTES_MAX: u64 = 32 * 1024;

/// Finds the guide for a project: in its directory or the nearest one above, up to where its repository begins.
pub(crate) fn find(project: &Path) -> Option<String> {
    for directory in project.ancestors() {
        for name in NAMES {
            if let Some(text) = read(&directory.join(name)) {
                return Some(format!("What this project says to those who work on it ({name}):\n\n{text}"));
            }
        }
        if directory.join(".git").exists() {
            break;
        }
    }
    None
}

fn read(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(file).ok()?.take(GUIDE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::find;

    #[test]
    fn the_nearest_guide_counts_and_none_from_beyond_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("repo/crate");
        fs::create_dir_all(&inner).unwrap();
        fs::write(dir.path().join("AGENTS.md"), "beyond").unwrap();
        fs::create_dir(dir.path().join("repo/.git")).unwrap();
        assert_eq!(find(&inner), None);
        fs::write(dir.path().join("repo/CLAUDE.md"), "of the repository").unwrap();
        assert!(find(&inner).unwrap().ends_with("(CLAUDE.md):\n\nof the repository"));
        fs::write(inner.join("AGENTS.md"), "of the crate").unwrap();
        assert!(find(&inner).unwrap().ends_with("of the crate"));
    }
}
