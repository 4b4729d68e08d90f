//! `stop`: an order for whoever runs the session.

use guildhall::Ending;

use crate::args::StopArgs;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::live::note;
use crate::world::World;

/// Leaves the order.
pub(crate) async fn stop(world: &World, args: StopArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let how = if args.wrap_up { Ending::WrapUp } else { Ending::Cancel };
    let id = &args.id;
    match hall.end(id, how).await? {
        Some(holder) => note(&format!("{id} is told; process {} carries it out", holder.pid)),
        None => note(&format!("nobody runs {id} now: it is told when it goes on with: guildhall resume {id}")),
    }
    Ok(Exit::Done)
}
