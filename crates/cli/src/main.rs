//! Guildhall in the terminal.

mod agent_file;
mod amount;
mod args;
mod bill;
mod commands;
mod config;
mod consent;
mod exit;
mod live;
mod local_server;
mod paths;
mod prepare;
mod print;
mod quote;
mod showing;
mod talk;
mod task_file;
mod team;
mod watch;
mod world;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use rustix::process::Signal;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Cli;
use crate::exit::Exit;
use crate::print::{BAD, say, tame_lines};

/// Where everything runs. A file that may not grow any more is an error of the write, which says what happened: by default,
/// the system ends the process without a word.
fn runtime() -> io::Result<Runtime> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let entered = runtime.enter();
    // Whoever listens once is never again ended by it.
    drop(signal(SignalKind::from_raw(Signal::XFSZ.as_raw()))?);
    drop(entered);
    Ok(runtime)
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(why) => {
            say(&format!("{BAD}guildhall can't start: {why}{BAD:#}"));
            return Exit::Temporary.into();
        }
    };
    match runtime.block_on(commands::carry_out(cli.command)) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            say(&format!("{BAD}guildhall: {}{BAD:#}", tame_lines(&failure.to_string())));
            failure.exit.into()
        }
    }
}
