//! Agents as a session keeps them: what their files said when the work was asked for. A file that changes later changes
//! nothing of work that is under way.

use guildhall_agent::Redactor;
use guildhall_agent::checks::Check;
use guildhall_agent::roster::{self, AgentFile, Amount, Delegation, DelegationMode, Dialect, Roster, Team as FileTeam};
use guildhall_kernel::{AgentName, Msat};
use guildhall_models::Rate;
use serde::{Deserialize, Serialize};

/// Who works: an agent with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Its name.
    pub name: AgentName,
    /// When to hire it.
    pub description: String,
    /// Who it is and by which rules it works.
    pub instructions: String,
    /// The tools that it may use, by name; all if it does not say.
    pub tools: Option<Vec<String>>,
    /// Those it may not use all the same.
    pub not_tools: Vec<String>,
    /// Its model; the session's if it does not say.
    pub model: Option<String>,
    /// How many replies it may give.
    pub turns_max: Option<u32>,
    /// Whether its hirer goes on while it works.
    pub background: bool,
    /// What it is hired for, apart from its name.
    pub specialties: Vec<String>,
    /// How it hires; nobody if absent.
    pub hires: Option<Hires>,
    /// What it costs and gets.
    pub budget: AgentBudget,
}

/// How an agent hires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hires {
    /// Whom; everybody on the roster if absent.
    pub team: Option<Vec<AgentName>>,
    /// Who decides whether it hires.
    pub mode: DelegationMode,
    /// By which tool.
    pub dialect: Dialect,
    /// Whether it may hire itself, or somebody above it, for another task.
    pub recursive: bool,
    /// Whether it may hire specialists that have no file.
    pub ad_hoc: bool,
    /// What it adds to the terms of every brief that it hands down.
    pub terms: Vec<String>,
    /// What the reports of its hires must pass.
    pub accept: Vec<Check>,
}

/// What an agent costs and gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentBudget {
    /// What it gets if its hirer names no budget.
    pub default: Option<Msat>,
    /// The most it may get.
    pub max: Option<Msat>,
    /// What of it pays for a last report.
    pub severance: Option<Msat>,
    /// What it is paid for an accepted report.
    pub fee: Option<Msat>,
}

impl Agent {
    /// An agent that hires nobody and may use every tool of the hall.
    pub fn new(name: AgentName, instructions: impl Into<String>) -> Agent {
        Agent {
            name,
            description: String::new(),
            instructions: instructions.into(),
            tools: None,
            not_tools: Vec::new(),
            model: None,
            turns_max: None,
            background: false,
            specialties: Vec::new(),
            hires: None,
            budget: AgentBudget::default(),
        }
    }

    /// Takes an agent as its file describes it, with dollars at this rate.
    pub fn of_file(file: &AgentFile, rate: Rate) -> Agent {
        let names = |tools: &[guildhall_kernel::ToolName]| tools.iter().map(|tool| tool.as_str().to_owned()).collect();
        Agent {
            description: file.description.clone(),
            tools: file.tools.as_deref().map(names),
            not_tools: names(&file.disallowed),
            model: file.model.clone(),
            turns_max: file.turns_max,
            background: file.background,
            specialties: file.specialties.clone(),
            hires: file.delegation.as_ref().map(Hires::of_file),
            budget: AgentBudget::of_file(&file.budget, rate),
            ..Agent::new(file.name.clone(), file.instructions.clone())
        }
    }

    /// Returns the agent without secrets in what is written for others to read. Names stay as they are.
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

    /// Whether it may use a tool.
    pub(crate) fn may_use(&self, tool: &str) -> bool {
        let is = |listed: &String| listed == tool;
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(is)) && !self.not_tools.iter().any(is)
    }
}

impl Hires {
    /// Takes secrets out of the checks. One that could not be read without its secret stays as it is.
    fn clean_checks(&self, redactor: &Redactor) -> Hires {
        let clean = |check: &Check| redactor.clean(&check.to_text()).parse().unwrap_or_else(|_| check.clone());
        Hires { accept: self.accept.iter().map(clean).collect(), ..self.clone() }
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

/// Takes an agent of the roster and everybody who can come to work under it.
pub(crate) fn under(roster: &Roster, entry: &AgentName, rate: Rate) -> Vec<Agent> {
    roster.get(entry).map_or_else(Vec::new, |file| with(roster, Agent::of_file(file, rate), rate))
}

/// Takes an agent and everybody of the roster who can come to work under it.
pub(crate) fn with(roster: &Roster, first: Agent, rate: Rate) -> Vec<Agent> {
    let mut agents = vec![first];
    let mut next = 0;
    while let Some(agent) = agents.get(next) {
        let team: Vec<AgentName> = match &agent.hires {
            None => Vec::new(),
            Some(Hires { team: Some(team), .. }) => team.clone(),
            Some(Hires { team: None, .. }) => roster.agents().map(|file| file.name.clone()).collect(),
        };
        for name in team {
            if agents.iter().all(|known| known.name != name)
                && let Some(file) = roster.get(&name)
            {
                agents.push(Agent::of_file(file, rate));
            }
        }
        next += 1;
    }
    agents
}

/// The agent that nobody else of a roster hires, if there is just one.
pub fn entry_of(roster: &Roster) -> Option<AgentName> {
    let hired = |name: &AgentName| {
        roster.agents().filter(|other| other.name != *name).any(|other| match &other.delegation {
            Some(Delegation { team: FileTeam::Named(team), .. }) => team.iter().any(|listed| listed.name == *name),
            Some(Delegation { team: FileTeam::Any, .. }) => true,
            None => false,
        })
    };
    let mut free = roster.agents().filter(|agent| !hired(&agent.name));
    match (free.next(), free.next()) {
        (Some(only), None) => Some(only.name.clone()),
        (_, _) => None,
    }
}
