//! What is wrong with agent files, and where. A warning says what was made of a file; an error that it was not taken.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use guildhall_kernel::NameError;

use super::amount::MoneyError;
use super::{FILE_BYTES_MAX, FILES_MAX, FRONT_BYTES_MAX};

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file, as it was found.
    pub file: Arc<PathBuf>,
    /// The line, counted from 1.
    pub line: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Something that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Location,
    /// What.
    pub flaw: ProblemKind,
}

impl Problem {
    /// Returns how much it matters.
    pub fn weight(&self) -> Severity {
        self.flaw.weight()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = match self.weight() {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{}: {weight}: {}", self.place, self.flaw)
    }
}

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file was taken, without what is wrong.
    Warning,
    /// The file was not taken.
    Error,
}

/// What can be wrong with an agent file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// The file system would not let it be read.
    #[error("it can't be read: {0}")]
    Unreadable(String),
    /// A directory that somebody named.
    #[error("there is no such directory")]
    NoDirectory,
    /// Over [`FILES_MAX`].
    #[error("there are more than {FILES_MAX} files here: the rest was not read")]
    TooMany,
    /// Over [`FILE_BYTES_MAX`].
    #[error("an agent file has at most {FILE_BYTES_MAX} bytes")]
    TooBig,
    /// Over [`FRONT_BYTES_MAX`].
    #[error("front matter has at most {FRONT_BYTES_MAX} bytes")]
    FrontTooBig,
    /// No text.
    #[error("it is no text: an agent file is Markdown in UTF-8")]
    Binary,
    /// Nothing in it.
    #[error("the file is empty: begin it with front matter, as in ---, name: x, ---")]
    Empty,
    /// No `---` at its beginning.
    #[error("there is no front matter: begin the file with a line ---")]
    NoFront,
    /// No `---` after that.
    #[error("the front matter does not end: close it with a line ---")]
    OpenFront,
    /// YAML that repeats itself.
    #[error("anchors are not taken here: write the value out")]
    Anchor,
    /// YAML that nothing can be made of.
    #[error("the front matter can't be read: {0}")]
    NotYaml(String),
    /// A name that is none.
    #[error("{0}")]
    BadName(NameError),
    /// A name that another file of the same directory has.
    #[error("the agent {name} is also in {}: rename one of them", other.display())]
    DoubledName {
        /// The name.
        name: String,
        /// The file that was taken.
        other: PathBuf,
    },
    /// A budget that is none.
    #[error("{key}: {why}")]
    BadAmount {
        /// Of which key.
        key: String,
        /// Why.
        why: MoneyError,
    },
    /// A check that can't be performed as it is written.
    #[error("{key}: {why}")]
    BadCheck {
        /// Of which key.
        key: String,
        /// Why.
        why: String,
    },
    /// A check for which something is missing yet.
    #[error("{0} needs the sandbox, which is not there yet: it is not checked")]
    NeedsSandbox(String),
    /// A memory, which there is not.
    #[error("memory is not there yet: the agent works without")]
    NoMemory,
    /// No name: the file's own is taken.
    #[error("there is no name; {0} is taken, as the file is called")]
    NoName(String),
    /// No description: nobody knows what to hire it for.
    #[error("there is no description: say when to hire this agent")]
    NoDescription,
    /// A value that can't be used.
    #[error("{key} is left out: it must be {wanted}")]
    BadValue {
        /// Of which key.
        key: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A key that nobody knows.
    #[error("the key {0} is unknown here and changes nothing")]
    UnknownKey(String),
    /// A key that others know.
    #[error("the key {0} has no effect here")]
    IdleKey(String),
    /// A key that is there twice.
    #[error("the key {0} is there twice; the first is taken")]
    DoubledKey(String),
    /// A value that strict YAML refuses.
    #[error("{0} is no strict YAML and was read as text: put it in quotes")]
    Repaired(String),
    /// A value that a comment cuts short.
    #[error("a # cuts {0} short: put the value in quotes")]
    CutByComment(String),
    /// A tool that others have.
    #[error("the tool {0} is not available here")]
    ToolNotHere(String),
    /// A tool that nobody knows.
    #[error("there is no tool {0}")]
    UnknownTool(String),
    /// A hiring list with an agent that is not there.
    #[error("{hirer} may hire {name}, but there is no such agent")]
    UnknownAgent {
        /// Whose list.
        hirer: String,
        /// Who is missing.
        name: String,
    },
    /// Agents that could hire each other in a circle.
    #[error("a hiring cycle, which is refused at work: {0}")]
    Cycle(String),
}

impl ProblemKind {
    fn weight(&self) -> Severity {
        match self {
            ProblemKind::Unreadable(_)
            | ProblemKind::NoDirectory
            | ProblemKind::TooMany
            | ProblemKind::TooBig
            | ProblemKind::FrontTooBig
            | ProblemKind::Binary
            | ProblemKind::Empty
            | ProblemKind::NoFront
            | ProblemKind::OpenFront
            | ProblemKind::Anchor
            | ProblemKind::NotYaml(_)
            | ProblemKind::BadName(_)
            | ProblemKind::DoubledName { .. }
            | ProblemKind::BadAmount { .. }
            | ProblemKind::BadCheck { .. } => Severity::Error,
            ProblemKind::NeedsSandbox(_)
            | ProblemKind::NoMemory
            | ProblemKind::NoName(_)
            | ProblemKind::NoDescription
            | ProblemKind::BadValue { .. }
            | ProblemKind::UnknownKey(_)
            | ProblemKind::IdleKey(_)
            | ProblemKind::DoubledKey(_)
            | ProblemKind::Repaired(_)
            | ProblemKind::CutByComment(_)
            | ProblemKind::ToolNotHere(_)
            | ProblemKind::UnknownTool(_)
            | ProblemKind::UnknownAgent { .. }
            | ProblemKind::Cycle(_) => Severity::Warning,
        }
    }
}
