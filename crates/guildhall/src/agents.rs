//! Agents as a session stores them: the contents of their files at the time of the request. A later change of a file does not
//! change running work.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_agent::Redactor;
use guildhall_agent::checks::Check;
use guildhall_agent::roster::{self, AgentFile, Amount, Delegation, DelegationMode, Dialect, Roster, Team as FileTeam};
use guildhall_kernel::{AgentName, Msat};
use guildhall_models::Rate;
use serde::{Deserialize, Serialize};

/// An agent with all its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Its name.
    pub name: AgentName,
    /// When to hire this agent.
    pub description: String,
    /// The instructions to its model.
    pub instructions: String,
    /// The names of the tools that it can use. `None` means all tools.
    pub tools: Option<Vec<String>>,
    /// The names of tools that it is not allowed to use, even if `tools` lists them.
    pub disallowed_tools: Vec<String>,
    /// Its model. `None` means the model of the session.
    pub model: Option<String>,
    /// The most replies that it may give.
    pub turns_max: Option<u32>,
    /// Whether its hirer continues while it works.
    pub background: bool,
    /// The specialties by which it can be hired, in addition to its name.
    pub specialties: Vec<String>,
    /// How it hires. `None` means that it can't hire.
    pub hires: Option<Hires>,
    /// Its budget and its fee.
    pub budget: AgentBudget,
}

/// How an agent hires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hires {
    /// The agents that it can hire. `None` means all agents of the roster.
    pub team: Option<Vec<AgentName>>,
    /// Whether the model decides to hire, or must hire.
    pub mode: DelegationMode,
    /// The form of the hiring tool.
    pub dialect: Dialect,
    /// Whether it can hire itself, or an agent above it, for another task.
    pub recursive: bool,
    /// Whether it can hire specialists that have no file.
    pub ad_hoc: bool,
    /// The terms that it adds to every brief of its hires.
    pub terms: Vec<String>,
    /// The checks that the reports of its hires must pass.
    pub accept: Vec<Check>,
    /// More checks for the reports of single agents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accept_of: BTreeMap<AgentName, Vec<Check>>,
}

/// The budget and the fee of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentBudget {
    /// The grant if the hirer names no budget.
    pub default: Option<Msat>,
    /// The largest grant.
    pub max: Option<Msat>,
    /// The part of the grant that is kept for a last report.
    pub severance: Option<Msat>,
    /// The payment for an accepted report.
    pub fee: Option<Msat>,
}

impl Agent {
    /// Returns an agent that can't hire and can use every tool of the hall.
    pub fn new(name: AgentName, instructions: impl Into<String>) -> Agent {
        Agent {
            name,
            description: String::new(),
            instructions: instructions.into(),
            tools: None,
            disallowed_tools: Vec::new(),
            model: None,
            turns_max: None,
            background: false,
            specialties: Vec::new(),
            hires: None,
            budget: AgentBudget::default(),
        }
    }

    /// Returns the agent that a file describes. Dollars are converted at this rate.
    pub fn of_file(file: &AgentFile, rate: Rate) -> Agent {
        let names = |tools: &[guildhall_kernel::ToolName]| tools.iter().map(|tool| tool.as_str().to_owned()).collect();
        Agent {
            description: file.description.clone(),
            tools: file.tools.as_deref().map(names),
            disallowed_tools: names(&file.disallowed),
            model: file.model.clone(),
            turns_max: file.turns_max,
            background: file.background,
            specialties: file.specialties.clone(),
            hires: file.delegation.as_ref().map(Hires::of_file),
            budget: AgentBudget::of_file(&file.budget, rate),
            ..Agent::new(file.name.clone(), file.instructions.clone())
        }
    }

    /// Returns the agent without secrets in its texts. Names stay as they are.
    pub(crate) fn clean(&self, redactor: &Redactor) -> Agent {
        let clean = |text: &String| redactor.clean(text).into_owned();
        let Agent { description, instructions, specialties, hires, .. } = self;
        Agent {
            description: clean(description),
            instructions: clean(instructions),
            specialties: specialties.iter().map(clean).collect(),
            hires: hires
                .as_ref()
                .map(|hires| Hires { terms: hires.terms.iter().map(clean).collect(), ..hires.clean_checks(redactor) }),
            ..self.clone()
        }
    }

    /// Whether it can use a tool.
    pub(crate) fn may_use(&self, tool: &str) -> bool {
        let matches = |listed: &String| listed == tool;
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(matches)) && !self.disallowed_tools.iter().any(matches)
    }
}

impl Hires {
    /// Removes secrets from the checks. A check that can't be parsed without its secret stays as it is.
    fn clean_checks(&self, redactor: &Redactor) -> Hires {
        let clean = |check: &Check| redactor.clean(&check.to_text()).parse().unwrap_or_else(|_| check.clone());
        let clean_all = |checks: &Vec<Check>| checks.iter().map(clean).collect();
        let accept_of = self.accept_of.iter().map(|(agent, checks)| (agent.clone(), clean_all(checks))).collect();
        Hires { accept: clean_all(&self.accept), accept_of, ..self.clone() }
    }

    fn of_file(file: &Delegation) -> Hires {
        let team = match &file.team {
            FileTeam::Any => None,
            FileTeam::Named(listed) => Some(listed.iter().map(|listed| listed.name.clone()).collect()),
        };
        Hires {
            team,
            mode: file.mode,
            dialect: file.dialect,
            recursive: file.recursive,
            ad_hoc: file.ad_hoc,
            terms: file.terms.clone(),
            accept: file.accept.clone(),
            accept_of: file.accept_of.iter().map(|of| (of.agent.name.clone(), of.checks.clone())).collect(),
        }
    }
}

impl AgentBudget {
    fn of_file(file: &roster::Budget, rate: Rate) -> AgentBudget {
        let msat = |amount: &Option<Amount>| {
            amount.map(|amount| match amount {
                Amount::Msat(amount) => amount,
                Amount::Usd(amount) => rate.to_msat(amount),
            })
        };
        AgentBudget {
            default: msat(&file.default),
            max: msat(&file.max),
            severance: msat(&file.severance),
            fee: msat(&file.fee),
        }
    }
}

/// Returns an agent of the roster and all agents that can be hired below it.
pub(crate) fn under(roster: &Roster, entry: &AgentName, rate: Rate) -> Vec<Agent> {
    roster.get(entry).map_or_else(Vec::new, |file| with(roster, Agent::of_file(file, rate), rate))
}

/// Returns an agent and all agents of the roster that can be hired below it.
pub(crate) fn with(roster: &Roster, first: Agent, rate: Rate) -> Vec<Agent> {
    let mut known = BTreeSet::from([first.name.clone()]);
    let mut agents = vec![first];
    let mut next = 0;
    while let Some(agent) = agents.get(next) {
        let team: Vec<AgentName> = match &agent.hires {
            None => Vec::new(),
            Some(Hires { team: Some(team), .. }) => team.clone(),
            Some(Hires { team: None, .. }) => roster.agents().map(|file| file.name.clone()).collect(),
        };
        for name in team {
            if !known.contains(&name)
                && let Some(file) = roster.get(&name)
            {
                known.insert(name);
                agents.push(Agent::of_file(file, rate));
            }
        }
        next += 1;
    }
    agents
}

/// Returns the agent that no other agent of the roster hires, if there is exactly one.
pub fn entry_of(roster: &Roster) -> Option<AgentName> {
    let (mut listed, mut hires_any) = (BTreeSet::new(), Vec::new());
    for hirer in roster.agents() {
        match &hirer.delegation {
            Some(Delegation { team: FileTeam::Named(team), .. }) => {
                listed.extend(team.iter().map(|member| &member.name).filter(|name| **name != hirer.name));
            }
            Some(Delegation { team: FileTeam::Any, .. }) => hires_any.push(&hirer.name),
            None => {}
        }
    }
    let hired = |name: &AgentName| listed.contains(name) || hires_any.iter().any(|hirer| *hirer != name);
    let mut free = roster.agents().filter(|agent| !hired(&agent.name));
    match (free.next(), free.next()) {
        (Some(only), None) => Some(only.name.clone()),
        (_, _) => None,
    }
}
