//! Runs the program as a child process, for tests over real sockets.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::entry::{AnswerKind, Ending, Entry};

/// How long a test waits for a log line before it fails.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A running model server. The server stops when this value is dropped.
pub struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    address: SocketAddr,
    /// The log lines that were read, and the channel that delivers the next ones.
    log: Mutex<(Vec<Entry>, Receiver<Entry>)>,
    reader: Option<JoinHandle<()>>,
    marks: AtomicU64,
}

impl Peer {
    /// Runs the program that Cargo built for this workspace, with a script. Builds the program first if necessary.
    ///
    /// # Panics
    /// When the server refuses the script. The reason is on stderr.
    pub fn start(script: &Value) -> Self {
        Self::start_program(&BUILT, script)
    }

    /// Runs the program at a path. The tests of this crate get the path from Cargo.
    pub fn start_program(program: &Path, script: &Value) -> Self {
        let mut child = Command::new(program)
            .args(["--port", "0", "--script", "-", "--log", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()));
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        stdin.write_all(format!("{script}\n").as_bytes()).expect("the server reads its script");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let mut first = String::new();
        stdout.read_line(&mut first).expect("the server writes text");
        let address = first.trim_end().strip_prefix("listening on ").and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("the server did not print its address but {first:?}"));
        let (sender, entries) = channel();
        let reader = std::thread::spawn(move || {
            for line in stdout.lines() {
                let line = line.expect("the log is text");
                let entry = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in the log: {line}"));
                if sender.send(entry).is_err() {
                    break;
                }
            }
        });
        let log = Mutex::new((Vec::new(), entries));
        Self { child, stdin: Some(stdin), address, log, reader: Some(reader), marks: AtomicU64::new(0) }
    }

    /// Returns the address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the log until now, with the request and the answer of every answered request. `End` entries may be missing.
    pub fn log(&self) -> Vec<Entry> {
        let mark = self.marks.fetch_add(1, Ordering::Relaxed).to_string();
        let stdin = self.stdin.as_ref().expect("stdin is open until the end");
        (&*stdin).write_all(format!("{mark}\n").as_bytes()).expect("the server reads its stdin");
        let is_marked = |entry: &Entry| matches!(entry, Entry::Mark { mark: found } if *found == mark);
        let log = self.wait_for("mark", |entries| entries.iter().any(is_marked));
        log.into_iter().filter(|entry| entry.request().is_some()).collect()
    }

    /// Waits until the log, including marks, meets a condition, and returns the log.
    ///
    /// # Panics
    /// When the condition is not met within half a minute.
    pub fn wait_for(&self, what: &str, is_met: impl Fn(&[Entry]) -> bool) -> Vec<Entry> {
        let until = Instant::now() + WAIT_MAX;
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let (entries, new) = &mut *log;
        entries.extend(new.try_iter());
        while !is_met(entries) {
            let next = new.recv_timeout(until.saturating_duration_since(Instant::now()));
            entries.push(next.unwrap_or_else(|error| panic!("no {what} in the log, {error}: {entries:#?}")));
        }
        entries.clone()
    }

    /// Waits for the end of the answer to a request.
    pub fn ending(&self, request: u64) -> Ending {
        let ended = |entry: &Entry| match entry {
            Entry::End { request: number, ending, .. } if *number == request => Some(*ending),
            Entry::End { .. } | Entry::Request { .. } | Entry::Answer { .. } | Entry::Mark { .. } => None,
        };
        let log = self.wait_for("end of the answer", |entries| entries.iter().any(|entry| ended(entry).is_some()));
        log.iter().find_map(ended).expect("it was waited for")
    }

    /// Returns how many model turns were executed until now, without replays.
    pub fn executions(&self) -> usize {
        let executed = |entry: &&Entry| matches!(entry, Entry::Answer { kind: AnswerKind::Reply, .. });
        self.log().iter().filter(executed).count()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let ended = self.child.wait();
        let read = self.reader.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(ended.expect("the server is our child").success(), "the server exits without an error");
            assert!(read.is_some_and(|read| read.is_ok()), "the log is readable");
        }
    }
}

/// The path of the program. Each process calls Cargo only once: a call of Cargo takes longer than most tests.
static BUILT: LazyLock<PathBuf> = LazyLock::new(build);

/// Builds the program if it is not up to date.
fn build() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.parent().and_then(Path::parent).expect("tests are in target/PROFILE/deps");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME")]);
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let status = build.status().expect("cargo starts");
    assert!(status.success(), "cargo builds {}", env!("CARGO_PKG_NAME"));
    profile.join(env!("CARGO_PKG_NAME"))
}
