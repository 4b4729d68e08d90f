//! `show`: prints one session, or one contract of it, from the stored facts. All output goes to stdout.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use guildhall::kernel::{AgentName, Brief, Fact, Msat, Path, PaymentHash, Quantity, Report, SessionKind, Stored};
use guildhall::local::SessionId;
use guildhall::{Bill, DatedRate, Hall, QueuedHire, Tasks, Tree, View, Waits};
use serde_json::{Value, json};

use crate::amount::{Money, both, sats, sum};
use crate::args::{Output, ShowArgs};
use crate::bill::{Extent, Sheet, charges};
use crate::commands::fund::{Unpaid, unpaid};
use crate::commands::list::{payers, state};
use crate::commands::money::under_way;
use crate::commands::out_json;
use crate::commands::run::here;
use crate::commands::stop::late;
use crate::exit::{Exit, Failure};
use crate::live::{HowEnded, Live, name, name_of};
use crate::print::{out, out_answer, out_wrapped, tame, tame_lines, warn};
use crate::screen::stdout_columns;
use crate::world::World;

/// The most contracts of a session that an error message names.
const NAMED_MAX: usize = 10;

/// Shows a session or a contract.
pub(crate) async fn show(world: &World, args: ShowArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let id = args.id.session.find(&hall).await?;
    if let Some(missing) = hall.missing_commits() {
        warn(&missing);
    }
    let view = hall.session(&id).await?;
    let all = hall.journal().facts(&id, 1).await?;
    let shown = Shown::find(&hall, &view, &all, args.id.contract.as_ref()).await?;
    let facts = all.iter().filter(|stored| args.facts && shown.includes(&stored.contract));
    let unreadable: Vec<String> = hall.unreadable_texts(&id).await?.iter().map(ToString::to_string).collect();
    let payments = match view.kind {
        SessionKind::Play => Payments::default(),
        SessionKind::Wallet(_) => Payments {
            unpaid: unpaid(&hall, Some(&id)).await?,
            held: hall.journal().folded_account(&id).await?.withdrawing(),
        },
    };
    let rate = hall.models().rate();
    let sheet = sheet(&view, &shown, rate);
    let granted = Granted::of(&shown, sheet.as_ref(), &hall.waiting_top_ups(&id).await?);
    match args.output.output {
        Output::Json => out_json(&json!({
            "session": view.row.id,
            "contract": shown.path,
            "agent": shown.agent,
            "name": shown.names.get(&shown.path),
            "state": shown.state,
            "waits_for_money": shown.waits_for_money,
            "project": view.row.project,
            "money": Money::from(&view.kind).in_a_word(),
            "paid_by": payers(&view),
            "granted_msat": granted.total,
            "added_msat": granted.added,
            "waiting_topups_msat": granted.waiting,
            "unpaid_invoices": payments.unpaid.iter().map(Unpaid::json).collect::<Vec<_>>(),
            "held_msat": payments.held.map_or(Msat::ZERO, |(_, money)| money),
            "task": shown.task,
            "answer": shown.text,
            "failure": view.failure,
            "unreadable": unreadable,
            "free": view.free,
            "session_total": {"used_msat": view.charges.used, "estimated_msat": view.charges.estimated,
                "reserved_msat": view.charges.reserved, "overrun_msat": view.overrun},
            "reserved": view.reserved.iter().map(|(ask, held)| json!({"ask": ask, "msat": held})).collect::<Vec<_>>(),
            "late": view.late,
            "bill": sheet.as_ref().map(Sheet::json),
            "facts": if args.facts { json!(facts.collect::<Vec<_>>()) } else { Value::Null },
        }))?,
        Output::Text => {
            let tokens = view.root.as_ref().and_then(|root| root.setup.token_limit());
            let mut live = Live::in_full(hall.clone(), tokens, hall.usage_warnings(&id).await?);
            // Each fact updates the names of the contracts, also facts whose lines are not printed.
            for fact in all.iter().filter(|_| args.facts) {
                let lines = live.lines(fact).await;
                for (_, line) in lines.into_iter().filter(|(contract, _)| shown.includes(contract)) {
                    out_wrapped(&live.finish(line))?;
                }
            }
            text(&view, &shown, (&granted, &payments), &unreadable, sheet.as_ref())?;
        }
    }
    Ok(if unreadable.is_empty() { Exit::Done } else { Exit::Partial })
}

/// The money of the shown contract.
struct Granted {
    /// All that it was given. The bill has it: a contract of earlier work has only what it began with here.
    total: Option<Msat>,
    /// The part that came after it had begun.
    added: Msat,
    /// Top-ups that no process has read yet.
    waiting: Msat,
}

impl Granted {
    fn of(shown: &Shown, sheet: Option<&Sheet<'_>>, waiting: &[(Path, Msat)]) -> Granted {
        let total = sheet.map(|sheet| sheet.granted).or(shown.granted);
        let added = total.zip(shown.granted).and_then(|(total, began)| total.minus(began)).unwrap_or(Msat::ZERO);
        let own = waiting.iter().filter(|(to, _)| *to == shown.path);
        Granted { total, added, waiting: own.fold(Msat::ZERO, |all, (_, money)| sum(all, *money)) }
    }

    fn line(&self, view: &View) -> Option<String> {
        let added = if self.added == Msat::ZERO {
            String::new()
        } else {
            format!("; {} of it were added after it began", sats(self.added))
        };
        let granted: Vec<String> = std::iter::once(sats(self.total?)).chain(payers(view)).collect();
        Some(format!("granted  {}{added}", granted.join(", ")))
    }

    /// The line about a top-up that has no effect yet.
    fn waiting_line(&self, view: &View) -> Option<String> {
        let then = match &view.holder {
            Some(holder) => format!("process {} has not read it yet", holder.pid),
            None => format!("it takes effect when you run: guildhall resume {}", view.row.id),
        };
        (self.waiting > Msat::ZERO).then(|| format!("top-up   {}: {then}", sats(self.waiting)))
    }
}

/// What is paid into and out of a session, and has not ended.
#[derive(Default)]
struct Payments {
    unpaid: Vec<Unpaid>,
    held: Option<(PaymentHash, Msat)>,
}

/// The contract that is shown: one that was named, or the newest root.
struct Shown {
    path: Path,
    /// Whether a contract was named. Otherwise the whole session is shown.
    is_named: bool,
    /// Its agent, unless it has not begun and does not wait either.
    agent: Option<AgentName>,
    /// What it was granted when it began.
    granted: Option<Msat>,
    state: String,
    /// The whole task.
    task: String,
    /// Its report.
    text: Option<String>,
    /// The names of all contracts, and of hires that have not begun.
    names: BTreeMap<Path, String>,
    /// Who waits for money: hires that have not begun, and contracts that have asked their hirers for more.
    waits_for_money: BTreeSet<Path>,
}

impl Shown {
    async fn find(hall: &Hall, view: &View, all: &[Stored], wanted: Option<&Path>) -> Result<Shown, Failure> {
        let newest = || view.request.as_ref().map_or_else(|| Path::root(1), |request| request.root.clone());
        let path = wanted.cloned().unwrap_or_else(newest);
        let mut names = BTreeMap::new();
        for (contract, brief) in all.iter().filter_map(opened) {
            names.insert(contract.clone(), name(hall, brief).await);
        }
        let brief = all.iter().filter_map(opened).find(|(contract, _)| **contract == path).map(|(_, brief)| brief);
        let (waits_for_money, queued) = waits_for_money(all);
        for hire in queued.values() {
            names.insert(hire.path.clone(), name_of(hall, hire.label.as_ref(), &hire.agent).await);
        }
        let queued = queued.get(&path);
        if wanted.is_some() && brief.is_none() && queued.is_none() {
            return Err(no_contract(&view.row.id, &path, &names));
        }
        let closed = all.iter().filter(|stored| stored.contract == path).find_map(report);
        let task = match brief.map(|brief| brief.task).or(queued.map(|hire| hire.task)) {
            Some(task) => stored(hall, task.hash).await.unwrap_or_else(|| view.row.label.clone()),
            None => view.row.label.clone(),
        };
        let task = Tasks::read(&task).map_or(task, |tasks| tasks.label());
        let (state, text) = match (wanted, closed) {
            (None, _) => (state(view), view.text.clone()),
            (Some(_), None) if queued.is_some() => ("waits for money and has not started".to_owned(), None),
            (Some(_), None) if waits_for_money.contains(&path) => ("waits for money".to_owned(), None),
            (Some(_), None) => ("not ended".to_owned(), None),
            // A contract that ended before it wrote anything has its task in place of a report.
            (Some(_), Some(report)) if brief.is_some_and(|brief| brief.task == report.text.text()) => {
                (format!("{}, without a report", ended(report)), None)
            }
            (Some(_), Some(report)) => (ended(report), stored(hall, report.text.text().hash).await),
        };
        let agent = brief.map(|brief| &brief.agent).or(queued.map(|hire| &hire.agent)).cloned();
        let granted = brief.map(|brief| brief.grant.money);
        Ok(Shown { is_named: wanted.is_some(), path, agent, granted, state, task, text, names, waits_for_money })
    }

    /// Whether a contract is shown: it is the named contract or below it, or the whole session is shown.
    fn includes(&self, contract: &Path) -> bool {
        let mut above = Some(contract.clone());
        while let Some(path) = above {
            if !self.is_named || path == self.path {
                return true;
            }
            above = path.hirer();
        }
        false
    }
}

fn opened(stored: &Stored) -> Option<(&Path, &Brief)> {
    let Fact::Opened(brief) = &stored.fact else { return None };
    Some((&stored.contract, brief.as_ref()))
}

fn report(stored: &Stored) -> Option<&Report> {
    let Fact::Closed(report) = &stored.fact else { return None };
    Some(report.as_ref())
}

/// Returns who waits for money, and of these the hires that have not begun.
fn waits_for_money(all: &[Stored]) -> (BTreeSet<Path>, BTreeMap<Path, QueuedHire>) {
    let mut tree = Tree::default();
    for stored in all {
        tree.apply_fact(stored);
    }
    let draws = tree.contracts.iter().filter(|(_, contract)| contract.waits_for().any(|wait| *wait == Waits::Money));
    let draws = draws.map(|(path, _)| path.clone());
    let queued = tree.contracts.values().flat_map(|contract| contract.queued.values());
    let queued: BTreeMap<Path, QueuedHire> = queued.map(|hire| (hire.path.clone(), hire.clone())).collect();
    (draws.chain(queued.keys().cloned()).collect(), queued)
}

fn ended(report: &Report) -> String {
    HowEnded::of(report, None).to_string()
}

/// A text of the journal. `None` if it can't be read: the list of unreadable texts names it.
async fn stored(hall: &Hall, hash: guildhall::kernel::Hash) -> Option<String> {
    let bytes = hall.journal().text(hash).await.ok().flatten()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn no_contract(id: &SessionId, path: &Path, names: &BTreeMap<Path, String>) -> Failure {
    let some: Vec<String> = names.iter().take(NAMED_MAX).map(|(path, name)| format!("{path} {name}")).collect();
    let more = if names.len() > NAMED_MAX { ", …" } else { "" };
    Failure::usage(format!("there is no contract {path} in session {id}: its contracts are {}{more}", some.join(", ")))
}

fn text(
    view: &View,
    shown: &Shown,
    (granted, payments): (&Granted, &Payments),
    unreadable: &[String],
    sheet: Option<&Sheet<'_>>,
) -> Result<(), Failure> {
    let row = &view.row;
    if let Some(agent) = shown.agent.as_ref().filter(|_| shown.is_named) {
        let called = shown.names.get(&shown.path).map(String::as_str).unwrap_or_default();
        out_wrapped(&format!("{}/{} {called}  {}", row.id, shown.path, shown.state))?;
        out_wrapped(&format!("agent    {agent}"))?;
        if let Some(line) = granted.line(view) {
            out_wrapped(&line)?;
        }
    } else {
        out_wrapped(&format!("{}  {}", row.id, shown.state))?;
    }
    if let Some(line) = granted.waiting_line(view) {
        out_wrapped(&line)?;
    }
    out_wrapped(&format!("project  {}", tame(&row.project, 400)))?;
    out_wrapped(&format!("task     {}", tame_lines(shown.task.trim())))?;
    if !shown.is_named {
        money(view, payments)?;
    }
    for why in view.failure.iter().filter(|_| !shown.is_named) {
        out_wrapped(&format!("failure  {}", tame(why, 1000)))?;
    }
    for text in unreadable {
        out_wrapped(&format!("can't be read: {}", tame(text, 1000)))?;
    }
    if let Some(text) = &shown.text {
        out("")?;
        out_answer(text, view.root.as_ref().map_or("unknown", |root| root.setup.staffing.model()))?;
        out("")?;
    }
    for line in sheet.map(|sheet| sheet.lines(Extent::Whole, stdout_columns())).unwrap_or_default() {
        out_wrapped(&line)?;
    }
    if let Some(line) = waiting(shown) {
        out_wrapped(&line)?;
    }
    if shown.is_named {
        return Ok(());
    }
    for line in earlier(view) {
        out_wrapped(&line)?;
    }
    if let Some(root) = view.root.as_ref().filter(|_| view.late > Msat::ZERO) {
        out_wrapped(&late(&row.id, &root.path, &both(view.late, &root.setup.staffing.rate)))?;
    }
    Ok(())
}

/// Names those who wait for money, except for the shown contract, whose state says so.
fn waiting(shown: &Shown) -> Option<String> {
    let of = |path: &&Path| shown.includes(path) && **path != shown.path;
    let waiting: Vec<&Path> = shown.waits_for_money.iter().filter(of).collect();
    let name = |path: &&Path| format!("{path} {}", shown.names.get(path).map(String::as_str).unwrap_or_default());
    let named: Vec<String> = waiting.iter().take(NAMED_MAX).map(name).collect();
    let more = waiting.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("waiting for money: {}{more}", named.join(", ")))
}

/// Prints the kind of money that a session has, and what is on its way in and out.
fn money(view: &View, Payments { unpaid, held }: &Payments) -> Result<(), Failure> {
    let id = &view.row.id;
    let mut money = payers(view);
    money.push(format!("{} free", sats(view.free)));
    out_wrapped(&format!("money    {}", money.join(", ")))?;
    for invoice in unpaid {
        out_wrapped(&format!("invoice  {invoice}. To see whether it was paid, run: guildhall close {id}"))?;
    }
    if let Some(held) = held {
        out_wrapped(&format!("held     {}. To see it, run: guildhall payments", under_way(*held)))?;
    }
    Ok(())
}

/// The cost of the whole session, and the calls of earlier work that are still reserved.
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
            "  reserved {held} for call {call}. When you know the bill, run: guildhall correct {id} {call} AMOUNT"
        ));
    }
    lines
}

/// The bill of the newest work of a session, without names.
pub(crate) fn whole_sheet<'a>(view: &'a View, current: &'a DatedRate) -> Option<Sheet<'a>> {
    let request = view.request.as_ref()?;
    let staffing = view.root.as_ref().map(|root| &root.setup.staffing);
    Some(Sheet {
        bill: Cow::Borrowed(&view.bill),
        names: BTreeMap::new(),
        rate: staffing.map_or(current, |staffing| &staffing.rate),
        model: staffing.map_or("unknown", |staffing| staffing.model()),
        money: Money::from(&view.kind),
        granted: view.bill.lines.first().map_or(request.granted, |line| line.granted),
        out_of_tokens: view.out_of_tokens,
        session: &view.row.id,
        credited: view.credited,
        head: &view.head,
        violations: &view.violations,
    })
}

/// The bill of the shown contracts. If the settings can't be read, the models are unknown, and dollars use the current rate.
fn sheet<'a>(view: &'a View, shown: &Shown, current: &'a DatedRate) -> Option<Sheet<'a>> {
    let whole = whole_sheet(view, current)?;
    let lines = view.bill.lines.iter().filter(|line| shown.includes(&line.contract)).cloned().collect();
    let bill = Bill { lines };
    let granted = bill.lines.iter().find(|line| line.contract == shown.path).map(|line| line.granted);
    if shown.is_named && granted.is_none() {
        // The contract belongs to earlier work of the session, whose bill was printed then.
        return None;
    }
    Some(Sheet {
        bill: Cow::Owned(bill),
        names: shown.names.clone(),
        granted: granted.unwrap_or(whole.granted),
        credited: if shown.is_named { Msat::ZERO } else { whole.credited },
        ..whole
    })
}
