//! The keeper: sessions that are unloaded and resumed, an orderly stop, and faults that end one session alone.

use std::path::Path as FilePath;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use guildhall::kernel::{Answer, Path};
use guildhall::roster::Source;
use guildhall::{
    Ending, Fact, Hall, HallError, Instruction, Keeper, Msat, OnEnd, Price, Prompt, REHEARSAL_PRICE, Reply, Roster,
    SessionId, Started, WorkState, model_fn, tool_fn,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

async fn until(happened: impl AsyncFn() -> bool) {
    let wait = async {
        while !happened().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.expect("it happens in time");
}

/// The sessions whose work has ended: the text of the answer, or the error.
type Ends = Arc<Mutex<Vec<(SessionId, Result<String, String>)>>>;

fn ends() -> (Ends, OnEnd) {
    let ends = Ends::default();
    let seen = Arc::clone(&ends);
    let on_end: OnEnd = Arc::new(move |id, root, result| {
        assert_eq!(root, &Path::root(1));
        let result = result.map(|ended| ended.text.clone()).map_err(ToString::to_string);
        seen.lock().unwrap().push((id.clone(), result));
    });
    (ends, on_end)
}

async fn end_of(ends: &Ends, id: &SessionId) -> Result<String, String> {
    let find = || ends.lock().unwrap().iter().find(|(of, _)| of == id).map(|(_, result)| result.clone());
    until(async || find().is_some()).await;
    find().unwrap()
}

fn is_not_loaded(keeper: &Keeper, id: &SessionId) -> bool {
    matches!(keeper.state(id), WorkState::NotLoaded)
}

async fn facts(hall: &Hall, id: &SessionId) -> Vec<Fact> {
    hall.journal().facts(id, 1).await.unwrap().into_iter().map(|stored| stored.fact).collect()
}

fn lost(facts: &[Fact]) -> usize {
    facts.iter().filter(|fact| matches!(fact, Fact::Answered { answer: Answer::Lost, .. })).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_ends_the_work_of_one_session_alone() {
    let project = tempfile::tempdir().unwrap();
    let (go, panics) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(1)));
    let may_go = Arc::clone(&go);
    let clerk = model_fn(move |prompt| {
        let (may_go, panics) = (Arc::clone(&may_go), Arc::clone(&panics));
        async move {
            if prompt.last_words().is_some_and(|words| words.contains("Break")) {
                assert_eq!(panics.fetch_add(1, Ordering::Relaxed), 2, "a secret of the program");
            }
            may_go.acquire().await.unwrap().forget();
            Reply::words("On Tuesday.")
        }
    });
    let hall = Hall::builder().project(project.path()).model("clerk", clerk, Price::FREE).build().unwrap();
    let (ends, on_end) = ends();
    let keeper = Keeper::new(on_end);
    let sound = keeper.start(hall.run("When?")).await.unwrap().session;
    let broken = keeper.start(hall.run("Break.")).await.unwrap().session;
    let why = end_of(&ends, &broken).await.unwrap_err();
    assert!(why.contains("fault in this program") && !why.contains("secret"), "{why}");
    assert!(matches!(keeper.state(&broken), WorkState::Failed(why) if matches!(*why, HallError::Crashed(_))));
    assert!(matches!(keeper.state(&sound), WorkState::Works));
    assert_eq!((keeper.count(), hall.journal().under_way().await.unwrap().len()), (1, 2));
    go.add_permits(2);
    assert_eq!(end_of(&ends, &sound).await.unwrap(), "On Tuesday.");
    ends.lock().unwrap().clear();
    keeper.resume(&hall, &broken).await.unwrap();
    assert_eq!(end_of(&ends, &broken).await.unwrap(), "On Tuesday.");
    assert!(is_not_loaded(&keeper, &broken));
    assert!(hall.journal().under_way().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_awaits_a_person_is_unloaded_and_a_message_resumes_it() {
    let project = tempfile::tempdir().unwrap();
    let clerk = model_fn(|prompt| async move { Reply::words(format!("I read: {}", prompt.last_words().unwrap())) });
    let hall = Hall::builder().project(project.path()).model("clerk", clerk, REHEARSAL_PRICE).build().unwrap();
    let (ends, on_end) = ends();
    let keeper = Keeper::new(on_end).unload_after(Duration::ZERO);
    let Started { session, root } = keeper.start(hall.run("One.").open().budget(sat(500))).await.unwrap();
    for words in ["Two.", "Three."] {
        until(async || is_not_loaded(&keeper, &session)).await;
        assert_eq!(keeper.count(), 0);
        assert_eq!(
            hall.journal().under_way().await.unwrap(),
            std::slice::from_ref(&session),
            "the conversation is under way"
        );
        keeper.instruct(&hall, &session, &root, Instruction::Message(words.to_owned())).await.unwrap();
        until(async || {
            let facts = facts(&hall, &session).await;
            let heard = facts.iter().rposition(|fact| matches!(fact, Fact::Heard { .. }));
            heard.is_some_and(|at| facts[at..].iter().any(|fact| fact.said().is_some()))
        })
        .await;
    }
    keeper.end(&hall, &session, Ending::WrapUp).await.unwrap();
    assert!(end_of(&ends, &session).await.unwrap().contains("Three."));
    let view = hall.session(&session).await.unwrap();
    assert!(view.violations.is_empty(), "{:?}", view.violations);
    assert_eq!(lost(&facts(&hall, &session).await), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_can_t_be_resumed_ends_at_a_cancel_and_waits_at_every_other_instruction() {
    let (project, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let model = || model_fn(|_| async { Reply::words("Yes.") });
    let hall = |name: &str| {
        let builder = Hall::builder().data(data.path()).project(project.path());
        builder.model(name, model(), REHEARSAL_PRICE).build().unwrap()
    };
    let before = hall("clerk");
    let keeper = Keeper::new(ends().1).unload_after(Duration::ZERO);
    let Started { session, root } = keeper.start(before.run("Go.").open().budget(sat(500))).await.unwrap();
    until(async || is_not_loaded(&keeper, &session)).await;
    before.journal().clone().close().await;

    let after = hall("another-clerk");
    assert!(keeper.resume(&after, &session).await.is_err());
    for what in [Instruction::Message("Hurry.".to_owned()), Instruction::End(Ending::WrapUp)] {
        keeper.instruct(&after, &session, &root, what).await.unwrap();
        assert!(!after.session(&session).await.unwrap().ended());
    }
    keeper.instruct(&after, &session, &root, Instruction::End(Ending::Cancel)).await.unwrap();
    let view = after.session(&session).await.unwrap();
    assert!(view.ended() && view.violations.is_empty(), "{:?}", view.violations);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_during_unloading_are_all_read() {
    let project = tempfile::tempdir().unwrap();
    let clerk = model_fn(|_| async { Reply::words("Yes.") });
    let hall = Hall::builder().project(project.path()).model("clerk", clerk, REHEARSAL_PRICE).build().unwrap();
    let (ends, on_end) = ends();
    let keeper = Keeper::new(on_end).unload_after(Duration::ZERO);
    let Started { session, root } = keeper.start(hall.run("Go.").open().budget(sat(5000))).await.unwrap();
    // Each message comes at another moment after the reply before it, while the session is being unloaded.
    for number in 1..=40 {
        until(async || facts(&hall, &session).await.iter().filter(|fact| fact.said().is_some()).count() == number)
            .await;
        for _ in 0..number * 5 {
            tokio::task::yield_now().await;
        }
        let message = Instruction::Message(format!("Message {number}."));
        keeper.instruct(&hall, &session, &root, message).await.unwrap();
    }
    keeper.end(&hall, &session, Ending::Cancel).await.unwrap();
    end_of(&ends, &session).await.unwrap();
}

/// A team whose boss calls a tool that must not be repeated, and hires two helpers.
fn team(project: &FilePath) -> Roster {
    let agents = project.join("agents");
    if !agents.exists() {
        std::fs::create_dir(&agents).unwrap();
    }
    for (name, rest) in [("boss", "delegation:\n  team: [ada, bob]\n"), ("ada", ""), ("bob", "")] {
        let text = format!("---\nname: {name}\ndescription: Does a part.\n{rest}---\nYou are {name}.\n");
        std::fs::write(agents.join(format!("{name}.md")), text).unwrap();
    }
    Roster::load(&[Source::Named(agents)])
}

fn reply(prompt: &Prompt) -> Reply {
    let hire = |name: &str| json!({"specialty": name, "task": format!("Ask {name}."), "budget": 100});
    let is_boss = prompt.opening.system().starts_with("You are boss");
    match (is_boss, prompt.last_result()) {
        (true, None) => Reply::call("delegate_task", hire("ada")).and_call("delegate_task", hire("bob")),
        (false, None) => Reply::call("ring", json!({})),
        (_, Some(_)) => Reply::words("done"),
    }
}

/// A hall whose model needs a permit for each reply, and counts its calls.
struct World {
    hall: Hall,
    asked: Arc<AtomicUsize>,
    replies: Arc<Semaphore>,
    rings: Arc<AtomicUsize>,
}

impl World {
    fn new(project: &FilePath, calls_at_once: usize) -> World {
        let (asked, replies) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let rings = Arc::new(AtomicUsize::new(0));
        let (counted, may_reply, rung) = (Arc::clone(&asked), Arc::clone(&replies), Arc::clone(&rings));
        let clerk = model_fn(move |prompt| {
            counted.fetch_add(1, Ordering::Relaxed);
            let may_reply = Arc::clone(&may_reply);
            async move {
                may_reply.acquire().await.unwrap().forget();
                reply(&prompt)
            }
        });
        let bell = tool_fn("ring", "Rings once.", json!({"type": "object"}), move |_: Value| {
            rung.fetch_add(1, Ordering::Relaxed);
            async { String::from("rung") }
        });
        let models = guildhall::Models::default().with_calls_at_once(calls_at_once);
        let builder = Hall::builder().project(project).models(models).model("clerk", clerk, REHEARSAL_PRICE);
        World { hall: builder.tool(bell).roster(team(project)).build().unwrap(), asked, replies, rings }
    }

    async fn until_asked(&self, calls: usize) {
        until(async || self.asked.load(Ordering::Relaxed) == calls).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orderly_stop_lets_calls_end_and_sends_no_more_and_no_call_is_lost() {
    let project = tempfile::tempdir().unwrap();
    // The work needs five replies. It is stopped while the third is awaited, for all numbers of calls at once.
    for calls_at_once in [1, 2] {
        let world = World::new(project.path(), calls_at_once);
        let (_, on_end) = ends();
        let keeper = Keeper::new(on_end);
        let session = keeper.start(world.hall.run("Go.").budget(sat(1000))).await.unwrap().session;
        world.replies.add_permits(1);
        world.until_asked(1 + calls_at_once).await;
        let release = async {
            until(async || matches!(keeper.start(world.hall.run("Go.")).await, Err(HallError::Stopping))).await;
            world.replies.add_permits(10);
        };
        tokio::join!(keeper.shut_down(Duration::from_secs(20)), release);
        assert_eq!(world.asked.load(Ordering::Relaxed), 1 + calls_at_once, "no call was sent after the stop");
        assert_eq!(world.rings.load(Ordering::Relaxed), 0);
        let before = facts(&world.hall, &session).await;
        let said = before.iter().filter(|fact| fact.said().is_some()).count();
        assert_eq!((said, lost(&before)), (1 + calls_at_once, 0), "the answers are stored");
        assert_eq!((keeper.count(), world.hall.journal().under_way().await.unwrap()), (0, vec![session.clone()]));
        drop((keeper, world));

        let world = World::new(project.path(), calls_at_once);
        world.replies.add_permits(10);
        let ended = world.hall.resume(&session).await.unwrap().wait().await.unwrap();
        assert_eq!((ended.text.as_str(), &ended.violations), ("done", &Vec::new()));
        assert_eq!(lost(&facts(&world.hall, &session).await), 0, "no call is counted as lost");
        assert_eq!(world.asked.load(Ordering::Relaxed), 6 - 1 - calls_at_once, "no call was repeated");
        assert_eq!(world.rings.load(Ordering::Relaxed), 2, "each tool call was made once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_takes_longer_than_the_grace_period_is_cut_off_and_only_it_is_lost() {
    let project = tempfile::tempdir().unwrap();
    let world = World::new(project.path(), 1);
    let keeper = Keeper::new(ends().1);
    let session = keeper.start(world.hall.run("Go.").budget(sat(1000))).await.unwrap().session;
    world.replies.add_permits(1);
    world.until_asked(2).await;
    keeper.shut_down(Duration::from_millis(1)).await;
    drop((keeper, world));
    let world = World::new(project.path(), 1);
    world.replies.add_permits(10);
    let ended = world.hall.resume(&session).await.unwrap().wait().await.unwrap();
    assert_eq!(ended.text, "done");
    assert_eq!(lost(&facts(&world.hall, &session).await), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_a_hire_or_a_tool_ends_the_work_of_its_session() {
    for (panics, in_tool) in [("You are ada", false), ("You are bob", true)] {
        let project = tempfile::tempdir().unwrap();
        let clerk = model_fn(move |prompt: Prompt| async move {
            assert!(in_tool || !prompt.opening.system().starts_with(panics), "a secret of the program");
            reply(&prompt)
        });
        let bell = tool_fn("ring", "Rings once.", json!({"type": "object"}), move |_: Value| async move {
            assert!(!in_tool, "a secret of the program");
            String::from("rung")
        });
        let builder = Hall::builder().project(project.path()).model("clerk", clerk, REHEARSAL_PRICE).tool(bell);
        let hall = builder.roster(team(project.path())).build().unwrap();
        let (ends, on_end) = ends();
        let keeper = Keeper::new(on_end);
        let session = keeper.start(hall.run("Go.").budget(sat(1000))).await.unwrap().session;
        let why = end_of(&ends, &session).await.unwrap_err();
        assert!(why.contains("fault in this program"), "{why}");
        assert_eq!(keeper.count(), 0);
    }
}

#[tokio::test]
async fn a_stopped_keeper_starts_nothing() {
    let project = tempfile::tempdir().unwrap();
    let world = World::new(project.path(), 1);
    let keeper = Keeper::new(ends().1);
    keeper.shut_down(Duration::ZERO).await;
    let refused = keeper.start(world.hall.run("Go.").budget(sat(100))).await;
    assert!(matches!(refused, Err(HallError::Stopping)), "{refused:?}");
    assert!(world.hall.sessions().await.unwrap().is_empty(), "nothing was stored");
}

#[tokio::test]
async fn a_session_has_one_work_at_a_time() {
    let project = tempfile::tempdir().unwrap();
    let world = World::new(project.path(), 1);
    let keeper = Keeper::new(ends().1);
    let session = keeper.start(world.hall.run("Go.").budget(sat(100))).await.unwrap().session;
    let second = keeper.start(world.hall.run("Go.").after(session.clone())).await;
    assert!(matches!(second, Err(HallError::NotEnded(id)) if id == session));
    keeper.resume(&world.hall, &session).await.unwrap();
    assert_eq!(keeper.count(), 1);
}
