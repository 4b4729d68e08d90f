//! The program: listens on loopback and writes the log. All connections run on one thread and end with the server.

use std::cell::RefCell;
use std::error::Error;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{JoinSet, LocalSet};

use crate::connection::serve_connection;
use crate::entry::Entry;
use crate::responder::Responder;
use crate::script::Script;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 4096;
/// How long the server waits when it has no file descriptor left for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

const USAGE: &str = "usage: guildhall-model-server --port PORT --script FILE.json|- [--log FILE.jsonl|-]";

/// Why the server stopped, for a person to read.
type Failure = Box<dyn Error>;

struct Options {
    /// The port on loopback; 0 means any free port.
    port: u16,
    /// The file of the script; `-` means the first line of stdin.
    script: PathBuf,
    /// The file of the log; `-` means stdout, after the first line.
    log: Option<PathBuf>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut port, mut script, mut log) = (None, None, None);
        while let Some(name) = args.next() {
            let value = args.next().ok_or_else(|| format!("{name} has no value"))?;
            match name.as_str() {
                "--port" => port = Some(value.parse().map_err(|_| format!("{value} is not a port number"))?),
                "--script" => script = Some(value.into()),
                "--log" => log = Some(value.into()),
                _ => return Err(format!("{name} is not an option")),
            }
        }
        Ok(Self { port: port.ok_or("--port is missing")?, script: script.ok_or("--script is missing")?, log })
    }
}

/// Runs the program with these arguments, without the program's name, until stdin ends or the process receives SIGTERM.
pub fn serve(args: impl Iterator<Item = String>) -> Result<(), Failure> {
    let options = Options::parse(args).map_err(|why| format!("{why}\n{USAGE}"))?;
    raise_fd_limit();
    let script = Script::parse(&read_script(&options)?)?;
    let log = Log::open(&options)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, run(options.port, script, log))
}

fn failed(what: impl Display) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{what}: {error}")
}

fn read_script(options: &Options) -> Result<String, String> {
    let path = &options.script;
    if path.as_os_str() != "-" {
        return fs::read_to_string(path).map_err(failed(path.display()));
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(failed("stdin"))?;
    Ok(line)
}

/// Raises the limit of open files: a test may open a thousand connections, which is about the default limit of a process.
fn raise_fd_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        eprintln!("the limit of open files was not raised: {error}");
    }
}

/// The state that all connections share.
pub(crate) struct Server {
    pub(crate) responder: RefCell<Responder>,
    pub(crate) log: Log,
    /// A duration sent here makes the server close all connections and refuse new ones for that time.
    pub(crate) down: mpsc::UnboundedSender<Duration>,
}

async fn run(port: u16, script: Script, log: Log) -> Result<(), Failure> {
    let mut listener = listen(port)?;
    let address = listener.local_addr().map_err(failed("the port"))?;
    // Set up before the address is printed: after that a test may already stop the server.
    let mut terminate = signal(SignalKind::terminate()).map_err(failed("SIGTERM"))?;
    let mut marks = marks();
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on {address}").and_then(|()| stdout.flush()).map_err(failed("stdout"))?;
    let (down, mut downs) = mpsc::unbounded_channel();
    let server = Rc::new(Server { responder: RefCell::new(Responder::new(script)), log, down });
    let mut connections = JoinSet::new();
    let mut number = 0;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            mark = marks.recv() => match mark {
                Some(mark) => server.log.write(&Entry::Mark { mark: mark.map_err(failed("stdin"))? }),
                None => return Ok(()),
            },
            Some(time) = downs.recv() => {
                drop(listener);
                connections.shutdown().await;
                tokio::time::sleep(time).await;
                listener = listen(address.port())?;
            }
            Some(ended) = connections.join_next() => {
                // An error means that the client closed the connection. The log already has that as the end of the answer.
                let _ = ended.expect("a connection does not panic");
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    number += 1;
                    connections.spawn_local(serve_connection(Rc::clone(&server), stream, number));
                }
                Err(error) => {
                    eprintln!("a connection was not accepted: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

fn listen(port: u16) -> Result<TcpListener, String> {
    let bound = || {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        socket.listen(BACKLOG)
    };
    bound().map_err(failed(format!("port {port}")))
}

/// Returns the lines of stdin. The channel closes when stdin ends.
fn marks() -> mpsc::UnboundedReceiver<io::Result<String>> {
    let (sender, marks) = mpsc::unbounded_channel();
    // A read of stdin can't be cancelled, so a separate thread reads. The thread ends with the process.
    std::thread::spawn(move || io::stdin().lock().lines().try_for_each(|line| sender.send(line)));
    marks
}

pub(crate) struct Log {
    started: Instant,
    out: RefCell<Box<dyn Write>>,
}

impl Log {
    fn open(options: &Options) -> Result<Self, String> {
        let out: Box<dyn Write> = match &options.log {
            None => Box::new(io::sink()),
            Some(path) if path.as_os_str() == "-" => Box::new(io::stdout()),
            Some(path) => Box::new(File::create(path).map_err(failed(path.display()))?),
        };
        Ok(Self { started: Instant::now(), out: RefCell::new(out) })
    }

    /// Returns the microseconds since the server started.
    pub(crate) fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Writes and flushes a line immediately, so that a test can wait for it.
    pub(crate) fn write(&self, entry: &Entry) {
        let mut line = serde_json::to_vec(entry).expect("an entry is JSON");
        line.push(b'\n');
        let mut out = self.out.borrow_mut();
        if let Err(error) = out.write_all(&line).and_then(|()| out.flush()) {
            eprintln!("a line could not be written to the log: {error}");
        }
    }
}
