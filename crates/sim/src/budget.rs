//! Trees of agents with a known amount of work and one budget: how much of the work is finished, and what it costs.
//!
//! The agents are scripted: a leaf writes text and calls one free tool in each turn but the last, and a hirer hires all its
//! leaves at once. Sizes and prices are those of real requests: a token has four bytes, and a hold pays more per input token
//! than the bill says. Only the kernel decides about money.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use guildhall_kernel::{
    AgentName, Answer, Ask, AskKey, Brief, Call, CloseWhen, Context, Contract, Cost, Cut, Effect, Fact, Grant, Hash,
    Heads, Hiring, Inherit, Input, Lineage, Millis, Mode, Msat, Offer, Outcome, OwnSize, Path, PowerSet, Powers, Reply,
    Request, Sender, Standing, Stimulus, Tariff, TextKind, TextRef, Tokens, ToolCall, ToolName, Turn, Verdict,
};

use crate::chance::Chance;

/// How long a call takes on average.
pub const CALL_LENGTH: u64 = 1_000;

/// How long a message between contracts takes.
const DELIVERY: u64 = 1;

/// The sizes of openings in bytes, and in the tokens that are billed.
const ROOT_OPENING: (u64, u64) = (2_810, 753);
const HIRER_OPENING: (u64, u64) = (3_515, 924);
const LEAF_OPENING: (u64, u64) = (1_641, 429);

/// The room for the part of a prompt that changes in each request, which is added to the reported input.
const STATUS_BYTES: u64 = 224;

/// The tokens that frame a report, a refusal and the result of a tool.
const REPORT_FRAME: u64 = 85;
const REFUSAL_TOKENS: u64 = 60;
const RESULT_TOKENS: u64 = 115;
const RESULT_BYTES: u32 = 190;

/// The tokens of one call of a hirer and of a leaf.
const HIRE_TOKENS: u32 = 26;
const TOOL_TOKENS: u32 = 13;

/// The text with which a hirer hires, and its report.
const HIRING_TOKENS: u32 = 40;

/// The longest last report that a leaf writes.
const LAST_TOKENS: u32 = 400;

/// What one agent has to do.
#[derive(Clone, Debug)]
pub enum Work {
    /// Write this many tokens in each of this many turns.
    Leaf {
        /// The number of turns.
        turns: u32,
        /// The tokens of each turn.
        tokens: u32,
    },
    /// Hire agents for all this work, and report.
    Hirer(Vec<Task>),
}

/// The work of one hire, and its terms.
#[derive(Clone, Debug)]
pub struct Task {
    /// The work.
    pub work: Work,
    /// The budget that the hirer names.
    pub said: Option<Msat>,
    /// Whether the hirer waits for it.
    pub mode: Mode,
}

impl Work {
    /// Returns a tree in which each hirer has the same number of hires: `levels` levels of hires below the root.
    pub fn even(levels: u32, hires: u32, turns: u32, tokens: u32) -> Work {
        match levels {
            0 => Work::Leaf { turns, tokens },
            _ => Work::Hirer((0..hires).map(|_| Task::of(Work::even(levels - 1, hires, turns, tokens))).collect()),
        }
    }

    /// Returns the number of leaves.
    pub fn leaves(&self) -> usize {
        match self {
            Work::Leaf { .. } => 1,
            Work::Hirer(tasks) => tasks.iter().map(|task| task.work.leaves()).sum(),
        }
    }

    /// Returns the number of hirers.
    pub fn hirers(&self) -> usize {
        match self {
            Work::Leaf { .. } => 0,
            Work::Hirer(tasks) => 1 + tasks.iter().map(|task| task.work.hirers()).sum::<usize>(),
        }
    }
}

impl Task {
    /// Returns a task without a named budget, for which its hirer waits.
    pub fn of(work: Work) -> Task {
        Task { work, said: None, mode: Mode::Blocking }
    }
}

/// The prices of all agents, per million tokens.
#[derive(Clone, Copy, Debug)]
pub struct Prices {
    /// What a hold pays for input.
    pub held_input: Msat,
    /// What the bill says for input.
    pub billed_input: Msat,
    /// What output costs.
    pub output: Msat,
    /// The longest reply.
    pub max_tokens: u32,
}

/// What came of the work.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// The leaves that wrote all their turns, the last one uncut, in the order of their paths.
    pub leaves: Vec<Path>,
    /// The hirers that are done: they reported whole, with every report of their hires in a request.
    pub hirers: usize,
    /// The hirers that reported, but not whole or without having seen every report.
    pub poor_hirers: usize,
    /// Whether the root's report is whole.
    pub root: bool,
    /// What all calls cost.
    pub bill: u64,
    /// The time from the first call to the root's report.
    pub time: u64,
    /// The number of hires that waited for money.
    pub waited: usize,
    /// The number of draws.
    pub draws: usize,
    /// The number of draws that were refused.
    pub refused_draws: usize,
    /// The number of hires that were refused.
    pub refused_hires: usize,
    /// The number of facts.
    pub facts: usize,
}

/// Runs the work to the root's report. Panics if the contracts stop before that, or if more is billed than funded.
pub fn run(work: &Work, prices: Prices, budget: Msat, permits: usize, seed: u64) -> Outcomes {
    let mut office = Office::new(prices, permits, seed);
    office.open(work, budget);
    while let Some(Reverse((at, number))) = office.times.pop() {
        office.now = at;
        let event = office.events.remove(&number).expect("each time has its event");
        office.handle(event);
    }
    assert!(office.ended, "the contracts stopped before the root has reported");
    assert!(office.outcomes.bill <= budget.get(), "billed {} of {budget}", office.outcomes.bill);
    office.outcomes
}

/// One scripted agent.
struct Agent<'a> {
    work: &'a Work,
    /// The tokens of its next request as the provider counts them.
    real: u64,
    turns: u32,
    /// The tokens that it has written of a reply that was cut.
    part: u32,
    hired: bool,
    /// Whether every request so far showed the whole transcript.
    saw_all: bool,
}

enum Event {
    Input(Path, Input),
    Open(Arc<Brief>),
    Replied { key: AskKey, request: Request },
}

struct Office<'a> {
    prices: Prices,
    permits: usize,
    chance: Chance,
    now: u64,
    number: u64,
    times: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    contracts: BTreeMap<Path, Contract>,
    agents: BTreeMap<Path, Agent<'a>>,
    hired: BTreeMap<Path, AskKey>,
    waiting: VecDeque<(AskKey, Request)>,
    in_flight: usize,
    texts: u64,
    ended: bool,
    outcomes: Outcomes,
}

impl<'a> Office<'a> {
    fn new(prices: Prices, permits: usize, seed: u64) -> Office<'a> {
        Office {
            prices,
            permits,
            chance: Chance::seeded(seed),
            now: 0,
            number: 0,
            times: BinaryHeap::new(),
            events: BTreeMap::new(),
            contracts: BTreeMap::new(),
            agents: BTreeMap::new(),
            hired: BTreeMap::new(),
            waiting: VecDeque::new(),
            in_flight: 0,
            texts: 0,
            ended: false,
            outcomes: Outcomes::default(),
        }
    }

    fn text(&mut self, kind: TextKind, bytes: u32) -> TextRef {
        self.texts += 1;
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&self.texts.to_le_bytes());
        TextRef { hash: Hash(hash), bytes, kind }
    }

    fn tariff(&self) -> Tariff {
        Tariff { input: self.prices.held_input, output: self.prices.output, max_tokens: self.prices.max_tokens }
    }

    fn open(&mut self, work: &'a Work, budget: Msat) {
        let (path, task) = (Path::root(1), self.text(TextKind::Task, 38));
        self.agents.insert(path.clone(), Agent::new(work, ROOT_OPENING.1));
        let tariff = self.tariff();
        let brief = Brief {
            path,
            agent: name("worker-root"),
            standing: Standing::Listed,
            label: None,
            task,
            task_key: task.hash,
            terms: [].into(),
            adds: [].into(),
            grant: Grant { money: budget, heads: Heads(1_000_000), depth: 60, deadline: None, margin: None },
            money_max: None,
            fee: Msat::ZERO,
            payee: None,
            severance: tariff.last_min(),
            model_slot: 0,
            tariff,
            same_model: true,
            turns_max: 200,
            context: Context::Fresh,
            opening_bytes: ROOT_OPENING.0,
            opening: None,
            lineage: Lineage::default(),
            powers: Powers::default(),
            hiring: Some(team()),
            checks: [].into(),
            close_when: CloseWhen::FinalText,
        };
        self.begin(&Arc::new(brief));
    }

    fn begin(&mut self, brief: &Arc<Brief>) {
        let (contract, facts) = Contract::open(Arc::clone(brief), Millis(self.now)).expect("the brief is workable");
        self.contracts.insert(brief.path.clone(), contract);
        self.follow(&brief.path, &facts);
    }

    fn later(&mut self, after: u64, event: Event) {
        self.number += 1;
        self.times.push(Reverse((self.now + after, self.number)));
        self.events.insert(self.number, event);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Open(brief) => self.begin(&brief),
            Event::Input(path, input) => self.step(&path, input),
            Event::Replied { key, request } => {
                self.in_flight -= 1;
                let (reply, cost) = self.reply(&key, &request);
                self.step(&key.contract, Input::Reply { id: key.ask, reply: Box::new(reply), cost });
                self.send_calls();
            }
        }
    }

    fn step(&mut self, path: &Path, input: Input) {
        let contract = self.contracts.get_mut(path).expect("the contract is open");
        let facts = contract.step(input, Millis(self.now));
        self.follow(path, &facts);
    }

    fn follow(&mut self, path: &Path, facts: &[Fact]) {
        self.outcomes.facts += facts.len();
        for fact in facts {
            match fact {
                Fact::Asked { id, ask, .. } => self.perform(AskKey { contract: path.clone(), ask: *id }, ask),
                Fact::Answered { answer: Answer::Report(report), .. } => {
                    let tokens = u64::from(report.text.text().bytes / 4);
                    self.agent(path).real += REPORT_FRAME + tokens;
                }
                Fact::Refused { .. } => {
                    self.outcomes.refused_hires += 1;
                    self.agent(path).real += REFUSAL_TOKENS;
                }
                Fact::Closed(report) => {
                    let (outcome, cut, unheard) = (report.outcome, report.cut, report.unheard.is_empty());
                    self.close(path, outcome, cut, unheard);
                    if let Some(key) = self.hired.get(path).cloned() {
                        let cost = Cost::Known(report.spent);
                        let answer = Answer::Report(report.clone());
                        self.later(DELIVERY, Event::Input(key.contract, Input::Answer { id: key.ask, answer, cost }));
                    }
                }
                Fact::Queued { .. } => self.outcomes.waited += 1,
                Fact::Opened(_)
                | Fact::Answered { .. }
                | Fact::Raised { .. }
                | Fact::Heard { .. }
                | Fact::Waiting { .. }
                | Fact::Woke { .. }
                | Fact::Nudged(_)
                | Fact::Compacted { .. }
                | Fact::Closing(_) => {}
            }
        }
    }

    fn agent(&mut self, path: &Path) -> &mut Agent<'a> {
        self.agents.get_mut(path).expect("the contract has an agent")
    }

    fn close(&mut self, path: &Path, outcome: Outcome, cut: bool, heard_all: bool) {
        let agent = &self.agents[path];
        match agent.work {
            Work::Leaf { turns, .. } => {
                if outcome == Outcome::Done && !cut && agent.turns >= *turns {
                    self.outcomes.leaves.push(path.clone());
                }
            }
            Work::Hirer(_) => {
                let whole = !cut && heard_all && agent.saw_all;
                if path.level() == 0 {
                    self.outcomes.root = whole;
                }
                self.outcomes.hirers += usize::from(whole && outcome == Outcome::Done);
                self.outcomes.poor_hirers += usize::from(!whole);
            }
        }
        if path.level() == 0 {
            (self.ended, self.outcomes.time) = (true, self.now);
        }
    }

    fn perform(&mut self, key: AskKey, ask: &Ask) {
        let free = Cost::Known(Msat::ZERO);
        match ask {
            Ask::Model(request) => {
                self.waiting.push_back((key, request.clone()));
                self.send_calls();
            }
            Ask::Tool(_) => {
                let answer = Answer::Result(self.text(TextKind::Result, RESULT_BYTES));
                self.agent(&key.contract).real += RESULT_TOKENS;
                self.later(DELIVERY, Event::Input(key.contract, Input::Answer { id: key.ask, answer, cost: free }));
            }
            Ask::Hire { brief, .. } => {
                let tasks = match self.agents[&key.contract].work {
                    Work::Hirer(tasks) => tasks,
                    Work::Leaf { .. } => unreachable!("a leaf hires nobody"),
                };
                let task = &tasks[brief.path.ordinal() as usize - 1];
                let opening = if matches!(task.work, Work::Hirer(_)) { HIRER_OPENING } else { LEAF_OPENING };
                self.agents.insert(brief.path.clone(), Agent::new(&task.work, opening.1));
                self.hired.insert(brief.path.clone(), key);
                self.later(DELIVERY, Event::Open(Arc::clone(brief)));
            }
            Ask::Draw { least } => {
                self.outcomes.draws += 1;
                let hirer = key.contract.hirer().expect("only a hire draws");
                let what = Stimulus::Draw { least: *least };
                self.later(DELIVERY, Event::Input(hirer, Input::Stimulus { from: Sender::Contract(key), what }));
            }
            Ask::Tell { to, what } => {
                self.outcomes.refused_draws += usize::from(matches!(what, Stimulus::RefuseDraw { .. }));
                let (id, hirer) = (key.ask, key.contract.clone());
                let stimulus = Input::Stimulus { from: Sender::Contract(key), what: what.clone() };
                self.later(DELIVERY, Event::Input(to.clone(), stimulus));
                let answer = Answer::Delivered;
                self.later(DELIVERY, Event::Input(hirer, Input::Answer { id, answer, cost: free }));
            }
            Ask::Check(_) | Ask::Question { .. } => unreachable!("the script has neither checks nor questions"),
        }
    }

    fn send_calls(&mut self) {
        while self.in_flight < self.permits {
            let Some((key, request)) = self.waiting.pop_front() else { return };
            self.in_flight += 1;
            let half = u32::try_from(CALL_LENGTH / 2).expect("a short time");
            let length = u64::from(half) + u64::from(self.chance.below(2 * half));
            self.later(length, Event::Replied { key, request });
        }
    }

    /// Writes the reply to a request, and its cost.
    fn reply(&mut self, key: &AskKey, request: &Request) -> (Reply, Cost) {
        let last = request.turn == Turn::Last;
        let held_whole = self.contracts[&key.contract].brief().context.tokens();
        debug_assert_eq!(held_whole, 0, "no agent of the script is a fork");
        let agent = self.agents.get_mut(&key.contract).expect("the contract has an agent");
        let (mut text, mut calls) = agent.wants(last);
        let call_tokens = if matches!(agent.work, Work::Hirer(_)) { HIRE_TOKENS } else { TOOL_TOKENS } * calls;
        let cut = text + call_tokens > request.max_tokens;
        if cut {
            (text, calls) = (text.min(request.max_tokens), 0);
        }
        let output = text + if cut { 0 } else { call_tokens };
        // A request that is cut to fit still shows everything if it has room for the tokens that the provider counts.
        agent.saw_all &= !last || request.tokens >= agent.real;
        let input = agent.real.min(request.tokens);
        agent.real += u64::from(text);
        let whole = agent.part + text;
        let joined = if last { text } else { whole };
        if cut {
            agent.part += text;
        } else {
            (agent.part, agent.turns) = (0, agent.turns + 1);
        }
        let work = agent.work;
        agent.hired |= calls > 0;
        let price = |tokens: u64, price: Msat| tokens * price.get();
        let parts = price(input, self.prices.billed_input) + price(output.into(), self.prices.output);
        let cost = parts.div_ceil(1_000_000);
        self.outcomes.bill += cost;
        let calls = match work {
            _ if calls == 0 => Vec::new(),
            Work::Leaf { .. } => vec![self.tool()],
            Work::Hirer(tasks) => tasks.iter().map(|task| self.hire(task)).collect(),
        };
        let bytes = 4 * text + 60 + 150 * u32::try_from(calls.len()).expect("a few calls");
        let reply = Reply {
            reply: self.text(TextKind::Reply, bytes + 4 * text),
            words: Some(self.text(TextKind::Words, 4 * joined)),
            output: None,
            input_tokens: Some(input + STATUS_BYTES),
            used: Some(Tokens { input, cached: 0, output: output.into() }),
            size: OwnSize { bytes, tokens: output },
            cut: cut.then_some(Cut::MaxTokens),
            implausible: None,
            confirms: false,
            calls,
            verdict: Verdict::default(),
        };
        (reply, Cost::Known(Msat::capped(cost.into())))
    }

    fn tool(&mut self) -> Call {
        let call = ToolCall {
            tool: ToolName::parse("look").expect("a valid name"),
            arguments: self.text(TextKind::Arguments, 20),
            price: Msat::ZERO,
            effect: Effect::Pure,
            needs: PowerSet::default(),
            for_hires: false,
        };
        Call::Tool { call, approval: None }
    }

    fn hire(&mut self, task: &Task) -> Call {
        let hires = matches!(task.work, Work::Hirer(_));
        let words = self.text(TextKind::Task, 38);
        let tariff = self.tariff();
        Call::Hire(Box::new(Offer {
            agent: name("worker"),
            standing: Standing::AdHoc,
            label: None,
            task: words,
            task_key: words.hash,
            inherit: Inherit::Fresh,
            mode: task.mode,
            budget: task.said,
            share_max: None,
            heads: None,
            depth: None,
            deadline: None,
            terms: [].into(),
            adds: [].into(),
            fee: Msat::ZERO,
            payee: None,
            severance: tariff.last_min(),
            model_slot: 0,
            tariff,
            same_model: true,
            turns_max: 200,
            opening_bytes: if hires { HIRER_OPENING.0 } else { LEAF_OPENING.0 },
            opening: None,
            powers: Powers::default(),
            hiring: hires.then(team),
            checks: [].into(),
        }))
    }
}

impl<'a> Agent<'a> {
    fn new(work: &'a Work, real: u64) -> Agent<'a> {
        Agent { work, real, turns: 0, part: 0, hired: false, saw_all: true }
    }

    /// Returns how many tokens of text it writes next, and how many calls it makes.
    fn wants(&self, last: bool) -> (u32, u32) {
        match self.work {
            Work::Hirer(tasks) if !self.hired && !last => {
                (HIRING_TOKENS, u32::try_from(tasks.len()).expect("a few tasks"))
            }
            Work::Hirer(_) => (60, 0),
            Work::Leaf { tokens, .. } if last => ((*tokens).min(LAST_TOKENS), 0),
            Work::Leaf { turns, tokens } => (tokens.saturating_sub(self.part), u32::from(self.turns + 1 < *turns)),
        }
    }
}

fn team() -> Hiring {
    Hiring { team: [].into(), ad_hoc: true, recursive: false }
}

fn name(name: &str) -> AgentName {
    AgentName::parse(name).expect("a valid name")
}
