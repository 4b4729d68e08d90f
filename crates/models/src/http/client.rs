//! Asks over HTTP: one request, one stream, and a new request only while it is certain that the last one cost nothing.
//! It follows no redirect, uses no proxy it was not given, and decompresses nothing.

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use guildhall_agent::{
    Attempt, Billing, CallFormat, Delta, Model, ModelError, Prompt, Reported, Task, WaitReason, Watch, Wire,
};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::http::endpoint::{BaseUrl, COMPLETIONS, Endpoint, MESSAGES};
use crate::http::reduce::{Fault, Piece, Reducer};
use crate::http::request::{self, Form};
use crate::http::retry::Tries;
use crate::http::sse::{Frame, Sse};
use crate::http::verdict::{Said, Verdict, judge, wait};

/// The most bytes of a stream, all its wrapping included.
const STREAM_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most bytes of a reply that comes whole.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The most bytes that are read of an answer which is no reply.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// How long to wait for the end of a stream whose reply is whole, so that the connection can serve again.
const TAIL_WAIT: Duration = Duration::from_millis(100);

/// How long to wait for the body of an answer that is no reply: its status has said the most.
const ERROR_WAIT: Duration = Duration::from_secs(10);

const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A model over one of the two protocols: Anthropic Messages, or Chat Completions as `OpenAI`, Ollama, llama.cpp, vLLM,
/// LM Studio, `OpenRouter` and others have it.
#[derive(Debug)]
pub struct Provider {
    wire: Wire,
    endpoint: Endpoint,
    http: OnceLock<Result<reqwest::Client, String>>,
    /// Whether the server has refused to hold a reply to a schema.
    refused_json: AtomicBool,
}

/// What came of one request.
enum Once {
    Over(Attempt),
    /// The server can't make anything of the request: perhaps of one without a part that it does not know.
    BadRequest(Attempt),
    /// Nothing was done.
    Again {
        why: WaitReason,
        said: String,
        wait: Option<Duration>,
    },
}

/// What came of asking in one form.
enum Asked {
    Over(Attempt),
    BadRequest(Attempt),
}

impl Model for Provider {
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(self.ask_simply(prompt, watch))
    }

    fn billing(&self) -> Billing {
        if self.endpoint.is_local() { Billing::Nominal } else { Billing::Billed }
    }

    /// Whether replies are JSON turns: the server has not refused that.
    fn has_json_turns(&self) -> bool {
        self.wire == Wire::OpenAi && self.form().calls == CallFormat::Json
    }
}

impl Provider {
    /// Makes the model. No connection is made before it is asked.
    pub fn new(wire: Wire, endpoint: Endpoint) -> Provider {
        Provider { wire, endpoint, http: OnceLock::new(), refused_json: AtomicBool::new(false) }
    }

    fn form(&self) -> Form {
        let form = Form::of(&self.endpoint);
        if self.refused_json.load(Ordering::Relaxed) { Form { calls: CallFormat::Tools, ..form } } else { form }
    }

    /// Asks, and asks for less if the server refuses a part of the request that not every server knows.
    async fn ask_simply(&self, prompt: &Prompt, watch: Watch<'_>) -> Attempt {
        let mut form = self.form();
        loop {
            let (attempt, simpler) = match self.ask_in(form, prompt, watch).await {
                Asked::Over(attempt) => return attempt,
                Asked::BadRequest(attempt) => (attempt, form.simpler(prompt)),
            };
            let Some(simpler) = simpler else { return attempt };
            if form.calls != simpler.calls {
                self.refused_json.store(true, Ordering::Relaxed);
            }
            form = simpler;
        }
    }

    async fn ask_in(&self, form: Form, prompt: &Prompt, watch: Watch<'_>) -> Asked {
        let Some(body) = request::body(self.wire, &self.endpoint, prompt, form) else {
            let outcome = Err(self.refused("a model within the process has no wire"));
            return Asked::Over(Attempt { outcome, usage: Reported::Nothing });
        };
        let body = Bytes::from(body.to_string());
        let mut tries = Tries::new(&self.endpoint.retry);
        loop {
            let (why, said, wait) = match self.once(&body, form, prompt, watch).await {
                Once::Over(attempt) => return Asked::Over(attempt),
                Once::BadRequest(attempt) => return Asked::BadRequest(attempt),
                Once::Again { why, said, wait } => (why, said, wait),
            };
            let Some(pause) = tries.pause(why, wait, chance(prompt, tries.made())) else {
                let outcome = Err(self.given_up(&said, why, tries.made(), wait));
                return Asked::Over(Attempt { outcome, usage: Reported::Nothing });
            };
            let seconds = u64::try_from(pause.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
            watch(Delta::Waiting { seconds, why, message: &said });
            sleep(pause).await;
        }
    }

    /// The error after the last try. A server that answered was reached: it refuses.
    fn given_up(&self, said: &str, why: WaitReason, tries: u32, asked_wait: Option<Duration>) -> ModelError {
        let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
        match why {
            WaitReason::Unreachable => self.unavailable(&format!("{said}, tried {times}")),
            WaitReason::RateLimited | WaitReason::Unavailable => {
                let back = asked_wait.map_or_else(|| "later".to_owned(), |wait| format!("in {} s", wait.as_secs()));
                self.refused(&format!(
                    "it turns requests away for now ({said}), asked {times}. What to do: come back {back}"
                ))
            }
        }
    }

    async fn once(&self, body: &Bytes, form: Form, prompt: &Prompt, watch: Watch<'_>) -> Once {
        let http = match self.http.get_or_init(|| connectable(&self.endpoint.base_url, self.endpoint.timeouts.connect))
        {
            Ok(http) => http,
            Err(why) => return over(self.unavailable(why)),
        };
        let method = if self.wire == Wire::Anthropic { MESSAGES } else { COMPLETIONS };
        let url = self.endpoint.base_url.method(method);
        let request = http.post(url).headers(self.headers(prompt)).body(body.clone());
        let deadline = Instant::now() + self.endpoint.timeouts.first_byte;
        watch(Delta::Asking);
        match timeout_at(deadline, request.send()).await {
            Err(_) => self.broken(&self.no_answer()),
            Ok(Err(error)) if error.is_connect() => {
                Once::Again { why: WaitReason::Unreachable, said: root_cause(&error), wait: None }
            }
            Ok(Err(error)) => self.broken(&format!("the connection broke before an answer: {}", root_cause(&error))),
            Ok(Ok(response)) if response.status() == StatusCode::OK => {
                self.read(response, deadline, (form, prompt), watch).await
            }
            Ok(Ok(response)) => self.refusal(response).await,
        }
    }

    fn headers(&self, prompt: &Prompt) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if self.wire == Wire::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        if let Some(key) = &self.endpoint.key {
            match self.wire {
                Wire::Anthropic => headers.insert("x-api-key", key.header("")),
                Wire::OpenAi | Wire::Inside => headers.insert(AUTHORIZATION, key.header("Bearer ")),
            };
        }
        let request_key = self.endpoint.session.as_ref().map(|session| format!("{session}/{}", prompt.key));
        if let Some(value) = request_key.and_then(|key| HeaderValue::from_str(&key).ok()) {
            headers.insert("idempotency-key", value);
        }
        headers
    }

    /// Reads an answer that is no reply, and judges it.
    async fn refusal(&self, mut response: Response) -> Once {
        let status = response.status();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let wait = wait(header("retry-after-ms"), header("retry-after"), header("date"));
        let mut body = Vec::new();
        let deadline = Instant::now() + ERROR_WAIT;
        while body.len() < ERROR_BYTES_MAX {
            match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk[..chunk.len().min(ERROR_BYTES_MAX - body.len())]),
                // Whatever is missing of it: the status stands.
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        let said = Said::in_body(&String::from_utf8_lossy(&body));
        let why = format!("HTTP {}: {said}", status.as_u16());
        match judge(status.as_u16(), &said, wait) {
            Verdict::Again(reason) => Once::Again { why: reason, said: self.redacted(&why), wait },
            Verdict::Refused(remedy) => {
                let outcome = Err(self.refused(&format!("{why}. What to do: {remedy}")));
                let attempt = Attempt { outcome, usage: Reported::Nothing };
                if status == StatusCode::BAD_REQUEST { Once::BadRequest(attempt) } else { Once::Over(attempt) }
            }
            Verdict::TooLong => {
                let (provider, why) = (self.endpoint.name.clone(), self.redacted(&why));
                over(ModelError::TooLong { provider, why })
            }
            Verdict::Lost => self.broken(&why),
        }
    }

    /// Reads a reply, however it comes: as a stream or whole, whatever its content type claims.
    async fn read(
        &self,
        mut response: Response,
        deadline: Instant,
        (form, prompt): (Form, &Prompt),
        watch: Watch<'_>,
    ) -> Once {
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
            && encoding != "identity"
        {
            return self.broken("a compressed body, which was not asked for");
        }
        let written = self.endpoint.written_calls;
        let reducer = match self.wire {
            Wire::Anthropic => Reducer::anthropic(prompt, written),
            Wire::OpenAi | Wire::Inside => Reducer::openai(prompt, written).in_format(form.calls),
        };
        let mut reading = Reading { reducer, form: BodyForm::Unknown(Vec::new()), bytes: 0, told: 0, watch };
        let mut deadline = deadline;
        let end = loop {
            let chunk = match timeout_at(deadline, response.chunk()).await {
                Err(_) => break Err(End::Silent),
                Ok(Err(error)) => break Err(End::Cut(root_cause(&error))),
                Ok(Ok(None)) => break reading.end(),
                Ok(Ok(Some(chunk))) => chunk,
            };
            match reading.take(&chunk) {
                Ok(Alive::Yes) => deadline = Instant::now() + self.endpoint.timeouts.idle,
                Ok(Alive::Unproven) => {}
                Err(end) => break Err(end),
            }
            if reading.reducer.is_done() {
                // Lost or not, the reply is whole; this only lets the connection be used again.
                let _ = timeout(TAIL_WAIT, response.chunk()).await;
                break Ok(());
            }
        };
        self.ended(reading.reducer, end, reading.bytes)
    }

    /// What came of a reply of which so many bytes arrived.
    fn ended(&self, reducer: Reducer, end: Result<(), End>, bytes: usize) -> Once {
        let (usage, final_usage) = (reducer.usage(), reducer.final_usage());
        let has_begun = reducer.has_begun();
        let end = match (reducer.finish(), end) {
            // The reason why the model stopped comes last: whatever goes wrong after it, the reply is whole.
            (Ok(reply), _) => return Once::Over(Attempt { outcome: Ok(reply), usage: final_usage }),
            (Err(fault), Ok(())) => End::Fault(fault),
            (Err(_), Err(end)) => end,
        };
        if let End::Fault(Fault::Said(said)) = &end
            && let Some(why) = said.busy().filter(|_| !has_begun)
        {
            return Once::Again { why, said: self.redacted(&said.to_string()), wait: None };
        }
        let why = match end {
            End::Silent if bytes == 0 => self.no_answer(),
            End::Silent => format!("silent for {} s after {bytes} bytes", self.endpoint.timeouts.idle.as_secs()),
            End::Cut(why) => format!("the connection broke after {bytes} bytes: {why}"),
            End::TooMuch(why) => why,
            End::Fault(fault @ Fault::BrokeOff) => format!("{fault}, after {bytes} bytes"),
            End::Fault(fault) => fault.to_string(),
        };
        // What was used by then is passed on as it was reported, and is no bill: output is counted at the end.
        let provider = self.endpoint.name.clone();
        Once::Over(Attempt { outcome: Err(ModelError::Broken { provider, why: self.redacted(&why) }), usage })
    }

    fn no_answer(&self) -> String {
        format!("no answer within {} s", self.endpoint.timeouts.first_byte.as_secs())
    }

    fn broken(&self, why: &str) -> Once {
        over(ModelError::Broken { provider: self.endpoint.name.clone(), why: self.redacted(why) })
    }

    fn refused(&self, why: &str) -> ModelError {
        ModelError::Refused { provider: self.endpoint.name.clone(), why: self.redacted(why) }
    }

    fn unavailable(&self, why: &str) -> ModelError {
        ModelError::Unavailable { provider: self.endpoint.name.clone(), why: self.redacted(why) }
    }

    fn redacted(&self, why: &str) -> String {
        self.endpoint.key.as_ref().map_or_else(|| why.to_owned(), |key| key.redact(why))
    }
}

/// What makes the pauses of one ask differ from those of another, and is the same whenever it is asked.
fn chance(prompt: &Prompt, tries: u32) -> u8 {
    let mut hasher = DefaultHasher::new();
    (prompt.key.to_string(), tries).hash(&mut hasher);
    hasher.finish().to_le_bytes()[0]
}

fn over(error: ModelError) -> Once {
    Once::Over(Attempt { outcome: Err(error), usage: Reported::Nothing })
}

/// How a body ended that is no whole reply.
enum End {
    Silent,
    Cut(String),
    TooMuch(String),
    Fault(Fault),
}

/// Whether what came proves that the other side is alive. Half an event does not: one byte a minute would do.
enum Alive {
    Yes,
    Unproven,
}

struct Reading<'a> {
    reducer: Reducer,
    form: BodyForm,
    bytes: usize,
    /// How many bytes of the model's the watcher knows of.
    told: u64,
    watch: Watch<'a>,
}

/// The form of a body, which its first character shows. Content types lie.
enum BodyForm {
    Unknown(Vec<u8>),
    Stream(Sse),
    Whole(Vec<u8>),
}

impl Reading<'_> {
    fn take(&mut self, chunk: &[u8]) -> Result<Alive, End> {
        self.bytes += chunk.len();
        match &mut self.form {
            BodyForm::Unknown(start) => {
                start.extend_from_slice(chunk);
                let start = std::mem::take(start);
                self.form = BodyForm::of(&start)?;
                if let BodyForm::Unknown(so_far) = &mut self.form {
                    *so_far = start;
                    return self.within(ERROR_BYTES_MAX);
                }
                self.bytes -= start.len();
                self.take(&start)
            }
            BodyForm::Stream(sse) => {
                let frames = sse.push(chunk).map_err(|error| End::TooMuch(error.to_string()))?;
                let is_alive = !frames.is_empty();
                for frame in frames {
                    if let Frame::Event(event) = frame {
                        let pieces = self.reducer.reduce(&event).map_err(End::Fault)?;
                        self.tell(&pieces);
                    }
                }
                self.within(STREAM_BYTES_MAX)?;
                Ok(if is_alive { Alive::Yes } else { Alive::Unproven })
            }
            BodyForm::Whole(body) => {
                body.extend_from_slice(chunk);
                self.within(BODY_BYTES_MAX)?;
                Ok(Alive::Yes)
            }
        }
    }

    fn within(&self, bytes_max: usize) -> Result<Alive, End> {
        if self.bytes > bytes_max {
            return Err(End::TooMuch(format!("a body of more than {bytes_max} bytes")));
        }
        Ok(Alive::Unproven)
    }

    fn end(&mut self) -> Result<(), End> {
        let pieces = match std::mem::replace(&mut self.form, BodyForm::Unknown(Vec::new())) {
            BodyForm::Unknown(_) => return Err(End::Fault(Fault::Malformed("an empty body".into()))),
            BodyForm::Stream(sse) => match sse.finish() {
                Some(event) => self.reducer.reduce(&event),
                None => Ok(Vec::new()),
            },
            BodyForm::Whole(body) => self.reducer.whole(&String::from_utf8_lossy(&body)),
        };
        self.tell(&pieces.map_err(End::Fault)?);
        Ok(())
    }

    fn tell(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            (self.watch)(piece.delta());
        }
        let written = self.reducer.written_bytes();
        if written > self.told {
            (self.watch)(Delta::Received { bytes: written - self.told });
            self.told = written;
        }
    }
}

impl BodyForm {
    fn of(start: &[u8]) -> Result<BodyForm, End> {
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        match text.first() {
            None => Ok(BodyForm::Unknown(Vec::new())),
            Some(b'{') => Ok(BodyForm::Whole(Vec::new())),
            Some(b'<') => Err(End::Fault(Fault::Malformed("an HTML page instead of JSON: check the base URL".into()))),
            // The fields of an event stream, a comment, or half of the mark that may precede them.
            Some(b'd' | b'e' | b'i' | b'r' | b':') => Ok(BodyForm::Stream(Sse::default())),
            Some(0xef) if text.len() < 3 => Ok(BodyForm::Unknown(Vec::new())),
            Some(_) => Err(End::Fault(Fault::Malformed("neither JSON nor a stream of events".into()))),
        }
    }
}

/// TLS is set up only for those who need it: it reads the system's certificates.
pub(crate) fn connectable(base_url: &BaseUrl, wait_max: Duration) -> Result<reqwest::Client, String> {
    let builder =
        reqwest::Client::builder().redirect(Policy::none()).no_proxy().referer(false).connect_timeout(wait_max);
    let builder = if base_url.is_https() { builder } else { builder.tls_certs_only([]) };
    builder.build().map_err(|error| root_cause(&error))
}

/// The innermost of an error's causes: the outer ones repeat the URL.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
