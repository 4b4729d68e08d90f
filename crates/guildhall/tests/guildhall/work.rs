//! One agent at work: the library, the journal on disk, real files, and a model server in a separate process with both
//! protocols.

mod overtaken;
mod request_size;
mod undercounted;

use std::path::Path as FilePath;

use guildhall::{Agent, Ended, Ending, Hall, HallError, Models, Running, Source, agent};
use guildhall_kernel::{AgentName, Fact, Limit, Msat, NextSpeaker, Outcome, Refusal};
use guildhall_laws::Checker;
use guildhall_local::{Replays, Subscription};
use guildhall_model_server::{Entry, Peer};
use guildhall_models::{BaseUrl, Key, LOCAL_PRICE};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Wire {
    Anthropic,
    OpenAi,
}

const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];
const KEY: &str = "a-key-of-this-test-only";

fn script(rules: &Value) -> Value {
    json!({"key": KEY, "replay": true, "rules": rules})
}

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("notes.txt"), "the meeting is on Tuesday\n").unwrap();
    std::fs::write(dir.path().join("agenda.txt"), "1. the roof\n").unwrap();
    dir
}

fn hall(wire: Wire, peer: &Peer, key: &str, data: &FilePath, project: &FilePath) -> Hall {
    let (wire, url) = match wire {
        Wire::Anthropic => (agent::Wire::Anthropic, peer.url()),
        Wire::OpenAi => (agent::Wire::OpenAi, format!("{}/v1", peer.url())),
    };
    let mut source = Source::new("test", wire, BaseUrl::parse(&url).unwrap(), Some(Key::new(key).unwrap()));
    source.replays = Replays::Yes;
    let models = Models::default().with_source(source).with_price("test-model", LOCAL_PRICE).with_default("test-model");
    Hall::builder().data(data).project(project).models(models).secrets([key.to_owned()]).build().unwrap()
}

async fn run(hall: &Hall, sat: u64) -> Result<Ended, HallError> {
    let agent = Agent::new(AgentName::parse("reader").unwrap(), "You read files and answer.");
    let work = hall.run("When is the meeting?").agent(agent).budget(Msat::from_sat(sat).unwrap()).turns_max(20);
    work.id("s1".parse().unwrap()).start().await?.wait().await
}

async fn assert_lawful(hall: &Hall) {
    let facts = hall.journal().facts(&"s1".parse().unwrap(), 1).await.unwrap();
    let mut checker = Checker::new();
    let broken: Vec<_> = facts.iter().flat_map(|stored| checker.observe(stored)).collect();
    assert!(broken.is_empty(), "{broken:?}");
    assert!(checker.at_end().is_empty(), "{:?}", checker.at_end());
}

fn reads(files: &[&str]) -> Value {
    let call = |file: &&str| json!({"name": "read_file", "arguments": {"path": file}});
    json!({"reply": {"calls": files.iter().map(call).collect::<Vec<_>>()}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_solved_through_several_tool_turns_over_both_protocols() {
    for wire in WIRES {
        let peer = Peer::start(&script(&json!([
            {"when": {"nth": 1}, "then": {"reply": {"calls": [{"name": "list_files", "arguments": {}}]}}},
            {"when": {"nth": 2}, "then": reads(&["notes.txt", "agenda.txt"])},
            {"then": {"reply": {"text": "It says: {{tool_result}}"}}},
        ])));
        let (data, project) = (tempfile::tempdir().unwrap(), project());
        let hall = hall(wire, &peer, KEY, data.path(), project.path());
        let ended = run(&hall, 1000).await.unwrap();
        assert_eq!(ended.report.outcome, Outcome::Done, "{wire:?}: {}", ended.text);
        assert!(ended.text.contains("It says:"), "{wire:?}: {}", ended.text);
        assert!(ended.report.spent > Msat::ZERO && ended.report.spent <= ended.granted);
        assert_lawful(&hall).await;
        let third = peer.log().into_iter().filter(|entry| matches!(entry, Entry::Request { .. })).nth(2).unwrap();
        let shown = serde_json::to_string(&third).unwrap();
        assert!(
            shown.contains("the meeting is on Tuesday") && shown.contains("1. the roof"),
            "{wire:?}: both results, {shown}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_ends_the_contract_with_the_reason_and_costs_nothing() {
    for wire in WIRES {
        let peer = Peer::start(&script(&json!([{"then": {"reply": {"text": "never"}}}])));
        let (data, project) = (tempfile::tempdir().unwrap(), project());
        let hall = hall(wire, &peer, "another-key", data.path(), project.path());
        let ended = run(&hall, 1000).await.unwrap();
        assert_eq!((ended.report.outcome, ended.report.spent), (Outcome::Failed, Msat::ZERO));
        assert!(ended.failure.as_ref().unwrap().contains("refused"), "{}", ended.text);
        assert!(ended.violations.is_empty());
        assert_lawful(&hall).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_budget_gives_a_report() {
    for wire in WIRES {
        let peer = Peer::start(&script(&json!([
            {"when": {"messages": 1}, "then": reads(&["notes.txt"])},
            {"when": {"last_user": "last reply"}, "then": {"reply": {"text": "This far: Tuesday."}}},
            {"then": {"reply": {"text": "Reading again.", "calls": [{"name": "read_file", "arguments": {"path": "notes.txt"}}],
                "usage": {"input": 900, "output": 500}}}},
        ])));
        let (data, project) = (tempfile::tempdir().unwrap(), project());
        let hall = hall(wire, &peer, KEY, data.path(), project.path());
        let ended = run(&hall, 2).await.unwrap();
        assert_eq!(ended.report.outcome, Outcome::Exhausted(Limit::Purse), "{wire:?}: {}", ended.text);
        assert!(ended.report.spent <= Msat::from_sat(2).unwrap());
        assert!(!ended.text.is_empty());
        assert_lawful(&hall).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_half_a_reply_is_made_again() {
    for wire in WIRES {
        let peer = Peer::start(&script(&json!([
            {"when": {"nth": 1}, "then": {"reply": {"text": "half of", "damage": {"cut": {"after": {"events": 2}, "how": "reset"}}}}},
            {"then": {"reply": {"text": "all of it"}}},
        ])));
        let (data, project) = (tempfile::tempdir().unwrap(), project());
        let hall = hall(wire, &peer, KEY, data.path(), project.path());
        let ended = run(&hall, 1000).await.unwrap();
        assert_eq!((ended.report.outcome, ended.text.as_str()), (Outcome::Done, "all of it"), "{wire:?}");
        assert_lawful(&hall).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_is_resumed_with_the_same_answer_and_repeats_no_request() {
    let peer = Peer::start(&script(&json!([
        {"when": {"messages": 1}, "then": reads(&["notes.txt"])},
        {"when": {"nth": 2}, "then": {"reply": {"text": "On Tuesday.", "damage": {"stall": {"after": {"events": 2}}}}}},
        {"then": {"reply": {"text": "not this one"}}},
    ])));
    let (data, project) = (tempfile::tempdir().unwrap(), project());
    let first = hall(Wire::Anthropic, &peer, KEY, data.path(), project.path());
    let asked_twice = async {
        loop {
            tokio::task::yield_now().await;
            if peer.executions() == 2 {
                break;
            }
        }
    };
    tokio::select! {
        _ = run(&first, 1000) => panic!("the reply stalls"),
        () = asked_twice => {}
    }
    drop(first);
    let second = hall(Wire::Anthropic, &peer, KEY, data.path(), project.path());
    let ended = second.resume(&"s1".parse().unwrap()).await.unwrap().wait().await.unwrap();
    assert_eq!((ended.report.outcome, ended.text.as_str()), (Outcome::Done, "On Tuesday."));
    assert_eq!(peer.executions(), 2, "the open request continued by its key");
    assert_lawful(&second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_is_in_no_fact_and_no_text() {
    let peer = Peer::start(&script(&json!([{"then": {"reply": {"text": format!("your key is {KEY}")}}}])));
    let (data, project) = (tempfile::tempdir().unwrap(), project());
    let hall = hall(Wire::OpenAi, &peer, KEY, data.path(), project.path());
    let ended = run(&hall, 1000).await.unwrap();
    assert!(!ended.text.contains(KEY) && ended.text.contains("redacted"), "{}", ended.text);
    for stored in hall.journal().facts(&"s1".parse().unwrap(), 1).await.unwrap() {
        let Fact::Answered { answer, .. } = &stored.fact else { continue };
        assert!(!serde_json::to_string(answer).unwrap().contains(KEY));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_continues_with_its_conversation_and_its_money() {
    for wire in WIRES {
        let peer = Peer::start(&script(&json!([
            {"when": {"nth": 1}, "then": reads(&["notes.txt"])},
            {"when": {"nth": 2}, "then": {"reply": {"text": "On Tuesday."}}},
            {"then": {"reply": {"text": "Nobody is named."}}},
        ])));
        let (data, project) = (tempfile::tempdir().unwrap(), project());
        let hall = hall(wire, &peer, KEY, data.path(), project.path());
        let first = run(&hall, 1000).await.unwrap();
        let next = hall.run("And who was invited?").after("s1".parse().unwrap()).start().await;
        let second = next.unwrap().wait().await.unwrap();
        assert_eq!((second.report.outcome, second.text.as_str()), (Outcome::Done, "Nobody is named."), "{wire:?}");
        assert_eq!(second.granted, first.report.change, "the second root has the money that was left");
        let asked = peer.log().into_iter().filter(|entry| matches!(entry, Entry::Request { .. })).nth(2).unwrap();
        let shown = serde_json::to_string(&asked).unwrap();
        let before = shown.contains("When is the meeting?") && shown.contains("the meeting is on Tuesday");
        assert!(before && shown.contains("On Tuesday.") && shown.contains("And who was invited?"), "{wire:?}: {shown}");
        assert_lawful(&hall).await;
    }
}

/// Waits until a fact has happened and the owner speaks next.
async fn until_owner_speaks(running: &Running, facts: &mut Subscription, happened: impl Fn(&Fact) -> bool) {
    let mut has_happened = false;
    loop {
        has_happened |= happened(&facts.next().await.unwrap().fact);
        if has_happened && running.next_speaker().await.unwrap() == (NextSpeaker::Owner { hires: 0 }) {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_continues_until_its_owner_ends_it() {
    for wire in WIRES {
        let peer = Peer::start(&script(&json!([
            {"when": {"nth": 1}, "then": {"reply": {"text": "On Tuesday."}}},
            {"then": {"reply": {"text": "In the hall."}}},
        ])));
        let (data, project) = (tempfile::tempdir().unwrap(), project());
        let hall = hall(wire, &peer, KEY, data.path(), project.path());
        let work = hall.run("When is the meeting?").budget(Msat::from_sat(1000).unwrap()).id("s1".parse().unwrap());
        let mut running = work.open().start().await.unwrap();
        let mut facts = running.facts();
        until_owner_speaks(&running, &mut facts, |fact| matches!(fact, Fact::Opened(_))).await;
        let long = running.say(&"word ".repeat(20 * 1024)).await;
        assert!(matches!(long, Err(HallError::Refused(Refusal::MessageTooLong { .. }))), "{long:?}");
        running.say("And where?").await.unwrap();
        until_owner_speaks(&running, &mut facts, |fact| matches!(fact, Fact::Heard { .. })).await;
        running.end(Ending::WrapUp).await.unwrap();
        let ended = running.wait().await.unwrap();
        assert_eq!((ended.report.outcome, ended.text.as_str()), (Outcome::Done, "In the hall."), "{wire:?}");
        assert_lawful(&hall).await;
    }
}
