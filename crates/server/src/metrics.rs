//! Metrics in the text format of Prometheus. No label has a session, a text or a token in it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The counters of this server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, String, u16), Requests>>,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) events_sent: AtomicU64,
    pub(crate) requests_ended: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Requests {
    count: u64,
    seconds: f64,
}

/// What is counted elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauges {
    pub(crate) streams: usize,
    pub(crate) sessions_loaded: usize,
    pub(crate) journal_jobs: u64,
    pub(crate) journal_commits: u64,
    pub(crate) journal_reads: u64,
    pub(crate) journal_works: bool,
}

impl Metrics {
    /// Counts a request. The method must be one of a few: each is remembered for ever.
    pub(crate) fn request(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let key = (method, route.to_owned(), status);
        let mut all = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = all.entry(key).or_default();
        requests.count += 1;
        requests.seconds += took.as_secs_f64();
    }

    /// Returns all metrics as text.
    pub(crate) fn text(&self, gauges: Gauges) -> String {
        let mut text = String::new();
        let mut add = |name: &str, kind: &str, help: &str, value: u64| {
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}").expect(WRITES);
        };
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        add("guildhall_streams", "gauge", "Streams of events that are open.", gauges.streams as u64);
        add("guildhall_events_sent_total", "counter", "Events that were sent to viewers.", read(&self.events_sent));
        let refused = read(&self.connections_refused);
        add("guildhall_connections_refused_total", "counter", "Connections of clients that had too many.", refused);
        add("guildhall_sessions_loaded", "gauge", "Sessions in memory.", gauges.sessions_loaded as u64);
        let ended = read(&self.requests_ended);
        add("guildhall_work_ended_total", "counter", "Requests for work that have ended.", ended);
        add("guildhall_journal_up", "gauge", "Whether the journal can be written.", u64::from(gauges.journal_works));
        add("guildhall_journal_jobs_total", "counter", "Writes to the journal.", gauges.journal_jobs);
        add("guildhall_journal_commits_total", "counter", "Commits of the journal.", gauges.journal_commits);
        add("guildhall_journal_reads_total", "counter", "Reads of the journal's database.", gauges.journal_reads);
        self.add_requests(&mut text);
        text
    }

    fn add_requests(&self, text: &mut String) {
        let all = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let name = "guildhall_http_requests_total";
        writeln!(text, "# HELP {name} HTTP requests.\n# TYPE {name} counter").expect(WRITES);
        for ((method, route, status), requests) in all.iter() {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            writeln!(text, "{name}{{{labels}}} {}", requests.count).expect(WRITES);
        }
        let name = "guildhall_http_request_seconds_total";
        writeln!(text, "# HELP {name} Time until HTTP responses began.\n# TYPE {name} counter").expect(WRITES);
        for ((method, route, status), requests) in all.iter() {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            writeln!(text, "{name}{{{labels}}} {:.6}", requests.seconds).expect(WRITES);
        }
    }
}

const WRITES: &str = "writing to a string can't fail";
