//! `transcript`: prints what one agent was shown and what it replied, as JSON lines from the journal, or writes the transcripts of
//! a whole session into a directory.

use std::path::Path as FilePath;

use guildhall::kernel::Path;
use guildhall::local::SessionId;
use guildhall::{Hall, UnreadableText};

use crate::args::TranscriptArgs;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{note, out, out_path, tame, warn};
use crate::world::World;

/// Prints a transcript, or writes all of them.
pub(crate) async fn transcript(world: &World, args: TranscriptArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let id = args.id.session.find(&hall).await?;
    if let Some(missing) = hall.missing_commits() {
        warn(&missing);
    }
    let exit = match (&args.all, args.id.contract) {
        (None, contract) => print(&hall, &id, &contract.unwrap_or_else(|| Path::root(1))).await?,
        (Some(directory), None) => write(&hall, &id, directory).await?,
        (Some(_), Some(contract)) => {
            return Err(Failure::usage(format!(
                "--all writes the transcripts of all contracts: leave out /{contract} or --all"
            )));
        }
    };
    if let Some(holder) = hall.journal().running(&id).await? {
        note(&format!("session {id} is running (process {}): this is what is stored so far", holder.pid));
    }
    Ok(exit)
}

async fn print(hall: &Hall, id: &SessionId, contract: &Path) -> Result<Exit, Failure> {
    let mut transcript = hall.transcript(id, contract).await?;
    while let Some(line) = transcript.next().await {
        out(&line)?;
    }
    Ok(tell_unreadable(transcript.unreadable()))
}

async fn write(hall: &Hall, id: &SessionId, directory: &FilePath) -> Result<Exit, Failure> {
    let written = hall.write_transcripts(id, directory).await?;
    for file in &written.files {
        out_path(file)?;
    }
    Ok(tell_unreadable(&written.unreadable))
}

/// Warns of texts that can't be read. Their places in the transcript say the same.
fn tell_unreadable(unreadable: &[UnreadableText]) -> Exit {
    for text in unreadable {
        warn(&tame(&text.to_string(), 1000));
    }
    if unreadable.is_empty() { Exit::Done } else { Exit::Partial }
}
