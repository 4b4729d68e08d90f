//! Transcripts: printed from the journal, written as files for a whole session, and written while the work runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::crew::{CREW, always, assert_has, assert_lacks, by, calls, delegates, first, hires, staffed};
use crate::house::{House, KEY, Known, Running, WIRES, Wire, reads, says, wait_for};

/// A lead that hires ada, who reads a file.
pub(crate) fn team(wire: Wire, known: Known) -> House {
    let begins = json!({"has_tool_result": false});
    let rules = json!([
        by("lead", begins.clone(), delegates("ada", "When is it?", 500)),
        always("lead", says("On Tuesday, says ada.")),
        by("ada", begins, reads(&["notes.txt"])),
        always("ada", says("It is on Tuesday.")),
    ]);
    staffed(House::known(wire, known, &rules), &[("lead", &hires(&["ada"])), ("ada", "")])
}

/// Runs the team and returns the session's id.
pub(crate) fn work(house: &House) -> String {
    house.run(&CREW).expect(0).json()["session"].as_str().unwrap().to_owned()
}

/// The lines of a transcript.
#[track_caller]
pub(crate) fn parse(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"))).collect()
}

/// The printed transcript of a contract.
#[track_caller]
pub(crate) fn printed(house: &House, contract: &str) -> String {
    house.guildhall(&["transcript", contract]).expect(0).stdout
}

/// The text of the system prompt of a request.
fn system(wire: Wire, request: &Value) -> &str {
    match wire {
        Wire::Anthropic => request["system"][0]["text"].as_str().unwrap(),
        Wire::OpenAi => request["messages"][0]["content"].as_str().unwrap(),
    }
}

/// The names of the tools of a request or of an opening.
fn tools(list: &Value) -> Vec<String> {
    let name = |tool: &Value| tool.get("name").unwrap_or(&tool["function"]["name"]).as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(name).collect()
}

/// The files in a directory.
pub(crate) fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The types of lines, with the subtypes of system lines.
fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["subtype"].as_str().or_else(|| line["type"].as_str()).unwrap()).collect()
}

#[test]
fn a_transcript_has_the_prompt_the_messages_and_every_fact() {
    for wire in WIRES {
        let house = team(wire, Known::ByVariables);
        let id = work(&house);
        let text = printed(&house, &format!("{id}/1.1"));
        assert_eq!(text, printed(&house, &format!("{}/1.1", &id[..id.len() - 1])), "{wire:?}: the same bytes again");
        let lines = parse(&text);
        assert_eq!(
            kinds(&lines),
            ["opening", "user", "asked", "assistant", "asked", "user", "asked", "assistant", "closed"],
            "{wire:?}"
        );
        let mut parent = &Value::Null;
        for line in &lines {
            assert_eq!((&line["parentUuid"], &line["sessionId"]), (parent, &json!(id)), "{wire:?}");
            assert_eq!((&line["isSidechain"], &line["agentId"]), (&json!(true), &json!("1.1")), "{wire:?}");
            assert!(line["timestamp"].as_str().unwrap().ends_with('Z') && line["cwd"].is_string(), "{wire:?}");
            parent = &line["uuid"];
        }
        let request = &house.requests()[1];
        assert_eq!(lines[0]["content"], system(wire, request), "{wire:?}");
        assert_eq!(tools(&lines[0]["tools"]), tools(&request["tools"]), "{wire:?}");
        assert_has(lines[1]["message"]["content"][0]["text"].as_str().unwrap(), &["lead needs:", "When is it?"]);
        let call = &lines[3]["message"]["content"][0];
        assert_eq!((&call["type"], &call["input"]), (&json!("tool_use"), &json!({"path": "notes.txt"})), "{wire:?}");
        assert_eq!(lines[3]["message"]["stop_reason"], "tool_use", "{wire:?}");
        assert!(lines[3]["message"]["usage"]["input_tokens"].as_u64().unwrap() > 0, "{wire:?}");
        assert_has(lines[3]["message"]["model"].as_str().unwrap(), &["test-model"]);
        let result = &lines[5]["message"]["content"][0];
        assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &call["id"]), "{wire:?}");
        assert_has(result["content"].as_str().unwrap(), &["the meeting is on Tuesday"]);
        assert_eq!(lines[7]["message"]["content"], json!([{"type": "text", "text": "It is on Tuesday."}]), "{wire:?}");
        let stored: Vec<Value> = lines[1..].iter().map(|line| line["stored"].clone()).collect();
        let facts = house.guildhall(&["show", &format!("{id}/1.1"), "--facts", "--output", "json"]).expect(0).json();
        assert_eq!(json!(stored), facts["facts"], "{wire:?}: each fact once, unchanged");
        let texts = lines[8]["texts"].as_object().unwrap();
        assert_eq!(texts.values().collect::<Vec<_>>(), ["It is on Tuesday."], "{wire:?}: the report");
    }
}

#[test]
fn the_first_contract_is_printed_if_none_is_named() {
    let house = team(Wire::OpenAi, Known::ByVariables);
    let id = work(&house);
    let text = printed(&house, "last");
    assert_eq!(text, printed(&house, &format!("{id}/1")));
    let lines = parse(&text);
    assert_eq!((&lines[0]["agentId"], &lines[0]["isSidechain"]), (&json!("1"), &json!(false)));
    assert_eq!(lines[0]["content"], system(Wire::OpenAi, &house.requests()[0]));
    let hire = lines.iter().find(|line| line["stored"]["fact"]["asked"]["ask"]["hire"].is_object()).unwrap();
    assert_lacks(&hire["texts"].to_string(), &["You are ada"]);
    assert_has(&hire["texts"].to_string(), &["When is it?"]);
}

#[test]
fn the_opening_of_an_ad_hoc_specialist_is_its_real_prompt() {
    let lead = format!("{}\n  ad_hoc: true", hires(&["ada"]));
    for (wire, depth) in [(Wire::Anthropic, "2"), (Wire::OpenAi, "1")] {
        let rules = json!([
            first("lead", delegates("roof plumber", "Look at the roof.", 2000)),
            always("lead", says("It leaks.")),
            {"when": {"agent": "You are a specialist in this field: roof plumber."}, "then": says("It leaks.")},
        ]);
        let house = staffed(House::new(wire, &rules), &[("lead", &lead), ("ada", "")]);
        house.run(&[&CREW[..], &["--max-depth", depth]].concat()).expect(0);
        let opening = &parse(&printed(&house, "last/1.1"))[0];
        let request = &house.requests()[1];
        assert_eq!(opening["content"], system(wire, request), "{wire:?}");
        assert_eq!(tools(&opening["tools"]), tools(&request["tools"]), "{wire:?}");
        assert_eq!(tools(&opening["tools"]).contains(&"delegate_task".to_owned()), depth == "2", "{wire:?}");
    }
}

#[test]
fn a_key_in_the_instructions_is_not_in_the_stored_opening() {
    let house = team(Wire::Anthropic, Known::ByVariables);
    let file = house.project().join("crew/ada.md");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\nThe key is {KEY}.\n")).unwrap();
    work(&house);
    // The end of the test checks that no file of the home has the key.
    let opening = &parse(&printed(&house, "last/1.1"))[0];
    assert_has(opening["content"].as_str().unwrap(), &["You are ada", "[redacted"]);
}

#[test]
fn openings_are_stored_once_for_all_contracts_of_an_agent() {
    let house = team(Wire::Anthropic, Known::ByVariables);
    let openings = |house: &House| {
        let db = rusqlite::Connection::open(house.journal()).unwrap();
        db.query_row("SELECT count(*) FROM text WHERE kind = 'opening'", [], |row| row.get::<_, u32>(0)).unwrap()
    };
    work(&house);
    let stored = openings(&house);
    work(&house);
    assert_eq!((stored, openings(&house)), (2, 2), "of the lead and of ada");
}

#[test]
fn nothing_is_written_while_work_runs_unless_it_is_asked_for() {
    let house = team(Wire::Anthropic, Known::ByVariables);
    let id = work(&house);
    assert_eq!(files(&house.home().join("sessions").join(id)), ["lock"]);
}

/// Checks that the files of a session have the bytes that are printed.
#[track_caller]
pub(crate) fn assert_as_printed(house: &House, id: &str, directory: &Path, contracts: &[&str]) {
    let mut expected: Vec<String> = contracts.iter().map(|contract| format!("{contract}.jsonl")).collect();
    expected.sort();
    assert_eq!(files(directory), expected);
    for contract in contracts {
        let written = fs::read_to_string(directory.join(format!("{contract}.jsonl"))).unwrap();
        assert_eq!(written, printed(house, &format!("{id}/{contract}")), "{contract}");
    }
}

#[test]
fn files_that_are_written_live_have_the_printed_bytes() {
    let house = team(Wire::OpenAi, Known::ByVariables);
    let live = [&CREW[..], &["--transcripts", "deep/live"]].concat();
    let id = house.run(&live).expect(0).json()["session"].as_str().unwrap().to_owned();
    let directory = house.project().join("deep/live").join(&id);
    assert_as_printed(&house, &id, &directory, &["1", "1.1"]);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&directory), mode(&directory.join("1.jsonl"))), (0o700, 0o600), "only the owner can read them");

    house.run(&["--continue", &id, "--transcripts", "deep/live"]).expect(0);
    assert_as_printed(&house, &id, &directory, &["1", "1.1", "2", "2.1"]);

    // A session of another journal can have the same name.
    fs::write(directory.join("2.jsonl"), "mine").unwrap();
    let refused = house.run(&["--continue", &id, "--transcripts", "deep/live"]).expect(2);
    refused.says("2.jsonl exists").says("The work did not start").says("Name another directory");
    assert_eq!(fs::read_to_string(directory.join("2.jsonl")).unwrap(), "mine");
    assert_eq!(files(&directory), ["1.1.jsonl", "1.jsonl", "2.1.jsonl", "2.jsonl"], "the refused request left no file");
}

#[test]
fn files_that_are_written_live_are_completed_by_a_resume() {
    let house = team(Wire::Anthropic, Known::AsReplaying);
    let live = [&CREW[..], &["--transcripts", "live"]].concat();
    let mut landed = 0;
    for facts in [2, 6, 9] {
        let mut running = house.start(&live);
        let id = running.session();
        wait_for("as many facts", || (house.stored_facts(&id).len() >= facts || running.has_ended()).then_some(()));
        running.kill();
        let directory = house.project().join("live").join(&id);
        // A kill can leave half a line.
        fs::write(directory.join("1.jsonl"), "{\"parentUuid\":nu").unwrap();
        let resumed = house.guildhall(&["resume", &id, "--transcripts", "live"]);
        // The kill may come after the end of the work.
        if resumed.code() == 0 {
            landed += 1;
            assert_as_printed(&house, &id, &directory, &["1", "1.1"]);
        }
    }
    assert!(landed > 0, "every kill came after the end");
}

#[test]
fn all_transcripts_of_a_session_are_written_to_a_new_directory() {
    let house = team(Wire::Anthropic, Known::ByVariables);
    let id = work(&house);
    let written = house.guildhall(&["transcript", "last", "--all", "new/all"]).expect(0).stdout;
    assert_eq!(written, "new/all/1.jsonl\nnew/all/1.1.jsonl\n");
    let directory = house.project().join("new/all");
    assert_as_printed(&house, &id, &directory, &["1", "1.1"]);

    let before = fs::read(directory.join("1.jsonl")).unwrap();
    fs::write(directory.join("1.1.jsonl"), "mine").unwrap();
    let refused = house.guildhall(&["transcript", "last", "--all", "new/all"]).expect(2);
    refused.says("1.jsonl exists").says("Nothing was written").says("Name another directory");
    assert_eq!(fs::read(directory.join("1.jsonl")).unwrap(), before);
    assert_eq!(fs::read_to_string(directory.join("1.1.jsonl")).unwrap(), "mine");
    house.guildhall(&["transcript", "last/1.1", "--all", "other"]).expect(2).says("leave out /1.1");
}

#[test]
fn a_session_that_another_process_runs_is_printed_so_far() {
    let rules = json!([{"when": {"nth": 1}, "then": reads(&["notes.txt"])}, {"then": "stall"}]);
    let house = House::new(Wire::OpenAi, &rules);
    let running: Running = house.start(&[]);
    let id = running.session();
    wait_for("the second request", || (house.requests().len() == 2).then_some(()));
    let ended = house.guildhall(&["transcript", &id]).expect(0).says("is running").says("so far");
    assert_eq!(*kinds(&parse(&ended.stdout)).last().unwrap(), "asked");
    house.guildhall(&["transcript", &id, "--all", "all"]).expect(0).says("is running");
    assert_eq!(fs::read_to_string(house.project().join("all/1.jsonl")).unwrap(), ended.stdout);
    running.kill();
}

#[test]
fn unknown_sessions_and_contracts_are_exit_2() {
    let house = team(Wire::Anthropic, Known::ByVariables);
    house.guildhall(&["transcript", "last"]).expect(2).says("there is no session yet");
    let id = work(&house);
    house.guildhall(&["transcript", "nobody-knows-1"]).expect(2).says("there is no session nobody-knows-1");
    house.guildhall(&["transcript", "nobody-knows-1", "--all", "all"]).expect(2).says("guildhall ls");
    let unknown = house.guildhall(&["transcript", &format!("{id}/1.7")]).expect(2);
    house.guildhall(&["transcript", &format!("{id}/9")]).expect(2).says("its contracts are 1, 1.1");
    unknown.says("there is no contract 1.7").says("its contracts are 1, 1.1").says(&format!("guildhall show {id}"));
    assert!(!house.project().join("all").exists());
}

#[test]
fn missing_and_changed_texts_are_named_in_their_places() {
    let changes = [
        ("DELETE FROM text WHERE kind IN ('result', 'reply', 'opening')", "is not stored"),
        ("UPDATE text SET bytes = x'7b7d' WHERE kind IN ('result', 'reply', 'opening')", "can't be read"),
    ];
    for (wire, (change, why)) in WIRES.into_iter().zip(changes) {
        let house = team(wire, Known::ByVariables);
        let id = work(&house);
        let before = parse(&printed(&house, "last/1.1"));
        house.tamper(change);
        let ended = house.guildhall(&["transcript", &format!("{id}/1.1")]).expect(7);
        assert_has(
            &ended.stderr,
            &["the tool result", "the model reply", "the text of the system prompt and tools", why],
        );
        let after = parse(&ended.stdout);
        assert_eq!(kinds(&after), kinds(&before), "{wire:?}");
        let ids = |lines: &[Value]| lines.iter().map(|line| line["uuid"].to_string()).collect::<Vec<_>>();
        assert_eq!(ids(&after), ids(&before), "{wire:?}");
        assert_has(after[0]["content"].as_str().unwrap(), &["the text of the system prompt and tools", why]);
        assert_has(&after[5]["message"].to_string(), &["the tool result", why]);
        let hash = &after[5]["stored"]["fact"]["answered"]["answer"]["result"]["hash"];
        assert_eq!(after[5]["texts"][hash.as_str().unwrap()], Value::Null, "{wire:?}");
        // The text of a reply is stored separately.
        assert_has(&after[7]["message"].to_string(), &["It is on Tuesday."]);
        let warned: Vec<&str> = ended.stderr.lines().collect();
        let hashes = |line: &&&str| line.matches("with hash").count() == 1 && line.matches(why).count() == 1;
        assert_eq!((warned.len(), warned.iter().filter(hashes).count()), (4, 4), "{wire:?}: {}", ended.stderr);
        let all = house.guildhall(&["transcript", &id, "--all", "all"]).expect(7);
        assert_eq!(fs::read_to_string(house.project().join("all/1.1.jsonl")).unwrap(), ended.stdout);
        assert_has(&all.stderr, &["contract 1.1: the tool result"]);
    }
}

#[test]
fn the_first_line_names_the_conversation_that_precedes_it() {
    let house = team(Wire::OpenAi, Known::ByVariables);
    let id = work(&house);
    house.run(&["--continue", &id]).expect(0);
    let opening = |contract: &str| parse(&printed(&house, &format!("{id}/{contract}")))[0]["continues"].clone();
    assert_eq!((opening("1"), opening("1.1")), (Value::Null, Value::Null));
    assert_eq!((opening("2"), opening("2.1")), (json!(format!("{id}/1")), Value::Null));

    let fork = calls(&[("Agent", json!({"name": "splitter", "prompt": "Say which hour."}))]);
    let rules = json!([
        by("lead", json!({"last_user": "You are a copy"}), says("At nine.")),
        first("lead", fork),
        always("lead", says("At nine.")),
    ]);
    let lead = format!("{}\n  dialect: Agent", hires(&["ada"]));
    let house = staffed(House::new(Wire::Anthropic, &rules), &[("lead", &lead), ("ada", "")]);
    let id = work(&house);
    let lines = parse(&printed(&house, &id));
    let ask = &lines.iter().find(|line| line["subtype"] == "asked").unwrap()["stored"]["fact"]["asked"]["id"];
    assert_eq!(parse(&printed(&house, &format!("{id}/1.1")))[0]["continues"], format!("{id}/1 up to ask #{ask}"));
}

#[test]
fn settings_that_can_t_be_read_are_exit_7_and_are_named_once() {
    let house = team(Wire::OpenAi, Known::ByVariables);
    let id = work(&house);
    house.tamper("DELETE FROM text WHERE kind = 'prices'");
    let ended = house.guildhall(&["transcript", &id]).expect(7);
    assert_has(&ended.stderr, &["contract 1: the setup of a session", "is not stored"]);
    let lines = parse(&ended.stdout);
    let reply = lines.iter().find(|line| line["type"] == "assistant").unwrap();
    assert_eq!(reply["message"]["model"], Value::Null);
    let all = house.guildhall(&["transcript", &id, "--all", "all"]).expect(7);
    assert_eq!(all.stderr.matches("the setup of a session").count(), 1, "{}", all.stderr);
}
