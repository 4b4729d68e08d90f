//! Random replies and results: parsed, redacted, stored, and read back into a prompt. Nothing panics, everything stays readable, no
//! secret is stored, and a restored agent gets the same prompts as before.
//!
//! Each case has its own seed. `GUILDHALL_CASES` sets the number of cases, and `GUILDHALL_SEED` the first seed.

mod engine;
mod journal;
mod replies;
mod values;

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::thread;

use guildhall_agent::{CallFormat, History, Message, Part, Prompt, Wire};
use guildhall_kernel::{Ask, Contract, Fact, TextKind};
use guildhall_models::{BaseUrl, Endpoint, Form, body};
use serde_json::Value;

use crate::fuzz::engine::{Asked, Memory, block_on, work};
use crate::fuzz::replies::{Replies, secrets};

/// The default number of cases.
const CASES: u64 = 2000;

/// The number of threads.
const THREADS: usize = 4;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

/// The seeds of one in `one_in` cases.
fn seeds(one_in: u64) -> std::ops::Range<u64> {
    let first = number("GUILDHALL_SEED", 1);
    first..first + number("GUILDHALL_CASES", CASES).div_ceil(one_in)
}

/// All secrets, as they are and as JSON writes them.
static WRITTEN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let in_json = |secret: &String| Value::from(secret.as_str()).to_string().trim_matches('"').to_owned();
    secrets().iter().flat_map(|secret| [secret.clone(), in_json(secret)]).collect()
});

/// Checks that a text contains no secret.
fn assert_clean(what: &str, text: &str, seed: u64) {
    for secret in &*WRITTEN {
        assert!(!text.contains(secret), "seed {seed}: {secret:?} is in {what}: {text}");
    }
}

/// The engine of a new process: it has only the stored facts and texts of the old one.
fn restored(engine: &Memory, seed: u64) -> Memory {
    let facts = engine.facts.iter().map(|fact| {
        let written = serde_json::to_string(fact).unwrap();
        assert_clean("a fact", &written, seed);
        serde_json::from_str::<Fact>(&written).unwrap()
    });
    let facts: Vec<Fact> = facts.collect();
    Contract::restore(facts.clone()).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    for (of, says) in &engine.texts.0 {
        assert_clean("a text", says, seed);
        let is_json = matches!(of.kind, TextKind::Reply | TextKind::Arguments | TextKind::Output);
        assert!(!is_json || serde_json::from_str::<Value>(says).is_ok(), "seed {seed}: {:?} {says}", of.kind);
    }
    engine.with_facts(facts)
}

/// Checks the requests of both protocols for a prompt.
fn assert_showable(prompt: &Prompt, seed: u64) {
    let endpoint = Endpoint::new(BaseUrl::parse("http://127.0.0.1:1").unwrap(), None, "a-model");
    for (wire, calls) in
        [(Wire::Anthropic, CallFormat::Tools), (Wire::OpenAi, CallFormat::Tools), (Wire::OpenAi, CallFormat::Json)]
    {
        let form = Form { calls, ..Form::of(&endpoint) };
        let written = String::from_utf8(body(wire, &endpoint, prompt, form).unwrap()).unwrap();
        assert_clean("a request", &written, seed);
        serde_json::from_str::<Value>(&written).unwrap_or_else(|why| panic!("seed {seed}: {why}: {written}"));
    }
    let mut open: Vec<&str> = Vec::new();
    for message in &prompt.messages {
        match message {
            Message::Assistant(reply) => open = reply.calls.iter().map(|call| call.id.as_str()).collect(),
            Message::User(parts) => {
                let results = parts.iter().filter_map(|part| match part {
                    Part::Result { call, .. } => Some(call.as_str()),
                    Part::Words(_) => None,
                });
                let results: Vec<&str> = results.collect();
                assert!(results.iter().all(|id| open.contains(id)), "seed {seed}: {results:?} of {open:?}");
            }
        }
    }
}

/// Runs one case and returns the number of its calls.
fn check(seed: u64) -> usize {
    let engine = work(Replies::new(seed));
    let restored = restored(&engine, seed);
    for Asked { key, request, status, prompt } in &engine.asked {
        let history = History { before: &[], root_task: None, facts: &restored.facts, texts: &restored.texts };
        let asked = restored.runtime.ask(key.clone(), request, history, status, &|_| {}, &engine::clock);
        block_on(asked).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let again = restored.model.shown.lock().unwrap().pop().unwrap();
        assert_eq!(again, *prompt, "seed {seed}: {key}");
    }
    // The last prompt contains all earlier replies and results.
    let last = engine.asked.last().expect("a contract calls its model");
    assert_showable(&last.prompt, seed);
    let is_call = |fact: &&Fact| matches!(fact, Fact::Asked { ask: Ask::Tool(_), .. } | Fact::Refused { .. });
    engine.facts.iter().filter(is_call).count()
}

#[test]
fn any_reply_is_stored_and_gives_the_same_prompts_after_a_restore() {
    let seeds: Vec<u64> = seeds(1).collect();
    let share = seeds.len().div_ceil(THREADS).max(1);
    let calls: usize = thread::scope(|scope| {
        let tried = seeds.chunks(share).map(|seeds| scope.spawn(|| seeds.iter().copied().map(check).sum::<usize>()));
        let tried: Vec<_> = tried.collect();
        tried.into_iter().map(|tried| tried.join().expect("no case fails")).sum()
    });
    assert!(calls >= seeds.len(), "{calls} calls in {} cases", seeds.len());
}
