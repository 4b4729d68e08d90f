//! Commands that only read: sessions, models and paths; and how the program parses its arguments.

use std::fs;

use serde_json::{Value, json};

use crate::house::{House, MODEL, Running, WIRES, Wire, says, wait_for};

fn answering() -> Value {
    json!([{"then": says("On Tuesday.")}])
}

#[test]
fn a_task_comes_from_stdin() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"when": {"last_user": "out of a pipe"}, "then": says("It came.")}]));
        for args in [&["run", "--yes"][..], &["run", "-", "--yes"]] {
            let ended = Running::start(house.command(args), "  a task\nout of a pipe \n").end().expect(0);
            assert_eq!(ended.stdout, "It came.\n", "{wire:?} {args:?}");
        }
    }
}

#[test]
fn stdout_has_only_the_answer() {
    let house = House::new(Wire::Anthropic, &json!([{"then": says("On\nTuesday.")}]));
    let ended = house.guildhall(&["run", "When?", "--yes"]).expect(0);
    assert_eq!(ended.stdout, "On\nTuesday.\n");
    for part in ["session ", "bill, paid by you to anthropic, at ", "every balance adds up"] {
        assert!(ended.stderr.contains(part), "{part:?} is not in {}", ended.stderr);
    }
    assert!(!ended.stderr.contains('\u{1b}'), "a pipe gets no colours: {}", ended.stderr);
}

#[test]
fn sessions_are_listed_and_shown_as_text_and_as_json() {
    let house = House::new(Wire::OpenAi, &answering());
    house.guildhall(&["ls"]).expect(0).says("no sessions yet");
    assert_eq!(house.guildhall(&["ls", "--output", "json"]).expect(0).json(), json!([]));
    let id = house.run(&[]).expect(0).json()["session"].as_str().unwrap().to_owned();
    let listed = house.guildhall(&["ls", "--output", "json"]).expect(0).json();
    assert_eq!((&listed[0]["session"], &listed[0]["state"]), (&json!(id), &json!("done")));
    assert_eq!(listed[0]["task"], "When is the meeting?");
    let text = house.guildhall(&["ls"]).expect(0).stdout;
    assert!(text.contains(&id) && text.contains("done") && text.contains("When is the meeting?"), "{text}");

    let text = house.guildhall(&["show", &id]).expect(0).stdout;
    for part in [&id, "When is the meeting?", "On Tuesday.", "bill, paid by you to openai", "every balance adds up"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let facts = house.show(&id)["facts"].as_array().unwrap().len();
    assert!(facts >= 4 && house.root_facts(&id).len() == facts, "all of the {facts} stored facts");
    let facts = house.guildhall(&["show", &id, "--facts"]).expect(0);
    assert!(facts.stdout.contains("asks the model") && facts.stderr.is_empty(), "{facts:?}");
    house.guildhall(&["show", "nobody-knows-1"]).expect(2).says("there is no session nobody-knows-1");
    house.guildhall(&["resume", "nobody-knows-1"]).expect(2).says("guildhall ls");
    house.guildhall(&["stop", "nobody-knows-1"]).expect(2).says("guildhall ls");
}

/// Runs a task and returns the session's id.
fn session(house: &House, task: &str) -> String {
    let result = house.guildhall(&["run", task, "--yes", "--output", "json"]).expect(0).json();
    result["session"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_that_can_not_be_read_is_named_and_the_others_are_listed() {
    let house = House::new(Wire::Anthropic, &answering());
    let [sound, damaged, gone] = ["When?", "Where is it?", "Why is it?"].map(|task| session(&house, task));
    house.tamper(&format!(
        "UPDATE session_fact SET body = '{{\"funded' WHERE session = '{damaged}' AND n = 1;
         DELETE FROM text WHERE hash IN
         (SELECT unhex(body ->> '$.requested.prices.hash') FROM session_fact WHERE session = '{gone}')"
    ));
    let ended = house.guildhall(&["ls"]).expect(7);
    for id in [&sound, &damaged, &gone] {
        assert!(ended.stdout.contains(id.as_str()), "{id} is not in {}", ended.stdout);
    }
    assert_eq!((ended.stdout.matches("can't be read").count(), ended.stdout.matches(" done ").count()), (1, 2));
    ended.says(&format!("{damaged}: ")).says(&format!("guildhall verify {damaged}"));
    let listed = house.guildhall(&["ls", "--output", "json"]).expect(7).json();
    let states: Vec<&Value> = listed.as_array().unwrap().iter().map(|session| &session["state"]).collect();
    assert_eq!(states, ["done", "can't be read", "done"], "the newest first");
    house.guildhall(&["show", &sound]).expect(0);
    house.guildhall(&["show", &damaged]).expect(1).says("fact 1 of the account");
    house.guildhall(&["verify", &damaged]).expect(1).says("fact 1 of the account");
    // The settings of this session are gone: it is shown and billed, but can't continue.
    let shown = house.guildhall(&["show", &gone]).expect(7).stdout;
    for part in ["On Tuesday.", "can't be read: contract 1: ", "bill, at $", "general-contractor  "] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    assert_eq!(house.guildhall(&["show", &gone, "--output", "json"]).expect(7).json()["answer"], "On Tuesday.");
    let set_up = "can't read the stored settings of this work";
    house.guildhall(&["run", "--continue", &gone, "And?", "--yes"]).expect(1).says(set_up);
    house.guildhall(&["verify", &gone]).expect(1).says("is missing, or was changed after it was stored");
}

#[test]
fn models_and_paths_are_printed_as_text_and_as_json() {
    let house = House::new(Wire::OpenAi, &answering());
    let text = house.guildhall(&["models", MODEL]).expect(0).says("per million tokens").stdout;
    assert!(text.contains(MODEL) && text.contains("$1"), "{text}");
    let listed = house.guildhall(&["models", MODEL, "--output", "json"]).expect(0).json();
    assert_eq!(listed[0]["msat_per_million"], json!({"input": 1_000_000, "output": 5_000_000}));
    let home = house.home().display().to_string();
    let text = house.guildhall(&["paths"]).expect(0).stdout;
    assert!(text.lines().count() == 5 && text.lines().all(|line| line.contains(&home)), "{text}");
    let paths = house.guildhall(&["paths", "--output", "json"]).expect(0).json();
    assert_eq!(paths["journal"], format!("{home}/journal.db"));
    assert_eq!(house.requests().len(), 0, "no requests");
}

#[test]
fn invalid_arguments_are_exit_2() {
    let house = House::new(Wire::Anthropic, &answering());
    for args in [
        &["run", "--budget", "lots", "x"][..],
        &["run", "--budget", "-1", "x"],
        &["run", "--budget", "0", "x"],
        &["run", "--max-turns", "0", "x"],
        &["run", "--max-tokens-total", "0", "x"],
        &["run", "--timeout", "soon", "x"],
        &["run", "--output", "xml", "x"],
        &["run", "--agent", "no-such-file.md", "--yes", "x"],
        &["run", "one", "two"],
        &["run", "--no-such-flag"],
        &["resume"],
        &["resume", "../../etc/passwd"],
        &["dance"],
        &[],
    ] {
        let ended = house.guildhall(args).expect(2);
        assert!(!ended.stderr.is_empty() && ended.stdout.is_empty(), "{args:?}: {ended:?}");
    }
    assert_eq!(house.requests().len(), 0);
    assert!(!house.journal().exists(), "invalid arguments create no journal");
    house.guildhall(&["--help"]).expect(0);
    house.guildhall(&["--version"]).expect(0);
}

#[test]
fn too_many_parallel_calls_are_refused_with_the_limit() {
    let house = House::new(Wire::Anthropic, &answering());
    for many in ["18446744073709551615", "2305843009213693952", "99999999999999999999", "10001", "0", "-1", "many"] {
        let many = format!("--max-concurrency={many}");
        for args in [&["run", "When?"][..], &["chat"], &["resume", "brave-otter-17"]] {
            house.guildhall(&[args, &[&many]].concat()).expect(2).says("a number from 1 to 10000");
        }
    }
    let help = house.guildhall(&["run", "--help"]).expect(0).stdout;
    assert!(help.contains("up to 10000") || help.contains("up to\n          10000"), "{help}");
    house.run(&["--max-concurrency", "10000"]).expect(0);
}

#[test]
fn a_closed_pipe_does_not_end_the_work() {
    let house = House::new(Wire::OpenAi, &answering());
    let mut command = house.command_under("sh", &["-c", "\"$0\" \"$@\" | true"], &["run", "When?", "--yes"]);
    command.env("TMPDIR", house.home());
    Running::start(command, "").end().expect(0);
    assert_eq!(house.guildhall(&["ls", "--output", "json"]).json()[0]["state"], "done");
}

#[test]
fn a_result_that_can_not_be_written_is_exit_1() {
    let house = House::new(Wire::Anthropic, &answering());
    let to_full = |args: &[&str]| {
        let command = house.command_under("sh", &["-c", "\"$0\" \"$@\" > /dev/full"], args);
        Running::start(command, "").end().expect(1).says("could not be written")
    };
    to_full(&["run", "When?", "--yes"]).says("guildhall show ");
    to_full(&["run", "When?", "--yes", "--output", "json"]);
    for args in [&["ls"][..], &["paths"], &["models", MODEL], &["map"], &["agents"], &["verify"]] {
        to_full(args);
    }
    let listed = house.guildhall(&["ls", "--output", "json"]).json();
    assert_eq!(listed[0]["state"], "done", "the work is done");
    let id = listed[0]["session"].as_str().unwrap();
    assert!(house.guildhall(&["show", id]).expect(0).stdout.contains("On Tuesday."));
}

#[test]
fn the_built_in_agents_are_copied_and_existing_files_are_not_changed() {
    let house = House::new(Wire::Anthropic, &json!([]));
    let ejected = house.guildhall(&["agents", "eject"]).expect(0).stdout;
    assert_eq!(ejected.lines().count(), 7, "{ejected}");
    let tester = house.project().join(".guildhall/agents/tester.md");
    fs::write(&tester, "---\nname: tester\ndescription: Mine.\n---\nYou test.\n").unwrap();
    house.guildhall(&["agents", "eject"]).expect(0).says("tester.md already exists and was not changed");
    let listed = house.guildhall(&["agents"]).expect(0).stdout;
    let line = listed.lines().find(|line| line.starts_with("tester ")).unwrap();
    assert!(line.contains("Mine.") && line.contains(".guildhall/agents/tester.md"), "{listed}");
    house.guildhall(&["agents", "eject", "notes.txt"]).expect(1).says("notes.txt");
}

#[test]
fn the_list_has_dollars_first_says_who_pays_and_adds_up_what_each_payer_paid() {
    let house = House::new(Wire::Anthropic, &answering());
    for more in [&[][..], &[], &["--model", "rehearsal"]] {
        house.run(more).expect(0);
    }
    let listed = house.guildhall(&["ls", "--output", "json"]).expect(0).json();
    let since = house.guildhall(&["ls", "--since", "7d", "--output", "json"]).expect(0).json();
    assert_eq!(since["sessions"], listed, "without --since, the output is only the list");
    let (paid, free) = (json!(["paid by you to anthropic"]), json!(["rehearsal (free)"]));
    assert_eq!([&listed[0]["paid_by"], &listed[1]["paid_by"], &listed[2]["paid_by"]], [&free, &paid, &paid]);
    let totals = since["totals"].as_array().unwrap();
    let msat = |at: usize| listed[at]["used_msat"].as_u64().unwrap();
    assert_eq!(
        (&totals[0]["paid_by"], &totals[0]["sessions"], &totals[0]["msat"]),
        (&paid, &json!(2), &json!(msat(1) + msat(2)))
    );
    assert_eq!(
        (&totals[1]["paid_by"], &totals[1]["sessions"], &totals[1]["msat"]),
        (&free, &json!(1), &json!(msat(0)))
    );
    let text = house.guildhall(&["ls"]).expect(0).stdout;
    let total = text.lines().last().unwrap();
    assert!(
        total.starts_with("total $0.") && total.contains(" sat) paid by you to anthropic, 2 sessions; $0."),
        "{total}"
    );
    assert!(total.ends_with(" sat) rehearsal (free), 1 session"), "{total}");
    assert!(text.lines().next().unwrap().contains(" sat)  rehearsal (free) "), "{text}");
}

#[test]
fn sessions_that_are_too_old_are_left_out_of_the_list() {
    let house = House::new(Wire::Anthropic, &answering());
    house.run(&[]).expect(0);
    assert!(house.guildhall(&["ls", "--since", "1h"]).expect(0).stdout.contains("\ntotal $"));
    wait_for("a session that is older than a second", || {
        let old = house.guildhall(&["ls", "--since", "1s"]).expect(0);
        old.stderr.contains("no session was made in this time").then(|| assert_eq!(old.stdout, ""))
    });
    let old = house.guildhall(&["ls", "--since", "1s", "--output", "json"]).expect(0).json();
    assert_eq!(old, json!({"sessions": [], "totals": []}));
    assert_eq!(house.guildhall(&["ls", "--output", "json"]).expect(0).json().as_array().unwrap().len(), 1);
    house.guildhall(&["ls", "--since", "7"]).expect(2).says("7 has no unit");
}
