//! The floor: a bare HTTP client that makes the same requests as the agents of a tree, and nothing else. It stores nothing,
//! counts no money and checks nothing. No runtime over HTTP can be cheaper.

use std::io::{self, Write as _};
use std::pin::Pin;
use std::sync::Arc;

use clap::Args;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

#[derive(Args, Clone, Debug)]
pub(crate) struct Work {
    #[arg(long)]
    url: String,
    /// The task of the root.
    #[arg(long)]
    task: String,
    /// The highest number of requests at the same time.
    #[arg(long)]
    at_once: usize,
    /// The size of an agent's first request.
    #[arg(long, default_value_t = 0)]
    request_bytes: usize,
}

struct Floor {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    permits: Semaphore,
    system: String,
    tools: Value,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    stream_options: Options,
    tools: &'a Value,
    messages: &'a [Message<'a>],
}

#[derive(Serialize)]
struct Options {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System { content: &'a str },
    User { content: &'a str },
    Assistant { content: Option<&'a str>, tool_calls: Vec<Value> },
    Tool { tool_call_id: String, content: String },
}

/// One event of a stream.
#[derive(Deserialize)]
struct Event {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<CallPiece>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: usize,
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: String,
}

#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Hire {
    task: String,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs the tree and prints the answer of its root.
pub(crate) fn run(work: Work) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let answer = runtime.block_on(async {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let mut floor = Floor {
            client,
            url: format!("{}/chat/completions", work.url),
            permits: Semaphore::new(work.at_once),
            system: "You are worker.".to_owned(),
            tools: json!([{"type": "function", "function": {
                "name": "delegate_task",
                "description": "Hires an agent for a task and returns its report.",
                "parameters": {"type": "object", "required": ["specialty", "task"], "properties": {
                    "specialty": {"type": "string"}, "task": {"type": "string"}}}}}]),
        };
        let bare = floor.body(&floor.opening(&work.task))?.len();
        floor.system.push_str(&".".repeat(work.request_bytes.saturating_sub(bare)));
        agent(Arc::new(floor), work.task).await
    });
    let answer = answer.map_err(|e| format!("the floor: {e}"))?;
    writeln!(io::stdout(), "{answer}").map_err(|e| e.to_string())
}

type AgentFuture = Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>>;

/// One agent: asks, hires if the model says so, and asks again with the reports. Boxed, because the future of an agent contains
/// those of its hires.
fn agent(floor: Arc<Floor>, task: String) -> AgentFuture {
    Box::pin(async move {
        let mut messages = floor.opening(&task);
        let (text, calls) = floor.ask(&messages).await?;
        if calls.is_empty() {
            return Ok(text);
        }
        let tool_calls = calls.iter().map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments});
            json!({"id": call.id, "type": "function", "function": function})
        });
        messages.push(Message::Assistant { content: None, tool_calls: tool_calls.collect() });
        let mut hires = Vec::with_capacity(calls.len());
        for call in calls {
            let hire: Hire = serde_json::from_str(&call.arguments)?;
            hires.push((call.id, tokio::spawn(agent(Arc::clone(&floor), hire.task))));
        }
        for (id, hire) in hires {
            messages.push(Message::Tool { tool_call_id: id, content: hire.await?? });
        }
        Ok(floor.ask(&messages).await?.0)
    })
}

impl Floor {
    fn opening<'a>(&'a self, task: &'a str) -> Vec<Message<'a>> {
        vec![Message::System { content: &self.system }, Message::User { content: task }]
    }

    fn body(&self, messages: &[Message<'_>]) -> Result<String, serde_json::Error> {
        let stream_options = Options { include_usage: true };
        let tools = &self.tools;
        serde_json::to_string(&Body { model: "fake", max_tokens: 4096, stream: true, stream_options, tools, messages })
    }

    /// Makes one request and reads the stream of its answer.
    async fn ask(&self, messages: &[Message<'_>]) -> Result<(String, Vec<Call>), Failure> {
        let _permit = self.permits.acquire().await?;
        let request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .header(AUTHORIZATION, "Bearer none")
            .body(Full::new(Bytes::from(self.body(messages)?)))?;
        let response = self.client.request(request).await?;
        if !response.status().is_success() {
            return Err(format!("HTTP {}", response.status()).into());
        }
        let body = response.into_body().collect().await?.to_bytes();
        read(std::str::from_utf8(&body)?)
    }
}

fn read(stream: &str) -> Result<(String, Vec<Call>), Failure> {
    let (mut text, mut calls) = (String::new(), Vec::<Call>::new());
    for data in stream.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]") {
        let event: Event = serde_json::from_str(data)?;
        for Choice { delta } in event.choices {
            text.push_str(delta.content.as_deref().unwrap_or_default());
            for piece in delta.tool_calls {
                if calls.len() <= piece.index {
                    calls.resize_with(piece.index + 1, Call::default);
                }
                let call = &mut calls[piece.index];
                call.id.push_str(piece.id.as_deref().unwrap_or_default());
                call.name.push_str(piece.function.name.as_deref().unwrap_or_default());
                call.arguments.push_str(&piece.function.arguments);
            }
        }
    }
    Ok((text, calls))
}
