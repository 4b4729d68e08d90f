//! A server of raw bytes: each connection is given the next script.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

/// What to do with one connection after its request was read.
pub(crate) enum Step {
    /// Send bytes.
    Send(Vec<u8>),
    /// Send bytes one at a time, that far apart, until there are no more or nobody listens.
    Drip(Vec<u8>, Duration),
    /// Send the bytes over and over until nobody listens.
    Flood(Vec<u8>),
    /// Say nothing until the other side hangs up.
    Hold,
    /// Cut the connection with a reset; the request must not have been read for that.
    Reset,
}

/// A request as it came.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    address: SocketAddr,
    thread: JoinHandle<Vec<Request>>,
}

impl Server {
    /// Serves one connection per script, then closes its door.
    pub(crate) fn start(scripts: Vec<Vec<Step>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serve = move |script: Vec<Step>| {
            let (stream, _) = listener.accept().unwrap();
            play(stream, script)
        };
        let thread = thread::spawn(move || scripts.into_iter().filter_map(serve).collect());
        Server { address, thread }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until every script was played and returns the requests that were read.
    pub(crate) async fn requests(self) -> Vec<Request> {
        // Beside the runtime, which may still have to hang up.
        tokio::task::spawn_blocking(|| self.thread.join().unwrap()).await.unwrap()
    }
}

/// Returns a URL where nobody listens.
pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn play(mut stream: TcpStream, script: Vec<Step>) -> Option<Request> {
    let is_reset = script.iter().any(|step| matches!(step, Step::Reset));
    // With something unread, closing the socket resets the connection.
    let request = if is_reset { stream.read_exact(&mut [0]).map(|()| None) } else { read(&mut stream).map(Some) };
    for step in script {
        let done = match step {
            Step::Send(bytes) => stream.write_all(&bytes),
            Step::Drip(bytes, apart) => bytes.iter().try_for_each(|byte| {
                thread::sleep(apart);
                stream.write_all(&[*byte])
            }),
            Step::Flood(bytes) => (0..).try_for_each(|_: u64| stream.write_all(&bytes)),
            Step::Hold => std::io::copy(&mut stream, &mut std::io::sink()).map(drop),
            // A moment for what was sent to be read: a reset overtakes it.
            Step::Reset => {
                thread::sleep(Duration::from_millis(50));
                Ok(())
            }
        };
        if done.is_err() {
            break;
        }
    }
    request.unwrap()
}

fn read(stream: &mut TcpStream) -> std::io::Result<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        let read = stream.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..read]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        assert!(read > 0, "a request without an end: {:?}", String::from_utf8_lossy(&bytes));
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    // Only a question for the list of models has no body.
    let length = length.map_or(0, |length| length.parse().unwrap());
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        let read = stream.read(&mut buffer)?;
        body.extend_from_slice(&buffer[..read]);
    }
    let body = if length == 0 { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    Ok(Request { head, body })
}

/// An answer with a status, more header lines, and a body; the end of the connection ends it.
pub(crate) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Step {
    let mut bytes = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n").into_bytes();
    bytes.extend_from_slice(body.as_ref());
    Step::Send(bytes)
}

/// The head of a stream that the end of the connection does not complete: its last chunk never comes.
pub(crate) fn chunked(body: impl AsRef<[u8]>) -> Step {
    let mut bytes =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    bytes.extend_from_slice(format!("{:x}\r\n", body.as_ref().len()).as_bytes());
    bytes.extend_from_slice(body.as_ref());
    bytes.extend_from_slice(b"\r\n");
    Step::Send(bytes)
}

/// A stream of events, whole.
pub(crate) fn stream(body: impl AsRef<[u8]>) -> Step {
    answer(200, "content-type: text/event-stream\r\n", body)
}
