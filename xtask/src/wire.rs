//! Builds the programs of the benchmarks over HTTP and starts them. `crates/bench` measures and builds nothing.

use std::process::Stdio;

use serde_json::Value;

use crate::{Outcome, cargo, run as run_cargo};

/// A workspace of its own, so that its crates never enter ours.
const RIG: &str = "crates/bench/rig/Cargo.toml";

pub(crate) fn run(args: &[&str]) -> Outcome {
    let has = |names: &[&str]| args.iter().any(|arg| names.contains(&arg.split('=').next().unwrap_or_default()));
    let mut bench = cargo(&["run", "--quiet", "--release", "-p", "guildhall-bench", "--"]);
    bench.args(args);
    if has(&["--help", "-h"]) {
        return run_cargo(&mut bench);
    }
    if !has(&["--guildhall"]) {
        bench.args(["--guildhall", &build(&["build", "--release", "-p", "guildhall-cli"])?]);
    }
    if has(&["--small"]) && !has(&["--rig", "--no-rig"]) {
        bench.args(["--no-rig", "this is a small run"]);
    } else if !has(&["--rig", "--no-rig"]) {
        let built = build(&["build", "--release", "--manifest-path", RIG, "--target-dir", "target/rig"]);
        match &built {
            Ok(program) => bench.args(["--rig", program]),
            Err(_) => bench.args(["--no-rig", "it could not be built on this machine"]),
        };
    }
    run_cargo(&mut bench)
}

/// Starts the benchmark of the server.
pub(crate) fn run_serve(args: &[&str]) -> Outcome {
    let mut bench = cargo(&["run", "--quiet", "--release", "-p", "guildhall-bench", "--", "serve"]);
    bench.args(args);
    if !args.iter().any(|arg| ["--help", "-h"].contains(arg) || arg.starts_with("--guildhall")) {
        bench.args(["--guildhall", &build(&["build", "--release", "-p", "guildhall-cli"])?]);
    }
    run_cargo(&mut bench)
}

/// Starts the benchmark of budgets.
pub(crate) fn run_budget(args: &[&str]) -> Outcome {
    let has = |name: &str| args.iter().any(|arg| arg.starts_with(name));
    let mut bench = cargo(&["run", "--quiet", "--release", "-p", "guildhall-bench", "--", "budget"]);
    bench.args(args);
    for (flag, package) in [("--guildhall", "guildhall-cli"), ("--model-server", "guildhall-model-server")] {
        if !has("--help") && !has("-h") && !has(flag) {
            bench.args([flag, &build(&["build", "--release", "-p", package])?]);
        }
    }
    run_cargo(&mut bench)
}

/// Builds a program and returns its path.
pub(crate) fn build(args: &[&str]) -> Result<String, String> {
    let failed = |why: String| format!("`cargo {}` failed: {why}", args.join(" "));
    let mut command = cargo(args);
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output().map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let messages = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let program = messages.filter_map(|message| message.ok()?["executable"].as_str().map(str::to_owned)).last();
    program.ok_or_else(|| failed("it built no program".into()))
}
