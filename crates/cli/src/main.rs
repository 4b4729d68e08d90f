//! The command line of Guildhall.

mod advice;
mod agent_file;
mod amount;
mod args;
mod bill;
mod commands;
mod complete;
mod config;
mod consent;
mod exit;
mod failed;
mod live;
mod local_server;
mod markdown;
mod nearest;
mod paths;
mod prepare;
mod print;
mod quote;
mod screen;
mod session_ref;
mod showing;
mod signals;
mod stdin;
mod switch;
mod talk;
mod task_file;
mod team;
mod unknown_model;
mod watch;
mod world;

use std::env;
use std::io;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use guildhall::agent::is_unseen;
use rustix::process::Signal;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::implied::with_command;
use crate::args::{Cli, Output};
use crate::exit::{Exit, Failure};
use crate::print::{BAD, say, tame_lines};

/// How long the program waits for its threads when it ends.
const SHUTDOWN_TIME_MAX: Duration = Duration::from_millis(300);

/// The async runtime. One thread runs all contracts: they wait most of the time, and several threads would spend more time on
/// waking each other than they save. The journal, the tools, transcript files and the terminal have threads of their own.
/// This function also handles SIGXFSZ: a write beyond the limit of file sizes becomes an error with a message, instead of a signal
/// that ends the process.
fn runtime() -> io::Result<Runtime> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    // Listening once replaces the default action of the signal for the whole process.
    drop(signal(SignalKind::from_raw(Signal::XFSZ.as_raw()))?);
    drop(entered);
    Ok(runtime)
}

fn main() -> ExitCode {
    complete::answer_shell();
    let cli = match Cli::try_parse_from(with_command(env::args_os().collect())) {
        Ok(cli) => cli,
        Err(why) => return not_parsed(why),
    };
    let output = cli.command.output();
    screen::set_level(cli.command.level());
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(why) => {
            let failure = Failure::temporary(format!("guildhall can't start: {why}"));
            say(&format!("{BAD}{failure}{BAD:#}"));
            if output == Output::Json {
                failed::print_alone(&failure.to_string(), failure.exit);
            }
            return failure.exit.into();
        }
    };
    // Boxed, because the runtime would compile all commands once for each of its schedulers.
    let work: Pin<Box<dyn Future<Output = Result<Exit, Failure>>>> = Box::pin(commands::execute(cli.command));
    let exit = match runtime.block_on(work) {
        Ok(exit) => exit,
        Err(failure) => {
            say(&format!("{BAD}guildhall: {}{BAD:#}", tame_lines(&failure.to_string())));
            failure.exit
        }
    };
    shut_down(runtime);
    exit.into()
}

/// Ends the program because of its arguments, or after it has printed its help or its version.
fn not_parsed(mut why: clap::Error) -> ExitCode {
    if why.kind() == ErrorKind::InvalidSubcommand {
        let mut tips = match why.remove(ContextKind::SuggestedSubcommand) {
            Some(ContextValue::Strings(near)) if !near.is_empty() => {
                vec![format!("the nearest command is '{}'", near.join("' or '")).into()]
            }
            Some(_) | None => Vec::new(),
        };
        tips.push("a task of one word needs a command: guildhall run WORD".to_owned().into());
        why.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    let exit = if why.use_stderr() { Exit::Usage } else { Exit::Done };
    if exit == Exit::Usage && failed::is_json_wanted() {
        let why = why.render().to_string();
        let why = why.trim();
        failed::print_alone(why.strip_prefix("error: ").unwrap_or(why), exit);
    }
    // The error repeats what was typed. Characters that a terminal would not show, or that would change the order of others, are
    // removed, and with them the colours.
    if exit == Exit::Usage && env::args_os().any(|word| word.to_string_lossy().chars().any(is_unseen)) {
        say(tame_lines(&why.render().to_string()).trim_end());
        return exit.into();
    }
    // Without a place to print to, the exit code says it all.
    why.print().ok();
    exit.into()
}

/// Stops all threads. A thread that can't be interrupted, for example one that waits for a disk, ends with the process. Everything
/// that must be stored is durable at this point.
fn shut_down(runtime: Runtime) {
    runtime.shutdown_timeout(SHUTDOWN_TIME_MAX);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::{runtime, shut_down};

    #[test]
    fn a_thread_that_can_not_be_stopped_does_not_delay_the_end() {
        let runtime = runtime().unwrap();
        let (began, has_begun) = channel();
        let (release, released) = channel::<()>();
        runtime.spawn_blocking(move || {
            began.send(()).unwrap();
            released.recv().ok();
        });
        has_begun.recv().unwrap();
        let start = Instant::now();
        shut_down(runtime);
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        drop(release);
    }
}
