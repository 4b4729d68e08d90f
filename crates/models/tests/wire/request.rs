//! The request for a prompt, in each protocol.

use std::sync::Arc;

use guildhall_agent::{CallFormat, Message, Model, Part, Prompt, RawCall, Reply, Stop, Wire};
use guildhall_models::{BaseUrl, Form, Provider};
use serde_json::{Value, json};

use crate::faults::hello;
use crate::server::Server;
use crate::setting::{body, endpoint, opened, prompt};

fn written(wire: Wire, prompt: &Prompt) -> Value {
    let endpoint = endpoint("http://127.0.0.1:1");
    body(wire, &endpoint, prompt, Form::of(&endpoint)).unwrap()
}

fn reply(wire: Wire, raw: Value) -> Message {
    let call = RawCall { id: "a.1".into(), name: "read_file".into(), arguments: Ok(json!({"path": "x"})) };
    let cut = RawCall { id: "b".into(), name: "read_file".into(), arguments: Err("{\"pa".into()) };
    let words = Some("I look.".into());
    Message::Assistant(Arc::new(Reply { wire, raw, words, calls: vec![call, cut], stop: Stop::Calls, part: None }))
}

fn results() -> Message {
    let result = |call: &str, text: &str, failed| Part::Result { call: call.into(), text: text.into(), failed };
    Message::User(vec![result("a.1", "found", false), result("b", "no JSON", true), Part::Words("Continue.".into())])
}

fn conversation(reply: Message) -> Prompt {
    let mut prompt = prompt();
    prompt.messages.extend([reply, results()]);
    prompt
}

#[test]
fn anthropic_requests_have_breakpoints_after_the_system_prompt_and_on_the_last_message() {
    let prompt = prompt();
    let (body, tools) = (written(Wire::Anthropic, &prompt), prompt.opening.tools());
    let cache = json!({"type": "ephemeral"});
    let expect = json!({
        "model": "tester-1", "max_tokens": 512, "stream": true,
        "system": [{"type": "text", "text": "You are a tester.", "cache_control": cache}],
        "tools": [
            {"name": "read_file", "description": "Does read_file.", "input_schema": tools[0].schema},
            {"name": "list_files", "description": "Does list_files.", "input_schema": tools[1].schema},
        ],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Look.", "cache_control": cache}]}],
    });
    assert_eq!(body, expect);
}

#[test]
fn anthropic_without_a_system_prompt_has_its_breakpoint_on_the_last_tool() {
    let body = written(Wire::Anthropic, &opened("", prompt().opening.tools().to_vec()));
    assert_eq!(body.get("system"), None);
    assert_eq!(body["tools"][0].get("cache_control"), None);
    assert_eq!(body["tools"][1]["cache_control"], json!({"type": "ephemeral"}));
}

#[test]
fn a_reply_is_sent_back_unchanged_over_its_own_protocol() {
    let raw = json!([{"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "text", "text": ""},
        {"type": "tool_use", "id": "a.1", "name": "read_file", "input": {"path": "x"}, "new": [1]}]);
    let body = written(Wire::Anthropic, &conversation(reply(Wire::Anthropic, raw.clone())));
    assert_eq!(body["messages"][1], json!({"role": "assistant", "content": [raw[0], raw[2]]}));
    let raw = json!({"role": "assistant", "content": null, "reasoning_content": "Hm", "tool_calls": [{"id": "a.1"}]});
    let body = written(Wire::OpenAi, &conversation(reply(Wire::OpenAi, raw.clone())));
    assert_eq!(body["messages"][2], raw);
}

#[test]
fn a_reply_is_sent_as_text_and_calls_over_another_protocol() {
    let body = written(Wire::Anthropic, &conversation(reply(Wire::OpenAi, json!({"reasoning_content": "mine"}))));
    let expect = json!([
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "a_1", "name": "read_file", "input": {"path": "x"}},
            {"type": "tool_use", "id": "b", "name": "read_file", "input": {"INVALID_JSON": "{\"pa"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a_1", "content": "found"},
            {"type": "tool_result", "tool_use_id": "b", "content": "no JSON", "is_error": true},
            {"type": "text", "text": "Continue.", "cache_control": {"type": "ephemeral"}},
        ]},
    ]);
    assert_eq!(body["messages"].as_array().unwrap()[1..], expect.as_array().unwrap()[..]);

    let body = written(Wire::OpenAi, &conversation(reply(Wire::Anthropic, json!([{"type": "thinking"}]))));
    let function = |arguments: &str| json!({"name": "read_file", "arguments": arguments});
    let expect = json!([
        {"role": "system", "content": "You are a tester."},
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "a.1", "type": "function", "function": function("{\"path\":\"x\"}")},
            {"id": "b", "type": "function", "function": function("{\"INVALID_JSON\":\"{\\\"pa\"}")},
        ]},
        {"role": "tool", "tool_call_id": "a.1", "content": "found"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no JSON"},
        {"role": "user", "content": "Continue."},
    ]);
    assert_eq!(body["messages"], expect);
}

#[test]
fn no_message_is_empty() {
    let empty = |wire, raw| {
        Message::Assistant(Arc::new(Reply { wire, raw, words: None, calls: vec![], stop: Stop::End, part: None }))
    };
    let mut prompt = prompt();
    prompt.messages = vec![
        Message::User(vec![Part::Words(" ".into())]),
        empty(Wire::Anthropic, json!([{"type": "text", "text": " \n"}])),
        Message::User(vec![]),
        empty(Wire::OpenAi, json!({"role": "assistant", "content": null})),
        Message::User(vec![Part::Result { call: "a".into(), text: String::new(), failed: false }]),
    ];
    let body = written(Wire::Anthropic, &prompt);
    for message in body["messages"].as_array().unwrap() {
        let block = &message["content"][0];
        assert!(block["text"] == "(nothing)" || block["type"] == "tool_result", "{message}");
    }
    let body = written(Wire::OpenAi, &prompt);
    for message in body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant") {
        assert_eq!(message["content"], "");
    }
}

#[test]
fn the_limit_on_output_has_the_name_that_the_server_accepts() {
    let mut endpoint = endpoint("http://127.0.0.1:1");
    assert_eq!(body(Wire::OpenAi, &endpoint, &prompt(), Form::of(&endpoint)).unwrap()["max_tokens"], 512);
    endpoint.base_url = BaseUrl::openai();
    let openai = body(Wire::OpenAi, &endpoint, &prompt(), Form::of(&endpoint)).unwrap();
    assert_eq!((&openai["max_completion_tokens"], openai.get("max_tokens")), (&json!(512), None));
}

#[test]
fn extra_fields_are_sent_but_do_not_replace_our_fields() {
    let mut endpoint = endpoint("http://127.0.0.1:1");
    endpoint.extra = json!({"temperature": 0, "max_tokens": 1_000_000, "stream": false}).as_object().unwrap().clone();
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let body = body(wire, &endpoint, &prompt(), Form::of(&endpoint)).unwrap();
        assert_eq!(
            (&body["temperature"], &body["max_tokens"], &body["stream"]),
            (&json!(0), &json!(512), &json!(true))
        );
    }
}

#[test]
fn the_same_prompt_gives_the_same_bytes_and_a_longer_prompt_the_same_beginning() {
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let (short, long) = (written(wire, &prompt()), written(wire, &conversation(reply(Wire::Inside, Value::Null))));
        assert_eq!(short.to_string(), written(wire, &prompt()).to_string());
        let start = |body: &Value| body.to_string().split("\"messages\"").next().unwrap().to_owned();
        assert_eq!(start(&short), start(&long));
    }
    let endpoint = endpoint("http://127.0.0.1:1");
    assert_eq!(body(Wire::Inside, &endpoint, &prompt(), Form::of(&endpoint)), None);
}

#[test]
fn a_request_begins_with_the_same_bytes_whatever_its_messages_limits_and_forced_calls_are() {
    for (wire, calls) in
        [(Wire::Anthropic, CallFormat::Tools), (Wire::OpenAi, CallFormat::Tools), (Wire::OpenAi, CallFormat::Json)]
    {
        let mut endpoint = endpoint("http://127.0.0.1:1");
        endpoint.calls = calls;
        endpoint.extra = json!({"tool_choice": "auto", "temperature": 0}).as_object().unwrap().clone();
        let bytes = |prompt: &Prompt| {
            let bytes = guildhall_models::body(wire, &endpoint, prompt, Form::of(&endpoint)).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let first = bytes(&prompt());
        let opening = &first[..first.find("Look.").unwrap()];
        assert!(opening.contains("You are a tester.") && opening.contains("list_files"), "{opening}");
        let other = Prompt {
            status: Some("7 left".into()),
            max_tokens: 7,
            must_call: Some("list_files".into()),
            ..conversation(reply(Wire::Inside, Value::Null))
        };
        assert!(bytes(&other).starts_with(opening), "{wire:?} {calls:?}");
        // A repeated key would be valid for some readers and not for others.
        for (prompt, choices) in [(prompt(), 1), (other, 1)] {
            assert_eq!(bytes(&prompt).matches("\"tool_choice\":").count(), choices, "{wire:?} {calls:?}");
        }
    }
}

#[tokio::test]
async fn a_provider_sends_the_whole_request_for_each_of_several_openings() {
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let openings = [prompt(), opened("You are a cook.", Vec::new()), opened("", prompt().opening.tools().to_vec())];
        let order = [0, 0, 1, 2, 1, 0];
        let server = Server::start(order.iter().map(|_| vec![hello(wire)]).collect());
        let endpoint = endpoint(&server.url());
        let model = Provider::new(wire, endpoint.clone());
        for at in order {
            assert!(model.ask(&openings[at], &|_| {}).await.outcome.is_ok(), "{wire:?}");
        }
        for (at, request) in order.into_iter().zip(server.requests().await) {
            assert_eq!(Some(request.body), body(wire, &endpoint, &openings[at], Form::of(&endpoint)), "{wire:?}");
            assert!(request.head.contains("content-length: "), "{wire:?}: some servers accept no chunks");
        }
        assert!(!format!("{model:?}").contains("cook"), "instructions may be secret");
    }
}

#[test]
fn the_status_is_at_the_end_of_the_last_message_after_the_breakpoint() {
    let with = |prompt: Prompt| Prompt { status: Some("7 left".into()), ..prompt };
    let body = written(Wire::Anthropic, &with(prompt()));
    let look = json!({"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}});
    assert_eq!(body["messages"], json!([{"role": "user", "content": [look, {"type": "text", "text": "7 left"}]}]));
    let body = written(Wire::OpenAi, &with(prompt()));
    assert_eq!(body["messages"][1], json!({"role": "user", "content": "Look.\n\n7 left"}));

    let mut results = conversation(reply(Wire::Inside, Value::Null));
    results.messages.pop();
    results.messages.push(Message::User(vec![Part::Result { call: "a.1".into(), text: "x".into(), failed: false }]));
    let body = written(Wire::OpenAi, &with(results));
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last, &json!({"role": "user", "content": "7 left"}), "the runtime never adds text to a result");
}

/// The bytes that a provider's cache compares: the messages without cache marks and without the closing brackets.
fn shown(wire: Wire, prompt: &Prompt) -> String {
    let messages = written(wire, prompt)["messages"].to_string();
    let messages = messages.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    messages.trim_end_matches(['}', ']']).to_owned()
}

#[test]
fn a_request_begins_with_the_previous_request_except_for_the_status() {
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let second = conversation(reply(Wire::Inside, Value::Null));
        let now = Prompt { status: Some("7 left".into()), ..prompt() };
        let next = Prompt { status: Some("6 left".into()), ..second };
        let bare = shown(wire, &prompt());
        assert!(shown(wire, &now).starts_with(bare.trim_end_matches('"')), "{wire:?}");
        assert!(shown(wire, &next).starts_with(&bare), "{wire:?}");
        assert!(!shown(wire, &next).contains("7 left"), "{wire:?}");
    }
}
