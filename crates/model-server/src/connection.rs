//! One connection: reads requests and sends answers. This file implements HTTP itself, because an HTTP library would not
//! let a script send broken responses.

use std::collections::BTreeMap;
use std::future::pending;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::WriteHalf;

use crate::answer::{Answer, Finish};
use crate::entry::{AnswerKind, Ending, Entry};
use crate::server::Server;
use crate::turn::Turn;

const HEAD_BYTES_MAX: u64 = 1 << 20;
const BODY_BYTES_MAX: usize = 256 << 20;
/// A reset discards bytes that the system has not sent yet, so the server waits before it resets a connection.
const RESET_PAUSE: Duration = Duration::from_millis(10);
/// Headers whose values are secret.
const SECRET: [&str; 4] = ["authorization", "x-api-key", "cookie", "proxy-authorization"];

/// A request. The names of its headers are in lower case.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Reads the next request; `None` when the client has closed the connection.
    async fn read(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Self>> {
        let mut head = (&mut *from).take(HEAD_BYTES_MAX).lines();
        let Some(first) = head.next_line().await? else { return Ok(None) };
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = BTreeMap::new();
        loop {
            let Some(line) = head.next_line().await? else { return Ok(None) };
            let Some((name, value)) = line.split_once(':') else { break };
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").map_or(Ok(0), |length| length.parse());
        let length = length.ok().filter(|length| *length <= BODY_BYTES_MAX).ok_or(ErrorKind::FileTooLarge)?;
        if headers.contains_key("transfer-encoding") {
            eprintln!("a request with `transfer-encoding` is not supported: send a `content-length`");
            return Ok(None);
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body).await?;
        Ok(Some(Self { method, path, headers, body }))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Replaces each secret by a marker, and returns whether the request has the key that the script expects.
    fn redact(&mut self, expected: Option<&str>) -> bool {
        let mut has_key = expected.is_none();
        for name in SECRET {
            let Some(value) = self.headers.get_mut(name) else { continue };
            let is_key = Some(value.strip_prefix("Bearer ").unwrap_or(value)) == expected;
            has_key |= is_key;
            *value = match expected {
                None => "<secret>".into(),
                Some(_) if is_key => "<expected key>".into(),
                Some(_) => "<other key>".into(),
            };
        }
        has_key
    }
}

/// Logs the end of an answer when it is dropped, so that every answer gets one `end` line.
struct End<'a> {
    server: &'a Server,
    request: u64,
    bytes: u64,
    ending: Ending,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let (request, bytes, ending) = (self.request, self.bytes, self.ending);
        self.server.log.write(&Entry::End { request, at_us: self.server.log.now_us(), bytes, ending });
    }
}

/// Answers requests until one side ends the connection.
pub(crate) async fn serve_connection(server: Rc<Server>, mut stream: TcpStream, connection: u64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    while let Some(request) = Request::read(&mut reader).await? {
        let (number, answer) = answer(&server, request, connection);
        let mut end = End { server: &server, request: number, bytes: 0, ending: Ending::HungUp };
        tokio::select! {
            biased;
            sent = send(&mut writer, &answer, &mut end) => sent?,
            () = hung_up(&mut reader) => {}
        }
        match end.ending {
            Ending::Sent => {}
            Ending::Reset => return writer.as_ref().set_zero_linger(),
            Ending::Closed | Ending::HungUp => return Ok(()),
        }
    }
    Ok(())
}

/// Decides on the answer to a request, and logs both.
fn answer(server: &Server, mut request: Request, connection: u64) -> (u64, Answer) {
    let body = serde_json::from_slice(&request.body);
    let body = body.unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&request.body).into()));
    let mut responder = server.responder.borrow_mut();
    let number = responder.receive();
    let has_key = request.redact(responder.api_key());
    server.log.write(&Entry::Request {
        request: number,
        connection,
        at_us: server.log.now_us(),
        method: request.method.clone(),
        path: request.path.clone(),
        headers: request.headers.clone(),
        body: body.clone(),
    });
    let Some(mut turn) = Turn::read(request, &body, has_key) else {
        let body = r#"{"error":{"message":"unknown path"}}"#;
        return (number, Answer::response(AnswerKind::Fault, 404, Vec::new(), body));
    };
    let (rule, answer) = responder.answer(&mut turn);
    let (kind, status, tokens) = (answer.kind, answer.head.as_ref().map(|head| head.status), answer.tokens);
    let (executions, request_key) = (responder.executions(&turn), turn.request_key);
    server.log.write(&Entry::Answer { request: number, rule, kind, status, request_key, executions, tokens });
    (number, answer)
}

async fn send(to: &mut WriteHalf<'_>, answer: &Answer, end: &mut End<'_>) -> io::Result<()> {
    pause(answer.wait).await;
    let is_chunked = answer.head.as_ref().is_some_and(|head| head.is_chunked);
    if let Some(head) = &answer.head {
        let lines = head.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = format!("HTTP/1.1 {} \r\n{}\r\n", head.status, lines.collect::<String>());
        to.write_all(head.as_bytes()).await?;
    }
    for piece in &answer.pieces {
        pause(piece.wait).await;
        let length = piece.bytes.len();
        if is_chunked {
            to.write_all(&[format!("{length:x}\r\n").as_bytes(), &piece.bytes, b"\r\n"].concat()).await?;
        } else {
            to.write_all(&piece.bytes).await?;
        }
        end.bytes += length as u64;
    }
    match answer.finish {
        Finish::Complete => {
            if is_chunked {
                to.write_all(b"0\r\n\r\n").await?;
            }
            end.ending = Ending::Sent;
        }
        Finish::Close => end.ending = Ending::Closed,
        Finish::Reset => {
            end.ending = Ending::Reset;
            pause(RESET_PAUSE).await;
        }
        Finish::Stall => pending().await,
        Finish::Down(time) => {
            end.ending = Ending::Closed;
            end.server.down.send(time).expect("the server outlives its connections");
            pending::<()>().await;
        }
    }
    Ok(())
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

/// Waits until the client closes the connection. If the next request arrives first, it stays in the buffer.
async fn hung_up(reader: &mut (impl AsyncBufRead + Unpin)) {
    if reader.fill_buf().await.is_ok_and(|bytes| !bytes.is_empty()) {
        pending::<()>().await;
    }
}
