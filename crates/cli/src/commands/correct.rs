//! `correct`: what the provider really billed for a reserved call.

use guildhall::Corrected;
use guildhall::kernel::Msat;

use crate::amount::{both, sats};
use crate::args::CorrectArgs;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::out;
use crate::world::World;

/// Records what a reserved call really cost.
pub(crate) async fn correct(world: &World, args: CorrectArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let rate = hall.models().rate();
    let billed = args.billed.msat(rate);
    let (id, ask) = (&args.session.find(&hall).await?, &args.ask);
    let Corrected { reserved, released, free } = hall.correct(id, ask, billed).await?;
    let reserved = sats(reserved);
    if released == Msat::ZERO {
        out(&format!("{ask} of {id} cost {}: all {reserved} that were reserved are used", both(billed, rate)))?;
        return Ok(Exit::Done);
    }
    let (billed, released, free) = (both(billed, rate), sats(released), sats(free));
    out(&format!("{ask} of {id} cost {billed}, not the {reserved} that were reserved: {released} are free again"))?;
    out(&format!("the session has {free} free: use them with `guildhall run --continue {id} \"…\"`"))?;
    Ok(Exit::Done)
}
