//! A team of Markdown agents, with only the fields that the tests need.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use std::sync::Arc;

use guildhall_agent::Worker;
use guildhall_agent::roster::{DelegationMode, Dialect};
use guildhall_kernel::{AgentName, Msat, Powers, Standing, Tariff};

/// An agent of a Markdown file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) specialties: String,
    pub(crate) team: Vec<String>,
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

    /// A team of one agent, which hires nobody.
    pub(crate) fn alone() -> Team {
        let reader = Agent { name: "reader".to_owned(), ..Agent::default() };
        Team([("reader".to_owned(), reader)].into())
    }

    /// Returns the agent that no other agent hires.
    pub(crate) fn entry(&self) -> &Agent {
        let hired: BTreeSet<&String> = self.0.values().flat_map(|agent| &agent.team).collect();
        let mut roots = self.0.values().filter(|agent| !hired.contains(&agent.name));
        let entry = roots.next().unwrap();
        assert!(roots.next().is_none(), "the team has more than one root agent");
        entry
    }

    /// Returns the team of an agent in the form of the prompt data.
    pub(crate) fn data(&self, agent: &Agent) -> Option<Arc<guildhall_agent::Team>> {
        let member = |name: &String| {
            let Agent { description, specialties, .. } = &self.0[name];
            let specialties = specialties.split(", ").map(str::to_owned).collect();
            Worker { specialties, ..worker(name, description) }
        };
        let workers: Vec<Worker> = agent.team.iter().map(member).collect();
        (!workers.is_empty()).then(|| team(&agent.name, Dialect::DelegateTask, workers))
    }
}

/// A team that an agent can hire.
pub(crate) fn team(hirer: &str, dialect: Dialect, workers: Vec<Worker>) -> Arc<guildhall_agent::Team> {
    Arc::new(guildhall_agent::Team {
        dialect,
        mode: DelegationMode::Offered,
        checks_of: BTreeMap::new(),
        listing: guildhall_agent::Listing::Open,
        workers: workers.into_iter().map(Arc::new).collect(),
        ad_hoc: None,
        own: Arc::new(worker(hirer, "")),
        standing: Standing::Listed,
        models: Vec::new(),
        checks: Vec::new(),
    })
}

/// An agent that can be hired. A rehearsal reads only the name, the description and the specialties.
pub(crate) fn worker(name: &str, description: &str) -> Worker {
    Worker {
        model_slot: 0,
        name: AgentName::parse(name).unwrap(),
        description: description.to_owned(),
        specialties: Vec::new(),
        budget_default: None,
        budget_max: None,
        fee: Msat::ZERO,
        payee: None,
        severance: Msat::ZERO,
        tariff: Tariff { input: Msat::ZERO, output: Msat::ZERO, max_tokens: 1 },
        turns_max: 1,
        opening_bytes: 0,
        opening: None,
        powers: Powers::default(),
        hiring: None,
        adds: Vec::new(),
        background: false,
    }
}

fn agent(text: &str) -> Agent {
    let (front, _) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
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
    }
}
