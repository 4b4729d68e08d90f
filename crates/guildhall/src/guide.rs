//! A project's own instructions to all agents: the nearest AGENTS.md or CLAUDE.md.

use std::fs;
use std::io::Read;
use std::path::Path;

/// The file names. In one directory, the first has priority.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The most bytes that agents are shown.
const GUIDE_BYTES_MAX: u64 = 32 * 1024;

/// Finds the instructions of a project: in its directory or the nearest directory above, up to the root of the repository.
pub(crate) fn find(project: &Path) -> Option<String> {
    for directory in project.ancestors() {
        for name in NAMES {
            if let Some(text) = read(&directory.join(name)) {
                return Some(format!("Instructions of this project ({name}):\n\n{text}"));
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
    fn the_nearest_guide_is_used_and_none_from_outside_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("repo/crate");
        fs::create_dir_all(&inner).unwrap();
        fs::write(dir.path().join("AGENTS.md"), "outside").unwrap();
        fs::create_dir(dir.path().join("repo/.git")).unwrap();
        assert_eq!(find(&inner), None);
        fs::write(dir.path().join("repo/CLAUDE.md"), "of the repository").unwrap();
        assert!(find(&inner).unwrap().ends_with("(CLAUDE.md):\n\nof the repository"));
        fs::write(inner.join("AGENTS.md"), "of the crate").unwrap();
        assert!(find(&inner).unwrap().ends_with("of the crate"));
    }
}
