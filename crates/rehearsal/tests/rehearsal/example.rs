//! The example in `examples/`, the values that the tests expect in it, and copies that tests can change.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toml::Table;

/// The example. The expected values are in a file next to it, so that our crates contain no name of the example.
pub(crate) struct Example {
    pub(crate) root: PathBuf,
    known: Table,
    /// Deletes the copy when it is dropped.
    _copy: Option<TempDir>,
}

impl Example {
    pub(crate) fn payment() -> Example {
        let examples = repository().join("examples");
        let known = fs::read_to_string(examples.join("payment.toml")).unwrap().parse().unwrap();
        Example { root: examples.join("payment"), known, _copy: None }
    }

    /// Makes a copy that the test can change.
    pub(crate) fn copy() -> Example {
        let example = Example::payment();
        let copy = TempDir::new().unwrap();
        copy_all(&example.root, copy.path());
        Example { root: copy.path().to_owned(), known: example.known, _copy: Some(copy) }
    }

    pub(crate) fn says(&self, key: &str) -> &str {
        self.known[key].as_str().unwrap()
    }

    /// Returns the names to replace, each with its new name.
    pub(crate) fn renames(&self) -> Vec<(String, String)> {
        let word = |pair: &toml::Value, at: usize| pair[at].as_str().unwrap().to_owned();
        self.known["rename"].as_array().unwrap().iter().map(|pair| (word(pair, 0), word(pair, 1))).collect()
    }

    /// Returns the number of the first line of a file that contains a text.
    pub(crate) fn line(&self, file: &str, text: &str) -> u64 {
        let read = fs::read_to_string(self.root.join(file)).unwrap();
        read.lines().position(|line| line.contains(text)).unwrap() as u64 + 1
    }

    /// Returns the paths of all files except the agent files.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        walk(&self.root, &mut |path| {
            let path = path.strip_prefix(&self.root).unwrap().to_str().unwrap();
            if !path.starts_with("agents/") {
                files.push(path.to_owned());
            }
        });
        files
    }

    /// Changes the name and the content of every file.
    pub(crate) fn rewrite(&self, change: impl Fn(&str) -> String) {
        for file in self.files() {
            let text = change(&fs::read_to_string(self.root.join(&file)).unwrap());
            fs::remove_file(self.root.join(&file)).unwrap();
            let to = self.root.join(change(&file));
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, text).unwrap();
        }
    }
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn copy_all(from: &Path, to: &Path) {
    walk(from, &mut |path| {
        let copy = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(path, copy).unwrap();
    });
}

/// Calls a function for every file below a directory, in order.
pub(crate) fn walk(directory: &Path, each: &mut impl FnMut(&Path)) {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let is_ours = !path.ends_with("target") && !path.ends_with("__pycache__");
        if path.is_dir() && is_ours {
            walk(&path, each);
        } else if path.is_file() {
            each(&path);
        }
    }
}
