//! A client that returns every byte of a response, and how the response ended.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use guildhall_model_server::Peer;
use serde_json::{Value, json};

/// How long the client waits for a byte. Long enough for a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    /// The connection was closed before the end of the response.
    Closed,
    Reset,
    /// The server stopped sending.
    Silent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Got {
    /// 0: no status was received.
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    pub(crate) end: End,
}

impl Got {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Returns the data of the events of a stream, without `[DONE]`.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// A connection that stays open between requests.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn with_timeout(self, time: Duration) -> Self {
        self.stream.get_ref().set_read_timeout(Some(time)).unwrap();
        self
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
        let version = ("anthropic-version", "2023-06-01");
        for (name, value) in headers.iter().chain(path.starts_with("/v1/messages").then_some(&version)) {
            head.extend([name, ": ", value, "\r\n"]);
        }
        self.stream.get_mut().write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    }

    pub(crate) fn receive(&mut self) -> Got {
        let mut got = Got { status: 0, headers: BTreeMap::new(), body: Vec::new(), end: End::Complete };
        if let Err(end) = self.read_response(&mut got) {
            got.end = end;
        }
        got
    }

    fn read_response(&mut self, got: &mut Got) -> Result<(), End> {
        let status = self.line()?;
        let mut words = status.split(' ');
        assert_eq!(words.next(), Some("HTTP/1.1"), "{status}");
        got.status = words.next().unwrap().parse().unwrap();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            got.headers.insert(name.to_lowercase(), value.into());
        }
        if let Some(length) = got.headers.get("content-length") {
            return self.bytes(length.parse().unwrap(), &mut got.body);
        }
        assert_eq!(got.headers["transfer-encoding"], "chunked");
        loop {
            let line = self.line()?;
            let length = usize::from_str_radix(&line, 16).unwrap();
            self.bytes(length, &mut got.body)?;
            assert_eq!(self.line()?, "");
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn line(&mut self) -> Result<String, End> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(_) if line.ends_with("\r\n") => Ok(line.trim_end().into()),
            Ok(_) => Err(End::Closed),
            Err(error) => Err(end(error.kind())),
        }
    }

    fn bytes(&mut self, mut left: usize, body: &mut Vec<u8>) -> Result<(), End> {
        let mut buffer = vec![0; left.min(1 << 16)];
        while left > 0 {
            let most = left.min(buffer.len());
            match self.stream.read(&mut buffer[..most]) {
                Ok(0) => return Err(End::Closed),
                Ok(count) => {
                    body.extend_from_slice(&buffer[..count]);
                    left -= count;
                }
                Err(error) => return Err(end(error.kind())),
            }
        }
        Ok(())
    }
}

fn end(kind: ErrorKind) -> End {
    if kind == ErrorKind::ConnectionReset {
        return End::Reset;
    }
    assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut), "an error that no script causes: {kind:?}");
    End::Silent
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    AnthropicStream,
    OpenAi,
    OpenAiStream,
}

pub(crate) const WIRES: [Wire; 4] = [Wire::Anthropic, Wire::AnthropicStream, Wire::OpenAi, Wire::OpenAiStream];
pub(crate) const STREAMS: [Wire; 2] = [Wire::AnthropicStream, Wire::OpenAiStream];

impl Wire {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Anthropic | Self::AnthropicStream => "/v1/messages",
            Self::OpenAi | Self::OpenAiStream => "/v1/chat/completions",
        }
    }

    /// Returns a request with this user text.
    pub(crate) fn request(self, text: &str) -> Value {
        let user = json!({"role": "user", "content": if text.is_empty() { "continue" } else { text }});
        match self {
            Self::Anthropic => json!({"model": "m", "max_tokens": 9, "system": "You are ada.", "messages": [user]}),
            Self::OpenAi => {
                json!({"model": "m", "messages": [{"role": "system", "content": "You are ada."}, user]})
            }
            Self::AnthropicStream => {
                let mut body = Self::Anthropic.request(text);
                body["stream"] = true.into();
                body
            }
            Self::OpenAiStream => {
                let mut body = Self::OpenAi.request(text);
                body["stream"] = true.into();
                body["stream_options"] = json!({"include_usage": true});
                body
            }
        }
    }
}

pub(crate) fn ask(peer: &Peer, wire: Wire, text: &str) -> Got {
    ask_with(peer, wire, &[], &wire.request(text))
}

pub(crate) fn ask_with(peer: &Peer, wire: Wire, headers: &[(&str, &str)], body: &Value) -> Got {
    let mut connection = Connection::open(peer.address());
    connection.send("POST", wire.path(), headers, &body.to_string());
    connection.receive()
}
