//! How work ends: the exit code names the cause, stdout has only an answer, and JSON output is safe for a terminal.

use serde_json::{Value, json};

use crate::house::{House, Running, WIRES, Wire, reads, says, wait_for};

/// The faults of a provider that always fails, with a part of the message for each.
fn faults() -> [(Value, &'static str); 5] {
    [
        (json!({"wrong": {"rate_limit": {"retry_after": 30}}}), "HTTP 429"),
        (json!({"wrong": {"overloaded": {}}}), "verloaded"),
        (json!({"wrong": "server"}), "HTTP 500"),
        (json!("reset"), "the connection broke"),
        (json!({"wrong": "key"}), "check the key"),
    ]
}

#[test]
fn a_provider_that_fails_until_the_time_is_up_is_exit_5() {
    for wire in WIRES {
        for (fault, why) in faults() {
            let house = House::new(wire, &json!([{"then": fault}]));
            let ended = house.run(&["--timeout", "2s"]).expect(5).says(why);
            let result = ended.json();
            assert!(result["failure"].as_str().unwrap().contains(why), "{wire:?} {fault}: {result}");
            assert_eq!(result["answer"], Value::Null, "{wire:?} {fault}");
        }
    }
}

#[test]
fn a_provider_that_is_unreachable_until_the_time_is_up_is_exit_5() {
    for (wire, url) in [(Wire::Anthropic, "ANTHROPIC_BASE_URL"), (Wire::OpenAi, "OPENAI_BASE_URL")] {
        let house = House::new(wire, &json!([{"then": says("never")}]));
        let mut command = house.command(&["run", "When?", "--yes", "--timeout", "2s"]);
        command.env(url, "http://127.0.0.1:9");
        let ended = Running::start(command, "").end().expect(5).says("refused");
        assert_eq!(ended.stdout, "", "{wire:?}");
    }
}

#[test]
fn time_that_runs_out_with_a_working_provider_is_exit_3() {
    let late = json!({"reply": {"text": "On Tuesday.", "pace": {"first_ms": 60_000}}});
    let calls = reads(&["notes.txt"]);
    for wire in WIRES {
        // One refused request does not make the provider the cause.
        let rules = json!([
            {"when": {"last_user": "last reply"}, "then": says("This far: Tuesday.")},
            {"repeat": 1, "then": {"wrong": {"overloaded": {}}}},
            {"then": calls},
        ]);
        let result = House::new(wire, &rules).run(&["--timeout", "3s"]).expect(3).json();
        assert_eq!((&result["answer"], &result["failure"]), (&json!("This far: Tuesday."), &Value::Null), "{wire:?}");
        let result = House::new(wire, &json!([{"then": late}])).run(&["--timeout", "1s"]).expect(3).json();
        assert_eq!((&result["answer"], &result["failure"]), (&Value::Null, &Value::Null), "{wire:?}");
    }
}

#[test]
fn an_error_is_never_printed_as_the_answer() {
    for wire in WIRES {
        for (fault, why) in faults() {
            for limits in [&["--timeout", "2s"][..], &["--budget", "1000sat", "--timeout", "20s"]] {
                let is_slow = limits.len() > 2 && fault["wrong"].is_object();
                if is_slow {
                    continue;
                }
                let house = House::new(wire, &json!([{"then": fault}]));
                let args = [&["run", "When is the meeting?", "--yes"], limits].concat();
                let ended = house.guildhall(&args).expect(5).says(why);
                assert_eq!(ended.stdout, "", "{wire:?} {fault} {limits:?}");
                let id = ended.stderr.split("session ").nth(1).unwrap().split_whitespace().next().unwrap();
                let shown = house.show(id);
                assert_eq!(shown["answer"], Value::Null, "{wire:?} {fault}: {shown}");
            }
        }
    }
}

#[test]
fn an_error_of_the_last_request_is_not_the_answer() {
    for wire in WIRES {
        let refused = json!({"wrong": "credit"});
        let slow = json!({"reply": {"text": "Let me look.", "calls": [{"name": "list_files", "arguments": {}}], "pace": {"first_ms": 400}}});
        let rules = json!([{"when": {"last_user": "last reply"}, "then": refused}, {"then": slow}]);
        let house = House::new(wire, &rules);
        let running = Running::start(house.command(&["run", "When?", "--yes"]), "");
        wait_for("the first request", || (house.peer.executions() >= 1).then_some(()));
        running.interrupt();
        let ended = running.end().expect(130).says("no money left");
        assert!(!ended.stdout.contains("money"), "{wire:?}: {}", ended.stdout);
    }
}

/// Whether a character is invisible or controls a terminal.
fn is_dangerous(c: char) -> bool {
    let unseen = "\u{ad}\u{34f}\u{61c}\u{200b}\u{200d}\u{202e}\u{2028}\u{2060}\u{2066}\u{2069}\u{3164}\u{fe0f}\u{feff}\u{e0041}\u{e0101}";
    (c.is_control() && c != '\n') || unseen.contains(c)
}

#[test]
fn json_output_has_no_control_and_no_invisible_characters() {
    let text = "pay \u{1b}[31m\u{7}\u{8}\u{7f}\u{9b}2J\u{202e}ecila\u{2066}x\u{2069}\u{200b}\u{200d}\u{feff}\u{e0041}\u{e0101}\u{fe0f}\u{ad}\
                \u{34f}\u{61c}\u{2028}\u{2060}\u{3164} bob, naïve 日本語 🏛";
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": says(text)}]));
        let task = format!("Say: {text}");
        let ended = house.guildhall(&["run", &task, "--yes", "--output", "json"]).expect(0);
        let result = ended.json();
        assert_eq!(result["answer"], text, "{wire:?}: the parsed text is the same");
        assert!(ended.stdout.contains("naïve 日本語 🏛"), "{wire:?}: visible characters are not escaped");
        let id = result["session"].as_str().unwrap();
        for args in [&["show", id, "--facts", "--output", "json"][..], &["ls", "--output", "json"]] {
            let ended = house.guildhall(args).expect(0);
            let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
            let label = shown["task"].as_str().or_else(|| shown[0]["task"].as_str()).unwrap();
            assert!(label.contains('\u{202e}'), "{args:?}: {label:?}");
            assert_eq!(ended.stdout.chars().find(|c| is_dangerous(*c)), None, "{args:?}: {}", ended.stdout);
        }
        assert_eq!(ended.stdout.chars().find(|c| is_dangerous(*c)), None, "{wire:?}: {}", ended.stdout);
    }
}
