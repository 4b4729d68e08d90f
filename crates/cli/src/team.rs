//! Where agents are searched, and which of them is the first agent.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use guildhall::agent::roster::{Problem, ProblemKind, Roster, Severity, Source};
use guildhall::entry_of;
use guildhall::kernel::AgentName;

use crate::exit::Failure;
use crate::print::tame;
use crate::world::World;

/// The directories for agents, in a project or in the directory of `--team`.
const PLACES: [&str; 3] = [".guildhall/agents", ".agents/agents", ".claude/agents"];

/// How many of the things that agent files ask for and that don't exist here are named.
const UNSUPPORTED_MAX: usize = 8;

/// The longest line about them, in characters.
const UNSUPPORTED_CHARS_MAX: usize = 400;

/// The longest path in a message, in characters.
const PATH_CHARS_MAX: usize = 400;

/// The agents that were found.
pub(crate) struct Found {
    /// All agents that can be hired. If a name occurs twice, the first directory counts.
    pub(crate) roster: Roster,
    /// Only the agents of the directory of `--team`.
    named: Option<Roster>,
    /// The directory of `--team`, as it was typed.
    team: Option<PathBuf>,
}

/// Finds agents: in the directory of `--team`, in the project and the directories above it, in the user's own directory, in Claude
/// Code's directory of the user, and the built-in ones.
pub(crate) fn find(world: &World, project: &Path, team: Option<&Path>) -> Result<Found, Failure> {
    if let Some(team) = team.filter(|team| !team.is_dir()) {
        return Err(Failure::usage(format!("--team {}: this directory does not exist", team.display())));
    }
    let named = team.map(directory);
    let mut sources: Vec<Source> = named.iter().cloned().map(Source::Named).collect();
    sources.extend(of_repository(project).map(Source::Usual));
    if let Some(config) = world.paths.config.parent() {
        sources.push(Source::Usual(config.join("agents")));
    }
    sources.extend(world.claude_agents.clone().map(Source::Usual));
    sources.push(Source::BuiltIn);
    let alone = named.map(|directory| Roster::load(&[Source::Named(directory)]));
    if let Some(alone) = alone.as_ref().filter(|alone| alone.agents().next().is_none()) {
        let errors: Vec<String> = errors(alone).map(ToString::to_string).collect();
        let why =
            if errors.is_empty() { "this directory has no agent files (*.md)".to_owned() } else { errors.join("\n") };
        return Err(Failure::usage(format!("--team {}: {why}", team.unwrap_or(project).display())));
    }
    Ok(Found { roster: Roster::load(&sources), named: alone, team: team.map(Path::to_owned) })
}

/// The directories for agents in a project and above it, up to the root of its repository, nearest first. Without a repository, only
/// the project's own: a directory above it may belong to somebody else.
fn of_repository(project: &Path) -> impl Iterator<Item = PathBuf> {
    let above = project.ancestors().position(|directory| directory.join(".git").exists()).unwrap_or(0);
    let directories = project.ancestors().take(above + 1);
    directories.flat_map(|directory| PLACES.iter().map(|place| directory.join(place)))
}

/// Names the tools and settings that agent files ask for and that don't exist here, on one line, with the command for the whole list.
pub(crate) fn unsupported_line<'a>(problems: impl IntoIterator<Item = &'a Problem>, list: &str) -> Option<String> {
    let (mut named, mut files): (BTreeSet<&str>, BTreeSet<&Path>) = (BTreeSet::new(), BTreeSet::new());
    for problem in problems {
        match &problem.kind {
            ProblemKind::Unsupported(what) => {
                named.insert(what);
                files.insert(&problem.place.file);
            }
            ProblemKind::Doubled(_) | ProblemKind::Other => {}
        }
    }
    let some = named.iter().take(UNSUPPORTED_MAX).copied().collect::<Vec<_>>().join(", ");
    let more = match named.len().saturating_sub(UNSUPPORTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let files = match files.len() {
        0 => return None,
        1 => "1 agent file asks".to_owned(),
        many => format!("{many} agent files ask"),
    };
    let line = format!("{files} for what guildhall does not have, which is ignored: {some}{more}");
    Some(format!("{}. To list it, run: {list}", tame(&line, UNSUPPORTED_CHARS_MAX)))
}

fn errors(roster: &Roster) -> impl Iterator<Item = &Problem> {
    roster.problems().iter().filter(|problem| problem.severity == Severity::Error)
}

/// The directory with the agent files of `--team`: one of the known directories below it, or the directory itself.
fn directory(team: &Path) -> PathBuf {
    let below = std::iter::once("agents").chain(PLACES).map(|place| team.join(place));
    below.into_iter().find(|place| place.is_dir()).unwrap_or_else(|| team.to_owned())
}

/// The team's directory, if it is also the project: it is below the current directory and has its agents in a subdirectory.
pub(crate) fn project_of(team: &Path, here: &Path) -> Option<PathBuf> {
    let team = team.canonicalize().ok()?;
    let has_subdirectory = team.join("agents").is_dir() || PLACES.iter().any(|place| team.join(place).is_dir());
    (team.starts_with(here) && team != here && has_subdirectory).then_some(team)
}

impl Found {
    /// No agents at all.
    pub(crate) fn nobody() -> Found {
        Found { roster: Roster::default(), named: None, team: None }
    }

    /// The command that draws these agents and lists all problems of their files.
    pub(crate) fn map_command(&self) -> String {
        let team =
            self.team.as_ref().map(|team| format!(" --team {}", tame(&team.display().to_string(), PATH_CHARS_MAX)));
        format!("guildhall map{}", team.unwrap_or_default())
    }

    /// The errors of files in the directory of `--team`.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.named.iter().flat_map(errors)
    }

    /// The agents that were found in the project and not in the directory of `--team`. They get no fees of the wallet: whoever clones
    /// a repository must not pay for its agents.
    pub(crate) fn of_project(&self, project: &Path) -> Vec<AgentName> {
        let is_named = |name: &AgentName| self.named.as_ref().is_some_and(|named| named.get(name).is_some());
        let is_in_project = |file: &Path| of_repository(project).any(|place| file.starts_with(place));
        let agents = self.roster.agents().filter(|agent| !is_named(&agent.name) && is_in_project(&agent.place.file));
        agents.map(|agent| agent.name.clone()).collect()
    }

    /// Finds an agent by its name, or returns why there is none.
    pub(crate) fn named(&self, name: &str) -> Result<AgentName, String> {
        let parsed = AgentName::parse(name).map_err(|why| format!("{name:?} is not a valid agent name: {why}"))?;
        if self.roster.get(&parsed).is_some() {
            return Ok(parsed);
        }
        let is_its_file = |problem: &&Problem| problem.place.file.file_stem().is_some_and(|stem| stem == name);
        let its_file = errors(&self.roster).find(is_its_file);
        let why = its_file.map_or_else(String::new, |problem| format!(" ({problem})"));
        Err(format!("unknown agent {name:?}{why}: choose one of {}", names(&self.roster)))
    }

    /// The first agent: the one that was named, or the only agent of the team that no other agent hires, or the general
    /// contractor.
    pub(crate) fn entry(&self, named: Option<&str>) -> Result<AgentName, Failure> {
        if let Some(name) = named {
            return self.named(name).map_err(Failure::usage);
        }
        match &self.named {
            None => Ok(AgentName::parse("general-contractor").expect("a name")),
            Some(team) => entry_of(team).ok_or_else(|| {
                let why = "the first agent of a team is the only one that no other agent can hire, and this team has none or several of those: choose one with --agent:";
                // The first agent may be in a file with an error.
                let errors = errors(team).map(ToString::to_string);
                let cycles = team.cycles().into_iter().map(|cycle| cycle.to_string()).chain(errors);
                Failure::usage(
                    std::iter::once(format!("{why} {}", names(team))).chain(cycles).collect::<Vec<_>>().join("; "),
                )
            }),
        }
    }
}

fn names(roster: &Roster) -> String {
    roster.agents().map(|agent| agent.name.to_string()).collect::<Vec<_>>().join(", ")
}
