//! Goes through the directories of a project, in the order of names, through directory handles only. Links are shown and not
//! followed; what git ignores is passed over, and so is git's own directory.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType};

use crate::ignored::Ignored;
use crate::project::{Project, Trouble, open_directory, read_link};
use crate::secrecy::Node;
use crate::watch::Watch;

/// How deep a walk goes. Each level keeps a directory open.
pub(crate) const DEPTH_MAX: usize = 64;
/// How many entries a walk looks at.
const ENTRIES_MAX: usize = 500_000;

/// Something that a walk came by.
pub(crate) struct Entry<'a> {
    /// Its path from the project's root.
    pub(crate) path: &'a Path,
    /// Its name.
    pub(crate) name: &'a OsString,
    /// The directory that it is in.
    pub(crate) directory: BorrowedFd<'a>,
    /// What it is.
    pub(crate) kind: EntryKind,
}

/// What an entry is.
pub(crate) enum EntryKind {
    Directory,
    File,
    Link {
        target: PathBuf,
    },
    Special,
    /// It is there, and not for models.
    Refused {
        why: &'static str,
    },
}

/// What a walk could not go through.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Why it ended early, if it did so by itself.
    pub(crate) cut: Option<Cut>,
    /// How many directories lie too deep.
    pub(crate) too_deep: usize,
    /// How many directories or links could not be read.
    pub(crate) unreadable: usize,
}

/// Why a walk ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Time,
    Entries,
}

impl Tally {
    /// What to tell a model about what is missing.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match self.cut {
            Some(Cut::Time) => notes.push("this took too long and was cut off here; narrow it with `path`".to_owned()),
            Some(Cut::Entries) => {
                notes.push(format!("cut off after {ENTRIES_MAX} files and directories; narrow it with `path`"));
            }
            None => {}
        }
        if self.too_deep > 0 {
            notes.push(format!("{} directories more than {DEPTH_MAX} levels deep were left out", self.too_deep));
        }
        if self.unreadable > 0 {
            notes.push(format!("{} directories or links could not be read", self.unreadable));
        }
        notes
    }
}

/// Is shown each entry, and says whether to go on.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>;

/// Goes through a directory, given by its real path, to a depth: 1 is its own entries.
pub(crate) fn walk(
    project: &Project,
    start: &Path,
    depth: usize,
    watch: &Watch,
    visit: Visit<'_>,
) -> Result<Tally, Trouble> {
    let mut ignored = Ignored::default();
    let mut path = PathBuf::new();
    let mut directory = project.directory(&path)?;
    for name in start {
        ignored.enter(&path, &directory);
        directory = open_directory(&directory, name)?;
        path.push(name);
    }
    let mut walker = Walker { project, watch, ignored, visit, seen: 0, tally: Tally::default() };
    // Whether it broke off is in the tally, or the visitor's own doing.
    let _ = walker.directory(&directory, &path, depth.min(DEPTH_MAX));
    if depth < DEPTH_MAX {
        walker.tally.too_deep = 0;
    }
    Ok(walker.tally)
}

struct Walker<'a> {
    project: &'a Project,
    watch: &'a Watch,
    ignored: Ignored,
    visit: Visit<'a>,
    seen: usize,
    tally: Tally,
}

impl Walker<'_> {
    fn directory(&mut self, handle: &OwnedFd, path: &Path, depth: usize) -> ControlFlow<()> {
        let names = self.names(handle)?;
        self.ignored.enter(path, handle);
        for (name, kind) in names {
            if self.watch.is_over() {
                return self.cut(Cut::Time);
            }
            self.entry(handle, &path.join(&name), &name, kind, depth)?;
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

    /// The names in a directory with what they are, in order.
    fn names(&mut self, handle: &OwnedFd) -> ControlFlow<(), Vec<(OsString, FileType)>> {
        let mut names = Vec::new();
        let Ok(entries) = Dir::read_from(handle) else {
            self.tally.unreadable += 1;
            return ControlFlow::Continue(names);
        };
        for entry in entries {
            let Ok(entry) = entry else {
                self.tally.unreadable += 1;
                break;
            };
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            self.seen += 1;
            if self.seen > ENTRIES_MAX {
                self.cut(Cut::Entries)?;
            }
            names.push((name, entry.file_type()));
        }
        names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        // Some file systems don't say what an entry is.
        for (name, kind) in names.iter_mut().filter(|(_, kind)| *kind == FileType::Unknown) {
            if let Ok(stat) = rustix::fs::statat(handle, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                *kind = FileType::from_raw_mode(stat.st_mode);
            }
        }
        ControlFlow::Continue(names)
    }

    fn cut(&mut self, why: Cut) -> ControlFlow<()> {
        self.tally.cut = Some(why);
        ControlFlow::Break(())
    }
}
