//! An agent's file, for `--agent FILE`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use guildhall::Agent;
use guildhall::agent::roster::{self, AgentFile, ModelChoice, Taken, Weight};

use crate::exit::Failure;
use crate::live::note;
use crate::print::tame;

/// An agent as its file describes it.
pub(crate) struct Described {
    pub(crate) agent: Agent,
    pub(crate) model: Option<String>,
    pub(crate) turns_max: Option<u32>,
}

/// Reads an agent's file. What is wrong with it is said with its line; only what makes it useless is a failure.
pub(crate) fn read(file: &Path) -> Result<Described, Failure> {
    let unreadable = |why: std::io::Error| Failure::usage(format!("the agent file {}: {why}", file.display()));
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    opened.take(roster::FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let Taken { agent, problems } = AgentFile::read(file, &bytes);
    for problem in problems.iter().filter(|problem| problem.weight() == Weight::Warning) {
        note(&tame(&problem.to_string(), 400));
    }
    let errors = || problems.iter().filter(|problem| problem.weight() == Weight::Error).map(ToString::to_string);
    let Some(agent) = agent else { return Err(Failure::usage(errors().collect::<Vec<_>>().join("\n"))) };
    let tools = agent.tools.as_ref().map(|tools| {
        let usable = tools.iter().filter(|tool| agent.may_use(tool));
        usable.map(|tool| tool.as_str().to_owned()).collect()
    });
    let model = match &agent.model {
        ModelChoice::Inherit => None,
        ModelChoice::Named(model) => Some(model.clone()),
    };
    let described = Agent { name: agent.name.clone(), instructions: agent.instructions.clone(), tools };
    Ok(Described { agent: described, model, turns_max: agent.turns_max })
}
