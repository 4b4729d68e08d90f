//! JSON turns: one object per turn instead of native tool calls.

use std::sync::Arc;

use guildhall_agent::{CallFormat, Calls, Choice, Message, Model, Part, Prompt, RawCall, Reply, Stop, ToolSpec, Wire};
use guildhall_models::{Endpoint, Event, Form, Provider, Reducer, ToolChoice, WrittenCalls};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::faults::fault;
use crate::server::{Server, Step, stream};
use crate::setting::{ask_with, body, chunks, delta, endpoint, finish, json_turn, prompt};

fn in_json(endpoint: &mut Endpoint) {
    endpoint.calls = CallFormat::Json;
}

/// A stream of this text, in pieces of three characters.
fn says(words: &str, reason: &str) -> Vec<Step> {
    let letters: Vec<char> = words.chars().collect();
    let mut events: Vec<Value> =
        letters.chunks(3).map(|piece| delta(&json!({"content": String::from_iter(piece)}))).collect();
    events.push(finish(reason));
    vec![stream(chunks(&events) + "data: [DONE]\n\n")]
}

/// The reply for a text, and the text that `watch` received.
async fn reply(words: &str, reason: &str) -> (Reply, String) {
    let asked = ask_with(Wire::OpenAi, vec![says(words, reason)], in_json).await;
    (asked.attempt.outcome.unwrap(), asked.watched.concat())
}

fn calls(reply: &Reply) -> Vec<(&str, Result<Value, String>)> {
    reply.calls.iter().map(|call| (call.name.as_str(), call.arguments.clone())).collect()
}

#[tokio::test]
async fn calls_and_reports_are_read_and_a_report_streams_decoded() {
    let two = json!({"calls": [
        {"tool": "read_file", "arguments": {"path": "a.rs"}},
        {"tool": "list_files"},
    ]});
    let (reply_, watched) = reply(&two.to_string(), "stop").await;
    assert_eq!(calls(&reply_), [("read_file", Ok(json!({"path": "a.rs"}))), ("list_files", Ok(json!({})))]);
    assert_eq!((reply_.words, reply_.stop, watched.as_str()), (None, Stop::Calls, ""));
    assert_ne!(reply_.calls[0].id, reply_.calls[1].id);

    let text = "It says \"yes\".\n\tGrüße 🦀 \\ {\"calls\": []}";
    for written in [
        json!({"report": text}).to_string(),
        "{ \"report\" : \"It says \\\"yes\\\".\\n\\tGr\\u00fc\\u00dfe \\ud83e\\udd80 \\\\ {\\\"calls\\\": []}\" }"
            .to_owned(),
    ] {
        let (reply, watched) = reply(&written, "stop").await;
        assert_eq!((reply.words.as_deref(), watched.as_str()), (Some(text), text), "{written}");
        assert!(reply.calls.is_empty() && reply.stop == Stop::End);
    }
}

#[tokio::test]
async fn the_received_part_of_an_incomplete_report_counts() {
    for cut in ["{\"report\": \"Half a \\u00e4 sentence \\u00", "{\"report\": \"Half a ä sentence "] {
        let (reply, watched) = reply(cut, "length").await;
        assert_eq!((reply.words.as_deref(), watched.as_str()), (Some("Half a ä sentence "), "Half a ä sentence "));
        assert_eq!((reply.stop, reply.calls.len()), (Stop::Length, 0));
    }
}

/// Reads the rest of an object of which this part was written before.
fn continued(before: &str, text: &str, reason: &str) -> Reply {
    let prompt = Prompt { continues: Some(before.to_owned()), ..prompt() };
    let mut reducer = Reducer::new(Wire::OpenAi, &prompt, WrittenCalls::Read, CallFormat::Json);
    for value in [delta(&json!({"content": text})), finish(reason)] {
        reducer.reduce(&Event { name: String::new(), data: value.to_string() }).unwrap();
    }
    reducer.finish().unwrap()
}

#[tokio::test]
async fn an_object_is_whole_whatever_follows_it() {
    for after in ["", "\n\n\n   ", " That is all", "\n```"] {
        for before in ["", "```json\n"] {
            let (told, _) = reply(&format!("{before}{{\"report\": \"Yes.\"}}{after}"), "length").await;
            assert_eq!((told.words.as_deref(), told.stop, told.part), (Some("Yes."), Stop::End, None), "{after:?}");
            let call = format!("{before}{{\"calls\": [{{\"tool\": \"list_files\"}}]}}{after}");
            let (called, _) = reply(&call, "length").await;
            assert_eq!((calls(&called), called.stop), (vec![("list_files", Ok(json!({})))], Stop::Calls), "{after:?}");
        }
    }
    let whole = continued("{\"report\": \"Ye", "s.\"}\n\n", "length");
    assert_eq!((whole.words.as_deref(), whole.stop), (Some("Yes."), Stop::End));
}

#[test]
fn the_last_part_of_an_object_has_the_whole_turn_and_is_kept_as_it_was_written() {
    let told = continued("{\"report\": \"It is on Tue", "sday.\"}", "stop");
    assert_eq!((told.words.as_deref(), told.part.as_deref()), (Some("It is on Tuesday."), Some("sday.\"}")));
    let called = continued("{\"calls\": [{\"tool\": \"read_file\", \"argu", "ments\": {\"path\": \"a\"}}]}", "stop");
    assert_eq!(calls(&called), [("read_file", Ok(json!({"path": "a"})))]);
    let later = Prompt { messages: vec![Message::Assistant(Arc::new(called))], ..prompt() };
    assert_eq!(shown(&later)["messages"][1]["content"], "ments\": {\"path\": \"a\"}}]}");
    for half in ["{\"report\": \"a \\ud83e", "{\"report\": \"a \\ud83e\\udd"] {
        let rest = if half.ends_with("dd") { "80.\"}" } else { "\\udd80.\"}" };
        assert_eq!(continued(half, rest, "stop").words.as_deref(), Some("a 🦀."));
    }
    assert_eq!(continued("{", "\"report\": \"Yes.\"}", "stop").words.as_deref(), Some("Yes."));
}

#[test]
fn a_model_may_begin_its_object_again_instead_of_continuing_it() {
    let told = continued("{\"report\": \"It is on Tue", "{\"report\": \"It is on Tuesday.\"}", "stop");
    assert_eq!((told.words.as_deref(), told.stop), (Some("It is on Tuesday."), Stop::End));
    let called = continued("{\"calls\": [{\"tool\": \"li", "{\"calls\": [{\"tool\": \"list_files\"}]}", "stop");
    assert_eq!(calls(&called), [("list_files", Ok(json!({})))]);
}

#[tokio::test]
async fn other_text_is_searched_for_calls_and_else_it_is_the_report() {
    let prose = "Let me look.\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```";
    let (written, _) = reply(prose, "stop").await;
    assert_eq!(calls(&written), [("read_file", Ok(json!({"path": "a"})))]);
    assert_eq!(written.words.as_deref(), Some("Let me look."));
    for odd in [
        "The answer is 42.",
        "{\"calls\": \"none\"}",
        "{\"answer\": 42}",
        "{\"calls\": [{\"tool\": ",
        "[]",
        "{\"report\": 5}",
    ] {
        let (reply, _) = reply(odd, "stop").await;
        assert_eq!((reply.words.as_deref(), reply.calls.len()), (Some(odd), 0), "{odd}");
    }
    let unknown = json!({"calls": [{"tool": "fly", "arguments": {}}, {"arguments": {}}, 7]}).to_string();
    assert_eq!(
        calls(&reply(&unknown, "stop").await.0),
        [("fly", Ok(json!({}))), ("", Ok(json!({}))), ("", Ok(json!({})))],
        "a call of an unknown tool is a call: the model is told what is wrong"
    );
    let many = json!({"calls": vec![json!({"tool": "list_files"}); 50]}).to_string();
    assert_eq!(reply(&many, "stop").await.0.calls.len(), 50, "no call is dropped without a word");
    for report in [
        "{\"report\": \"Done.\", \"calls\": []}",
        "```json\n{\"report\": \"Done.\"}\n```",
        "\u{feff}{\"report\": \"Done.\"}",
    ] {
        assert_eq!(reply(report, "stop").await.0.words.as_deref(), Some("Done."), "{report}");
    }
    let repeated = "{\"calls\": [{\"tool\": \"delegate_task\", \"arguments\": {\"budget\": 5, \"budget\": 400}}]}";
    let (repeated, _) = reply(repeated, "stop").await;
    assert!(matches!(&*repeated.calls, [RawCall { arguments: Err(_), .. }]), "{repeated:?}");
    let named = json!({"calls": [{"name": "read_file", "arguments": {"path": "a"}}]}).to_string();
    assert_eq!(calls(&reply(&named, "stop").await.0), [("read_file", Ok(json!({"path": "a"})))]);
}

/// A tool whose schema has parts that some servers do not support.
fn bounded() -> ToolSpec {
    let text = json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "description": "Which."});
    let fields = json!({"pattern": text, "count": {"type": "number", "minimum": 1}, "kind": {"type": "string", "enum": ["a", "b"]}});
    ToolSpec {
        name: "search".to_owned(),
        description: "Searches.".to_owned(),
        schema: json!({"type": "object", "properties": fields, "required": ["pattern"]}),
    }
}

fn shown(prompt: &Prompt) -> Value {
    let mut endpoint = endpoint("http://127.0.0.1:1");
    in_json(&mut endpoint);
    body(Wire::OpenAi, &endpoint, prompt, Form::of(&endpoint)).unwrap()
}

/// The request for a JSON turn of this choice.
fn asked_for(choice: Choice) -> Value {
    shown(&Prompt { json_turn: Some(json_turn(choice)), ..prompt() })
}

fn schema(body: &Value) -> String {
    serde_json::to_string_pretty(&body["response_format"]["json_schema"]["schema"]).unwrap()
}

#[test]
fn a_request_has_the_instructions_and_the_status_of_json_turns_and_quotes_results() {
    let call = RawCall { id: "x".to_owned(), name: "search".to_owned(), arguments: Ok(json!({"pattern": "a"})) };
    let assistant =
        Reply { wire: Wire::OpenAi, raw: Value::Null, words: None, calls: vec![call], stop: Stop::Calls, part: None };
    let result = Part::Result { call: "x".to_owned(), text: "a.rs:1 \"\"\"".to_owned(), failed: false };
    let first = Message::User(vec![Part::Words("Look.".to_owned())]);
    let messages = vec![first, Message::Assistant(Arc::new(assistant)), Message::User(vec![result])];
    let body = shown(&Prompt { messages, status: Some("[status: 5]".to_owned()), ..prompt() });
    assert_eq!((&body["tools"], &body["max_tokens"]), (&Value::Null, &json!(256)));
    assert_eq!(body["messages"][0]["content"], "You are a tester. Answer in JSON, with read_file and list_files.");
    assert_eq!(
        body["messages"][2],
        json!({"role": "assistant", "content": "{\"calls\":[{\"tool\":\"search\",\"arguments\":{\"pattern\":\"a\"}}]}"})
    );
    let result = "The result of search:\n\"\"\"\na.rs:1 '''\n\"\"\"\n\n[status: 5, in JSON]";
    assert_eq!(body["messages"][3]["content"], result);
}

#[test]
#[allow(clippy::too_many_lines, reason = "most lines are a schema")]
fn the_schema_has_only_parts_that_servers_support_and_bounds_the_number_of_calls() {
    let nothing = ToolSpec {
        name: "list_agents".to_owned(),
        description: "Lists.".to_owned(),
        schema: json!({"type": "object", "properties": {}}),
    };
    let body = asked_for(Choice::CallsOrReport(Calls { tools: vec![bounded(), nothing], max: 3 }));
    assert_snapshot!(schema(&body), @r#"
    {
      "anyOf": [
        {
          "type": "object",
          "properties": {
            "calls": {
              "type": "array",
              "items": {
                "anyOf": [
                  {
                    "type": "object",
                    "properties": {
                      "tool": {
                        "const": "search"
                      },
                      "arguments": {
                        "type": "object",
                        "properties": {
                          "pattern": {
                            "type": "string"
                          },
                          "count": {
                            "type": "number"
                          },
                          "kind": {
                            "type": "string",
                            "enum": [
                              "a",
                              "b"
                            ]
                          }
                        },
                        "required": [
                          "pattern"
                        ],
                        "additionalProperties": false
                      }
                    },
                    "required": [
                      "tool",
                      "arguments"
                    ],
                    "additionalProperties": false
                  },
                  {
                    "type": "object",
                    "properties": {
                      "tool": {
                        "const": "list_agents"
                      }
                    },
                    "required": [
                      "tool"
                    ],
                    "additionalProperties": false
                  }
                ]
              },
              "minItems": 1,
              "maxItems": 3
            }
          },
          "required": [
            "calls"
          ],
          "additionalProperties": false
        },
        {
          "type": "object",
          "properties": {
            "report": {
              "type": "string"
            }
          },
          "required": [
            "report"
          ],
          "additionalProperties": false
        }
      ]
    }
    "#);
}

#[test]
fn a_turn_can_be_only_a_report_or_only_calls() {
    let report = schema(&asked_for(Choice::Report));
    assert!(report.contains("\"report\"") && !report.contains("\"calls\"") && !report.contains("anyOf"), "{report}");
    assert!(!report.contains("maxLength"), "the length of a report is limited by its tokens: {report}");
    let calls = schema(&asked_for(Choice::Calls(Calls { tools: vec![bounded()], max: 1 })));
    assert!(calls.contains("search") && !calls.contains("report"), "{calls}");
    let forced = shown(&Prompt { must_call: Some("read_file".to_owned()), ..prompt() });
    assert_eq!(forced["tool_choice"], Value::Null, "the schema says what must be called");
}

#[test]
fn every_json_turn_has_a_penalty_for_repetition_that_the_settings_can_replace() {
    for choice in [Choice::Report, Choice::Calls(Calls { tools: vec![bounded()], max: 1 })] {
        assert_eq!(asked_for(choice)["frequency_penalty"], 0.3);
    }
    let mut own = endpoint("http://127.0.0.1:1");
    in_json(&mut own);
    own.extra.insert("frequency_penalty".to_owned(), json!(0.7));
    let body = body(Wire::OpenAi, &own, &prompt(), Form::of(&own)).unwrap();
    assert_eq!(body["frequency_penalty"], 0.7);
    let native = body_of(CallFormat::Tools);
    assert_eq!((&native["frequency_penalty"], native["tools"].is_array()), (&Value::Null, true));
    assert_eq!(native["max_tokens"], 512, "the limit of JSON turns is theirs alone");
}

/// The request for the usual prompt with calls of this format.
fn body_of(calls: CallFormat) -> Value {
    let endpoint = endpoint("http://127.0.0.1:1");
    body(Wire::OpenAi, &endpoint, &prompt(), Form { calls, ..Form::of(&endpoint) }).unwrap()
}

/// What a request has of the parts that a server may refuse.
fn parts(body: &Value) -> Vec<&'static str> {
    let has_bounds = body.to_string().contains("maxItems");
    let parts = [
        ("penalty", !body["frequency_penalty"].is_null()),
        ("bounds", has_bounds),
        ("schema", !body["response_format"].is_null()),
        ("tools", !body["tools"].is_null()),
    ];
    parts.into_iter().filter(|(_, is_there)| *is_there).map(|(part, _)| part).collect()
}

/// Makes these requests to a server that gives these answers, and returns what each request had.
async fn requests(answers: Vec<Vec<Step>>, prompts: &[Prompt]) -> (Vec<Vec<&'static str>>, Provider) {
    let server = Server::start(answers);
    let mut endpoint = endpoint(&server.url());
    in_json(&mut endpoint);
    let model = Provider::new(Wire::OpenAi, endpoint);
    for prompt in prompts {
        // Some of the tests are about requests that are refused in every form.
        drop(model.ask(prompt, &|_| {}).await);
    }
    let requests = server.requests().await;
    (requests.iter().map(|request| parts(&request.body)).collect(), model)
}

fn refused() -> Vec<Step> {
    fault(400, "", "invalid_request_error", "this is not supported")
}

#[tokio::test]
async fn what_a_server_refuses_is_left_out_for_the_session() {
    let (all, bounds, schema) = (vec!["penalty", "bounds", "schema"], vec!["bounds", "schema"], vec!["schema"]);
    let told = || says("{\"report\": \"Hello.\"}", "stop");
    let twice = [prompt(), prompt()];
    let (sent, model) = requests(vec![refused(), told(), told()], &twice).await;
    assert_eq!((sent, model.has_json_turns()), (vec![all.clone(), bounds.clone(), bounds.clone()], true));
    let (sent, model) = requests(vec![refused(), refused(), told(), told()], &twice).await;
    let expect = vec![all.clone(), bounds.clone(), schema.clone(), schema.clone()];
    assert_eq!((sent, model.has_json_turns()), (expect, true));
    let native = || says("Hello.", "stop");
    let (sent, model) = requests(vec![refused(), refused(), refused(), native(), native()], &twice).await;
    let expect = vec![all, bounds, schema, vec!["tools"], vec!["tools"]];
    assert_eq!((sent, model.has_json_turns()), (expect, false));
}

#[tokio::test]
async fn a_request_is_not_sent_again_without_a_part_that_it_did_not_have() {
    let report = Prompt { json_turn: Some(json_turn(Choice::Report)), ..prompt() };
    let (sent, _) = requests(vec![refused(), refused(), says("Hello.", "stop")], &[report]).await;
    assert_eq!(sent, [vec!["penalty", "schema"], vec!["schema"], vec!["tools"]]);
}

#[tokio::test]
async fn a_penalty_of_the_settings_is_not_left_out() {
    let server = Server::start(vec![refused(), says("{\"report\": \"Hello.\"}", "stop")]);
    let mut endpoint = endpoint(&server.url());
    in_json(&mut endpoint);
    endpoint.extra.insert("frequency_penalty".to_owned(), json!(0.7));
    let attempt = Provider::new(Wire::OpenAi, endpoint).ask(&prompt(), &|_| {}).await;
    assert_eq!(attempt.outcome.unwrap().words.as_deref(), Some("Hello."));
    let sent: Vec<_> = server.requests().await.iter().map(|request| parts(&request.body)).collect();
    assert_eq!(sent, [vec!["penalty", "bounds", "schema"], vec!["penalty", "schema"]]);
}

#[tokio::test]
async fn a_request_that_is_refused_in_every_form_says_nothing_about_the_forms() {
    let told = says("{\"report\": \"Hello.\"}", "stop");
    let answers = vec![refused(), refused(), refused(), refused(), told];
    let (sent, model) = requests(answers, &[prompt(), prompt()]).await;
    assert_eq!((sent[3].clone(), sent[4].clone()), (vec!["tools"], vec!["penalty", "bounds", "schema"]));
    assert!(model.has_json_turns());
    let no_key = fault(401, "", "authentication_error", "the key is wrong");
    let told = says("{\"report\": \"Hello.\"}", "stop");
    let (sent, _) = requests(vec![refused(), no_key, told], &[prompt(), prompt()]).await;
    assert_eq!((sent[1].clone(), sent[2].clone()), (vec!["bounds", "schema"], vec!["penalty", "bounds", "schema"]));
}

#[tokio::test]
async fn a_required_call_is_forced_until_the_server_refuses_that() {
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let forced = Prompt { must_call: Some("read_file".to_owned()), ..prompt() };
        let endpoint = endpoint("http://127.0.0.1:1");
        let choice = |form: Form| body(wire, &endpoint, &forced, form).unwrap()["tool_choice"].clone();
        let expect = match wire {
            Wire::Anthropic => json!({"type": "tool", "name": "read_file"}),
            Wire::OpenAi | Wire::Inside => json!({"type": "function", "function": {"name": "read_file"}}),
        };
        assert_eq!(choice(Form::of(&endpoint)), expect);
        assert_eq!(choice(Form { tool_choice: ToolChoice::Free, ..Form::of(&endpoint) }), Value::Null);
        let mut thinking = endpoint.clone();
        thinking.extra.insert("thinking".to_owned(), json!({"type": "enabled"}));
        assert_eq!(body(wire, &thinking, &forced, Form::of(&thinking)).unwrap()["tool_choice"], Value::Null);
    }
    let server =
        Server::start(vec![fault(400, "", "invalid_request_error", "tool_choice: no"), says("Hello.", "stop")]);
    let forced = Prompt { must_call: Some("read_file".to_owned()), ..prompt() };
    let attempt = Provider::new(Wire::OpenAi, endpoint(&server.url())).ask(&forced, &|_| {}).await;
    assert_eq!(attempt.outcome.unwrap().words.as_deref(), Some("Hello."));
    let bodies: Vec<Value> = server.requests().await.into_iter().map(|request| request.body).collect();
    assert_eq!((bodies.len(), &bodies[1]["tool_choice"]), (2, &Value::Null));
}

/// Every text is decoded the same in pieces of every size, without a panic.
#[test]
fn the_size_of_pieces_does_not_change_the_decoded_text() {
    let texts = [
        "{\"report\":\"a\\\\\\u0041\\ud83e\\udd80\\ud83ex\\n\\\"b\"}",
        "{\"report\":\"\\ud83e🦀 \\ud83e\\u🦀\"",
        "{\"report\":\"\\ud83e\\u0041\"",
        "{\"report\":\"\\uzzzz",
        "{\"rep",
        "  {  \"report\"  :  \"x",
        "{\"report\":\"é\\",
        "nothing",
    ];
    for text in texts {
        let letters: Vec<char> = text.chars().collect();
        let decoded = |size: usize| {
            let mut reducer = Reducer::new(Wire::OpenAi, &prompt(), WrittenCalls::Read, CallFormat::Json);
            let mut decoded = String::new();
            for piece in letters.chunks(size) {
                let data = delta(&json!({"content": String::from_iter(piece)})).to_string();
                for piece in reducer.reduce(&Event { name: String::new(), data }).unwrap() {
                    if let guildhall_models::Piece::Words(words) = piece {
                        decoded.push_str(&words);
                    }
                }
            }
            decoded
        };
        let expect = decoded(letters.len());
        for size in 1..letters.len() {
            assert_eq!(decoded(size), expect, "{text} in pieces of {size}");
        }
    }
}
