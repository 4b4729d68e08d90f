//! Runs the program as a child process, for tests: a real peer over real sockets.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::entry::{Ending, Entry, Said};
use crate::script::Script;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running model server; it ends when this is dropped.
pub struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    address: SocketAddr,
    /// What was read of the log, and what comes.
    log: Mutex<(Vec<Entry>, Receiver<Entry>)>,
    reader: Option<JoinHandle<()>>,
    marks: AtomicU64,
}

impl Peer {
    /// Runs the program that Cargo built for this workspace, building it first if need be.
    pub fn start(script: &Script) -> Self {
        Self::start_program(&BUILT, script)
    }

    /// Runs this program: in the tests of this crate, the one that Cargo names.
    pub fn start_program(program: &Path, script: &Script) -> Self {
        let mut child = Command::new(program)
            .args(["--port", "0", "--script", "-", "--log", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} starts: {error}", program.display()));
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        let mut line = serde_json::to_string(script).expect("a script is JSON");
        line.push('\n');
        stdin.write_all(line.as_bytes()).expect("the server reads its script");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let mut first = String::new();
        stdout.read_line(&mut first).expect("the server writes text");
        let address = first.trim_end().strip_prefix("listening on ").and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("the server says where it listens, not {first:?}"));
        let (tell, entries) = channel();
        let reader = std::thread::spawn(move || {
            for line in stdout.lines() {
                let line = line.expect("the log is text");
                let entry = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in the log: {line}"));
                if tell.send(entry).is_err() {
                    break;
                }
            }
        });
        let log = Mutex::new((Vec::new(), entries));
        Self { child, stdin: Some(stdin), address, log, reader: Some(reader), marks: AtomicU64::new(0) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The log until now: of all that was answered, what was asked and what was answered. Ends may come later.
    pub fn log(&self) -> Vec<Entry> {
        let now = self.marks.fetch_add(1, Ordering::Relaxed).to_string();
        let stdin = self.stdin.as_ref().expect("stdin is open until the end");
        (&*stdin).write_all(format!("{now}\n").as_bytes()).expect("the server reads its stdin");
        let marked = |entry: &Entry| matches!(entry, Entry::Mark { mark } if *mark == now);
        let log = self.wait_for("mark", |entries| entries.iter().any(marked));
        log.into_iter().filter(|entry| entry.request().is_some()).collect()
    }

    /// Waits until the log, marks included, satisfies a condition, and returns it.
    ///
    /// # Panics
    /// When that takes longer than half a minute.
    pub fn wait_for(&self, what: &str, holds: impl Fn(&[Entry]) -> bool) -> Vec<Entry> {
        let until = Instant::now() + PATIENCE;
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let (entries, coming) = &mut *log;
        entries.extend(coming.try_iter());
        while !holds(entries) {
            let next = coming.recv_timeout(until.saturating_duration_since(Instant::now()));
            entries.push(next.unwrap_or_else(|error| panic!("no {what} in the log, {error}: {entries:#?}")));
        }
        entries.clone()
    }

    /// Waits for the end of a request's answer.
    pub fn ending(&self, request: u64) -> Ending {
        let ended = |entry: &Entry| match entry {
            Entry::End { request: number, ending, .. } if *number == request => Some(*ending),
            Entry::End { .. } | Entry::Request { .. } | Entry::Answer { .. } | Entry::Mark { .. } => None,
        };
        let log = self.wait_for("end of the answer", |entries| entries.iter().any(|entry| ended(entry).is_some()));
        log.iter().find_map(ended).expect("it was waited for")
    }

    /// The turns that models made until now, without replays.
    pub fn executions(&self) -> usize {
        let executed = |entry: &&Entry| matches!(entry, Entry::Answer { said: Said::Reply, .. });
        self.log().iter().filter(executed).count()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let ended = self.child.wait();
        let read = self.reader.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(ended.expect("the server is our child").success(), "the server ends well");
            assert!(read.is_some_and(|read| read.is_ok()), "the log is readable");
        }
    }
}

/// The program beside the test that runs. Once in a process is enough: asking Cargo takes longer than most tests.
static BUILT: LazyLock<PathBuf> = LazyLock::new(built);

/// Brings the program up to date.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.parent().and_then(Path::parent).expect("tests lie in target/PROFILE/deps");
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
