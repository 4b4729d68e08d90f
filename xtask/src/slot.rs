//! A copy of the source with its own build directory, where one mutant at a time is built and run. A file is rewritten only
//! if its content differs, so that cargo rebuilds only what the mutant changed.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cargo;
use crate::mutants::{Catcher, Mutant};

const SOURCE: [&str; 5] = ["Cargo.toml", "Cargo.lock", "crates", "examples", "xtask"];
/// The crates that the workspace optimises in tests. A mutant is built once and detected within seconds, so an optimised
/// build would take longer than it saves.
const OPTIMISED: [&str; 3] = ["guildhall-kernel", "guildhall-laws", "guildhall-sim"];
/// A run that takes more processor time hangs. The run without a bug takes a quarter of it, however busy the machine is.
const PROCESSOR_SECONDS_MAX: u32 = 120;
/// A run that waits for something that never comes takes no processor time.
const RUN_TIME_MAX: Duration = Duration::from_mins(15);
/// The signal for too much processor time, `SIGXCPU`.
const TOO_MUCH_TIME: i32 = 24;
const POLL: Duration = Duration::from_millis(20);
/// How the simulator runs.
const SCHEDULES: [&str; 4] = ["--schedules", "20000", "--threads", "1"];
/// How a line of the simulator begins that says which law is broken. A simulator that prints such a line ends with code 1.
const VIOLATION: &str = "violation:";
const OUTPUT_BYTES_MAX: u64 = 1024 * 1024;
const LINE_CHARS_MAX: usize = 120;

/// The result of trying a mutant.
pub(crate) enum Verdict {
    /// The bug was detected. Contains the first line of the evidence.
    Caught(String),
    /// The run reached the time limit, which the run without the bug does not.
    Hung,
    Survived,
    /// The mutant could not be built or run.
    Unusable(String),
}

pub(crate) struct Slot {
    source: PathBuf,
    build: PathBuf,
    log: PathBuf,
}

impl Slot {
    pub(crate) fn prepare(number: usize) -> io::Result<Self> {
        let mutants = env::current_dir()?.join("target/mutants");
        let source = mutants.join(format!("slot-{number}"));
        fs::create_dir_all(&source)?;
        for name in SOURCE.iter().filter(|name| Path::new(name).exists()) {
            mirror(Path::new(name), &source.join(name))?;
        }
        Ok(Self {
            source,
            build: mutants.join(format!("build-{number}")),
            log: mutants.join(format!("slot-{number}.log")),
        })
    }

    /// Fails unless the check passes on the unchanged source: otherwise a detection would prove nothing.
    pub(crate) fn expect_clean(&self, catcher: &Catcher) -> Result<(), String> {
        match self.check(catcher) {
            Verdict::Survived => Ok(()),
            Verdict::Hung => Err(format!("the run takes more than {PROCESSOR_SECONDS_MAX} s of processor time")),
            Verdict::Caught(line) => Err(format!("{line} (complete output: {})", self.log.display())),
            Verdict::Unusable(why) => Err(why),
        }
    }

    pub(crate) fn try_out(&self, mutant: &Mutant) -> Verdict {
        let file = self.source.join(&mutant.file);
        let planted = || -> Result<Verdict, String> {
            let bugged = mutant.planted(&self.source)?;
            let clean = fs::read(&file).map_err(|e| e.to_string())?;
            fs::write(&file, bugged).map_err(|e| e.to_string())?;
            let verdict = self.check(&mutant.catcher);
            fs::write(&file, clean).map_err(|e| e.to_string())?;
            Ok(verdict)
        };
        planted().unwrap_or_else(Verdict::Unusable)
    }

    fn check(&self, catcher: &Catcher) -> Verdict {
        let ran = self.build(catcher).and_then(|program| self.run(&program, catcher).map_err(|e| e.to_string()));
        let (status, output) = match ran {
            Ok((End::Exited(status), _)) if status.signal() == Some(TOO_MUCH_TIME) => return Verdict::Hung,
            Ok((End::Exited(status), output)) => (status, output),
            Ok((End::ToldViolation, output)) => return Verdict::Caught(evidence(&output)),
            Ok((End::TookTooLong, _)) => return Verdict::Hung,
            Err(why) => return Verdict::Unusable(why),
        };
        match status.code() {
            Some(0) if output.contains("running 0 tests") => Verdict::Unusable("no example has this name".into()),
            Some(0) => Verdict::Survived,
            Some(1 | 101) => Verdict::Caught(evidence(&output)),
            _ => Verdict::Unusable(format!("the run ended with {status}: {}", evidence(&output))),
        }
    }

    /// Builds the program that the check runs and returns its path. The program is run without cargo, because killing cargo
    /// at the time limit would leave the program running.
    fn build(&self, catcher: &Catcher) -> Result<PathBuf, String> {
        let args: &[&str] = match catcher {
            Catcher::Schedules | Catcher::Payments => &["build", "-p", "guildhall-sim", "--bin", "guildhall-sim"],
            Catcher::Example(_) => &["test", "--no-run", "-p", "guildhall-kernel", "--test", "kernel"],
        };
        let output = cargo(args)
            .arg("--message-format=json-render-diagnostics")
            .args(
                OPTIMISED
                    .iter()
                    .flat_map(|name| ["--config".into(), format!("profile.dev.package.{name}.opt-level=0")]),
            )
            .current_dir(&self.source)
            .env("CARGO_TARGET_DIR", &self.build)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            // A mutant changes one line, and the last mutant's line back.
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_TERM_COLOR", "never")
            .output()
            .map_err(|e| format!("cargo: {e}"))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let error: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("error")).collect();
            return Err(format!("the mutant does not compile\n{}", error.join("\n")));
        }
        let messages: Vec<Value> = serde_json::Deserializer::from_slice(&output.stdout)
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(|e| format!("cargo's messages: {e}"))?;
        let program = messages.iter().rev().find_map(|message| message["executable"].as_str());
        program.map(PathBuf::from).ok_or_else(|| "cargo built no program".into())
    }

    /// Runs the program. Returns how the run ended, and its output.
    fn run(&self, program: &Path, catcher: &Catcher) -> io::Result<(End, String)> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -t {PROCESSOR_SECONDS_MAX} && exec \"$@\""), "sh"]).arg(program);
        match catcher {
            Catcher::Schedules => command.args(SCHEDULES).current_dir(&self.source),
            Catcher::Payments => command.arg("--payments").args(SCHEDULES).current_dir(&self.source),
            Catcher::Example(name) => command.arg(name).current_dir(self.source.join("crates/kernel")),
        };
        let log = File::create(&self.log)?;
        let end = run_within(RUN_TIME_MAX, command.stdout(log.try_clone()?).stderr(log), &self.log)?;
        let mut output = Vec::new();
        File::open(&self.log)?.take(OUTPUT_BYTES_MAX).read_to_end(&mut output)?;
        Ok((end, String::from_utf8_lossy(&output).into()))
    }
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Exited(ExitStatus),
    /// The run printed a violation and was killed. The simulator would only search for a shorter schedule that breaks the same
    /// law, which takes longer than finding the first one.
    ToldViolation,
    /// The run was killed at the time limit.
    TookTooLong,
}

/// Runs a command until it ends, until its log has a violation, or until the time limit. Nothing is left running.
fn run_within(limit: Duration, command: &mut Command, log: &Path) -> io::Result<End> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exited(status));
        }
        let is_late = start.elapsed() >= limit;
        let end = match has_violation(log) {
            Ok(true) => Some(Ok(End::ToldViolation)),
            Ok(false) => is_late.then_some(Ok(End::TookTooLong)),
            Err(why) => Some(Err(why)),
        };
        if let Some(end) = end {
            child.kill()?;
            child.wait()?;
            return end;
        }
        thread::sleep(POLL);
    }
}

/// Whether a log has a complete line with a violation.
fn has_violation(log: &Path) -> io::Result<bool> {
    let mut text = Vec::new();
    File::open(log)?.take(OUTPUT_BYTES_MAX).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.split_inclusive('\n').any(|line| line.starts_with(VIOLATION) && line.ends_with('\n')))
}

/// Returns the most useful line of an output: the violation, or the message of the panic, or the last line.
fn evidence(output: &str) -> String {
    let mut lines = output.lines();
    let violation = output.lines().find(|line| line.starts_with(VIOLATION));
    let panic = || lines.find(|line| line.contains("panicked at")).and_then(|_| lines.next());
    let last = || output.lines().rfind(|line| !line.trim().is_empty());
    let line = violation.or_else(panic).or_else(last).unwrap_or("(no output)");
    line.chars().take(LINE_CHARS_MAX).collect()
}

/// Makes `to` equal to `from`. Writes and removes only what differs.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_file() {
        let wanted = fs::read(from)?;
        return if fs::read(to).is_ok_and(|present| present == wanted) { Ok(()) } else { fs::write(to, wanted) };
    }
    let mut wanted = entries(from)?;
    fs::create_dir_all(to)?;
    if wanted.contains(OsStr::new("Cargo.toml")) {
        wanted.remove(OsStr::new("target"));
    }
    for name in entries(to)?.difference(&wanted) {
        let stale = to.join(name);
        if stale.is_dir() { fs::remove_dir_all(stale)? } else { fs::remove_file(stale)? }
    }
    wanted.iter().try_for_each(|name| mirror(&from.join(name), &to.join(name)))
}

fn entries(directory: &Path) -> io::Result<BTreeSet<OsString>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_never_ends_is_killed_at_the_limit() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let end = run_within(Duration::ZERO, Command::new("sleep").arg("600"), log.path());
        assert_eq!(end.unwrap(), End::TookTooLong);
    }

    #[test]
    fn a_run_that_has_printed_a_violation_is_not_waited_for() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let script = "echo found; echo 'violation: lost 3 msat'; exec sleep 600";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(log.reopen().unwrap());
        assert_eq!(run_within(RUN_TIME_MAX, &mut command, log.path()).unwrap(), End::ToldViolation);
    }

    #[test]
    fn words_about_a_violation_inside_a_line_do_not_end_a_run() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let check = |text: &str, expect: bool| {
            fs::write(log.path(), text).unwrap();
            assert_eq!(has_violation(log.path()).unwrap(), expect, "{text}");
        };
        check("", false);
        check("0 schedules, no violation: good\n", false);
        check("found\nviolation: lost 3", false);
        check("found\nviolation: lost 3 msat\n", true);
    }

    #[test]
    fn evidence_is_the_violation_then_the_panic_then_the_last_line() {
        let panic = "thread 'main' panicked at src/main.rs:1:2:\nboom\nnote: backtrace\n";
        let check = |output: &str, expect: &str| assert_eq!(evidence(output), expect);
        check(&format!("{panic}violation: lost 3 msat\nviolation: more\n"), "violation: lost 3 msat");
        check(panic, "boom");
        check("starting\nnever reached: TooDeep\n\n", "never reached: TooDeep");
        check("", "(no output)");
    }
}
