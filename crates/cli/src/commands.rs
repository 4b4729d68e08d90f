//! The commands.

pub(crate) mod agents;
pub(crate) mod chat;
pub(crate) mod correct;
pub(crate) mod demo;
pub(crate) mod fund;
pub(crate) mod hire;
pub(crate) mod install;
pub(crate) mod ledger;
pub(crate) mod list;
pub(crate) mod models;
pub(crate) mod money;
pub(crate) mod pick;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod stop;
pub(crate) mod transcript;
pub(crate) mod verify;

use serde::Serialize;

use crate::args::{Command, Output, PathsArgs};
use crate::exit::{Exit, Failure};
use crate::failed;
use crate::paths::Paths;
use crate::print::{NotWritten, out, tame_json};
use crate::world::World;

/// Executes a command. Programs that read its result also get the result of a failure.
pub(crate) async fn execute(command: Command) -> Result<Exit, Failure> {
    let (output, session) = (command.output(), command.session().cloned());
    let exit = perform(command).await;
    if let Err(failure) = &exit {
        failed::print(output, session.as_ref(), failure).await;
    }
    exit
}

async fn perform(command: Command) -> Result<Exit, Failure> {
    // Each command reads the environment itself. A demo must not, so that the user's settings can't break it.
    let load = World::load;
    match command {
        Command::Run(args) => run::run(&load()?, args).await,
        Command::Chat(args) => chat::chat(&load()?, args).await,
        Command::Resume(args) => run::resume(&load()?, args).await,
        Command::Show(args) => show::show(&load()?, args).await,
        Command::Transcript(args) => transcript::transcript(&load()?, args).await,
        Command::Ls(args) => list::list(&load()?, args).await,
        Command::Stop(args) => stop::stop(&load()?, args).await,
        Command::Message(args) => stop::message(&load()?, args).await,
        Command::Hire(args) => hire::hire(&load()?, args).await,
        Command::Topup(args) => stop::topup(&load()?, args).await,
        Command::Correct(args) => correct::correct(&load()?, args).await,
        Command::Wallet(args) => money::wallet(&load()?, args).await,
        Command::Fund(args) => fund::fund(&load()?, args).await,
        Command::Close(args) => money::close(&load()?, args).await,
        Command::Payments(args) => money::payments(&load()?, args).await,
        Command::Ledger(args) => ledger::ledger(&load()?, args).await,
        Command::Map(args) => agents::map(&load()?, &args),
        Command::Agents(args) => agents::agents(&load()?, &args),
        Command::Verify(args) => verify::verify(&load()?, args).await,
        Command::Models(args) => models::models(&load()?, &args),
        // A broken config must not hide where the config is.
        Command::Paths(args) => paths(&World::paths()?, &args),
        Command::Serve(args) => serve::serve(&load()?, args).await,
        Command::Demo(args) => demo::demo(args).await,
        Command::Completions(args) => install::completions(&args),
        Command::Man(args) => install::man(&args),
    }
}

fn paths(paths: &Paths, args: &PathsArgs) -> Result<Exit, Failure> {
    match args.output.output {
        Output::Json => out_json(paths)?,
        Output::Text => {
            for (what, path) in [
                ("config", &paths.config),
                ("data", &paths.data),
                ("journal", &paths.journal),
                ("sessions", &paths.sessions),
                ("history", &paths.history),
            ] {
                out(&format!("{what:<9} {}", path.display()))?;
            }
        }
    }
    Ok(Exit::Done)
}

/// Prints a result for programs.
pub(crate) fn out_json(result: &impl Serialize) -> Result<(), NotWritten> {
    out(&tame_json(serde_json::to_string_pretty(result).expect("a result is JSON")))
}

/// Prints a part of the result as one line, for programs that read while this one runs.
pub(crate) fn out_json_line(part: &impl Serialize) -> Result<(), NotWritten> {
    out(&tame_json(serde_json::to_string(part).expect("a result is JSON")))
}
