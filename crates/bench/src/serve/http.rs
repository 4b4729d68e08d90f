//! As much of HTTP as the benchmark of `serve` needs: a client with one connection for single requests, and a decoder for bodies that
//! come in chunks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a reply may take.
const REPLY_TIME_MAX: Duration = Duration::from_mins(1);

/// A connection for single requests, one after another.
pub(crate) struct Client {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Result<Client, String> {
        let stream = TcpStream::connect(address).map_err(|e| format!("{address}: {e}"))?;
        stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(REPLY_TIME_MAX)))
            .map_err(|e| e.to_string())?;
        Ok(Client { address, stream: BufReader::new(stream) })
    }

    pub(crate) fn get(&mut self, path: &str, token: &str) -> Result<String, String> {
        self.send("GET", path, token, None)
    }

    pub(crate) fn post(&mut self, path: &str, token: &str, body: &Value) -> Result<Value, String> {
        let reply = self.send("POST", path, token, Some(&body.to_string()))?;
        serde_json::from_str(&reply).map_err(|e| format!("POST {path}: {e}: {reply}"))
    }

    /// Sends a request and returns the body of the reply. A status that is not a success is an error.
    fn send(&mut self, method: &str, path: &str, token: &str, body: Option<&str>) -> Result<String, String> {
        let failed = |why: String| format!("{method} {path}: {why}");
        let request = request(self.address, method, path, token, body);
        self.stream.get_mut().write_all(request.as_bytes()).map_err(|e| failed(e.to_string()))?;
        let (status, body) = self.reply().map_err(failed)?;
        if (200..300).contains(&status) { Ok(body) } else { Err(failed(format!("status {status}: {body}"))) }
    }

    fn reply(&mut self) -> Result<(u16, String), String> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("not a reply")?;
        let mut length = None;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>().map_err(|e| e.to_string())?);
            }
        }
        let mut body = vec![0; length.ok_or("a reply without its length")?];
        self.stream.read_exact(&mut body).map_err(|e| e.to_string())?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line).map_err(|e| e.to_string())? {
            0 => Err("the server closed the connection".into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

/// The text of a request.
pub(crate) fn request(address: SocketAddr, method: &str, path: &str, token: &str, body: Option<&str>) -> String {
    let about = body
        .map_or(String::new(), |body| format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
    let body = body.unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{about}\r\n{body}")
}

/// Decodes a body that comes in chunks, whatever the boundaries of the reads are.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    /// The line with the size of the next chunk, as far as it has come.
    line: Vec<u8>,
    /// What is left of the current chunk.
    left: usize,
    /// Whether the line end after a chunk is still to come.
    awaits_line_end: bool,
}

impl Chunks {
    /// Adds the content of the next bytes to `body`. Returns whether the body has ended.
    pub(crate) fn decode(&mut self, mut bytes: &[u8], body: &mut Vec<u8>) -> Result<bool, String> {
        while !bytes.is_empty() {
            if self.left > 0 {
                let (content, rest) = bytes.split_at(self.left.min(bytes.len()));
                body.extend_from_slice(content);
                self.left -= content.len();
                bytes = rest;
                continue;
            }
            let Some(end) = memchr::memchr(b'\n', bytes) else {
                self.line.extend_from_slice(bytes);
                return Ok(false);
            };
            self.line.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            if std::mem::take(&mut self.awaits_line_end) {
                continue;
            }
            let size = str::from_utf8(&line).ok().and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
            self.left = size.ok_or("a chunk without its size")?;
            if self.left == 0 {
                return Ok(true);
            }
            self.awaits_line_end = true;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_decoded_at_any_boundary_of_the_reads() {
        let encoded = b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
        for size in 1..encoded.len() {
            let (mut chunks, mut body, mut ended) = (Chunks::default(), Vec::new(), false);
            for part in encoded.chunks(size) {
                ended = ended || chunks.decode(part, &mut body).unwrap();
            }
            assert_eq!((String::from_utf8(body).unwrap(), ended), ("abc0123456789".to_owned(), true), "{size}");
        }
        assert!(Chunks::default().decode(b"xyz\r\n", &mut Vec::new()).is_err());
    }
}
