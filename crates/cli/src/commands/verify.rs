//! `verify`: checks everything that is stored against the hashes, the heads and the laws.

use guildhall::Checked;

use crate::args::VerifyArgs;
use crate::commands::list::rehearsed;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{BAD, NotWritten, count, note, out, say_in, tame};
use crate::world::World;

/// What a check by hashes alone can't detect.
const LIMITS: &str = "checked against the journal's own hashes. A change with newly computed hashes is detected only with a head \
                      that you saved before: guildhall verify ID --head HEAD";

/// The longest finding that is shown, in characters.
const FINDING_CHARS_MAX: usize = 1000;

/// Checks one session, or all sessions, and the hall as a whole.
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
    found.sessions.iter().try_for_each(print_checked)?;
    // The money of the wallet is checked with all sessions, and only if each of them is sound.
    if id.is_none()
        && found.is_sound()
        && let treasury = hall.treasury().await?
        && treasury.wallet().is_some()
    {
        let invoices = count(treasury.invoices().count(), "invoice");
        let payments = count(treasury.payments().count(), "payment");
        out(&format!(
            "the money of the wallet: {invoices}, {payments}; every payment fits the account of its session or \
             payee, and every balance adds up"
        ))?;
    }
    if args.head.is_none() {
        note(LIMITS);
    }
    Ok(if found.is_sound() { Exit::Done } else { Exit::Failed })
}

/// Prints the problems of a session, or that there are none.
fn print_checked(checked: &Checked) -> Result<(), NotWritten> {
    let Checked { id, view, wrong } = checked;
    for wrong in wrong {
        say_in(BAD, &format!("{id}: {}", tame(wrong, FINDING_CHARS_MAX)));
    }
    match view {
        Some(view) if wrong.is_empty() => out(&format!(
            "{id}: {} facts, {} account facts; every hash matches and every balance adds up{}\n  head {}",
            view.head.facts,
            view.head.account,
            rehearsed(view),
            view.head
        )),
        Some(_) | None => Ok(()),
    }
}
