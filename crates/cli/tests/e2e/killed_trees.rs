//! `kill -9` in the middle of a tree, then `resume`: the same answer, and the same bill, with nothing executed twice, wherever
//! the provider replays. Where it does not, the bill is higher by what is marked as lost.

use serde_json::{Value, json};

use crate::crew::{
    self, CREW, always, answer, assert_has, assert_lacks, by, calls, first, hires, shown, staffed, stalls, worked,
};
use crate::house::{House, Known, Running, Wire, msat, says, wait_for};
use crate::killed::rounds;

/// How many tests in this file share the kills.
const SHARES: usize = 3;

/// A lead with one hire that hires and one hire in the background. Every reply reports its usage, because the ids that a provider
/// generates differ in length, and is slow, so that a kill can happen before it arrives.
fn rules() -> Value {
    let reply = |mut reply: Value, input: u64| {
        reply["pace"] = json!({"headers_ms": 15, "first_ms": 15});
        reply["usage"] = json!({"input": 500 + input, "output": 20});
        json!({"reply": reply})
    };
    let call = |id: &str, name: &str, arguments: Value| json!({"id": id, "name": name, "arguments": arguments});
    let hire = |who: &str, budget: u64, background: bool| {
        let task = format!("Look, {who}.");
        let arguments = json!({"specialty": who, "task": task, "budget": budget, "background": background});
        call(&format!("hire-{who}"), "delegate_task", arguments)
    };
    let read = |file: &str| json!({"calls": [call("read", "read_file", json!({"path": file}))]});
    let both = json!({"calls": [hire("ada", 1500, false), hire("bob", 1000, true)]});
    let wait = json!({"calls": [call("wait", "wait_for_agents", json!({}))]});
    let fresh = json!({"has_tool_result": false});
    json!([
        by("lead", json!({"messages": 1}), reply(both, 100)),
        by("lead", json!({"tool_result": "was hired as"}), reply(wait, 200)),
        always("lead", reply(json!({"text": "A day and a roof."}), 300)),
        by("ada", fresh.clone(), reply(json!({"calls": [hire("eve", 500, false)]}), 110)),
        always("ada", reply(json!({"text": "A day."}), 210)),
        by("bob", fresh.clone(), reply(read("agenda.txt"), 120)),
        always("bob", reply(json!({"text": "A roof."}), 220)),
        by("eve", fresh, reply(read("notes.txt"), 130)),
        always("eve", reply(json!({"text": "Tuesday."}), 230)),
    ])
}

fn house(wire: Wire, known: Known) -> House {
    let team =
        [("lead", hires(&["ada", "bob"])), ("ada", hires(&["eve"])), ("bob", String::new()), ("eve", String::new())];
    staffed(House::known(wire, known, &rules()), &team.each_ref().map(|(name, front)| (*name, front.as_str())))
}

/// The number of facts of all contracts of a session so far.
fn facts(house: &House, id: &str) -> usize {
    house.stored_facts(id).len()
}

fn kill_at(house: &House, mut running: Running, id: &str, target: usize) {
    wait_for("as many facts", || (facts(house, id) >= target || running.has_ended()).then_some(()));
    running.kill();
}

fn kill_everywhere(wire: Wire, known: Known) {
    let house = house(wire, known);
    let calm = house.run(&CREW).expect(0).json();
    let contracts = ["1 lead done", "1.1 ada done", "1.1.1 eve done", "1.2 bob done"];
    assert_eq!((answer(&calm), &worked(&calm)[..]), ("A day and a roof.", &contracts.map(str::to_owned)[..]));
    let (all, executions) = (facts(&house, calm["session"].as_str().unwrap()), house.peer.executions());
    let rounds = rounds(SHARES);
    let mut landed = 0;
    for round in 0..rounds {
        let before = house.peer.executions();
        let target = 1 + (all - 1) * round / rounds;
        let running = house.start(&CREW);
        let id = running.session();
        kill_at(&house, running, &id, target);
        if round % 3 == 2 {
            let left = facts(&house, &id);
            kill_at(&house, Running::start(house.command(&["resume", &id]), ""), &id, left + 3);
        }
        let resumed = house.guildhall(&["resume", &id, "--output", "json"]);
        let result = match resumed.code() {
            0 => {
                landed += 1;
                resumed.json()
            }
            // The kill came after the end of the work.
            4 => house.show(&id),
            _ => panic!("{wire:?} after {target} facts: {resumed:?}"),
        };
        let lost = msat(&result["bill"]["reserved"]);
        let of = |result: &Value, lost: u64| {
            (answer(result).to_owned(), msat(&result["bill"]["charged"]) - lost, worked(result))
        };
        assert_eq!(of(&result, lost), of(&calm, 0), "{wire:?} after {target} of {all} facts");
        if known == Known::AsReplaying {
            assert_eq!(lost, 0, "{wire:?} after {target} facts: a provider that replays loses nothing");
            assert_eq!(
                house.peer.executions() - before,
                executions,
                "{wire:?} after {target} facts: no request was executed twice"
            );
        }
    }
    assert!(2 * landed >= rounds, "only {landed} of {rounds} kills came before the end");
    house.guildhall(&["verify"]).expect(0);
}

#[test]
fn a_tree_is_killed_anywhere_and_resumed_over_anthropic() {
    kill_everywhere(Wire::Anthropic, Known::AsReplaying);
}

#[test]
fn a_tree_is_killed_anywhere_and_resumed_over_openai() {
    kill_everywhere(Wire::OpenAi, Known::AsReplaying);
}

#[test]
fn a_tree_is_killed_anywhere_and_resumed_without_replay() {
    kill_everywhere(Wire::Anthropic, Known::ByVariables);
}

/// The input and output tokens of an ordinary turn of a leaf, with a margin.
const TURN: (u64, u64) = (4_500, 1_024);

/// The number of trees that are killed once each. A soak run sets a higher number.
fn trees() -> usize {
    if std::env::var_os("GUILDHALL_ROUNDS").is_some() { rounds(1) } else { rounds(2) }
}

#[test]
fn after_a_kill_every_leaf_with_money_for_four_turns_finishes() {
    // The price of Sonnet at a hundred thousand dollars per bitcoin.
    let (input, output) = (3, 15);
    let grant = 4 * (TURN.0 * input + TURN.1 * output).div_ceil(1000);
    let leaves = ["ada", "bob", "eve"];
    let reply = |mut reply: Value| {
        reply["pace"] = json!({"headers_ms": 10, "first_ms": 10});
        json!({"reply": reply})
    };
    let hire = |who: &&str| {
        let arguments = json!({"specialty": who, "task": format!("Look, {who}."), "budget": grant});
        json!({"name": "delegate_task", "arguments": arguments})
    };
    let fresh = json!({"has_tool_result": false});
    let mut rules = vec![
        by("lead", fresh.clone(), reply(json!({"calls": leaves.iter().map(hire).collect::<Vec<_>>()}))),
        always("lead", reply(json!({"text": "All three: Tuesday."}))),
    ];
    for leaf in leaves {
        let read = json!({"calls": [{"name": "read_file", "arguments": {"path": "notes.txt"}}]});
        rules.push(by(leaf, fresh.clone(), reply(read)));
        rules.push(always(leaf, reply(json!({"text": "Tuesday."}))));
    }
    let team = [("lead", hires(&leaves)), ("ada", String::new()), ("bob", String::new()), ("eve", String::new())];
    let team = team.each_ref().map(|(name, front)| (*name, front.as_str()));
    let house = staffed(House::known(Wire::Anthropic, Known::ByVariables, &json!(rules)), &team);
    let config = house.read_config().replace("input = 1\n", "input = 3\n").replace("output = 5\n", "output = 15\n");
    house.write_config(&config);
    let args = ["--team", "crew", "--budget", "1000sat"];
    let calm = house.run(&args).expect(0).json();
    let (all, rounds) = (facts(&house, calm["session"].as_str().unwrap()), trees());
    let mut reserved = 0;
    for round in 0..rounds {
        let target = 1 + (all - 1) * round / rounds;
        let running = house.start(&args);
        let id = running.session();
        kill_at(&house, running, &id, target);
        let resumed = house.guildhall(&["resume", &id, "--output", "json"]);
        // The kill may come after the end of the work.
        let result = if resumed.code() == 4 { house.show(&id) } else { resumed.expect(0).json() };
        assert_eq!(worked(&result), ["1 lead done", "1.1 ada done", "1.2 bob done", "1.3 eve done"], "{result:#}");
        assert_eq!(answer(&result), "All three: Tuesday.", "after {target} of {all} facts");
        reserved += usize::from(msat(&result["bill"]["reserved"]) > 0);
    }
    assert!(4 * reserved >= rounds, "only {reserved} of {rounds} kills interrupted a call");
    house.guildhall(&["verify"]).expect(0);
}

#[test]
fn a_resumed_tree_is_shown_with_the_names_of_its_agents() {
    let house = house(Wire::Anthropic, Known::AsReplaying);
    let running = house.start(&CREW);
    let id = running.session();
    kill_at(&house, running, &id, 12);
    let listed = house.guildhall(&["ls", "--output", "json"]).json();
    let shown = msat(&house.show(&id)["bill"]["charged"]);
    let parts = ["used_msat", "estimated_msat", "reserved_msat"].map(|part| listed[0][part].as_u64().unwrap());
    assert_eq!(parts.iter().sum::<u64>(), shown, "`ls` and `show` agree on the cost");
    let resumed = house.guildhall(&["resume", &id, "-v"]).expect(0);
    assert_has(&resumed.stderr, &["1 lead says: A day and a roof.", "1 lead receives the report of 1.1 ada"]);
    assert_lacks(&resumed.stderr, &["1 agent ", "1.1 agent ", "what was asked"]);
}

#[test]
fn a_call_that_waits_for_a_permit_during_a_kill_is_not_lost() {
    let leaves = ["ada", "bob", "eve"];
    let hire =
        |who: &&str| ("delegate_task", json!({"specialty": who, "task": format!("Look, {who}."), "budget": 500}));
    let mut rules = vec![first("lead", calls(&leaves.each_ref().map(hire)))];
    rules.extend(leaves.iter().flat_map(|leaf| [first(leaf, stalls()), always(leaf, says("Seen."))]));
    rules.push(always("lead", says("All was seen.")));
    let team = [("lead", hires(&leaves)), ("ada", String::new()), ("bob", String::new()), ("eve", String::new())];
    let team = team.each_ref().map(|(name, front)| (*name, front.as_str()));
    let house = staffed(House::known(Wire::Anthropic, Known::ByVariables, &json!(rules)), &team);

    // With one permit, one leaf makes a request, which stalls, and the others wait when the program is killed. After the last
    // resume there are permits for all.
    let mut running = house.start(&[&CREW[..], &["--max-concurrency", "1"]].concat());
    let id = running.session();
    let asked = || leaves.map(|leaf| shown(&house, leaf).len());
    for (stalled, permits) in [(1, "1"), (2, "8"), (3, "8")] {
        // Wait until the journal knows that the others wait or have reported. An earlier kill would count more calls as lost.
        let others = || house.rows("in_line") as usize + crew::facts(&house, &id, "closed").len();
        let stalls = || asked().iter().filter(|times| **times > 0).count() == stalled && others() == 2;
        wait_for("one more who stalls", || stalls().then_some(()));
        running.kill();
        let resume = ["resume", &id, "--output", "json", "--max-concurrency", permits];
        running = Running::start(house.command(&resume), "");
    }
    let result = running.end().expect(0).json();
    assert_eq!(answer(&result), "All was seen.");
    assert_eq!(asked(), [2, 2, 2], "the lost request, and one more after it");
    let lost = crew::facts(&house, &id, "answered").iter().filter(|(_, answered)| answered["answer"] == "lost").count();
    assert_eq!(lost, leaves.len(), "one at each kill");
    house.guildhall(&["verify"]).expect(0);
}
