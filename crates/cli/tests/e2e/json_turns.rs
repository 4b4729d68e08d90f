//! JSON turns with the real program: one object per turn in place of tool calls, for a provider with `calls = "json"`.

use serde_json::{Value, json};

use crate::crew::{CREW, always, answer, assert_has, delegates, facts, first, hires, staffed, worked};
use crate::house::{House, Known, Wire, reads, says};

/// A house whose provider uses JSON turns.
fn house(rules: &Value) -> House {
    let house = House::known(Wire::OpenAi, Known::AsReplaying, rules);
    let config = house.read_config().replace("replays = true\n", "replays = true\ncalls = \"json\"\n");
    house.write_config(&config);
    staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")])
}

#[test]
fn a_team_works_in_json_turns_and_a_hire_is_shown_the_root_s_task() {
    let rules = json!([
        first("lead", delegates("ada", "Look it up.", 500)),
        always("lead", says("Ada says \"Tuesday\".\nSo it is Tuesday.")),
        first("ada", reads(&["notes.txt"])),
        always("ada", says("Tuesday.")),
    ]);
    let house = house(&rules);
    let result = house.run(&CREW).expect(0).json();
    assert_eq!(worked(&result), ["1 lead done", "1.1 ada done"]);
    assert_eq!(answer(&result), "Ada says \"Tuesday\".\nSo it is Tuesday.");
    let requests = house.requests();
    for request in &requests {
        assert_eq!((&request["tools"], &request["response_format"]["type"]), (&Value::Null, &json!("json_schema")));
    }
    let (lead, ada) = (requests[0].to_string(), requests[1].to_string());
    assert_has(&lead, &["To use tools: ", "- delegate_task {specialty: "]);
    assert_has(&ada, &["lead needs:", "Look it up.", "the whole work began with this request", "When is the meeting?"]);
    assert_has(&requests[2].to_string(), &["The result of read_file:", "the meeting is on Tuesday"]);
    let id = result["session"].as_str().unwrap();
    house.guildhall(&["verify", id]).expect(0);
    house.guildhall(&["show", id]).expect(0);
}

#[test]
fn a_server_that_refuses_the_schema_is_asked_with_tools() {
    let body = json!({"error": {"type": "invalid_request_error", "message": "no response_format here"}}).to_string();
    let refusal = json!({"raw": {"status": 400, "body": body}});
    let rules = json!([
        {"when": {"nth": 1}, "then": refusal},
        {"when": {"has_tool_result": false}, "then": reads(&["notes.txt"])},
        {"then": says("Tuesday.")},
    ]);
    let house = house(&rules);
    let result = house.run(&CREW).expect(0).json();
    assert_eq!(answer(&result), "Tuesday.");
    let has_tools: Vec<bool> = house.requests().iter().map(|request| request["tools"].is_array()).collect();
    assert_eq!(has_tools, [false, true, true], "the session continues with tools");
}

#[test]
fn prose_half_an_object_and_an_unknown_form_become_the_report() {
    for (words, expect) in [
        ("The meeting is on Tuesday.", "The meeting is on Tuesday."),
        ("{\"report\": \"The meeting is on", "The meeting is on"),
        ("{\"answer\": {\"day\": \"Tuesday\"}}", "{\"answer\": {\"day\": \"Tuesday\"}}"),
    ] {
        // The peer sends this text unchanged and ignores the schema.
        let raw = format!(
            "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
            json!({"choices": [{"index": 0, "delta": {"content": words}, "finish_reason": null}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}),
        );
        let house = house(&json!([{"then": {"raw": {"status": 200, "body": raw}}}]));
        let result = house.run(&CREW).expect(0).json();
        assert_eq!(answer(&result), expect, "{words}");
        assert_eq!(facts(&house, result["session"].as_str().unwrap(), "closed").len(), 1);
    }
}
