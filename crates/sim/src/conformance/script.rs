//! What a script may say: for each ask, by its key, what the owner does meanwhile and what comes back.

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

use super::crew::hiring_of;
use crate::scenario::sat;

/// One thing that every engine must do alike.
#[derive(Clone, Debug)]
pub struct Script {
    /// What it shows.
    pub name: &'static str,
    /// What the root is hired for.
    pub brief: Arc<Brief>,
    /// The texts that the brief names.
    pub texts: Vec<Text>,
    /// How the root ends.
    pub outcome: Outcome,
    pub(crate) window: u64,
    /// Who has a team.
    pub(crate) teams: BTreeMap<AgentName, Arc<Team>>,
    pub(crate) lines: BTreeMap<&'static str, Line>,
}

/// What happens once an ask is performed: its turn comes, the owner speaks, then something comes back.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The ask that must have been answered before.
    pub(crate) after: Option<&'static str>,
    /// What the owner tells the contract that asked, by the numbers of the commands.
    pub(crate) tells: Vec<(u64, Stimulus, Vec<Text>)>,
    pub(crate) brings: Brings,
}

#[derive(Clone, Debug)]
pub(crate) enum Brings {
    Model(Attempt),
    Tool(ToolResult),
    /// It never ends by itself.
    Nothing,
}

impl Script {
    /// Begins a script whose root has this much money, and ends like this.
    pub(crate) fn new(name: &'static str, money: u64, outcome: Outcome) -> Script {
        let task = redactor().text(TextKind::Task, "Find out what the moon is made of.");
        let brief = Brief {
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

    /// Gives somebody else one.
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

impl From<Brings> for Line {
    fn from(brings: Brings) -> Line {
        Line { after: None, tells: Vec::new(), brings }
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

impl Brings {
    pub(crate) fn after(self, key: &'static str) -> Line {
        Line::from(self).after(key)
    }

    pub(crate) fn instruction(self, command: u64, what: (Stimulus, Vec<Text>)) -> Line {
        Line::from(self).instruction(command, what)
    }
}

/// A reply of words.
pub(crate) fn says(words: &str) -> Brings {
    Brings::Model(replies(Some(words), Vec::new(), 10))
}

/// A reply of calls to the one tool there is.
pub(crate) fn looks(ids: &[&str]) -> Brings {
    looks_at_length(ids, 10)
}

/// A reply of calls to any tools: by id, name and arguments.
pub(crate) fn calls(calls: &[(&str, &str, Value)]) -> Brings {
    let calls = calls.iter().map(|(id, name, arguments)| call(id, name, Ok(arguments.clone()))).collect();
    Brings::Model(replies(None, calls, 10))
}

/// The same, with so many tokens of output.
pub(crate) fn looks_at_length(ids: &[&str], output: u64) -> Brings {
    let call = |id: &&str| call(id, "look", Ok(json!({"at": id})));
    Brings::Model(replies(None, ids.iter().map(call).collect(), output))
}

pub(crate) fn call(id: &str, name: &str, arguments: Result<Value, String>) -> RawCall {
    RawCall { id: id.to_owned(), name: name.to_owned(), arguments }
}

pub(crate) fn replies(words: Option<&str>, calls: Vec<RawCall>, output: u64) -> Attempt {
    let stop = if calls.is_empty() { Stop::End } else { Stop::Calls };
    let words = words.map(str::to_owned);
    let reply = Reply { wire: Wire::Inside, raw: json!({"words": words}), words, calls, stop };
    Attempt { outcome: Ok(reply), usage: Reported::Whole(Usage { input: 100, output, ..Usage::default() }) }
}

/// No reply.
pub(crate) fn fails(why: ModelError) -> Brings {
    Brings::Model(Attempt { outcome: Err(why), usage: Reported::Nothing })
}

/// What the tool sees.
pub(crate) fn sees(text: &str) -> Brings {
    Brings::Tool(ToolResult { cost: sat(1), ..ToolResult::done(text) })
}

/// The owner has somebody hired.
pub(crate) fn hires(task: &str) -> (Stimulus, Vec<Text>) {
    let task = redactor().text(TextKind::Task, task);
    let offer = Offer {
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
        severance: sat(20),
        tariff: tariff(),
        turns_max: 5,
        opening_bytes: 400,
        powers: Powers::default(),
        hiring: None,
        checks: Arc::from([]),
    };
    (Stimulus::Hire(Box::new(offer)), vec![task])
}

/// The owner says something.
pub(crate) fn tells(words: &str) -> (Stimulus, Vec<Text>) {
    let text = redactor().text(TextKind::Message, words);
    (Stimulus::Message(text.of), vec![text])
}

/// The owner wants it to end soon.
pub(crate) fn wraps_up() -> (Stimulus, Vec<Text>) {
    (Stimulus::WrapUp, Vec::new())
}

/// The owner wants it to end now.
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
