//! An agent's file, for `--agent FILE`.

use std::path::Path;

use guildhall::Agent;

use crate::exit::Failure;

/// An agent as its file describes it.
pub(crate) struct AgentFile {
    pub(crate) agent: Agent,
    pub(crate) model: Option<String>,
    pub(crate) turns_max: Option<u32>,
}

/// Reads an agent's file.
pub(crate) fn read(file: &Path) -> Result<AgentFile, Failure> {
    Err(Failure::usage(format!("{} can't be read", file.display())))
}
