//! Session time, as contracts live through it: it stands while only a person is awaited.

use std::time::Duration;

use guildhall_kernel::{Call, Cause, Contract, Cost, Input, Millis, Reply, Verdict};
use guildhall_local::Batch;

use super::*;

/// Longer than anything here takes without a person.
const NIGHT: Duration = Duration::from_hours(8);

fn open_root(deadline: Millis) -> (Arc<Brief>, Vec<Text>) {
    let (brief, texts) = brief();
    let grant = brief.grant.due(Some(deadline), Millis(0));
    (Arc::new(Brief { grant, close_when: CloseWhen::Asked, ..Brief::clone(&brief) }), texts)
}

/// Waits until so many asks were answered and the agent waits for its owner. Uses no timer: time would jump to it.
async fn replied(hall: &Hall<Scripted>, count: usize) {
    loop {
        let facts = hall.facts().await;
        // Once this is stored, the agent has been told of what was stored before.
        hall.engine.account(Vec::new(), Vec::new()).await.unwrap();
        if facts.iter().filter(|stored| stored.fact.kind() == "answered").count() == count {
            return;
        }
    }
}

fn message(says: &str) -> (Stimulus, Vec<Text>) {
    let text = redactor().text(TextKind::Message, says);
    (Stimulus::Message(text.of), vec![text])
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_waits_for_words_overnight_expires_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let script = vec![says("good night"), says("good morning")];
    let hall = Hall::open(dir.path(), script, counting(Effect::Pure).0, Replays::No).await;
    let owner = async {
        replied(&hall, 1).await;
        tokio::time::sleep(NIGHT).await;
        let (what, texts) = message("good morning");
        assert!(hall.engine.tell(&Path::root(1), 1, what, texts));
        replied(&hall, 2).await;
        assert!(hall.engine.tell(&Path::root(1), 2, Stimulus::WrapUp, Vec::new()));
    };
    let (brief, texts) = open_root(Millis(120_000));
    let (report, ()) = tokio::join!(hall.engine.run(brief, texts), owner);
    let report = report.unwrap();
    assert_eq!((report.outcome, hall.text(&report).await.as_str()), (Outcome::Done, "good morning"));
    let facts = hall.facts().await;
    assert!(facts.last().unwrap().at < Millis(90_000), "the night did not count: {}", facts.last().unwrap().at);
    assert_lawful(&facts);
}

/// What a contract has stored that asked its owner something, and waits for an answer until a moment.
fn question(brief: &Arc<Brief>, until: Millis) -> (Vec<(Cause, Vec<Fact>)>, Vec<Text>) {
    let (mut contract, opened) = Contract::open(Arc::clone(brief), Millis(0)).unwrap();
    let question = redactor().text(TextKind::Message, "Which of the two?");
    let raw = RawCall { id: "ask".into(), name: "ask_hirer".into(), arguments: Ok(json!({})) };
    let stored = serde_json::to_string(&replies(None, vec![raw]).outcome.unwrap()).unwrap();
    let said = redactor().text(TextKind::Reply, &stored);
    let calls = vec![Call::AskHirer { question: question.of, until }];
    let verdict = Verdict::default();
    let reply = Reply { reply: said.of, words: None, output: None, input_tokens: None, used: None, calls, verdict };
    let id = contract.outstanding().next().unwrap().0;
    let asked = contract.step(Input::Reply { id, reply: Box::new(reply), cost: Cost::Known(sat(10)) }, Millis(0));
    (vec![(Cause::Opening, opened), (Cause::Answer(id), asked)], vec![question, said])
}

/// A hall in which root 1 has asked its owner something, and waits for an answer for a minute.
async fn asking(dir: &FilePath, script: Vec<Attempt>) -> Hall<Scripted> {
    drop(Hall::open(dir, vec![], counting(Effect::Pure).0, Replays::No).await);
    let (brief, mut texts) = brief();
    let (batches, named) = question(&brief, Millis(60_000));
    texts.extend(named);
    let journal = Journal::open(dir).unwrap();
    let lease = journal.lease(&"session".parse().unwrap(), UnixMs::now()).await.unwrap();
    for (cause, facts) in batches {
        let texts = texts.iter().map(|text| (text.of, text.says.clone().into_bytes())).collect();
        let batch =
            Batch { contract: brief.path.clone(), at: Millis(0), cause, facts, texts, done: None, account: vec![] };
        journal.append(&lease, batch).await.unwrap();
    }
    drop(lease);
    journal.close().await;
    Hall::open(dir, script, counting(Effect::Pure).0, Replays::No).await
}

/// What became of the question.
async fn outcome(hall: &Hall<Scripted>) -> Answer {
    let facts = hall.facts().await;
    let answer =
        |stored: &Stored| if let Fact::Answered { answer, .. } = &stored.fact { Some(answer.clone()) } else { None };
    let of_question = |answer: &Answer| matches!(answer, Answer::Text(_) | Answer::NoReply);
    facts.iter().filter_map(answer).find(of_question).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_its_owner_as_long_as_nothing_else_is_under_way() {
    let dir = tempfile::tempdir().unwrap();
    let hall = asking(dir.path(), vec![says("the first")]).await;
    let owner = async {
        tokio::time::sleep(NIGHT).await;
        let (what, texts) = message("The first.");
        assert!(hall.engine.tell(&Path::root(1), 1, what, texts));
    };
    let (report, ()) = tokio::join!(hall.run(), owner);
    assert_eq!(report.outcome, Outcome::Done);
    assert!(matches!(outcome(&hall).await, Answer::Text(_)), "it was answered");
    assert_lawful(&hall.facts().await);
}

#[tokio::test(start_paused = true)]
async fn a_question_goes_unanswered_in_time_while_somebody_else_is_at_work() {
    let dir = tempfile::tempdir().unwrap();
    // The other root's call never ends by itself.
    let hall = asking(dir.path(), vec![]).await;
    let (other, texts) = brief();
    let other = Brief { path: Path::root(2), ..Brief::clone(&other) };
    tokio::select! {
        _ = hall.run() => panic!("the model is stuck"),
        _ = hall.engine.run(Arc::new(other), texts) => panic!("the model is stuck"),
        () = async { hall.model.stuck.notified().await; hall.model.stuck.notified().await } => {}
    }
    assert_eq!(outcome(&hall).await, Answer::NoReply);
    let asked = hall.model.asked.lock().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(asked, ["2#1", "1#3"], "the one who asked goes on without an answer");
}
