//! The test command of the project: runs every check, the fastest first, and stops at the first failure.

use std::env;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::{Outcome, browser, cargo, mutants, run as run_cargo, terminal};

/// The library without its features. No other step builds it this way.
const CORE: &[&str] =
    &["clippy", "-p", "guildhall", "-p", "guildhall-models", "--no-default-features", "--", "-D", "warnings"];

/// How many tests run at once on each processor. Most tests of the program wait for servers and other processes.
const TESTS_PER_PROCESSOR: usize = 3;

/// The variable that sets how many tests run at once. A number that somebody has set stays.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

type Step = (&'static str, fn() -> Outcome);

const STEPS: &[Step] = &[
    ("format", || run_cargo(&mut cargo(&["fmt", "--all", "--check"]))),
    ("lints", || run_cargo(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))),
    ("core", || run_cargo(&mut cargo(CORE))),
    ("tests", || run_cargo(cargo(&["test", "--workspace"]).env(TEST_THREADS, test_threads()))),
    ("terminal", terminal::check),
    ("page", browser::test),
    ("docs", || run_cargo(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))),
    ("simulator", || run_cargo(&mut cargo(&["run", "-p", "guildhall-sim", "--", "--schedules", "100000"]))),
    ("payments", || {
        run_cargo(&mut cargo(&["run", "-p", "guildhall-sim", "--", "--payments", "--schedules", "100000"]))
    }),
    ("mutants", || mutants::run(&[])),
];

/// Said first, so that nobody waits without knowing for how long. The figure is in docs/benchmarks.md.
const DURATION: &str = "this takes a quarter of an hour on two processors, most of it builds and tests";

pub(crate) fn run() -> Outcome {
    println!("{} steps: {DURATION}", STEPS.len());
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        require(subcommand, component)?;
    }
    for (passed, (name, step)) in STEPS.iter().enumerate() {
        println!("== {name}");
        let start = Instant::now();
        let outcome = step();
        let seconds = start.elapsed().as_secs_f64();
        if let Err(why) = outcome {
            println!("test: {passed} passed, 1 failed");
            return Err(format!("{name}, after {seconds:.1} s: {why}"));
        }
        println!("== {name}: ok, {seconds:.1} s");
    }
    println!("test: {} passed, 0 failed", STEPS.len());
    Ok(())
}

fn test_threads() -> String {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    env::var(TEST_THREADS).unwrap_or_else(|_| (TESTS_PER_PROCESSOR * processors()).to_string())
}

/// Makes sure that a component of the toolchain is installed.
fn require(subcommand: &str, component: &str) -> Outcome {
    let is_installed = || run_cargo(cargo(&[subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()));
    if is_installed().is_ok() {
        return Ok(());
    }
    println!("== {component} is missing: installing it");
    // The next line checks whether this worked, and says what to do if it did not.
    let added = Command::new("rustup").args(["component", "add", component]).status();
    is_installed().map_err(|why| {
        format!("{component} is missing; install it with: rustup component add {component}\n({added:?}, {why})")
    })
}
