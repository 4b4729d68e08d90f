//! `stop`, `message` and `topup`: orders to the process that runs a session.

use guildhall::kernel::Path;
use guildhall::local::{Holder, SessionId};
use guildhall::{Ending, Hall, HallError, Instruction, ToppedUp};

use crate::amount::both;
use crate::args::{MessageArgs, StopArgs, TopupArgs};
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{WARN, note, say_in};
use crate::session_ref::TargetRef;
use crate::world::World;

/// Ends a session that no process runs. Otherwise orders a session, or a contract of it, to end.
pub(crate) async fn stop(world: &World, args: StopArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let how = if args.wrap_up { Ending::WrapUp } else { Ending::Cancel };
    let session = args.id.session.find(&hall).await?;
    let hire = match args.id.contract {
        Some(contract) if contract != hall.root(&session).await? => Some(contract),
        Some(_) | None => None,
    };
    let Some(hire) = hire else { return stop_session(&hall, &session, how).await };
    let holder = hall.instruct(&session, &hire, Instruction::End(how)).await?;
    Ok(delivered(&format!("stopping {session}/{hire}"), "the stop", &session, holder.as_ref()))
}

async fn stop_session(hall: &Hall, session: &SessionId, how: Ending) -> Result<Exit, Failure> {
    let ended = hall.end_here(session, how).await;
    if let Err(HallError::NothingToResume(_)) = ended {
        note(&format!("session {session} never began: there is nothing to end"));
        return Ok(Exit::Done);
    }
    if ended? {
        note(&format!("session {session} has ended. To see its bill, run: guildhall show {session}"));
        return Ok(Exit::Done);
    }
    let holder = hall.end(session, how).await?;
    let exit = delivered(&format!("stopping {session}"), "the stop", session, holder.as_ref());
    if holder.is_none() {
        note(&format!("to end session {session} now, without a last report, run: guildhall stop {session}"));
    }
    Ok(exit)
}

/// Sends a message to an agent at work.
pub(crate) async fn message(world: &World, args: MessageArgs) -> Result<Exit, Failure> {
    if args.text.trim().is_empty() {
        return Err(Failure::usage("the message is empty: write a text after the session id"));
    }
    let hall = world.hall(here()?)?;
    let (id, to) = contract(&hall, args.to).await?;
    let holder = hall.instruct(&id, &to, Instruction::Message(args.text)).await?;
    Ok(delivered(&format!("message delivered to {id}"), "the message", &id, holder.as_ref()))
}

/// Gives a contract at work more money.
pub(crate) async fn topup(world: &World, args: TopupArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let (id, to) = &contract(&hall, args.to).await?;
    let money = args.amount.msat(hall.models().rate());
    let topped_up = hall.top_up(id, to, money).await?;
    let amount = both(money, hall.models().rate());
    match topped_up {
        ToppedUp::Given => note(&format!("contract {to} of session {id} has {amount} more")),
        ToppedUp::HasHirer(hirer) => note(&format!(
            "contract {to} of session {id} waits for money and has not started: its hirer, contract {hirer}, has {amount} more"
        )),
        ToppedUp::StaysWith(with) => {
            let why = format!("contract {to} of session {id} takes no more money");
            say_in(WARN, &format!("{why}: {amount} stay with contract {with}"));
        }
        ToppedUp::StaysInSession { root } => say_in(WARN, &late(id, &root, &amount)),
        ToppedUp::Waits(holder) => {
            note(&format!("{amount} more for contract {to} of session {id}"));
            return Ok(delivered(&format!("money delivered to {id}"), "the money", id, holder.as_ref()));
        }
    }
    Ok(Exit::Done)
}

/// The message about money that came after its root had closed.
pub(crate) fn late(id: &SessionId, root: &Path, amount: &str) -> String {
    format!("contract {root} has closed: {amount} stay in the session. To use them, run: guildhall run --continue {id}")
}

/// The session and the contract of the command line. Without a contract, it is the session's newest root.
async fn contract(hall: &Hall, to: TargetRef) -> Result<(SessionId, Path), Failure> {
    let session = to.session.find(hall).await?;
    let contract = match to.contract {
        Some(contract) => contract,
        None => hall.root(&session).await?,
    };
    Ok((session, contract))
}

/// Says what happens, and in which process, or that the order (`what`) waits for a process.
fn delivered(happens: &str, what: &str, id: &SessionId, holder: Option<&Holder>) -> Exit {
    match holder {
        Some(holder) => note(&format!("{happens} (pid {})", holder.pid)),
        None => note(&format!(
            "no process runs session {id} now: {what} is stored and takes effect when you run: guildhall resume {id}"
        )),
    }
    Exit::Done
}
