//! As much of HTTP/1.1 as a test needs, over plain sockets: one exchange for each connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// The most bytes of a message: no test has more.
const MESSAGE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const WAIT_MAX: Duration = Duration::from_mins(2);

/// A request or a reply as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The first line.
    pub(crate) start: String,
    /// The other lines of the head, without those that are about the connection and the length.
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// Reads a message. Without a length, a request has no body, and a reply ends with its connection.
    pub(crate) fn read(stream: &TcpStream) -> io::Result<Message> {
        stream.set_read_timeout(Some(WAIT_MAX))?;
        let mut reader = BufReader::new(stream.take(MESSAGE_BYTES_MAX));
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        if lines.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let start = lines.remove(0);
        let length = lines.iter().find_map(|line| header(line, "content-length")?.parse::<usize>().ok());
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                reader.read_exact(&mut body)?;
            }
            None if start.starts_with("HTTP/") => {
                reader.read_to_end(&mut body)?;
            }
            None => {}
        }
        let about_connection = ["connection", "content-length", "keep-alive"];
        lines.retain(|line| about_connection.iter().all(|name| header(line, name).is_none()));
        Ok(Message { start, headers: lines, body })
    }

    /// Returns the bytes of the message, for a connection that is closed afterwards.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\n", self.start).into_bytes();
        for line in &self.headers {
            bytes.extend_from_slice(format!("{line}\r\n").as_bytes());
        }
        bytes.extend_from_slice(format!("connection: close\r\ncontent-length: {}\r\n\r\n", self.body.len()).as_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Returns the status of a reply.
    pub(crate) fn status(&self) -> u16 {
        self.start.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }
}

/// Sends a request and reads its reply.
pub(crate) fn exchange(address: SocketAddr, request: &Message) -> io::Result<Message> {
    let mut stream = TcpStream::connect_timeout(&address, WAIT_MAX)?;
    stream.write_all(&request.bytes())?;
    Message::read(&stream)
}

/// Sends JSON, and returns the status and the JSON of the reply.
pub(crate) fn json(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[String],
    body: Option<&Value>,
) -> io::Result<(u16, Value)> {
    let mut headers = headers.to_vec();
    headers.extend([format!("host: {address}"), "content-type: application/json".to_owned()]);
    let body = body.map(Value::to_string).unwrap_or_default().into_bytes();
    let reply = exchange(address, &Message { start: format!("{method} {path} HTTP/1.1"), headers, body })?;
    Ok((reply.status(), serde_json::from_slice(&reply.body).unwrap_or(Value::Null)))
}

fn header<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (found, value) = line.split_once(':')?;
    found.eq_ignore_ascii_case(name).then_some(value.trim())
}
