//! `show`: one session, from what is stored.

use guildhall::View;
use guildhall::kernel::Msat;
use serde_json::{Value, json};

use crate::amount::both;
use crate::args::{Output, ShowArgs};
use crate::bill::Sheet;
use crate::commands::list::state;
use crate::commands::out_json;
use crate::commands::run::here;
use crate::commands::stop::late;
use crate::exit::{Exit, Failure};
use crate::live::Live;
use crate::print::{out, tame, tame_lines};
use crate::world::World;

/// Shows a session.
pub(crate) async fn show(world: &World, args: ShowArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let view = hall.session(&args.id).await?;
    let facts = if args.facts { hall.journal().facts(&args.id, 1).await? } else { Vec::new() };
    match args.output.output {
        Output::Json => out_json(&json!({
            "session": view.row.id,
            "state": state(&view),
            "project": view.row.project,
            "task": view.row.label,
            "answer": view.text,
            "failure": view.failure,
            "free": view.free,
            "late": view.late,
            "bill": sheet(&view).map(|sheet| sheet.json()),
            "facts": if args.facts { json!(facts) } else { Value::Null },
        }))?,
        Output::Text => {
            let mut live = Live::new(hall.clone(), view.root.as_ref().and_then(|root| root.setup.token_limit()));
            for fact in &facts {
                live.tell(fact).await;
            }
            for line in text(&view) {
                out(&line)?;
            }
        }
    }
    Ok(Exit::Done)
}

fn text(view: &View) -> Vec<String> {
    let row = &view.row;
    let mut lines = vec![
        format!("{}  {}", row.id, state(view)),
        format!("began    {}", tame(&row.label, 100)),
        format!("project  {}", tame(&row.project, 400)),
    ];
    lines.extend(view.failure.as_ref().map(|why| format!("failure  {}", tame(why, 1000))));
    if let Some(text) = &view.text {
        lines.extend([String::new(), tame_lines(text), String::new()]);
    }
    if let Some(sheet) = sheet(view) {
        lines.extend(sheet.lines());
    }
    if let Some(root) = view.root.as_ref().filter(|_| view.late > Msat::ZERO) {
        lines.push(late(&row.id, &root.path, &both(view.late, &root.setup.staffing.rate)));
    }
    lines
}

fn sheet(view: &View) -> Option<Sheet<'_>> {
    let root = view.root.as_ref()?;
    Some(Sheet {
        bill: &view.bill,
        rate: &root.setup.staffing.rate,
        model: root.setup.staffing.model(),
        granted: view
            .bill
            .lines
            .iter()
            .find(|line| line.contract == root.path)
            .map_or(root.granted, |line| line.granted),
        out_of_tokens: view.out_of_tokens,
        spent: view.bill.own(),
        head: &view.head,
        violations: &view.violations,
    })
}
