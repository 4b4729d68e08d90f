//! `show`: one session, from what is stored.

use guildhall::kernel::Msat;
use guildhall::{DatedRate, View};
use serde_json::{Value, json};

use crate::amount::{both, sats};
use crate::args::{Output, ShowArgs};
use crate::bill::{Sheet, charges};
use crate::commands::list::state;
use crate::commands::out_json;
use crate::commands::run::here;
use crate::commands::stop::late;
use crate::exit::{Exit, Failure};
use crate::live::Live;
use crate::print::{WARN, out, say_in, tame, tame_lines};
use crate::world::World;

/// Shows a session.
pub(crate) async fn show(world: &World, args: ShowArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    if let Some(missing) = hall.missing_commits() {
        say_in(WARN, &missing);
    }
    let view = hall.session(&args.id).await?;
    let facts = if args.facts { hall.journal().facts(&args.id, 1).await? } else { Vec::new() };
    let unreadable: Vec<String> = hall.unreadable_texts(&args.id).await?.iter().map(ToString::to_string).collect();
    let rate = hall.models().rate();
    match args.output.output {
        Output::Json => out_json(&json!({
            "session": view.row.id,
            "state": state(&view),
            "project": view.row.project,
            "task": view.row.label,
            "answer": view.text,
            "failure": view.failure,
            "unreadable": unreadable,
            "free": view.free,
            "session_total": {"used_msat": view.charges.used, "estimated_msat": view.charges.estimated,
                "reserved_msat": view.charges.reserved, "overrun_msat": view.overrun},
            "reserved": view.reserved.iter().map(|(ask, held)| json!({"ask": ask, "msat": held})).collect::<Vec<_>>(),
            "late": view.late,
            "bill": sheet(&view, rate).map(|sheet| sheet.json()),
            "facts": if args.facts { json!(facts) } else { Value::Null },
        }))?,
        Output::Text => {
            let mut live = Live::new(hall.clone(), view.root.as_ref().and_then(|root| root.setup.token_limit()));
            for fact in &facts {
                live.tell(fact).await;
            }
            for line in text(&view, rate, &unreadable) {
                out(&line)?;
            }
        }
    }
    Ok(if unreadable.is_empty() { Exit::Done } else { Exit::Partial })
}

fn text(view: &View, rate: &DatedRate, unreadable: &[String]) -> Vec<String> {
    let row = &view.row;
    let mut lines = vec![
        format!("{}  {}", row.id, state(view)),
        format!("began    {}", tame(&row.label, 100)),
        format!("project  {}", tame(&row.project, 400)),
    ];
    lines.extend(view.failure.as_ref().map(|why| format!("failure  {}", tame(why, 1000))));
    lines.extend(unreadable.iter().map(|text| format!("can't be read: {}", tame(text, 1000))));
    if let Some(text) = &view.text {
        lines.extend([String::new(), tame_lines(text), String::new()]);
    }
    if let Some(sheet) = sheet(view, rate) {
        lines.extend(sheet.lines());
    }
    lines.extend(earlier(view));
    if let Some(root) = view.root.as_ref().filter(|_| view.late > Msat::ZERO) {
        lines.push(late(&row.id, &root.path, &both(view.late, &root.setup.staffing.rate)));
    }
    lines
}

/// The bill of the newest work. If what it was set up with can't be read, its models are unknown, and dollars are at the usual rate.
/// What the session has cost before its newest work, and which calls of that are still reserved.
fn earlier(view: &View) -> Vec<String> {
    if view.charges == view.bill.charges() {
        return Vec::new();
    }
    let (id, free) = (&view.row.id, sats(view.free));
    let mut lines = vec![format!("the whole session: {}; {free} free", charges(view.charges, sats))];
    let newest = view.bill.reserved();
    for (call, held) in view.reserved.iter().filter(|call| !newest.contains(call)) {
        let held = sats(*held);
        lines.push(format!(
            "  reserved {held} for {call}; when you know the bill: guildhall correct {id} {call} AMOUNT"
        ));
    }
    lines
}

fn sheet<'a>(view: &'a View, usual: &'a DatedRate) -> Option<Sheet<'a>> {
    let request = view.request.as_ref()?;
    let staffing = view.root.as_ref().map(|root| &root.setup.staffing);
    let line = view.bill.lines.iter().find(|line| line.contract == request.root);
    Some(Sheet {
        bill: &view.bill,
        rate: staffing.map_or(usual, |staffing| &staffing.rate),
        model: staffing.map_or("unknown", |staffing| staffing.model()),
        granted: line.map_or(request.granted, |line| line.granted),
        out_of_tokens: view.out_of_tokens,
        session: &view.row.id,
        credited: view.credited,
        head: &view.head,
        violations: &view.violations,
    })
}
