//! The files that git ignores: `.gitignore` and `.ignore` files, read through the walk's own directory handles.

use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::project::open_file;
use crate::secrecy::Node;

/// How many bytes of an ignore file are read.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// How many bytes of rules are applied at the same time, for all levels together. A compiled rule needs several hundred
/// times its length.
const RULES_BYTES_MAX: usize = 32 * 1024;

/// The rules of the directories from the root to the current directory of a walk.
#[derive(Default)]
pub(crate) struct Ignored {
    levels: Vec<Level>,
    left_out: usize,
}

struct Level {
    directory: PathBuf,
    rules: Gitignore,
    /// The length of the rules.
    bytes: usize,
}

impl Ignored {
    /// Adds the rules of a directory that the walk enters.
    pub(crate) fn enter(&mut self, directory: &Path, handle: impl AsFd) {
        let mut builder = GitignoreBuilder::new("");
        let above: usize = self.levels.iter().map(|level| level.bytes).sum();
        let (mut bytes, mut count) = (0, 0);
        // Later rules win. `.ignore` is meant for search tools, so it comes last.
        for name in [".gitignore", ".ignore"] {
            let text = read(&handle, name);
            // The rest of a file that is too long is not applied either.
            self.left_out += usize::from(text.len() as u64 >= FILE_BYTES_MAX);
            for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
                if above + bytes + line.len() > RULES_BYTES_MAX {
                    self.left_out += 1;
                    continue;
                }
                bytes += line.len();
                count += 1;
                // A line that is not a valid glob matches nothing. Git ignores such a line without a message, too.
                let _ = builder.add_line(None, line);
            }
        }
        let rules = builder.build().unwrap_or_else(|_| {
            self.left_out += count;
            Gitignore::empty()
        });
        self.levels.push(Level { directory: directory.to_owned(), rules, bytes });
    }

    /// Returns how many rules were not applied because they were too long together.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Removes the rules of the directory that was entered last.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Whether a path is ignored. Its directories are not, because the walk is inside them.
    pub(crate) fn covers(&self, path: &Path, node: Node) -> bool {
        let is_directory = node == Node::Directory;
        let verdicts = self.levels.iter().rev().map(|level| {
            let below = path.strip_prefix(&level.directory).unwrap_or(path);
            level.rules.matched(below, is_directory)
        });
        verdicts.into_iter().find(|verdict| !matches!(verdict, Match::None)).is_some_and(|verdict| verdict.is_ignore())
    }
}

/// Returns the text of an ignore file, or an empty text if the file is missing or can't be read.
fn read(directory: impl AsFd, name: &str) -> String {
    let mut bytes = Vec::new();
    if let Ok((file, _)) = open_file(directory, name)
        && file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).is_err()
    {
        bytes.clear();
    }
    String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).into_owned()
}
