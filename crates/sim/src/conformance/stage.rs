//! Where a script is played: its model and its tool, as any engine may be given them. They remember what they were asked, so
//! that an engine which asks again after a crash gets the same.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{pending, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use guildhall_agent::{
    AgentRuntime, Attempt, Hired, Model, Prompt, Task, Text, Tool, ToolResult, ToolSpec, ToolTerms, Watch,
};
use guildhall_kernel::{AskKey, Brief, Effect, Fact, Path, Stimulus, Stored};
use serde_json::{Value, json};

use super::script::{Brings, Script, price, redactor};
use crate::scenario::sat;

/// How the owner's words reach a contract: whom, the number of the command, what, and its texts.
pub type Tell = Arc<dyn Fn(&Path, u64, Stimulus, Vec<Text>) + Send + Sync>;

/// One playing of a script.
pub struct Stage {
    script: Script,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tell: Option<Tell>,
    shown: BTreeMap<String, Prompt>,
    played: BTreeSet<String>,
    answered: BTreeSet<String>,
    waiting: Vec<Waker>,
}

/// The model and the tool of a stage.
struct Actor(Arc<Stage>);

impl Stage {
    /// Sets a script up.
    pub fn new(script: &Script) -> Arc<Stage> {
        Arc::new(Stage { script: script.clone(), state: Mutex::default() })
    }

    /// Returns the seat of whoever works on a brief.
    pub fn runtime(self: &Arc<Stage>, brief: &Brief) -> AgentRuntime {
        let actor = Arc::new(Actor(Arc::clone(self)));
        AgentRuntime {
            team: self.script.teams.get(&brief.agent).cloned(),
            hired: Hired::of(brief),
            system: "You look at the sky and say what you see.".to_owned(),
            model: Arc::clone(&actor) as Arc<dyn Model>,
            window: self.script.window,
            price: Arc::new(price),
            tools: BTreeMap::from([("look".to_owned(), actor as Arc<dyn Tool>)]),
            redactor: redactor(),
        }
    }

    /// Says how the owner's words reach a contract from now on.
    pub fn connect(&self, tell: Tell) {
        self.state().tell = Some(tell);
    }

    /// Is to be told each fact once it is durable: some things happen only after others.
    pub fn observe(&self, stored: &Stored) {
        if let Fact::Answered { id, .. } = &stored.fact {
            let mut state = self.state();
            state.answered.insert(AskKey { contract: stored.contract.clone(), ask: *id }.to_string());
            state.waiting.drain(..).for_each(Waker::wake);
        }
    }

    /// Returns the asks that the script has a line for and that nobody made.
    pub fn unplayed(&self) -> Vec<&'static str> {
        let state = self.state();
        self.script.lines.keys().filter(|key| !state.played.contains(**key)).copied().collect()
    }

    /// Returns what each model call was shown.
    pub(crate) fn shown(&self) -> BTreeMap<String, Prompt> {
        self.state().shown.clone()
    }

    /// Waits for its turn, lets the owner do their part, and says what an ask brings.
    async fn play(&self, key: &AskKey) -> Brings {
        let line = self.script.lines.get(key.to_string().as_str());
        let line = line.unwrap_or_else(|| panic!("{}: nobody expects {key}", self.script.name));
        self.state().played.insert(key.to_string());
        if let Some(before) = line.after {
            self.answered(before).await;
        }
        let tell = self.state().tell.clone();
        for (command, what, texts) in &line.tells {
            let tell = tell.as_ref().expect("the owner is connected");
            tell(&key.contract, *command, what.clone(), texts.clone());
        }
        line.brings.clone()
    }

    async fn answered(&self, key: &str) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.answered.contains(key) {
                return Poll::Ready(());
            }
            state.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it was held left it whole: each change is one insert.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Actor {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        let Actor(stage) = self;
        let before = stage.state().shown.insert(prompt.key.to_string(), prompt.clone());
        let same = before.is_none_or(|before| before == *prompt);
        assert!(same, "{}: {} is asked again with another prompt", stage.script.name, prompt.key);
        Box::pin(async move {
            match stage.play(&prompt.key).await {
                Brings::Model(attempt) => attempt,
                Brings::Nothing => pending().await,
                Brings::Tool(_) => panic!("{}: {} is no tool call", stage.script.name, prompt.key),
            }
        })
    }
}

impl Tool for Actor {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"at": {"type": "string"}}});
        ToolSpec { name: "look".to_owned(), description: "Looks at something.".to_owned(), schema }
    }

    fn terms(&self) -> ToolTerms {
        ToolTerms { price: sat(2), effect: Effect::Pure, needs: vec![].into() }
    }

    fn call<'a>(&'a self, key: &'a AskKey, _: &'a Value) -> Task<'a, ToolResult> {
        let Actor(stage) = self;
        Box::pin(async move {
            match stage.play(key).await {
                Brings::Tool(result) => result,
                Brings::Nothing => pending().await,
                Brings::Model(_) => panic!("{}: {key} is no model call", stage.script.name),
            }
        })
    }
}
