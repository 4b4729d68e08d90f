//! What rules match and what the log says about it.

use guildhall_model_server::{Count, Endpoint, Entry, Protocol, Reply, Rule, Said, Script, Then, When, Wrong};
use serde_json::{Value, json};

use crate::client::{Connection, Wire, ask, ask_with};
use crate::start;

fn say(text: &str) -> Rule {
    Rule::new(Then::Reply(Reply::text(text)))
}

fn text(got: &crate::client::Got) -> String {
    let json = got.json();
    let openai = &json["choices"][0]["message"]["content"];
    openai.as_str().or_else(|| json["content"][0]["text"].as_str()).unwrap_or_default().into()
}

#[test]
fn the_log_has_what_was_sent_but_no_key() {
    let script = Script { key: Some("sk-right".into()), ..Script::new([say("x")]) };
    let peer = start(&script);
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
fn a_body_that_is_no_json_is_logged_as_text() {
    let peer = start(&Script::new([say("x")]));
    let mut connection = Connection::open(peer.address());
    connection.send("POST", "/v1/messages?beta=true", &[], "{oops");
    connection.receive();
    let log = peer.log();
    let Entry::Request { path, body, .. } = &log[0] else { panic!("{log:?}") };
    assert_eq!((path.as_str(), body), ("/v1/messages?beta=true", &json!("{oops")));
}

#[test]
fn rules_are_tried_in_order_and_fire_as_often_as_they_may() {
    let only = |when| move |text| say(text).when(when);
    let script = Script::new([
        say("first two").repeat(2),
        only(When { nth: Some(Count::Exactly(4)), ..When::default() })("fourth"),
        only(When { protocol: Some(Protocol::OpenAi), ..When::default() })("openai"),
        only(When { last_user: Some("secret".into()), ..When::default() })("user"),
        only(When { model: Some("other".into()), ..When::default() })("model"),
        only(When { request_key: Some("k".into()), ..When::default() })("key"),
        only(When { messages: Some(Count::Between { from: 2, to: 9 }), ..When::default() })("messages"),
        only(When { tool_result: Some("42".into()), ..When::default() })("result 42"),
        only(When { has_tool_result: Some(true), ..When::default() })("result"),
        say("rest"),
    ]);
    let peer = start(&Script { lenient: true, ..script });
    let mut said = Vec::new();
    let mut tell = |wire, headers: &[(&str, &str)], body: &Value| {
        said.push(text(&ask_with(&peer, wire, headers, body)));
    };
    let plain = Wire::Anthropic.request("x");
    for _ in 0..4 {
        tell(Wire::Anthropic, &[], &plain);
    }
    tell(Wire::OpenAi, &[], &Wire::OpenAi.request("x"));
    tell(Wire::Anthropic, &[], &Wire::Anthropic.request("a secret"));
    let mut other = plain.clone();
    other["model"] = json!("other");
    tell(Wire::Anthropic, &[], &other);
    tell(Wire::Anthropic, &[("idempotency-key", "k")], &plain);
    let result = |text| json!({"role": "user", "content": [{"type": "tool_result", "content": text}]});
    let mut messages = plain.clone();
    messages["messages"] = json!([plain["messages"][0], plain["messages"][0]]);
    tell(Wire::Anthropic, &[], &messages);
    messages["messages"] = json!([result("is 42")]);
    tell(Wire::Anthropic, &[], &messages);
    messages["messages"] = json!([result("is 43")]);
    tell(Wire::Anthropic, &[], &messages);
    let expect = "first two|first two|rest|fourth|openai|user|model|key|messages|result 42|result";
    assert_eq!(said.join("|"), expect);
}

#[test]
fn requests_are_counted_per_agent() {
    let nth = |nth| When { agent: Some("ada".into()), nth_of_agent: Some(Count::Exactly(nth)), ..When::default() };
    let peer = start(&Script::new([say("ada 1").when(nth(1)), say("ada 2").when(nth(2)), say("else")]));
    let mut bob = Wire::Anthropic.request("");
    bob["system"] = json!("You are bob.");
    let ada = Wire::Anthropic.request("");
    let said = [&bob, &ada, &bob, &ada, &ada].map(|body| text(&ask_with(&peer, Wire::Anthropic, &[], body)));
    assert_eq!(said, ["else", "ada 1", "else", "ada 2", "else"]);
}

#[test]
fn the_list_of_models_can_go_wrong_too() {
    let models = When { endpoint: Endpoint::Models, ..When::default() };
    let peer = start(&Script::new([Rule::new(Then::Wrong(Wrong::Server)).when(models), say("x")]));
    let mut connection = Connection::open(peer.address());
    connection.send("GET", "/v1/models", &[], "");
    assert_eq!(connection.receive().status, 500);
    assert_eq!(ask(&peer, Wire::OpenAi, "").status, 200);
    connection.send("GET", "/nowhere", &[], "");
    assert_eq!(connection.receive().status, 404);
}

#[test]
fn templates_carry_what_was_asked_and_what_tools_said() {
    let peer = start(&Script::new([say("{{last_user}}|{{tool_result}}|{{messages}}|{{model}}|{{n}}")]));
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": "add"}, {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]},
        {"role": "tool", "tool_call_id": "a", "content": "3"}, {"role": "tool", "tool_call_id": "b", "content": "4"}]});
    assert_eq!(text(&ask_with(&peer, Wire::OpenAi, &[], &body)), "add|3\n4|4|m|1");
}

#[test]
fn what_a_provider_would_not_take_is_refused_in_its_words() {
    let peer = start(&Script::new([say("x")]));
    let mut body = Wire::OpenAi.request("x");
    body["messages"] = json!([{"role": "assistant", "tool_calls": [{"id": "a"}]}]);
    let got = ask_with(&peer, Wire::OpenAi, &[], &body);
    assert_eq!(got.status, 400);
    let told = got.json()["error"]["message"].to_string();
    assert!(told.contains("The following tool_call_ids did not have response messages: a"), "{told}");
    let answers = peer.log().into_iter().filter(|entry| matches!(entry, Entry::Answer { said: Said::BadRequest, .. }));
    assert_eq!(answers.count(), 1);
}
