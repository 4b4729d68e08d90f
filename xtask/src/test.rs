//! The test command of the project: runs every check, the fastest first, and stops at the first failure.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Outcome, cargo, mutants, run as run_cargo};

/// The library without its features. No other step builds it this way.
const CORE: &[&str] =
    &["clippy", "-p", "guildhall", "-p", "guildhall-models", "--no-default-features", "--", "-D", "warnings"];

type Step = (&'static str, fn() -> Outcome);

const STEPS: &[Step] = &[
    ("format", || run_cargo(&mut cargo(&["fmt", "--all", "--check"]))),
    ("lints", || run_cargo(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))),
    ("core", || run_cargo(&mut cargo(CORE))),
    ("tests", || run_cargo(&mut cargo(&["test", "--workspace"]))),
    ("docs", || run_cargo(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))),
    ("simulator", || run_cargo(&mut cargo(&["run", "-p", "guildhall-sim", "--", "--schedules", "100000"]))),
    ("payments", || {
        run_cargo(&mut cargo(&["run", "-p", "guildhall-sim", "--", "--payments", "--schedules", "100000"]))
    }),
    ("mutants", || mutants::run(&[])),
];

pub(crate) fn run() -> Outcome {
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
