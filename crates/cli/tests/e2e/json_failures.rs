//! `--output json` prints an object, also if there is no answer.

use serde_json::{Value, json};

use crate::crew::{CREW, assert_has, delegates, first, hires, staffed};
use crate::house::{Ended, House, Known, Running, Wire, msat, reads, says, wait_for};

/// Checks that a command printed its failure for programs, and returns the object.
#[track_caller]
fn failed(ended: Ended, code: i32, why: &str) -> Value {
    let result = ended.expect(code).json();
    assert_eq!(result["exit_code"], json!(code), "{result:#}");
    assert_has(result["failure"].as_str().unwrap(), &[why]);
    result
}

#[test]
fn a_usage_error_is_a_json_object_with_failure_and_exit_code() {
    let house = House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]));
    for (args, why) in [
        (&["run", "--output", "json", "--budget", "lots", "x"][..], "lots"),
        (&["run", "--output=json", "--no-such-flag", "x"], "--no-such-flag"),
        (&["run", "--output", "json", "--yes", "--agent", "no-such-file.md", "x"], "no-such-file.md"),
        (&["run", "--output", "json", "--yes", " "], "the task is empty"),
        (&["show", "nobody-knows-1", "--output", "json"], "nobody-knows-1"),
        (&["resume", "--output", "json"], "no session is named"),
        (&["models", "--output", "json", "a", "b"], "'b'"),
        (&["ls", "--output", "json", "more"], "'more'"),
    ] {
        let result = failed(house.guildhall(args), 2, why);
        assert_eq!(result.as_object().unwrap().len(), 2, "{args:?}: {result:#}");
    }
    house.write_config("model = ");
    let result = failed(house.guildhall(&["run", "When?", "--output", "json"]), 2, "config.toml");
    assert_eq!(result.as_object().unwrap().len(), 2, "{result:#}");
    assert_eq!(house.requests().len(), 0);
}

#[test]
fn arguments_that_can_t_be_parsed_print_json_only_if_it_was_asked_for() {
    let house = House::new(Wire::Anthropic, &json!([]));
    for args in [&["run", "--no-such-flag", "x"][..], &["run", "--no-such-flag", "--", "--output", "json"]] {
        assert_eq!(house.guildhall(args).expect(2).stdout, "", "{args:?}");
    }
    let help = house.guildhall(&["run", "--output", "json", "--help"]).expect(0).stdout;
    assert_has(&help, &["Usage: guildhall run"]);
}

#[test]
fn a_session_that_fails_in_the_middle_prints_its_json_object() {
    let rules =
        json!([{"when": {"has_tool_result": false}, "then": reads(&["notes.txt"])}, {"then": says("On Tuesday.")}]);
    let house = House::new(Wire::OpenAi, &rules);
    // The first run creates the journal.
    house.run(&[]).expect(0);
    house.refuse("fact", "\"answered\"");
    let result = failed(house.run(&[]), 1, "refused");
    let id = result["session"].as_str().unwrap().to_owned();
    assert_eq!((&result["outcome"], &result["answer"]), (&Value::Null, &Value::Null), "{result:#}");
    assert!(msat(&result["bill"]["granted"]) > 0, "{result:#}");
    house.refuse_nothing();
    house.guildhall(&["resume", &id, "--output", "json"]).expect(0);
}

#[test]
fn a_resume_that_is_refused_prints_the_json_object_of_its_session() {
    let rules = json!([first("lead", delegates("ada", "Look.", 500)), {"then": "stall"}]);
    let house =
        staffed(House::known(Wire::Anthropic, Known::AsReplaying, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
    let running = house.start(&CREW);
    let id = running.session();
    wait_for("the request of the hire", || (house.requests().len() == 2).then_some(()));
    running.kill();
    let config = house.read_config();
    house.write_config("");
    for command in
        [&["resume", &id, "--output", "json"][..], &["run", "--continue", &id, "More?", "--yes", "--output", "json"]]
    {
        let result = failed(house.guildhall(command), 2, "");
        assert_eq!(result["session"], json!(id), "{command:?}");
        assert!(msat(&result["bill"]["granted"]) > 0, "{command:?}: {result:#}");
    }
    house.write_config(&config);
    house.guildhall(&["stop", &id]).expect(0);
    let result = failed(house.guildhall(&["resume", &id, "--output", "json"]), 4, "has ended");
    assert_eq!((&result["session"], &result["outcome"]), (&json!(id), &json!("cancelled")), "{result:#}");
}

#[test]
fn an_error_after_the_session_was_created_prints_its_json_object_with_its_id() {
    let house = House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]));
    // The first run creates the journal.
    house.run(&[]).expect(0);
    house.refuse("session_fact", "\"requested\"");
    let result = failed(house.run(&[]), 1, "refused");
    house.refuse_nothing();
    let created = house.guildhall(&["ls", "--output", "json"]).json()[0]["session"].clone();
    assert_eq!((&result["session"], house.rows("session")), (&created, 2), "{result:#}");
    assert_eq!((&result["outcome"], house.requests().len()), (&Value::Null, 1), "{result:#}");
}

#[test]
fn a_signal_during_the_start_prints_the_json_object_of_the_session() {
    type Signal = fn(&Running);
    let signals: [Signal; 2] = [Running::interrupt, Running::terminate];
    for signal in signals {
        let house = House::new(Wire::OpenAi, &json!([{"then": says("On Tuesday.")}]));
        house.run(&[]).expect(0);
        house.stall("session_fact", "NEW.body LIKE '%\"requested\"%'");
        let running = house.start(&[]);
        wait_for("the session", || (house.rows("session") == 2).then_some(()));
        signal(&running);
        let result = failed(running.end(), 130, "stopped before the work began");
        house.stall_nothing();
        let listed = house.guildhall(&["ls", "--output", "json"]).json();
        assert_eq!(result["session"], listed[0]["session"], "{result:#}");
        assert_eq!((&result["outcome"], house.requests().len()), (&Value::Null, 1), "{result:#}");
    }
}

#[test]
fn a_signal_during_the_start_of_a_resume_prints_the_json_object_of_the_session() {
    let house = House::new(Wire::Anthropic, &json!([{"then": "stall"}]));
    let running = house.start(&[]);
    let id = running.session();
    wait_for("the request", || (house.requests().len() == 1).then_some(()));
    running.kill();
    house.stall("lease", "true");
    let resuming = Running::start(house.command(&["resume", &id, "--output", "json"]), "");
    resuming.listens();
    resuming.interrupt();
    let result = failed(resuming.end(), 130, &format!("guildhall resume {id}"));
    assert_eq!((&result["session"], &result["outcome"]), (&json!(id), &Value::Null), "{result:#}");
    house.stall_nothing();
}
