//! The conditions of rules, and the log.

use guildhall_model_server::{AnswerKind, Entry, Peer};
use serde_json::{Value, json};

use crate::client::{Connection, Wire, ask, ask_with};
use crate::{replying, start};

/// A rule that replies with a text when a request meets the conditions.
fn rule(when: &Value, text: &str) -> Value {
    json!({"when": when, "then": {"reply": {"text": text}}})
}

fn replying_x() -> Peer {
    replying(&json!({"text": "x"}))
}

fn text(got: &crate::client::Got) -> String {
    let json = got.json();
    let openai = &json["choices"][0]["message"]["content"];
    openai.as_str().or_else(|| json["content"][0]["text"].as_str()).unwrap_or_default().into()
}

#[test]
fn the_log_has_the_requests_without_keys() {
    let peer = start(&json!({"key": "sk-right", "rules": [rule(&json!({}), "x")]}));
    let body = Wire::Anthropic.request("hello");
    let right = ask_with(&peer, Wire::Anthropic, &[("x-api-key", "sk-right"), ("x-trace", "7")], &body);
    let bearer = ask_with(&peer, Wire::OpenAi, &[("authorization", "Bearer sk-right")], &Wire::OpenAi.request(""));
    let wrong = ask_with(&peer, Wire::OpenAi, &[("authorization", "Bearer sk-wrong")], &Wire::OpenAi.request(""));
    let none = ask(&peer, Wire::Anthropic, "");
    assert_eq!([right.status, bearer.status, wrong.status, none.status], [200, 200, 401, 401]);
    let log = peer.wait_for("four ends", |log| log.iter().filter(|e| matches!(e, Entry::End { .. })).count() == 4);
    let Entry::Request { request, connection, method, path, headers, body: sent, .. } = &log[0] else {
        panic!("{log:?}")
    };
    assert_eq!((*request, *connection, method.as_str(), path.as_str()), (1, 1, "POST", "/v1/messages"));
    assert_eq!((headers["x-api-key"].as_str(), headers["x-trace"].as_str()), ("<expected key>", "7"));
    assert_eq!(*sent, body);
    let keys: Vec<Option<&str>> = log
        .iter()
        .filter_map(|entry| match entry {
            Entry::Request { headers, .. } => Some(headers.get("authorization").map(String::as_str)),
            Entry::Answer { .. } | Entry::End { .. } | Entry::Mark { .. } => None,
        })
        .collect();
    assert_eq!(keys, [None, Some("<expected key>"), Some("<other key>"), None]);
    assert!(!format!("{log:?}").contains("sk-"), "{log:?}");
}

#[test]
fn a_body_that_is_not_json_is_logged_as_text() {
    let peer = replying_x();
    let mut connection = Connection::open(peer.address());
    connection.send("POST", "/v1/messages?beta=true", &[], "{oops");
    connection.receive();
    let log = peer.log();
    let Entry::Request { path, body, .. } = &log[0] else { panic!("{log:?}") };
    assert_eq!((path.as_str(), body), ("/v1/messages?beta=true", &json!("{oops")));
}

#[test]
fn the_first_rule_that_matches_answers_at_most_repeat_times() {
    let peer = start(&json!({"lenient": true, "rules": [
        {"then": {"reply": {"text": "first two"}}, "repeat": 2},
        rule(&json!({"nth": 4}), "fourth"),
        rule(&json!({"protocol": "openai"}), "openai"),
        rule(&json!({"last_user": "secret"}), "user"),
        rule(&json!({"model": "other"}), "model"),
        rule(&json!({"request_key": "k"}), "key"),
        rule(&json!({"messages": {"from": 2, "to": 9}}), "messages"),
        rule(&json!({"tool_result": "42"}), "result 42"),
        rule(&json!({"has_tool_result": true}), "result"),
        rule(&json!({}), "rest"),
    ]}));
    let mut replies = Vec::new();
    let mut send = |wire, headers: &[(&str, &str)], body: &Value| {
        replies.push(text(&ask_with(&peer, wire, headers, body)));
    };
    let plain = Wire::Anthropic.request("x");
    for _ in 0..4 {
        send(Wire::Anthropic, &[], &plain);
    }
    send(Wire::OpenAi, &[], &Wire::OpenAi.request("x"));
    send(Wire::Anthropic, &[], &Wire::Anthropic.request("a secret"));
    let mut other = plain.clone();
    other["model"] = json!("other");
    send(Wire::Anthropic, &[], &other);
    send(Wire::Anthropic, &[("idempotency-key", "k")], &plain);
    let result = |text| json!({"role": "user", "content": [{"type": "tool_result", "content": text}]});
    let mut messages = plain.clone();
    messages["messages"] = json!([plain["messages"][0], plain["messages"][0]]);
    send(Wire::Anthropic, &[], &messages);
    messages["messages"] = json!([result("is 42")]);
    send(Wire::Anthropic, &[], &messages);
    messages["messages"] = json!([result("is 43")]);
    send(Wire::Anthropic, &[], &messages);
    let expect = "first two|first two|rest|fourth|openai|user|model|key|messages|result 42|result";
    assert_eq!(replies.join("|"), expect);
}

#[test]
fn requests_are_counted_per_agent() {
    let nth = |nth| json!({"agent": "ada", "nth_of_agent": nth});
    let rules = [rule(&nth(1), "ada 1"), rule(&nth(2), "ada 2"), rule(&json!({}), "else")];
    let peer = start(&json!({"rules": rules}));
    let mut bob = Wire::Anthropic.request("");
    bob["system"] = json!("You are bob.");
    let ada = Wire::Anthropic.request("");
    let replies = [&bob, &ada, &bob, &ada, &ada].map(|body| text(&ask_with(&peer, Wire::Anthropic, &[], body)));
    assert_eq!(replies, ["else", "ada 1", "else", "ada 2", "else"]);
}

#[test]
fn a_rule_can_break_the_list_of_models() {
    let broken = json!({"when": {"endpoint": "models"}, "then": {"wrong": "server"}});
    let peer = start(&json!({"rules": [broken, rule(&json!({}), "x")]}));
    let mut connection = Connection::open(peer.address());
    connection.send("GET", "/v1/models", &[], "");
    assert_eq!(connection.receive().status, 500);
    assert_eq!(ask(&peer, Wire::OpenAi, "").status, 200);
    connection.send("GET", "/nowhere", &[], "");
    assert_eq!(connection.receive().status, 404);
}

#[test]
fn templates_contain_values_of_the_request() {
    let peer = replying(&json!({"text": "{{last_user}}|{{tool_result}}|{{messages}}|{{model}}|{{n}}"}));
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": "add"}, {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]},
        {"role": "tool", "tool_call_id": "a", "content": "3"}, {"role": "tool", "tool_call_id": "b", "content": "4"}]});
    assert_eq!(text(&ask_with(&peer, Wire::OpenAi, &[], &body)), "add|3\n4|4|m|1");
}

#[test]
fn a_request_that_a_provider_refuses_gets_the_message_of_the_provider() {
    let peer = replying_x();
    let mut body = Wire::OpenAi.request("x");
    body["messages"] = json!([{"role": "assistant", "tool_calls": [{"id": "a"}]}]);
    let got = ask_with(&peer, Wire::OpenAi, &[], &body);
    assert_eq!(got.status, 400);
    let message = got.json()["error"]["message"].to_string();
    assert!(message.contains("The following tool_call_ids did not have response messages: a"), "{message}");
    let is_refusal = |entry: &&Entry| matches!(entry, Entry::Answer { kind: AnswerKind::BadRequest, .. });
    assert_eq!(peer.log().iter().filter(is_refusal).count(), 1);
}
