//! The rows of the table, and what each must show.

use std::fmt::Write as _;

use super::cases::{Bill, Case, Goal, Hirers};
use super::runs::Ran;
use crate::program::float;

/// One row: a case with one or several numbers of calls at once.
pub(super) struct Row {
    what: String,
    /// What the work costs without a limit, as a part of the budget.
    needs: f64,
    /// The leaves there are.
    of: usize,
    leaves: Vec<usize>,
    hirers: Vec<String>,
    bills: Vec<f64>,
    times: Option<f64>,
    target: String,
    /// What was missed.
    pub(super) faults: Vec<String>,
}

/// One run of random work with a part of what it needs.
pub(super) struct Share {
    /// Whether all work was finished.
    pub(super) whole: bool,
    pub(super) bill: u64,
    pub(super) budget: u64,
}

impl Row {
    pub(super) fn new(case: &Case, free: &Ran, budget: u64) -> Row {
        Row {
            what: case.what.clone(),
            needs: part(free.bill, budget),
            of: free.leaves(case.greedy),
            leaves: Vec::new(),
            hirers: Vec::new(),
            bills: Vec::new(),
            times: None,
            target: target(&case.goal),
            faults: Vec::new(),
        }
    }

    /// Adds a run, and compares its time with that of a run without a limit.
    pub(super) fn add(&mut self, case: &Case, at_once: usize, ran: &Ran, budget: u64, free: Option<&Ran>) {
        let leaves = ran.leaves(case.greedy);
        let (whole, all) = (ran.hirers().count() - ran.poor_hirers(), ran.hirers().count());
        let bill = part(ran.bill, budget);
        let times = free.map(|free| float(ran.span_us) / float(free.span_us.max(1)));
        let Goal { leaves: least, hirers, used, times: longest, bill: limit } = case.goal;
        let mut miss = |holds: bool, why: String| {
            if !holds {
                self.faults.push(format!("{}, {at_once} at once: {why}", case.what));
            }
        };
        miss(leaves >= least, format!("{leaves} leaves finished, at least {least} must"));
        let is_met = match hirers {
            Hirers::Done => ran.hirers_are_done(),
            Hirers::Whole => ran.hirers_are_whole(),
            Hirers::Any => true,
        };
        miss(
            is_met,
            format!("of {all} hirers, the reports of {whole} are whole: {:?}", ran.hirers().collect::<Vec<_>>()),
        );
        miss(limit == Bill::Believed || bill <= 1.0, format!("the provider bills {bill:.3} of the budget"));
        miss(bill * 100.0 >= float(used), format!("only {bill:.3} of the budget is used, at least {used} % must be"));
        let told = usize::from(case.usage.is_told());
        miss(ran.warnings == told, format!("{} warnings about usage reports, {told} must be", ran.warnings));
        if let (Some(times), Some(longest)) = (times, longest) {
            miss(times <= longest, format!("it took {times:.1} times as long as without a limit, at most {longest}"));
        }
        self.leaves.push(leaves);
        self.hirers.push(format!("{whole}/{all}"));
        self.bills.push(bill);
        self.times = times.or(self.times);
    }

    /// Returns the row of random work. `least` is how many of a hundred must be finished wholly.
    pub(super) fn unequal(shares: &[Share], percent: u64, least: u64) -> Row {
        let whole = shares.iter().filter(|share| share.whole).count();
        let what = format!("unequal work: {} random teams, wholly finished", shares.len());
        let highest = shares.iter().map(|share| part(share.bill, share.budget)).fold(0.0, f64::max);
        let mut faults = Vec::new();
        if 100 * (whole as u64) < least * shares.len() as u64 {
            faults.push(format!("{what}: only {whole}, at least {least} % must"));
        }
        if highest > 1.0 {
            faults.push(format!("{what}: the provider bills {highest:.3} of a budget"));
        }
        Row {
            what,
            needs: float(percent) / 100.0,
            of: shares.len(),
            leaves: vec![whole],
            hirers: Vec::new(),
            bills: vec![highest],
            times: None,
            target: format!("≥ {least} %"),
            faults,
        }
    }
}

fn target(goal: &Goal) -> String {
    let mut parts = vec![format!("≥ {} leaves", goal.leaves)];
    parts.extend(match goal.hirers {
        Hirers::Done => Some("all hirers done".to_owned()),
        Hirers::Whole => Some("all hirers whole".to_owned()),
        Hirers::Any => None,
    });
    parts.extend((goal.used > 0).then(|| format!("≥ {} % used", goal.used)));
    parts.extend(goal.times.map(|times| format!("≤ {times} ×")));
    parts.join(", ")
}

fn part(amount: u64, of: u64) -> f64 {
    float(amount) / float(of.max(1))
}

/// The table of all rows. Several values are those with 1, 5 and 32 calls at once.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| work | needs | finished leaves | whole reports of hirers | true bill ÷ budget | time × without a limit | target |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let leaves: Vec<String> = row.leaves.iter().map(ToString::to_string).collect();
        let bills: Vec<String> = row.bills.iter().map(|bill| format!("{bill:.2}")).collect();
        let times = row.times.map_or(String::new(), |times| format!("{times:.1}"));
        let met = if row.faults.is_empty() { "met" } else { "**missed**" };
        writeln!(
            table,
            "| {} | {:.2} | {} of {} | {} | {} | {times} | {}: {met} |",
            row.what,
            row.needs,
            leaves.join(", "),
            row.of,
            row.hirers.join(", "),
            bills.join(", "),
            row.target,
        )
        .expect("writing to a string can't fail");
    }
    table
}
