//! A test environment that runs the program as a person does: a home directory, a project, a provider, and all output of the program.
//! It uses arguments, variables, streams, exit codes and files, and no types of Guildhall.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use guildhall_model_server::{Entry, Peer};
use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::terminal::Terminal;

/// How long to wait for something that must happen.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(1);

/// The provider's key. No output of the program may contain it.
pub(crate) const KEY: &str = "sk-e2e-5f1c9a7be02d4488";

/// The model of the provider. The config sets its price: one millisatoshi per input token, five per output token.
pub(crate) const MODEL: &str = "test-model";

/// The protocol of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    OpenAi,
}

pub(crate) const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];

/// How the provider is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// With environment variables.
    ByVariables,
    /// In the config, as a provider that answers the same key with the same reply.
    AsReplaying,
}

/// A home directory, a project and a provider.
pub(crate) struct House {
    home: TempDir,
    project: TempDir,
    pub(crate) peer: Peer,
    wire: Wire,
    known: Known,
}

impl House {
    /// A house whose provider follows these rules.
    pub(crate) fn new(wire: Wire, rules: &Value) -> House {
        House::known(wire, Known::ByVariables, rules)
    }

    pub(crate) fn known(wire: Wire, known: Known, rules: &Value) -> House {
        let replay = known == Known::AsReplaying;
        House::scripted(wire, known, json!({"key": KEY, "models": [MODEL], "replay": replay, "rules": rules}))
    }

    /// A house whose provider follows this script.
    #[expect(clippy::needless_pass_by_value, reason = "every caller makes the script in the call")]
    pub(crate) fn scripted(wire: Wire, known: Known, script: Value) -> House {
        let (home, project, peer) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), Peer::start(&script));
        fs::write(project.path().join("notes.txt"), "the meeting is on Tuesday\n").unwrap();
        fs::write(project.path().join("agenda.txt"), "1. the roof\n").unwrap();
        let house = House { home, project, peer, wire, known };
        let mut config = format!("model = \"{MODEL}\"\n[prices.\"{MODEL}\"]\ninput = 1\noutput = 5\n");
        if known == Known::AsReplaying {
            let wire = if wire == Wire::Anthropic { "anthropic" } else { "openai" };
            config = format!(
                "{config}[providers.test]\nwire = \"{wire}\"\nbase_url = \"{}\"\nkey_env = \"TEST_KEY\"\nreplays = true\n",
                house.url()
            );
        }
        house.write_config(&config);
        house
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn project(&self) -> &Path {
        self.project.path()
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.home().join("journal.db")
    }

    /// Executes SQL on the journal while no process has it open. The triggers that would refuse the change are removed before and
    /// restored after.
    pub(crate) fn tamper(&self, sql: &str) {
        let db = Connection::open(self.journal()).unwrap();
        let mut triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").unwrap();
        let triggers = triggers.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let triggers: Vec<(String, String)> = triggers.map(Result::unwrap).collect();
        let run = |sql: &str| db.execute_batch(sql).unwrap();
        run("PRAGMA foreign_keys = OFF");
        for (name, _) in &triggers {
            run(&format!("DROP TRIGGER {name}"));
        }
        run(sql);
        for (_, sql) in &triggers {
            run(sql);
        }
    }

    /// Makes the journal refuse rows that contain this text, like a disk that fails at this moment.
    pub(crate) fn refuse(&self, table: &str, words: &str) {
        let sql = format!(
            "CREATE TRIGGER refused BEFORE INSERT ON {table} WHEN NEW.body LIKE '%{words}%'
             BEGIN SELECT RAISE(ABORT, 'refused'); END"
        );
        Connection::open(self.journal()).unwrap().execute_batch(&sql).unwrap();
    }

    /// Makes the journal accept all rows again.
    pub(crate) fn refuse_nothing(&self) {
        Connection::open(self.journal()).unwrap().execute_batch("DROP TRIGGER refused").unwrap();
    }

    /// Makes the journal store the rows of a table for which this condition is true only after minutes, like a disk that is stuck.
    pub(crate) fn stall(&self, table: &str, condition: &str) {
        let sql = format!(
            "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e10) SELECT i FROM n;
             CREATE TRIGGER stalled BEFORE INSERT ON {table} WHEN {condition}
             BEGIN SELECT count(*) FROM endless; END"
        );
        Connection::open(self.journal()).unwrap().execute_batch(&sql).unwrap();
    }

    /// Makes the journal store all rows at once again.
    pub(crate) fn stall_nothing(&self) {
        Connection::open(self.journal()).unwrap().execute_batch("DROP TRIGGER stalled; DROP VIEW endless").unwrap();
    }

    /// The SQL that creates a table and its indexes.
    pub(crate) fn definitions(&self, table: &str) -> String {
        let made = "SELECT group_concat(sql, ';\n' ORDER BY rowid) FROM sqlite_schema WHERE tbl_name = ?1 AND type <> 'trigger'";
        Connection::open(self.journal()).unwrap().query_row(made, [table], |row| row.get(0)).unwrap()
    }

    /// The number of rows in a table of the journal.
    pub(crate) fn rows(&self, table: &str) -> u32 {
        let count = format!("SELECT count(*) FROM {table}");
        Connection::open(self.journal()).unwrap().query_row(&count, [], |row| row.get(0)).unwrap()
    }

    pub(crate) fn write_config(&self, config: &str) {
        fs::write(self.home().join("config.toml"), config).unwrap();
    }

    pub(crate) fn read_config(&self) -> String {
        fs::read_to_string(self.home().join("config.toml")).unwrap()
    }

    /// The provider's base URL.
    fn url(&self) -> String {
        match self.wire {
            Wire::Anthropic => self.peer.url(),
            Wire::OpenAi => format!("{}/v1", self.peer.url()),
        }
    }

    /// The program with these arguments, in the project, with only the variables that it needs.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.complete(Command::new(env!("CARGO_BIN_EXE_guildhall")), args)
    }

    /// The same, started by another program with arguments of its own.
    pub(crate) fn command_under(&self, program: &str, own: &[&str], args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(own).arg(env!("CARGO_BIN_EXE_guildhall"));
        let mut command = self.complete(command, args);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    fn complete(&self, mut command: Command, args: &[&str]) -> Command {
        let (url, key) = match (self.known, self.wire) {
            (Known::AsReplaying, _) => (None, "TEST_KEY"),
            (Known::ByVariables, Wire::Anthropic) => (Some("ANTHROPIC_BASE_URL"), "ANTHROPIC_API_KEY"),
            (Known::ByVariables, Wire::OpenAi) => (Some("OPENAI_BASE_URL"), "OPENAI_API_KEY"),
        };
        command.args(args).current_dir(self.project()).env_clear();
        command.env("GUILDHALL_HOME", self.home()).env("HOME", self.home()).env(key, KEY);
        command.envs(url.map(|url| (url, self.url())));
        command
    }

    /// Runs the program to its end.
    pub(crate) fn guildhall(&self, args: &[&str]) -> Ended {
        Running::start(self.command(args), "").end()
    }

    /// Runs a task with consent and JSON output.
    pub(crate) fn run(&self, more: &[&str]) -> Ended {
        self.guildhall(&task(more))
    }

    /// Starts a task.
    pub(crate) fn start(&self, more: &[&str]) -> Running {
        Running::start(self.command(&task(more)), "")
    }

    /// The JSON output of `show` for a session.
    pub(crate) fn show(&self, id: &str) -> Value {
        self.guildhall(&["show", id, "--facts", "--output", "json"]).json()
    }

    /// The bodies of all requests to the provider so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let body = |entry| if let Entry::Request { body, .. } = entry { Some(body) } else { None };
        self.peer.log().into_iter().filter_map(body).collect()
    }

    /// The stored facts of a session so far, as JSON, each with the path of its contract. Read from the database, so that
    /// a test can wait for a fact while the session runs.
    pub(crate) fn stored_facts(&self, id: &str) -> Vec<(String, String)> {
        let file = self.home().join("journal.db");
        let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        db.busy_timeout(PATIENCE).unwrap();
        let mut facts = db.prepare("SELECT contract, body FROM fact WHERE session = ?1 ORDER BY seq").unwrap();
        let rows = facts.query_map([id], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// How many calls are recorded as not sent yet.
    pub(crate) fn waiting_calls(&self) -> usize {
        let db = Connection::open_with_flags(self.journal(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        db.busy_timeout(PATIENCE).unwrap();
        let count: i64 = db.query_row("SELECT count(*) FROM in_line", (), |row| row.get(0)).unwrap();
        usize::try_from(count).unwrap()
    }

    /// The stored facts of a session's root so far, as JSON.
    pub(crate) fn root_facts(&self, id: &str) -> Vec<String> {
        let root = |(contract, fact)| (contract == "1").then_some(fact);
        self.stored_facts(id).into_iter().filter_map(root).collect()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if !thread::panicking() {
            assert_keyless(self.home());
        }
    }
}

/// Checks that no file contains the key.
fn assert_keyless(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_keyless(&path);
        } else {
            let has_key = fs::read(&path).unwrap().windows(KEY.len()).any(|bytes| bytes == KEY.as_bytes());
            assert!(!has_key, "{} has the key", path.display());
        }
    }
}

/// The arguments of a task, with consent.
fn task<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "When is the meeting?", "--yes", "--output", "json"], more].concat()
}

/// Calls of `read_file`, all in one reply.
pub(crate) fn reads(files: &[&str]) -> Value {
    let call = |file: &&str| json!({"name": "read_file", "arguments": {"path": file}});
    json!({"reply": {"calls": files.iter().map(call).collect::<Vec<_>>()}})
}

/// A reply with only a text.
pub(crate) fn says(text: &str) -> Value {
    json!({"reply": {"text": text}})
}

/// Waits until `look` returns a value.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "{what} did not happen");
        thread::sleep(LOOK);
    }
}

/// The running program.
pub(crate) struct Running {
    child: Child,
    stdout: Stream,
    stderr: Stream,
}

impl Running {
    /// Starts a command with this text on its stdin.
    pub(crate) fn start(command: Command, stdin: &str) -> Running {
        let (running, mut open) = Running::start_open(command);
        // A program that does not read its stdin may have closed it.
        open.write_all(stdin.as_bytes()).ok();
        running
    }

    /// Starts a command whose stdin stays open.
    pub(crate) fn start_open(mut command: Command) -> (Running, ChildStdin) {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap_or_else(|why| panic!("{command:?}: {why}"));
        let stdin = child.stdin.take().expect("stdin is a pipe");
        let stdout = Stream::of(child.stdout.take().expect("stdout is a pipe"));
        let stderr = Stream::of(child.stderr.take().expect("stderr is a pipe"));
        (Running { child, stdout, stderr }, stdin)
    }

    /// Starts a command in a terminal. Only its stdout is a pipe.
    pub(crate) fn start_in(terminal: &Terminal, mut command: Command) -> Running {
        command.stdin(terminal.inner());
        Running::start_with_stdin(terminal, command)
    }

    /// Starts a command that has its own stdin in a terminal. Its stdout is a pipe.
    pub(crate) fn start_with_stdin(terminal: &Terminal, mut command: Command) -> Running {
        command.stdout(Stdio::piped()).stderr(terminal.inner());
        let mut child = command.spawn().unwrap_or_else(|why| panic!("{command:?}: {why}"));
        let stdout = Stream::of(child.stdout.take().expect("stdout is a pipe"));
        // Close the command's handles of the terminal, so that its output ends with the program.
        drop(command);
        Running { child, stdout, stderr: Stream::of(terminal.outer()) }
    }

    /// Starts a command in a terminal, including stdout. All output is in `stderr`.
    pub(crate) fn start_wholly_in(terminal: &Terminal, mut command: Command) -> Running {
        command.stdin(terminal.inner()).stdout(terminal.inner()).stderr(terminal.inner());
        let child = command.spawn().unwrap_or_else(|why| panic!("{command:?}: {why}"));
        drop(command);
        Running { child, stdout: Stream::of(std::io::empty()), stderr: Stream::of(terminal.outer()) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until a signal no longer ends the program by itself.
    pub(crate) fn listens(&self) {
        let file = format!("/proc/{}/status", self.child.id());
        wait_for("the listener for signals", || {
            let status = fs::read_to_string(&file).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
            let bit = |signal: Signal| 1 << (signal.as_raw() - 1);
            let both = bit(Signal::INT) | bit(Signal::TERM);
            (caught & both == both).then_some(())
        });
    }

    /// Waits for a complete line with this text on stderr, and returns the rest of the line.
    pub(crate) fn told(&self, words: &str) -> String {
        let rest = |text: &str| {
            let (_, rest) = text.split_once(words)?;
            rest.split_once('\n').map(|(line, _)| line.trim().to_owned())
        };
        self.stderr.wait(words, rest)
    }

    /// Waits for this text on stderr, even if its line is not complete.
    pub(crate) fn showed(&self, words: &str) {
        self.stderr.wait(words, |text| text.contains(words).then_some(()));
    }

    /// Waits until stderr shows these two, one after the other.
    pub(crate) fn showed_then(&self, first: &str, then: &str) {
        let both = |text: &str| text.split_once(first).is_some_and(|(_, rest)| rest.contains(then)).then_some(());
        self.stderr.wait(then, both);
    }

    /// Waits for this text on stdout.
    pub(crate) fn printed(&self, words: &str) {
        self.stdout.wait(words, |text| text.contains(words).then_some(()));
    }

    /// What is on stderr so far.
    pub(crate) fn stderr_so_far(&self) -> String {
        self.stderr.wait("", |text| Some(text.to_owned()))
    }

    /// What is on stdout so far.
    pub(crate) fn stdout_so_far(&self) -> String {
        self.stdout.wait("", |text| Some(text.to_owned()))
    }

    /// Waits for the session's id.
    pub(crate) fn session(&self) -> String {
        let id = self.told("session ");
        id.split([' ', ';']).next().unwrap_or_default().to_owned()
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// SIGTERM, which a system sends when it shuts down.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ctrl-\\.
    pub(crate) fn quit(&self) {
        self.signal(Signal::QUIT);
    }

    /// SIGHUP, which the system sends when a terminal is closed.
    pub(crate) fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Pauses the program.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Continues the paused program.
    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process has an id");
        kill_process(pid, signal).unwrap();
    }

    /// Whether the program has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) -> Ended {
        self.child.kill().unwrap();
        self.end()
    }

    /// Waits for the end of the program.
    pub(crate) fn end(mut self) -> Ended {
        let status = wait_for("the end of the program", || self.child.try_wait().unwrap());
        let ended = Ended { status, stdout: self.stdout.all(), stderr: self.stderr.all() };
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        assert!(!ended.stdout.contains(KEY) && !ended.stderr.contains(KEY), "the key: {ended:?}");
        ended
    }

    /// Waits for the end of the program, and returns its highest memory use, in KiB.
    pub(crate) fn end_with_memory(mut self) -> (Ended, u64) {
        let mut most = 0;
        let file = format!("/proc/{}/status", self.child.id());
        wait_for("the end of the program", || {
            let status = fs::read_to_string(&file).unwrap_or_default();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
            most = most.max(peak.unwrap_or(0));
            self.child.try_wait().unwrap()
        });
        (self.end(), most)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A failed test must not leave a process behind. Killing fails only if the process has already ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// An output stream of the program, read while the program runs.
struct Stream {
    bytes: Arc<(Mutex<Vec<u8>>, Condvar)>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    fn of(mut from: impl Read + Send + 'static) -> Stream {
        let bytes: Arc<(Mutex<Vec<u8>>, Condvar)> = Arc::default();
        let shared = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = from.read(&mut chunk) {
                shared.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&chunk[..count]);
                shared.1.notify_all();
            }
        });
        Stream { bytes, reader: Some(reader) }
    }

    fn wait<T>(&self, what: &str, holds: impl Fn(&str) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        let mut bytes = self.bytes.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let text = String::from_utf8_lossy(&bytes);
            if let Some(found) = holds(&text) {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{what:?} is not in the output: {text}");
            bytes = self.bytes.1.wait_timeout(bytes, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn all(&mut self) -> String {
        self.reader.take().map(JoinHandle::join).transpose().unwrap();
        String::from_utf8_lossy(&self.bytes.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

/// The program after its end.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The exit code, or the signal as a shell shows it.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().expect("it ended by itself or by a signal"))
    }

    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code(), code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Checks that stderr contains a text.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Ended {
        assert!(self.stderr.contains(words), "{words:?} is not in: {}", self.stderr);
        self
    }

    /// The JSON on stdout. The numbers of its bill are checked.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let result: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|why| panic!("{why} in {}\nstderr: {}", self.stdout, self.stderr));
        if !result["bill"].is_null() {
            assert_adds_up(&result["bill"]);
        }
        result
    }
}

/// The amount of millisatoshis in a part of a bill.
#[track_caller]
pub(crate) fn msat(amount: &Value) -> u64 {
    amount["msat"].as_u64().unwrap_or_else(|| panic!("no amount: {amount}"))
}

#[track_caller]
fn assert_adds_up(bill: &Value) {
    let contracts = bill["contracts"].as_array().unwrap();
    let own: u64 = contracts.iter().map(|line| msat(&line["own"]["charged"])).sum();
    assert_eq!(own, msat(&bill["charged"]), "{bill:#}");
    assert!(msat(&bill["charged"]) <= msat(&bill["granted"]), "{bill:#}");
    assert!(msat(&bill["reserved"]) <= msat(&bill["charged"]), "{bill:#}");
    assert_eq!(bill["violations"], json!([]), "{bill:#}");
}
