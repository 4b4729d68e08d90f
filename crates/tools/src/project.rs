//! The project that the tools may read: the files beneath one directory, and nothing else.
//!
//! The root is opened once. From there, every path is resolved one name at a time. Each name is opened relative to the
//! directory that is already open, and never through a link. Links are read and followed by this code, and `..` is resolved
//! from the names so far. Therefore no path, no link, no magic link of procfs and no file that is swapped during the lookup
//! leads outside. The names are the real ones, by which secret files are recognized. Nothing here ever looks up a path as a
//! whole.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::secrecy::{Node, Secrecy};
use crate::text::unescape_name;
use crate::watch::CALL_TIME_MAX;

/// The longest path that is looked up, in bytes.
pub(crate) const PATH_BYTES_MAX: usize = 4096;
/// How many names are resolved for one path, including the names in links.
const NAMES_MAX: usize = 256;
/// How many links are followed for one path.
const LINKS_MAX: usize = 40;

/// A project: the directory beneath which tools may read. Clones share the open directory.
#[derive(Clone, Debug)]
pub struct Project {
    root: Arc<OwnedFd>,
    secrecy: Arc<Secrecy>,
    time_max: Duration,
}

/// Why a project can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The directory does not exist or can't be opened.
    #[error("the project {path} can't be opened: {source}")]
    Open {
        /// The directory.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
    /// The directory is the root of the file system, which includes procfs and all devices.
    #[error("{path} is the whole file system: choose the directory that the agents should work on")]
    WholeFileSystem {
        /// The directory.
        path: PathBuf,
    },
    /// A pattern of allowed files is not a valid glob.
    #[error("a pattern of allowed files is not a valid glob: {0}")]
    Glob(#[from] globset::Error),
}

impl Project {
    /// Opens the directory that the user has chosen. The caller must make sure that a model never chooses it.
    pub fn open(path: impl AsRef<Path>) -> Result<Project, ProjectError> {
        let path = path.as_ref();
        let failed = |error: Errno| ProjectError::Open { path: path.to_owned(), source: error.into() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
        let chosen = rustix::fs::fstat(&root).map_err(failed)?;
        let whole = rustix::fs::stat("/").map_err(failed)?;
        if (chosen.st_dev, chosen.st_ino) == (whole.st_dev, whole.st_ino) {
            return Err(ProjectError::WholeFileSystem { path: path.to_owned() });
        }
        Ok(Project { root: Arc::new(root), secrecy: Arc::default(), time_max: CALL_TIME_MAX })
    }

    /// Returns the project with exceptions: files that match these globs (relative to the root) are shown even if their names
    /// suggest that they contain secrets.
    pub fn allowing(self, globs: &[&str]) -> Result<Project, ProjectError> {
        Ok(Project { secrecy: Arc::new(Secrecy::allowing(globs)?), ..self })
    }

    /// Returns the project with this time limit for one call.
    #[must_use]
    pub fn with_time_max(self, time_max: Duration) -> Project {
        Project { time_max, ..self }
    }

    pub(crate) fn time_max(&self) -> Duration {
        self.time_max
    }

    pub(crate) fn secrecy(&self) -> &Secrecy {
        &self.secrecy
    }

    /// Finds the path that a model asked for: as written, or else with the escapes that listings use for odd names.
    pub(crate) fn find(&self, asked: &str) -> Result<Found, PathError> {
        match (self.find_path(Path::new(asked)), unescape_name(asked)) {
            (Err(PathError::Missing { .. }), Some(other)) if asked.contains('\\') => self.find_path(Path::new(&other)),
            (found, _) => found,
        }
    }

    fn find_path(&self, asked: &Path) -> Result<Found, PathError> {
        let bytes = asked.as_os_str().as_bytes();
        if bytes.len() > PATH_BYTES_MAX {
            return Err(PathError::TooLong);
        }
        if bytes.contains(&0) {
            return Err(PathError::Nul);
        }
        Lookup::begin(self, asked)?.follow()
    }

    /// Opens a directory by its real path from the root. Fails if a part of the path has become a link.
    pub(crate) fn directory(&self, real: &Path) -> Result<OwnedFd, PathError> {
        let mut directory = self.root.try_clone().map_err(PathError::Io)?;
        for name in real {
            directory = open_directory(&directory, name)?;
        }
        Ok(directory)
    }
}

/// A file or directory beneath the root, with its real path.
#[derive(Debug)]
pub(crate) enum Found {
    Directory { real: PathBuf },
    File { real: PathBuf, file: File, bytes: u64 },
}

/// Why a path can't be read. The message continues a sentence that starts with the path: "`x` does not exist".
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error("is outside the project. Paths are relative to the project's root and must stay inside it")]
    Outside,
    #[error("is an absolute path. Paths are relative to the project's root, such as `src/main.rs`")]
    Absolute,
    #[error("goes through the link `{link}`, which leads outside the project")]
    LinkOutside { link: String },
    #[error("does not exist")]
    Missing { directory: PathBuf, name: OsString },
    #[error(
        "is refused: it is {why}, and secrets are not shown to models. Continue without it, or ask the user for the information \
         that you need"
    )]
    Secret { why: &'static str },
    #[error("is {what}. Only files and directories can be read")]
    Special { what: &'static str },
    #[error("uses a file as a directory")]
    ThroughFile,
    #[error("has links that form a circle")]
    Circle,
    #[error("is too long")]
    TooLong,
    #[error("contains a NUL byte, which is not allowed in a path")]
    Nul,
    #[error("was changed while it was looked up. Try again")]
    Changed,
    #[error("can't be read: {0}")]
    Io(io::Error),
}

impl From<Errno> for PathError {
    fn from(error: Errno) -> PathError {
        match error {
            Errno::NAMETOOLONG => PathError::TooLong,
            // The file changed between the check and the opening: opening never follows a link and never opens a file as a
            // directory.
            Errno::LOOP | Errno::NOTDIR => PathError::Changed,
            other => PathError::Io(other.into()),
        }
    }
}

/// The lookup of a path: the directory that it has reached, and the names that remain.
struct Lookup<'a> {
    project: &'a Project,
    directory: OwnedFd,
    real: PathBuf,
    /// The names that remain, in reverse order.
    remaining: Vec<OsString>,
    names: usize,
    links: usize,
}

impl<'a> Lookup<'a> {
    fn begin(project: &'a Project, asked: &Path) -> Result<Lookup<'a>, PathError> {
        let directory = project.directory(Path::new(""))?;
        let mut lookup = Lookup { project, directory, real: PathBuf::new(), remaining: Vec::new(), names: 0, links: 0 };
        lookup.push_remaining(asked).map_err(|_| PathError::Absolute)?;
        Ok(lookup)
    }

    fn push_remaining(&mut self, path: &Path) -> Result<(), IsAbsolute> {
        for component in path.components().rev() {
            match component {
                Component::RootDir | Component::Prefix(_) => return Err(IsAbsolute),
                Component::CurDir => {}
                Component::ParentDir => self.remaining.push("..".into()),
                Component::Normal(name) => self.remaining.push(name.to_owned()),
            }
        }
        Ok(())
    }

    fn follow(mut self) -> Result<Found, PathError> {
        while let Some(name) = self.remaining.pop() {
            self.names += 1;
            if self.names > NAMES_MAX {
                return Err(PathError::TooLong);
            }
            if let Some(found) = self.step(name)? {
                return Ok(found);
            }
        }
        Ok(Found::Directory { real: self.real })
    }

    /// Resolves the next name: enters a directory, follows a link, or opens the file.
    fn step(&mut self, name: OsString) -> Result<Option<Found>, PathError> {
        if name == ".." {
            if !self.real.pop() {
                return Err(PathError::Outside);
            }
            self.directory = self.project.directory(&self.real)?;
            return Ok(None);
        }
        let stat = match rustix::fs::statat(&self.directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Err(PathError::Missing { directory: self.real.clone(), name }),
            other => other?,
        };
        let real = self.real.join(&name);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                self.check(&real, Node::Directory)?;
                self.directory = open_directory(&self.directory, &name)?;
                self.real = real;
                Ok(None)
            }
            FileType::Symlink => {
                self.check(&real, Node::Link)?;
                self.follow_link(&real, &name)?;
                Ok(None)
            }
            FileType::RegularFile if !self.remaining.is_empty() => Err(PathError::ThroughFile),
            FileType::RegularFile => {
                self.check(&real, Node::File)?;
                let (file, bytes) = open_file(&self.directory, &name)?;
                Ok(Some(Found::File { real, file, bytes }))
            }
            other @ (FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown) => Err(PathError::Special { what: special(other) }),
        }
    }

    fn follow_link(&mut self, real: &Path, name: &OsString) -> Result<(), PathError> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(PathError::Circle);
        }
        let target = read_link(&self.directory, name)?;
        self.push_remaining(&target).map_err(|_| PathError::LinkOutside { link: crate::text::shown_name(real) })
    }

    fn check(&self, real: &Path, node: Node) -> Result<(), PathError> {
        self.project.secrecy.refuses(real, node).map_or(Ok(()), |why| Err(PathError::Secret { why }))
    }
}

struct IsAbsolute;

/// Opens a directory by its name in another directory. Fails if the name is a link.
pub(crate) fn open_directory(directory: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, PathError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(directory, name, flags, Mode::empty())?)
}

/// Opens a file by its name in a directory and returns it with its length. Fails if the name is a link, and never waits for a
/// pipe.
pub(crate) fn open_file(directory: impl AsFd, name: impl rustix::path::Arg) -> Result<(File, u64), PathError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(PathError::Special { what: special(kind) });
    }
    Ok((File::from(file), u64::try_from(stat.st_size).unwrap_or(0)))
}

/// Reads the target of a link.
pub(crate) fn read_link(directory: impl AsFd, name: impl rustix::path::Arg) -> Result<PathBuf, PathError> {
    let target = rustix::fs::readlinkat(directory, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()).into())
}

fn special(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::RegularFile | FileType::Directory | FileType::Symlink | FileType::Unknown => {
            "a path that changed while it was opened: try again"
        }
    }
}
