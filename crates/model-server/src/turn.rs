//! A request as the rules see it, in the same form for both protocols.

mod check;

use serde_json::Value;

use crate::connection::Request;
use crate::script::{Endpoint, Protocol};

/// A request to a model.
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the protocol")]
pub(crate) struct Turn {
    /// The number of the request; replays are not counted.
    pub(crate) n: u64,
    pub(crate) endpoint: Endpoint,
    pub(crate) protocol: Protocol,
    pub(crate) request_key: Option<String>,
    pub(crate) body: Vec<u8>,
    pub(crate) model: String,
    pub(crate) system: String,
    /// All texts of the user, in order, without tool results.
    pub(crate) user_texts: Vec<String>,
    /// The tool results after the last message of the model.
    pub(crate) tool_results: Vec<String>,
    pub(crate) all_tool_results: Vec<String>,
    /// What the model has said so far.
    pub(crate) replies: Vec<OwnReply>,
    /// The most tokens that the reply may have.
    pub(crate) max_tokens: Option<usize>,
    pub(crate) messages: u64,
    pub(crate) stream: bool,
    /// Whether the client wants the usage at the end of a stream (OpenAI only; Anthropic always sends the usage).
    pub(crate) include_usage: bool,
    /// The schema that the reply must follow as one object: `{"calls": […]}` or `{"report": "…"}`.
    pub(crate) schema: Option<Value>,
    /// Whether the request has the key that the script expects; true if the script expects none.
    pub(crate) has_key: bool,
    /// Why the real provider would refuse the request.
    pub(crate) fault: Option<String>,
}

/// An earlier reply of the model.
pub(crate) struct OwnReply {
    pub(crate) text: String,
    pub(crate) calls: Vec<OwnCall>,
    /// The texts of the user between this reply and the next.
    pub(crate) then: String,
}

pub(crate) struct OwnCall {
    pub(crate) name: String,
    /// Null if they are not JSON.
    pub(crate) arguments: Value,
}

impl Turn {
    /// Reads a request. A missing field counts as empty. `None`: the server has nothing at this path.
    pub(crate) fn read(request: Request, body: &Value, has_key: bool) -> Option<Self> {
        let (endpoint, protocol) = route(&request)?;
        let versioned = protocol == Protocol::OpenAi || request.header("anthropic-version").is_some();
        let fault = if versioned { check::fault(protocol, body) } else { Some(check::NO_VERSION.into()) };
        let request_key = request.header("idempotency-key").or(request.header("x-idempotency-key"));
        let mut turn = Self {
            n: 0,
            endpoint,
            protocol,
            request_key: request_key.map(Into::into),
            model: text_of(&body["model"]),
            system: text_of(&body["system"]),
            user_texts: Vec::new(),
            tool_results: Vec::new(),
            all_tool_results: Vec::new(),
            replies: Vec::new(),
            max_tokens: ["max_tokens", "max_completion_tokens"].iter().find_map(|name| most(&body[name])),
            messages: 0,
            stream: body["stream"] == true,
            include_usage: body["stream_options"]["include_usage"] == true,
            schema: schema(&body["response_format"]),
            has_key,
            fault,
            body: request.body,
        };
        turn.read_messages(list(&body["messages"]));
        Some(turn)
    }

    /// The most bytes of the reply: a token is four bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        self.max_tokens.map_or(usize::MAX, |most| most.saturating_mul(4))
    }

    pub(crate) fn last_user(&self) -> &str {
        self.user_texts.last().map_or("", String::as_str)
    }

    fn read_messages(&mut self, messages: &[Value]) {
        let mut awaits_results = false;
        for message in messages {
            let content = &message["content"];
            self.messages += 1;
            match message["role"].as_str().unwrap_or_default() {
                "system" | "developer" => {
                    self.system.push_str(&text_of(content));
                    self.messages -= 1;
                }
                "tool" => self.tool_results.push(text_of(content)),
                "assistant" => {
                    self.all_tool_results.append(&mut self.tool_results);
                    self.replies.push(OwnReply::read(message));
                    awaits_results = self.schema.is_some()
                        && serde_json::from_str::<Value>(&text_of(content))
                            .is_ok_and(|object| object["calls"].is_array());
                }
                // After calls in a JSON object, the next user message has the results.
                _ if std::mem::take(&mut awaits_results) => self.tool_results.push(text_of(content)),
                _ => self.read_user(content),
            }
        }
        self.all_tool_results.extend_from_slice(&self.tool_results);
    }

    fn read_user(&mut self, content: &Value) {
        let results = list(content).iter().filter(|block| block["type"] == "tool_result");
        self.tool_results.extend(results.map(|block| text_of(&block["content"])));
        let text = text_of(content);
        if !text.is_empty() {
            if let Some(reply) = self.replies.last_mut() {
                reply.then.push_str(&text);
            }
            self.user_texts.push(text);
        }
    }
}

impl OwnReply {
    fn read(message: &Value) -> Self {
        let blocks = list(&message["content"]).iter().filter(|block| block["type"] == "tool_use");
        let blocks = blocks.map(|block| (&block["name"], block["input"].clone()));
        let calls = list(&message["tool_calls"]).iter().map(|call| &call["function"]);
        let calls = calls.map(|call| {
            let arguments = call["arguments"].as_str().unwrap_or_default();
            (&call["name"], serde_json::from_str(arguments).unwrap_or_default())
        });
        let calls = blocks.chain(calls).map(|(name, arguments)| OwnCall { name: text_of(name), arguments });
        Self { text: text_of(&message["content"]), calls: calls.collect(), then: String::new() }
    }
}

fn schema(format: &Value) -> Option<Value> {
    (format["type"] == "json_schema").then(|| format["json_schema"]["schema"].clone())
}

fn most(value: &Value) -> Option<usize> {
    value.as_u64().map(|most| usize::try_from(most).unwrap_or(usize::MAX))
}

fn route(request: &Request) -> Option<(Endpoint, Protocol)> {
    let path = request.path.split('?').next().unwrap_or_default();
    match (request.method.as_str(), path) {
        ("POST", "/v1/messages") => Some((Endpoint::Turn, Protocol::Anthropic)),
        ("POST", "/v1/chat/completions") => Some((Endpoint::Turn, Protocol::OpenAi)),
        ("GET", "/v1/models") => {
            let is_anthropic = request.header("anthropic-version").is_some();
            Some((Endpoint::Models, if is_anthropic { Protocol::Anthropic } else { Protocol::OpenAi }))
        }
        _ => None,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the text of a `content` field: a string, or the text blocks of a list, one per line.
fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.into();
    }
    let blocks = list(content).iter().filter(|block| block["type"] == "text");
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}
