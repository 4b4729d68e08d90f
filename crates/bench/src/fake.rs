//! A fake model: an HTTP/1.1 server on loopback that speaks Chat Completions, streamed or not, and answers the agents of a
//! [`Tree`] at once, after a delay, or never, and an agent with a [`Pace`] when it is due. It runs in its own process on one thread and counts what arrives. It
//! reads requests without parsing their JSON, so that it is much faster than the programs that are measured. These write
//! compact JSON.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::pin::pin;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use memchr::memmem;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

use crate::pace::Pace;
use crate::tree::Tree;

/// The largest request that is accepted.
const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The most output tokens of a reply. A bill above the limit of the request would be refused.
const OUTPUT_TOKENS_MAX: usize = 4000;

/// The answer of an agent with a pace.
pub(crate) const PACE_ANSWER: &str = "done";

/// How long to wait until all agents wait: a program that has failed would be waited for without end.
const PATIENCE: Duration = Duration::from_mins(1);

/// How the fake model answers.
#[derive(Args, Clone, Debug)]
pub(crate) struct FakeBehaviour {
    /// How long the model takes for each answer.
    #[arg(long, default_value_t = 0)]
    pub(crate) latency_ms: u64,
    /// Never answer agents without hires; print `waiting` when this many of them wait.
    #[arg(long)]
    pub(crate) stall: Option<u64>,
    /// The agent that is hired.
    #[arg(long, default_value = WORKER)]
    pub(crate) hires: String,
}

/// The agent that every tree consists of, unless the case says otherwise.
pub(crate) const WORKER: &str = "worker";

impl Default for FakeBehaviour {
    fn default() -> FakeBehaviour {
        FakeBehaviour { latency_ms: 0, stall: None, hires: WORKER.into() }
    }
}

/// What arrived at the fake model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    /// When the first request arrived and when the last answer was sent, in microseconds since 1970.
    pub(crate) first_us: u64,
    pub(crate) last_us: u64,
    /// The highest number of requests that waited for their answers at the same time.
    pub(crate) open_max: u64,
    /// The bytes of the largest request of an agent without hires.
    pub(crate) leaf_bytes: u64,
    open: u64,
    waiting: u64,
}

/// Serves until stdin ends, and then prints what arrived. The first line of the output is the port.
pub(crate) fn run(behaviour: FakeBehaviour) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    LocalSet::new().block_on(&runtime, serve(behaviour)).map_err(|e| format!("the fake model: {e}"))
}

async fn serve(behaviour: FakeBehaviour) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(io::stdout(), "{}", listener.local_addr()?.port())?;
    let (end, mut ended) = oneshot::channel();
    thread::spawn(move || {
        // An error on stdin means that the benchmark is gone, like its end.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        // The receiver waits until this message.
        let _ = end.send(());
    });
    let seen = Rc::new(RefCell::new(Seen::default()));
    let mut patience = pin!(sleep(PATIENCE));
    loop {
        tokio::select! {
            _ = &mut ended => break,
            () = &mut patience, if !patience.is_elapsed() => {
                let waiting = seen.borrow().waiting;
                if behaviour.stall.is_some_and(|all| waiting < all) {
                    return Err(io::Error::other(format!("only {waiting} agents wait after {} s", PATIENCE.as_secs())));
                }
            }
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                stream.set_nodelay(true)?;
                let (behaviour, seen) = (behaviour.clone(), Rc::clone(&seen));
                // The server owns all connections: they end with the process.
                // A connection ends with an error when the program is killed, which some cases do.
                spawn_local(async move { connection(stream, &behaviour, &seen).await.ok() });
            }
        }
    }
    let seen = serde_json::to_string(&*seen.borrow())?;
    writeln!(io::stdout(), "{seen}")
}

/// Answers the requests of a connection, one after another.
async fn connection(mut stream: TcpStream, behaviour: &FakeBehaviour, seen: &RefCell<Seen>) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        let Some(head) = read_head(&mut stream, &mut buffer).await? else { return Ok(()) };
        let length = content_length(&buffer[..head])?;
        while buffer.len() < head + length {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let body = &buffer[head..head + length];
        let Some(asked) = Asked::read(body, &behaviour.hires) else {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await?;
            return Ok(());
        };
        seen.borrow_mut().arrived(&asked, length);
        if let Some(all) = behaviour.stall.filter(|_| asked.is_leaf) {
            let waiting = &mut seen.borrow_mut().waiting;
            *waiting += 1;
            if *waiting == all {
                writeln!(io::stdout(), "waiting")?;
            }
            break;
        }
        let wait = Duration::from_millis(behaviour.latency_ms).max(asked.wait);
        if !wait.is_zero() {
            sleep(wait).await;
        }
        let answer = asked.answer(seen.borrow().requests, length);
        stream.write_all(answer.as_bytes()).await?;
        seen.borrow_mut().answered();
        buffer.drain(..head + length);
    }
    // Wait until the program closes the connection.
    stream.read_u8().await?;
    Ok(())
}

/// Reads until the end of the headers and returns its position, or none at the end of the connection.
async fn read_head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
    loop {
        if let Some(end) = memmem::find(buffer, b"\r\n\r\n") {
            return Ok(Some(end + 4));
        }
        if buffer.len() > REQUEST_BYTES_MAX || stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn content_length(head: &[u8]) -> io::Result<usize> {
    let head = String::from_utf8_lossy(head);
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    length.filter(|length| *length <= REQUEST_BYTES_MAX).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

impl Seen {
    fn arrived(&mut self, asked: &Asked, bytes: usize) {
        if self.requests == 0 {
            self.first_us = now_us();
        }
        self.requests += 1;
        self.open += 1;
        self.open_max = self.open_max.max(self.open);
        if asked.is_leaf {
            self.leaf_bytes = self.leaf_bytes.max(bytes as u64);
        }
    }

    fn answered(&mut self) {
        self.open -= 1;
        self.last_us = now_us();
    }
}

/// The time in microseconds since 1970. All processes of a run read the same clock.
pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// A request of an agent.
struct Asked {
    streamed: bool,
    /// Whether the agent is one of a tree that hires nobody.
    is_leaf: bool,
    /// How long the answer waits at least.
    wait: Duration,
    says: Says,
}

/// What the model answers.
enum Says {
    Text(String),
    Calls(Calls),
}

/// Equal calls of one tool.
struct Calls {
    tool: &'static str,
    count: u64,
    /// Written for the inside of a JSON string.
    arguments: String,
}

impl Calls {
    /// A call that differs from those before it: a call that always has the same result would be refused.
    fn list_files(before: u64) -> Calls {
        Calls { tool: "list_files", count: 1, arguments: format!(r#"{{\"pattern\":\"call-{before}\"}}"#) }
    }

    /// Calls that hire the next level of a tree.
    fn hire(agent: &str, tree: Tree) -> Calls {
        let task = Tree { depth: tree.depth - 1, ..tree }.task();
        let arguments = format!(r#"{{\"specialty\":\"{agent}\",\"task\":\"{task}\"}}"#);
        Calls { tool: "delegate_task", count: tree.fanout, arguments }
    }
}

impl Asked {
    fn read(body: &[u8], hires: &str) -> Option<Asked> {
        let streamed = memmem::find(body, b"\"stream\":true").is_some();
        let results: Vec<usize> = memmem::find_iter(body, br#""role":"tool""#).collect();
        if let Some(pace) = Pace::find(body) {
            let calls = results.len() as u64;
            let is_over = calls >= pace.turns;
            let says = if is_over { Says::Text(PACE_ANSWER.into()) } else { Says::Calls(Calls::list_files(calls)) };
            return Some(Asked { streamed, is_leaf: false, wait: pace.wait(calls), says });
        }
        let tree = Tree::find(body)?;
        let says = if tree.depth == 0 {
            Says::Text(tree.answer())
        } else if results.is_empty() {
            Says::Calls(Calls::hire(hires, tree))
        } else {
            let ends = results.iter().skip(1).copied().chain([body.len()]);
            Says::Text(tree.sum(results.iter().zip(ends).map(|(start, end)| &body[*start..end])))
        };
        Some(Asked { streamed, is_leaf: tree.depth == 0, wait: Duration::ZERO, says })
    }

    /// The whole response. `number` makes the ids of calls unique.
    fn answer(&self, number: u64, request_bytes: usize) -> String {
        let head = "HTTP/1.1 200 OK\r\ncontent-type:";
        if self.streamed {
            let body = self.stream(number, request_bytes);
            let size = body.len();
            format!("{head} text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{size:x}\r\n{body}\r\n0\r\n\r\n")
        } else {
            let body = self.whole(number, request_bytes);
            format!("{head} application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        }
    }

    fn stream(&self, number: u64, request_bytes: usize) -> String {
        let head =
            format!(r#"data: {{"id":"chatcmpl-{number}","object":"chat.completion.chunk","created":1,"model":"fake","#);
        let mut body = String::with_capacity(1024);
        let mut push = |delta: &str, finish: &str| {
            write!(
                body,
                "{head}\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}],\"usage\":null}}\n\n"
            )
            .expect("writing to a string can't fail");
        };
        push(r#"{"role":"assistant","content":""}"#, "null");
        match &self.says {
            Says::Text(text) => {
                push(&format!(r#"{{"content":"{text}"}}"#), "null");
                push("{}", r#""stop""#);
            }
            Says::Calls(Calls { tool, count, arguments }) => {
                for call in 0..*count {
                    let start = format!(r#""type":"function","function":{{"name":"{tool}","arguments":""}}"#);
                    let id = call_id(number, call);
                    push(&format!(r#"{{"tool_calls":[{{"index":{call},"id":"{id}",{start}}}]}}"#), "null");
                    let rest = format!(r#""function":{{"arguments":"{arguments}"}}"#);
                    push(&format!(r#"{{"tool_calls":[{{"index":{call},{rest}}}]}}"#), "null");
                }
                push("{}", r#""tool_calls""#);
            }
        }
        let usage = usage(request_bytes, body.len());
        format!("{body}{head}\"choices\":[],\"usage\":{usage}}}\n\ndata: [DONE]\n\n")
    }

    fn whole(&self, number: u64, request_bytes: usize) -> String {
        let (message, finish) = match &self.says {
            Says::Text(text) => (format!(r#""content":"{text}""#), "stop"),
            Says::Calls(Calls { tool, count, arguments }) => {
                let call = |call: u64| {
                    let function = format!(r#""function":{{"name":"{tool}","arguments":"{arguments}"}}"#);
                    format!(r#"{{"id":"{}","type":"function",{function}}}"#, call_id(number, call))
                };
                let calls: Vec<String> = (0..*count).map(call).collect();
                (format!(r#""content":null,"tool_calls":[{}]"#, calls.join(",")), "tool_calls")
            }
        };
        let usage = usage(request_bytes, message.len());
        format!(
            r#"{{"id":"chatcmpl-{number}","object":"chat.completion","created":1,"model":"fake","choices":[{{"index":0,"message":{{"role":"assistant",{message}}},"logprobs":null,"finish_reason":"{finish}"}}],"usage":{usage}}}"#
        )
    }
}

fn call_id(request: u64, call: u64) -> String {
    format!("call_{request}_{call}")
}

/// One token for four bytes, and never more output than programs allow.
fn usage(request_bytes: usize, reply_bytes: usize) -> String {
    let (input, output) = (request_bytes / 4, (reply_bytes / 4).min(OUTPUT_TOKENS_MAX));
    format!(r#"{{"prompt_tokens":{input},"completion_tokens":{output},"total_tokens":{}}}"#, input + output)
}
