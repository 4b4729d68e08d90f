//! Successful work, over both protocols.

use std::fs;

use serde_json::{Value, json};

use crate::house::{House, WIRES, msat, reads, says};

#[test]
fn a_task_is_solved_through_several_tool_turns() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                {"when": {"nth": 1}, "then": {"reply": {"calls": [{"name": "list_files", "arguments": {}}]}}},
                {"when": {"nth": 2, "tool_result": "notes.txt"}, "then": reads(&["notes.txt"])},
                {"when": {"nth": 3, "tool_result": "Tuesday"}, "then": {"reply": {"calls": [
                    {"name": "search", "arguments": {"pattern": "roof"}}]}}},
                {"when": {"nth": 4, "tool_result": "agenda.txt"}, "then": says("On Tuesday, about the roof.")},
            ]),
        );
        let result = house.run(&[]).expect(0).json();
        assert_eq!((&result["outcome"], &result["answer"]), (&json!("done"), &json!("On Tuesday, about the roof.")));
        assert_eq!((&result["exit_code"], house.peer.executions()), (&json!(0), 4), "{wire:?}");
        assert!(msat(&result["bill"]["charged"]) > 0, "{wire:?}");
    }
}

#[test]
fn parallel_calls_are_all_answered_in_the_next_request() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                {"when": {"nth": 1}, "then": reads(&["notes.txt", "agenda.txt", "missing.txt", "notes.txt"])},
                {"then": says("Read.")},
            ]),
        );
        house.run(&[]).expect(0);
        let request = house.requests().pop().unwrap();
        let results = results(&request);
        assert_eq!(results.len(), 4, "{wire:?}: {request:#}");
        for (result, part) in results.iter().zip(["on Tuesday", "the roof", "missing.txt", "on Tuesday"]) {
            assert!(result.contains(part), "{wire:?}: in the order of the calls, {part:?} in {result}");
        }
    }
}

#[test]
fn thinking_blocks_are_sent_back_unchanged() {
    let house = House::new(
        crate::house::Wire::Anthropic,
        &json!([
            {"when": {"nth": 1}, "then": {"reply": {"thinking": [{"thinking": "Hm.", "signature": "c2lnbmVk"}],
                "calls": [{"name": "list_files", "arguments": {}}]}}},
            {"then": says("Read.")},
        ]),
    );
    house.run(&[]).expect(0);
    let request = house.requests().pop().unwrap()["messages"].to_string();
    assert!(request.contains(r#""signature":"c2lnbmVk""#) && request.contains(r#""thinking":"Hm.""#), "{request}");
}

#[test]
fn a_call_that_a_small_model_writes_as_text_is_executed() {
    let house = House::new(
        crate::house::Wire::OpenAi,
        &json!([
            {"when": {"nth": 1}, "then": says("```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"notes.txt\"}}\n```")},
            {"then": says("On Tuesday.")},
        ]),
    );
    assert_eq!(house.run(&[]).expect(0).json()["answer"], "On Tuesday.");
    assert!(house.requests()[1].to_string().contains("the meeting is on Tuesday"));
}

#[test]
fn nothing_outside_the_project_and_no_secret_file_is_read() {
    for wire in WIRES {
        let files = ["../outside.txt", "/etc/passwd", ".env", "link"];
        let house = House::new(wire, &json!([{"when": {"nth": 1}, "then": reads(&files)}, {"then": says("None.")}]));
        fs::write(house.project().join(".env"), "TOKEN=very-secret-9\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", house.project().join("link")).unwrap();
        house.run(&[]).expect(0);
        let request = house.requests().pop().unwrap();
        let results = results(&request);
        assert_eq!(results.len(), 4, "{wire:?}: {request}");
        for result in &results {
            assert!(!result.contains("root:") && !result.contains("very-secret-9"), "{wire:?}: {result}");
        }
    }
}

#[test]
fn an_agents_file_sets_the_name_the_tools_and_the_number_of_turns() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                {"when": {"last_user": "last reply"}, "then": says("This far: Tuesday.")},
                {"when": {"agent": "You are a careful reader."}, "then": reads(&["notes.txt"])},
            ]),
        );
        let file = house.project().join("reader.md");
        let text =
            "---\nname: reader\ndescription: Reads.\ntools: read_file\nmaxTurns: 2\n---\nYou are a careful reader.\n";
        fs::write(file, text).unwrap();
        let result = house.run(&["--agent", "reader.md"]).expect(3).json();
        assert_eq!(
            (&result["outcome"], &result["bill"]["contracts"][0]["agent"]),
            (&json!({"exhausted": "turns"}), &json!("reader"))
        );
        let tools = house.requests()[0]["tools"].clone();
        assert_eq!(tools.as_array().unwrap().len(), 1, "{wire:?}: {tools}");
        assert!(tools.to_string().contains("read_file"), "{wire:?}: {tools}");
    }
}

/// The new tool results of a request: those after the model's last reply.
pub(crate) fn results(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    let last = messages.iter().rposition(|message| message["role"] == "assistant").expect("the model has replied");
    let text = |content: &Value| content.as_str().map_or_else(|| content.to_string(), str::to_owned);
    let in_message = |message: &Value| -> Vec<String> {
        if message["role"] == "tool" {
            return vec![text(&message["content"])];
        }
        let blocks = message["content"].as_array().into_iter().flatten();
        blocks.filter(|block| block["type"] == "tool_result").map(|block| text(&block["content"])).collect()
    };
    messages[last..].iter().flat_map(in_message).collect()
}
