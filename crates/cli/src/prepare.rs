//! The preparation that `run` and `chat` share: agents, model and money, all decided before anything starts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as FilePath, PathBuf};
use std::time::{Duration, SystemTime};

use guildhall::agent::roster::{Level, Location, Map, Problem, ProblemKind, Severity, Team};
use guildhall::kernel::{AgentName, Millis, Msat, Path, SessionKind};
use guildhall::local::{SessionId, unix_now};
use guildhall::providers::{Rate, Usd};
use guildhall::{Agent, DatedRate, Hall, Paid, REHEARSAL_LABEL, REHEARSAL_PRICE, Staffing, Tasks, Undertaking};

use crate::agent_file;
use crate::amount::{BUDGET, Money, as_paid, at_rate, paid_in_words, sats};
use crate::args::WorkArgs;
use crate::commands::run::{before, here, project};
use crate::consent::{self, Consent};
use crate::exit::Failure;
use crate::local_server;
use crate::print::{WARN, note, say_in, tame, warn};
use crate::quote;
use crate::session_ref::SessionRef;
use crate::switch::{Keeps, Switch};
use crate::task_file;
use crate::team::{self, Found, unsupported_line};
use crate::unknown_model;
use crate::world::{REHEARSAL, World};

/// Below this time, a warning says how much of it is for the last report.
const SHORT: Duration = Duration::from_mins(2);

/// The longest map that is shown before the work starts, in characters.
const MAP_CHARS_MAX: usize = 600;

/// The most problems of agent files that are shown before the work starts.
const PROBLEMS_MAX: usize = 8;

/// Work that is ready except for its task.
pub(crate) struct Prepared {
    pub(crate) hall: Hall,
    args: WorkArgs,
    /// The session to continue.
    after: Option<SessionId>,
    /// The session to work in.
    within: Option<SessionId>,
    entry: EntryAgent,
    budget: Option<Msat>,
    keeps: Keeps,
}

/// Prints how much of the time is kept for the final report.
fn warn_of_short_time(time: Duration) {
    let margin = Millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).wrap_up_margin();
    let margin = Duration::from_millis(margin.0);
    let left = time.saturating_sub(margin);
    warn(&format!("the last {margin:.1?} of the time are kept for the final report, so {left:.1?} are left for work"));
}

impl Prepared {
    /// Returns the session that the work continues or belongs to, if it exists already.
    pub(crate) fn session(&self) -> Option<&SessionId> {
        self.after.as_ref().or(self.within.as_ref())
    }

    /// Finds the agents and the model, prints the highest cost, and makes sure that the user agrees.
    pub(crate) async fn new(world: &World, mut args: WorkArgs, list: Option<&FilePath>) -> Result<Prepared, Failure> {
        let about = match (&args.project, &args.team) {
            (None, Some(team)) => team::project_of(team, &here()?),
            (_, _) => None,
        };
        let project = about.map_or_else(|| project(args.project.as_deref()), Ok)?;
        let after = match &args.after {
            Some(typed) => Some(at_rest(world, typed).await?),
            None if args.newest => Some(newest_of(world, &project).await?),
            None => None,
        };
        let within = match &args.session {
            Some(typed) => Some(at_rest(world, typed).await?),
            None => None,
        };
        let project = match (&after, &args.project) {
            (Some(id), None) => before(world, id).await?.project,
            (_, _) => project,
        };
        let rate = world.models.rate().clone();
        let found = team::find(world, &project, args.team.as_deref())?;
        let keeps_agents = after.is_some() && args.agent.is_none() && args.team.is_none();
        let entry = match list {
            Some(list) => EntryAgent::Tasks(task_file::read(list, &found, args.agent.as_deref(), &rate)?),
            None if keeps_agents => EntryAgent::Kept,
            None => entry(&args, &found, rate.usd_per_btc)?,
        };
        let had = match (&after, &entry) {
            (Some(id), EntryAgent::Kept) => Some(before(world, id).await?.model),
            (_, _) => None,
        };
        let maps = maps(&found, &entry)?;
        let paying = after.as_ref().or(within.as_ref());
        let own = match &entry {
            EntryAgent::Listed(agent) | EntryAgent::Given(agent) => agent.model.as_deref(),
            EntryAgent::Kept | EntryAgent::Tasks(_) => None,
        };
        let (world, model) = with_model(world, args.model.take(), had, own, (paying, args.consent())).await?;
        args.model = model;
        let files = files(&found);
        let hall = args.transcripts.apply(world.hall_with(project, found, args.max_concurrency)).build()?;
        let most = match (args.budget, &after, &within) {
            (Some(budget), _, _) => budget.msat(&rate),
            (None, Some(id), _) => left(&hall, id).await?,
            (None, None, Some(id)) => BUDGET.msat(&rate).min(left(&hall, id).await?),
            (None, None, None) => BUDGET.msat(&rate),
        };
        // The work gets the money that the person is asked about, also if more is paid in meanwhile.
        let budget = Some(most);
        let prepared = Prepared { hall, args, after, within, entry, budget, keeps: Keeps::Conversation };
        prepared.agree(&world, most, &maps, &files).await?;
        Ok(prepared)
    }

    /// Prints the models and the highest cost, and makes sure that the user agrees.
    async fn agree(&self, world: &World, most: Msat, maps: &[String], files: &Files) -> Result<(), Failure> {
        let staffing = self.undertaking(String::new()).staffing().await;
        let staffing = staffing.map_err(|why| unknown_model::failure(self.hall.models(), why))?;
        let models = staffing.models();
        world.need_keys(&models)?;
        if self.args.model.is_none() {
            warn_of_models(&self.hall, &staffing, files);
        }
        let mut paid = Paid::Nobody;
        for model in &models {
            let name = self.hall.models().find(Some(model)).map_err(guildhall::HallError::from)?;
            if self.hall.models().paid(&name) == Paid::Provider {
                paid = Paid::Provider;
            }
        }
        let (rate, money) = (self.hall.models().rate(), Money::of(&staffing));
        let most = &as_paid(most, rate, money);
        let named = models.iter().copied().collect::<Vec<_>>().join(", ");
        note(&format!("{named}, at most {most}, {}, {}", paid_in_words(&staffing), at_rate(rate)));
        if let Some(id) = self.after.as_ref().or(self.within.as_ref()).filter(|_| money == Money::Wallet) {
            note(&format!("session {id} pays with the money of the wallet"));
        }
        match money {
            Money::Wallet if models.contains(REHEARSAL) => {
                // Real money is charged, so this is printed also with `--quiet`.
                say_in(WARN, &format!("{REHEARSAL_LABEL}. {}", rehearsal_charge(rate)));
            }
            Money::Play if models.contains(REHEARSAL) => {
                note(&format!("{REHEARSAL_LABEL}; each byte read and written counts against the budget"));
            }
            Money::Wallet | Money::Play => {}
        }
        for line in quote::fees(&staffing) {
            note(&line);
        }
        if money == Money::Wallet {
            warn_of_payees(world);
        }
        if let Some(time) = self.args.timeout.filter(|time| *time < SHORT) {
            warn_of_short_time(time);
        }
        for map in maps {
            note(map);
        }
        consent::to_pay(&world.paths.data, paid, self.args.consent(), most, &named)
    }

    /// Changes the model, or drops the conversation that the work would continue.
    pub(crate) fn switch(&mut self, switch: Switch) {
        let Switch { model, keeps } = switch;
        self.args.model = model.or(self.args.model.take());
        match keeps {
            Keeps::Conversation => {}
            Keeps::Nothing => self.keeps = Keeps::Nothing,
        }
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
        if let Some(id) = self.after.clone() {
            work = work.after(id);
        }
        match self.keeps {
            Keeps::Conversation => {}
            Keeps::Nothing => work = work.forgetting(),
        }
        if let Some(id) = self.within.clone() {
            work = work.within(id);
        }
        match &self.entry {
            EntryAgent::Listed(agent) => work.entry(agent.name.clone()),
            EntryAgent::Given(agent) => work.agent(agent.clone()),
            EntryAgent::Kept | EntryAgent::Tasks(_) => work,
        }
    }
}

/// Finds the session to continue. No process may run it.
async fn at_rest(world: &World, typed: &SessionRef) -> Result<SessionId, Failure> {
    let hall = world.hall(here()?)?;
    let id = typed.find(&hall).await?;
    hall.journal().require_not_running(&id, unix_now()).await?;
    Ok(id)
}

/// Finds the newest session that has worked on a project. No process may run it.
async fn newest_of(world: &World, project: &FilePath) -> Result<SessionId, Failure> {
    let hall = world.hall(here()?)?;
    let rows = hall.journal().sessions().await?;
    // The newest comes first.
    let newest = rows.into_iter().find(|row| row.facts > 0 && FilePath::new(&row.project) == project);
    let id = newest.map(|row| row.id).ok_or_else(|| {
        Failure::usage(format!(
            "no session has worked on {} yet, so -c has nothing to continue. To list all sessions, run: guildhall ls",
            project.display()
        ))
    })?;
    hall.journal().require_not_running(&id, unix_now()).await?;
    Ok(id)
}

/// Warns of payees whose fees will wait.
pub(crate) fn warn_of_payees(world: &World) {
    for (payee, variable) in world.keyless_payees() {
        say_in(WARN, &format!("the variable {variable} is not set, so the fees of payee {payee} wait"));
    }
}

/// The money that a session has left. It is known only after the session is settled, and its paid invoices are credited.
async fn left(hall: &Hall, id: &SessionId) -> Result<Msat, Failure> {
    if hall.journal().folded_account(id).await?.next_root() != Path::root(1) {
        hall.settle(id).await?;
    }
    hall.credit(id).await?;
    Ok(hall.journal().folded_account(id).await?.free())
}

/// What to type if no model is configured.
const NO_MODEL: &str = "no model configured. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama (or LM Studio, llama.cpp, \
                        vLLM). `guildhall demo` and --model rehearsal work without a model";

/// Finds the model: the one of the command line, of the session, of the config or of the agent's file. If nothing is configured, this
/// looks for a server on this machine. Returns the environment with the model, and the model that counts as typed. The rehearsal is
/// used only if a person agrees, so that a script never mistakes its text for the answer of a model.
async fn with_model(
    world: &World,
    typed: Option<String>,
    had: Option<String>,
    own: Option<&str>,
    (paying, given): (Option<&SessionId>, Consent),
) -> Result<(World, Option<String>), Failure> {
    if let Some(named) = typed.as_deref().or(had.as_deref()).or(world.named.as_deref()) {
        return Ok((local_server::learn(world, named).await, typed));
    }
    if !world.is_bare() || own.is_some_and(|own| world.models.find_own(own, SystemTime::now()).is_ok()) {
        return Ok((world.clone(), None));
    }
    if let Some((world, model)) = local_server::find(world, given).await? {
        return Ok((world, Some(model)));
    }
    let question = "No model configured. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama. Run the rehearsal \
                    instead? It is a simple program in place of a model: it shows how a team works, but does not think.";
    let charge = match paying {
        Some(id) if world.hall(here()?)?.session(id).await?.kind != SessionKind::Play => {
            format!(" {}.", rehearsal_charge(world.models.rate()))
        }
        Some(_) | None => String::new(),
    };
    match consent::to_use(&format!("{question}{charge}"), Consent::NotAsked)? {
        Consent::Given => Ok((world.clone(), Some(REHEARSAL.to_owned()))),
        Consent::Refused | Consent::NotAsked => Err(Failure::usage(NO_MODEL)),
    }
}

/// Says what a rehearsal costs a session that has real money. The price keeps the limits of the work in force, and what it
/// charges stays with the operator of the hall.
fn rehearsal_charge(rate: &DatedRate) -> String {
    let thousand = |price: Usd| sats(Msat::capped(u128::from(rate.usd_per_btc.to_msat(price).get().div_ceil(1000))));
    let (read, written) = (thousand(REHEARSAL_PRICE.input), thousand(REHEARSAL_PRICE.output));
    format!("The rehearsal charges the session: {read} per 1000 bytes read, {written} per 1000 bytes written")
}

/// Draws the agents that each first agent can use, and prints the problems of their files.
fn maps(found: &Found, entry: &EntryAgent) -> Result<Vec<String>, Failure> {
    let first: BTreeSet<&AgentName> = match entry {
        EntryAgent::Listed(agent) => BTreeSet::from([&agent.name]),
        EntryAgent::Tasks(tasks) => tasks.specs().iter().map(|task| &task.agent).collect(),
        EntryAgent::Given(_) | EntryAgent::Kept => BTreeSet::new(),
    };
    let maps: Vec<Map<'_>> = first.into_iter().filter_map(|agent| found.roster.map(agent)).collect();
    if let Some(broken) = broken(found, &maps) {
        return Err(Failure::usage(broken.to_string()));
    }
    tell_problems(found, &maps);
    Ok(maps.iter().filter_map(drawn).collect())
}

/// A file of the team that is not usable although the work needs its agent.
fn broken<'a>(found: &'a Found, maps: &[Map<'_>]) -> Option<&'a Problem> {
    let mut needed: BTreeSet<String> = BTreeSet::new();
    for agent in maps.iter().flat_map(|map| map.levels.iter().flatten()).map(|spot| spot.agent) {
        if let Some(Team::Named(team)) = agent.delegation.as_ref().map(|delegation| &delegation.team) {
            needed.extend(team.iter().map(|listed| listed.name.to_string()));
        }
        needed.insert(agent.name.to_string());
    }
    found.errors().find(|problem| {
        let stem = || problem.place.file.file_stem().is_some_and(|stem| needed.contains(&*stem.to_string_lossy()));
        match &problem.kind {
            ProblemKind::Doubled(name) => needed.contains(name.as_str()),
            ProblemKind::Unsupported(_) | ProblemKind::Other => stem(),
        }
    })
}

/// The file of each agent.
type Files = BTreeMap<AgentName, PathBuf>;

fn files(found: &Found) -> Files {
    found.roster.agents().map(|agent| (agent.name.clone(), agent.place.file.to_path_buf())).collect()
}

/// Warns of agents that use another model than their files name, because that model is not available here.
fn warn_of_models(hall: &Hall, staffing: &Staffing, files: &Files) {
    for agent in &staffing.agents {
        let (Some(own), Some(model)) = (&agent.model, staffing.model_of_agent.get(&agent.name)) else { continue };
        if let Err(why) = hall.models().find_own(own, SystemTime::now()) {
            let file = files.get(&agent.name).map_or_else(String::new, |file| format!("{}: ", file.display()));
            let why = tame(&why.to_string(), 200);
            warn(&format!("{file}warning: {} asks for model {own:?} and uses {model} instead: {why}", agent.name));
        }
    }
}

/// Prints the problems of the files of agents that the work can use, and of files that are not usable.
fn tell_problems(found: &Found, maps: &[Map<'_>]) {
    let at_work: BTreeSet<&FilePath> =
        maps.iter().flat_map(|map| map.levels.iter().flatten()).map(|spot| spot.agent.place.file.as_path()).collect();
    let matters =
        |problem: &&Problem| problem.severity == Severity::Error || at_work.contains(problem.place.file.as_path());
    // A map repeats the problems of the roster. Each is told once, in the order in which they were found.
    let mut told: BTreeSet<(&Location, &str)> = BTreeSet::new();
    let matching = found.roster.problems().iter().chain(maps.iter().flat_map(|map| &map.problems)).filter(matters);
    let problems: Vec<&Problem> =
        matching.filter(|problem| told.insert((&problem.place, problem.message.as_str()))).collect();
    let (unsupported, problems): (Vec<&Problem>, Vec<&Problem>) =
        problems.into_iter().partition(|problem| matches!(problem.kind, ProblemKind::Unsupported(_)));
    if let Some(line) = unsupported_line(unsupported, &found.map_command()) {
        warn(&line);
    }
    for problem in problems.iter().take(PROBLEMS_MAX) {
        let text = match problem.severity {
            Severity::Warning => problem.to_string(),
            // The work does not need the file: a file that it needs is an error before this.
            Severity::Error => format!("{}: warning: this file is not used: {}", problem.place, problem.message),
        };
        warn(&tame(&text, 400));
    }
    if problems.len() > PROBLEMS_MAX {
        let more = problems.len() - PROBLEMS_MAX;
        note(&format!("more problems: {more}. To list them, run: {}", found.map_command()));
    }
}

/// The agents that the work can use, level by level. `None` for an agent that works alone.
fn drawn(map: &Map<'_>) -> Option<String> {
    let count: usize = map.levels.iter().map(Vec::len).sum();
    let names = |level: &Level<'_>| level.iter().map(|spot| spot.agent.name.as_str()).collect::<Vec<_>>().join(", ");
    let levels: Vec<String> = map.levels.iter().map(names).collect();
    let map = format!("{count} agents across {} levels: {}", levels.len(), levels.join(" | "));
    (count > 1).then(|| tame(&map, MAP_CHARS_MAX))
}

/// The first agent.
enum EntryAgent {
    /// An agent of the roster.
    Listed(Agent),
    /// An agent from a file of its own.
    Given(Agent),
    /// The agent that the session had before.
    Kept,
    /// The agents of a list of tasks.
    Tasks(Tasks),
}

/// Finds the first agent. A name with a slash or a dot is a file.
fn entry(args: &WorkArgs, found: &Found, rate: Rate) -> Result<EntryAgent, Failure> {
    let named = args.agent.as_deref();
    if let Some(file) = named.filter(|named| named.contains(['/', '.'])) {
        return Ok(EntryAgent::Given(agent_file::read(FilePath::new(file), rate)?));
    }
    let name = found.entry(named)?;
    let file = found
        .roster
        .get(&name)
        .ok_or_else(|| Failure::usage(format!("unknown agent {name}: to list the agents, run `guildhall agents`")))?;
    Ok(EntryAgent::Listed(Agent::of_file(file, rate)))
}
