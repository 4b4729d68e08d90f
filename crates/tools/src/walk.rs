//! Walks through the directories of a project, sorted by name, using directory handles only. Links are listed but not
//! followed. Files that git ignores are skipped, and git's own directory, too. Only time limits how many entries a walk
//! visits: if a directory has more names than fit into memory, its names are read again in several passes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType};

use crate::ignored::Ignored;
use crate::project::{PathError, Project, open_directory, read_link};
use crate::secrecy::Node;
use crate::watch::Watch;

/// How deep a walk goes. Each level has an open directory.
pub(crate) const DEPTH_MAX: usize = 64;
/// How many bytes of names a walk stores at the same time, for all levels together.
const HELD_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How many names of one directory are stored at least, however many the directories above it have.
const HELD_NAMES_MIN: usize = 256;
/// How many bytes a stored name needs besides its own bytes.
const NAME_BYTES: usize = 64;

/// An entry that a walk found.
pub(crate) struct Entry<'a> {
    /// The path from the project's root.
    pub(crate) path: &'a Path,
    /// The name.
    pub(crate) name: &'a OsString,
    /// The directory that contains the entry.
    pub(crate) directory: BorrowedFd<'a>,
    /// The kind of entry.
    pub(crate) kind: EntryKind,
}

/// The kind of an entry.
pub(crate) enum EntryKind {
    Directory,
    File,
    Link {
        target: PathBuf,
    },
    Special,
    /// The entry exists, but is not shown to models.
    Refused {
        why: &'static str,
    },
}

/// What a walk left out.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Whether the time was up before everything was visited.
    pub(crate) out_of_time: bool,
    /// How many directories are too deep.
    pub(crate) too_deep: usize,
    /// How many directories or links could not be read.
    pub(crate) unreadable: usize,
    /// How many rules of ignore files were not applied.
    pub(crate) rules_left_out: usize,
}

impl Tally {
    /// Returns notes for the model about what was left out, except that the time was up.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.too_deep > 0 {
            notes.push(format!("{} directories more than {DEPTH_MAX} levels deep were left out", self.too_deep));
        }
        if self.unreadable > 0 {
            notes.push(format!("{} directories or links could not be read", self.unreadable));
        }
        if self.rules_left_out > 0 {
            notes.push(format!(
                "{} rules of ignore files were not applied, because there are too many: some files that git ignores are included",
                self.rules_left_out
            ));
        }
        notes
    }
}

/// Receives each entry, and returns whether to continue.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>;

/// Walks through a directory, given by its real path, to a depth. Depth 1 means only its own entries.
pub(crate) fn walk(
    project: &Project,
    start: &Path,
    depth: usize,
    watch: &Watch,
    visit: Visit<'_>,
) -> Result<Tally, PathError> {
    walk_holding(HELD_BYTES_MAX, project, start, depth, watch, visit)
}

fn walk_holding(
    held_bytes_max: usize,
    project: &Project,
    start: &Path,
    depth: usize,
    watch: &Watch,
    visit: Visit<'_>,
) -> Result<Tally, PathError> {
    let mut ignored = Ignored::default();
    let mut path = PathBuf::new();
    let mut directory = project.directory(&path)?;
    for name in start {
        ignored.enter(&path, &directory);
        directory = open_directory(&directory, name)?;
        path.push(name);
    }
    let mut walker = Walker { project, watch, ignored, visit, held_bytes_max, held_bytes: 0, tally: Tally::default() };
    // The result is not needed: the tally says whether the time was up, and the visitor knows whether it stopped the walk.
    let _ = walker.directory(&directory, &path, depth.min(DEPTH_MAX));
    if depth < DEPTH_MAX {
        walker.tally.too_deep = 0;
    }
    walker.tally.rules_left_out = walker.ignored.left_out();
    Ok(walker.tally)
}

struct Walker<'a> {
    project: &'a Project,
    watch: &'a Watch,
    ignored: Ignored,
    visit: Visit<'a>,
    held_bytes_max: usize,
    /// How many bytes the stored names use now.
    held_bytes: usize,
    tally: Tally,
}

/// Names of one directory, sorted, with their file types.
#[derive(Default)]
struct Names {
    kinds: BTreeMap<OsString, FileType>,
    bytes: usize,
    /// Whether the directory has names after these.
    has_more: bool,
}

impl Names {
    fn push(&mut self, name: OsString, kind: FileType) {
        self.bytes += name.len() + NAME_BYTES;
        self.kinds.insert(name, kind);
    }

    /// Drops the last names until the others use at most this many bytes.
    fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max && self.kinds.len() > HELD_NAMES_MIN {
            let Some((name, _)) = self.kinds.pop_last() else { return };
            self.bytes -= name.len() + NAME_BYTES;
            self.has_more = true;
        }
    }
}

impl Walker<'_> {
    fn directory(&mut self, handle: &OwnedFd, path: &Path, depth: usize) -> ControlFlow<()> {
        self.ignored.enter(path, handle);
        let mut last: Option<OsString> = None;
        loop {
            let Names { kinds, bytes, has_more } = self.names_after(last.as_deref(), handle)?;
            self.held_bytes += bytes;
            last = kinds.last_key_value().map(|(name, _)| name.clone());
            for (name, kind) in kinds {
                self.check_time()?;
                self.entry(handle, &path.join(&name), &name, kind, depth)?;
            }
            self.held_bytes -= bytes;
            if !has_more {
                break;
            }
        }
        self.ignored.leave();
        ControlFlow::Continue(())
    }

    fn entry(
        &mut self,
        handle: &OwnedFd,
        path: &Path,
        name: &OsString,
        kind: FileType,
        depth: usize,
    ) -> ControlFlow<()> {
        let node = match kind {
            FileType::Directory => Node::Directory,
            FileType::Symlink => Node::Link,
            FileType::RegularFile
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Node::File,
        };
        if name == ".git" || self.ignored.covers(path, node) {
            return ControlFlow::Continue(());
        }
        let kind = match (self.project.secrecy().refuses(path, node), node) {
            (Some(why), _) => EntryKind::Refused { why },
            (None, Node::Directory) => EntryKind::Directory,
            (None, Node::File) if kind == FileType::RegularFile => EntryKind::File,
            (None, Node::File) => EntryKind::Special,
            (None, Node::Link) => {
                let Ok(target) = read_link(handle, name) else {
                    self.tally.unreadable += 1;
                    return ControlFlow::Continue(());
                };
                EntryKind::Link { target }
            }
        };
        let enter = matches!(kind, EntryKind::Directory);
        (self.visit)(&Entry { path, name, directory: handle.as_fd(), kind })?;
        if enter { self.enter(handle, path, name, depth) } else { ControlFlow::Continue(()) }
    }

    fn enter(&mut self, handle: &OwnedFd, path: &Path, name: &OsString, depth: usize) -> ControlFlow<()> {
        if depth <= 1 {
            self.tally.too_deep += 1;
            return ControlFlow::Continue(());
        }
        if let Ok(below) = open_directory(handle, name) {
            return self.directory(&below, path, depth - 1);
        }
        self.tally.unreadable += 1;
        ControlFlow::Continue(())
    }

    /// Returns the first names of a directory after this one, sorted, as many as may be stored.
    fn names_after(&mut self, last: Option<&OsStr>, handle: &OwnedFd) -> ControlFlow<(), Names> {
        let mut found = Names::default();
        let Ok(entries) = Dir::read_from(handle) else {
            self.tally.unreadable += 1;
            return ControlFlow::Continue(found);
        };
        for entry in entries {
            self.check_time()?;
            let Ok(entry) = entry else {
                self.tally.unreadable += 1;
                break;
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || last.is_some_and(|last| name <= last) {
                continue;
            }
            found.push(name.to_owned(), entry.file_type());
            found.shrink(self.held_bytes_max.saturating_sub(self.held_bytes));
        }
        // Some file systems don't return the type of an entry.
        for (name, kind) in found.kinds.iter_mut().filter(|(_, kind)| **kind == FileType::Unknown) {
            if let Ok(stat) = rustix::fs::statat(handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                *kind = FileType::from_raw_mode(stat.st_mode);
            }
        }
        ControlFlow::Continue(found)
    }

    fn check_time(&mut self) -> ControlFlow<()> {
        if self.watch.is_over() {
            self.tally.out_of_time = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, HELD_BYTES_MAX, HELD_NAMES_MIN, NAME_BYTES, Names, walk_holding};
    use crate::project::Project;
    use crate::watch::{CALL_TIME_MAX, Watch};
    use std::ffi::OsString;
    use std::fs;
    use std::ops::ControlFlow;
    use std::path::{Path, PathBuf};

    use rustix::fs::FileType;

    fn visited(project: &Project, held_bytes_max: usize) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let watch = Watch::new(CALL_TIME_MAX);
        let tally = walk_holding(held_bytes_max, project, Path::new(""), DEPTH_MAX, &watch, &mut |entry| {
            paths.push(entry.path.to_owned());
            ControlFlow::Continue(())
        });
        assert!(!tally.unwrap().out_of_time);
        paths
    }

    #[test]
    fn every_entry_is_visited_once_and_in_order_however_few_names_are_stored() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["", "b", "b/c"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
            for number in 0..=2 * HELD_NAMES_MIN {
                fs::write(root.path().join(directory).join(format!("{}", number * 7919 % 1000)), "").unwrap();
            }
        }
        let project = Project::open(root.path()).unwrap();
        let expected = visited(&project, HELD_BYTES_MAX);
        assert_eq!(expected.len(), 3 * (2 * HELD_NAMES_MIN + 1) + 2);
        assert!(expected.is_sorted(), "{expected:?}");
        for held_bytes_max in [0, 600 * NAME_BYTES] {
            assert_eq!(visited(&project, held_bytes_max), expected, "{held_bytes_max}");
        }
    }

    #[test]
    fn the_stored_names_stay_within_their_memory_limit() {
        let mut names = Names::default();
        for number in (0..100_000).rev() {
            names.push(OsString::from(format!("{number:0200}")), FileType::RegularFile);
            names.shrink(1_000_000);
        }
        assert!(names.has_more && names.bytes <= 1_000_000, "{}", names.bytes);
        let first: Vec<OsString> = names.kinds.into_keys().collect();
        assert_eq!(first, (0..first.len()).map(|number| format!("{number:0200}").into()).collect::<Vec<OsString>>());
    }
}
