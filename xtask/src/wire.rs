//! Builds the programs of the benchmark over HTTP and starts it. `crates/bench` measures; it builds nothing.

use serde_json::Value;

use crate::{Outcome, cargo, run as run_cargo};

pub(crate) fn run(args: &[&str]) -> Outcome {
    let mut bench = cargo(&["run", "--quiet", "--release", "-p", "guildhall-bench", "--"]);
    bench.args(args);
    if !args.iter().any(|arg| arg.starts_with("--guildhall") || *arg == "--help") {
        let program = build(&["build", "--release", "-p", "guildhall-cli"])?;
        bench.args(["--guildhall", &program]);
    }
    run_cargo(&mut bench)
}

/// Builds a program and returns its path.
fn build(args: &[&str]) -> Result<String, String> {
    let failed = |why: String| format!("`cargo {}` failed: {why}", args.join(" "));
    let mut command = cargo(args);
    command.arg("--message-format=json-render-diagnostics").stderr(std::process::Stdio::inherit());
    let output = command.output().map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let messages = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let program = messages.filter_map(|message| message.ok()?["executable"].as_str().map(str::to_owned)).last();
    program.ok_or_else(|| failed("it built no program".into()))
}
