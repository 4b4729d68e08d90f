//! A team of Markdown agents, read as far as the tests need it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use guildhall_agent::ToolSpec;
use serde_json::json;

/// An agent, as its file describes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) specialties: String,
    pub(crate) team: Vec<String>,
    pub(crate) instructions: String,
}

/// All agents of a directory, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Team(pub(crate) BTreeMap<String, Agent>);

impl Team {
    pub(crate) fn read(directory: &Path) -> Team {
        let files = fs::read_dir(directory).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
        let mut agents: BTreeMap<String, Agent> =
            files.map(|text| agent(&text)).map(|agent| (agent.name.clone(), agent)).collect();
        let names: Vec<String> = agents.keys().cloned().collect();
        for agent in agents.values_mut().filter(|agent| agent.team == ["any"]) {
            agent.team = names.iter().filter(|name| **name != agent.name).cloned().collect();
        }
        Team(agents)
    }

    /// One agent that hires nobody.
    pub(crate) fn alone() -> Team {
        let reader = Agent { name: "reader".to_owned(), ..Agent::default() };
        Team([("reader".to_owned(), reader)].into())
    }

    /// The one whom nobody hires.
    pub(crate) fn entry(&self) -> &Agent {
        let hired: BTreeSet<&String> = self.0.values().flat_map(|agent| &agent.team).collect();
        let mut free = self.0.values().filter(|agent| !hired.contains(&agent.name));
        let entry = free.next().unwrap();
        assert!(free.next().is_none(), "more than one agent is hired by nobody");
        entry
    }

    /// The tool by which an agent hires.
    pub(crate) fn hiring(&self, agent: &Agent) -> Option<ToolSpec> {
        if agent.team.is_empty() {
            return None;
        }
        let line = |name: &String| {
            let Agent { description, specialties, .. } = &self.0[name];
            format!("- {name}: {description} (specialties: {specialties})")
        };
        let lines: Vec<String> = agent.team.iter().map(line).collect();
        Some(ToolSpec {
            name: "delegate_task".to_owned(),
            description: format!("Hires one of your team for a task and waits for the report.\n{}", lines.join("\n")),
            schema: json!({
                "type": "object",
                "properties": {
                    "specialty": { "type": "string", "enum": agent.team },
                    "task": { "type": "string" },
                    "budget": { "type": "integer" },
                },
                "required": ["specialty", "task"],
            }),
        })
    }
}

fn agent(text: &str) -> Agent {
    let (front, instructions) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let value = |key: &str| {
        let line = front.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
        line.unwrap_or_default().to_owned()
    };
    let team = value("team");
    let team = team.trim_matches(['[', ']']).split(", ").filter(|name| !name.is_empty());
    Agent {
        name: value("name"),
        description: value("description"),
        specialties: value("specialties"),
        team: team.map(str::to_owned).collect(),
        instructions: instructions.to_owned(),
    }
}
