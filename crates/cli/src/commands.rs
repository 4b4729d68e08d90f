//! The commands.

pub(crate) mod agents;
pub(crate) mod chat;
pub(crate) mod correct;
pub(crate) mod demo;
pub(crate) mod hire;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod models;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod stop;
pub(crate) mod verify;

use serde::Serialize;

use crate::args::{Command, Output, PathsArgs};
use crate::exit::{Exit, Failure};
use crate::print::{Unwritten, out, tame_json};
use crate::world::World;

/// Executes a command.
pub(crate) async fn execute(command: Command) -> Result<Exit, Failure> {
    // Each command reads the environment itself. A demo must not, so that the user's settings can't break it.
    let look = World::look;
    match command {
        Command::Run(args) => run::run(&look()?, args).await,
        Command::Chat(args) => chat::chat(&look()?, args).await,
        Command::Resume(args) => run::resume(&look()?, args).await,
        Command::Show(args) => show::show(&look()?, args).await,
        Command::Ls(args) => list::list(&look()?, args).await,
        Command::Stop(args) => stop::stop(&look()?, args).await,
        Command::Message(args) => stop::message(&look()?, args).await,
        Command::Hire(args) => hire::hire(&look()?, args).await,
        Command::Topup(args) => stop::topup(&look()?, args).await,
        Command::Correct(args) => correct::correct(&look()?, args).await,
        Command::Map(args) => agents::map(&look()?, &args),
        Command::Agents(args) => agents::agents(&look()?, &args),
        Command::Verify(args) => verify::verify(&look()?, args).await,
        Command::Models(args) => models::models(&look()?, &args),
        Command::Paths(args) => paths(&look()?, &args),
        Command::Demo(args) => demo::demo(args).await,
        Command::Completions(args) => install::completions(&args),
        Command::Man(args) => install::man(&args),
    }
}

fn paths(world: &World, args: &PathsArgs) -> Result<Exit, Failure> {
    let paths = &world.paths;
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
pub(crate) fn out_json(result: &impl Serialize) -> Result<(), Unwritten> {
    out(&tame_json(&serde_json::to_string_pretty(result).expect("a result is JSON")))
}
