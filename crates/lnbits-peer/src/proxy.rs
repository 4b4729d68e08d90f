//! A proxy before a server. It forwards every request, except those for which a test has ordered a fault.

use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use crate::http::{Message, exchange};

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection breaks, and the server does not get the request.
    LoseRequest,
    /// The server executes the request, and the connection breaks before its reply.
    LoseReply,
    /// The server executes the request, and the connection breaks in the middle of its reply.
    CutReply,
    /// The server gets the request only after this time.
    DelayRequest(Duration),
    /// The reply arrives only after this time.
    DelayReply(Duration),
    /// The server gets the request twice, and the second reply arrives.
    Double,
    /// The server does not get the request. The reply is this one.
    Reply {
        /// Its status.
        status: u16,
        /// Its body.
        body: String,
    },
    /// The server does not get the request. The reply sends the client to this address.
    Redirect(String),
    /// The server executes the request. The reply is this one.
    FalseReply {
        /// Its status.
        status: u16,
        /// Its body.
        body: String,
    },
}

/// How often a fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// To the next matching request.
    Once,
    /// To all matching requests.
    Always,
}

struct Rule {
    part: String,
    fault: Fault,
    times: Times,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    /// The first line and the body of each request.
    requests: Vec<String>,
}

/// A running proxy. It ends when this value is dropped.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    has_ended: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy before the server at an address.
    ///
    /// # Panics
    /// If this machine has no free port.
    pub fn start(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("this machine has a free port");
        let address = listener.local_addr().expect("the listener is bound");
        let (state, has_ended) = (Arc::new(Mutex::new(State::default())), Arc::new(AtomicBool::new(false)));
        let (for_requests, ended) = (Arc::clone(&state), Arc::clone(&has_ended));
        let listener = spawn(move || {
            for client in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    break;
                }
                let state = Arc::clone(&for_requests);
                // The thread ends with its request. A broken connection is what the proxy is for, so its error is dropped.
                spawn(move || client.and_then(|client| serve(client, server, &state)).ok());
            }
        });
        Proxy { address, state, has_ended, listener: Some(listener) }
    }

    /// Returns the address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Orders a fault for requests whose first line, such as `POST /api/v1/payments HTTP/1.1`, or body has this part. The first
    /// fault that was ordered and matches is used.
    pub fn fail(&self, part: &str, fault: Fault, times: Times) {
        lock(&self.state).rules.push(Rule { part: part.to_owned(), fault, times });
    }

    /// Removes all faults.
    pub fn heal(&self) {
        lock(&self.state).rules.clear();
    }

    /// Removes the faults that were ordered for this part.
    pub fn heal_only(&self, part: &str) {
        lock(&self.state).rules.retain(|rule| rule.part != part);
    }

    /// Counts the requests whose first line or body has this part.
    pub fn count(&self, part: &str) -> usize {
        lock(&self.state).requests.iter().filter(|request| request.contains(part)).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        // Wakes the listener. If that fails, the listener has ended.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            // A panic of the listener has been printed.
            let _ = listener.join();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes a request, and returns the fault that was ordered for it.
fn note(state: &Mutex<State>, request: &Message) -> Option<Fault> {
    let text = format!("{}\n{}", request.start, String::from_utf8_lossy(&request.body));
    let mut state = lock(state);
    let found = state.rules.iter().position(|rule| text.contains(&rule.part));
    state.requests.push(text);
    let found = found?;
    let fault = state.rules[found].fault.clone();
    if state.rules[found].times == Times::Once {
        state.rules.remove(found);
    }
    Some(fault)
}

fn serve(mut client: TcpStream, server: SocketAddr, state: &Mutex<State>) -> io::Result<()> {
    let request = Message::read(&client)?;
    let reply = match note(state, &request) {
        None => exchange(server, &request)?.bytes(),
        Some(Fault::LoseRequest) => return client.shutdown(Shutdown::Both),
        Some(Fault::LoseReply) => {
            exchange(server, &request)?;
            return client.shutdown(Shutdown::Both);
        }
        Some(Fault::CutReply) => {
            let reply = exchange(server, &request)?;
            let mut bytes = reply.bytes();
            bytes.truncate(bytes.len() - reply.body.len() / 2);
            bytes
        }
        Some(Fault::DelayRequest(time)) => {
            sleep(time);
            exchange(server, &request)?.bytes()
        }
        Some(Fault::DelayReply(time)) => {
            let reply = exchange(server, &request)?;
            sleep(time);
            reply.bytes()
        }
        Some(Fault::Double) => {
            exchange(server, &request)?;
            exchange(server, &request)?.bytes()
        }
        Some(Fault::Reply { status, body }) => false_reply(status, body),
        Some(Fault::Redirect(url)) => {
            let headers = vec![format!("location: {url}")];
            Message { start: "HTTP/1.1 307 Temporary Redirect".to_owned(), headers, body: Vec::new() }.bytes()
        }
        Some(Fault::FalseReply { status, body }) => {
            exchange(server, &request)?;
            false_reply(status, body)
        }
    };
    client.write_all(&reply)
}

fn false_reply(status: u16, body: String) -> Vec<u8> {
    let headers = vec!["content-type: application/json".to_owned()];
    Message { start: format!("HTTP/1.1 {status} False"), headers, body: body.into_bytes() }.bytes()
}
