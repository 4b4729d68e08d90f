//! Agent files as people write them, and the agents that are read from them.

mod accept;
mod bad;
mod built_in;
mod chance;
mod examples;
mod front;
mod load;
mod map;

use std::path::Path;

use guildhall_agent::roster::{AgentFile, Budget, Delegation, Problem, ReadAgent, Team};

/// Reads a file called `x.md` with this front matter.
fn read(front: &str) -> ReadAgent {
    AgentFile::read(Path::new("x.md"), format!("---\n{front}\n---\nDo it.\n").as_bytes())
}

fn messages(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// Describes the result of reading a file: the agent, then the problems.
fn drawn(ReadAgent { agent, problems }: &ReadAgent) -> String {
    let mut lines: Vec<String> = agent.iter().flat_map(described).collect();
    lines.extend(messages(problems));
    lines.join("\n")
}

fn described(agent: &AgentFile) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", agent.name, agent.description.replace('\n', "⏎"))];
    if let Some(tools) = &agent.tools {
        lines.push(format!("tools {tools:?}"));
    }
    if !agent.disallowed.is_empty() {
        lines.push(format!("not {:?}", agent.disallowed));
    }
    lines.extend(agent.model.as_ref().map(|model| format!("model {model}")));
    lines.extend(agent.turns_max.map(|turns| format!("turns {turns}")));
    lines.extend(agent.background.then(|| "background".to_owned()));
    if !agent.specialties.is_empty() {
        lines.push(format!("specialties {:?}", agent.specialties));
    }
    lines.extend(agent.delegation.as_ref().map(hires));
    lines.extend(budget(&agent.budget));
    lines
}

fn hires(delegation: &Delegation) -> String {
    let Delegation { team, mode, dialect, recursive, ad_hoc, terms, accept, accept_of } = delegation;
    let team = match team {
        Team::Any => "anybody".to_owned(),
        Team::Named(names) => {
            names.iter().map(|listed| format!("{}@{}", listed.name, listed.line)).collect::<Vec<_>>().join(" ")
        }
    };
    let recursive = if *recursive { " recursive" } else { "" };
    let ad_hoc = if *ad_hoc { " ad hoc" } else { "" };
    let terms = if terms.is_empty() { String::new() } else { format!(" {terms:?}") };
    let accept = if accept.is_empty() { String::new() } else { format!(" {accept:?}") };
    let of = if accept_of.is_empty() { String::new() } else { format!(" of {accept_of:?}") };
    format!("hires [{team}] {mode:?} {dialect:?}{recursive}{ad_hoc}{terms}{accept}{of}")
}

fn budget(Budget { default, max, severance, fee }: &Budget) -> Vec<String> {
    let parts = [("default", default), ("max", max), ("severance", severance), ("fee", fee)];
    parts.iter().filter_map(|(name, amount)| amount.map(|amount| format!("{name} {amount}"))).collect()
}
