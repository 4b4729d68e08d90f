//! Problems with agent files, each with its place. A file with a warning is used without the wrong part. A file with an error is
//! not used.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall_kernel::AgentName;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The path of the file, as it was found.
    pub file: Arc<PathBuf>,
    /// The line, counted from 1.
    pub line: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A problem with an agent file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place of the problem.
    pub place: Location,
    /// Whether the file is used all the same.
    pub severity: Severity,
    /// What is wrong, and what to do about it.
    pub message: String,
    /// The kind of the problem.
    pub kind: ProblemKind,
}

/// The kinds of problems that callers treat in a way of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// Two files have an agent of this name.
    Doubled(AgentName),
    /// The file asks for this tool or setting of another program, which Guildhall does not have.
    Unsupported(String),
    /// Anything else.
    Other,
}

impl Problem {
    pub(super) fn error(file: &Path, message: impl Into<String>) -> Problem {
        Flaw::error(1, message).within(&Arc::new(file.to_owned()))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{}: {severity}: {}", self.place, self.message)
    }
}

/// Whether a file with a problem is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file is used, without the wrong part.
    Warning,
    /// The file is not used.
    Error,
}

/// A problem with the file that is being read.
#[derive(Debug)]
pub(super) struct Flaw {
    pub(super) line: u32,
    severity: Severity,
    message: String,
    kind: ProblemKind,
}

impl Flaw {
    pub(super) fn warning(line: u32, message: impl Into<String>) -> Flaw {
        Flaw { line, severity: Severity::Warning, message: message.into(), kind: ProblemKind::Other }
    }

    /// Makes the warning about a tool or a setting that only other programs have.
    pub(super) fn unsupported(line: u32, what: &str, message: impl Into<String>) -> Flaw {
        Flaw { kind: ProblemKind::Unsupported(what.to_owned()), ..Flaw::warning(line, message) }
    }

    pub(super) fn error(line: u32, message: impl Into<String>) -> Flaw {
        Flaw { line, severity: Severity::Error, message: message.into(), kind: ProblemKind::Other }
    }

    /// Makes the warning about a wrong value, which is ignored.
    pub(super) fn bad_value(line: u32, key: &str, wanted: &str) -> Flaw {
        Flaw::warning(line, format!("{key} is ignored: it must be {wanted}"))
    }

    pub(super) fn within(self, file: &Arc<PathBuf>) -> Problem {
        let place = Location { file: Arc::clone(file), line: self.line };
        Problem { place, severity: self.severity, message: self.message, kind: self.kind }
    }
}
