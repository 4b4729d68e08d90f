//! `kill -9` at every point of a task, then `resume`: the same answer, and the same bill wherever the provider replays. Where
//! it does not, the bill is higher by what is marked as lost, and never above the budget.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::house::{Ended, House, Known, Running, Wire, msat, wait_for};

/// The default number of kills that the tests of one kind share: a tenth of the kills of a soak, which sets
/// `GUILDHALL_ROUNDS`.
const ROUNDS: usize = 20;

/// How many tests in this file share the kills.
const SHARES: usize = 4;

/// The number of files that a search reads, so that a kill can happen during the search.
const FILES: usize = 1200;

/// The window of a model with a small window, in tokens: about the size of the first request.
const WINDOW: u64 = 1200;

/// The kinds of facts that a task has.
const KINDS: [&str; 6] = ["opened", "asked", "answered", "refused", "nudged", "closed"];

/// The number of kills of each test, if this many tests share them.
pub(crate) fn rounds(shares: usize) -> usize {
    let wanted = std::env::var("GUILDHALL_ROUNDS").ok().map(|text| text.parse().expect("GUILDHALL_ROUNDS is a number"));
    wanted.unwrap_or(ROUNDS).div_ceil(shares)
}

/// A task of several turns with parallel calls, a refused call and an empty reply. Every reply is slow, so that a kill can happen
/// before it arrives.
fn rules() -> Value {
    let pace = json!({"headers_ms": 20, "first_ms": 20});
    // Fixed ids: ids that the provider generates grow with the number of requests, and so does the cost of the next request.
    let call = |id: &str, name: &str, arguments: Value| json!({"id": id, "name": name, "arguments": arguments});
    let search = |id, pattern: &str| call(id, "search", json!({"pattern": pattern}));
    let read = call("call-1", "read_file", json!({"path": "agenda.txt"}));
    let unknown = call("call-3", "launch_rocket", json!({}));
    json!([
        {"when": {"last_user": "last reply"}, "then": {"reply": {"text": "This far: Tuesday.", "pace": pace}}},
        {"when": {"last_user": "was empty"}, "then": {"reply": {"text": "On Tuesday.", "pace": pace}}},
        {"when": {"tool_result": "meeting is"}, "then": {"reply": {"pace": pace}}},
        {"when": {"tool_result": "the roof"}, "then": {"reply": {"calls": [unknown, search("call-4", "meeting is")], "pace": pace}}},
        {"then": {"reply": {"text": "I look.", "calls": [read, search("call-2", "roof")], "pace": pace}}},
    ])
}

fn house(wire: Wire, known: Known, files: usize) -> House {
    let house = House::known(wire, known, &rules());
    if known == Known::AsReplaying {
        // A window so small that older results are left out.
        house.write_config(&format!("{}window = {WINDOW}\n", house.read_config()));
    }
    let many = house.project().join("many");
    fs::create_dir(&many).unwrap();
    for number in 0..files {
        fs::write(many.join(format!("{number}.txt")), "nothing of interest\n").unwrap();
    }
    house
}

/// The result of a task without a kill.
struct Undisturbed {
    kinds: Vec<String>,
    /// The numbers of facts at the end of each stored batch. A kill always leaves one of these numbers.
    ends: Vec<usize>,
    spent: u64,
    executions: usize,
}

/// Enough that two lost calls leave three digits of sats. The prompt shows the money that is left, so its digits change the cost.
const BUDGET: [&str; 2] = ["--budget", "900sat"];

fn undisturbed(house: &House) -> Undisturbed {
    let result = house.run(&BUDGET).expect(0).json();
    assert_eq!(result["answer"], "On Tuesday.");
    let shown = house.show(result["session"].as_str().unwrap());
    let facts = shown["facts"].as_array().unwrap();
    let is_last = |at: &usize| facts.get(*at).is_none_or(|next| next["cause"] != facts[at - 1]["cause"]);
    let kinds = kinds(facts);
    assert!(KINDS.iter().all(|kind| kinds.iter().any(|found| found == kind)), "{kinds:?}");
    Undisturbed {
        kinds,
        ends: (1..=facts.len()).filter(is_last).collect(),
        spent: msat(&result["bill"]["charged"]),
        executions: house.peer.executions(),
    }
}

fn kinds(facts: &[Value]) -> Vec<String> {
    let kind = |stored: &Value| stored["fact"].as_object().and_then(|fact| fact.keys().next().cloned());
    facts.iter().map(|stored| kind(stored).expect("a fact has a kind")).collect()
}

/// The facts that a killed process left.
fn left(house: &House, id: &str) -> Vec<Value> {
    let facts = house.show(id)["facts"].take();
    facts.as_array().cloned().unwrap_or_default()
}

/// Kills a process when its contract has this many facts, unless the process ends first.
fn kill_at(house: &House, mut running: Running, id: &str, facts: usize) -> Ended {
    wait_for("as many facts", || (house.root_facts(id).len() >= facts || running.has_ended()).then_some(()));
    running.kill()
}

/// Resumes until the end, and checks the result.
fn finish(house: &House, id: &str, known: Known, expect: &Undisturbed) {
    let resumed = house.guildhall(&["resume", id, "--output", "json"]);
    let result = match resumed.code() {
        0 => resumed.json(),
        // The kill came after the end of the work.
        4 => house.show(id),
        _ => panic!("{resumed:?}"),
    };
    assert_eq!(result["answer"], "On Tuesday.", "{result:#}");
    let (spent, lost) = (msat(&result["bill"]["charged"]), msat(&result["bill"]["reserved"]));
    assert_eq!(spent - lost, expect.spent, "{known:?}: the bill differs only by what is marked as lost, {result:#}");
    if known == Known::AsReplaying {
        assert_eq!(lost, 0, "a provider that replays loses nothing");
    }
    assert!(spent <= 900_000, "{result:#}");
}

/// Kills at the end of each batch in turn, and every third time again during the resume.
fn kill_everywhere(wire: Wire, known: Known) {
    let house = house(wire, known, FILES);
    let expect = undisturbed(&house);
    let compacted = expect.kinds.iter().any(|kind| kind == "compacted");
    assert_eq!(compacted, known == Known::AsReplaying, "{:?}", expect.kinds);
    let mut executions = expect.executions;
    let mut reached = BTreeSet::new();
    let rounds = rounds(SHARES);
    let (last, targets) = expect.ends.split_last().expect("a task has facts");
    let missing = |reached: &BTreeSet<usize>| targets.iter().find(|end| !reached.contains(*end)).copied();
    for round in 0.. {
        let next = if round < rounds { Some(expect.ends[round % expect.ends.len()]) } else { missing(&reached) };
        let Some(target) = next else { break };
        assert!(round < 3 * rounds + 20, "no kill happened after {target} facts of {:?}: {reached:?}", expect.kinds);
        let running = house.start(&BUDGET);
        let id = running.session();
        kill_at(&house, running, &id, target);
        let facts = kinds(&left(&house, &id));
        assert!(expect.kinds.starts_with(&facts), "{facts:?} is not the beginning of {:?}", expect.kinds);
        assert!(expect.ends.contains(&facts.len()), "a batch is stored together: {facts:?}");
        reached.insert(facts.len());
        if round % 3 == 2 && facts.len() < *last {
            let resumed = Running::start(house.command(&["resume", &id]), "");
            kill_at(&house, resumed, &id, facts.len() + 1);
        }
        finish(&house, &id, known, &expect);
        let executed = house.peer.executions();
        if known == Known::AsReplaying {
            assert_eq!(executed - executions, expect.executions, "round {round}: no request was executed twice");
        }
        executions = executed;
    }
}

#[test]
fn anthropic_replaying() {
    kill_everywhere(Wire::Anthropic, Known::AsReplaying);
}

#[test]
fn anthropic_not_replaying() {
    kill_everywhere(Wire::Anthropic, Known::ByVariables);
}

#[test]
fn openai_replaying() {
    kill_everywhere(Wire::OpenAi, Known::AsReplaying);
}

#[test]
fn openai_not_replaying() {
    kill_everywhere(Wire::OpenAi, Known::ByVariables);
}

/// Kills at each sync to disk: of the session, the request, each batch of facts and the end.
fn kill_at_each_sync(wire: Wire, known: Known) {
    let house = house(wire, known, 0);
    let expect = undisturbed(&house);
    let mut before = sessions(&house);
    for sync in 1.. {
        let inject = format!("inject=fsync,fdatasync:signal=SIGKILL:when={sync}");
        let strace = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", &inject];
        let args = [&["run", "When is the meeting?", "--yes", "--output", "json"], &BUDGET[..]].concat();
        let ended = Running::start(house.command_under("strace", &strace, &args), "").end();
        if ended.code() == 0 {
            assert!(sync > expect.ends.len(), "every step is made durable, and there were only {sync}");
            return;
        }
        assert_eq!(ended.code(), 137, "{ended:?}");
        let now = sessions(&house);
        let new = now.iter().find(|id| !before.contains(*id)).cloned();
        before = now;
        // A session that was not stored was never announced.
        let Some(id) = new else { continue };
        let state = house.show(&id)["state"].take();
        if state == "never begun" {
            house.guildhall(&["resume", &id]).expect(4).says("To start again");
            house.guildhall(&["stop", &id]).expect(0).says("never began");
        } else {
            finish(&house, &id, known, &expect);
        }
    }
}

fn sessions(house: &House) -> Vec<String> {
    let listed = house.guildhall(&["ls", "--output", "json"]).expect(0).json();
    let ids = listed.as_array().unwrap().iter();
    ids.map(|session| session["session"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn at_each_sync_replaying() {
    if crate::alone::can_trace() {
        kill_at_each_sync(Wire::Anthropic, Known::AsReplaying);
    }
}

#[test]
fn at_each_sync_not_replaying() {
    if crate::alone::can_trace() {
        kill_at_each_sync(Wire::OpenAi, Known::ByVariables);
    }
}

#[test]
fn while_it_wraps_up() {
    for (wire, known) in [(Wire::OpenAi, Known::AsReplaying), (Wire::Anthropic, Known::ByVariables)] {
        let house = house(wire, known, 0);
        for kind in ["heard", "closing", "asked"] {
            let mut running = house.start(&BUDGET);
            let id = running.session();
            wait_for("the first facts", || (house.root_facts(&id).len() >= 2).then_some(()));
            running.interrupt();
            wait_for(kind, || {
                let facts = house.root_facts(&id);
                let heard = facts.iter().position(|fact| fact.starts_with("{\"heard\""));
                let then =
                    heard.map(|heard| facts[heard..].iter().any(|fact| fact.starts_with(&format!("{{\"{kind}\""))));
                (then == Some(true) || running.has_ended()).then_some(())
            });
            running.kill();
            let resumed = house.guildhall(&["resume", &id, "--output", "json"]);
            let result = if resumed.code() == 4 { house.show(&id) } else { resumed.expect(130).json() };
            // A lost last request is not repeated: the runtime assembles the report from the facts.
            let lost = msat(&result["bill"]["reserved"]) > 0;
            assert!(known == Known::ByVariables || !lost, "{wire:?} after {kind}: {result:#}");
            let answer = result["answer"].as_str().unwrap();
            assert!(
                answer == "This far: Tuesday." || (lost && !answer.is_empty()),
                "{wire:?} after {kind}: {result:#}"
            );
        }
    }
}
