//! `stop`, `message` and `topup`: orders for whoever runs a session.

use guildhall::kernel::Path;
use guildhall::local::{Holder, SessionId};
use guildhall::{Ending, Hall, Instruction, ToppedUp};

use crate::amount::both;
use crate::args::{MessageArgs, StopArgs, TopupArgs};
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{WARN, note, say_in};
use crate::session_ref::TargetRef;
use crate::world::World;

/// Tells a session, or a contract of it, to end.
pub(crate) async fn stop(world: &World, args: StopArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let how = if args.wrap_up { Ending::WrapUp } else { Ending::Cancel };
    let session = args.id.session.find(&hall).await?;
    let holder = match args.id.contract {
        None if hall.end_unreadable(&session).await? => {
            note(&format!("{session} has ended: nobody could go on. See its bill with `guildhall show {session}`"));
            return Ok(Exit::Done);
        }
        None => hall.end(&session, how).await?,
        Some(contract) => hall.tell(&session, &contract, Instruction::End(how)).await?,
    };
    Ok(told(&session, holder))
}

/// Says something to an agent at work.
pub(crate) async fn message(world: &World, args: MessageArgs) -> Result<Exit, Failure> {
    if args.text.trim().is_empty() {
        return Err(Failure::usage("the message is empty"));
    }
    let hall = world.hall(here()?)?;
    let (id, to) = contract(&hall, args.to).await?;
    let holder = hall.tell(&id, &to, Instruction::Words(args.text)).await?;
    Ok(told(&id, holder))
}

/// Gives a contract at work more money.
pub(crate) async fn topup(world: &World, args: TopupArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let (id, to) = &contract(&hall, args.to).await?;
    let money = args.amount.msat(hall.models().rate());
    let topped_up = hall.top_up(id, to, money).await?;
    let amount = both(money, hall.models().rate());
    match topped_up {
        ToppedUp::Given => note(&format!("{to} of {id} has {amount} more")),
        ToppedUp::StaysWith(with) => {
            say_in(WARN, &format!("{to} of {id} takes no more money: {amount} stay with {with}"));
        }
        ToppedUp::StaysInSession { root } => say_in(WARN, &late(id, &root, &amount)),
        ToppedUp::Waits(holder) => {
            note(&format!("{amount} more for {to} of {id}"));
            return Ok(told(id, holder));
        }
    }
    Ok(Exit::Done)
}

/// Says that money came after its root had closed.
pub(crate) fn late(id: &SessionId, root: &Path, amount: &str) -> String {
    format!("root {root} has closed: {amount} stay in the session; use them with `guildhall run --continue {id}`")
}

/// The session and the contract that are meant: the session's newest root unless a contract is named.
async fn contract(hall: &Hall, to: TargetRef) -> Result<(SessionId, Path), Failure> {
    let session = to.session.find(hall).await?;
    let contract = match to.contract {
        Some(contract) => contract,
        None => hall.root(&session).await?,
    };
    Ok((session, contract))
}

fn told(id: &SessionId, holder: Option<Holder>) -> Exit {
    match holder {
        Some(holder) => note(&format!("delivered to {id}, which runs in process {}", holder.pid)),
        None => note(&format!("nobody runs {id} now: the order waits until you type: guildhall resume {id}")),
    }
    Exit::Done
}
