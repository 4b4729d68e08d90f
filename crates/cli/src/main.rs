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

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::exit::Exit;
use crate::print::{BAD, say};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => {
            say(&format!("{BAD}guildhall can't start: {why}{BAD:#}"));
            return Exit::Temporary.into();
        }
    };
    match runtime.block_on(commands::carry_out(cli.command)) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            say(&format!("{BAD}guildhall: {failure}{BAD:#}"));
            failure.exit.into()
        }
    }
}
