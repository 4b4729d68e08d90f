//! A model over HTTP. One ask is one request and one stream; a new request follows only if the last one certainly cost nothing.
//! The client follows no redirects, uses no proxy and decompresses nothing.

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use guildhall_agent::{
    Attempt, Billing, CallFormat, Delta, Model, ModelError, Prompt, Reported, Task, WaitReason, Watch, Wire,
};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Body, Response, StatusCode, Url};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::http::body::RequestBody;
use crate::http::endpoint::{BaseUrl, COMPLETIONS, Endpoint, MESSAGES};
use crate::http::reduce::{Fault, Piece, Reducer};
use crate::http::request::{self, Form, Openings};
use crate::http::retry::Tries;
use crate::http::sse::{Frame, Sse};
use crate::http::tls::{self, Trust};
use crate::http::verdict::{ProviderMessage, Verdict, judge, wait};

/// The most bytes of a stream, including its framing.
const STREAM_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most bytes of a reply that is not streamed.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The most bytes that are read of an error response.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// How long to wait for the end of a stream after a complete reply, so that the connection can be reused.
const TAIL_WAIT: Duration = Duration::from_millis(100);

/// How long to wait for the body of an error response. The status is usually enough.
const ERROR_WAIT: Duration = Duration::from_secs(10);

const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A model over one of the two protocols: Anthropic Messages, or Chat Completions as served by `OpenAI`, Ollama,
/// llama.cpp, vLLM, LM Studio, `OpenRouter` and others.
#[derive(Debug)]
pub struct Provider {
    wire: Wire,
    /// The address of the requests.
    url: Url,
    endpoint: Endpoint,
    http: OnceLock<Result<reqwest::Client, String>>,
    openings: Openings,
    /// The form of requests, without the parts that the server does not accept.
    form: Mutex<Form>,
}

/// The result of one request.
enum RequestResult {
    Final(Attempt),
    /// The server refused the request. It may accept a request without a part that the server does not know.
    BadRequest(Attempt),
    /// The request can't have cost anything, and may succeed later.
    Retry {
        why: WaitReason,
        message: String,
        wait: Option<Duration>,
    },
}

impl Model for Provider {
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(self.ask_until_final(prompt, watch))
    }

    fn billing(&self) -> Billing {
        if self.endpoint.is_local() { Billing::Nominal } else { Billing::Billed }
    }

    /// Whether replies are JSON turns. False after the server has refused a schema.
    fn has_json_turns(&self) -> bool {
        self.wire == Wire::OpenAi && self.form().calls == CallFormat::Json
    }
}

impl Provider {
    /// Creates the model. The first ask opens the connection.
    pub fn new(wire: Wire, endpoint: Endpoint) -> Provider {
        let method = if wire == Wire::Anthropic { MESSAGES } else { COMPLETIONS };
        Provider {
            wire,
            url: endpoint.base_url.method(method),
            form: Mutex::new(Form::of(&endpoint)),
            endpoint,
            http: OnceLock::new(),
            openings: Openings::default(),
        }
    }

    fn form(&self) -> MutexGuard<'_, Form> {
        // A panic while the lock was held leaves the form valid: it is changed at once.
        self.form.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves out of later requests what the server refused before it accepted this form.
    fn learn(&self, accepted: Form) {
        let mut form = self.form();
        *form = form.simplest(accepted);
    }

    /// Sends requests until one has a final result: again after a failure that can't have cost anything, and in a simpler form
    /// if the server refuses a part of the request that not every server knows.
    async fn ask_until_final(&self, prompt: &Prompt, watch: Watch<'_>) -> Attempt {
        let mut form = *self.form();
        let mut tries = Tries::new(&self.endpoint.retry);
        loop {
            match self.request(form, prompt, watch).await {
                RequestResult::Final(attempt) => {
                    // A request that is refused in every form says nothing about the forms.
                    if attempt.outcome.is_ok() {
                        self.learn(form);
                    }
                    return attempt;
                }
                RequestResult::BadRequest(attempt) => {
                    let Some(simpler) = form.simpler(self.wire, &self.endpoint, prompt) else { return attempt };
                    form = simpler;
                    tries = Tries::new(&self.endpoint.retry);
                }
                RequestResult::Retry { why, message, wait } => {
                    let Some(pause) = tries.pause(why, wait, chance(prompt, tries.made)) else {
                        return failed(self.no_more_tries(&message, why, tries.made, wait));
                    };
                    let seconds = u64::try_from(pause.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
                    watch(Delta::Waiting { seconds, why, message: &message });
                    sleep(pause).await;
                }
            }
        }
    }

    /// Returns the error after the last try.
    fn no_more_tries(&self, message: &str, why: WaitReason, tries: u32, asked_wait: Option<Duration>) -> ModelError {
        let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
        match why {
            WaitReason::Unreachable => self.unavailable(&format!("{message}, tried {times}")),
            WaitReason::RateLimited | WaitReason::Unavailable => {
                let when = asked_wait.map_or_else(|| "later".to_owned(), |wait| format!("in {} s", wait.as_secs()));
                self.refused(&format!(
                    "the server does not accept requests now ({message}), tried {times}. What to do: try again {when}"
                ))
            }
        }
    }

    async fn request(&self, form: Form, prompt: &Prompt, watch: Watch<'_>) -> RequestResult {
        let Some(body) = self.body(form, prompt) else {
            return final_error(self.refused("a model inside this process has no HTTP protocol"));
        };
        let http = match self.http.get_or_init(|| http_client(&self.endpoint.base_url, self.endpoint.timeouts.connect))
        {
            Ok(http) => http,
            Err(why) => {
                let message = format!("no connection to {}: {why}", self.endpoint.base_url.host());
                return final_error(self.unavailable(&message));
            }
        };
        let request = http.post(self.url.clone()).headers(self.headers(prompt)).body(body);
        let deadline = Instant::now() + self.endpoint.timeouts.first_byte;
        watch(Delta::Asking);
        match timeout_at(deadline, request.send()).await {
            Err(_) => self.broken(&self.no_answer()),
            Ok(Err(error)) if error.is_connect() => {
                let message = format!("no connection to {}: {}", self.endpoint.base_url.host(), root_cause(&error));
                RequestResult::Retry { why: WaitReason::Unreachable, message: self.redacted(&message), wait: None }
            }
            Ok(Err(error)) => {
                self.broken(&format!("the connection broke before an answer arrived: {}", root_cause(&error)))
            }
            Ok(Ok(response)) if response.status() == StatusCode::OK => {
                self.read(response, deadline, (form, prompt), watch).await
            }
            Ok(Ok(response)) => self.read_error(response).await,
        }
    }

    /// Writes the request for a prompt; `None` for a model inside this process.
    fn body(&self, form: Form, prompt: &Prompt) -> Option<Body> {
        let opening = self.openings.written(self.wire, &self.endpoint, form.opening(self.wire, prompt))?;
        let rest = request::rest(self.wire, &self.endpoint, prompt, form, &opening);
        Some(Body::wrap(RequestBody::new(opening.start().clone(), rest.into())))
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

    /// Reads an error response, and decides whether to send the request again.
    async fn read_error(&self, mut response: Response) -> RequestResult {
        let status = response.status();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let wait = wait(header("retry-after-ms"), header("retry-after"), header("date"));
        let mut body = Vec::new();
        let deadline = Instant::now() + ERROR_WAIT;
        while body.len() < ERROR_BYTES_MAX {
            match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk[..chunk.len().min(ERROR_BYTES_MAX - body.len())]),
                // The rest of the body is not needed: the status is known.
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        let message = ProviderMessage::in_body(&String::from_utf8_lossy(&body));
        let why = format!("HTTP {}: {message}", status.as_u16());
        match judge(status.as_u16(), &message, wait) {
            Verdict::Retry(reason) => RequestResult::Retry { why: reason, message: self.redacted(&why), wait },
            Verdict::Refused(remedy) => {
                let attempt = failed(self.refused(&format!("{why}. What to do: {remedy}")));
                if status == StatusCode::BAD_REQUEST {
                    RequestResult::BadRequest(attempt)
                } else {
                    RequestResult::Final(attempt)
                }
            }
            Verdict::TooLong => {
                let (provider, why) = (self.endpoint.name.clone(), self.redacted(&why));
                final_error(ModelError::TooLong { provider, why })
            }
            Verdict::Lost => self.broken(&why),
        }
    }

    /// Reads a reply, as a stream or as one body. The content type is ignored.
    async fn read(
        &self,
        mut response: Response,
        deadline: Instant,
        (form, prompt): (Form, &Prompt),
        watch: Watch<'_>,
    ) -> RequestResult {
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
            && encoding != "identity"
        {
            return self.broken("the server sent a compressed body, although the request does not allow that");
        }
        let written = self.endpoint.written_calls;
        let reducer = Reducer::new(self.wire, prompt, written, form.calls_of_reply(self.wire, prompt));
        let mut reader = BodyReader { reducer, form: BodyForm::Unknown(Vec::new()), bytes: 0, reported: 0, watch };
        let mut deadline = deadline;
        let end = loop {
            let chunk = match timeout_at(deadline, response.chunk()).await {
                Err(_) => break Err(End::Silent),
                Ok(Err(error)) => break Err(End::Cut(root_cause(&error))),
                Ok(Ok(None)) => break reader.end(),
                Ok(Ok(Some(chunk))) => chunk,
            };
            match reader.take(&chunk) {
                Ok(true) => deadline = Instant::now() + self.endpoint.timeouts.idle,
                Ok(false) => {}
                Err(end) => break Err(end),
            }
            if reader.reducer.is_done() {
                // The reply is complete. Reading the end only allows the connection to be reused.
                let _ = timeout(TAIL_WAIT, response.chunk()).await;
                break Ok(());
            }
        };
        self.ended(reader.reducer, end, reader.bytes)
    }

    /// Returns the result of a request whose response ended after this many bytes.
    fn ended(&self, reducer: Reducer, end: Result<(), End>, bytes: usize) -> RequestResult {
        let (usage, final_usage) = (reducer.usage(), reducer.final_usage());
        let has_begun = reducer.has_begun();
        let end = match (reducer.finish(), end) {
            // The stop reason is the last part of a reply. After it, no error can make the reply incomplete.
            (Ok(reply), _) => return RequestResult::Final(Attempt { outcome: Ok(reply), usage: final_usage }),
            (Err(fault), Ok(())) => End::Fault(fault),
            (Err(_), Err(end)) => end,
        };
        if let End::Fault(Fault::ProviderError(message)) = &end
            && let Some(why) = message.busy().filter(|_| !has_begun)
        {
            return RequestResult::Retry { why, message: self.redacted(&message.to_string()), wait: None };
        }
        let why = match end {
            End::Silent if bytes == 0 => self.no_answer(),
            End::Silent => {
                format!("the server sent nothing for {} s after {bytes} bytes", self.endpoint.timeouts.idle.as_secs())
            }
            End::Cut(why) => format!("the connection broke after {bytes} bytes: {why}"),
            End::TooLarge(why) => why,
            End::Fault(fault @ Fault::Incomplete) => format!("{fault}, after {bytes} bytes"),
            End::Fault(fault) => fault.to_string(),
        };
        // The usage reported so far is not the final one: providers count output at the end of a reply.
        let provider = self.endpoint.name.clone();
        RequestResult::Final(Attempt { outcome: Err(ModelError::Broken { provider, why: self.redacted(&why) }), usage })
    }

    fn no_answer(&self) -> String {
        format!("no answer within {} s", self.endpoint.timeouts.first_byte.as_secs())
    }

    fn broken(&self, why: &str) -> RequestResult {
        final_error(ModelError::Broken { provider: self.endpoint.name.clone(), why: self.redacted(why) })
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

/// Makes the pauses of different asks differ. The same ask always has the same pauses.
fn chance(prompt: &Prompt, tries: u32) -> u8 {
    let mut hasher = DefaultHasher::new();
    (prompt.key.to_string(), tries).hash(&mut hasher);
    hasher.finish().to_le_bytes()[0]
}

fn failed(error: ModelError) -> Attempt {
    Attempt { outcome: Err(error), usage: Reported::Nothing }
}

fn final_error(error: ModelError) -> RequestResult {
    RequestResult::Final(failed(error))
}

/// Why a response has no complete reply.
enum End {
    Silent,
    Cut(String),
    TooLarge(String),
    Fault(Fault),
}

struct BodyReader<'a> {
    reducer: Reducer,
    form: BodyForm,
    bytes: usize,
    /// How many bytes that the model wrote were reported to `watch`.
    reported: u64,
    watch: Watch<'a>,
}

/// The form of a body, decided by its first character. Content types are often wrong.
enum BodyForm {
    Unknown(Vec<u8>),
    Stream(Sse),
    Json(Vec<u8>),
}

impl BodyReader<'_> {
    /// Takes bytes of the body, and returns whether they prove that the server still works. Half an event does not: a server could
    /// send one byte a minute.
    fn take(&mut self, chunk: &[u8]) -> Result<bool, End> {
        self.bytes += chunk.len();
        match &mut self.form {
            BodyForm::Unknown(start) => {
                start.extend_from_slice(chunk);
                let start = std::mem::take(start);
                self.form = BodyForm::of(&start)?;
                if let BodyForm::Unknown(so_far) = &mut self.form {
                    *so_far = start;
                    self.check_size(ERROR_BYTES_MAX)?;
                    return Ok(false);
                }
                self.bytes -= start.len();
                self.take(&start)
            }
            BodyForm::Stream(sse) => {
                let frames = sse.push(chunk).map_err(|error| End::TooLarge(error.to_string()))?;
                let is_alive = !frames.is_empty();
                for frame in frames {
                    if let Frame::Event(event) = frame {
                        let pieces = self.reducer.reduce(&event).map_err(End::Fault)?;
                        self.report(&pieces);
                    }
                }
                self.check_size(STREAM_BYTES_MAX)?;
                Ok(is_alive)
            }
            BodyForm::Json(body) => {
                body.extend_from_slice(chunk);
                self.check_size(BODY_BYTES_MAX)?;
                Ok(true)
            }
        }
    }

    fn check_size(&self, bytes_max: usize) -> Result<(), End> {
        let too_large = || End::TooLarge(format!("the body is larger than {bytes_max} bytes"));
        if self.bytes > bytes_max { Err(too_large()) } else { Ok(()) }
    }

    fn end(&mut self) -> Result<(), End> {
        let pieces = match std::mem::replace(&mut self.form, BodyForm::Unknown(Vec::new())) {
            BodyForm::Unknown(_) => return Err(End::Fault(Fault::Malformed("the body is empty".into()))),
            BodyForm::Stream(sse) => match sse.finish() {
                Some(event) => self.reducer.reduce(&event),
                None => Ok(Vec::new()),
            },
            BodyForm::Json(body) => self.reducer.read_body(&String::from_utf8_lossy(&body)),
        };
        self.report(&pieces.map_err(End::Fault)?);
        Ok(())
    }

    fn report(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            (self.watch)(piece.delta());
        }
        let written = self.reducer.written_bytes();
        if written > self.reported {
            (self.watch)(Delta::Received { bytes: written - self.reported });
            self.reported = written;
        }
    }
}

impl BodyForm {
    fn of(start: &[u8]) -> Result<BodyForm, End> {
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        match text.first() {
            None => Ok(BodyForm::Unknown(Vec::new())),
            Some(b'{') => Ok(BodyForm::Json(Vec::new())),
            Some(b'<') => {
                Err(End::Fault(Fault::Malformed("the body is an HTML page instead of JSON: check the base URL".into())))
            }
            // The fields of an event stream, or a comment. Below: the start of a byte order mark.
            Some(b'd' | b'e' | b'i' | b'r' | b':') => Ok(BodyForm::Stream(Sse::default())),
            Some(0xef) if text.len() < 3 => Ok(BodyForm::Unknown(Vec::new())),
            Some(_) => Err(End::Fault(Fault::Malformed("the body is neither JSON nor a stream of events".into()))),
        }
    }
}

/// Creates an HTTP client.
pub(crate) fn http_client(base_url: &BaseUrl, wait_max: Duration) -> Result<reqwest::Client, String> {
    let trust = if base_url.as_str().starts_with("https:") { Trust::System } else { Trust::Nothing };
    let tls = tls::settings(trust).map_err(|error| error.to_string())?;
    let builder =
        reqwest::Client::builder().redirect(Policy::none()).no_proxy().referer(false).connect_timeout(wait_max);
    builder.tls_backend_preconfigured(tls).build().map_err(|error| root_cause(&error))
}

/// Returns the innermost cause of an error: the outer causes repeat the URL.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
