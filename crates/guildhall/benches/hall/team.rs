//! The measured team: agents with a program in place of the model, which hires, reports or never answers. The program itself is not
//! measured, and uses only the public interface of the library.

use std::fs;
use std::path::Path as FilePath;
use std::sync::Arc;

use guildhall::agent::roster::{Roster, Source};
use guildhall::agent::{Attempt, Message, Model, Prompt, RawCall, Reply, Reported, Stop, Task, Usage, Watch, Wire};
use guildhall::kernel::{AgentName, Msat};
use guildhall::local::Replays;
use guildhall::providers::{LOCAL_PRICE, Rate};
use guildhall::{DatedRate, Hall, Models, Running};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The most calls of one reply, rounded down.
const HIRES_PER_REPLY: usize = 1000;

/// The grant of each hire of a lead, in satoshis. It is fixed, because a lead that hires in several replies can't share out all its
/// money in the first.
const GRANT_SAT: u64 = 50;

/// The budget: more than any tree here shares out.
const BUDGET_SAT: u64 = 1_000_000_000_000;

/// A tree of agents.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// One lead and this many hires in the background.
    Wide(usize),
    /// Each agent hires `fan_out` agents, down to `levels` levels below the first.
    Tree { fan_out: usize, levels: usize },
}

impl Shape {
    /// The number of agents.
    pub(crate) fn agents(self) -> usize {
        match self {
            Shape::Wide(hires) => 1 + hires,
            Shape::Tree { fan_out, levels } => (0..=levels).map(|level| fan_out.pow(level_power(level))).sum(),
        }
    }

    /// The number of agents that do not hire.
    pub(crate) fn leaves(self) -> usize {
        match self {
            Shape::Wide(hires) => hires,
            Shape::Tree { fan_out, levels } => fan_out.pow(level_power(levels)),
        }
    }

    fn first(self) -> &'static str {
        match self {
            Shape::Wide(_) => "lead",
            Shape::Tree { .. } => "worker",
        }
    }
}

fn level_power(level: usize) -> u32 {
    u32::try_from(level).expect("few levels")
}

/// What an agent does that does not hire.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    Waits,
    Reports,
}

/// The program in place of the model.
struct Script {
    shape: Shape,
    leaf: Leaf,
    /// The number of running calls that never return.
    waiting: watch::Sender<usize>,
}

/// A call that never returns, until it is dropped.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn begin(waiting: &'a watch::Sender<usize>) -> Waiting<'a> {
        waiting.send_modify(|count| *count += 1);
        Waiting(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Script {
    /// The numbers of the hires that are not made yet.
    fn hires(&self, prompt: &Prompt) -> std::ops::Range<usize> {
        let level = prompt.key.contract.level();
        let replies = prompt.messages.iter().filter(|message| matches!(message, Message::Assistant(_))).count();
        match self.shape {
            Shape::Wide(hires) if level == 0 => {
                (replies * HIRES_PER_REPLY).min(hires)..((replies + 1) * HIRES_PER_REPLY).min(hires)
            }
            Shape::Tree { fan_out, levels } if level < levels && replies == 0 => 0..fan_out,
            Shape::Wide(_) | Shape::Tree { .. } => 0..0,
        }
    }

    /// The arguments of a hire. Each task is different, because an agent can't hire for its own task.
    fn arguments(&self, prompt: &Prompt, number: usize) -> Value {
        let task = format!("Look at part {number} of {}.", prompt.key.contract);
        match self.shape {
            Shape::Wide(_) => json!({"specialty": "ada", "task": task, "budget": GRANT_SAT, "background": true}),
            Shape::Tree { .. } => json!({"specialty": "worker", "task": task}),
        }
    }

    /// Whether this call is of an agent that does not hire and never answers.
    fn waits(&self, prompt: &Prompt) -> bool {
        let bottom = match self.shape {
            Shape::Wide(_) => 1,
            Shape::Tree { levels, .. } => levels,
        };
        self.leaf == Leaf::Waits && prompt.key.contract.level() == bottom
    }

    fn reply(&self, prompt: &Prompt) -> Reply {
        let call = |number| RawCall {
            id: format!("call-{number}"),
            name: "delegate_task".to_owned(),
            arguments: Ok(self.arguments(prompt, number)),
        };
        let calls: Vec<RawCall> = self.hires(prompt).map(call).collect();
        let words = calls.is_empty().then(|| "It is in order.".to_owned());
        let stop = if calls.is_empty() { Stop::End } else { Stop::Calls };
        Reply { wire: Wire::Inside, raw: json!({"words": words}), words, calls, stop, part: None }
    }
}

impl Model for Script {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(async move {
            if self.waits(prompt) {
                let _waiting = Waiting::begin(&self.waiting);
                std::future::pending::<()>().await;
            }
            let usage = Usage { input: 500, output: 50, ..Usage::default() };
            Attempt { outcome: Ok(self.reply(prompt)), usage: Reported::Whole(usage) }
        })
    }
}

/// A hall with its team.
pub(crate) struct Team {
    pub(crate) hall: Hall,
    shape: Shape,
    /// The number of running calls that never return.
    pub(crate) waiting: watch::Receiver<usize>,
}

impl Team {
    /// Opens a hall in this directory.
    pub(crate) fn open(dir: &FilePath, shape: Shape, leaf: Leaf) -> Team {
        let (project, data) = (dir.join("project"), dir.join("data"));
        fs::create_dir_all(&project).expect("a directory can be made");
        for (name, front) in [
            ("lead", "delegation:\n  team: [ada]\n"),
            ("ada", ""),
            ("worker", "delegation:\n  team: [worker]\n  recursive: true\n"),
        ] {
            let file = format!("---\nname: {name}\ndescription: Looks at parts.\n{front}---\nYou are {name}.\n");
            fs::write(project.join(format!("{name}.md")), file).expect("a file can be written");
        }
        let (waiting, count) = watch::channel(0);
        let rate = DatedRate { usd_per_btc: Rate::parse("100000").expect("a rate"), date: "2026-11-15".to_owned() };
        let script = Arc::new(Script { shape, leaf, waiting });
        let models = Models::new(rate).with_model("script", script, LOCAL_PRICE, Replays::Yes).with_default("script");
        let roster = Roster::load(&[Source::Named(project.clone())]);
        assert!(roster.problems().is_empty(), "{:?}", roster.problems());
        let models = models.with_calls_at_once(shape.agents());
        let hall =
            Hall::builder().data(data).project(project).models(models).roster(roster).build().expect("a hall opens");
        Team { hall, shape, waiting: count }
    }

    /// Starts the work.
    pub(crate) async fn begin(&self) -> Running {
        let first = AgentName::parse(self.shape.first()).expect("a name");
        let budget = Msat::from_sat(BUDGET_SAT).expect("there is so much");
        let work = self.hall.run("Look at everything.").entry(first).budget(budget).heads_max(u32::MAX);
        work.start().await.expect("the work is taken on")
    }

    /// Waits until this many calls that never return are running.
    pub(crate) async fn until_waiting(&mut self, calls: usize) {
        self.waiting.wait_for(|waiting| *waiting == calls).await.expect("the model is in the hall");
    }
}
