//! Replies that our own `max_tokens` cuts: they are continued, and a text without its end is marked everywhere.

use serde_json::{Value, json};

use crate::chat::CHAT;
use crate::crew::{
    CREW, always, answer, assert_has, assert_lacks, delegates, first, hires, shown, slowly, staffed, worked,
};
use crate::house::{House, Known, Running, WIRES, Wire, reads, says, wait_for};

/// A reply that ends because of `max_tokens`.
fn cut(text: &Value) -> Value {
    json!({"reply": {"text": text, "stop": "max_tokens"}})
}

/// The nth reply of the only agent.
#[allow(clippy::needless_pass_by_value, reason = "the tests write rules as temporary values")]
fn nth(nth: u64, then: Value) -> Value {
    json!({"when": {"nth": nth}, "then": then})
}

/// The texts of all messages of a request, as JSON.
fn last_messages(house: &House) -> String {
    house.requests().last().unwrap()["messages"].to_string()
}

#[test]
fn a_cut_reply_is_continued_and_the_parts_are_joined_byte_by_byte() {
    for wire in WIRES {
        let house = House::new(wire, &json!([nth(1, cut(&json!("It is on Tue"))), nth(2, says("sday. \n"))]));
        let result = house.run(&["--max-turns", "1"]).expect(0).json();
        assert_eq!((answer(&result), &result["outcome"]), ("It is on Tuesday. \n", &json!("done")), "{wire:?}");
        assert_eq!(result["bill"]["contracts"][0]["cut"], json!(false));
        assert_has(&last_messages(&house), &["Your reply was cut at ", " tokens. Continue exactly where you stopped."]);
        // Text and marks of the terminal: one answer.
        let house = House::new(wire, &json!([nth(1, cut(&json!("It is on Tue"))), nth(2, says("sday."))]));
        let ended = house.guildhall(&["run", "When?", "--yes"]).expect(0);
        assert_eq!(ended.stdout, "It is on Tuesday.\n", "{wire:?}");
    }
}

#[test]
fn after_four_continuations_the_joined_text_is_the_report_and_marked() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": cut(&json!("More. "))}]));
        let result = house.run(&[]).expect(7).json();
        assert_eq!(house.requests().len(), 5, "{wire:?}");
        assert_eq!(
            (answer(&result), &result["outcome"]),
            ("More. ".repeat(5).as_str(), &json!({"exhausted": "length"}))
        );
        assert_eq!(result["bill"]["contracts"][0]["cut"], json!(true));
        let shown = house.guildhall(&["show", "last"]).expect(0);
        assert_has(&format!("{}{}", shown.stdout, shown.stderr), &["report cut"]);
        house.guildhall(&["verify"]).expect(0);
    }
}

#[test]
fn a_cut_report_of_a_hire_is_marked_for_its_hirer() {
    for wire in WIRES {
        let rules = json!([
            first("lead", delegates("ada", "Look it up.", 800)),
            always("lead", says("Ada did not finish.")),
            always("ada", cut(&json!("On and on. "))),
        ]);
        let house = staffed(House::new(wire, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
        let result = house.run(&CREW).expect(0).json();
        assert_eq!(worked(&result), ["1 lead done", "1.1 ada exhausted length"], "{wire:?}");
        assert_eq!(result["bill"]["contracts"][1]["cut"], json!(true));
        let told = shown(&house, "lead").pop().unwrap();
        assert_has(&told, &["<sub-agent-exhausted", " not-accepted cut>", "could not finish its report"]);
    }
}

#[test]
fn without_money_for_the_rest_the_last_request_sees_the_text_and_the_exit_code_is_3() {
    for wire in WIRES {
        let mut part = cut(&json!("Tuesday it is. ".repeat(70)));
        part["reply"]["usage"] = json!({"input": 4000, "output": 250});
        let rules = json!([
            {"when": {"last_user": "last reply"}, "then": says("In short: Tuesday.")},
            {"then": part},
        ]);
        let house = House::new(wire, &rules);
        let result = house.run(&["--budget", "12sat"]).expect(3).json();
        assert_eq!(
            (answer(&result), &result["outcome"]),
            ("In short: Tuesday.", &json!({"exhausted": "purse"})),
            "{wire:?}"
        );
        assert_has(&last_messages(&house), &["Tuesday it is."]);
        house.guildhall(&["verify"]).expect(0);
    }
}

#[test]
fn a_reply_that_is_cut_within_a_call_makes_only_its_whole_calls() {
    for wire in WIRES {
        let half = json!({"reply": {"text": "I look.", "stop": "max_tokens", "calls": [
            {"name": "read_file", "arguments": {"path": "notes.txt"}}, {"name": "read_file", "raw": "{\"path\": \"not"}]}});
        let house = House::new(wire, &json!([nth(1, half), nth(2, says("On Tuesday."))]));
        let result = house.run(&[]).expect(0).json();
        assert_eq!(answer(&result), "On Tuesday.", "{wire:?}");
        let reason = "refused: your reply reached its limit of tokens within this call";
        assert_has(&last_messages(&house), &["the meeting is on Tuesday", reason]);
        assert_lacks(&last_messages(&house), &["Continue exactly"]);
    }
}

#[test]
fn a_reply_that_is_cut_before_its_first_word_is_asked_for_again() {
    for wire in WIRES {
        let thinking = json!({"reply": {"thinking": [{"thinking": "Hm.", "signature": "s"}], "stop": "max_tokens"}});
        let nothing = json!({"reply": {"text": "", "stop": "max_tokens"}});
        for empty in [thinking, nothing] {
            let house = House::new(wire, &json!([nth(1, empty), nth(2, says("On Tuesday."))]));
            let result = house.run(&[]).expect(0).json();
            assert_eq!(answer(&result), "On Tuesday.", "{wire:?}");
        }
    }
}

#[test]
fn thinking_and_halves_of_characters_are_not_sent_back() {
    for wire in WIRES {
        let part = json!({"reply": {"thinking": [{"thinking": "Hm.", "signature": "s"}],
            "text": {"escaped": "On Tuesday \\ud83d"}, "stop": "max_tokens"}});
        let rest = json!({"reply": {"text": {"escaped": "\\ude00 at nine."}}});
        let house = House::new(wire, &json!([nth(1, part), nth(2, rest)]));
        let result = house.run(&[]).expect(0).json();
        let text = answer(&result);
        assert!(text.starts_with("On Tuesday ") && text.ends_with(" at nine."), "{wire:?}: {text:?}");
        let said = &house.requests()[1]["messages"];
        let said = said.as_array().unwrap().iter().find(|message| message["role"] == "assistant").unwrap();
        assert_lacks(&said.to_string(), &["thinking", "signature", "Hm."]);
        house.guildhall(&["verify"]).expect(0);
    }
}

#[test]
fn a_json_turn_that_is_cut_is_continued_as_text_and_read_when_it_is_whole() {
    let raw = |text: &str, stop: &str| {
        let events = format!(
            "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
            json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": stop}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 20}}),
        );
        json!({"raw": {"status": 200, "body": events}})
    };
    let rules = json!([
        nth(1, raw("{\"calls\": [{\"tool\": \"read_file\", \"argu", "length")),
        nth(2, raw("ments\": {\"path\": \"notes.txt\"}}]}", "stop")),
        nth(3, raw("{\"report\": \"It is on Tue", "length")),
        nth(4, raw("sday.\"}", "stop")),
    ]);
    let house = House::known(Wire::OpenAi, Known::AsReplaying, &rules);
    let config = house.read_config().replace("replays = true\n", "replays = true\ncalls = \"json\"\n");
    house.write_config(&config);
    let result = house.run(&[]).expect(0).json();
    assert_eq!(answer(&result), "It is on Tuesday.");
    let formats: Vec<bool> = house.requests().iter().map(|request| !request["response_format"].is_null()).collect();
    assert_eq!(formats, [true, false, true, false], "the rest of an object follows no schema");
    assert_has(&house.requests()[2].to_string(), &["the meeting is on Tuesday"]);
    house.guildhall(&["verify"]).expect(0);
}

#[test]
fn in_a_conversation_the_person_sees_one_text_and_the_mark_and_the_text_stands() {
    for wire in WIRES {
        let rules = json!([
            nth(1, cut(&json!("It is on Tue"))),
            nth(2, says("sday.")),
            {"when": {"nth": {"from": 3, "to": 7}}, "then": cut(&json!("More. "))},
            nth(8, says("Bye.")),
        ]);
        let house = House::new(wire, &rules);
        let ended = Running::start(house.command(&CHAT), "When?\nAnd what?\nThanks.\n").end().expect(0);
        assert_eq!(ended.stdout, format!("It is on Tuesday.\n{}\nBye.\n", "More. ".repeat(5).trim_end()), "{wire:?}");
        assert_eq!(ended.stderr.matches("this reply is cut").count(), 1, "{wire:?}: {}", ended.stderr);
    }
}

#[test]
fn a_cut_reply_is_continued_after_a_kill() {
    let stalled = json!({"reply": {"text": "sd", "damage": {"stall": {"after": {"events": 2}}}}});
    let rules = json!([nth(1, cut(&json!("It is on Tue"))), nth(2, stalled), {"then": says("sday.")}]);
    for wire in WIRES {
        let house = House::new(wire, &rules);
        let running = house.start(&[]);
        wait_for("the second request", || (house.requests().len() == 2).then_some(()));
        running.kill();
        let result = house.guildhall(&["resume", "last", "--output", "json"]).expect(0).json();
        assert_eq!(answer(&result), "It is on Tuesday.", "{wire:?}");
        house.guildhall(&["verify"]).expect(0);
    }
}

#[test]
fn after_a_resume_the_person_sees_a_cut_reply_once_with_the_parts_before_the_kill() {
    let stalled = json!({"reply": {"text": "Mo", "damage": {"stall": {"after": {"events": 2}}}}});
    let rules = json!([
        {"when": {"nth": {"from": 1, "to": 2}}, "then": cut(&json!("More. "))},
        nth(3, stalled),
        {"when": {"nth": {"from": 4, "to": 6}}, "then": cut(&json!("More. "))},
        {"then": says("Bye.")},
    ]);
    for wire in WIRES {
        let house = House::new(wire, &rules);
        let running = Running::start(house.command(&CHAT), "When?\n");
        wait_for("the third request", || (house.requests().len() == 3).then_some(()));
        running.kill();
        let resumed = Running::start(house.command(&["resume", "last"]), "Thanks.\n").end().expect(0);
        assert_eq!(
            resumed.stdout,
            format!("{}\nBye.\n", "More. ".repeat(5).trim_end()),
            "{wire:?}: {}",
            resumed.stderr
        );
        assert_eq!(resumed.stderr.matches("this reply is cut").count(), 1, "{wire:?}: {}", resumed.stderr);
    }
}

#[test]
fn files_that_an_agent_read_before_a_cut_reply_stay_in_its_prompt() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([nth(1, reads(&["notes.txt"])), nth(2, cut(&json!("It is on Tue"))), nth(3, says("sday."))]),
        );
        let result = house.run(&[]).expect(0).json();
        assert_eq!(answer(&result), "It is on Tuesday.", "{wire:?}");
        assert_has(&last_messages(&house), &["the meeting is on Tuesday"]);
    }
}

#[test]
fn a_message_that_comes_before_the_rest_of_a_cut_reply_gets_a_turn_of_its_own() {
    for wire in WIRES {
        let rules = json!([
            nth(1, slowly(cut(&json!("It is on Tue")), 700)),
            nth(2, says("sday.")),
            {"when": {"last_user": "Respond to it now"}, "then": says("In the town hall.")},
        ]);
        let house = House::new(wire, &rules);
        let running = house.start(&[]);
        let id = running.session();
        wait_for("the first request", || (house.requests().len() == 1).then_some(()));
        house.guildhall(&["message", &id, "And where?"]).expect(0);
        let result = running.end().expect(0).json();
        assert_eq!((answer(&result), house.requests().len()), ("In the town hall.", 3), "{wire:?}");
        assert_has(&last_messages(&house), &["And where?", "Continue exactly where you stopped.", "Respond to it now"]);
        house.guildhall(&["verify"]).expect(0);
    }
}

#[test]
fn a_cut_reply_whose_rest_does_not_fit_into_the_window_stays_cut() {
    for wire in WIRES {
        let house = House::new(wire, &json!([nth(1, cut(&json!("On "))), {"then": {"wrong": "context_too_long"}}]));
        let result = house.run(&[]).expect(7).json();
        assert_eq!((answer(&result).trim(), &result["outcome"]), ("On", &json!({"exhausted": "length"})), "{wire:?}");
        assert_eq!(result["bill"]["contracts"][0]["cut"], json!(true));
        house.guildhall(&["verify"]).expect(0);
    }
}
