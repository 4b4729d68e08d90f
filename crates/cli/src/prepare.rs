//! What `run` and `chat` have in common: who works, with which model and how much money, settled before anything is begun.

use std::collections::BTreeSet;
use std::path::Path as FilePath;
use std::time::Duration;

use guildhall::agent::roster::{Level, Map, Problem, Severity};
use guildhall::kernel::{AgentName, Millis, Msat};
use guildhall::local::{SessionId, UnixMs};
use guildhall::providers::Rate;
use guildhall::{Agent, Hall, Paid, REHEARSAL_LABEL, Tasks, Undertaking};

use crate::agent_file;
use crate::amount::{BUDGET, at_rate, both};
use crate::args::WorkArgs;
use crate::commands::run::{before, here, project};
use crate::consent::{self, Consent};
use crate::exit::Failure;
use crate::live::note;
use crate::local_server;
use crate::print::{WARN, say_in, tame};
use crate::task_file;
use crate::team::{self, Found};
use crate::world::{REHEARSAL, World};

/// A time that leaves little for anything but the last report.
const SHORT: Duration = Duration::from_mins(2);

/// The most of a map that is shown before work begins.
const MAP_CHARS_MAX: usize = 600;

/// How many problems of agent files are told before work begins.
const PROBLEMS_MAX: usize = 8;

/// Work that lacks nothing but a task.
pub(crate) struct Prepared {
    pub(crate) hall: Hall,
    args: WorkArgs,
    entry: EntryAgent,
    budget: Option<Msat>,
}

/// Says how little of a short time is left to work in.
fn warn_of_short_time(time: Duration) {
    let margin = Millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).wrap_up_margin();
    let margin = Duration::from_millis(margin.0);
    let left = time.saturating_sub(margin);
    say_in(WARN, &format!("the last {margin:.1?} are for the final report: {left:.1?} are left to work in"));
}

impl Prepared {
    /// Finds everybody and everything, says what it may cost, and makes sure that the user agrees.
    pub(crate) async fn new(world: &World, mut args: WorkArgs, list: Option<&FilePath>) -> Result<Prepared, Failure> {
        if let Some(id) = &args.after {
            // Whatever else could be said of it: as long as somebody runs it, nothing can be begun in it.
            world.hall(here()?)?.journal().at_rest(id, UnixMs::now()).await?;
        }
        let about = match (&args.project, &args.team) {
            (None, Some(team)) => team::project_of(team, &here()?),
            (_, _) => None,
        };
        let about = match (&args.after, &args.project) {
            (Some(id), None) => Some(before(world, id).await?.project),
            (_, _) => about,
        };
        let project = about.map_or_else(|| project(args.project.as_deref()), Ok)?;
        let rate = world.models.rate().clone();
        let found = team::find(world, &project, args.team.as_deref())?;
        let kept = args.after.is_some() && args.agent.is_none() && args.team.is_none();
        let entry = match list {
            Some(list) => EntryAgent::Tasks(task_file::read(list, &found, args.agent.as_deref(), &rate)?),
            None if kept => EntryAgent::Kept,
            None => entry(&args, &found, rate.usd_per_btc)?,
        };
        let had = match (&args.after, &entry) {
            (Some(id), EntryAgent::Kept) => Some(before(world, id).await?.model),
            (_, _) => None,
        };
        let (world, model) = with_model(world, args.model.take(), had, args.consent()).await?;
        args.model = model;
        let maps = maps(&found, &entry);
        let hall = world.hall_with(project, found.roster, args.max_concurrency).build()?;
        let budget = match (args.budget, &args.after) {
            (Some(budget), _) => Some(budget.msat(&rate)),
            (None, None) => Some(BUDGET.msat(&rate)),
            (None, Some(_)) => None,
        };
        let most = match (budget, &args.after) {
            (Some(budget), _) => budget,
            (None, Some(id)) => left(&hall, id).await?,
            (None, None) => BUDGET.msat(&rate),
        };
        let most = both(most, &rate);
        let prepared = Prepared { hall, args, entry, budget };
        let staffing = prepared.undertaking(String::new()).staffing().await?;
        let models = staffing.models();
        let named = models.iter().copied().collect::<Vec<_>>().join(", ");
        note(&format!("{named}, at most {most}, {}", at_rate(&rate)));
        if models.contains(REHEARSAL) {
            let why =
                if prepared.args.model.is_none() && world.is_bare() { ", since no other model is set up" } else { "" };
            note(&format!(
                "{REHEARSAL_LABEL}{why}; the money is play money, counted in bytes that are read and written"
            ));
        }
        if let Some(time) = prepared.args.timeout.filter(|time| *time < SHORT) {
            warn_of_short_time(time);
        }
        for map in &maps {
            note(map);
        }
        let mut paid = Paid::Nobody;
        for model in &models {
            let name = prepared.hall.models().find(Some(model)).map_err(guildhall::HallError::from)?;
            if prepared.hall.models().paid(&name) == Paid::Provider {
                paid = Paid::Provider;
            }
        }
        consent::to_pay(&world.paths.data, paid, prepared.args.consent(), &most, &named)?;
        Ok(prepared)
    }

    /// Describes the work on a task.
    pub(crate) fn undertaking(&self, task: String) -> Undertaking {
        let Prepared { hall, args, .. } = self;
        let work = match &self.entry {
            EntryAgent::Tasks(tasks) => hall.run_tasks(tasks.clone()),
            EntryAgent::Listed(_) | EntryAgent::Given(_) | EntryAgent::Kept => hall.run(task),
        };
        let mut work = work.heads_max(args.max_hires).depth_max(args.max_depth);
        if let Some(model) = &args.model {
            work = work.model(model);
        }
        if let Some(budget) = self.budget {
            work = work.budget(budget);
        }
        if let Some(turns) = args.max_turns {
            work = work.turns_max(turns);
        }
        if let Some(time) = args.timeout {
            work = work.time_max(time);
        }
        if let Some(tokens) = args.max_tokens_total {
            work = work.tokens_max(tokens);
        }
        if args.allow_overrun {
            work = work.allow_overrun();
        }
        if let Some(id) = args.after.clone() {
            work = work.after(id);
        }
        match &self.entry {
            EntryAgent::Listed(agent) => work.entry(agent.name.clone()),
            EntryAgent::Given(agent) => work.agent(agent.clone()),
            EntryAgent::Kept | EntryAgent::Tasks(_) => work,
        }
    }
}

/// What is left of a session. That is known once nothing is on its way back to it any more.
async fn left(hall: &Hall, id: &SessionId) -> Result<Msat, Failure> {
    hall.settle(id).await?;
    Ok(hall.session(id).await?.free)
}

/// Finds the model: the one that was typed, or that the session had, or that the config names; else that of a server on this
/// machine, for somebody who has set nothing up. Returns the world that has it, and what counts as typed.
async fn with_model(
    world: &World,
    typed: Option<String>,
    had: Option<String>,
    said: Consent,
) -> Result<(World, Option<String>), Failure> {
    let named = typed.as_deref().or(had.as_deref()).or(world.named.as_deref());
    if let Some(named) = named {
        return Ok((local_server::learn(world, named).await, typed));
    }
    let found = if world.is_bare() { local_server::find(world, said).await? } else { None };
    Ok(found.map_or_else(|| (world.clone(), None), |(world, model)| (world, Some(model))))
}

/// Draws who can come to work under each of those who take the work on, and says what is wrong with their files.
fn maps(found: &Found, entry: &EntryAgent) -> Vec<String> {
    let first: BTreeSet<&AgentName> = match entry {
        EntryAgent::Listed(agent) => BTreeSet::from([&agent.name]),
        EntryAgent::Tasks(tasks) => tasks.specs().iter().map(|task| &task.agent).collect(),
        EntryAgent::Given(_) | EntryAgent::Kept => BTreeSet::new(),
    };
    let maps: Vec<Map<'_>> = first.into_iter().filter_map(|agent| found.roster.map(agent)).collect();
    warn(found, &maps);
    maps.iter().filter_map(drawn).collect()
}

/// Says what is wrong with the files of those who can come to work, and with files that were not taken.
fn warn(found: &Found, maps: &[Map<'_>]) {
    let at_work: BTreeSet<&FilePath> =
        maps.iter().flat_map(|map| map.levels.iter().flatten()).map(|spot| spot.agent.place.file.as_path()).collect();
    let matters =
        |problem: &&Problem| problem.severity == Severity::Error || at_work.contains(problem.place.file.as_path());
    let mut problems: Vec<&Problem> = Vec::new();
    for problem in found.roster.problems().iter().chain(maps.iter().flat_map(|map| &map.problems)).filter(matters) {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    for problem in problems.iter().take(PROBLEMS_MAX) {
        say_in(WARN, &tame(&problem.to_string(), 400));
    }
    if problems.len() > PROBLEMS_MAX {
        note(&format!("{} more: guildhall map lists them", problems.len() - PROBLEMS_MAX));
    }
}

/// Who can come to work, level by level; nothing of somebody who works alone.
fn drawn(map: &Map<'_>) -> Option<String> {
    let count: usize = map.levels.iter().map(Vec::len).sum();
    let names = |level: &Level<'_>| level.iter().map(|spot| spot.agent.name.as_str()).collect::<Vec<_>>().join(", ");
    let levels: Vec<String> = map.levels.iter().map(names).collect();
    let map = format!("{count} agents across {} levels: {}", levels.len(), levels.join(" | "));
    (count > 1).then(|| tame(&map, MAP_CHARS_MAX))
}

/// Who takes the work on.
enum EntryAgent {
    /// Somebody on the roster.
    Listed(Agent),
    /// Somebody out of a file of its own.
    Given(Agent),
    /// Whoever had it before.
    Kept,
    /// Those whom a list of tasks names.
    Tasks(Tasks),
}

/// Finds out who takes the work on. What looks like a file is one.
fn entry(args: &WorkArgs, found: &Found, rate: Rate) -> Result<EntryAgent, Failure> {
    let named = args.agent.as_deref();
    if let Some(file) = named.filter(|named| named.contains(['/', '.'])) {
        return Ok(EntryAgent::Given(agent_file::read(FilePath::new(file), rate)?));
    }
    let name = found.entry(named)?;
    let file = found.roster.get(&name).ok_or_else(|| Failure::usage(format!("there is no agent {name}")))?;
    Ok(EntryAgent::Listed(Agent::of_file(file, rate)))
}
