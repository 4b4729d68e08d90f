//! The agents of the scripts about hiring: a boss and its team.

use std::sync::Arc;

use guildhall_agent::roster::{DelegationMode, Dialect};
use guildhall_agent::{Listing, Team, Worker};
use guildhall_kernel::{AgentName, Hiring, Msat, Powers, Standing, TextKind};

use super::script::{agent, redactor, tariff};
use crate::scenario::sat;

/// The agents: name, description and specialty.
const AGENTS: [(&str, &str, &str); 4] = [
    ("boss", "Finds out what things are made of.", "boss"),
    ("near-looker", "Looks at the near side of the moon.", "near side"),
    ("far-looker", "Looks at the far side.", "far_side"),
    ("cook", "Prepares meals.", "cheese"),
];

/// The boss's team: all other agents.
pub(crate) fn team(dialect: Dialect, mode: DelegationMode) -> Team {
    team_of("boss", &["near-looker", "far-looker", "cook"], dialect, mode)
}

/// The same team with two checks: reports must cite receipts, and the numbers must add up to at most ten.
pub(crate) fn strict() -> Team {
    let checks = [r#"{"sum":{"of":"stones","max":"10"}}"#, "\"receipts\""];
    let checks = checks.iter().map(|check| (redactor().text(TextKind::Term, check), Msat::ZERO)).collect();
    Team { checks, ..team(Dialect::DelegateTask, DelegationMode::Offered) }
}

/// The team of an agent.
pub(crate) fn team_of(own: &str, names: &[&str], dialect: Dialect, mode: DelegationMode) -> Team {
    let workers = names.iter().map(|name| Arc::new(worker(name))).collect();
    let own = Arc::new(Worker { hiring: Some(hiring(names)), ..worker(own) });
    Team {
        models: Vec::new(),
        dialect,
        mode,
        checks_of: std::collections::BTreeMap::new(),
        listing: Listing::Open,
        workers,
        ad_hoc: None,
        own,
        standing: Standing::Listed,
        checks: Vec::new(),
    }
}

/// A team with a cycle: the boss has itself on its team, and the looker has the boss on its team.
pub(crate) fn circle() -> Team {
    let mut team = team_of("boss", &["boss", "near-looker"], Dialect::DelegateTask, DelegationMode::Offered);
    team.workers[1] = Arc::new(Worker { hiring: Some(hiring(&["boss"])), ..worker("near-looker") });
    team
}

/// The same team as the boss's, but the near-looker may hire the cook.
pub(crate) fn lead() -> Team {
    with_workers(team(Dialect::DelegateTask, DelegationMode::Offered), |worker| {
        if worker.name.as_str() == "near-looker" {
            worker.hiring = Some(hiring(&["cook"]));
        }
    })
}

/// Changes the agents of a team.
pub(crate) fn with_workers(team: Team, change: impl Fn(&mut Worker)) -> Team {
    let changed = |worker: &Arc<Worker>| {
        let mut worker = Worker::clone(worker);
        change(&mut worker);
        Arc::new(worker)
    };
    Team { workers: team.workers.iter().map(changed).collect(), ..team }
}

/// Returns the agents that a team's agent may hire, for its brief.
pub(crate) fn hiring_of(team: &Team) -> Hiring {
    let names = team.workers.iter().map(|worker| worker.name.clone()).collect();
    Hiring { team: names, ad_hoc: team.ad_hoc.is_some(), recursive: false }
}

fn hiring(names: &[&str]) -> Hiring {
    let team: Vec<AgentName> = names.iter().map(|name| agent(name)).collect();
    Hiring { team: team.into(), ad_hoc: false, recursive: false }
}

/// An agent that can't hire.
pub(crate) fn worker(name: &str) -> Worker {
    let (_, description, specialty) =
        AGENTS.into_iter().find(|(known, ..)| *known == name).expect("a name from the list of agents");
    Worker {
        model_slot: 0,
        name: agent(name),
        description: description.to_owned(),
        specialties: vec![specialty.to_owned()],
        budget_default: None,
        budget_max: Some(sat(200)),
        fee: Msat::ZERO,
        payee: None,
        severance: sat(20),
        tariff: tariff(),
        turns_max: 5,
        opening_bytes: 400,
        opening: None,
        powers: Powers::default(),
        hiring: None,
        adds: vec![redactor().text(TextKind::Term, &format!("{name} wants it short."))],
        background: false,
    }
}
