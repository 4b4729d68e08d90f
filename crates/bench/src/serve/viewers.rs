//! The load generator: viewers that read the events of sessions, all on one thread. Each viewer that reads checks that it gets every
//! event once and in order, and notes how long after its fact was durable each event came.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::http::{Chunks, request};
use crate::fake::now_us;

/// How long the last event may take to come to all viewers.
const LAST_EVENT_TIME_MAX: Duration = Duration::from_mins(2);
const POLL: Duration = Duration::from_millis(20);

/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;

/// The receive buffer of a viewer that never reads: small, so that the server soon can't send to it.
const SMALL_BUFFER_BYTES: u32 = 4096;

/// The id of an event: so many facts, and so many facts of the account.
pub(crate) type Id = (u64, u64);

/// What a viewer does with the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    Reads,
    /// Sends its request and never reads.
    NeverReads,
}

/// Viewers of one session.
pub(crate) struct Seats {
    pub(crate) session: String,
    pub(crate) token: String,
    pub(crate) habit: Habit,
    pub(crate) count: usize,
}

/// Viewers that are connected, until this value is dropped.
pub(crate) struct Viewers {
    readers: Vec<(String, Arc<Mutex<Viewer>>)>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What a viewer has received.
#[derive(Default)]
pub(crate) struct Viewer {
    reply: Reply,
    chunks: Chunks,
    /// The body that is not yet a whole event.
    body: Vec<u8>,
    pub(crate) ids: Vec<Id>,
    /// The time from durable to received of each event that became durable while the viewer watched.
    pub(crate) latencies_us: Vec<u64>,
    /// When the first and the last of these became durable.
    pub(crate) durable_ms: Option<(u64, u64)>,
    fault: Option<String>,
}

/// How much of the reply has come.
enum Reply {
    Head(Vec<u8>),
    /// The body, since this moment.
    Body {
        since_us: u64,
    },
}

impl Default for Reply {
    fn default() -> Reply {
        Reply::Head(Vec::new())
    }
}

impl Viewers {
    /// Starts to connect viewers.
    pub(crate) fn open(address: SocketAddr, seats: &[Seats]) -> Result<Viewers, String> {
        let mut readers = Vec::new();
        let mut all = Vec::new();
        for Seats { session, token, habit, count } in seats {
            let request = request(address, "GET", &format!("/api/sessions/{session}/events"), token, None);
            for _ in 0..*count {
                let viewer: Arc<Mutex<Viewer>> = Arc::default();
                if *habit == Habit::Reads {
                    readers.push((session.clone(), Arc::clone(&viewer)));
                }
                all.push((request.clone(), *habit, viewer));
            }
        }
        let (end, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                let mut tasks = JoinSet::new();
                for (request, habit, viewer) in all {
                    tasks.spawn(watch(address, request, habit, viewer));
                }
                // The sender is dropped or used with the viewers; in both cases they end.
                let _ = ended.await;
            });
        });
        Ok(Viewers { readers, end: Some(end), thread: Some(thread) })
    }

    /// Waits until all who read have received this newest event of their session, and checks what they have received.
    pub(crate) fn received(&self, newest: impl Fn(&str) -> Option<Id>) -> Result<(), String> {
        let start = Instant::now();
        for (session, viewer) in &self.readers {
            let newest = newest(session).ok_or_else(|| format!("session {session} has no newest event"))?;
            while lock(viewer).last()? < newest {
                if start.elapsed() > LAST_EVENT_TIME_MAX {
                    let last = lock(viewer).last()?;
                    return Err(format!("a viewer of {session} has event {last:?}, and {newest:?} is the newest"));
                }
                thread::sleep(POLL);
            }
            let last = lock(viewer).last()?;
            if last != newest {
                return Err(format!("a viewer of {session} has event {last:?} after the newest, {newest:?}"));
            }
        }
        self.agree()
    }

    /// Checks that all who read a session have the same events.
    fn agree(&self) -> Result<(), String> {
        for (session, viewer) in &self.readers {
            let (_, first) = self.readers.iter().find(|(other, _)| other == session).expect("the viewer itself is one");
            if !Arc::ptr_eq(first, viewer) && lock(first).ids != lock(viewer).ids {
                return Err(format!("two viewers of {session} have different events"));
            }
        }
        Ok(())
    }

    /// Calls a function with each viewer that reads.
    pub(crate) fn for_each(&self, mut f: impl FnMut(&Viewer)) {
        self.readers.iter().for_each(|(_, viewer)| f(&lock(viewer)));
    }
}

impl Drop for Viewers {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || thread::panicking(), "the thread of the viewers does not panic");
        }
    }
}

fn lock(viewer: &Mutex<Viewer>) -> MutexGuard<'_, Viewer> {
    viewer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a session's events, or never reads them, until the stream ends, which is a fault.
async fn watch(address: SocketAddr, request: String, habit: Habit, viewer: Arc<Mutex<Viewer>>) {
    let outcome = async {
        let mut stream = connect(address, habit).await?;
        stream.write_all(request.as_bytes()).await?;
        if habit == Habit::NeverReads {
            std::future::pending::<()>().await;
        }
        let mut bytes = vec![0; READ_BYTES];
        loop {
            let read = stream.read(&mut bytes).await?;
            let now = now_us();
            let taken =
                if read == 0 { Err("the stream ended".into()) } else { lock(&viewer).take(&bytes[..read], now) };
            taken.map_err(std::io::Error::other)?;
        }
    };
    let ended: Result<(), std::io::Error> = outcome.await;
    lock(&viewer).fault = ended.err().map(|why| why.to_string());
}

async fn connect(address: SocketAddr, habit: Habit) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if habit == Habit::NeverReads {
        socket.set_recv_buffer_size(SMALL_BUFFER_BYTES)?;
    }
    socket.connect(address).await
}

impl Viewer {
    /// The newest event. An error if an event was missing or came twice, or the stream ended.
    fn last(&self) -> Result<Id, String> {
        match &self.fault {
            Some(fault) => Err(format!("a viewer: {fault}")),
            None => Ok(self.ids.last().copied().unwrap_or_default()),
        }
    }

    /// Takes what has come.
    fn take(&mut self, bytes: &[u8], now_us: u64) -> Result<(), String> {
        let Reply::Head(head) = &mut self.reply else { return self.take_body(bytes, now_us) };
        head.extend_from_slice(bytes);
        let Some(end) = memmem::find(head, b"\r\n\r\n") else { return Ok(()) };
        if !head.starts_with(b"HTTP/1.1 200 ") {
            return Err(String::from_utf8_lossy(head).into_owned());
        }
        let body = head.split_off(end + 4);
        self.reply = Reply::Body { since_us: now_us };
        self.take_body(&body, now_us)
    }

    fn take_body(&mut self, bytes: &[u8], now_us: u64) -> Result<(), String> {
        if self.chunks.decode(bytes, &mut self.body)? {
            return Err("the stream ended".into());
        }
        let body = std::mem::take(&mut self.body);
        let mut rest = body.as_slice();
        while let Some(end) = memmem::find(rest, b"\n\n") {
            self.event(&rest[..end], now_us)?;
            rest = &rest[end + 2..];
        }
        self.body = rest.to_vec();
        Ok(())
    }

    fn event(&mut self, event: &[u8], now_us: u64) -> Result<(), String> {
        let (mut durable_ms, mut id) = (None, None);
        for line in event.split(|byte| *byte == b'\n') {
            let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
            if let Some(at) = line.strip_prefix(b": durable ") {
                durable_ms = text(at).parse::<u64>().ok();
            } else if let Some(event_id) = line.strip_prefix(b"id: ") {
                id = Some(parse_id(&text(event_id)).ok_or_else(|| format!("not an id: {}", text(event_id)))?);
            } else if line.starts_with(b"event: ") {
                break;
            }
        }
        let Some((facts, account)) = id else { return Ok(()) };
        let (last_facts, last_account) = self.ids.last().copied().unwrap_or_default();
        if (facts, account) != (last_facts + 1, last_account) && (facts, account) != (last_facts, last_account + 1) {
            return Err(format!("event {facts}.{account} came after event {last_facts}.{last_account}"));
        }
        self.ids.push((facts, account));
        let Reply::Body { since_us } = self.reply else { return Ok(()) };
        if let Some(durable_ms) = durable_ms.filter(|durable_ms| durable_ms * 1000 >= since_us) {
            self.latencies_us.push(now_us.saturating_sub(durable_ms * 1000));
            let first = self.durable_ms.map_or(durable_ms, |(first, _)| first);
            self.durable_ms = Some((first, durable_ms));
        }
        Ok(())
    }
}

/// Reads an id such as `12.3`.
pub(crate) fn parse_id(id: &str) -> Option<Id> {
    let (facts, account) = id.split_once('.')?;
    Some((facts.parse().ok()?, account.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A viewer that has received the reply and these events.
    fn viewer(events: &[&str]) -> (Viewer, Result<(), String>) {
        let mut viewer = Viewer::default();
        viewer.take(b"HTTP/1.1 200 OK\r\na: b\r\n\r\n", 5_000_000).unwrap();
        let taken = events.iter().try_for_each(|event| {
            let chunk = format!("{:x}\r\n{event}\r\n", event.len());
            // In two parts, as reads may end anywhere.
            let (first, second) = chunk.as_bytes().split_at(chunk.len() / 2);
            viewer.take(first, 5_200_000)?;
            viewer.take(second, 5_250_000)
        });
        (viewer, taken)
    }

    fn event(id: &str) -> String {
        format!(": durable 5100\nid: {id}\nevent: fact\ndata: {{}}\n\n")
    }

    #[test]
    fn a_viewer_notes_how_long_each_event_took() {
        let cast = "retry: 1000\nevent: cast\ndata: id: 7.7\n\n";
        let earlier = ": durable 4000\nid: 0.1\nevent: account\ndata: {}\n\n";
        let (viewer, taken) = viewer(&[cast, earlier, &event("1.1"), ": alive\n\n", &event("2.1")]);
        assert_eq!((taken, viewer.last()), (Ok(()), Ok((2, 1))));
        assert_eq!((viewer.latencies_us, viewer.durable_ms), (vec![150_000; 2], Some((5100, 5100))));
    }

    #[test]
    fn an_event_that_is_missing_or_comes_twice_is_a_fault() {
        let fault = |ids: &[&str]| {
            let events: Vec<String> = ids.iter().map(|id| event(id)).collect();
            viewer(&events.iter().map(String::as_str).collect::<Vec<_>>()).1
        };
        assert_eq!(fault(&["0.1", "0.2", "1.2"]), Ok(()));
        assert_eq!(fault(&["0.1", "2.1"]), Err("event 2.1 came after event 0.1".into()));
        assert_eq!(fault(&["0.1", "0.1"]), Err("event 0.1 came after event 0.1".into()));
        assert_eq!(fault(&["0.1", "1.2"]), Err("event 1.2 came after event 0.1".into()));
    }

    #[test]
    fn a_refusal_is_a_fault() {
        let mut viewer = Viewer::default();
        assert!(viewer.take(b"HTTP/1.1 503 Busy\r\n\r\n", 0).unwrap_err().contains("503"));
    }
}
