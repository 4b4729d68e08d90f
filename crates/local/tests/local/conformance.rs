//! Compares the engine on one machine with the simulator's reference engine: the same script must give the same facts. Each
//! script runs on a real journal, once without a crash and once with a crash after every batch of facts.

use std::path::Path as FilePath;
use std::sync::Arc;

use guildhall_kernel::Stored;
use guildhall_laws::Checker;
use guildhall_local::{
    AgentEnv, CallLimiter, FindEnv, Journal, JournalError, Lease, NewSession, Overruns, Replays, SessionEngine,
    SessionId, unix_now,
};
use guildhall_sim::conformance::{Script, ScriptResult, ScriptedWorld, reference, scripts};

fn session() -> SessionId {
    "session".parse().unwrap()
}

/// When a process crashes.
#[derive(Clone, Copy)]
enum Crash {
    Never,
    /// After it has stored its first fact.
    AfterFirstFact,
}

/// Runs one process on a script. Returns whether the contract ended.
async fn process(dir: &FilePath, script: &Script, stage: &Arc<ScriptedWorld>, crash: Crash) -> bool {
    let journal = Journal::open(dir).unwrap();
    if journal.sessions().await.unwrap().is_empty() {
        let (project, label) = ("/project".into(), "test".into());
        journal.create(NewSession { id: session(), created_at: unix_now(), project, label }).await.unwrap();
    }
    let lease = lease(&journal).await;
    let (limiter, tools, runtimes) = (Arc::new(CallLimiter::new(8)), Arc::new(CallLimiter::new(8)), Arc::clone(stage));
    let find_env: FindEnv = Arc::new(move |brief| AgentEnv {
        runtime: Arc::new(runtimes.runtime(brief)),
        limiter: Arc::clone(&limiter),
        tools: Arc::clone(&tools),
        replays: Replays::Yes,
        watch: Arc::new(|_, _, _| {}),
        exists: Arc::new(|_| false),
    });
    let engine = SessionEngine::open(journal.clone(), lease, find_env, Overruns::Allow, None).await.unwrap();
    let owner = engine.clone();
    stage.connect(Arc::new(move |to, command, what, texts| owner.tell(to, command, what, texts)));
    let ended = tokio::select! {
        report = engine.run(Arc::clone(&script.brief), script.texts.clone()) => {
            assert_eq!(report.unwrap().outcome, script.outcome, "{}", script.name);
            true
        }
        () = watch(&journal, stage, crash) => false,
    };
    // The stage drops its engine, and with it the lease of the session.
    stage.connect(Arc::new(|_, _, _, _| true));
    drop(engine);
    journal.close().await;
    ended
}

/// Takes the lease of the session as soon as the previous process has released it.
async fn lease(journal: &Journal) -> Lease {
    loop {
        match journal.lease(&session(), unix_now()).await {
            Err(JournalError::Held { .. }) => tokio::task::yield_now().await,
            taken => return taken.unwrap(),
        }
    }
}

/// Passes durable facts to the stage, until the process crashes.
async fn watch(journal: &Journal, stage: &ScriptedWorld, crash: Crash) {
    let known = journal.head(&session()).await.unwrap().facts;
    let mut facts = journal.subscribe(&session(), 1);
    loop {
        let stored = facts.next().await.unwrap();
        stage.observe(&stored);
        match crash {
            Crash::AfterFirstFact if stored.seq > known => return,
            Crash::AfterFirstFact | Crash::Never => {}
        }
    }
}

/// Runs a script in as many processes as needed. Returns the stored facts.
async fn play(script: &Script, crash: Crash) -> (Vec<Stored>, ScriptResult) {
    let (dir, stage) = (tempfile::tempdir().unwrap(), ScriptedWorld::new(script));
    while !process(dir.path(), script, &stage, crash).await {}
    let journal = Journal::open(dir.path()).unwrap();
    let stored = journal.facts(&session(), 1).await.unwrap();
    let played = ScriptResult::new(&stored, &stage);
    (stored, played)
}

async fn conforms(crash: Crash) {
    for script in scripts() {
        let stage = ScriptedWorld::new(&script);
        let expected = ScriptResult::new(&reference(&script, &stage), &stage);
        let (stored, played) = play(&script, crash).await;
        for (contract, facts) in &expected.facts {
            let stored = played.facts.get(contract).map(Vec::as_slice).unwrap_or_default();
            for (at, fact) in facts.iter().enumerate() {
                assert_eq!(stored.get(at), Some(fact), "{}: fact {at} of {contract}", script.name);
            }
        }
        for (key, prompt) in &expected.shown {
            assert_eq!(played.shown.get(key), Some(prompt), "{}: {key}", script.name);
        }
        assert_eq!(played, expected, "{}", script.name);
        let mut checker = Checker::new();
        let broken: Vec<_> = stored.iter().flat_map(|stored| checker.observe(stored)).collect();
        assert_eq!((broken, checker.at_end()), (vec![], vec![]), "{}", script.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_script_gives_the_same_facts_as_the_reference() {
    conforms(Crash::Never).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_script_gives_the_same_facts_with_a_crash_after_every_step() {
    conforms(Crash::AfterFirstFact).await;
}
