//! `correct`: records the amount that the provider billed for one reserved call, or for each of them.

use guildhall::kernel::{AskKey, Msat};
use guildhall::local::SessionId;
use guildhall::{Corrected, Hall};

use crate::amount::{both, sats, sum};
use crate::args::CorrectArgs;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{count, note, out};
use crate::world::World;

/// The most calls that an error names.
const NAMED_MAX: usize = 5;

/// Records the real cost of reserved calls.
pub(crate) async fn correct(world: &World, args: CorrectArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let id = args.session.find(&hall).await?;
    match (args.ask, args.billed, args.all) {
        (Some(ask), Some(billed), _) => one(&hall, &id, &ask, billed.msat(hall.models().rate())).await,
        (_, _, Some(billed)) => all(&hall, &id, billed.msat(hall.models().rate())).await,
        (_, _, None) => Err(Failure::usage("name a call and an amount, or give --all AMOUNT")),
    }
}

async fn one(hall: &Hall, id: &SessionId, ask: &AskKey, billed: Msat) -> Result<Exit, Failure> {
    let rate = hall.models().rate();
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

/// Records the same cost for each reserved call. Nothing is recorded if less than that is reserved for one of the calls.
async fn all(hall: &Hall, id: &SessionId, billed: Msat) -> Result<Exit, Failure> {
    let calls = hall.session(id).await?.reserved;
    if calls.is_empty() {
        note(&format!("session {id} has no reserved calls: nothing was changed"));
        return Ok(Exit::Done);
    }
    let less: Vec<String> = calls
        .iter()
        .filter(|(_, reserved)| *reserved < billed)
        .map(|(ask, reserved)| format!("{ask} ({})", sats(*reserved)))
        .collect();
    if !less.is_empty() {
        let more = if less.len() > NAMED_MAX { ", …" } else { "" };
        return Err(Failure::refused(format!(
            "less than {} is reserved for {}: {}{more}. Nothing was changed",
            sats(billed),
            count(less.len(), "call"),
            less[..less.len().min(NAMED_MAX)].join(", ")
        )));
    }
    let (rate, mut released, mut free) = (hall.models().rate(), Msat::ZERO, Msat::ZERO);
    for (ask, reserved) in &calls {
        let corrected = hall.correct(id, ask, billed).await?;
        out(&format!("call {ask}: cost {} of the reserved {}", both(billed, rate), sats(*reserved)))?;
        (released, free) = (sum(released, corrected.released), corrected.free);
    }
    let (calls, released, free) = (count(calls.len(), "call"), sats(released), sats(free));
    out(&format!("{calls} of session {id}: {released} are free again"))?;
    out(&format!("the session has {free} free. To use them, run: guildhall run --continue {id} \"…\""))?;
    Ok(Exit::Done)
}
