//! Scripts: for each ask, by its key, the owner's commands and the response.

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_agent::{
    Attempt, ModelError, RawCall, Redactor, Reply, Reported, Stop, Team, Text, ToolResult, Usage, Wire, task_key,
};
use guildhall_kernel::{
    AgentName, Brief, CloseWhen, Context, Grant, Heads, Hiring, Inherit, Lineage, Mode, Msat, Offer, Outcome, Path,
    Powers, Standing, Stimulus, Tariff, TextKind, TextRef,
};
use serde_json::{Value, json};

use super::teams::hiring_of;
use crate::scenario::sat;

/// A script that every engine must run with the same result.
#[derive(Clone, Debug)]
pub struct Script {
    /// What the script shows.
    pub name: &'static str,
    /// The brief of the root.
    pub brief: Arc<Brief>,
    /// The texts that the brief names.
    pub texts: Vec<Text>,
    /// How the root ends.
    pub outcome: Outcome,
    /// What the script shows: the events of some contracts, complete and in order.
    pub shows: Vec<(Path, &'static [&'static str])>,
    /// The text of the root's report, if the script says it.
    pub report: Option<TextRef>,
    pub(crate) window: u64,
    /// The agents that have a team.
    pub(crate) teams: BTreeMap<AgentName, Arc<Team>>,
    pub(crate) lines: BTreeMap<&'static str, Line>,
}

/// The line for one ask: what it waits for, the owner's commands, and the response.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What must have happened before: `1.1#2` was answered, the stimulus of `1.1#2` was heard (`1.1#2 heard`), or contract `1` has
    /// heard command 2 of the owner (`1 heard 2`).
    pub(crate) after: Vec<&'static str>,
    /// The owner's commands, which are sent then.
    pub(crate) tells: Vec<Instruction>,
    /// What must have happened between the commands and the response.
    pub(crate) until: Option<&'static str>,
    pub(crate) response: Response,
}

/// A command of the owner.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    /// The contract that receives the command, if that is not the contract that asked.
    pub(crate) to: Option<Path>,
    pub(crate) command: u64,
    pub(crate) what: Stimulus,
    pub(crate) texts: Vec<Text>,
}

#[derive(Clone, Debug)]
pub(crate) enum Response {
    Model(Attempt),
    Tool(ToolResult),
    /// The call never ends by itself.
    Nothing,
}

impl Script {
    /// Makes a script whose root has this much money and this outcome.
    pub(crate) fn new(name: &'static str, money: u64, outcome: Outcome) -> Script {
        let task = redactor().text(TextKind::Task, "Find out what the moon is made of.");
        let brief = Brief {
            money_max: None,
            same_model: false,
            model_slot: 0,
            path: Path::root(1),
            agent: agent("boss"),
            standing: Standing::Listed,
            label: None,
            task: task.of,
            task_key: task_key(&task.says),
            terms: Arc::from([]),
            adds: Arc::from([]),
            grant: Grant { money: sat(money), heads: Heads(4), depth: 1, deadline: None, margin: None },
            fee: Msat::ZERO,
            payee: None,
            severance: sat(20),
            tariff: tariff(),
            turns_max: 10,
            context: Context::Fresh,
            opening_bytes: 400,
            opening: None,
            lineage: Lineage::default(),
            powers: Powers::default(),
            hiring: Some(Hiring { team: Arc::from([agent("worker")]), ad_hoc: false, recursive: false }),
            checks: Arc::from([]),
            close_when: CloseWhen::FinalText,
        };
        let (window, teams, lines) = (100_000, BTreeMap::new(), BTreeMap::new());
        let (brief, shows) = (Arc::new(brief), Vec::new());
        Script { name, brief, texts: vec![task], outcome, shows, report: None, window, teams, lines }
    }

    /// Gives the boss a team.
    pub(crate) fn team(self, team: Team) -> Script {
        let hiring = hiring_of(&team);
        self.team_of("boss", team).with(|brief| brief.hiring = Some(hiring))
    }

    /// Gives an agent a team.
    pub(crate) fn team_of(mut self, name: &str, team: Team) -> Script {
        self.teams.insert(agent(name), Arc::new(team));
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Brief)) -> Script {
        change(Arc::make_mut(&mut self.brief));
        self
    }

    /// Says how the root ends, if not as `new` was told.
    pub(crate) fn ends(self, outcome: Outcome) -> Script {
        Script { outcome, ..self }
    }

    pub(crate) fn window(self, window: u64) -> Script {
        Script { window, ..self }
    }

    /// Says what events the contract has.
    pub(crate) fn shows(mut self, contract: &str, events: &'static [&'static str]) -> Script {
        self.shows.push((path(contract), events));
        self
    }

    /// Says what the root reports.
    pub(crate) fn reports(self, words: &str) -> Script {
        Script { report: Some(redactor().text(TextKind::Words, words).of), ..self }
    }

    pub(crate) fn line(mut self, key: &'static str, line: impl Into<Line>) -> Script {
        let before = self.lines.insert(key, line.into());
        assert!(before.is_none(), "{}: {key} has one line", self.name);
        self
    }
}

impl From<Response> for Line {
    fn from(response: Response) -> Line {
        Line { after: Vec::new(), tells: Vec::new(), until: None, response }
    }
}

impl Line {
    pub(crate) fn after(mut self, event: &'static str) -> Line {
        self.after.push(event);
        self
    }

    pub(crate) fn until(self, event: &'static str) -> Line {
        Line { until: Some(event), ..self }
    }

    pub(crate) fn instruction(mut self, command: u64, (what, texts): (Stimulus, Vec<Text>)) -> Line {
        self.tells.push(Instruction { to: None, command, what, texts });
        self
    }

    /// The owner sends a command to another contract than the one that asked.
    pub(crate) fn instructs(mut self, to: &str, command: u64, (what, texts): (Stimulus, Vec<Text>)) -> Line {
        self.tells.push(Instruction { to: Some(path(to)), command, what, texts });
        self
    }
}

impl Response {
    pub(crate) fn after(self, event: &'static str) -> Line {
        Line::from(self).after(event)
    }

    pub(crate) fn instruction(self, command: u64, what: (Stimulus, Vec<Text>)) -> Line {
        Line::from(self).instruction(command, what)
    }

    pub(crate) fn instructs(self, to: &str, command: u64, what: (Stimulus, Vec<Text>)) -> Line {
        Line::from(self).instructs(to, command, what)
    }
}

/// A reply with a text.
pub(crate) fn says(words: &str) -> Response {
    Response::Model(replies(Some(words), Vec::new(), 10))
}

/// A reply with calls of the tool `look`.
pub(crate) fn looks(ids: &[&str]) -> Response {
    looks_at_length(ids, 10)
}

/// A reply with calls of any tools: id, name and arguments.
pub(crate) fn calls(calls: &[(&str, &str, Value)]) -> Response {
    let calls = calls.iter().map(|(id, name, arguments)| call(id, name, Ok(arguments.clone()))).collect();
    Response::Model(replies(None, calls, 10))
}

/// A reply with calls of the tool `look` and this many output tokens.
pub(crate) fn looks_at_length(ids: &[&str], output: u64) -> Response {
    let call = |id: &&str| call(id, "look", Ok(json!({"at": id})));
    Response::Model(replies(None, ids.iter().map(call).collect(), output))
}

pub(crate) fn call(id: &str, name: &str, arguments: Result<Value, String>) -> RawCall {
    RawCall { id: id.to_owned(), name: name.to_owned(), arguments }
}

/// The input tokens of a scripted reply. For a long prompt, the world reports as few as can be right.
pub(crate) const INPUT: u64 = 100;

pub(crate) fn replies(words: Option<&str>, calls: Vec<RawCall>, output: u64) -> Attempt {
    let stop = if calls.is_empty() { Stop::End } else { Stop::Calls };
    let words = words.map(str::to_owned);
    let of = |call: &RawCall| json!({"id": call.id, "name": call.name, "arguments": call.arguments});
    let raw = json!({"words": words, "calls": calls.iter().map(of).collect::<Vec<_>>()});
    let reply = Reply { wire: Wire::Inside, raw, words, calls, stop, part: None };
    Attempt { outcome: Ok(reply), usage: Reported::Whole(Usage { input: INPUT, output, ..Usage::default() }) }
}

/// A failed model call.
pub(crate) fn fails(why: ModelError) -> Response {
    Response::Model(Attempt { outcome: Err(why), usage: Reported::Nothing })
}

/// A result of the tool.
pub(crate) fn sees(text: &str) -> Response {
    Response::Tool(ToolResult { cost: sat(1), ..ToolResult::done(text) })
}

/// The owner orders a hire.
pub(crate) fn hires(task: &str) -> (Stimulus, Vec<Text>) {
    let task = redactor().text(TextKind::Task, task);
    let offer = Offer {
        same_model: false,
        model_slot: 0,
        share_max: None,
        agent: agent("worker"),
        standing: Standing::Listed,
        label: None,
        task: task.of,
        task_key: task_key(&task.says),
        inherit: Inherit::Fresh,
        mode: Mode::Background,
        budget: Some(sat(100)),
        heads: None,
        depth: None,
        deadline: None,
        terms: Arc::from([]),
        adds: Arc::from([]),
        fee: Msat::ZERO,
        payee: None,
        severance: sat(20),
        tariff: tariff(),
        turns_max: 5,
        opening_bytes: 400,
        opening: None,
        powers: Powers::default(),
        hiring: None,
        checks: Arc::from([]),
    };
    (Stimulus::Hire(Box::new(offer)), vec![task])
}

/// The owner sends a message.
pub(crate) fn tells(words: &str) -> (Stimulus, Vec<Text>) {
    let text = redactor().text(TextKind::Message, words);
    (Stimulus::Message(text.of), vec![text])
}

/// The owner sends money for a contract.
pub(crate) fn tops_up(to: &str, money: u64) -> (Stimulus, Vec<Text>) {
    (Stimulus::TopUp { to: path(to), money: sat(money), draw: None }, Vec::new())
}

/// The owner asks the contract to wrap up.
pub(crate) fn wraps_up() -> (Stimulus, Vec<Text>) {
    (Stimulus::WrapUp, Vec::new())
}

/// The owner cancels the contract.
pub(crate) fn cancels() -> (Stimulus, Vec<Text>) {
    (Stimulus::Cancel, Vec::new())
}

pub(crate) fn redactor() -> Redactor {
    Redactor::new(Arc::new(|text: &str| text.into()))
}

/// A token of input costs one millisatoshi, a token of output a hundred.
pub(crate) fn tariff() -> Tariff {
    Tariff { input: sat(1000), output: sat(100_000), max_tokens: 100 }
}

/// Returns what usage costs at these prices.
pub(crate) fn price(tariff: Tariff, usage: &Usage) -> Msat {
    let cost = |price: Msat, tokens: u64| u128::from(price.get()) * u128::from(tokens);
    Msat::capped((cost(tariff.input, usage.input) + cost(tariff.output, usage.output)).div_ceil(1_000_000))
}

fn path(id: &str) -> Path {
    id.parse().expect("the id of a contract")
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::parse(name).expect("a name")
}
