//! The choice of a session from a list, in a terminal.

use std::io::{self, BufRead, IsTerminal};

use guildhall::local::SessionId;
use guildhall::{Unreadable, View};

use crate::commands::list;
use crate::commands::run::here;
use crate::exit::Failure;
use crate::print::{BOLD, say};
use crate::session_ref::SessionRef;
use crate::world::World;

/// The most sessions of a list, the newest ones.
const LISTED_MAX: usize = 20;

/// Lets the person choose one of the interrupted sessions. A script must name the session.
pub(crate) async fn interrupted(world: &World) -> Result<SessionId, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(
            "no session is named. Try: guildhall resume last. To list all sessions, run: guildhall ls",
        ));
    }
    let hall = world.hall(here()?)?;
    let sessions = hall.sessions().await?;
    let interrupted: Vec<_> = sessions.iter().filter(|session| is_interrupted(session)).take(LISTED_MAX).collect();
    if interrupted.is_empty() {
        return Err(Failure::refused(
            "no session was interrupted. To continue the newest one of this directory with another task, run: \
             guildhall run -c \"…\"",
        ));
    }
    for (number, line) in (1..).zip(list::lines(&interrupted, hall.models().rate())) {
        say(&format!("{number:>2}  {line}"));
    }
    say(&format!("{BOLD}Which session? Type its number or its id, or only Enter for none{BOLD:#}"));
    let mut typed = String::new();
    let read = io::stdin().lock().read_line(&mut typed);
    read.map_err(|why| Failure::failed(format!("can't read the answer: {why}")))?;
    let typed = typed.trim();
    let listed = typed.parse::<usize>().ok().and_then(|number| interrupted.get(number.checked_sub(1)?).copied());
    match (listed, typed) {
        (Some(Ok(view)), _) => Ok(view.row.id.clone()),
        (_, "") => Err(Failure::refused("no session was chosen")),
        (_, id) => match id.parse::<SessionRef>() {
            Ok(id) => id.find(&hall).await,
            Err(why) => Err(Failure::usage(format!("{id:?} is neither a number of the list nor an id: {why}"))),
        },
    }
}

/// Whether a session has work that no process does.
fn is_interrupted(session: &Result<View, Unreadable>) -> bool {
    session.as_ref().is_ok_and(|view| view.request.is_some() && view.report.is_none() && view.holder.is_none())
}
