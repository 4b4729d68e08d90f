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

/// How many of the agents that are drawn elsewhere are named beside their hirer.
const ALSO_NAMES_MAX: usize = 12;

/// How many hiring cycles are described. A team whose agents all list each other has a cycle for each pair of them.
const CYCLES_MAX: usize = 20;

/// How many agents of a long cycle are named at its start, and how many at its end.
const CYCLE_NAMES_MAX: usize = 6;

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

    /// Finds the cycles among hiring lists, each once; a last problem counts those beyond the first 20. Each entry of a list is
    /// followed once, whatever the number of cycles. Agents that may hire every agent are left out: the runtime refuses their
    /// cycles when they happen. A cycle of agents that are all `recursive` is not a problem.
    pub fn cycles(&self) -> Vec<Problem> {
        let mut walk = Walk {
            roster: self,
            path: Vec::new(),
            places: BTreeMap::new(),
            done: BTreeSet::new(),
            found: Vec::new(),
            more: None,
        };
        for agent in self.agents() {
            walk.visit(agent);
        }
        walk.problems()
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
    path: Vec<Step<'a>>,
    /// Where on the path each of its agents is.
    places: BTreeMap<&'a AgentName, usize>,
    done: BTreeSet<&'a AgentName>,
    /// The first problems.
    found: Vec<Problem>,
    /// The first cycle that is not described, and the number of those cycles.
    more: Option<(&'a AgentFile, u32, usize)>,
}

/// An agent on the path of a walk.
struct Step<'a> {
    agent: &'a AgentFile,
    /// How many agents up to here, this one included, are not recursive.
    not_recursive: usize,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, agent: &'a AgentFile) {
        if !self.done.insert(&agent.name) {
            return;
        }
        let is_recursive = agent.delegation.as_ref().is_some_and(|how| how.recursive);
        let before = self.path.last().map_or(0, |step| step.not_recursive);
        self.places.insert(&agent.name, self.path.len());
        self.path.push(Step { agent, not_recursive: before + usize::from(!is_recursive) });
        for listed in named(agent) {
            match (self.places.get(&listed.name), self.roster.get(&listed.name)) {
                (Some(first), _) => self.note(*first, agent, listed.line),
                (None, Some(next)) => self.visit(next),
                (None, None) => {}
            }
        }
        self.path.pop();
        self.places.remove(&agent.name);
    }

    /// Records the cycle from `first` to the last agent of the path and back, unless all of its agents are recursive.
    fn note(&mut self, first: usize, last: &'a AgentFile, line: u32) {
        let before = first.checked_sub(1).map_or(0, |before| self.path[before].not_recursive);
        if self.path.last().is_none_or(|step| step.not_recursive == before) {
            return;
        }
        if self.found.len() == CYCLES_MAX {
            self.more.get_or_insert((last, line, 0)).2 += 1;
            return;
        }
        let names: Vec<&str> = self.path[first..].iter().map(|step| step.agent.name.as_str()).collect();
        let cycle = match names.len().saturating_sub(2 * CYCLE_NAMES_MAX) {
            0 => names.join(" -> "),
            left_out => {
                let (start, end) = (&names[..CYCLE_NAMES_MAX], &names[names.len() - CYCLE_NAMES_MAX..]);
                format!("{} -> ({left_out} more) -> {}", start.join(" -> "), end.join(" -> "))
            }
        };
        let message = format!("a hiring cycle, which is refused when the agents work: {cycle} -> {}", names[0]);
        self.found.push(Flaw::warning(line, message).within(&last.place.file));
    }

    fn problems(self) -> Vec<Problem> {
        let more = self.more.map(|(agent, line, number)| {
            Flaw::warning(line, format!("{}, which are refused, too", count(number, "more hiring cycle")))
                .within(&agent.place.file)
        });
        self.found.into_iter().chain(more).collect()
    }
}

impl fmt::Display for Map<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agents = self.levels.iter().map(Vec::len).sum::<usize>();
        writeln!(f, "{} across {}", count(agents, "agent"), count(self.levels.len(), "level"))?;
        let mut on_map: OnMap<'_> = BTreeMap::new();
        for entry in self.levels.iter().flatten() {
            on_map.insert(&entry.agent.name, entry);
        }
        self.draw(f, &on_map, None, 0)?;
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

/// The entries of a map by name. An agent is on the map once.
type OnMap<'a> = BTreeMap<&'a AgentName, &'a MapEntry<'a>>;

impl Map<'_> {
    /// Returns whom an agent may hire besides the agents that are drawn below it: agents that are drawn elsewhere, and specialists.
    /// An agent above it can't be hired, unless it hires recursively.
    fn also(entry: &MapEntry<'_>, on_map: &OnMap<'_>) -> Vec<String> {
        let how = entry.agent.delegation.as_ref();
        let recursive = how.is_some_and(|how| how.recursive);
        let above = above(entry, on_map);
        let elsewhere = |name: &&AgentName| {
            let other = on_map.get(*name);
            let is_below = other.is_some_and(|other| other.hirer == Some(&entry.agent.name));
            other.is_some() && !is_below && (recursive || !above.contains(name))
        };
        let named: Vec<String> = match how.map(|how| &how.team) {
            Some(Team::Any) if entry.hirer.is_some() && recursive => vec!["every other agent".to_owned()],
            Some(Team::Any) if entry.hirer.is_some() => vec!["every agent that is not above it".to_owned()],
            Some(Team::Any) | None => Vec::new(),
            Some(Team::Named(names)) => shortened_list(names.iter().map(|listed| &listed.name).filter(elsewhere)),
        };
        named.into_iter().chain(specialists(entry.agent)).collect()
    }

    /// Draws the agents of one level that an agent of the level above can hire, and below each the agents that it can hire.
    fn draw(
        &self,
        f: &mut fmt::Formatter<'_>,
        on_map: &OnMap<'_>,
        hirer: Option<&AgentName>,
        depth: usize,
    ) -> fmt::Result {
        let level = self.levels.get(depth).map(Vec::as_slice).unwrap_or_default();
        for entry in level.iter().filter(|entry| entry.hirer == hirer) {
            writeln!(f, "{:indent$}{}", "", line(entry.agent, &Map::also(entry, on_map)), indent = 2 * depth)?;
            self.draw(f, on_map, Some(&entry.agent.name), depth + 1)?;
        }
        Ok(())
    }
}

/// Returns an agent and those above it on the map.
fn above<'a>(entry: &'a MapEntry<'a>, on_map: &OnMap<'a>) -> BTreeSet<&'a AgentName> {
    let hirers = std::iter::successors(Some(entry), |below| on_map.get(below.hirer?).copied());
    hirers.map(|entry| &entry.agent.name).collect()
}

/// The first names of a list, and how many more there are.
fn shortened_list<'a>(names: impl Iterator<Item = &'a AgentName>) -> Vec<String> {
    let mut names: Vec<String> = names.map(ToString::to_string).collect();
    let more = names.len().saturating_sub(ALSO_NAMES_MAX);
    names.truncate(ALSO_NAMES_MAX);
    names.extend((more > 0).then(|| format!("{more} more")));
    names
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
