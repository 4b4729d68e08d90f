//! How much memory one of many calls needs: counted in bytes, not in time.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::alloc::System;
use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_agent::{
    AgentRuntime, Attempt, Hired, Model, Profile, Prompt, RawCall, Redactor, Reply, Reported, Stop, Task, Tool, Usage,
    Watch, task_key, tool_fn,
};
use guildhall_kernel::{
    AgentName, Brief, CloseWhen, Context, Effect, Grant, Heads, Lineage, Msat, Outcome, Path, Powers, Standing, Tariff,
    TextKind,
};
use guildhall_local::{AgentEnv, CallLimiter, Journal, NewSession, Overruns, Replays, SessionEngine, unix_now};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How many calls one reply makes.
const CALLS: usize = 1000;

/// More than everything else allocates, and less than a copy of the facts for each call, which would be a million facts.
const BYTES_MAX: usize = 80_000_000;

/// A model that makes many calls in one reply, then reports.
struct Busy;

impl Model for Busy {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        let call = |n| RawCall { id: format!("call-{n}"), name: "look".to_owned(), arguments: Ok(json!({})) };
        let reply = if prompt.last_result().is_some() {
            Reply::words("done")
        } else {
            Reply { calls: (0..CALLS).map(call).collect(), words: None, stop: Stop::Calls, ..Reply::words("") }
        };
        Box::pin(async { Attempt { outcome: Ok(reply), usage: Reported::Whole(Usage::default()) } })
    }
}

fn brief(redactor: &Redactor) -> (Arc<Brief>, Vec<guildhall_agent::Text>) {
    let task = redactor.text(TextKind::Task, "Look everywhere.");
    let brief = Brief {
        money_max: None,
        same_model: false,
        model_slot: 0,
        path: Path::root(1),
        agent: AgentName::parse("looker").unwrap(),
        standing: Standing::Listed,
        label: None,
        task: task.of,
        task_key: task_key(&task.says),
        terms: Arc::from([]),
        adds: Arc::from([]),
        grant: Grant { money: Msat::ZERO, heads: Heads(0), depth: 0, deadline: None, margin: None },
        fee: Msat::ZERO,
        payee: None,
        severance: Msat::ZERO,
        tariff: Tariff { input: Msat::ZERO, output: Msat::ZERO, max_tokens: 1000 },
        turns_max: 10,
        context: Context::Fresh,
        opening_bytes: 100,
        opening: None,
        lineage: Lineage::default(),
        powers: Powers::default(),
        hiring: None,
        checks: Arc::from([]),
        close_when: CloseWhen::FinalText,
    };
    (Arc::new(brief), vec![task])
}

/// The only test in this file, because the allocation counters belong to the whole process.
#[tokio::test]
async fn a_reply_of_a_thousand_calls_does_not_copy_the_contracts_facts_for_each() {
    let (dir, redactor) = (tempfile::tempdir().unwrap(), Redactor::new(Arc::new(|text: &str| text.into())));
    let (journal, id, now) = (Journal::open(dir.path()).unwrap(), "session".parse().unwrap(), unix_now());
    journal.create(NewSession { id, created_at: now, project: "/project".into(), label: "test".into() }).await.unwrap();
    let lease = journal.lease(&"session".parse().unwrap(), now).await.unwrap();
    let look = tool_fn("look", "Looks.", json!({"type": "object"}), |_: Value| async { "Nothing.".to_owned() });
    let look: Arc<dyn Tool> = Arc::new(look.effect(Effect::Pure));
    let profile = Profile::new("You look.", BTreeMap::from([("look".to_owned(), look)]), None, Hired::ByOwner);
    let runtime = AgentRuntime {
        profile: Arc::new(profile),
        model: Arc::new(Busy),
        window: 10_000_000,
        price: Arc::new(|_| Msat::ZERO),
        redactor: redactor.clone(),
        counts: Arc::default(),
    };
    let env = AgentEnv {
        runtime: Arc::new(runtime),
        limiter: Arc::new(CallLimiter::new(1)),
        tools: Arc::new(CallLimiter::new(16)),
        replays: Replays::Yes,
        watch: Arc::new(|_, _, _| {}),
        exists: Arc::new(|_| false),
    };
    let engine =
        SessionEngine::open(journal, lease, Arc::new(move |_| env.clone()), Overruns::Allow, None).await.unwrap();
    let (brief, texts) = brief(&redactor);
    let region = Region::new(ALLOCATOR);
    let report = engine.run(brief, texts).await.unwrap();
    let bytes = region.change().bytes_allocated;
    assert_eq!(report.outcome, Outcome::Done);
    assert!(bytes < BYTES_MAX, "{bytes} bytes for {CALLS} calls");
}
