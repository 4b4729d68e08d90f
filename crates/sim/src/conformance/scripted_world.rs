//! The model and the tool of a script, for any engine. They remember their answers, so that an engine that asks again
//! after a crash gets the same answer.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{pending, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use guildhall_agent::{
    AgentRuntime, Attempt, Hired, Model, Profile, Prompt, Reported, Task, Text, Tool, ToolResult, ToolSpec, ToolTerms,
    Usage, Watch,
};
use guildhall_kernel::{AskKey, Brief, Effect, Fact, Path, Sender, Stimulus, Stored};
use serde_json::{Value, json};

use super::script::{INPUT, Instruction, Response, Script, price, redactor};
use crate::scenario::sat;

/// A report of fewer tokens than a sixteenth of the bytes can't be right.
const BYTES_PER_TOKEN_MAX: u64 = 16;

/// Sends a command of the owner to a contract: the contract, the number of the command, the stimulus, and its texts. Returns
/// whether the contract runs: after a crash, it may not have begun again.
pub type SendStimulus = Arc<dyn Fn(&Path, u64, Stimulus, Vec<Text>) -> bool + Send + Sync>;

/// The world of one run of a script.
pub struct ScriptedWorld {
    script: Script,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tell: Option<SendStimulus>,
    shown: BTreeMap<String, Prompt>,
    played: BTreeSet<String>,
    happened: BTreeSet<String>,
    waiting: Vec<Waker>,
}

/// The model and the tool of a script.
struct ScriptedPeer(Arc<ScriptedWorld>);

impl ScriptedWorld {
    /// Prepares a script.
    pub fn new(script: &Script) -> Arc<ScriptedWorld> {
        Arc::new(ScriptedWorld { script: script.clone(), state: Mutex::default() })
    }

    /// Returns the runtime of the agent that works on a brief.
    pub fn runtime(self: &Arc<ScriptedWorld>, brief: &Brief) -> AgentRuntime {
        let scripted = Arc::new(ScriptedPeer(Arc::clone(self)));
        let tools = BTreeMap::from([("look".to_owned(), Arc::clone(&scripted) as Arc<dyn Tool>)]);
        let (team, tariff) = (self.script.teams.get(&brief.agent).cloned(), brief.tariff);
        let profile = Profile::new("You look at the sky and say what you see.", tools, team, Hired::of(brief));
        AgentRuntime {
            profile: Arc::new(profile),
            model: scripted,
            window: self.script.window,
            price: Arc::new(move |usage| price(tariff, usage)),
            counts: Arc::default(),
            redactor: redactor(),
        }
    }

    /// Sets the function that sends the owner's commands.
    pub fn connect(&self, tell: SendStimulus) {
        self.state().tell = Some(tell);
    }

    /// Must be called with each fact once it is durable: some answers wait for other events.
    pub fn observe(&self, stored: &Stored) {
        let contract = &stored.contract;
        let event = if let Fact::Answered { id, .. } = &stored.fact {
            AskKey { contract: contract.clone(), ask: *id }.to_string()
        } else if let Fact::Heard { from, .. } = &stored.fact {
            match from {
                Sender::Contract(key) => format!("{key} heard"),
                Sender::Owner { command } => format!("{contract} heard {command}"),
            }
        } else {
            return;
        };
        let mut state = self.state();
        state.happened.insert(event);
        state.waiting.drain(..).for_each(Waker::wake);
    }

    /// Returns the asks that have a line in the script and were never made.
    pub fn unused_lines(&self) -> Vec<&'static str> {
        let state = self.state();
        self.script.lines.keys().filter(|key| !state.played.contains(**key)).copied().collect()
    }

    /// Returns the prompt of each model call.
    pub(crate) fn shown(&self) -> BTreeMap<String, Prompt> {
        self.state().shown.clone()
    }

    /// Waits until what must come before has happened, sends the owner's commands, and returns the response to an ask.
    async fn respond(&self, key: &AskKey) -> Response {
        let line = self.script.lines.get(key.to_string().as_str());
        let line = line.unwrap_or_else(|| panic!("{}: the script has no line for {key}", self.script.name));
        self.state().played.insert(key.to_string());
        for before in &line.after {
            self.happened(before).await;
        }
        for instruction in &line.tells {
            self.instruct(instruction, &key.contract).await;
        }
        if let Some(event) = line.until {
            self.happened(event).await;
        }
        line.response.clone()
    }

    /// Sends a command of the owner, if the contract has not heard the command before a crash.
    async fn instruct(&self, instruction: &Instruction, asker: &Path) {
        let Instruction { to, command, what, texts } = instruction;
        let to = to.as_ref().unwrap_or(asker);
        let heard = format!("{to} heard {command}");
        poll_fn(|context| {
            let tell = self.state().tell.clone().expect("the engine has called `connect`");
            if self.state().happened.contains(&heard) || tell(to, *command, what.clone(), texts.clone()) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    async fn happened(&self, key: &str) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.happened.contains(key) {
                return Poll::Ready(());
            }
            state.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic can't leave the state half changed: each change is one insert.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for ScriptedPeer {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        let ScriptedPeer(world) = self;
        let shown = timeless(prompt);
        let before = world.state().shown.insert(prompt.key.to_string(), shown.clone());
        let same = before.is_none_or(|before| before == shown);
        assert!(same, "{}: {} is asked again with a different prompt", world.script.name, prompt.key);
        Box::pin(async move {
            match world.respond(&prompt.key).await {
                Response::Model(attempt) => plausible(attempt, prompt),
                Response::Nothing => pending().await,
                Response::Tool(_) => panic!("{}: {} is not a tool call", world.script.name, prompt.key),
            }
        })
    }
}

/// Returns a prompt without the time that is left, which differs between engines.
fn timeless(prompt: &Prompt) -> Prompt {
    let timeless = |status: &String| match status.rsplit_once("; ") {
        Some((before, time)) if time.ends_with(" s left]") => format!("{before}]"),
        Some(_) | None => status.clone(),
    };
    Prompt { status: prompt.status.as_ref().map(timeless), ..prompt.clone() }
}

/// Raises the scripted usage of a reply to the least that can be right for its bytes. Other numbers stay as they are.
fn plausible(mut attempt: Attempt, prompt: &Prompt) -> Attempt {
    if let (Ok(reply), Reported::Whole(usage)) = (&attempt.outcome, &mut attempt.usage)
        && usage.input == INPUT
    {
        let bytes = Usage::in_bytes(prompt, reply);
        usage.input = usage.input.max(bytes.input / BYTES_PER_TOKEN_MAX);
        usage.output = usage.output.max(bytes.output / BYTES_PER_TOKEN_MAX);
    }
    attempt
}

impl Tool for ScriptedPeer {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"at": {"type": "string"}}});
        ToolSpec { name: "look".to_owned(), description: "Looks at something.".to_owned(), schema }
    }

    fn terms(&self) -> ToolTerms {
        ToolTerms { price: sat(2), effect: Effect::Pure, needs: vec![].into() }
    }

    fn call<'a>(&'a self, key: &'a AskKey, _: &'a Value) -> Task<'a, ToolResult> {
        let ScriptedPeer(world) = self;
        Box::pin(async move {
            match world.respond(key).await {
                Response::Tool(result) => result,
                Response::Nothing => pending().await,
                Response::Model(_) => panic!("{}: {key} is not a model call", world.script.name),
            }
        })
    }
}
