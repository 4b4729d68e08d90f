//! Scripts: for each ask, by its key, the owner's commands and the response.

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_agent::{
    Attempt, ModelError, RawCall, Redactor, Reply, Reported, Stop, Team, Text, ToolResult, Usage, Wire, task_key,
};
use guildhall_kernel::{
    AgentName, Brief, CloseWhen, Context, Grant, Heads, Hiring, Inherit, Lineage, Mode, Msat, Offer, Outcome, Path,
    Powers, Standing, Stimulus, Tariff, TextKind,
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
    pub(crate) window: u64,
    /// The agents that have a team.
    pub(crate) teams: BTreeMap<AgentName, Arc<Team>>,
    pub(crate) lines: BTreeMap<&'static str, Line>,
}

/// The line for one ask: what it waits for, the owner's commands, and the response.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The ask that must have been answered before.
    pub(crate) after: Option<&'static str>,
    /// The owner's commands to the contract that asked, with their numbers.
    pub(crate) tells: Vec<(u64, Stimulus, Vec<Text>)>,
    pub(crate) response: Response,
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
        Script { name, brief: Arc::new(brief), texts: vec![task], outcome, window, teams, lines }
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

    pub(crate) fn window(self, window: u64) -> Script {
        Script { window, ..self }
    }

    pub(crate) fn line(mut self, key: &'static str, line: impl Into<Line>) -> Script {
        let before = self.lines.insert(key, line.into());
        assert!(before.is_none(), "{}: {key} has one line", self.name);
        self
    }
}

impl From<Response> for Line {
    fn from(response: Response) -> Line {
        Line { after: None, tells: Vec::new(), response }
    }
}

impl Line {
    pub(crate) fn after(self, key: &'static str) -> Line {
        Line { after: Some(key), ..self }
    }

    pub(crate) fn instruction(mut self, command: u64, (what, texts): (Stimulus, Vec<Text>)) -> Line {
        self.tells.push((command, what, texts));
        self
    }
}

impl Response {
    pub(crate) fn after(self, key: &'static str) -> Line {
        Line::from(self).after(key)
    }

    pub(crate) fn instruction(self, command: u64, what: (Stimulus, Vec<Text>)) -> Line {
        Line::from(self).instruction(command, what)
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
    let reply = Reply { wire: Wire::Inside, raw: json!({"words": words}), words, calls, stop, part: None };
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

pub(crate) fn price(usage: &Usage) -> Msat {
    Msat::capped(u128::from(usage.input) + u128::from(usage.output) * 100)
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::parse(name).expect("a name")
}
