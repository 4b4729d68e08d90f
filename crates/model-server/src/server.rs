//! The program: listens on loopback, reads requests, lets the book decide and carries out the answer. One thread; all
//! connections belong to one set, which ends with the server.

mod log;

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::future::pending;
use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{JoinSet, LocalSet};

use crate::answer::{Answer, Head};
use crate::body::{Broken, Ender, Flow};
use crate::book::{Asked, Book, Decision};
use crate::entry::{Ending, Entry, Said};
use crate::script::{Endpoint, Protocol, Script, ScriptError};
use crate::turn::Turn;
use log::Log;

const REQUEST_BYTES_MAX: usize = 256 << 20;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 4096;
/// How long the server waits when it has no file descriptor left for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// What the command line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The port on loopback; 0 is any.
    pub port: u16,
    /// The file of the script; `-` is the first line of stdin.
    pub script: PathBuf,
    /// The file of the log; `-` is stdout, after the first line.
    pub log: Option<PathBuf>,
}

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The command line is not understood.
    #[error("{0}\nusage: guildhall-model-server --port PORT --script FILE.json|- [--log FILE.jsonl|-]")]
    Usage(String),
    /// The script is none.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A file or the port can't be used.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        source: io::Error,
    },
}

impl Options {
    /// Reads the arguments, without the name of the program.
    ///
    /// ```
    /// use guildhall_model_server::Options;
    ///
    /// let options = Options::parse(["--port", "0", "--script", "a.json"].map(String::from)).unwrap();
    /// assert_eq!((options.port, options.log), (0, None));
    /// assert!(Options::parse(["--port".into()]).is_err());
    /// ```
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, ServeError> {
        let (mut port, mut script, mut log) = (None, None, None);
        let mut args = args.into_iter();
        while let Some(name) = args.next() {
            let Some(value) = args.next() else { return Err(ServeError::Usage(format!("{name} has no value"))) };
            match name.as_str() {
                "--port" => port = Some(value.parse().map_err(|_| ServeError::Usage(format!("{value} is no port")))?),
                "--script" => script = Some(PathBuf::from(value)),
                "--log" => log = Some(PathBuf::from(value)),
                _ => return Err(ServeError::Usage(format!("{name} is no option"))),
            }
        }
        let missing = |name: &str| ServeError::Usage(format!("{name} is missing"));
        Ok(Self {
            port: port.ok_or_else(|| missing("--port"))?,
            script: script.ok_or_else(|| missing("--script"))?,
            log,
        })
    }
}

/// Serves until stdin ends or SIGTERM comes.
pub fn serve(options: &Options) -> Result<(), ServeError> {
    raise_fd_limit();
    let script: Script = read_script(options)?.parse()?;
    let log = open_log(options)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed("the runtime"))?;
    LocalSet::new().block_on(&runtime, run(options.port, script, log))
}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> ServeError {
    let what = what.into();
    move |source| ServeError::Io { what, source }
}

fn read_script(options: &Options) -> Result<String, ServeError> {
    if options.script.as_os_str() != "-" {
        return fs::read_to_string(&options.script).map_err(failed(options.script.display().to_string()));
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(failed("stdin"))?;
    Ok(line)
}

fn open_log(options: &Options) -> Result<Log, ServeError> {
    let Some(path) = &options.log else { return Ok(Log::new(None)) };
    let out: Box<dyn Write> = if path.as_os_str() == "-" {
        Box::new(io::stdout())
    } else {
        Box::new(File::create(path).map_err(failed(path.display().to_string()))?)
    };
    Ok(Log::new(Some(out)))
}

/// A test may open a thousand connections, which is about what a process gets by default.
fn raise_fd_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        eprintln!("the limit of open files stays as it is: {error}");
    }
}

async fn run(port: u16, script: Script, log: Log) -> Result<(), ServeError> {
    let mut listener = listen(port)?;
    let address = listener.local_addr().map_err(failed("the port"))?;
    // Before anybody knows that we are here, and may want us to stop.
    let mut terminate = signal(SignalKind::terminate()).map_err(failed("SIGTERM"))?;
    let mut marks = marks();
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on {address}").and_then(|()| stdout.flush()).map_err(failed("stdout"))?;
    let (down, mut downs) = mpsc::unbounded_channel();
    let desk = Rc::new(Desk { book: RefCell::new(Book::new(script)), log, requests: Cell::new(0), down });
    let mut connections = JoinSet::new();
    let mut number = 0;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            mark = marks.recv() => match mark {
                Some(mark) => {
                    let mark = mark.map_err(failed("stdin"))?;
                    desk.log.write(|_| Entry::Mark { mark });
                }
                None => return Ok(()),
            },
            Some(time) = downs.recv() => {
                drop(listener);
                connections.shutdown().await;
                tokio::time::sleep(time).await;
                listener = listen(address.port())?;
            }
            Some(ended) = connections.join_next() => ended.expect("a connection does not panic"),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    number += 1;
                    connections.spawn_local(Rc::clone(&desk).attend(stream, number));
                }
                Err(error) => {
                    eprintln!("a connection was not accepted: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

fn listen(port: u16) -> Result<TcpListener, ServeError> {
    let bound = || {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        socket.listen(BACKLOG)
    };
    bound().map_err(failed(format!("port {port}")))
}

/// The lines of stdin. The channel closes when stdin ends.
fn marks() -> mpsc::UnboundedReceiver<io::Result<String>> {
    let (tell, marks) = mpsc::unbounded_channel();
    // A read of stdin can't be given up, so it has a thread, which ends with the process.
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if tell.send(line).is_err() {
                break;
            }
        }
    });
    marks
}

/// What all connections share.
struct Desk {
    book: RefCell<Book>,
    log: Log,
    requests: Cell<u64>,
    down: mpsc::UnboundedSender<Duration>,
}

impl Desk {
    async fn attend(self: Rc<Self>, stream: TcpStream, connection: u64) {
        if let Err(error) = stream.set_nodelay(true) {
            eprintln!("connection {connection}: {error}");
        }
        let reset = Rc::new(Cell::new(false));
        let service = service_fn(|request| {
            let (desk, reset) = (Rc::clone(&self), Rc::clone(&reset));
            Box::pin(async move { desk.answer(request, connection, reset).await })
        });
        let mut served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // It errs when the script breaks it off or the client goes away; both are in the log, as the end of the answer.
        let _ = std::future::poll_fn(|cx| served.poll_without_shutdown(cx)).await;
        let stream = served.into_parts().io.into_inner();
        if reset.get()
            && let Err(error) = stream.set_zero_linger()
        {
            eprintln!("connection {connection} is closed, not reset: {error}");
        }
    }

    async fn answer(
        self: Rc<Self>,
        request: Request<Incoming>,
        connection: u64,
        reset: Rc<Cell<bool>>,
    ) -> Result<Response<Flow>, Broken> {
        let number = self.requests.get() + 1;
        self.requests.set(number);
        let (parts, body) = request.into_parts();
        // A body that breaks off has nobody left to be answered.
        let body = Limited::new(body, REQUEST_BYTES_MAX).collect().await.map_err(|_| Broken)?.to_bytes();
        let json =
            serde_json::from_slice(&body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into()));
        let key_is_good = self.log_request(number, connection, &parts, &json);
        let Some((endpoint, protocol)) = route(&parts.method, parts.uri.path(), &parts.headers) else {
            return Ok(not_found(&self, number, reset));
        };
        let request_key = header(&parts.headers, "idempotency-key").or(header(&parts.headers, "x-idempotency-key"));
        let mut turn = Turn::read(protocol, &json, body.len());
        if protocol == Protocol::Anthropic && !parts.headers.contains_key("anthropic-version") {
            turn.fault = Some("anthropic-version: header is required".into());
        }
        let asked = Asked { endpoint, turn, key_is_good, request_key, body: &body };
        let decision = self.book.borrow_mut().decide(&asked);
        self.log_answer(number, request_key, &decision);
        self.perform(number, decision.answer, reset).await
    }

    async fn perform(
        self: Rc<Self>,
        number: u64,
        answer: Rc<Answer>,
        reset: Rc<Cell<bool>>,
    ) -> Result<Response<Flow>, Broken> {
        let mut ender = self.ender(number);
        if !answer.wait.is_zero() {
            tokio::time::sleep(answer.wait).await;
        }
        match &answer.head {
            Head::Response { status, headers } => {
                let mut response = Response::new(());
                *response.status_mut() = StatusCode::from_u16(*status).expect("a status was checked with the script");
                for (name, value) in headers {
                    let name = HeaderName::from_bytes(name.as_bytes()).expect("a header has a name");
                    response.headers_mut().append(name, HeaderValue::from_str(value).expect("a header has a value"));
                }
                Ok(response.map(|()| Flow::new(Rc::clone(&answer), ender, reset)))
            }
            Head::Close => {
                ender.ending = Ending::Closed;
                Err(Broken)
            }
            Head::Reset => {
                ender.ending = Ending::Reset;
                reset.set(true);
                Err(Broken)
            }
            Head::Stall => pending().await,
            Head::Down(time) => {
                ender.ending = Ending::Closed;
                self.down.send(*time).expect("the server outlives its connections");
                pending().await
            }
        }
    }

    fn ender(self: &Rc<Self>, request: u64) -> Ender {
        let desk = Rc::clone(self);
        Ender::new(move |bytes, ending| {
            desk.log.write(|at_us| Entry::End { request, at_us, bytes, ending });
        })
    }

    /// Logs the request and says whether it has the key that the script expects.
    fn log_request(&self, request: u64, connection: u64, parts: &hyper::http::request::Parts, body: &Value) -> bool {
        let book = self.book.borrow();
        let expected = book.api_key();
        self.log.write(|at_us| Entry::Request {
            request,
            connection,
            at_us,
            method: parts.method.to_string(),
            path: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
            headers: log::redacted(&parts.headers, expected),
            body: body.clone(),
        });
        expected.is_none_or(|expected| log::has_key(&parts.headers, expected))
    }

    fn log_answer(&self, request: u64, request_key: Option<&str>, decision: &Decision) {
        self.log.write(|_| Entry::Answer {
            request,
            rule: decision.rule,
            said: decision.said,
            status: decision.answer.status(),
            request_key: request_key.map(Into::into),
            executions: decision.executions,
        });
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn route(method: &Method, path: &str, headers: &HeaderMap) -> Option<(Endpoint, Protocol)> {
    match (method, path) {
        (&Method::POST, "/v1/messages") => Some((Endpoint::Turn, Protocol::Anthropic)),
        (&Method::POST, "/v1/chat/completions") => Some((Endpoint::Turn, Protocol::OpenAi)),
        (&Method::GET, "/v1/models") if headers.contains_key("anthropic-version") => {
            Some((Endpoint::Models, Protocol::Anthropic))
        }
        (&Method::GET, "/v1/models") => Some((Endpoint::Models, Protocol::OpenAi)),
        _ => None,
    }
}

fn not_found(desk: &Rc<Desk>, number: u64, reset: Rc<Cell<bool>>) -> Response<Flow> {
    let answer = Answer::whole(Said::Fault, 404, Vec::new(), r#"{"error":{"message":"no such path"}}"#);
    let mut response = Response::new(Flow::new(Rc::new(answer), desk.ender(number), reset));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}
