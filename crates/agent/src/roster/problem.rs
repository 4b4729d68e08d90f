//! What is wrong with agent files, and where. A warning says what was made of a file; an error that it was not taken.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall_kernel::AgentName;

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

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Location,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, and what to do about it.
    pub message: String,
    /// The agent's name, if two files have it.
    pub doubled: Option<AgentName>,
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

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file was taken, without what is wrong.
    Warning,
    /// The file was not taken.
    Error,
}

/// Something that is wrong with the file that is being read.
#[derive(Debug)]
pub(super) struct Flaw {
    pub(super) line: u32,
    severity: Severity,
    message: String,
}

impl Flaw {
    pub(super) fn warning(line: u32, message: impl Into<String>) -> Flaw {
        Flaw { line, severity: Severity::Warning, message: message.into() }
    }

    pub(super) fn error(line: u32, message: impl Into<String>) -> Flaw {
        Flaw { line, severity: Severity::Error, message: message.into() }
    }

    /// A value that is left out.
    pub(super) fn bad_value(line: u32, key: &str, wanted: &str) -> Flaw {
        Flaw::warning(line, format!("{key} is left out: it must be {wanted}"))
    }

    pub(super) fn within(self, file: &Arc<PathBuf>) -> Problem {
        let place = Location { file: Arc::clone(file), line: self.line };
        Problem { place, severity: self.severity, message: self.message, doubled: None }
    }
}
