//! Prompts, endpoints and events of both protocols, for all tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use guildhall_agent::{
    Attempt, CallFormat, Calls, Choice, Delta, JsonTurn, Message, Model, Opening, Part, Prompt, Reply, ToolSpec, Wire,
};
use guildhall_kernel::{AskId, AskKey, Path};
use guildhall_models::{BaseUrl, Endpoint, Event, Fault, Form, Key, Provider, Reducer, Retry, Timeouts, WrittenCalls};
use serde_json::{Value, json};

use crate::server::{Request, Server, Step};

pub(crate) fn prompt() -> Prompt {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    let tools = vec![tool("read_file"), tool("list_files")];
    Prompt {
        key: AskKey { contract: Path::root(1), ask: AskId(7) },
        json_turn: Some(json_turn(Choice::CallsOrReport(Calls { tools: tools.clone(), max: 4 }))),
        opening: Arc::new(Opening::new("You are a tester.", tools)),
        messages: vec![Message::User(vec![Part::Words("Look.".into())])],
        status: None,
        max_tokens: 512,
        must_call: None,
        continues: None,
        data: None,
    }
}

/// A JSON turn with other instructions and another status than those of native calls.
pub(crate) fn json_turn(choice: Choice) -> JsonTurn {
    let opening =
        Arc::new(Opening::new("You are a tester. Answer in JSON, with read_file and list_files.", Vec::new()));
    JsonTurn { opening, choice, status: Some("[status: 5, in JSON]".into()), max_tokens: 256 }
}

/// The body of a request as a value.
pub(crate) fn body(wire: Wire, endpoint: &Endpoint, prompt: &Prompt, form: Form) -> Option<Value> {
    guildhall_models::body(wire, endpoint, prompt, form).map(|body| serde_json::from_slice(&body).unwrap())
}

/// Changes the opening of the usual prompt.
pub(crate) fn opened(system: &str, tools: Vec<ToolSpec>) -> Prompt {
    Prompt { opening: Arc::new(Opening::new(system, tools)), ..prompt() }
}

pub(crate) fn endpoint(url: &str) -> Endpoint {
    let mut endpoint = Endpoint::new(BaseUrl::parse(url).unwrap(), Some(Key::new("sk-secret").unwrap()), "tester-1");
    endpoint.name = "tester".into();
    endpoint.timeouts =
        Timeouts { connect: Duration::from_secs(5), first_byte: Duration::from_secs(5), idle: Duration::from_secs(5) };
    endpoint.retry = Retry {
        pause_min: Duration::from_millis(1),
        pauses_total_max: Duration::from_secs(1),
        connects_max: 3,
        ..Retry::default()
    };
    endpoint
}

/// The result of an ask, the deltas that `watch` received, and the requests that the server received.
pub(crate) struct Asked {
    pub(crate) attempt: Attempt,
    pub(crate) watched: Vec<String>,
    pub(crate) requests: Vec<Request>,
}

pub(crate) async fn ask_with(wire: Wire, scripts: Vec<Vec<Step>>, change: impl FnOnce(&mut Endpoint)) -> Asked {
    let server = Server::start(scripts);
    let mut endpoint = endpoint(&server.url());
    change(&mut endpoint);
    let (attempt, watched) = ask_at(wire, endpoint).await;
    Asked { attempt, watched, requests: server.requests().await }
}

pub(crate) async fn ask(wire: Wire, scripts: Vec<Vec<Step>>) -> Asked {
    ask_with(wire, scripts, |_| {}).await
}

pub(crate) async fn ask_at(wire: Wire, endpoint: Endpoint) -> (Attempt, Vec<String>) {
    let model = Provider::new(wire, endpoint);
    let watched = Mutex::new(Vec::new());
    let watch = |delta: Delta<'_>| watched.lock().unwrap().extend(written(delta));
    let attempt = model.ask(&prompt(), &watch).await;
    (attempt, watched.into_inner().unwrap())
}

fn written(delta: Delta<'_>) -> Option<String> {
    Some(match delta {
        // Other tests check these.
        Delta::Asking | Delta::Received { .. } | Delta::Lost { .. } => return None,
        Delta::Words(words) => words.to_owned(),
        Delta::Thinking => "(thinks)".into(),
        Delta::Call { name } => format!("({name})"),
        Delta::Waiting { seconds, why, message } => format!("(waits {seconds} s, {why:?}: {message})"),
        Delta::Used(usage) => format!("({} in, {} out)", usage.input, usage.output),
    })
}

/// Writes events as Anthropic sends them.
pub(crate) fn named(events: &[Value]) -> String {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

/// Writes chunks as `OpenAI` sends them, without `[DONE]`.
pub(crate) fn chunks(chunks: &[Value]) -> String {
    chunks.iter().flat_map(|chunk| ["data: ".to_owned(), chunk.to_string(), "\n\n".to_owned()]).collect()
}

/// Returns a chunk with a delta.
pub(crate) fn delta(delta: &Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

pub(crate) fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

pub(crate) fn event(value: &Value) -> Event {
    Event { name: String::new(), data: value.to_string() }
}

/// Builds a reply from events without IO.
pub(crate) fn reduce(wire: Wire, events: &[Value]) -> Result<Reply, Fault> {
    let mut reducer = reducer(wire);
    for value in events {
        reducer.reduce(&event(value))?;
    }
    reducer.finish()
}

pub(crate) fn reducer(wire: Wire) -> Reducer {
    Reducer::new(wire, &prompt(), WrittenCalls::Read, CallFormat::Tools)
}
