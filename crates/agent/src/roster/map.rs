//! The map of a roster from one agent: who can come to be hired, how far down, and what is wrong with that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use guildhall_kernel::AgentName;

use super::delegation::Team;
use super::file::AgentFile;
use super::problem::{Flaw, Problem};
use super::{Listed, Roster};
use crate::text::shortened;
use crate::wording::count;

/// The longest line of a description that is drawn, in characters.
const DESCRIPTION_CHARS_MAX: usize = 72;

/// Who can come to be hired from one agent on.
#[derive(Clone, Debug, PartialEq)]
pub struct Map<'a> {
    /// The agents by their shortest distance; the first level is the agent itself.
    pub levels: Vec<Level<'a>>,
    /// Agents of the roster that nobody here can hire.
    pub apart: Vec<&'a AgentFile>,
    /// What is wrong with the roster and its hiring lists.
    pub problems: Vec<Problem>,
}

/// The agents at one distance.
pub type Level<'a> = Vec<MapEntry<'a>>;

/// An agent on the map.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct MapEntry<'a> {
    pub agent: &'a AgentFile,
    /// The first who can hire it from one level above.
    pub hirer: Option<&'a AgentName>,
}

impl Roster {
    /// Returns the map from an agent on; `None` if there is no such agent.
    pub fn map(&self, entry: &AgentName) -> Option<Map<'_>> {
        let entry = self.get(entry)?;
        let mut seen = BTreeSet::from([&entry.name]);
        let mut levels = vec![vec![MapEntry { agent: entry, hirer: None }]];
        loop {
            let above = levels.last().map(Vec::as_slice).unwrap_or_default();
            let hires = above.iter().flat_map(|spot| self.hires(spot.agent).map(|agent| (spot.agent, agent)));
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

    /// The agents that an agent may hire, in the order of its list.
    fn hires<'a>(&'a self, hirer: &'a AgentFile) -> Box<dyn Iterator<Item = &'a AgentFile> + 'a> {
        match hirer.delegation.as_ref().map(|delegation| &delegation.team) {
            None => Box::new(std::iter::empty()),
            Some(Team::Any) => Box::new(self.agents()),
            Some(Team::Named(names)) => Box::new(names.iter().filter_map(|listed| self.get(&listed.name))),
        }
    }

    /// The names on hiring lists that nobody has.
    fn unknown(&self) -> impl Iterator<Item = Problem> {
        let lists = self.agents().flat_map(|hirer| named(hirer).iter().map(move |listed| (hirer, listed)));
        lists.filter(|(_, listed)| self.get(&listed.name).is_none()).map(|(hirer, listed)| {
            let message = format!("{} may hire {}, but there is no such agent", hirer.name, listed.name);
            Flaw::warning(listed.line, message).within(&hirer.place.file)
        })
    }

    /// The cycles among hiring lists, each once. Those of agents who may hire anybody are left to the runtime, which
    /// refuses them one by one; and who is recursive on purpose is no problem.
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
    /// By the names in the cycle.
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

    /// Notes the cycle that leads from the end of the path to its `first`.
    fn note(&mut self, first: usize, line: u32) {
        let cycle = &self.path[first..];
        let on_purpose = |agent: &&AgentFile| agent.delegation.as_ref().is_some_and(|how| how.recursive);
        let Some(last) = cycle.last().filter(|_| !cycle.iter().all(on_purpose)) else { return };
        let names: Vec<&AgentName> = cycle.iter().map(|agent| &agent.name).collect();
        let drawn = names.iter().chain(names.first()).map(ToString::to_string).collect::<Vec<_>>().join(" -> ");
        let flaw = Flaw::warning(line, format!("a hiring cycle, which is refused at work: {drawn}"));
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
            writeln!(f, "\nnobody here can hire:")?;
        }
        for agent in apart {
            writeln!(f, "  {}", line(agent))?;
        }
        if !built_in.is_empty() {
            let names: Vec<&str> = built_in.iter().map(|agent| agent.name.as_str()).collect();
            writeln!(f, "  {} that came with the program: {}", count(names.len(), "agent"), names.join(", "))?;
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
    /// Draws the agents of one level that an agent of the level above can hire, and below each the agents that it can hire.
    fn draw(&self, f: &mut fmt::Formatter<'_>, hirer: Option<&AgentName>, depth: usize) -> fmt::Result {
        let level = self.levels.get(depth).map(Vec::as_slice).unwrap_or_default();
        for spot in level.iter().filter(|spot| spot.hirer == hirer) {
            writeln!(f, "{:indent$}{}", "", line(spot.agent), indent = 2 * depth)?;
            self.draw(f, Some(&spot.agent.name), depth + 1)?;
        }
        Ok(())
    }
}

/// An agent on one line: its name, and as much of its description as fits.
fn line(agent: &AgentFile) -> String {
    let hires = if agent.delegation.as_ref().is_some_and(|how| how.ad_hoc) { " (+ specialists)" } else { "" };
    let first = agent.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let cut = shortened(first, DESCRIPTION_CHARS_MAX);
    format!("{}{hires}{}{cut}", agent.name, if cut.is_empty() { "" } else { ": " })
}
