//! The money that a hirer gives to its hires: it keeps one turn of its own, each hire gets what it needs, and the rest
//! is given out only if nobody waits.
//!
//! The facts contain less than the kernel knew. The offers of a reply's calls are stored only if the hire had to wait,
//! so the checker can't always tell a named budget from the agent's maximum. The size of the hirer's next request is
//! known only as a lower bound. So the amount that a hirer keeps is a lower bound, and a need is a range.

use guildhall_kernel::{Brief, Inherit, Mode, Offer, Path, Report, TURN_TOKENS};

use crate::contract::Contract;
use crate::purse::{ceiling, last_least, minimum, wide};
use crate::sizes;
use crate::violation::{Found, Law};

/// The size that a hirer expects of each report until one is larger.
const REPORT_TOKENS: u64 = 1000;

/// A hire without a named budget needs this many turns, until a hire of the same hirer has reported its cost.
const TURNS_MOST: i128 = 16;

/// A hire needs at least this many turns, whatever earlier hires have cost.
const TURNS_LEAST: i128 = 4;

/// What a contract has learned from the reports of its hires, and the money that it had when it hired.
#[derive(Default)]
pub(crate) struct Experience {
    /// Whether a hire has reported.
    reported: bool,
    /// The largest size that a report added to a request.
    report_size: u64,
    /// The most that a hire has spent.
    spent: i128,
    /// The money that was available at the reply or stimulus that hired most recently.
    hired_with: Option<Range>,
}

/// The limits of an amount that the facts do not state exactly.
#[derive(Clone, Copy, Debug)]
struct Range {
    least: i128,
    most: i128,
}

impl Experience {
    /// Takes over the report of a hire.
    pub(crate) fn learn(&mut self, hire: &Brief, report: &Report) {
        self.reported = true;
        self.report_size = self.report_size.max(sizes::of_report(hire, report));
        self.spent = self.spent.max(wide(report.spent));
    }

    /// Notes that a reply or a stimulus hired.
    pub(crate) fn hired(&mut self, money: i128) {
        self.hired_with = Some(Range { least: money, most: money });
    }

    /// Notes that a hire was refused. The facts don't tell whether the reply counts as one that hired, so both amounts are kept.
    pub(crate) fn tried_to_hire(&mut self, money: i128) {
        let Some(Range { least, most }) = self.hired_with else { return self.hired(money) };
        self.hired_with = Some(Range { least: least.min(money), most: most.max(money) });
    }
}

/// The grants and raises of one batch.
#[derive(Default)]
pub(crate) struct Shares {
    hires: Vec<Granted>,
    newest: Option<Pot>,
    /// The minimum size of the hirer's next request at the beginning of the batch. The shares are computed once, so
    /// what the batch itself adds, such as refusals, may be left out.
    shown: Option<u64>,
    /// The prices of the tool calls of the same reply so far. They are placed before any hire is served.
    tools: i128,
}

/// A hire that was admitted.
struct Granted {
    path: Path,
    money: i128,
    need: Range,
    /// The money that was available before, less the tool calls so far, if no other hire moved: then the first hire may
    /// get less than it needs.
    alone: Option<i128>,
    /// Whether its part is limited neither by a budget nor by a maximum, and it was admitted at once: hires that waited
    /// may be served one after another.
    is_unlimited: bool,
}

/// The hirer's state after its newest grant or raise.
struct Pot {
    /// The available money, plus the prices of the tool calls so far.
    left: i128,
    /// The number of hires that live or wait.
    count: u64,
}

/// What is known about the budget of a hire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Budget {
    /// The hirer named an amount.
    Named,
    /// The hirer named no amount.
    Unnamed,
    /// There is a maximum, which is either.
    Unknown,
}

impl Budget {
    /// Returns what the offer says, or what the brief shows if the offer is not stored.
    fn of(offer: Option<&Offer>, hire: &Brief) -> Budget {
        match offer {
            Some(offer) if offer.budget.is_some() => Budget::Named,
            Some(_) => Budget::Unnamed,
            None if hire.money_max.is_none() => Budget::Unnamed,
            None => Budget::Unknown,
        }
    }
}

impl Shares {
    /// Notes the hirer's state after the first fact of the batch.
    pub(crate) fn begin(&mut self, hirer: &Contract) {
        self.shown.get_or_insert(hirer.shown);
    }

    /// Takes the price of a tool call of the reply that this batch follows from.
    pub(crate) fn add_tool(&mut self, price: i128) {
        self.tools += price;
    }

    /// Takes over the smaller size of the hirer's next request after a compaction.
    pub(crate) fn shorten(&mut self, hirer: &Contract) {
        self.shown = self.shown.map(|shown| shown.min(hirer.shown));
    }

    /// Notes a hire that is about to be admitted.
    pub(crate) fn grant(&mut self, hirer: &Contract, hire: &Brief, offer: Option<&Offer>, mode: Mode) {
        self.begin(hirer);
        let row = &hirer.row;
        // A blocking hire does not wait for hires in the background, so they don't count as moving.
        let behind = mode == Mode::Blocking && row.moving_blocking.is_empty() && hirer.own_work_paid == 0;
        let alone = (row.moving.is_empty() || behind).then_some(hirer.money.available + self.tools);
        self.hires.push(Granted {
            path: hire.path.clone(),
            money: wide(hire.grant.money),
            need: need(&hirer.experience, hire, Budget::of(offer, hire)),
            alone,
            is_unlimited: hire.money_max.is_none() && offer.is_none(),
        });
    }

    /// Notes the hirer's state after a grant or a raise.
    pub(crate) fn given(&mut self, hirer: &Contract) {
        self.begin(hirer);
        let count = hirer.row.count(hirer.live.len());
        self.newest = Some(Pot { left: hirer.money.available + self.tools, count });
    }

    /// Checks the grants and raises of the batch.
    pub(crate) fn check(&self, hirer: &Contract, found: &mut Found<'_>) {
        let (Some(pot), Some(shown)) = (&self.newest, self.shown) else { return };
        let (left, kept) = (pot.left - self.tools, kept(hirer, shown, pot.count));
        found.demand(
            left >= kept,
            Law::Grants,
            format_args!("leaves itself {left} msat when it serves its hires, but must keep {kept}"),
        );
        let waits = !hirer.row.waiting.is_empty();
        for granted in &self.hires {
            self.check_need(hirer, granted, waits, found);
        }
        if !waits {
            self.check_equal(found);
        }
    }

    fn check_need(&self, hirer: &Contract, granted: &Granted, waits: bool, found: &mut Found<'_>) {
        let Granted { path, money, need, alone, .. } = granted;
        let most = need.most;
        found.demand(
            !waits || *money <= most,
            Law::Grants,
            format_args!("{path} gets {money} msat while another hire waits, but needs only {most}"),
        );
        let least = alone.map_or(need.least, |free| need.least.min(pot_least(hirer, free - self.tools)));
        found.demand(
            *money >= least,
            Law::Grants,
            format_args!("{path} gets {money} msat, but needs at least {least}"),
        );
    }

    /// Checks that the hires without any limit get the same part of the rest.
    fn check_equal(&self, found: &mut Found<'_>) {
        let unlimited = || self.hires.iter().filter(|granted| granted.is_unlimited);
        let most = unlimited().map(|granted| granted.money - granted.need.most).max();
        // A hire that got less than it needs left nothing for the others.
        let least = unlimited().map(|granted| (granted.money - granted.need.least).max(0)).min();
        let (Some(most), Some(least)) = (most, least) else { return };
        // What can't be divided is given to some of them.
        let rounding = i128::try_from(self.hires.len()).unwrap_or(i128::MAX);
        found.demand(
            most - least <= rounding,
            Law::Grants,
            format_args!("one hire gets {most} msat more than it needs, another only {least}"),
        );
    }
}

/// Returns the least money that a hirer must keep: one turn of its own that shows all reports to come.
fn kept(hirer: &Contract, shown: u64, count: u64) -> i128 {
    let report = hirer.experience.report_size.max(REPORT_TOKENS);
    let shown = shown.saturating_add(count.saturating_mul(report));
    let tariff = &hirer.brief.tariff;
    let turn = ceiling(tariff, shown, TURN_TOKENS.min(tariff.max_tokens));
    if is_capped(hirer) { turn.min(hirer.experience.hired_with.map_or(0, |had| had.least / 2)) } else { turn }
}

/// Returns whether a hirer keeps at most half of the money that it had when it hired.
fn is_capped(hirer: &Contract) -> bool {
    hirer.path().level() > 0 || !hirer.experience.reported
}

/// Returns the least money that could be given out of `free`.
fn pot_least(hirer: &Contract, free: i128) -> i128 {
    match hirer.experience.hired_with {
        Some(had) if is_capped(hirer) => free - had.most / 2,
        // The facts give no upper bound of what the hirer keeps.
        Some(_) | None => 0,
    }
}

/// Returns what a hire needs.
fn need(experience: &Experience, hire: &Brief, budget: Budget) -> Range {
    let least = minimum(hire);
    let exact = |amount| Range { least: amount, most: amount };
    if budget == Budget::Named {
        return exact(least);
    }
    let learned = experience.spent * 5;
    let rounded_up = if learned % 4 == 0 { learned / 4 } else { learned / 4 + 1 };
    let (few, many) = (turns(hire, TURNS_LEAST), turns(hire, TURNS_MOST));
    let unnamed = match experience.spent {
        0 => exact(many),
        _ => Range { least: (learned / 4).clamp(few, many), most: rounded_up.clamp(few, many) },
    };
    let most = hire.money_max.map_or(i128::MAX, wide);
    let within = |amount: i128| amount.min(most).max(least);
    match budget {
        Budget::Named | Budget::Unknown => Range { least, most: within(unnamed.most) },
        Budget::Unnamed => Range { least: within(unnamed.least), most: within(unnamed.most) },
    }
}

/// Returns the price of this many opening turns of a hire, with its severance and its fee.
fn turns(hire: &Brief, count: i128) -> i128 {
    let input = hire.opening_bytes.saturating_add(hire.context.tokens());
    let turn = ceiling(&hire.tariff, input, TURN_TOKENS.min(hire.tariff.max_tokens));
    count * turn + wide(hire.severance) + wide(hire.fee)
}

/// Returns an upper bound of what one turn of an offered hire costs at the beginning, with its severance and its fee.
pub(crate) fn first_turn(hirer: &Brief, offer: &Offer, context_tokens: u64) -> i128 {
    let (tariff, opening) = match offer.inherit {
        Inherit::Fresh => (&offer.tariff, offer.opening_bytes),
        Inherit::Fork => (&hirer.tariff, offer.opening_bytes.max(hirer.opening_bytes)),
    };
    let input = opening.saturating_add(context_tokens);
    let turn = ceiling(tariff, input, TURN_TOKENS.min(tariff.max_tokens));
    let severance = wide(offer.severance).max(last_least(tariff)).max(wide(hirer.severance));
    turn + severance + wide(offer.fee)
}

/// Returns half of the money that the hirer had when it hired: the most that it keeps while that limit applies.
pub(crate) fn half_most(hirer: &Contract) -> i128 {
    hirer.experience.hired_with.map_or(0, |had| had.most / 2)
}
