//! `verify`: everything that is stored, against the chain of hashes and the laws.

use guildhall::Hall;
use guildhall::local::{Head, SessionId};

use crate::args::VerifyArgs;
use crate::commands::list::rehearsed;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{BAD, out, say_in};
use crate::world::World;

/// Checks a session, or all.
pub(crate) async fn verify(world: &World, args: VerifyArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let ids: Vec<SessionId> = match args.id {
        Some(id) => vec![id],
        None => hall.journal().sessions().await?.into_iter().map(|row| row.id).collect(),
    };
    let mut exit = Exit::Done;
    for id in ids {
        if !check(&hall, &id, args.head).await? {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

/// Checks one session, and says what is wrong with it.
async fn check(hall: &Hall, id: &SessionId, printed: Option<Head>) -> Result<bool, Failure> {
    let head = match hall.journal().verify_chain(id, printed).await? {
        Ok(head) => head,
        Err(broken) => {
            say_in(BAD, &format!("{id}: the chain is broken: {broken}"));
            return Ok(false);
        }
    };
    let view = hall.session(id).await?;
    for violation in &view.violations {
        say_in(BAD, &format!("{id}: {violation}"));
    }
    if view.violations.is_empty() {
        out(&format!(
            "{id}: {} facts, {} of the account; the chain is whole and every law is kept{}",
            head.facts,
            head.account,
            rehearsed(&view)
        ))?;
    }
    Ok(view.violations.is_empty())
}
