//! Where agents are looked for, and who of them takes the work on.

use std::path::{Path, PathBuf};

use guildhall::agent::roster::{Problem, Roster, Severity, Source};
use guildhall::entry_of;
use guildhall::kernel::AgentName;

use crate::exit::Failure;
use crate::world::World;

/// Where a project, or a directory that was named, keeps its agents.
const PLACES: [&str; 3] = [".guildhall/agents", ".agents/agents", ".claude/agents"];

/// The agents that were found.
pub(crate) struct Found {
    /// All that can be hired, in the order in which their places count.
    pub(crate) roster: Roster,
    /// Those of the directory that was named alone.
    named: Option<Roster>,
}

/// Looks for agents: in the directory that was named, in the project, in the user's own, then the built-in ones.
pub(crate) fn find(world: &World, project: &Path, team: Option<&Path>) -> Result<Found, Failure> {
    if let Some(team) = team.filter(|team| !team.is_dir()) {
        return Err(Failure::usage(format!("the team {}: there is no such directory", team.display())));
    }
    let named = team.map(directory);
    let mut sources: Vec<Source> = named.iter().cloned().map(Source::Named).collect();
    sources.extend(PLACES.iter().map(|place| Source::Usual(project.join(place))));
    if let Some(config) = world.paths.config.parent() {
        sources.push(Source::Usual(config.join("agents")));
    }
    sources.push(Source::BuiltIn);
    let alone = named.map(|directory| Roster::load(&[Source::Named(directory)]));
    if let Some(alone) = alone.as_ref().filter(|alone| alone.agents().next().is_none()) {
        let errors: Vec<String> = errors(alone).map(ToString::to_string).collect();
        let why = if errors.is_empty() { "there is no agent in it".to_owned() } else { errors.join("\n") };
        return Err(Failure::usage(format!("the team {}: {why}", team.unwrap_or(project).display())));
    }
    Ok(Found { roster: Roster::load(&sources), named: alone })
}

fn errors(roster: &Roster) -> impl Iterator<Item = &Problem> {
    roster.problems().iter().filter(|problem| problem.severity == Severity::Error)
}

/// Where a directory that was named keeps its agents: in one of the usual places beneath it, or in itself.
fn directory(team: &Path) -> PathBuf {
    let beneath = std::iter::once("agents").chain(PLACES).map(|place| team.join(place));
    beneath.into_iter().find(|place| place.is_dir()).unwrap_or_else(|| team.to_owned())
}

/// The project that a team is about, if it is one: it lies beneath the current directory and keeps its agents apart.
pub(crate) fn project_of(team: &Path, here: &Path) -> Option<PathBuf> {
    let team = team.canonicalize().ok()?;
    let keeps_apart = team.join("agents").is_dir() || PLACES.iter().any(|place| team.join(place).is_dir());
    (team.starts_with(here) && team != here && keeps_apart).then_some(team)
}

impl Found {
    /// Files of the directory that was named that were not taken.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.named.iter().flat_map(errors)
    }

    /// Finds an agent by its name, or says why there is none.
    pub(crate) fn named(&self, name: &str) -> Result<AgentName, String> {
        let parsed = AgentName::parse(name).map_err(|why| format!("{name:?} is no agent: {why}"))?;
        match self.roster.get(&parsed) {
            Some(_) => Ok(parsed),
            None => Err(format!("{name:?} is no agent: there are {}", names(&self.roster))),
        }
    }

    /// Who takes the work on: whoever was named, or the one of the team whom nobody else hires, or the general contractor.
    pub(crate) fn entry(&self, named: Option<&str>) -> Result<AgentName, Failure> {
        if let Some(name) = named {
            return self.named(name).map_err(Failure::usage);
        }
        match &self.named {
            None => Ok(AgentName::parse("general-contractor").expect("a name")),
            Some(team) => entry_of(team).ok_or_else(|| {
                let why = "several of the team could take the work on: name one with --agent, out of";
                // A file that was not taken may be the one that was to take the work on.
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
