//! The roster: the agents that can be hired. Agents are Markdown files in directories. If two directories have an agent of the
//! same name, the agent of the earlier directory is used. A wrong file becomes a problem with a file and a line, and the other
//! files are read all the same.

mod delegation;
mod fields;
mod file;
mod map;
mod problem;
mod repair;
mod tools;
mod yaml;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use guildhall_kernel::AgentName;

pub use crate::money::{Amount, MoneyError};
pub use delegation::{AcceptOf, Budget, Delegation, DelegationMode, Dialect, Listed, Team};
pub use file::{AgentFile, ReadAgent};
pub use map::{Level, Map, MapEntry};
use problem::Flaw;
pub use problem::{Location, Problem, ProblemKind, Severity};

/// The largest agent file, in bytes.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The longest front matter, in bytes. A file with more is not read as the description of an agent.
pub const FRONT_BYTES_MAX: usize = 64 * 1024;

/// How many files of one directory are read.
pub const FILES_MAX: usize = 1000;

/// How many levels of directories are searched.
const DIRECTORIES_MAX: usize = 8;

/// The directory in the paths of the built-in agents.
const BUILT_IN_DIR: &str = "built-in";

/// The agents that come with Guildhall: the name of each file, and its text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("general-contractor.md", include_str!("../roster/general-contractor.md")),
    ("investigator.md", include_str!("../roster/investigator.md")),
    ("researcher.md", include_str!("../roster/researcher.md")),
    ("coder.md", include_str!("../roster/coder.md")),
    ("tester.md", include_str!("../roster/tester.md")),
    ("reviewer.md", include_str!("../roster/reviewer.md")),
    ("writer.md", include_str!("../roster/writer.md")),
];

/// A source of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A directory that the user named. It must exist.
    Named(PathBuf),
    /// A default directory. It need not exist.
    Usual(PathBuf),
    /// The agents that come with Guildhall.
    BuiltIn,
}

/// The agents that can be hired, and the problems with the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roster {
    agents: BTreeMap<AgentName, AgentFile>,
    problems: Vec<Problem>,
}

impl Roster {
    /// Reads agents from all sources. If two sources have an agent of the same name, the first source's agent is used.
    pub fn load<'a>(sources: impl IntoIterator<Item = &'a Source>) -> Roster {
        let mut roster = Roster::default();
        for source in sources {
            let agents = match source {
                Source::Named(directory) | Source::Usual(directory) => roster.read(directory, source),
                Source::BuiltIn => {
                    let path = |name| Path::new(BUILT_IN_DIR).join(name);
                    BUILT_IN.iter().map(|(name, text)| AgentFile::read(&path(name), text.as_bytes())).collect()
                }
            };
            roster.add(agents);
        }
        roster
    }

    /// Returns an agent.
    pub fn get(&self, name: &AgentName) -> Option<&AgentFile> {
        self.agents.get(name)
    }

    /// Returns all agents by name.
    pub fn agents(&self) -> impl Iterator<Item = &AgentFile> {
        self.agents.values()
    }

    /// Returns the problems, in the order in which they were found.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    fn add(&mut self, agents: Vec<ReadAgent>) {
        let mut here: BTreeMap<AgentName, AgentFile> = BTreeMap::new();
        for ReadAgent { agent, problems } in agents {
            self.problems.extend(problems);
            let Some(agent) = agent else { continue };
            match here.get(&agent.name) {
                Some(before) => {
                    let (name, other) = (&agent.name, before.place.file.display());
                    let message = format!("the agent {name} is also in {other}: rename one of them");
                    let problem = Flaw::error(agent.place.line, message).within(&agent.place.file);
                    self.problems.push(Problem { kind: ProblemKind::Doubled(agent.name), ..problem });
                }
                None => {
                    here.insert(agent.name.clone(), agent);
                }
            }
        }
        for (name, agent) in here {
            self.agents.entry(name).or_insert(agent);
        }
    }

    fn read(&mut self, directory: &Path, source: &Source) -> Vec<ReadAgent> {
        let mut found = Vec::new();
        if let Err(error) = find(directory, DIRECTORIES_MAX, &mut found) {
            self.problems.push(match (error.kind(), source) {
                (io::ErrorKind::NotFound, Source::Usual(_)) => return Vec::new(),
                (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, _) => {
                    Problem::error(directory, "the directory does not exist")
                }
                _ => unreadable(directory, &error),
            });
        }
        if found.len() > FILES_MAX {
            found.truncate(FILES_MAX);
            let message = format!("there are more than {FILES_MAX} files in this directory: the rest was not read");
            self.problems.push(Problem::error(directory, message));
        }
        found.iter().map(|file| read_file(file)).collect()
    }
}

fn unreadable(file: &Path, error: &io::Error) -> Problem {
    Problem::error(file, format!("it can't be read: {error}"))
}

/// Finds agent files, in the order of their names. Links to directories are not followed, since they could form a loop.
fn find(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if name.starts_with('.') || name.eq_ignore_ascii_case("README.md") || found.len() > FILES_MAX {
            continue;
        }
        if entry.file_type()?.is_dir() {
            if depth > 0 {
                find(&path, depth - 1, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
            found.push(path);
        }
    }
    Ok(())
}

fn read_file(file: &Path) -> ReadAgent {
    match bytes(file) {
        Ok(bytes) => AgentFile::read(file, &bytes),
        Err(error) => ReadAgent { agent: None, problems: vec![unreadable(file, &error)] },
    }
}

/// Reads a file, up to one byte more than allowed. Anything else, such as a pipe, is refused, since it might never end.
fn bytes(file: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
