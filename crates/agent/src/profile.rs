//! What an agent is, apart from its model: its instructions, its tools and its team. A profile is made once and shared by all
//! contracts of the agent, because every request begins with it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::hiring::{self, DelegationTool, Hired, Team};
use crate::json_turn::JsonTurns;
use crate::model::{Opening, ToolSpec};
use crate::tool::Tool;

/// The instructions, the tools and the team of an agent. They do not change.
#[derive(Clone)]
pub struct Profile {
    opening: Arc<Opening>,
    /// The opening of the request for a last report. It has no tools: no call is admitted after that request, so that tools
    /// would only cost money.
    last_opening: Arc<Opening>,
    /// The same without the instructions, for a request that has no room for them.
    bare_opening: Arc<Opening>,
    tools: BTreeMap<String, Arc<dyn Tool>>,
    team: Option<Arc<Team>>,
    hired: Hired,
    /// Made when the first request for a JSON turn needs them.
    json_turns: OnceLock<JsonTurns>,
}

impl Profile {
    /// Makes the profile of an agent with these instructions, tools and team. A tool for hiring replaces a tool of the same name.
    pub fn new(
        system: impl Into<Arc<str>>,
        tools: BTreeMap<String, Arc<dyn Tool>>,
        team: Option<Arc<Team>>,
        hired: Hired,
    ) -> Profile {
        let system = system.into();
        let hiring = hiring::specs(team.as_deref(), hired);
        let is_free = |spec: &ToolSpec| hiring.iter().all(|taken| taken.name != spec.name);
        let mut specs: Vec<ToolSpec> = tools.values().map(|tool| tool.spec()).filter(is_free).collect();
        specs.extend(hiring);
        Profile {
            opening: Arc::new(Opening::new(Arc::clone(&system), specs)),
            last_opening: Arc::new(Opening::new(system, Vec::new())),
            bare_opening: Arc::new(Opening::new("", Vec::new())),
            tools,
            team,
            hired,
            json_turns: OnceLock::new(),
        }
    }

    /// Returns what each of the agent's prompts begins with.
    pub fn opening(&self) -> &Arc<Opening> {
        &self.opening
    }

    /// Returns what the request for a last report begins with.
    pub(crate) fn last_opening(&self, instructed: bool) -> &Arc<Opening> {
        if instructed { &self.last_opening } else { &self.bare_opening }
    }

    /// Returns what the agent's JSON turns have in common.
    pub(crate) fn json_turns(&self) -> &JsonTurns {
        self.json_turns.get_or_init(|| {
            let is_own = |spec: &&ToolSpec| self.delegation_tool(&spec.name).is_none();
            let own = self.opening.tools().iter().filter(is_own).cloned().collect();
            JsonTurns::new(self.opening.system(), own, self.team.as_deref(), self.hired)
        })
    }

    /// Returns the tools that the agent can call, except for the tools for hiring and for being hired.
    pub fn tools(&self) -> &BTreeMap<String, Arc<dyn Tool>> {
        &self.tools
    }

    /// Returns the agents that it may hire, if it may hire.
    pub fn team(&self) -> Option<&Arc<Team>> {
        self.team.as_ref()
    }

    /// Returns who hired the agent.
    pub fn hired(&self) -> Hired {
        self.hired
    }

    /// Finds the tool for hiring or for being hired that a call names.
    pub(crate) fn delegation_tool(&self, name: &str) -> Option<DelegationTool> {
        DelegationTool::named(name, self.team.as_deref(), self.hired)
    }
}
