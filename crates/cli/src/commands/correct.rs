//! `correct`: records the amount that the provider billed for a reserved call.

use guildhall::Corrected;
use guildhall::kernel::Msat;

use crate::amount::{both, sats};
use crate::args::CorrectArgs;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::out;
use crate::world::World;

/// Records the real cost of a reserved call.
pub(crate) async fn correct(world: &World, args: CorrectArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let rate = hall.models().rate();
    let billed = args.billed.msat(rate);
    let (id, ask) = (&args.session.find(&hall).await?, &args.ask);
    let Corrected { reserved, released, free } = hall.correct(id, ask, billed).await?;
    let reserved = sats(reserved);
    if released == Msat::ZERO {
        let billed = both(billed, rate);
        out(&format!("call {ask} of session {id} cost {billed}: the whole reserved amount of {reserved} is used"))?;
        return Ok(Exit::Done);
    }
    let (billed, released, free) = (both(billed, rate), sats(released), sats(free));
    out(&format!("call {ask} of session {id} cost {billed} of the reserved {reserved}: {released} are free again"))?;
    out(&format!("the session has {free} free. To use them, run: guildhall run --continue {id} \"…\""))?;
    Ok(Exit::Done)
}
