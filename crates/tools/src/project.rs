//! The project that the tools may see: what lies beneath one directory, and nothing else.
//!
//! The root is opened once. From there on every path is taken one name at a time, each opened in the directory that is
//! already open and never through a link: links are read and followed here, `..` is answered from the names gone through.
//! So no path, link, magic link of procfs or swap in mid-course leads outside, and the names gone through are the real
//! ones, by which secret files are told. Nothing here ever looks up a path as a whole.

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
use crate::text::meant;
use crate::watch::CALL_TIME_MAX;

/// The longest path that is looked up, in bytes.
pub(crate) const PATH_BYTES_MAX: usize = 4096;
/// How many names are gone through for one path, those of links included.
const NAMES_MAX: usize = 256;
/// How many links are followed for one path.
const LINKS_MAX: usize = 40;

/// A project: the one directory beneath which tools may look. Clones share it.
#[derive(Clone, Debug)]
pub struct Project {
    root: Arc<OwnedFd>,
    secrecy: Arc<Secrecy>,
    time_max: Duration,
}

/// Why a project can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// There is no such directory, or it can't be opened.
    #[error("the project {path} can't be opened: {source}")]
    Open {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is the root of the file system, and with it procfs and all devices.
    #[error("{path} is the whole file system: choose the directory that the agents are to work on")]
    WholeFileSystem {
        /// The directory.
        path: PathBuf,
    },
    /// A file to allow is no glob.
    #[error("what is to be allowed is no glob: {0}")]
    Glob(#[from] globset::Error),
}

impl Project {
    /// Opens the directory that the user has chosen. Who may choose it is the caller's business; a model never may.
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

    /// The same project, in which the files that match these globs (over the path from the root) are shown although
    /// their names say that they hold secrets.
    pub fn allowing(self, globs: &[&str]) -> Result<Project, ProjectError> {
        Ok(Project { secrecy: Arc::new(Secrecy::allowing(globs)?), ..self })
    }

    /// The same project, in which one call may take so long.
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

    /// Finds what a model asked for: the path as it stands, or else as the listings show odd names.
    pub(crate) fn find(&self, asked: &str) -> Result<Found, Trouble> {
        match (self.find_path(Path::new(asked)), meant(asked)) {
            (Err(Trouble::Missing { .. }), Some(other)) if asked.contains('\\') => self.find_path(Path::new(&other)),
            (found, _) => found,
        }
    }

    fn find_path(&self, asked: &Path) -> Result<Found, Trouble> {
        let bytes = asked.as_os_str().as_bytes();
        if bytes.len() > PATH_BYTES_MAX {
            return Err(Trouble::TooLong);
        }
        if bytes.contains(&0) {
            return Err(Trouble::Nul);
        }
        Course::begin(self, asked)?.follow()
    }

    /// Opens a directory by its real names from the root; none of them may have become a link.
    pub(crate) fn directory(&self, real: &Path) -> Result<OwnedFd, Trouble> {
        let mut directory = self.root.try_clone().map_err(Trouble::Io)?;
        for name in real {
            directory = open_directory(&directory, name)?;
        }
        Ok(directory)
    }
}

/// What was found beneath the root, by its real path.
#[derive(Debug)]
pub(crate) enum Found {
    Directory { real: PathBuf },
    File { real: PathBuf, file: File, bytes: u64 },
}

/// Why a path leads to nothing that can be shown. Reads on from the path: "`x` is not there".
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("lies outside of the project. Paths are relative to the project's root and stay beneath it")]
    Outside,
    #[error("is an absolute path. Paths are relative to the project's root, as `src/main.rs` is")]
    Absolute,
    #[error("leads through the link `{link}` to the outside of the project, which is not shown")]
    LinkOutside { link: String },
    #[error("is not there")]
    Missing { directory: PathBuf, name: OsString },
    #[error(
        "is refused: it is {why}, and secrets are not shown to models. Do without it, or ask the user for what you need"
    )]
    Secret { why: &'static str },
    #[error("is {what}. Only files and directories can be read")]
    Special { what: &'static str },
    #[error("leads through a file as if it were a directory")]
    ThroughFile,
    #[error("leads in a circle of links")]
    Circle,
    #[error("is too long a path")]
    TooLong,
    #[error("contains a NUL byte, which is not allowed in a path")]
    Nul,
    #[error("was changed while it was looked up. Try again")]
    Changed,
    #[error("can't be read: {0}")]
    Io(io::Error),
}

impl From<Errno> for Trouble {
    fn from(error: Errno) -> Trouble {
        match error {
            Errno::NAMETOOLONG => Trouble::TooLong,
            // What it was a moment ago, it is no more: opening never follows a link and never takes a file for a directory.
            Errno::LOOP | Errno::NOTDIR => Trouble::Changed,
            other => Trouble::Io(other.into()),
        }
    }
}

/// The way through the names of a path: where it has come to, and what is still to be gone.
struct Course<'a> {
    project: &'a Project,
    directory: OwnedFd,
    real: PathBuf,
    /// The names still to be gone through, the next one last.
    ahead: Vec<OsString>,
    names: usize,
    links: usize,
}

impl<'a> Course<'a> {
    fn begin(project: &'a Project, asked: &Path) -> Result<Course<'a>, Trouble> {
        let directory = project.directory(Path::new(""))?;
        let mut course = Course { project, directory, real: PathBuf::new(), ahead: Vec::new(), names: 0, links: 0 };
        course.put_ahead(asked).map_err(|_| Trouble::Absolute)?;
        Ok(course)
    }

    fn put_ahead(&mut self, path: &Path) -> Result<(), IsAbsolute> {
        for component in path.components().rev() {
            match component {
                Component::RootDir | Component::Prefix(_) => return Err(IsAbsolute),
                Component::CurDir => {}
                Component::ParentDir => self.ahead.push("..".into()),
                Component::Normal(name) => self.ahead.push(name.to_owned()),
            }
        }
        Ok(())
    }

    fn follow(mut self) -> Result<Found, Trouble> {
        while let Some(name) = self.ahead.pop() {
            self.names += 1;
            if self.names > NAMES_MAX {
                return Err(Trouble::TooLong);
            }
            if let Some(found) = self.go(name)? {
                return Ok(found);
            }
        }
        Ok(Found::Directory { real: self.real })
    }

    /// Takes the next name: into a directory, round by a link, or to the file that was looked for.
    fn go(&mut self, name: OsString) -> Result<Option<Found>, Trouble> {
        if name == ".." {
            if !self.real.pop() {
                return Err(Trouble::Outside);
            }
            self.directory = self.project.directory(&self.real)?;
            return Ok(None);
        }
        let stat = match rustix::fs::statat(&self.directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Err(Trouble::Missing { directory: self.real.clone(), name }),
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
                self.go_round(&real, &name)?;
                Ok(None)
            }
            FileType::RegularFile if !self.ahead.is_empty() => Err(Trouble::ThroughFile),
            FileType::RegularFile => {
                self.check(&real, Node::File)?;
                let (file, bytes) = open_file(&self.directory, &name)?;
                Ok(Some(Found::File { real, file, bytes }))
            }
            other @ (FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown) => Err(Trouble::Special { what: special(other) }),
        }
    }

    fn go_round(&mut self, real: &Path, name: &OsString) -> Result<(), Trouble> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Trouble::Circle);
        }
        let target = read_link(&self.directory, name)?;
        self.put_ahead(&target).map_err(|_| Trouble::LinkOutside { link: crate::text::shown_name(real) })
    }

    fn check(&self, real: &Path, node: Node) -> Result<(), Trouble> {
        self.project.secrecy.refuses(real, node).map_or(Ok(()), |why| Err(Trouble::Secret { why }))
    }
}

struct IsAbsolute;

/// Opens a directory by its name in another. A link by that name is not followed.
pub(crate) fn open_directory(directory: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Trouble> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(directory, name, flags, Mode::empty())?)
}

/// Opens a file by its name in a directory, with its length. A link is not followed, and nothing but a file is waited for.
pub(crate) fn open_file(directory: impl AsFd, name: impl rustix::path::Arg) -> Result<(File, u64), Trouble> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(Trouble::Special { what: special(kind) });
    }
    Ok((File::from(file), u64::try_from(stat.st_size).unwrap_or(0)))
}

/// Reads where a link leads, as it is written there.
pub(crate) fn read_link(directory: impl AsFd, name: impl rustix::path::Arg) -> Result<PathBuf, Trouble> {
    let target = rustix::fs::readlinkat(directory, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()).into())
}

fn special(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::RegularFile | FileType::Directory | FileType::Symlink | FileType::Unknown => {
            "something else than it was a moment ago"
        }
    }
}
