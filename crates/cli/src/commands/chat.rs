//! `chat`: a conversation with an agent that stays, and whose hires live on while it goes on.

use crate::args::ChatArgs;
use crate::exit::{Exit, Failure};
use crate::prepare::Prepared;
use crate::print::{WARN, note, say_in};
use crate::talk::{Lines, Talk, Typed};
use crate::watch::{Signals, TOO_LONG, Watch};
use crate::world::World;

/// Talks until the person has no more to say. Nothing is begun before the first words.
pub(crate) async fn chat(world: &World, args: ChatArgs) -> Result<Exit, Failure> {
    let watch = args.work.watch;
    let prepared = Prepared::new(world, args.work, None).await?;
    let mut lines = Lines::read()?;
    let Some(words) = first(&mut lines).await? else {
        note("nothing was said, and nothing was spent");
        return Ok(Exit::Done);
    };
    let signals = Signals::listen()?;
    let running = prepared.undertaking(words).open().start().await?;
    note(&format!("session {}; /end or the end of input ends it", running.id()));
    Watch::new(prepared.hall, running, watch, signals).with(Some(Talk::new(lines))).until_the_end().await
}

/// The first words, if there are any.
async fn first(lines: &mut Lines) -> Result<Option<String>, Failure> {
    loop {
        lines.invite();
        match lines.next().await {
            Typed::Words(words) => return Ok(Some(words)),
            Typed::TooLong => say_in(WARN, TOO_LONG),
            Typed::Unreadable(why) => return Err(Failure::usage(format!("stdin can't be read: {why}"))),
            Typed::Over => return Ok(None),
        }
    }
}
