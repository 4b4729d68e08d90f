//! A running LNbits server with its own data.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http;
use crate::install::{Environment, environment};
use crate::python::Unavailable;

/// How long a server may take to start. Usually it takes 6 seconds.
const START_MAX: Duration = Duration::from_mins(2);

const POLL: Duration = Duration::from_millis(50);

/// The file with the output of a server.
const LOG: &str = "log";

const PASSWORD: &str = "only-for-tests";
const INSTALL_TOKEN: &str = "first-install";

/// Serves LNbits as `uvicorn lnbits.__main__:app` does. It takes its port before everything else, because LNbits needs seconds
/// to start and another process could take the port meanwhile, and prints the port. It ends when stdin is closed: so the server
/// also ends when the test program is killed, or ends without dropping it. Then nobody else removes its files.
const SERVE: &str = "
import os, shutil, socket, sys, threading
def watch():
    sys.stdin.buffer.read()
    shutil.rmtree(sys.argv[2], ignore_errors=True)
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', int(sys.argv[1])))
port = listener.getsockname()[1]
print(port, flush=True)
os.dup2(2, 1)
os.environ.update(HOST='127.0.0.1', PORT=str(port), LNBITS_BASEURL=f'http://127.0.0.1:{port}/')
import uvicorn
uvicorn.Server(uvicorn.Config('lnbits.__main__:app')).run(sockets=[listener])
";

/// Where a server's money comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Funding {
    /// It is fake: all payments are inside the server.
    Fake,
    /// A wallet of another server, so payments to that server leave this one.
    Lnbits {
        /// The address of the other server, or of a proxy before it.
        url: String,
        /// The admin key of the wallet.
        admin_key: String,
    },
}

/// A wallet on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerWallet {
    /// Its id.
    pub id: String,
    /// The key that can pay.
    pub admin_key: String,
    /// The key that can receive.
    pub invoice_key: String,
}

/// An LNbits server. It is killed when this value is dropped, and when the test program ends.
pub struct LnbitsPeer {
    environment: Environment,
    funding: Funding,
    address: SocketAddr,
    folder: TempDir,
    child: Mutex<Child>,
    token: String,
}

impl LnbitsPeer {
    /// Whether servers can be started. The first call of a user installs LNbits, which takes minutes.
    pub fn available() -> Result<(), Unavailable> {
        environment().map(drop)
    }

    /// Whether a test against servers can run. If not, prints the reason.
    ///
    /// # Panics
    /// If servers can't be started and the environment variable `CI` is set: there, nothing may stay untried.
    pub fn can_run() -> bool {
        LnbitsPeer::available().inspect_err(Unavailable::say).is_ok()
    }

    /// Starts a server with new data, and waits until it serves.
    ///
    /// # Panics
    /// If the server does not start. Its log is in the message.
    pub fn start(funding: Funding) -> LnbitsPeer {
        let environment = environment().unwrap_or_else(|why| panic!("{why}"));
        let folder = TempDir::with_prefix("guildhall-lnbits-").expect("a temporary folder can be made");
        fs::create_dir(folder.path().join("data")).expect("the folder is new");
        // LNbits mounts `./lnbits/static`.
        symlink(&environment.package, folder.path().join("lnbits")).expect("the folder is new");
        let (child, address) = spawn(&environment, &funding, folder.path(), 0);
        let child = Mutex::new(child);
        let mut peer = LnbitsPeer { environment, funding, address, folder, child, token: String::new() };
        peer.wait_until_serving();
        peer.bootstrap();
        peer
    }

    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes a wallet with this many sats.
    pub fn wallet(&self, sats: u64) -> PeerWallet {
        let wallet = wallet_of(&self.admin("POST", "/api/v1/wallet", &json!({ "name": "test" })));
        if sats > 0 {
            self.mint(&wallet, sats);
        }
        wallet
    }

    /// Gives a wallet more fake money.
    pub fn mint(&self, wallet: &PeerWallet, sats: u64) {
        self.admin("PUT", "/users/api/v1/balance", &json!({ "id": wallet.id, "amount": sats }));
    }

    /// Replaces both keys of a wallet, and returns the wallet with its new keys.
    pub fn replace_keys(&self, wallet: &PeerWallet) -> PeerWallet {
        let path = format!("/api/v1/wallet/reset/{}", wallet.id);
        wallet_of(&self.admin("PUT", &path, &Value::Null))
    }

    /// Changes settings of the server, such as `{"lnbits_wallet_limit_daily_max_withdraw": 1}`.
    pub fn set(&self, settings: &Value) {
        self.admin("PATCH", "/admin/api/v1/settings", settings);
    }

    /// Makes a request with a key of a wallet, and returns the status and the JSON of the reply.
    ///
    /// # Panics
    /// If there is no reply.
    pub fn request(&self, method: &str, path: &str, key: &str, body: Option<&Value>) -> (u16, Value) {
        let reply = http::json(self.address, method, path, &[format!("x-api-key: {key}")], body);
        reply.unwrap_or_else(|error| panic!("{method} {path}: {error}\n{}", self.log()))
    }

    /// Returns the balance of a wallet in millisatoshis.
    pub fn balance_msat(&self, wallet: &PeerWallet) -> i64 {
        let (_, state) = self.request("GET", "/api/v1/wallet", &wallet.invoice_key, None);
        state["balance"].as_i64().unwrap_or_else(|| panic!("no balance in {state}"))
    }

    /// Kills the server with SIGKILL. Its data stays.
    pub fn kill(&self) {
        let mut child = self.child();
        child.kill().expect("the server is our child");
        child.wait().expect("the server is our child");
    }

    /// Starts the server again after [`LnbitsPeer::kill`], with the same data at the same address.
    pub fn restart(&self) {
        let (child, _) = spawn(&self.environment, &self.funding, self.folder.path(), self.address.port());
        *self.child() = child;
        self.wait_until_serving();
    }

    /// Stops the server where it is, until [`LnbitsPeer::go_on`].
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets the server go on after [`LnbitsPeer::freeze`].
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Returns the server's log.
    pub fn log(&self) -> String {
        read_log(self.folder.path())
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child().id()).ok().and_then(Pid::from_raw).expect("a process has an id");
        kill_process(id, signal).expect("the server is our child");
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until_serving(&self) {
        let until = Instant::now() + START_MAX;
        while !http::json(self.address, "GET", "/api/v1/health", &[], None).is_ok_and(|(status, _)| status < 500) {
            let ended = self.child().try_wait().expect("the server is our child");
            assert!(ended.is_none() && Instant::now() < until, "LNbits does not start: {}", self.log());
            sleep(POLL);
        }
    }

    /// Makes the first account, which owns all wallets.
    fn bootstrap(&mut self) {
        let body = json!({
            "username": "admin",
            "password": PASSWORD,
            "password_repeat": PASSWORD,
            "first_install_token": INSTALL_TOKEN,
        });
        let reply = http::json(self.address, "PUT", "/api/v1/auth/first_install", &[], Some(&body));
        let (status, made) = reply.unwrap_or_else(|error| panic!("{error}: {}", self.log()));
        let token = made["access_token"].as_str();
        token.unwrap_or_else(|| panic!("status {status}: {made}")).clone_into(&mut self.token);
    }

    fn admin(&self, method: &str, path: &str, body: &Value) -> Value {
        let headers = [format!("authorization: Bearer {}", self.token)];
        let body = Some(body).filter(|body| !body.is_null());
        let reply = http::json(self.address, method, path, &headers, body);
        let (status, value) = reply.unwrap_or_else(|error| panic!("{method} {path}: {error}: {}", self.log()));
        assert!((200..300).contains(&status), "{method} {path}: {status} {value}");
        value
    }
}

impl Drop for LnbitsPeer {
    fn drop(&mut self) {
        let mut child = self.child();
        // Both fail only if the server has ended already, which is what this is for.
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn wallet_of(made: &Value) -> PeerWallet {
    let text = |key: &str| made[key].as_str().unwrap_or_else(|| panic!("{key} in {made}")).to_owned();
    PeerWallet { id: text("id"), admin_key: text("adminkey"), invoice_key: text("inkey") }
}

/// Starts the program on a port, or on any free port if it is 0, and returns its address.
fn spawn(environment: &Environment, funding: &Funding, folder: &Path, port: u16) -> (Child, SocketAddr) {
    let log = File::options().create(true).append(true).open(folder.join(LOG)).expect("the folder is ours");
    let data = folder.join("data");
    let mut command = Command::new(&environment.python);
    command.arg("-c").arg(SERVE).arg(port.to_string()).arg(folder).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    // Settings of the caller's environment, such as a proxy, must not reach the server.
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("LNBITS_DATA_FOLDER", &data).env("LNBITS_EXTENSIONS_PATH", &data).env("HOME", folder);
    command.env("FIRST_INSTALL_TOKEN", INSTALL_TOKEN).envs(SETTINGS);
    match funding {
        Funding::Fake => command.env("LNBITS_BACKEND_WALLET_CLASS", "FakeWallet"),
        Funding::Lnbits { url, admin_key } => command
            .env("LNBITS_BACKEND_WALLET_CLASS", "LNbitsWallet")
            .env("LNBITS_ENDPOINT", url)
            .env("LNBITS_KEY", admin_key),
    };
    let mut child = command.spawn().expect("the environment has Python");
    let mut first = String::new();
    let read = BufReader::new(child.stdout.take().expect("stdout is a pipe")).read_line(&mut first);
    let port = read.ok().and_then(|_| first.trim_end().parse().ok());
    let port: u16 = port.unwrap_or_else(|| panic!("no port but {first:?}: {}", read_log(folder)));
    (child, SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

fn read_log(folder: &Path) -> String {
    fs::read_to_string(folder.join(LOG)).unwrap_or_default()
}

/// The settings that all servers have: no traffic to the outside, and no limit on requests.
const SETTINGS: [(&str, &str); 12] = [
    ("AUTH_SECRET_KEY", "0123456789abcdef0123456789abcdef"),
    ("FAKE_WALLET_SECRET", "only-for-tests"),
    ("LNBITS_ADMIN_UI", "true"),
    ("LNBITS_CALLBACK_ALLOW_PRIVATE_IPS", "true"),
    ("LNBITS_CALLBACK_URL_RULES", "[]"),
    ("LNBITS_EXCHANGE_RATE_PROVIDERS", "[]"),
    ("LNBITS_EXTENSIONS_MANIFESTS", "[]"),
    ("LNBITS_PRICE_AGGREGATOR_ENABLED", "false"),
    ("LNBITS_RATE_LIMIT_NO", "100000"),
    ("LNBITS_WASM_EXTENSIONS_MANIFESTS", "[]"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONUNBUFFERED", "1"),
];
