//! The table of all agents that a session can use: the environment of each agent, and the conditions for hiring it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use guildhall_agent::checks::Check;
use guildhall_agent::roster::DelegationMode;
use guildhall_agent::{
    AgentRuntime, Hired, KnownModel, LazyText, Listing, Profile, Redactor, Team, Text, Tool, Worker, runtime_prompt,
};
use guildhall_kernel::{AgentName, Brief, Hiring, Msat, NAME_BYTES_MAX, PowerSet, Powers, Standing, Tariff, TextKind};
use guildhall_local::{AgentEnv, CallLimiter, Exists, SessionId, Watcher};

use crate::agents::{Agent, Hires};
use crate::hall::HallError;
use crate::models::{ModelSlot, Models};
use crate::opening::{StoredOpening, ad_hoc_can_hire};
use crate::setup::{Staffing, listed_hirer};
use crate::undertaking::TURNS_MAX;

/// The instructions of an ad-hoc specialist, behind its specialty.
const AD_HOC: &str = ". Do the one task that you were hired for, as an expert in that field would. Use the tools you have. Report what \
you found or made in plain words, with the file and line of what you rely on. If something can't be found or done, say so.";

/// The instructions of an ad-hoc specialist: its specialty comes first.
fn ad_hoc_instructions(specialty: &AgentName) -> String {
    format!("You are a specialist in this field: {specialty}{AD_HOC}")
}

/// The inputs of the table.
pub(crate) struct TableInputs<'a> {
    pub(crate) models: &'a Models,
    pub(crate) session: &'a SessionId,
    pub(crate) staffing: &'a Staffing,
    pub(crate) tools: &'a BTreeMap<String, Arc<dyn Tool>>,
    pub(crate) tool_limiter: &'a Arc<CallLimiter>,
    pub(crate) redactor: &'a Redactor,
    pub(crate) watch: &'a Watcher,
    pub(crate) exists: &'a Exists,
}

/// All agents that a session can use.
pub(crate) struct AgentTable {
    entries: BTreeMap<AgentName, TableEntry>,
    /// The agent of the root.
    entry: AgentName,
    /// The models that a hiring call can name, by name: in the order in which a team numbers them.
    slots: BTreeMap<String, ModelSlot>,
    staffing: Staffing,
    missing: Missing,
}

/// The models and tools that an agent needs, but that this hall does not have any more. Only hires can lack something: without the
/// first agent there is no table.
#[derive(Default)]
struct Missing {
    models: BTreeMap<String, HallError>,
    /// The first missing tool of each agent.
    tools: BTreeMap<AgentName, (String, HallError)>,
}

/// Why a brief can't be set up. The contract fails with this text, which its hirer is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotSetUp {
    #[error("this session has no agent named {0}. So this work was not started and nothing was spent")]
    Agent(AgentName),
    #[error("no agent above {0} can hire ad-hoc specialists, so this work was not started and nothing was spent")]
    AdHoc(AgentName),
    #[error(
        "this session does not have the model that was chosen for {0}, so this work was not started and nothing was spent"
    )]
    Model(AgentName),
    #[error("{agent} can't work: {why}. So this work was not started and nothing was spent")]
    ModelGone { agent: AgentName, why: String },
    #[error(
        "{agent} can't work: this hall has no tool named {tool}. So this work was not started and nothing was spent"
    )]
    Tool { agent: AgentName, tool: String },
}

struct TableEntry {
    worker: Arc<Worker>,
    /// The environment of this agent as the root.
    first: AgentEnv,
    /// The environment of this agent as a hire.
    hired: AgentEnv,
    /// The environments of its ad-hoc specialists, without their names.
    ad_hoc: Option<AdHoc>,
}

/// The agents that can be hired.
#[derive(Default)]
struct Workers {
    by_name: BTreeMap<AgentName, Arc<Worker>>,
    /// The openings of the ad-hoc specialists of each agent.
    ad_hoc_openings: BTreeMap<AgentName, LazyText>,
}

struct AdHoc {
    hirer: AgentEnv,
    leaf: AgentEnv,
    /// The runtimes of the specialists so far, by name and by whether they can hire. Models choose the names.
    runtimes: Mutex<BTreeMap<(AgentName, bool), Arc<AgentRuntime>>>,
}

/// How many runtimes of ad-hoc specialists are kept.
const AD_HOC_RUNTIMES_MAX: usize = 256;

impl AdHoc {
    /// The environment of the ad-hoc specialist of a brief. A specialist whose grant has no hires left gets no hiring tools.
    fn env(&self, brief: &Brief) -> AgentEnv {
        let can_hire = ad_hoc_can_hire(brief);
        let env = if can_hire { &self.hirer } else { &self.leaf };
        let key = (brief.agent.clone(), can_hire);
        // A panic while the lock was held leaves the map valid: each change is one insert or a clear.
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        if runtimes.len() >= AD_HOC_RUNTIMES_MAX && !runtimes.contains_key(&key) {
            runtimes.clear();
        }
        let runtime = runtimes.entry(key).or_insert_with(|| Arc::new(named(&env.runtime, &brief.agent)));
        AgentEnv { runtime: Arc::clone(runtime), ..env.clone() }
    }

    /// The opening of all specialists, whatever their names are.
    fn opening(&self) -> StoredOpening {
        let name = AgentName::parse(ANY_NAME).expect("the name is valid");
        let (hirer, leaf) = (named(&self.hirer.runtime, &name), named(&self.leaf.runtime, &name));
        StoredOpening::of_ad_hoc(&name, &hirer, &leaf)
    }
}

/// A name in place of the names of ad-hoc specialists. No prompt contains it otherwise.
const ANY_NAME: &str = "name-of-the-ad-hoc-specialist";

/// The runtime of an ad-hoc specialist.
fn named(runtime: &AgentRuntime, name: &AgentName) -> AgentRuntime {
    let profile = &runtime.profile;
    let team = profile.team().map(|team| {
        let own = Worker { name: name.clone(), ..Worker::clone(&team.own) };
        Arc::new(Team { own: Arc::new(own), ..Team::clone(team) })
    });
    let prompt = runtime_prompt(name, team.as_deref(), profile.hired());
    let system = format!("{}{}\n\n{prompt}", ad_hoc_instructions(name), profile.opening().system());
    let profile = Profile::new(system, profile.tools().clone(), team, profile.hired());
    AgentRuntime { profile: Arc::new(profile), ..runtime.clone() }
}

impl AgentTable {
    pub(crate) fn build(staff: &TableInputs<'_>) -> Result<AgentTable, HallError> {
        let none = || HallError::NoAgent { name: "(none)".to_owned(), known: "none".to_owned() };
        let entry = staff.staffing.entry().ok_or_else(none)?.clone();
        let mut missing = Missing::default();
        let staff = TableBuilder::new(staff, &mut missing.models)?;
        let agents = &staff.inputs.staffing.agents;
        for agent in agents {
            if let Some((tool, why)) = staff.missing_tool(agent) {
                missing.tools.insert(agent.name.clone(), (tool, why));
            }
        }
        let model = staff.inputs.staffing.model_of_agent.get(&entry);
        let model = model.and_then(|model| missing.models.remove(model));
        if let Some(why) = model.or_else(|| missing.tools.remove(&entry).map(|(_, why)| why)) {
            return Err(why);
        }
        let slots: BTreeMap<&AgentName, ModelSlot> =
            agents.iter().map(|agent| (&agent.name, staff.slot(agent))).collect();
        let mut workers = Workers::default();
        for agent in agents {
            workers.by_name.insert(agent.name.clone(), Arc::new(staff.worker(agent, &slots[&agent.name])));
        }
        // An agent's opening is made from its runtime, and the runtime needs only the names of the other workers.
        let mut sized = Workers::default();
        for agent in agents {
            let slot = &slots[&agent.name];
            let runtime = staff.runtime(agent, slot, &workers, Hired::ByAgent);
            let opening_bytes = runtime.opening_bytes();
            let opening = Some(LazyText::new(move || StoredOpening::of(&runtime).text(&runtime.redactor)));
            let worker = Worker { opening_bytes, opening, ..Worker::clone(&workers.by_name[&agent.name]) };
            sized.by_name.insert(agent.name.clone(), Arc::new(worker));
            if agent.hires.as_ref().is_some_and(|hires| hires.ad_hoc) {
                let ad_hoc = staff.ad_hoc(agent, slot, &workers);
                let opening = LazyText::new(move || ad_hoc.opening().text(&ad_hoc.leaf.runtime.redactor));
                sized.ad_hoc_openings.insert(agent.name.clone(), opening);
            }
        }
        let mut entries = BTreeMap::new();
        for agent in agents {
            let slot = &slots[&agent.name];
            let env = |role| staff.env(staff.runtime(agent, slot, &sized, role), slot);
            let ad_hoc = agent.hires.as_ref().is_some_and(|hires| hires.ad_hoc);
            let ad_hoc = ad_hoc.then(|| staff.ad_hoc(agent, slot, &sized));
            let entry = TableEntry {
                worker: Arc::clone(&sized.by_name[&agent.name]),
                first: env(Hired::ByOwner),
                hired: env(Hired::ByAgent),
                ad_hoc,
            };
            entries.insert(agent.name.clone(), entry);
        }
        let slots = staff.slots.into_iter().map(|(model, slot)| (model.to_owned(), slot)).collect();
        let staffing = staff.inputs.staffing.clone();
        Ok(AgentTable { entries, entry, slots, staffing, missing })
    }

    /// Returns an error if an agent lacks its model or a tool. New work starts only with all its agents.
    pub(crate) fn require_all(self) -> Result<AgentTable, HallError> {
        let Missing { models, tools } = self.missing;
        let tools = tools.into_values().map(|(_, why)| why);
        match models.into_values().chain(tools).next() {
            Some(why) => Err(why),
            None => Ok(AgentTable { missing: Missing::default(), ..self }),
        }
    }

    /// Whether an agent lacks its model or a tool.
    pub(crate) fn lacks_something(&self) -> bool {
        !self.missing.models.is_empty() || !self.missing.tools.is_empty()
    }

    /// The opening of the root.
    pub(crate) fn first_opening(&self) -> Text {
        StoredOpening::of(&self.first().runtime).text(&self.first().runtime.redactor)
    }

    /// The environment of the root.
    pub(crate) fn first(&self) -> &AgentEnv {
        &self.entries[&self.entry].first
    }

    /// The conditions of the root.
    pub(crate) fn first_worker(&self) -> &Worker {
        &self.entries[&self.entry].worker
    }

    /// Counts the texts of a model by their bytes from now on, if the session still uses the model.
    pub(crate) fn distrust_counts_of(&self, model: &str) {
        if let Some(slot) = self.slots.get(model) {
            slot.counts.distrust();
        }
    }

    /// The environment of the agent of a brief, or why there is none. A fork has the environment of its hirer, because its prompt
    /// begins in the same way.
    pub(crate) fn env(&self, brief: &Brief) -> Result<AgentEnv, NotSetUp> {
        self.check(brief)?;
        let entry = |agent: &AgentName| self.entries.get(agent).ok_or_else(|| NotSetUp::Agent(agent.clone()));
        let env = match brief.standing {
            Standing::Listed => {
                let entry = entry(&brief.agent)?;
                match Hired::of(brief) {
                    Hired::ByOwner => entry.first.clone(),
                    Hired::ByAgent => entry.hired.clone(),
                }
            }
            Standing::AdHoc => {
                let hirer = listed_hirer(brief).map(entry).transpose()?;
                let ad_hoc = hirer.and_then(|hirer| hirer.ad_hoc.as_ref());
                ad_hoc.ok_or_else(|| NotSetUp::AdHoc(brief.agent.clone()))?.env(brief)
            }
        };
        let Some(number) = usize::from(brief.model_slot).checked_sub(1) else { return Ok(env) };
        let slot = self.slots.values().nth(number).ok_or_else(|| NotSetUp::Model(brief.agent.clone()))?;
        let ModelSlot { model, price, window, replays, limiter, counts, .. } = slot;
        let (model, price, limiter) = (Arc::clone(model), Arc::clone(price), Arc::clone(limiter));
        let (window, counts) = (*window, Arc::clone(counts));
        let runtime = Arc::new(AgentRuntime { model, price, window, counts, ..AgentRuntime::clone(&env.runtime) });
        Ok(AgentEnv { runtime, limiter, replays: *replays, ..env })
    }
}

impl AgentTable {
    /// Checks that the model and the tools of the agent of a brief exist.
    fn check(&self, brief: &Brief) -> Result<(), NotSetUp> {
        let agent = brief.agent.clone();
        let model = self.staffing.model_of(brief).and_then(|model| self.missing.models.get(model));
        let tool = self.missing.tools.get(&agent).filter(|_| brief.standing == Standing::Listed);
        match (model, tool) {
            (Some(why), _) => Err(NotSetUp::ModelGone { agent, why: why.to_string() }),
            (None, Some((tool, _))) => Err(NotSetUp::Tool { agent, tool: tool.clone() }),
            (None, None) => Ok(()),
        }
    }
}

struct TableBuilder<'a> {
    inputs: &'a TableInputs<'a>,
    /// The models, in the order in which a team numbers them. Agents with the same model share its connections.
    slots: BTreeMap<&'a str, ModelSlot>,
    /// The models that a hiring call may name: those that the person agreed to when the work started.
    known: Vec<KnownModel>,
    names: BTreeSet<&'a AgentName>,
}

impl TableInputs<'_> {
    /// Prepares a model. A model that can't be used any more gets a slot whose calls fail.
    fn slot_of(&self, model: &str, missing: &mut BTreeMap<String, HallError>) -> Result<ModelSlot, HallError> {
        let unpriced =
            || HallError::Damaged(format!("the stored settings of this work have no price for the model {model}"));
        let locked = self.staffing.locked.get(model).ok_or_else(unpriced)?;
        let found = self.models.find(Some(model)).and_then(|name| self.models.slot(&name, self.session, locked));
        found.or_else(|why| {
            let gone = self.models.gone(model, &why.to_string(), locked)?;
            missing.insert(model.to_owned(), why.into());
            Ok(gone)
        })
    }
}

impl<'a> TableBuilder<'a> {
    fn new(
        inputs: &'a TableInputs<'a>,
        missing: &mut BTreeMap<String, HallError>,
    ) -> Result<TableBuilder<'a>, HallError> {
        let models = inputs.staffing.models().into_iter();
        let slots: BTreeMap<&str, ModelSlot> =
            models.map(|model| Ok((model, inputs.slot_of(model, missing)?))).collect::<Result<_, HallError>>()?;
        let known =
            slots.iter().map(|(model, slot)| KnownModel { names: inputs.models.names_of(model), tariff: slot.tariff });
        let names = inputs.staffing.agents.iter().map(|agent| &agent.name).collect();
        Ok(TableBuilder { known: known.collect(), inputs, slots, names })
    }

    fn slot(&self, agent: &Agent) -> ModelSlot {
        let model = self.inputs.staffing.model_of_agent.get(&agent.name);
        model.and_then(|model| self.slots.get(model.as_str())).cloned().unwrap_or_else(ModelSlot::of_task_list)
    }

    /// The number of an agent's model in the list of models, counted from 1; 0 if it has none there.
    fn slot_number(&self, agent: &Agent) -> u16 {
        let model = self.inputs.staffing.model_of_agent.get(&agent.name);
        let at = model.and_then(|model| self.slots.keys().position(|known| known == model));
        at.and_then(|at| u16::try_from(at + 1).ok()).unwrap_or(0)
    }

    /// The conditions for hiring an agent, without its opening.
    fn worker(&self, agent: &Agent, slot: &ModelSlot) -> Worker {
        let terms = agent.hires.iter().flat_map(|hires| &hires.terms);
        let (fee, payee) = self.inputs.staffing.fee_of(agent);
        Worker {
            name: agent.name.clone(),
            description: agent.description.clone(),
            specialties: agent.specialties.clone(),
            budget_default: agent.budget.default,
            budget_max: agent.budget.max,
            fee,
            payee: payee.cloned(),
            severance: severance(agent, slot.tariff),
            tariff: slot.tariff,
            model_slot: self.slot_number(agent),
            turns_max: agent.turns_max.unwrap_or(TURNS_MAX),
            opening_bytes: 0,
            opening: None,
            powers: self.powers(agent),
            hiring: agent.hires.as_ref().map(|hires| self.hiring(hires)),
            adds: terms.map(|term| self.inputs.redactor.text(TextKind::Term, term)).collect(),
            background: agent.background,
        }
    }

    fn hiring(&self, hires: &Hires) -> Hiring {
        let team = match &hires.team {
            Some(team) => team.iter().filter(|name| self.names.contains(name)).cloned().collect(),
            None => self.inputs.staffing.agents.iter().map(|agent| agent.name.clone()).collect(),
        };
        Hiring { team, ad_hoc: hires.ad_hoc, recursive: hires.recursive }
    }

    /// The powers of an agent. It can use the powers that its own tools need, and grant the powers that any tool of the hall
    /// needs.
    fn powers(&self, agent: &Agent) -> Powers {
        let of = |tools: &mut dyn Iterator<Item = &Arc<dyn Tool>>| {
            PowerSet::from(tools.flat_map(|tool| Vec::from(tool.terms().needs)).collect::<Vec<_>>())
        };
        let own = self.inputs.tools.iter().filter(|(name, _)| agent.may_use(name)).map(|(_, tool)| tool);
        Powers { usable: of(&mut own.into_iter()), grantable: of(&mut self.inputs.tools.values()) }
    }

    fn runtime(&self, agent: &Agent, slot: &ModelSlot, workers: &Workers, role: Hired) -> AgentRuntime {
        let team = agent.hires.as_ref().map(|hires| self.team(agent, hires, workers));
        let prompt = runtime_prompt(&agent.name, team.as_ref(), role);
        let system = format!("{}\n\n{prompt}", self.guided(&agent.instructions));
        self.runtime_of(Profile::new(system, self.tools_of(agent), team.map(Arc::new), role), slot)
    }

    fn team(&self, agent: &Agent, hires: &Hires, workers: &Workers) -> Team {
        let own = Arc::clone(&workers.by_name[&agent.name]);
        let members = self.hiring(hires).team;
        let check = |check: &Check| (self.inputs.redactor.text(TextKind::Term, &check.to_text()), Msat::ZERO);
        let ad_hoc = hires.ad_hoc.then(|| {
            Arc::new(Worker {
                hiring: Some(Hiring { recursive: false, ..self.hiring(hires) }),
                opening_bytes: own.opening_bytes + (AD_HOC.len() + 4 * NAME_BYTES_MAX) as u64,
                opening: workers.ad_hoc_openings.get(&agent.name).cloned(),
                adds: Vec::new(),
                ..Worker::clone(&own)
            })
        });
        Team {
            dialect: hires.dialect,
            mode: hires.mode,
            listing: if hires.team.is_some() { Listing::ByName } else { Listing::Open },
            workers: members
                .iter()
                .filter(|name| **name != agent.name || hires.recursive)
                .map(|name| Arc::clone(&workers.by_name[name]))
                .collect(),
            ad_hoc,
            own,
            standing: Standing::Listed,
            models: self.known.clone(),
            checks: hires.accept.iter().map(check).collect(),
            checks_of: hires
                .accept_of
                .iter()
                .map(|(name, checks)| (name.clone(), checks.iter().map(check).collect()))
                .collect(),
        }
    }

    /// The environments of an agent's ad-hoc specialists. They have the tools of their hirer and may hire its team.
    fn ad_hoc(&self, hirer: &Agent, slot: &ModelSlot, workers: &Workers) -> AdHoc {
        let tools = self.inputs.tools.iter().filter(|(name, _)| hirer.may_use(name));
        let tools: BTreeMap<_, _> = tools.map(|(name, tool)| (name.clone(), Arc::clone(tool))).collect();
        let team = hirer.hires.as_ref().map(|hires| self.team(hirer, hires, workers));
        let team = team.map(|team| {
            let own = team.ad_hoc.clone().unwrap_or_else(|| Arc::clone(&team.own));
            let standing = Standing::AdHoc;
            let listing = Listing::Open;
            let (checks, checks_of) = (Vec::new(), BTreeMap::new());
            Arc::new(Team { mode: DelegationMode::Offered, listing, own, standing, checks, checks_of, ..team })
        });
        let env = |team| {
            let profile = Profile::new(self.guided(""), tools.clone(), team, Hired::ByAgent);
            self.env(self.runtime_of(profile, slot), slot)
        };
        AdHoc { hirer: env(team), leaf: env(None), runtimes: Mutex::default() }
    }

    fn runtime_of(&self, profile: Profile, slot: &ModelSlot) -> AgentRuntime {
        AgentRuntime {
            profile: Arc::new(profile),
            model: Arc::clone(&slot.model),
            window: slot.window,
            price: Arc::clone(&slot.price),
            redactor: self.inputs.redactor.clone(),
            counts: Arc::clone(&slot.counts),
        }
    }

    /// An agent's instructions, followed by the project's instructions to all agents.
    fn guided(&self, instructions: &str) -> String {
        match &self.inputs.staffing.guide {
            None => instructions.to_owned(),
            Some(guide) => format!("{instructions}\n\n{guide}"),
        }
    }

    fn env(&self, runtime: AgentRuntime, slot: &ModelSlot) -> AgentEnv {
        let (limiter, tools) = (Arc::clone(&slot.limiter), Arc::clone(self.inputs.tool_limiter));
        let (replays, watch, exists) = (slot.replays, Arc::clone(self.inputs.watch), Arc::clone(self.inputs.exists));
        AgentEnv { runtime: Arc::new(runtime), limiter, tools, replays, watch, exists }
    }

    /// The tools that an agent may use, as far as they exist.
    fn tools_of(&self, agent: &Agent) -> BTreeMap<String, Arc<dyn Tool>> {
        let usable = self.inputs.tools.iter().filter(|(name, _)| agent.may_use(name));
        usable.map(|(name, tool)| (name.clone(), Arc::clone(tool))).collect()
    }

    /// The first tool that an agent names and that does not exist.
    fn missing_tool(&self, agent: &Agent) -> Option<(String, HallError)> {
        let missing = agent.tools.iter().flatten().find(|wanted| !self.inputs.tools.contains_key(*wanted))?;
        let known = self.inputs.tools.keys().cloned().collect::<Vec<_>>().join(", ");
        let why = HallError::NoTool { agent: agent.name.to_string(), tool: missing.clone(), known };
        Some((missing.clone(), why))
    }
}

fn severance(agent: &Agent, tariff: Tariff) -> Msat {
    agent.budget.severance.unwrap_or(Msat::ZERO).max(tariff.last_min())
}
