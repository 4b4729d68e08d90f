//! `ls`: all sessions.

use std::time::Duration;

use guildhall::View;
use guildhall::local::UnixMs;
use serde_json::{Value, json};

use crate::amount::sats;
use crate::args::{LsArgs, Output};
use crate::commands::out_json;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::live::{ending, note};
use crate::print::{out, tame};
use crate::world::World;

/// Lists the sessions.
pub(crate) async fn list(world: &World, args: LsArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let views = hall.sessions().await?;
    match args.output.output {
        Output::Json => out_json(&views.iter().map(json_line).collect::<Vec<_>>())?,
        Output::Text if views.is_empty() => note("no sessions yet. Begin one with: guildhall run \"…\""),
        Output::Text => {
            let now = UnixMs::now();
            for view in &views {
                let age = age(Duration::from_millis(now.0.saturating_sub(view.row.created_at.0)));
                let (id, label) = (view.row.id.as_str(), tame(&view.row.label, 60));
                out(&format!("{id:<24} {:<26} {age:>5} {:>14}  {label}", state(view), sats(view.spent)))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn json_line(view: &View) -> Value {
    json!({
        "session": view.row.id,
        "state": state(view),
        "pid": view.holder.as_ref().map(|holder| holder.pid),
        "created_at_ms": view.row.created_at.0,
        "project": view.row.project,
        "task": view.row.label,
        "spent_msat": view.spent,
        "facts": view.row.facts,
    })
}

/// How a session stands, in words.
pub(crate) fn state(view: &View) -> String {
    match (&view.holder, &view.report, &view.root) {
        (Some(holder), None, _) => format!("at work in process {}", holder.pid),
        (_, Some(report), _) => ending(report.outcome).to_owned(),
        (None, None, Some(_)) => "interrupted: resume".to_owned(),
        (None, None, None) => "never begun".to_owned(),
    }
}

fn age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}
