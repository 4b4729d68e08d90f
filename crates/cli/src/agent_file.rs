//! Reading the agent file of `--agent FILE`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use guildhall::Agent;
use guildhall::agent::roster::{self, AgentFile, ReadAgent, Severity};
use guildhall::providers::Rate;

use crate::exit::Failure;
use crate::print::{note, tame};

/// Reads an agent's file. Problems are printed with their line. Only a file without a usable agent is an error.
pub(crate) fn read(file: &Path, rate: Rate) -> Result<Agent, Failure> {
    let unreadable =
        |why: std::io::Error| Failure::usage(format!("can't read the agent file {}: {why}", file.display()));
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    opened.take(roster::FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let ReadAgent { agent, problems } = AgentFile::read(file, &bytes);
    for problem in problems.iter().filter(|problem| problem.severity == Severity::Warning) {
        note(&tame(&problem.to_string(), 400));
    }
    let errors = || problems.iter().filter(|problem| problem.severity == Severity::Error).map(ToString::to_string);
    let Some(agent) = agent else { return Err(Failure::usage(errors().collect::<Vec<_>>().join("\n"))) };
    Ok(Agent::of_file(&agent, rate))
}
