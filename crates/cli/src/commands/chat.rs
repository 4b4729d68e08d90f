//! `chat`: a conversation with an agent. Its hires keep working between the person's messages.

use crate::args::{ChatArgs, Output};
use crate::commands::run::{note_transcripts, start, stopped_early};
use crate::exit::{Exit, Failure};
use crate::failed;
use crate::prepare::Prepared;
use crate::print::note;
use crate::signals::Signals;
use crate::switch::{First, Permissions, first};
use crate::talk::{Lines, Talk};
use crate::watch::Watch;
use crate::world::World;

/// Runs a conversation. The session starts with the person's first message.
pub(crate) async fn chat(world: &World, args: ChatArgs) -> Result<Exit, Failure> {
    let (watch, permissions) = (args.work.watch, Permissions { world: world.clone(), given: args.work.consent() });
    let mut prepared = Prepared::new(world, args.work, None).await?;
    let mut lines = Lines::read(&world.paths.history)?;
    let Some(words) = first_message(&mut lines, &permissions, &mut prepared).await? else {
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
    let talk = Talk::new(lines, permissions);
    Watch::new(prepared.hall, running, watch, signals).await?.with(Some(talk)).until_the_end().await
}

/// Returns the first message, if there is one.
async fn first_message(
    lines: &mut Lines,
    permissions: &Permissions,
    prepared: &mut Prepared,
) -> Result<Option<String>, Failure> {
    loop {
        let model = prepared.undertaking(String::new()).staffing().await?.model().to_owned();
        match first(lines, permissions, prepared.hall.models(), &model).await? {
            First::Message(words) => return Ok(Some(words)),
            First::Switch(switch) => prepared.switch(switch),
            First::Over => return Ok(None),
        }
    }
}
