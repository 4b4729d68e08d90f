//! A running `guildhall serve`, and a client that speaks HTTP to it over plain sockets. It uses no types of Guildhall.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::house::{Ended, House, Running, wait_for};

/// How long a reply may take.
const REPLY_TIME_MAX: Duration = Duration::from_mins(1);

/// A server.
pub(crate) struct Server {
    running: Running,
    address: SocketAddr,
    operator: String,
}

impl Server {
    /// Starts a server at a free port.
    pub(crate) fn start(house: &House) -> Server {
        Server::start_with(house, &["--addr", "127.0.0.1:0"])
    }

    /// Starts a server whose model nobody bills.
    pub(crate) fn start_unbilled(house: &House) -> Server {
        Server::start_unbilled_at(house, "127.0.0.1:0")
    }

    pub(crate) fn start_unbilled_at(house: &House, address: &str) -> Server {
        let mut command = house.command(&["serve", "--addr", address]);
        command.env_remove("OPENAI_API_KEY");
        Server::of(house, Running::start(command, ""))
    }

    /// Starts this command, which is `serve`.
    pub(crate) fn start_command(house: &House, command: std::process::Command) -> Server {
        Server::of(house, Running::start(command, ""))
    }

    pub(crate) fn start_with(house: &House, more: &[&str]) -> Server {
        let command = house.command(&[&["serve"], more].concat());
        Server::of(house, Running::start(command, ""))
    }

    fn of(house: &House, running: Running) -> Server {
        running.printed("operator token: ");
        let said = running.stdout_so_far();
        let (_, address) = said.split_once("http://").unwrap();
        let address = address.lines().next().unwrap().trim().parse().unwrap();
        let operator = fs::read_to_string(house.home().join("operator-token")).unwrap().trim().to_owned();
        Server { running, address, operator }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    /// A client without a token.
    pub(crate) fn stranger(&self) -> Client {
        Client { address: self.address, token: None }
    }

    pub(crate) fn operator_token(&self) -> &str {
        &self.operator
    }

    pub(crate) fn operator(&self) -> Client {
        self.with_token(&self.operator)
    }

    pub(crate) fn with_token(&self, token: &str) -> Client {
        Client { address: self.address, token: Some(token.to_owned()) }
    }

    /// Makes a session with a team in play money, and settles its invoice.
    pub(crate) fn funded(&self, team: &str, sats: u64) -> Session {
        let session = self.unpaid(team, sats);
        let settled = session.post("settle", &json!({"invoice": "1"}));
        settled.expect(200);
        session
    }

    /// Makes a session with a team.
    pub(crate) fn unpaid(&self, team: &str, sats: u64) -> Session {
        let made = self.stranger().post("/api/sessions", &json!({"team": team, "amount_sats": sats})).expect(201);
        Session {
            client: self.with_token(made["owner_token"].as_str().unwrap()),
            id: made["session"].as_str().unwrap().to_owned(),
            made,
        }
    }

    /// Tells the server to stop, and waits for its end.
    pub(crate) fn stop(self) -> Ended {
        self.running.terminate();
        self.running.end()
    }

    /// Waits for the end of the server.
    pub(crate) fn ended(self) -> Ended {
        self.running.end()
    }

    pub(crate) fn kill(self) -> Ended {
        self.running.kill()
    }
}

/// A session, with its owner's token.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) id: String,
    /// The reply that made it.
    pub(crate) made: Value,
}

impl Session {
    pub(crate) fn path(&self, rest: &str) -> String {
        if rest.is_empty() { format!("/api/sessions/{}", self.id) } else { format!("/api/sessions/{}/{rest}", self.id) }
    }

    pub(crate) fn post(&self, rest: &str, body: &Value) -> Reply {
        self.client.post(&self.path(rest), body)
    }

    pub(crate) fn get(&self, rest: &str) -> Reply {
        self.client.get(&self.path(rest))
    }

    pub(crate) fn state(&self) -> Value {
        self.get("").expect(200)
    }

    /// Asks for work, and returns its root.
    pub(crate) fn ask(&self, task: &str, budget: Option<u64>) -> String {
        let taken = self.post("requests", &json!({"task": task, "budget_sats": budget})).expect(202);
        taken["root"].as_str().unwrap().to_owned()
    }

    /// Waits until the newest request has ended, and returns the state.
    pub(crate) fn ended(&self) -> Value {
        wait_for("the end of the work", || Some(self.state()).filter(|state| state["state"] == "ready"))
    }

    pub(crate) fn events(&self, after: Option<&str>) -> Events {
        Events::open(&self.client, &self.id, after)
    }
}

/// A client.
#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    token: Option<String>,
}

impl Client {
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, &[], Some(body.to_string().as_bytes()))
    }

    pub(crate) fn post_once(&self, path: &str, key: &str, body: &Value) -> Reply {
        self.send("POST", path, &[("Idempotency-Key", key)], Some(body.to_string().as_bytes()))
    }

    /// Sends a request, with these headers in place of the usual ones of the same name.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Reply {
        let mut stream = self.connect();
        stream.write_all(&self.head(method, path, headers, body.map(<[u8]>::len))).unwrap();
        // A server that refuses a long body does not read it to its end.
        stream.write_all(body.unwrap_or_default()).ok();
        Reply::read(stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(REPLY_TIME_MAX)).unwrap();
        stream
    }

    pub(crate) fn head(&self, method: &str, path: &str, headers: &[(&str, &str)], length: Option<usize>) -> Vec<u8> {
        let mut usual = vec![("Host", self.address.to_string()), ("Connection", "close".to_owned())];
        usual.extend(self.token.iter().map(|token| ("Authorization", format!("Bearer {token}"))));
        if let Some(length) = length {
            usual.extend([("Content-Type", "application/json".to_owned()), ("Content-Length", length.to_string())]);
        }
        usual.retain(|(name, _)| headers.iter().all(|(own, _)| !own.eq_ignore_ascii_case(name)));
        let own = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let usual = usual.into_iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let lines: String = usual.chain(own).collect();
        format!("{method} {path} HTTP/1.1\r\n{lines}\r\n").into_bytes()
    }
}

/// A reply.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    fn read(stream: TcpStream) -> Reply {
        let mut reader = BufReader::new(stream);
        let (status, headers) = read_head(&mut reader);
        let mut reply = Reply { status, headers, body: Vec::new() };
        if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = read_chunk(&mut reader) {
                reply.body.extend(chunk);
            }
        } else {
            // The connection may be closed while the request is still being sent.
            reader.read_to_end(&mut reply.body).ok();
        }
        reply
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|why| panic!("{why}: {}", self.text()))
    }

    /// Checks the status, and returns the body.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        if status >= 400 {
            assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text());
            assert_eq!(self.json()["status"], status);
        }
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// Checks the status and the code of a problem.
    pub(crate) fn expect_problem(&self, status: u16, code: &str) -> String {
        let problem = self.expect(status);
        assert_eq!(problem["code"], code, "{problem}");
        problem["detail"].as_str().unwrap().to_owned()
    }
}

fn read_head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let start = line();
    let status = start.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("not a reply: {start:?}"));
    let mut headers = Vec::new();
    loop {
        let line = line();
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    (status, headers)
}

/// The next chunk of a body. `None` at its end, or if the connection breaks.
fn read_chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut size = String::new();
    reader.read_line(&mut size).ok()?;
    let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
    let mut chunk = vec![0; size + 2];
    reader.read_exact(&mut chunk).ok()?;
    chunk.truncate(size);
    Some(chunk)
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// A stream of events that a thread reads.
pub(crate) struct Events {
    pub(crate) status: u16,
    seen: Arc<Mutex<Seen>>,
    stream: TcpStream,
}

#[derive(Default)]
struct Seen {
    events: Vec<Event>,
    has_ended: bool,
}

impl Events {
    pub(crate) fn open(client: &Client, session: &str, after: Option<&str>) -> Events {
        let path = format!("/api/sessions/{session}/events");
        let headers: Vec<(&str, &str)> = after.into_iter().map(|after| ("Last-Event-ID", after)).collect();
        let mut stream = client.connect();
        stream.set_read_timeout(None).unwrap();
        stream.write_all(&client.head("GET", &path, &headers, None)).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (status, _) = read_head(&mut reader);
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let shared = Arc::clone(&seen);
        // The thread ends with the stream, which is closed when this value is dropped.
        thread::spawn(move || read_events(&mut reader, &shared));
        Events { status, seen, stream }
    }

    /// The events so far.
    pub(crate) fn so_far(&self) -> Vec<Event> {
        lock(&self.seen).events.clone()
    }

    /// Waits for an event.
    pub(crate) fn wait(&self, what: &str, is_it: impl Fn(&Event) -> bool) -> Event {
        wait_for(what, || lock(&self.seen).events.iter().find(|event| is_it(event)).cloned())
    }

    /// Waits for the end of the stream, and returns all its events.
    pub(crate) fn ended(&self) -> Vec<Event> {
        wait_for("the end of the stream", || lock(&self.seen).has_ended.then_some(()));
        self.so_far()
    }

    /// The ids of all events that have one.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.so_far().into_iter().filter_map(|event| event.id).collect()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        // The server may have closed it.
        self.stream.shutdown(std::net::Shutdown::Both).ok();
    }
}

fn lock(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_events(reader: &mut impl BufRead, seen: &Mutex<Seen>) {
    let mut text = String::new();
    while let Some(chunk) = read_chunk(reader) {
        text.push_str(&String::from_utf8(chunk).unwrap());
        while let Some((block, rest)) = text.split_once("\n\n") {
            let (event, rest) = (parse(block), rest.to_owned());
            text = rest;
            lock(seen).events.extend(event);
        }
    }
    lock(seen).has_ended = true;
}

fn parse(block: &str) -> Option<Event> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let data = serde_json::from_str(field("data")?).unwrap();
    Some(Event { id: field("id").map(str::to_owned), name: field("event")?.to_owned(), data })
}
