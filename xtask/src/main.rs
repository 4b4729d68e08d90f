//! Runs the project's maintenance tasks. Each task is one command. All but `web` work on a machine that has only a Rust toolchain:
//! a test that needs something else installs it, or says what it could not try.
#![allow(clippy::print_stdout, reason = "a command-line tool prints to stdout")]

mod browser;
mod mutants;
mod prices;
mod slot;
mod terminal;
mod test;
mod web;
mod wire;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The result of a task. The error is a message for the person who typed the command.
type Outcome = Result<(), String>;

const SOAK_SCHEDULES: &str = "10000000";

/// How often a soak kills a program: this often with one agent, with a tree of agents, while it pays, and while it
/// only writes to the journal. `cargo xtask test` kills a tenth as often.
const SOAK_KILLS: &str = "200";

/// How often a soak kills a server with teams at work. `cargo xtask test` kills it four times.
const SOAK_SERVE_KILLS: &str = "20";

/// For how many seconds a soak makes requests to the server with schemathesis. `cargo xtask test` takes a third.
const SOAK_SCHEMA_SECONDS: &str = "180";

/// How many contracts with all kinds of replies a soak stores and reads back.
const SOAK_REPLIES: &str = "50000";

const HELP: &str = "\
cargo xtask test               runs everything that must pass before a merge, in a quarter of an hour
cargo xtask mutants [NAME...]  plants each bug of crates/sim/mutants.toml and checks that it is detected
cargo xtask soak [SCHEDULES]   runs the simulator in release mode (default: 10_000_000 schedules of contracts, and as many of
                               payments); then stores and reads back 50,000 contracts with all kinds of replies; then kills
                               the program 200 times with one agent running, 200 times with a tree of agents, 200 times while
                               it pays (within one wallet server, and between two), 20 times while it serves, and 200 times
                               while it only writes; then makes requests to `guildhall serve` with schemathesis for three minutes
cargo xtask prices             makes the price table again, after an update of the crate genai-prices
cargo xtask web                builds the page of the server from `web/`, which needs Node and npm
cargo xtask terminal [--check] makes docs/terminal.svg again, a picture of a real run in a terminal, or checks that it is up to date
cargo xtask bench [ARGS...]    measures the kernel and the whole runtime; ARGS are passed to `cargo bench`
cargo xtask bench -- wire [ARGS...]
                               measures the real binary over HTTP, next to a bare client and to rig; `--help` lists ARGS
cargo xtask bench -- serve [ARGS...]
                               measures `guildhall serve` with hundreds of viewers; `--help` lists ARGS
cargo xtask bench -- budget [ARGS...]
                               measures how much of a known amount of work a budget finishes; `--help` lists ARGS

Examples:
  cargo xtask test
  cargo xtask mutants hold-forgotten
  cargo xtask soak 1_000_000
  cargo xtask bench -- hall
  cargo xtask bench -- --quick
  cargo xtask bench -- wire --small
  cargo xtask bench -- serve --small
  cargo xtask bench -- budget --small
";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    enter_root().and_then(|()| dispatch(&args)).unwrap_or_else(|why| {
        eprintln!("{why}");
        ExitCode::FAILURE
    })
}

fn dispatch(args: &[&str]) -> Result<ExitCode, String> {
    match args {
        ["test"] => test::run()?,
        ["mutants", names @ ..] if names.iter().all(|name| !name.starts_with('-')) => mutants::run(names)?,
        ["soak"] => soak(SOAK_SCHEDULES)?,
        ["soak", count] if is_count(count) => soak(&count.replace('_', ""))?,
        ["prices"] => make_prices()?,
        ["web"] => web::run()?,
        ["terminal"] => terminal::draw()?,
        ["terminal", "--check"] => terminal::check()?,
        ["bench", "--", "wire", extra @ ..] => wire::run(extra)?,
        ["bench", "--", "serve", extra @ ..] => wire::run_serve(extra)?,
        ["bench", "--", "budget", extra @ ..] => wire::run_budget(extra)?,
        ["bench", extra @ ..] => run(cargo(&["bench", "-p", "guildhall-kernel", "-p", "guildhall"]).args(extra))?,
        ["help" | "--help" | "-h"] => print!("{HELP}"),
        _ => {
            eprint!("`cargo xtask {}` is not a known command. The commands are:\n\n{HELP}", args.join(" "));
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Changes to the root of the workspace: all paths in this program are relative to it.
fn enter_root() -> Outcome {
    let xtask = env::var_os("CARGO_MANIFEST_DIR").ok_or("run this program as `cargo xtask`")?;
    env::set_current_dir(PathBuf::from(xtask).join(".."))
        .map_err(|e| format!("can't enter the root of the workspace: {e}"))
}

fn is_count(text: &str) -> bool {
    text.replace('_', "").parse::<u64>().is_ok()
}

/// Writes the price table again.
fn make_prices() -> Outcome {
    let metadata = cargo(&["metadata", "--format-version", "1"]).output().map_err(|e| format!("cargo: {e}"))?;
    let metadata = serde_json::from_slice(&metadata.stdout).map_err(|e| format!("cargo's metadata: {e}"))?;
    fs::write(prices::TABLE, prices::table(&metadata)?).map_err(|e| format!("{}: {e}", prices::TABLE))
}

fn soak(schedules: &str) -> Outcome {
    run(&mut cargo(&["run", "--release", "-p", "guildhall-sim", "--", "--schedules", schedules]))?;
    run(&mut cargo(&["run", "--release", "-p", "guildhall-sim", "--", "--payments", "--schedules", schedules]))?;
    let replies = ["test", "-p", "guildhall", "--test", "guildhall", "--", "fuzz::"];
    run(cargo(&replies).env("GUILDHALL_CASES", SOAK_REPLIES))?;
    let kills = ["test", "-p", "guildhall-cli", "--test", "e2e", "--", "killed::", "killed_trees::", "survives_kills"];
    run(cargo(&kills).env("GUILDHALL_ROUNDS", SOAK_KILLS).env("GUILDHALL_SERVE_KILLS", SOAK_SERVE_KILLS))?;
    let writes = ["test", "-p", "guildhall-local", "--test", "local", "--", "journal::crash::"];
    run(cargo(&writes).env("GUILDHALL_ROUNDS", SOAK_KILLS))?;
    let requests = ["test", "-p", "guildhall-cli", "--test", "e2e", "--", "serve_schema::"];
    run(cargo(&requests).env("GUILDHALL_SCHEMA_SECONDS", SOAK_SCHEMA_SECONDS))
}

/// Returns a command for the `cargo` that started this program, with these arguments.
fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// Runs a `cargo` command and shows its output.
fn run(command: &mut Command) -> Outcome {
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let failed = |how: String| Err(format!("`cargo {}` failed: {how}", args.join(" ")));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => failed(status.to_string()),
        Err(e) => failed(e.to_string()),
    }
}
