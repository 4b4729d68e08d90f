//! The real `guildhall serve` with a home of its own, and what is asked of it over HTTP.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::http::Client;
use super::viewers::{Habit, Id, Seats, Viewers, parse_id};
use crate::fake::WORKER;
use crate::program::{Guard, settled};

/// How often the server is asked whether the work has ended. The answer comes from counters in its memory.
const POLL: Duration = Duration::from_millis(10);

/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(3);

/// The play money of a session.
const SATS: u64 = 1_000_000;

/// The model has two names, because the calls to each provider are limited to 32 at once.
pub(crate) const OFFERS: [&str; 2] = ["one", "two"];

/// A running server. It ends when this value is dropped.
pub(crate) struct Server {
    child: Guard,
    client: Client,
    operator: String,
    address: std::net::SocketAddr,
    _directories: [TempDir; 2],
}

/// A session with money.
pub(crate) struct Session {
    pub(crate) id: String,
    owner: String,
    viewer: String,
}

impl Server {
    /// Starts a server that offers a team whose model is at this address, and which nobody bills.
    pub(crate) fn start(guildhall: &Path, scratch: &Path, model: &str) -> Result<Server, String> {
        let failed = |what: &str, why: String| format!("{what}: {why}");
        let directory = || tempfile::tempdir_in(scratch).map_err(|e| failed("the home of the server", e.to_string()));
        let (home, project) = (directory()?, directory()?);
        let files = write_files(home.path(), project.path(), model);
        files.map_err(|e| failed("the home of the server", e.to_string()))?;
        let mut command = Command::new(guildhall);
        command.args(["serve", "--addr", "127.0.0.1:0", "--quiet"]).env_clear().current_dir(project.path());
        command.env("GUILDHALL_HOME", home.path()).env("HOME", home.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = Guard(child.map_err(|e| failed("guildhall serve", e.to_string()))?);
        let mut lines = BufReader::new(child.0.stdout.take().ok_or("the server has no output")?).lines();
        let mut after = |what: &str| match lines.next() {
            Some(Ok(line)) => line.split_once(what).map(|(_, rest)| rest.to_owned()).ok_or(line),
            Some(Err(e)) => Err(e.to_string()),
            None => Err("the server ended".to_owned()),
        };
        let address = after(" at http://")?.parse().map_err(|e| format!("the address of the server: {e}"))?;
        let token_file = after("operator token: ")?;
        let operator = fs::read_to_string(&token_file).map_err(|e| failed("the operator's token", e.to_string()))?;
        let client = Client::connect(address)?;
        Ok(Server { child, client, operator: operator.trim().into(), address, _directories: [home, project] })
    }

    /// Makes a session and settles its invoice.
    pub(crate) fn session(&mut self, offer: &str) -> Result<Session, String> {
        let body = json!({"team": offer, "amount_sats": SATS});
        let made = self.client.post("/api/sessions", &self.operator, &body)?;
        let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| format!("not in the reply: {made}"));
        let (id, owner) = (text(&made["session"])?, text(&made["owner_token"])?);
        self.client.post(&format!("/api/sessions/{id}/settle"), &owner, &json!({"invoice": "1"}))?;
        let added = self.client.post(&format!("/api/sessions/{id}/viewers"), &owner, &json!({}))?;
        let viewer = text(&added["token"])?;
        Ok(Session { id, owner, viewer })
    }

    /// Asks the team of a session.
    pub(crate) fn request(&mut self, session: &Session, task: &str) -> Result<(), String> {
        let path = format!("/api/sessions/{}/requests", session.id);
        self.client.post(&path, &session.owner, &json!({"task": task})).map(drop)
    }

    /// Waits until this many requests have ended since the start of the server.
    pub(crate) fn wait_ended(&mut self, requests: u64) -> Result<(), String> {
        self.wait("guildhall_work_ended_total", requests)
    }

    /// The state of a session.
    fn state(&mut self, session: &Session) -> Result<Value, String> {
        let state = self.client.get(&format!("/api/sessions/{}", session.id), &session.owner)?;
        serde_json::from_str(&state).map_err(|e| format!("the state of {}: {e}", session.id))
    }

    /// The newest event of a session.
    pub(crate) fn newest(&mut self, session: &Session) -> Result<Id, String> {
        let state = self.state(session)?;
        state["newest_event"].as_str().and_then(parse_id).ok_or_else(|| format!("not in the state: {state}"))
    }

    /// Checks the answer to the only request of a session.
    pub(crate) fn expect_answer(&mut self, session: &Session, answer: &str) -> Result<(), String> {
        let state = self.state(session)?;
        let request = &state["requests"][0];
        if request["state"] == "done" && request["answer"]["excerpt"] == answer {
            return Ok(());
        }
        Err(format!("session {}: the answer must be `{answer}`, but the request is {request}", session.id))
    }

    /// Connects viewers to sessions, of whom some never read, and waits until each has received the events so far.
    pub(crate) fn watch(&mut self, sessions: &[Session], each: usize, never_read: usize) -> Result<Viewers, String> {
        let seats = |session: &Session, habit, count| {
            let (session, token) = (session.id.clone(), session.viewer.clone());
            Seats { session, token, habit, count }
        };
        let all: Vec<Seats> = sessions
            .iter()
            .flat_map(|session| {
                [seats(session, Habit::Reads, each - never_read), seats(session, Habit::NeverReads, never_read)]
            })
            .collect();
        let viewers = Viewers::open(self.address, &all)?;
        self.received(&viewers, sessions)?;
        self.wait("guildhall_streams", (sessions.len() * each) as u64)?;
        Ok(viewers)
    }

    /// Checks that all viewers who read have received every event of their session.
    pub(crate) fn received(&mut self, viewers: &Viewers, sessions: &[Session]) -> Result<(), String> {
        let newest: Vec<(&str, Id)> = sessions
            .iter()
            .map(|session| Ok((session.id.as_str(), self.newest(session)?)))
            .collect::<Result<_, String>>()?;
        viewers.received(|id| newest.iter().find(|(session, _)| *session == id).map(|(_, newest)| *newest))
    }

    /// How often the server has read its database.
    pub(crate) fn reads(&mut self) -> Result<u64, String> {
        self.metric("guildhall_journal_reads_total")
    }

    /// The resident memory of the server in bytes, when it no longer grows.
    pub(crate) fn memory(&self) -> Result<f64, String> {
        settled(&self.child.0)
    }

    fn metric(&mut self, name: &str) -> Result<u64, String> {
        let metrics = self.client.get("/metrics", &self.operator)?;
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        value.ok_or_else(|| format!("there is no metric {name}"))
    }

    /// Waits until a metric has a value.
    fn wait(&mut self, name: &str, value: u64) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let now = self.metric(name)?;
            if now == value {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                return Err(format!("{name} is {now} instead of {value} after {} s", PATIENCE.as_secs()));
            }
            thread::sleep(POLL);
        }
    }
}

/// Writes the config, and a team of workers that hire workers.
fn write_files(home: &Path, project: &Path, model: &str) -> std::io::Result<()> {
    let crew = project.join("crew");
    fs::create_dir(&crew)?;
    let worker = format!(
        "---\nname: {WORKER}\ndescription: Does a part of the work.\nmaxTurns: 10000\n\
         delegation:\n  team: [{WORKER}]\n  recursive: true\n---\nYou are {WORKER}.\n"
    );
    fs::write(crew.join(format!("{WORKER}.md")), worker)?;
    let (project, crew) = (project.display(), crew.display());
    let offers = OFFERS.map(|name| {
        format!(
            "[providers.{name}]\nwire = \"openai\"\nbase_url = \"{model}\"\n\
             [offers.{name}]\ndescription = \"Workers.\"\nproject = \"{project}\"\nteam = \"{crew}\"\nagent = \"{WORKER}\"\n\
             model = \"{name}/fake\"\nmoney = \"play\"\nbudget = \"1000sat\"\n"
        )
    });
    let config = format!("[prices.fake]\ninput = 1\noutput = 5\n{}", offers.concat());
    fs::write(home.join("config.toml"), config)
}
