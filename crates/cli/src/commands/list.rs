//! `ls`: lists the sessions, and what they cost together.

use std::collections::BTreeMap;
use std::time::Duration;

use anstyle::Style;
use guildhall::kernel::{Msat, SessionKind};
use guildhall::local::{JournalError, UnixMs, unix_now};
use guildhall::providers::Usd;
use guildhall::{Charges, DatedRate, HallError, REHEARSAL_LABEL, Unreadable, View};
use serde_json::{Value, json};

use crate::amount::{Money, as_paid, dollars, paid_by, sats, sum};
use crate::args::{LsArgs, Output};
use crate::commands::out_json;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::live::{HowEnded, ending};
use crate::print::{BAD, BOLD, WARN, note, out, out_wrapped, say_in, tame};
use crate::screen::{cut, stdout_columns, width, wrap};
use crate::world::{REHEARSAL, World};

/// Lists the sessions. A session that can't be read is named, with what to type; the others are still listed.
pub(crate) async fn list(world: &World, args: LsArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let mut listed = hall.sessions().await?;
    if let Some(since) = args.since {
        let oldest = unix_now().0.saturating_sub(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        listed.retain(|session| created_at(session).0 >= oldest);
    }
    let (current, views) = (hall.models().rate(), listed.iter().filter_map(|session| session.as_ref().ok()));
    let totals = totals(views, current);
    match (args.output.output, args.since) {
        (Output::Json, None) => out_json(&listed.iter().map(json_line).collect::<Vec<_>>())?,
        (Output::Json, Some(_)) => out_json(&json!({
            "sessions": listed.iter().map(json_line).collect::<Vec<_>>(),
            "totals": totals.iter().map(Total::json).collect::<Vec<_>>(),
        }))?,
        (Output::Text, Some(_)) if listed.is_empty() => note("no session was made in this time"),
        (Output::Text, None) if listed.is_empty() => note("no sessions yet. To start one, run: guildhall run \"…\""),
        (Output::Text, _) => {
            lines(&listed.iter().collect::<Vec<_>>(), current).iter().try_for_each(|line| out(line))?;
            let totals = totals.iter().map(Total::text).collect::<Vec<_>>().join("; ");
            out_wrapped(&format!("total {totals}"))?;
        }
    }
    let mut exit = Exit::Done;
    for unreadable in listed.iter().filter_map(|session| session.as_ref().err()) {
        let id = &unreadable.row.id;
        let why = tame(&unreadable.to_string(), WRONG_CHARS_MAX);
        // The error of a damaged session already names the command to type.
        if matches!(unreadable.why, HallError::Journal(JournalError::Corrupt { .. })) {
            say_in(WARN, &why);
        } else {
            say_in(WARN, &format!("{why}. To check the session, run: guildhall verify {id}"));
        }
        exit = Exit::Partial;
    }
    for wrong in hall.check_listing().await? {
        say_in(WARN, &format!("{}. To check everything, run: guildhall verify", tame(&wrong, WRONG_CHARS_MAX)));
        exit = Exit::Partial;
    }
    Ok(exit)
}

/// A line for each session.
pub(crate) fn lines(sessions: &[&Result<View, Unreadable>], current: &DatedRate) -> Vec<String> {
    let (now, rows) = (unix_now(), sessions.iter().map(|session| Row::of(session, current)).collect::<Vec<_>>());
    let mut widths = [0; 4];
    for row in &rows {
        let own = [row.id, &row.state, &row.cost, &row.kind].map(width);
        widths = std::array::from_fn(|at| widths[at].max(own[at]));
    }
    rows.iter().map(|row| row.text(widths, now)).collect()
}

/// The longest problem that is shown, in characters.
const WRONG_CHARS_MAX: usize = 1000;

/// The least width of a label, in columns.
const LABEL_COLUMNS_MIN: usize = 10;

/// The state of a session that can't be read.
const UNREADABLE: &str = "can't be read";

/// A line of the list.
struct Row<'a> {
    id: &'a str,
    state: String,
    style: Style,
    created_at: UnixMs,
    cost: String,
    /// Who pays.
    kind: String,
    label: String,
}

impl<'a> Row<'a> {
    fn of(session: &'a Result<View, Unreadable>, current: &DatedRate) -> Row<'a> {
        let (row, state, cost, rehearsed) = match session {
            Ok(view) => (&view.row, state(view), cost(view, current), rehearsed(view)),
            Err(unreadable) => (&unreadable.row, UNREADABLE.to_owned(), String::new(), String::new()),
        };
        let kind = session.as_ref().map_or_else(|_| String::new(), |view| payers(view).join(", "));
        let (style, label) = (style(session.as_ref().ok()), format!("{}{rehearsed}", tame(&row.label, 60)));
        Row { id: row.id.as_str(), state, style, created_at: row.created_at, cost, kind, label }
    }

    /// Returns the line, with columns of these widths: id, state, cost and kind of money.
    fn text(&self, [id_width, state_width, cost_width, kind_width]: [usize; 4], now: UnixMs) -> String {
        let Row { id, state, style, cost, kind, label, .. } = self;
        let age = age(Duration::from_millis(now.0.saturating_sub(self.created_at.0)));
        let line = format!("{id:<id_width$}  {style}{state:<state_width$}{style:#}  {age:>3}  {cost:>cost_width$}");
        let (short, line) = (format!("{line}  "), format!("{line}  {kind:<kind_width$}  "));
        match stdout_columns() {
            None => format!("{line}{label}"),
            // The label is cut to the rest of the row. If the row has too little room, it does not say who pays, as the last line
            // does. If that is not enough, the line is wrapped.
            Some(columns) if columns >= width(&line) + LABEL_COLUMNS_MIN => {
                format!("{line}{}", cut(label, columns - width(&line)))
            }
            Some(columns) if columns >= width(&short) + LABEL_COLUMNS_MIN => {
                format!("{short}{}", cut(label, columns - width(&short)))
            }
            Some(columns) => wrap(&format!("{id} {style}{state}{style:#} {age} {cost} {kind} {label}"), columns),
        }
    }
}

/// The colour of a state.
fn style(view: Option<&View>) -> Style {
    match view.map(|view| (&view.report, &view.holder)) {
        Some((Some(report), _)) => HowEnded::of(report, None).style(),
        Some((None, Some(_))) => BOLD,
        Some((None, None)) => WARN,
        None => BAD,
    }
}

/// The cost of a session: used, then the amounts that are not certain. Dollars come first, unless the wallet pays.
fn cost(view: &View, current: &DatedRate) -> String {
    let Charges { used, estimated, reserved } = view.charges;
    let amount = |amount| match Money::from(&view.kind) {
        Money::Wallet => sats(amount),
        Money::Play => as_paid(amount, rate(view, current), Money::Play),
    };
    let also = [(estimated, "estimated"), (reserved, "reserved"), (view.overrun, "OVERRUN")];
    let also = also.into_iter().filter(|(amount, _)| *amount > Msat::ZERO);
    also.fold(amount(used), |text, (more, what)| format!("{text} + {} {what}", amount(more)))
}

/// The rate of a session. One without settings has none of its own.
fn rate<'a>(view: &'a View, current: &'a DatedRate) -> &'a DatedRate {
    view.root.as_ref().map_or(current, |root| &root.setup.staffing.rate)
}

/// Who pays for a session. Empty if it has not begun, unless the wallet pays.
pub(crate) fn payers(view: &View) -> Vec<String> {
    let money = Money::from(&view.kind);
    match (&view.root, money) {
        (Some(root), _) => paid_by(money, &root.setup.staffing).into_iter().collect(),
        (None, Money::Wallet) => vec!["wallet".to_owned()],
        (None, Money::Play) => Vec::new(),
    }
}

/// What the sessions that are paid in the same way cost together, with the amounts that are not certain.
struct Total {
    payers: Vec<String>,
    sessions: usize,
    used: Msat,
    /// `None` for the money of the wallet.
    usd: Option<Usd>,
}

/// The totals of sessions, by who pays. Dollars are added at the rate of each session.
fn totals<'a>(views: impl Iterator<Item = &'a View>, current: &DatedRate) -> Vec<Total> {
    let mut totals: BTreeMap<Vec<String>, Total> = BTreeMap::new();
    for view in views {
        let cost = sum(view.charges.total(), view.overrun);
        let usd = match Money::from(&view.kind) {
            Money::Wallet => None,
            Money::Play => Some(rate(view, current).usd_per_btc.to_usd(cost)),
        };
        let new = || Total { payers: payers(view), sessions: 0, used: Msat::ZERO, usd: None };
        let total = totals.entry(payers(view)).or_insert_with(new);
        total.sessions += 1;
        total.used = sum(total.used, cost);
        total.usd = usd.map(|usd| Usd::from_nanos(usd.nanos() + total.usd.map_or(0, Usd::nanos)));
    }
    totals.into_values().collect()
}

impl Total {
    fn text(&self) -> String {
        let Total { payers, sessions, used, usd } = self;
        let money = usd.map_or_else(|| sats(*used), |usd| format!("{} ({})", dollars(usd), sats(*used)));
        let payers = if payers.is_empty() { "not begun".to_owned() } else { payers.join(", ") };
        format!("{money} {payers}, {sessions} {}", if *sessions == 1 { "session" } else { "sessions" })
    }

    fn json(&self) -> Value {
        let Total { payers, sessions, used, usd } = self;
        json!({"paid_by": payers, "sessions": sessions, "msat": used, "usd": usd.map(|usd| usd.to_string())})
    }
}

fn created_at(session: &Result<View, Unreadable>) -> UnixMs {
    session.as_ref().map_or_else(|unreadable| unreadable.row.created_at, |view| view.row.created_at)
}

/// The note on a session that used the rehearsal.
pub(crate) fn rehearsed(view: &View) -> String {
    let models = view.root.as_ref().map(|root| root.setup.staffing.models()).unwrap_or_default();
    if models.contains(REHEARSAL) { format!(" ({REHEARSAL_LABEL})") } else { String::new() }
}

fn json_line(session: &Result<View, Unreadable>) -> Value {
    let view = session.as_ref().ok();
    let row = session.as_ref().map_or_else(|unreadable| &unreadable.row, |view| &view.row);
    json!({
        "session": row.id,
        "state": view.map_or_else(|| UNREADABLE.to_owned(), state),
        "pid": view.and_then(|view| view.holder.as_ref()).map(|holder| holder.pid),
        "created_at_ms": row.created_at.0,
        "project": row.project,
        "task": row.label,
        "money": view.map(|view| Money::from(&view.kind).in_a_word()),
        "paid_by": view.map(payers),
        "free_msat": view.map(|view| view.free),
        "models": view.and_then(|view| view.root.as_ref()).map(|root| root.setup.staffing.models()),
        "used_msat": view.map(|view| view.charges.used),
        "estimated_msat": view.map(|view| view.charges.estimated),
        "reserved_msat": view.map(|view| view.charges.reserved),
        "overrun_msat": view.map(|view| view.overrun),
        "facts": row.facts,
        "failure": session.as_ref().err().map(|unreadable| unreadable.why.to_string()),
    })
}

/// The state of a session, in words.
pub(crate) fn state(view: &View) -> String {
    match (&view.holder, &view.report, &view.request) {
        (Some(holder), None, _) => format!("at work in process {}", holder.pid),
        (_, Some(report), _) => ending(report.outcome, view.out_of_tokens),
        (None, None, Some(_)) => "interrupted: resume".to_owned(),
        (None, None, None) if view.kind == SessionKind::Play => "never begun".to_owned(),
        (None, None, None) => "no work yet".to_owned(),
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
