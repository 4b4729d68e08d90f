//! How requests are read in both protocols: checks of the providers, conditions of rules, templates.

use guildhall_model_server::Peer;
use serde_json::{Value, json};

use crate::client::{Wire, ask_with};
use crate::{always, replying, start};

fn text(content: &str) -> Value {
    json!({"type": "text", "text": content})
}

fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

/// The text of the reply, or the message of the refusal.
fn reply_text(peer: &Peer, wire: Wire, body: &Value) -> String {
    let got = ask_with(peer, wire, &[], body).json();
    let places = ["/content/0/text", "/choices/0/message/content", "/error/message"];
    places.iter().find_map(|place| got.pointer(place)?.as_str()).unwrap().into()
}

fn check(wire: Wire, messages: &[&Value], expect: &str) {
    let body = json!({"model": "m", "max_tokens": 1, "messages": messages});
    let text = reply_text(&replying(&json!({"text": "accepted"})), wire, &body);
    assert!(text.contains(expect), "{text}");
}

#[test]
fn anthropic_requires_a_result_for_each_call() {
    let user = user("x");
    let call = |id: &&str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let calls = |ids: &[&str]| json!({"role": "assistant", "content": ids.iter().map(call).collect::<Vec<_>>()});
    let result = |id: &&str| json!({"type": "tool_result", "tool_use_id": id, "content": ""});
    let results = |ids: &[&str]| json!({"role": "user", "content": ids.iter().map(result).collect::<Vec<_>>()});
    let check = |messages: &[&Value], expect| check(Wire::Anthropic, messages, expect);
    check(&[&user, &calls(&["a", "b"]), &results(&["b", "a"])], "accepted");
    check(&[&user, &calls(&["a", "b"]), &results(&["b"])], "without `tool_result` blocks immediately after: a.");
    check(&[&user, &calls(&["a"]), &user], "messages.1: `tool_use` ids were found without");
    check(&[&user, &results(&["a"])], "messages.1: unexpected `tool_use_id`");
    check(&[&user, &calls(&["a", "a"]), &results(&["a"])], "ids must be unique: a");
    check(&[], "at least one message");
    check(&[&json!({"role": "user", "content": ""})], "messages.0: text content blocks must be non-empty");
    check(&[&json!({"role": "system", "content": "x"})], "messages.0: role");
    let odd = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": "{"}]});
    check(&[&user, &odd, &results(&["a"])], "valid dictionary");
}

#[test]
fn openai_requires_a_message_for_each_call() {
    let user = user("x");
    let calls = json!({"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]});
    let tool = |id| json!({"role": "tool", "tool_call_id": id, "content": ""});
    let check = |messages: &[&Value], expect| check(Wire::OpenAi, messages, expect);
    check(&[&user, &calls, &tool("b"), &tool("a"), &user], "accepted");
    check(&[&user, &calls, &tool("b"), &user, &tool("a")], "did not have response messages: a");
    check(&[&user, &calls], "did not have response messages: a, b");
    check(&[&user, &tool("a")], "must be a response to a preceeding message");
}

#[test]
fn anthropic_requires_max_tokens_valid_tool_names_and_few_cache_marks() {
    let peer = replying(&json!({"text": "accepted"}));
    let check = |body: &Value, expect: &str| {
        let text = reply_text(&peer, Wire::Anthropic, body);
        assert!(text.contains(expect), "{text}");
    };
    let mut body = json!({"model": "m", "messages": [user("x")]});
    check(&json!("{oops"), "model: Field required");
    check(&body, "max_tokens: Field required");
    body["max_tokens"] = json!(1);
    check(&body, "accepted");
    body["tools"] = json!([{"name": "read file"}]);
    check(&body, "\"read file\" should match pattern");
    let cached = json!({"name": "f", "cache_control": {"type": "ephemeral"}});
    body["tools"] = json!([cached, cached, cached, cached, cached]);
    check(&body, "A maximum of 4 blocks with cache_control may be provided. Found 5.");
}

#[test]
fn both_protocols_are_read_the_same_way() {
    let result = |content: Value| json!({"type": "tool_result", "content": content});
    let anthropic = json!({"model": "m", "system": [text("You are ada.")], "messages": [
        user("add"), {"role": "assistant", "content": []}, {"role": "user", "content": [result("1".into())]},
        {"role": "assistant", "content": "hm"},
        {"role": "user", "content": [result("3".into()), result(json!([text("4")])), text("and"), text("now")]}]});
    let openai = json!({"model": "m", "messages": [
        {"role": "system", "content": "You are ada."}, user("add"), {"role": "assistant", "tool_calls": []},
        {"role": "tool", "content": "1"}, {"role": "assistant", "content": "hm"}, {"role": "tool", "content": "3"},
        {"role": "tool", "content": [text("4")]}, {"role": "user", "content": [text("and"), text("now")]}]});
    let reply = json!({"text": "{{last_user}}|{{tool_result}}|{{messages}}"});
    let rule = json!({"when": {"agent": "You are ada."}, "then": {"reply": reply}});
    let peer = start(&json!({"lenient": true, "rules": [rule]}));
    assert_eq!(reply_text(&peer, Wire::Anthropic, &anthropic), "and\nnow|3\n4|5");
    assert_eq!(reply_text(&peer, Wire::OpenAi, &openai), "and\nnow|3\n4|7");
}

#[test]
fn templates_are_filled_in_once() {
    let body = Wire::OpenAi.request("{{n}} }} {{");
    let peer = replying(&json!({"text": "{{last_user}}|{{n}}|{{messages}}{{model}}|{{what}} {{ {{n}} }}"}));
    assert_eq!(reply_text(&peer, Wire::OpenAi, &body), "{{n}} }} {{|1|1m|{{what}} {{ 1 }}");
    let arguments = json!({"a": ["{{n}}", 1, {"b": "{{model}}"}]});
    let peer = replying(&json!({"calls": [{"name": "f", "arguments": arguments}]}));
    let got = ask_with(&peer, Wire::Anthropic, &[], &Wire::Anthropic.request("x")).json();
    assert_eq!(got["content"][0]["input"], json!({"a": ["1", 1, {"b": "m"}]}));
}

#[test]
fn a_tree_divides_its_budget_among_hires_and_adds_up_their_reports() {
    let peer = always(&json!({"tree": {}}));
    let task = "Do: TREE depth=2 fanout=3 budget=100\nthanks";
    let hires = ask_with(&peer, Wire::Anthropic, &[], &Wire::Anthropic.request(task)).json();
    let arguments = json!({"specialty": "worker", "task": "TREE depth=1 fanout=3 budget=25", "budget": 25});
    assert_eq!((hires["content"].as_array().unwrap().len(), &hires["content"][2]["input"]), (3, &arguments));
    let tool = |id: &str, report: &str| json!({"role": "tool", "tool_call_id": id, "content": report});
    let calls = json!({"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}, {"id": "c"}]});
    let reports = [tool("a", "done d=1 n=3 err=0"), tool("b", "Report: done d=1 n=2 err=1."), tool("c", "refused")];
    let mut messages = vec![user("TREE depth=2 fanout=3"), calls];
    messages.extend(reports);
    assert_eq!(reply_text(&peer, Wire::OpenAi, &json!({"model": "m", "messages": messages})), "done d=2 n=5 err=2");
}

#[test]
fn a_reply_to_a_request_with_a_schema_is_one_object() {
    let call = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    let peer = start(&json!({"rules": [
        {"then": {"reply": {"calls": [call]}}, "repeat": 1},
        {"then": {"reply": {"text": "It says {{tool_result}}."}}},
    ]}));
    let mut body = Wire::OpenAi.request("read it");
    body["response_format"] = json!({"type": "json_schema", "json_schema": {}});
    let first = ask_with(&peer, Wire::OpenAi, &[], &body).json();
    let calls = r#"{"calls":[{"tool":"read_file","arguments":{"path":"a.txt"}}]}"#;
    assert_eq!(first["choices"][0]["message"]["content"], calls);
    assert_eq!(first["choices"][0]["finish_reason"], "stop");
    body["messages"] = json!([user("read it"), {"role": "assistant", "content": calls}, user("hello")]);
    assert_eq!(reply_text(&peer, Wire::OpenAi, &body), r#"{"report":"It says hello."}"#);
}

/// The content of a reply to a request whose reply must be one of these turns, and why it ended.
fn held(peer: &Peer, turns: &Value, max_tokens: u64) -> (String, String) {
    let mut body = Wire::OpenAi.request("read it");
    body["max_tokens"] = json!(max_tokens);
    body["response_format"] = json!({"type": "json_schema", "json_schema": {"schema": {"anyOf": turns}}});
    let reply = ask_with(peer, Wire::OpenAi, &[], &body).json();
    let choice = &reply["choices"][0];
    let text = |value: &Value| value.as_str().map_or_else(|| reply.to_string(), str::to_owned);
    (text(&choice["message"]["content"]), text(&choice["finish_reason"]))
}

#[test]
fn replies_that_are_held_to_a_schema_follow_it_and_end_at_the_limit() {
    let object = |field: &str, schema: &Value| json!({"type": "object", "properties": {field: schema}, "required": [field], "additionalProperties": false});
    let name = json!({"type": "object", "properties": {"tool": {"const": "list"}}, "required": ["tool"], "additionalProperties": false});
    let calls = |most: u64| {
        object("calls", &json!({"type": "array", "items": {"anyOf": [name]}, "minItems": 1, "maxItems": most}))
    };
    let report = object("report", &json!({"type": "string"}));
    let peer = start(&json!({"held_to_schema": true, "rules": [
        {"then": {"reply": {"text": "It is grey."}}},
        {"then": {"reply": {"calls": [{"name": "look"}]}}},
        {"then": {"reply": {"calls": [{"name": "list", "times": 2}]}}},
        {"then": {"reply": {"calls": [{"name": "list"}]}}},
    ]}));
    let said = |turns: &Value| held(&peer, turns, 99).0;
    assert_eq!(said(&json!([calls(2), report])), r#"{"report":"It is grey."}"#);
    assert_eq!(said(&json!([calls(2)])), r#"{"calls":[{"tool":"list"},{"tool":"list"}]}"#);
    assert_eq!(said(&json!([calls(1)])), r#"{"calls":[{"tool":"list"}]}"#);
    assert!(said(&json!([object("calls", &json!({"type": "string"}))])).contains("no rule of the script matches"));
    assert!(said(&json!([{"type": "string", "maxLength": 9}])).contains("the keyword maxLength is not supported"));
    let cut = (r#"{"report":"I"#.to_owned(), "length".to_owned());
    assert_eq!(held(&peer, &json!([report]), 3), cut);
}

#[test]
fn a_rule_can_name_a_part_of_the_body() {
    let peer = start(&json!({"rules": [
        {"when": {"body": "\"top_k\":5"}, "then": {"reply": {"text": "five"}}},
        {"then": {"reply": {"text": "other"}}},
    ]}));
    let mut body = Wire::OpenAi.request("x");
    assert_eq!(reply_text(&peer, Wire::OpenAi, &body), "other");
    body["top_k"] = json!(5);
    assert_eq!(reply_text(&peer, Wire::OpenAi, &body), "five");
}
