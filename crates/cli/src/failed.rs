//! The JSON result of a command that failed. With `--output json`, stdout is never empty: programs find there why there is no
//! answer. If the failure belongs to a session, the object is the one that the work would have printed, with its bill so far.

use std::env;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use guildhall::local::SessionId;
use guildhall::{Hall, View};
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;

use crate::args::Output;
use crate::bill::Sheet;
use crate::commands::out_json;
use crate::commands::run::here;
use crate::commands::show::whole_sheet;
use crate::exit::{Exit, Failure};
use crate::session_ref::SessionRef;
use crate::watch::ResultJson;
use crate::world::World;

/// How long reading the session may take: a process that must stop can't wait for a disk that is stuck.
const READ_TIME_MAX: Duration = Duration::from_millis(500);

/// Prints the result of a command that failed, if programs read it. `session` is the session that the command named.
pub(crate) async fn print(output: Output, session: Option<&SessionRef>, failure: &Failure) {
    if output != Output::Json {
        return;
    }
    let why = failure.to_string();
    match find(session, failure).await {
        Some((hall, id)) => print_session(&hall, &id, &why, failure.exit).await,
        None => print_alone(&why, failure.exit),
    }
}

/// Prints the result of a command that failed without a session.
pub(crate) fn print_alone(why: &str, exit: Exit) {
    write(&json!({"failure": why, "exit_code": exit.code()}));
}

/// Finds the session that a failure belongs to. An error here is not a second failure: there is only less to print.
async fn find(session: Option<&SessionRef>, failure: &Failure) -> Option<(Hall, SessionId)> {
    if failure.session.is_none() && session.is_none() {
        return None;
    }
    let hall = World::load().ok()?.hall(here().ok()?).ok()?;
    let id = match (&failure.session, session) {
        (Some(id), _) => id.clone(),
        (None, session) => session?.find(&hall).await.ok()?,
    };
    Some((hall, id))
}

/// Whether a session was stored.
pub(crate) async fn exists(hall: &Hall, id: &SessionId) -> bool {
    timeout(READ_TIME_MAX, hall.journal().head(id)).await.is_ok_and(|head| head.is_ok())
}

/// Reads a session, if it can be read soon.
pub(crate) async fn view(hall: &Hall, id: &SessionId) -> Option<View> {
    timeout(READ_TIME_MAX, hall.session(id)).await.ok()?.ok()
}

/// Prints the result of a session as far as its work came. A session that can't be read has no bill.
pub(crate) async fn print_session(hall: &Hall, id: &SessionId, why: &str, exit: Exit) {
    let view = view(hall, id).await;
    let sheet = view.as_ref().and_then(|view| whole_sheet(view, hall.models().rate()));
    let text = view.as_ref().and_then(|view| view.text.as_deref());
    write(&ResultJson {
        session: id,
        outcome: view.as_ref().and_then(|view| view.report.as_ref()).map(|report| report.outcome),
        answer: text.filter(|text| !text.trim().is_empty()),
        failure: Some(why),
        unreadable: Vec::new(),
        transcript_failure: None,
        exit_code: exit.code(),
        bill: sheet.as_ref().map(Sheet::json),
        quote: json!(null),
    });
}

/// Prints the result. If stdout can't be written either, the message on stderr is all there is.
fn write(result: &impl Serialize) {
    out_json(result).ok();
}

/// Whether arguments that can't be parsed ask for JSON.
pub(crate) fn is_json_wanted() -> bool {
    let args: Vec<_> = env::args_os().skip(1).take_while(|arg| arg != "--").collect();
    let is_flag = |pair: &[OsString]| pair[0] == "--output" && pair[1] == "json";
    args.windows(2).any(is_flag) || args.iter().any(|arg| arg == OsStr::new("--output=json"))
}
