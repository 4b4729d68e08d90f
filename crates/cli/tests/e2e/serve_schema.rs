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

/// How often schemathesis runs until requests to every route have succeeded.
const RUNS_MAX: usize = 3;

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

/// How many requests of the test itself succeeded, by the end of their address.
type Successes = BTreeMap<&'static str, u64>;

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
    let at_rest = [0; 3].map(|_| server.funded("crew", 10_000));
    let unpaid = server.unpaid("demo", 500);
    let folder = tempfile::tempdir().unwrap();
    let sessions: Vec<&Session> = at_work.iter().chain(&at_rest).chain([&unpaid]).collect();
    write_settings(folder.path(), &sessions);

    // By chance, requests to a route may all be refused. Then they are made again.
    let mut own = Successes::new();
    let mut refused = Vec::new();
    for _ in 0..RUNS_MAX {
        test(command(&installed.program("st"), folder.path(), &server), &at_work, &at_rest, &mut own);
        refused = routes_that_refuse(&server.operator().get("/metrics").text(), &own);
        if refused.is_empty() {
            break;
        }
    }
    assert!(refused.is_empty(), "almost no request succeeded: {refused:?}");

    server.stranger().get("/healthz").expect(200);
    // A panic in its stderr fails the test, too.
    server.stop().expect(0);
    house.guildhall(&["verify"]).expect(0);
}

/// Writes the settings of schemathesis, with ids that exist. The first session is at work.
fn write_settings(folder: &Path, sessions: &[&Session]) {
    let state = wait_for("the first fact", || {
        Some(sessions[0].state()).filter(|state| state["requests"][0]["task"].is_object())
    });
    let sessions: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
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

/// Runs schemathesis while sessions are at work. Adds to `own` the requests of the test itself.
fn test(mut command: Command, at_work: &[Session], at_rest: &[Session], own: &mut Successes) {
    let is_done = AtomicBool::new(false);
    let tested = thread::scope(|scope| {
        scope.spawn(|| keep_going(at_work, at_rest, own, &is_done));
        let tested = command.output();
        is_done.store(true, Ordering::Relaxed);
        tested.unwrap()
    });
    let (said, failed) = (String::from_utf8_lossy(&tested.stdout), String::from_utf8_lossy(&tested.stderr));
    assert!(tested.status.success(), "{said}\n{failed}");
    let seed = said.lines().rfind(|line| line.starts_with("Seed: ")).unwrap_or_else(|| panic!("no seed: {said}"));
    // Unlike `println!`, this is shown although the test passes. If it fails, there is nobody to tell.
    let _ = writeln!(io::stderr(), "schemathesis: {seed}");
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

/// Starts the work of some sessions again when it has ended or was stopped, so that requests find work that runs, and gives money to
/// others, so that requests find money that can go back.
fn keep_going(at_work: &[Session], at_rest: &[Session], own: &mut Successes, is_done: &AtomicBool) {
    let mut post = |session: &Session, route: &'static str, body: &Value| {
        let reply = session.post(route, body);
        *own.entry(route).or_default() += u64::from(reply.status < 300);
        reply
    };
    while !is_done.load(Ordering::Relaxed) {
        // A request of schemathesis may come in between, so all of these may be refused.
        for session in at_work.iter().chain(at_rest) {
            let invoice = post(session, "fund", &json!({"amount_sats": 1_000})).json();
            post(session, "settle", &json!({"invoice": invoice["invoice"]}));
        }
        for session in at_work {
            post(session, "requests", &json!({"task": TASK, "budget_sats": 1_000}));
        }
        thread::sleep(PAUSE);
    }
}

/// The routes with too few requests of schemathesis that succeeded: a run in which everything is refused shows nothing.
fn routes_that_refuse(metrics: &str, own: &Successes) -> Vec<String> {
    let description: Value = serde_json::from_str(DESCRIPTION).unwrap();
    let paths: &Map<String, Value> = description["paths"].as_object().unwrap();
    let mut found = Vec::new();
    for (path, operations) in paths.iter().filter(|(path, _)| !path.ends_with("/events")) {
        for method in operations.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            let own = path.rsplit('/').next().and_then(|end| own.get(end)).copied().unwrap_or(0);
            let least = if method == "GET" { READS_MIN } else { WRITES_MIN };
            if successes(metrics, &method, path) < own + least {
                found.push(format!("{method} {path}"));
            }
        }
    }
    found
}

fn successes(metrics: &str, method: &str, path: &str) -> u64 {
    let start = format!("guildhall_http_requests_total{{method=\"{method}\",route=\"{path}\",status=\"2");
    let counts = metrics.lines().filter_map(|line| line.strip_prefix(&start)?.split_once(' '));
    counts.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
}
