//! Checks that no source file is too long to read in one sitting.

use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

const FILE_LINES_MAX: usize = 600;

/// Files that may be longer, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

#[test]
fn every_source_file_can_be_read_in_one_sitting() {
    let mut files = Vec::new();
    for directory in ["crates", "xtask"] {
        collect(&root().join(directory), &mut files);
    }
    assert!(
        files.iter().any(|file| file.ends_with("xtask/src/main.rs")),
        "xtask/src/main.rs is missing in the list: {files:?}"
    );
    let long: Vec<String> = files
        .iter()
        .filter(|file| fs::read_to_string(file).unwrap().lines().count() > FILE_LINES_MAX)
        .map(|file| file.strip_prefix(root()).unwrap().to_string_lossy().into_owned())
        .collect();
    let excepted: Vec<&str> = EXCEPTIONS.iter().map(|(file, _)| *file).collect();
    assert_eq!(long, excepted, "the files of more than {FILE_LINES_MAX} lines must be those in EXCEPTIONS");
}

/// Adds the `.rs` files in a directory, sorted by name. Tests are left out, because they are looked up and not read from start to end.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !["target", "tests"].contains(&&*name) {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
            files.push(path);
        }
    }
}
