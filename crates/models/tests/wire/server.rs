//! A server that sends raw bytes. Each connection plays the next script.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

/// A step of the script of one connection, after its request was read.
pub(crate) enum Step {
    /// Send bytes.
    Send(Vec<u8>),
    /// Send bytes one at a time, with this pause, until all are sent or the client closes the connection.
    Drip(Vec<u8>, Duration),
    /// Send the bytes again and again until the client closes the connection.
    Flood(Vec<u8>),
    /// Send nothing until the client closes the connection.
    Hold,
    /// Reset the connection. The request is then not read.
    Reset,
}

/// A request as it was received.
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
    /// Serves one connection per script, then refuses connections.
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
        // On another thread: the runtime may still have to close its connection.
        tokio::task::spawn_blocking(|| self.thread.join().unwrap()).await.unwrap()
    }
}

/// Returns a URL that refuses connections.
pub(crate) fn closed_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn play(mut stream: TcpStream, script: Vec<Step>) -> Option<Request> {
    let is_reset = script.iter().any(|step| matches!(step, Step::Reset));
    // Closing a socket with unread bytes resets the connection.
    let request = if is_reset { stream.read_exact(&mut [0]).map(|()| None) } else { read(&mut stream).map(Some) };
    for step in script {
        let done = match step {
            Step::Send(bytes) => stream.write_all(&bytes),
            Step::Drip(bytes, pause) => bytes.iter().try_for_each(|byte| {
                thread::sleep(pause);
                stream.write_all(&[*byte])
            }),
            Step::Flood(bytes) => (0..).try_for_each(|_: u64| stream.write_all(&bytes)),
            Step::Hold => std::io::copy(&mut stream, &mut std::io::sink()).map(drop),
            // The pause lets the client read the bytes sent so far: a reset discards unread bytes.
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
        assert!(read > 0, "the request has no end: {:?}", String::from_utf8_lossy(&bytes));
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    // Only a request for the list of models has no body.
    let length = length.map_or(0, |length| length.parse().unwrap());
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        let read = stream.read(&mut buffer)?;
        body.extend_from_slice(&buffer[..read]);
    }
    let body = if length == 0 { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    Ok(Request { head, body })
}

/// A response with a status, header lines, and a body that ends with the connection.
pub(crate) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Step {
    let mut bytes = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n").into_bytes();
    bytes.extend_from_slice(body.as_ref());
    Step::Send(bytes)
}

/// The start of a chunked stream without its last chunk: it stays incomplete when the connection ends.
pub(crate) fn chunked(body: impl AsRef<[u8]>) -> Step {
    let mut bytes =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    bytes.extend_from_slice(format!("{:x}\r\n", body.as_ref().len()).as_bytes());
    bytes.extend_from_slice(body.as_ref());
    bytes.extend_from_slice(b"\r\n");
    Step::Send(bytes)
}

/// A complete stream of events.
pub(crate) fn stream(body: impl AsRef<[u8]>) -> Step {
    answer(200, "content-type: text/event-stream\r\n", body)
}
