//! `verify`: everything that is stored, against the hashes, the heads and the laws.

use guildhall::Checked;

use crate::args::VerifyArgs;
use crate::commands::list::rehearsed;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{BAD, Unwritten, note, out, say_in, tame};
use crate::world::World;

/// What a check by hashes alone can't find.
const LIMITS: &str = "checked against the journal's own hashes. Somebody who computes all of them anew is found only by a head that \
                      you noted before: guildhall verify ID --head HEAD";

/// The most of a finding that is told, in characters.
const FINDING_CHARS_MAX: usize = 1000;

/// Checks a session, or all, and the hall as a whole.
pub(crate) async fn verify(world: &World, args: VerifyArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let id = match &args.id {
        Some(id) => Some(id.find(&hall).await?),
        None => None,
    };
    let found = hall.verify(id.as_ref(), args.head).await?;
    for wrong in &found.hall {
        say_in(BAD, &tame(wrong, FINDING_CHARS_MAX));
    }
    found.sessions.iter().try_for_each(tell)?;
    if args.head.is_none() {
        note(LIMITS);
    }
    Ok(if found.is_sound() { Exit::Done } else { Exit::Failed })
}

/// Says what is wrong with a session, or that nothing is.
fn tell(checked: &Checked) -> Result<(), Unwritten> {
    let Checked { id, view, wrong } = checked;
    for wrong in wrong {
        say_in(BAD, &format!("{id}: {}", tame(wrong, FINDING_CHARS_MAX)));
    }
    match view {
        Some(view) if wrong.is_empty() => out(&format!(
            "{id}: {} facts, {} of the account; every hash matches and every balance adds up{}\n  head {}",
            view.head.facts,
            view.head.account,
            rehearsed(view),
            view.head
        )),
        Some(_) | None => Ok(()),
    }
}
