//! `chat`: a conversation with an agent. Its hires keep working between the person's messages.

use crate::args::{ChatArgs, Output};
use crate::commands::run::{note_transcripts, start, stopped_early};
use crate::exit::{Exit, Failure};
use crate::failed;
use crate::prepare::Prepared;
use crate::print::{WARN, note, say, say_in, tame};
use crate::talk::{Command, HELP, Lines, Talk, Typed};
use crate::watch::{NOT_TEXT, Signals, TOO_LONG, Watch};
use crate::world::World;

/// Runs a conversation. The session starts with the person's first message.
pub(crate) async fn chat(world: &World, args: ChatArgs) -> Result<Exit, Failure> {
    let watch = args.work.watch;
    let prepared = Prepared::new(world, args.work, None).await?;
    let mut lines = Lines::read(&world.paths.history)?;
    let Some(words) = first(&mut lines).await? else {
        const UNSENT: &str = "no message was sent, and nothing was spent";
        note(UNSENT);
        match (watch.output.output, prepared.session()) {
            (Output::Text, _) => {}
            (Output::Json, Some(id)) => failed::print_session(&prepared.hall, id, UNSENT, Exit::Done).await,
            (Output::Json, None) => failed::print_alone(UNSENT, Exit::Done),
        }
        return Ok(Exit::Done);
    };
    let mut signals = Signals::listen()?;
    let (id, undertaking) = prepared.undertaking(words).open().with_session();
    let running = start(&prepared.hall, &id, Box::pin(undertaking.start()), &mut signals).await?;
    let Some(running) = running else {
        return Ok(stopped_early(&prepared.hall, &id, watch.output.output).await);
    };
    note(&format!("session {}; type /exit to end the conversation, /help to list the other commands", running.id()));
    note_transcripts(&running);
    Watch::new(prepared.hall, running, watch, signals).await?.with(Some(Talk::new(lines))).until_the_end().await
}

/// Prints that a command is unknown.
pub(crate) fn unknown(typed: &str) {
    say_in(
        WARN,
        &format!("unknown command {}: /help lists the commands. Nothing was sent to the agent", tame(typed, 40)),
    );
}

/// Returns the first message, if there is one.
async fn first(lines: &mut Lines) -> Result<Option<String>, Failure> {
    loop {
        lines.invite();
        match lines.next().await {
            Typed::Words(words) => return Ok(Some(words)),
            Typed::Command(Command::Help) => say(HELP),
            Typed::Command(Command::Cost | Command::Agents) => note("no agent is at work yet, and nothing was spent"),
            Typed::Command(Command::Unknown(typed)) => unknown(&typed),
            Typed::TooLong => say_in(WARN, TOO_LONG),
            Typed::NotText => say_in(WARN, NOT_TEXT),
            Typed::Unreadable(why) => return Err(Failure::usage(format!("stdin can't be read: {why}"))),
            Typed::Over => return Ok(None),
        }
    }
}
