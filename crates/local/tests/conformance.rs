//! The engine on one machine, held against the simulator's reference: same script, same facts. On a real journal, at one go and
//! with a crash after every batch of facts.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::path::Path as FilePath;
use std::sync::Arc;

use guildhall_kernel::Stored;
use guildhall_laws::Checker;
use guildhall_local::{
    AgentEnv, CallLimiter, FindEnv, Journal, JournalError, Lease, NewSession, Overruns, Replays, SessionEngine,
    SessionId, UnixMs,
};
use guildhall_sim::conformance::{Script, ScriptResult, ScriptedWorld, reference, scripts};

fn session() -> SessionId {
    "session".parse().unwrap()
}

/// When a process dies.
#[derive(Clone, Copy)]
enum Dies {
    Never,
    /// As soon as it has stored something.
    AtOnce,
}

/// Runs one process on a script. Returns whether it came to the end.
async fn process(dir: &FilePath, script: &Script, stage: &Arc<ScriptedWorld>, dies: Dies) -> bool {
    let journal = Journal::open(dir).unwrap();
    if journal.sessions().await.unwrap().is_empty() {
        let (project, label) = ("/project".into(), "test".into());
        journal.create(NewSession { id: session(), created_at: UnixMs::now(), project, label }).await.unwrap();
    }
    let lease = lease(&journal).await;
    let (limiter, tools, runtimes) = (Arc::new(CallLimiter::new(8)), Arc::new(CallLimiter::new(8)), Arc::clone(stage));
    let find_env: FindEnv = Arc::new(move |brief| {
        Some(AgentEnv {
            runtime: Arc::new(runtimes.runtime(brief)),
            limiter: Arc::clone(&limiter),
            tools: Arc::clone(&tools),
            replays: Replays::Yes,
            watch: Arc::new(|_, _| {}),
            exists: Arc::new(|_| false),
        })
    });
    let engine = SessionEngine::open(journal.clone(), lease, find_env, Overruns::Allow).await.unwrap();
    let owner = engine.clone();
    stage.connect(Arc::new(move |to, command, what, texts| {
        owner.tell(to, command, what, texts);
    }));
    let ended = tokio::select! {
        report = engine.run(Arc::clone(&script.brief), script.texts.clone()) => {
            assert_eq!(report.unwrap().outcome, script.outcome, "{}", script.name);
            true
        }
        () = watch(&journal, stage, dies) => false,
    };
    // The stage lets go of the office, and so of the session.
    stage.connect(Arc::new(|_, _, _, _| {}));
    drop(engine);
    journal.close().await;
    ended
}

/// Takes the session as soon as what is left of the process before has let go of it.
async fn lease(journal: &Journal) -> Lease {
    loop {
        match journal.lease(&session(), UnixMs::now()).await {
            Err(JournalError::Held { .. }) => tokio::task::yield_now().await,
            taken => return taken.unwrap(),
        }
    }
}

/// Tells the stage what is durable, until the process dies.
async fn watch(journal: &Journal, stage: &ScriptedWorld, dies: Dies) {
    let known = journal.head(&session()).await.unwrap().facts;
    let mut facts = journal.subscribe(&session(), 1);
    loop {
        let stored = facts.next().await.unwrap();
        stage.observe(&stored);
        match dies {
            Dies::AtOnce if stored.seq > known => return,
            Dies::AtOnce | Dies::Never => {}
        }
    }
}

/// Plays a script through as many processes as it takes. Returns what they stored.
async fn play(script: &Script, dies: Dies) -> (Vec<Stored>, ScriptResult) {
    let (dir, stage) = (tempfile::tempdir().unwrap(), ScriptedWorld::new(script));
    while !process(dir.path(), script, &stage, dies).await {}
    let journal = Journal::open(dir.path()).unwrap();
    let stored = journal.facts(&session(), 1).await.unwrap();
    let played = ScriptResult::new(&stored, &stage);
    (stored, played)
}

async fn conforms(dies: Dies) {
    for script in scripts() {
        let stage = ScriptedWorld::new(&script);
        let expected = ScriptResult::new(&reference(&script, &stage), &stage);
        let (stored, played) = play(&script, dies).await;
        for (contract, facts) in &expected.facts {
            assert_eq!(played.facts.get(contract), Some(facts), "{}: {contract}", script.name);
        }
        assert_eq!(played, expected, "{}", script.name);
        let mut checker = Checker::new();
        let broken: Vec<_> = stored.iter().flat_map(|stored| checker.observe(stored)).collect();
        assert_eq!((broken, checker.at_end()), (vec![], vec![]), "{}", script.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_script_gives_the_same_facts_as_the_reference() {
    conforms(Dies::Never).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_script_gives_the_same_facts_with_a_crash_after_every_step() {
    conforms(Dies::AtOnce).await;
}
