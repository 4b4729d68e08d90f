//! Session time in contracts: it stops while all work waits for a person.

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

/// Waits until this many asks were answered and the agent waits for its owner. Uses no timer, because paused time would jump
/// to it.
async fn replied(hall: &Hall<Scripted>, count: usize) {
    loop {
        let facts = hall.facts().await;
        // When this write is stored, the agent has received all earlier facts.
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
async fn a_conversation_that_waits_overnight_for_a_message_does_not_reach_its_deadline() {
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

/// The stored facts of a contract that asked its owner a question and waits for the answer until a moment.
fn question(brief: &Arc<Brief>, until: Millis) -> (Vec<(Cause, Vec<Fact>)>, Vec<Text>) {
    let (mut contract, opened) = Contract::open(Arc::clone(brief), Millis(0)).unwrap();
    let question = redactor().text(TextKind::Message, "Which of the two?");
    let raw = RawCall { id: "ask".into(), name: "ask_hirer".into(), arguments: Ok(json!({})) };
    let stored = serde_json::to_string(&replies(None, vec![raw]).outcome.unwrap()).unwrap();
    let reply_text = redactor().text(TextKind::Reply, &stored);
    let calls = vec![Call::AskHirer { question: question.of, until }];
    let verdict = Verdict::default();
    let reply = Reply {
        reply: reply_text.of,
        words: None,
        output: None,
        input_tokens: None,
        used: None,
        implausible: None,
        confirms: false,
        size: guildhall_kernel::OwnSize::default(),
        cut: None,
        calls,
        verdict,
    };
    let id = contract.outstanding().next().unwrap().0;
    let asked = contract.step(Input::Reply { id, reply: Box::new(reply), cost: Cost::Known(sat(10)) }, Millis(0));
    (vec![(Cause::Opening, opened), (Cause::Answer(id), asked)], vec![question, reply_text])
}

/// A hall in which root 1 has asked its owner a question and waits a minute for the answer.
async fn asking(dir: &FilePath, script: Vec<Attempt>) -> Hall<Scripted> {
    drop(Hall::open(dir, vec![], counting(Effect::Pure).0, Replays::No).await);
    let (brief, mut texts) = brief();
    let (batches, named) = question(&brief, Millis(60_000));
    texts.extend(named);
    let journal = Journal::open(dir).unwrap();
    let lease = journal.lease(&id(), unix_now()).await.unwrap();
    for (cause, facts) in batches {
        let texts = texts.iter().map(|text| (text.of, text.says.clone().into_bytes())).collect();
        let batch = Batch {
            contract: brief.path.clone(),
            at: Millis(0),
            cause,
            facts,
            texts,
            done: None,
            account: vec![],
            treasury: None,
        };
        journal.append(&lease, batch).await.unwrap();
    }
    drop(lease);
    journal.close().await;
    Hall::open(dir, script, counting(Effect::Pure).0, Replays::No).await
}

/// Returns the answer to the question.
async fn outcome(hall: &Hall<Scripted>) -> Answer {
    let facts = hall.facts().await;
    let answer =
        |stored: &Stored| if let Fact::Answered { answer, .. } = &stored.fact { Some(answer.clone()) } else { None };
    let of_question = |answer: &Answer| matches!(answer, Answer::Text(_) | Answer::NoReply);
    facts.iter().filter_map(answer).find(of_question).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_its_owner_while_no_call_is_running() {
    let dir = tempfile::tempdir().unwrap();
    let hall = asking(dir.path(), vec![says("the first")]).await;
    let owner = async {
        tokio::time::sleep(NIGHT).await;
        let (what, texts) = message("The first.");
        assert!(hall.engine.tell(&Path::root(1), 1, what, texts));
    };
    let (report, ()) = tokio::join!(hall.run(), owner);
    assert_eq!(report.outcome, Outcome::Done);
    assert!(matches!(outcome(&hall).await, Answer::Text(_)), "the question was answered");
    assert_lawful(&hall.facts().await);
}

#[tokio::test(start_paused = true)]
async fn a_question_expires_in_time_while_another_contract_is_working() {
    let dir = tempfile::tempdir().unwrap();
    // The call of the other root never ends.
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
    assert_eq!(asked, ["2#1", "1#3"], "the contract that asked continues without an answer");
}
