//! schemathesis makes thousands of requests from the `OpenAPI` description, right and wrong ones. Every reply must be one that the
//! description has.
//!
//! `GUILDHALL_SCHEMA_SECONDS` sets how long this takes, and `GUILDHALL_SCHEMA_SEED` repeats the requests of an earlier run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use guildhall_lnbits_peer::PythonProgram;
use serde_json::{Map, Value, json};

use crate::house::wait_for;
use crate::serve::{house_with_offer, one_hire_each};
use crate::serving::{Server, Session};

const SCHEMATHESIS: PythonProgram = PythonProgram {
    name: "schemathesis",
    version: "4.32.5",
    packages: &["schemathesis==4.32.5"],
    tries: "with schemathesis",
};

/// How long the requests last. A soak takes longer.
const SECONDS: &str = "60";

/// How many requests to a route that reads must succeed.
const READS_MIN: u64 = 3;

/// How many requests to a route that changes something must succeed.
const WRITES_MIN: u64 = 1;

/// The pause before work that was stopped is started again.
const PAUSE: Duration = Duration::from_millis(500);

const TASK: &str = "Why is the payment API failing?";

const DESCRIPTION: &str = include_str!("../../../../docs/openapi.json");

/// No request of schemathesis is refused because there were too many, or because of its amount.
const SETTINGS: &str = "
[serve]
live_demo = true
public_rate = 100000
client_rate = 100000
unpaid_sessions = 1000000
changes_per_minute = 1000000
invoice_max = \"2100000000000000sat\"
";

#[test]
fn every_reply_is_one_that_the_description_has() {
    let installed = match SCHEMATHESIS.install() {
        Ok(installed) => installed,
        Err(why) => return why.say(),
    };
    let house = house_with_offer(&one_hire_each());
    house.write_config(&format!("{}{SETTINGS}", house.read_config()));
    let server = Server::start_unbilled(&house);
    assert_eq!(server.stranger().get("/api/openapi.json").text(), DESCRIPTION);
    let at_work = [server.funded("demo", 10_000), server.funded("demo", 10_000), server.funded("crew", 10_000)];
    for session in &at_work {
        session.ask(TASK, Some(1_000));
    }
    let unpaid = server.unpaid("demo", 500);
    let folder = tempfile::tempdir().unwrap();
    write_settings(folder.path(), &at_work, &unpaid);

    let mut command = command(&installed.program("st"), folder.path(), &server);
    let is_done = AtomicBool::new(false);
    let (tested, own) = thread::scope(|scope| {
        let working = scope.spawn(|| keep_at_work(&at_work, &is_done));
        let tested = command.output();
        is_done.store(true, Ordering::Relaxed);
        (tested.unwrap(), working.join().unwrap())
    });
    let (said, failed) = (String::from_utf8_lossy(&tested.stdout), String::from_utf8_lossy(&tested.stderr));
    assert!(tested.status.success(), "{said}\n{failed}");
    let seed = said.lines().rfind(|line| line.starts_with("Seed: ")).unwrap_or_else(|| panic!("no seed: {said}"));
    // Unlike `println!`, this is shown although the test passes. If it fails, there is nobody to tell.
    let _ = writeln!(io::stderr(), "schemathesis: {seed}");
    check_successes(&server.operator().get("/metrics").text(), &own);

    server.stranger().get("/healthz").expect(200);
    // A panic in its stderr fails the test, too.
    server.stop().expect(0);
    house.guildhall(&["verify"]).expect(0);
}

/// Writes the settings of schemathesis, with ids that exist.
fn write_settings(folder: &Path, at_work: &[Session], unpaid: &Session) {
    let state = wait_for("the first fact", || {
        Some(at_work[0].state()).filter(|state| state["requests"][0]["task"].is_object())
    });
    let sessions: Vec<&str> = at_work.iter().chain([unpaid]).map(|session| session.id.as_str()).collect();
    let dictionaries = [
        ("sessions", json!(sessions)),
        ("contracts", json!(["1", "1.1", "1.2", "2", "2.1", "3"])),
        ("texts", json!([state["requests"][0]["task"]["hash"]])),
        ("viewers", json!([1, 2, 3, 4, 5, 6, 7, 8])),
        ("events", json!(["0.0", "0.1", "0.2", "1.3", state["newest_event"]])),
        ("teams", json!(["demo", "crew"])),
    ];
    let dictionaries = dictionaries.map(|(name, values)| format!("\n[dictionaries.{name}]\nvalues = {values}\n"));
    let settings = include_str!("serve_schema/schemathesis.toml").to_owned() + &dictionaries.concat();
    fs::write(folder.join("schemathesis.toml"), settings).unwrap();
    fs::write(folder.join("hooks.py"), include_str!("serve_schema/hooks.py")).unwrap();
}

fn command(program: &Path, folder: &Path, server: &Server) -> Command {
    let seconds = std::env::var("GUILDHALL_SCHEMA_SECONDS").unwrap_or_else(|_| SECONDS.to_owned());
    let mut command = Command::new(program);
    command.current_dir(folder);
    // Settings of the caller's environment, such as a proxy, must not reach it.
    command.env_clear().env("HOME", folder);
    command.env("OPERATOR_TOKEN", server.operator_token()).env("SCHEMATHESIS_HOOKS", "hooks");
    let address = format!("http://{}/api/openapi.json", server.address());
    command.args(["run", &address, "--no-color", "--continue-on-failure", "--max-time", &seconds]);
    if let Ok(seed) = std::env::var("GUILDHALL_SCHEMA_SEED") {
        command.args(["--seed", &seed]);
    }
    command
}

/// Starts the work of the sessions again when it has ended or was stopped, so that most requests find work that runs. Returns how
/// many of its own requests succeeded, by the end of their address.
fn keep_at_work(sessions: &[Session], is_done: &AtomicBool) -> BTreeMap<&'static str, u64> {
    let mut successes = BTreeMap::new();
    let mut post = |session: &Session, route: &'static str, body: &Value| {
        let reply = session.post(route, body);
        *successes.entry(route).or_default() += u64::from(reply.status < 300);
        reply
    };
    while !is_done.load(Ordering::Relaxed) {
        for session in sessions {
            // A request of schemathesis may come in between, so all of these may be refused.
            let invoice = post(session, "fund", &json!({"amount_sats": 1_000})).json();
            post(session, "settle", &json!({"invoice": invoice["invoice"]}));
            post(session, "requests", &json!({"task": TASK, "budget_sats": 1_000}));
        }
        thread::sleep(PAUSE);
    }
    successes
}

/// Checks that requests of schemathesis to every route succeeded: a run in which everything is refused shows nothing.
fn check_successes(metrics: &str, own: &BTreeMap<&str, u64>) {
    let description: Value = serde_json::from_str(DESCRIPTION).unwrap();
    let paths: &Map<String, Value> = description["paths"].as_object().unwrap();
    for (path, operations) in paths.iter().filter(|(path, _)| !path.ends_with("/events")) {
        for method in operations.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            let own = path.rsplit('/').next().and_then(|end| own.get(end)).copied().unwrap_or(0);
            let successes = successes(metrics, &method, path) - own;
            let least = if method == "GET" { READS_MIN } else { WRITES_MIN };
            assert!(successes >= least, "only {successes} requests {method} {path} succeeded: {metrics}");
        }
    }
}

fn successes(metrics: &str, method: &str, path: &str) -> u64 {
    let start = format!("guildhall_http_requests_total{{method=\"{method}\",route=\"{path}\",status=\"2");
    let counts = metrics.lines().filter_map(|line| line.strip_prefix(&start)?.split_once(' '));
    counts.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
}
