//! `map` and `agents`: the agents, and which agents they can hire.

use std::fs;
use std::path::Path;

use guildhall::agent::roster::{BUILT_IN, ProblemKind, Severity};

use crate::args::{AgentsAction, AgentsArgs, TeamArgs};
use crate::commands::run::project;
use crate::exit::{Exit, Failure};
use crate::print::{WARN, note, out, out_wrapped, say_in, tame, tame_lines};
use crate::team::{self, Found};
use crate::world::World;

/// Draws the map from the first agent down.
pub(crate) fn map(world: &World, args: &TeamArgs) -> Result<Exit, Failure> {
    let project = project(args.project.as_deref())?;
    let found = team::find(world, &project, args.team.as_deref())?;
    let entry = found.entry(args.agent.as_deref())?;
    let Some(map) = found.roster.map(&entry) else {
        return Err(Failure::usage(format!("unknown agent {entry}: to list the agents, run `guildhall agents`")));
    };
    out_wrapped(&tame_lines(&map.to_string()))?;
    Ok(if map.problems.iter().any(|problem| problem.severity == Severity::Error) { Exit::Usage } else { Exit::Done })
}

/// Lists the agents, or copies the built-in ones.
pub(crate) fn agents(world: &World, args: &AgentsArgs) -> Result<Exit, Failure> {
    if let Some(AgentsAction::Eject { directory }) = &args.action {
        return eject(directory);
    }
    let project = project(args.team.project.as_deref())?;
    let found = team::find(world, &project, args.team.team.as_deref())?;
    for agent in found.roster.agents() {
        let (name, place) = (agent.name.as_str(), agent.place.file.display().to_string());
        out_wrapped(&format!("{name:<24} {}  ({})", tame(&agent.description, 80), tame(&place, 200)))?;
    }
    print_problems(&found);
    Ok(Exit::Done)
}

/// Copies the built-in agents. An existing file is not changed.
fn eject(directory: &Path) -> Result<Exit, Failure> {
    let failed =
        |why: std::io::Error| Failure::failed(format!("can't copy the agents to {}: {why}", directory.display()));
    fs::create_dir_all(directory).map_err(failed)?;
    for (name, text) in BUILT_IN {
        let file = directory.join(name);
        if file.exists() {
            note(&format!("{} already exists and was not changed", file.display()));
            continue;
        }
        fs::write(&file, text).map_err(failed)?;
        out(&file.display().to_string())?;
    }
    Ok(Exit::Done)
}

/// Prints the problems of a roster. What only other programs have is one line.
fn print_problems(found: &Found) {
    let problems = found.roster.problems();
    for problem in problems {
        match problem.kind {
            ProblemKind::Unsupported(_) => {}
            ProblemKind::Doubled(_) | ProblemKind::Other => say_in(WARN, &tame(&problem.to_string(), 400)),
        }
    }
    if let Some(line) = team::unsupported_line(problems, &found.map_command()) {
        say_in(WARN, &line);
    }
}
