//! The map of a roster from one agent: which agents can be hired below it, at which level, and with which problems.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use guildhall_kernel::AgentName;

use super::delegation::Team;
use super::file::AgentFile;
use super::problem::{Flaw, Problem};
use super::{Listed, Roster};
use crate::text::shortened;
use crate::wording::count;

/// The longest part of a description that is shown, in characters.
const DESCRIPTION_CHARS_MAX: usize = 72;

/// The agents that one agent, its hires and their hires can hire.
#[derive(Clone, Debug, PartialEq)]
pub struct Map<'a> {
    /// The agents by their shortest distance from the first agent, which is the first level.
    pub levels: Vec<Level<'a>>,
    /// The agents of the roster that none of these agents can hire.
    pub apart: Vec<&'a AgentFile>,
    /// The problems of the roster and its hiring lists.
    pub problems: Vec<Problem>,
}

/// The agents at one distance.
pub type Level<'a> = Vec<MapEntry<'a>>;

/// An agent on the map.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct MapEntry<'a> {
    pub agent: &'a AgentFile,
    /// The first agent of the level above that can hire it.
    pub hirer: Option<&'a AgentName>,
}

impl Roster {
    /// Returns the map from an agent on; `None` if the agent is not on the roster.
    pub fn map(&self, entry: &AgentName) -> Option<Map<'_>> {
        let entry = self.get(entry)?;
        let mut seen = BTreeSet::from([&entry.name]);
        let mut levels = vec![vec![MapEntry { agent: entry, hirer: None }]];
        loop {
            let above = levels.last().map(Vec::as_slice).unwrap_or_default();
            let hires = above.iter().flat_map(|entry| self.hires(entry.agent).map(|agent| (entry.agent, agent)));
            let level: Level<'_> = hires
                .filter(|(_, agent)| seen.insert(&agent.name))
                .map(|(hirer, agent)| MapEntry { agent, hirer: Some(&hirer.name) })
                .collect();
            if level.is_empty() {
                break;
            }
            levels.push(level);
        }
        let apart = self.agents().filter(|agent| !seen.contains(&agent.name)).collect();
        let problems = self.problems().iter().cloned().chain(self.unknown()).chain(self.cycles()).collect();
        Some(Map { levels, apart, problems })
    }

    /// Returns the agents that an agent may hire, in the order of its list.
    fn hires<'a>(&'a self, hirer: &'a AgentFile) -> impl Iterator<Item = &'a AgentFile> {
        let hires_any = hirer.delegation.as_ref().is_some_and(|delegation| delegation.team == Team::Any);
        let any = hires_any.then(|| self.agents()).into_iter().flatten();
        any.chain(named(hirer).iter().filter_map(|listed| self.get(&listed.name)))
    }

    /// Finds the names on hiring lists that no agent has.
    fn unknown(&self) -> impl Iterator<Item = Problem> {
        let lists = self.agents().flat_map(|hirer| named(hirer).iter().map(move |listed| (hirer, listed)));
        lists.filter(|(_, listed)| self.get(&listed.name).is_none()).map(|(hirer, listed)| {
            let message = format!("{} may hire {}, but there is no agent of that name", hirer.name, listed.name);
            Flaw::warning(listed.line, message).within(&hirer.place.file)
        })
    }

    /// Finds the cycles among hiring lists, each once. Agents that may hire every agent are left out: the runtime refuses their
    /// cycles when they happen. A cycle of agents that are all `recursive` is not a problem.
    pub fn cycles(&self) -> Vec<Problem> {
        let mut walk = Walk { roster: self, path: Vec::new(), done: BTreeSet::new(), found: BTreeMap::new() };
        for agent in self.agents() {
            walk.visit(agent);
        }
        walk.found.into_values().collect()
    }
}

fn named(hirer: &AgentFile) -> &[Listed] {
    match hirer.delegation.as_ref().map(|delegation| &delegation.team) {
        Some(Team::Named(names)) => names,
        Some(Team::Any) | None => &[],
    }
}

struct Walk<'a> {
    roster: &'a Roster,
    path: Vec<&'a AgentFile>,
    done: BTreeSet<&'a AgentName>,
    /// The problems, by the names in the cycle.
    found: BTreeMap<Vec<&'a AgentName>, Problem>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, agent: &'a AgentFile) {
        if !self.done.insert(&agent.name) {
            return;
        }
        self.path.push(agent);
        for listed in named(agent) {
            let first = self.path.iter().position(|before| before.name == listed.name);
            match (first, self.roster.get(&listed.name)) {
                (Some(first), _) => self.note(first, listed.line),
                (None, Some(next)) => self.visit(next),
                (None, None) => {}
            }
        }
        self.path.pop();
    }

    /// Records the cycle from `first` to the end of the path and back.
    fn note(&mut self, first: usize, line: u32) {
        let cycle = &self.path[first..];
        let on_purpose = |agent: &&AgentFile| agent.delegation.as_ref().is_some_and(|how| how.recursive);
        let Some(last) = cycle.last().filter(|_| !cycle.iter().all(on_purpose)) else { return };
        let names: Vec<&AgentName> = cycle.iter().map(|agent| &agent.name).collect();
        let drawn = names.iter().chain(names.first()).map(ToString::to_string).collect::<Vec<_>>().join(" -> ");
        let flaw = Flaw::warning(line, format!("a hiring cycle, which is refused when the agents work: {drawn}"));
        self.found.insert(names, flaw.within(&last.place.file));
    }
}

impl fmt::Display for Map<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agents = self.levels.iter().map(Vec::len).sum::<usize>();
        writeln!(f, "{} across {}", count(agents, "agent"), count(self.levels.len(), "level"))?;
        self.draw(f, None, 0)?;
        let (built_in, apart): (Vec<_>, Vec<_>) = self.apart.iter().partition(|agent| agent.is_built_in());
        if !self.apart.is_empty() {
            writeln!(f, "\nnot hired by any of these agents:")?;
        }
        for agent in apart {
            writeln!(f, "  {}", line(agent, &specialists(agent)))?;
        }
        if !built_in.is_empty() {
            let names: Vec<&str> = built_in.iter().map(|agent| agent.name.as_str()).collect();
            writeln!(f, "  {} that come with the program: {}", count(names.len(), "agent"), names.join(", "))?;
        }
        if !self.problems.is_empty() {
            writeln!(f, "\nproblems:")?;
        }
        for problem in &self.problems {
            writeln!(f, "  {problem}")?;
        }
        Ok(())
    }
}

impl Map<'_> {
    /// Returns whom an agent may hire besides the agents that are drawn below it: agents that are drawn elsewhere, and specialists.
    /// An agent above it can't be hired, unless it hires recursively.
    fn also(&self, entry: &MapEntry<'_>, depth: usize) -> Vec<String> {
        let how = entry.agent.delegation.as_ref();
        let above = self.above(entry, depth);
        let below = |name: &AgentName| {
            let level = self.levels.get(depth + 1).into_iter().flatten();
            level.into_iter().any(|other| other.agent.name == *name && other.hirer == Some(&entry.agent.name))
        };
        let recursive = how.is_some_and(|how| how.recursive);
        let elsewhere = |name: &&AgentName| {
            let is_known = self.levels.iter().flatten().any(|other| other.agent.name == **name);
            is_known && !below(name) && (recursive || !above.contains(name))
        };
        let named: Vec<String> = match how.map(|how| &how.team) {
            Some(Team::Any) if depth > 0 => vec!["every other agent".to_owned()],
            Some(Team::Any) | None => Vec::new(),
            Some(Team::Named(names)) => {
                names.iter().map(|listed| &listed.name).filter(elsewhere).map(ToString::to_string).collect()
            }
        };
        named.into_iter().chain(specialists(entry.agent)).collect()
    }

    /// Returns an agent and those above it on the map.
    fn above<'a>(&'a self, entry: &MapEntry<'a>, depth: usize) -> Vec<&'a AgentName> {
        let mut names = vec![&entry.agent.name];
        let mut hirer = entry.hirer;
        for level in self.levels.iter().take(depth).rev() {
            let Some(above) = level.iter().find(|above| Some(&above.agent.name) == hirer) else { break };
            names.push(&above.agent.name);
            hirer = above.hirer;
        }
        names
    }

    /// Draws the agents of one level that an agent of the level above can hire, and below each the agents that it can hire.
    fn draw(&self, f: &mut fmt::Formatter<'_>, hirer: Option<&AgentName>, depth: usize) -> fmt::Result {
        let level = self.levels.get(depth).map(Vec::as_slice).unwrap_or_default();
        for entry in level.iter().filter(|entry| entry.hirer == hirer) {
            writeln!(f, "{:indent$}{}", "", line(entry.agent, &self.also(entry, depth)), indent = 2 * depth)?;
            self.draw(f, Some(&entry.agent.name), depth + 1)?;
        }
        Ok(())
    }
}

/// The specialists that an agent may hire, if it may hire any.
fn specialists(agent: &AgentFile) -> Vec<String> {
    let hires = agent.delegation.as_ref().is_some_and(|how| how.ad_hoc);
    hires.then(|| "specialists".to_owned()).into_iter().collect()
}

/// An agent on one line: its name, whom it may hire besides the agents below it, and as much of its description as fits.
fn line(agent: &AgentFile, also: &[String]) -> String {
    let hires = if also.is_empty() { String::new() } else { format!(" (+ {})", also.join(", ")) };
    let first = agent.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let cut = shortened(first, DESCRIPTION_CHARS_MAX);
    format!("{}{hires}{}{cut}", agent.name, if cut.is_empty() { "" } else { ": " })
}
