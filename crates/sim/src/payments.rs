//! Schedules of payments: a hall with one wallet that lies, some sessions and payees, and processes that are killed at any
//! moment. The simulator knows who really paid what, and compares every account with it after every step.

mod book;
mod hall;
mod journal;
mod names;
mod replies;
mod wallet;
mod worker;

use guildhall_kernel::{Millis, Payer, TreasuryFact};

use self::hall::{Hall, seconds};
use self::wallet::State;
use crate::chance::Chance;
use crate::reach::Reach;

/// The steps that a process does at most before something else happens.
const STEPS_MAX: u32 = 10;

/// After this many steps without a pause, a process never comes to rest.
const STEPS_TO_REST_MAX: u32 = 2_000;

/// How long the hall is watched after the faults have ended: long enough for every invoice to expire.
const ROUNDS: u32 = 12;
const ROUND: Millis = Millis(15 * 60 * 1000);

/// The result of a schedule of payments.
#[derive(Debug)]
pub struct PaymentsRun {
    /// What was broken.
    pub violations: Vec<String>,
    /// The counts of what was reached.
    pub reach: Reach,
    /// The number of stored facts of the treasury.
    pub facts: u64,
    /// What happened, if it was asked for.
    pub history: Vec<String>,
}

/// Returns the table of everything that schedules of payments must reach.
pub(crate) fn reach() -> Reach {
    names::reach()
}

/// Whether a run keeps what happened, for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// Only counts are kept.
    Dropped,
    /// One line for each event is kept.
    Kept,
}

/// Draws a schedule of payments and runs it to its end, or to the first violation.
pub fn run_payments(chance: Chance, history: History) -> PaymentsRun {
    let log = match history {
        History::Kept => Some(Vec::new()),
        History::Dropped => None,
    };
    let mut hall = Hall::new(chance, log);
    let weights = draw_weights(&mut hall.chance);
    hall.is_backed_up = weights[BACKUP] > 0;
    let actions = 10 + hall.chance.below(90);
    for _ in 0..actions {
        if !hall.violations.is_empty() {
            break;
        }
        act(&mut hall, &weights);
        hall.check();
    }
    if hall.violations.is_empty() {
        end(&mut hall);
    }
    let facts = hall.journal.facts.len() as u64;
    PaymentsRun { violations: hall.violations, reach: hall.reach, facts, history: hall.log.unwrap_or_default() }
}

/// The place of this action among the weights.
const BACKUP: usize = 9;

/// How often each action is chosen. Rare faults are absent from most schedules, so that other faults are seen alone, too.
fn draw_weights(chance: &mut Chance) -> [u32; 14] {
    let mut rare = |weight: u32| if chance.one_in(4) { weight } else { 0 };
    let (shared, backup, resolved, clock) = (rare(5), rare(4), rare(3), rare(10));
    let mut common = |weight: u32| if chance.one_in(2) { weight } else { 0 };
    let (killed, second) = (common(10), common(4));
    [40, 10, 3, 5, 5, 7, 3, killed, second, backup, shared, resolved, clock, 4]
}

fn act(hall: &mut Hall, weights: &[u32; 14]) {
    match hall.chance.weighted(weights) {
        0 => work(hall),
        1 => pass_time(hall),
        2 => hall.fund(),
        3 => hall.pay_in(),
        4 => hall.earn(),
        5 => hall.refund(),
        6 => hall.allow(),
        7 => {
            if !hall.workers.is_empty() {
                hall.kill(0);
            }
        }
        8 => {
            if !hall.workers.is_empty() {
                hall.reach.count("two processes");
            }
            hall.start();
        }
        BACKUP => hall.backup(),
        10 => hall.share(),
        11 => hall.resolve(),
        12 => hall.correct_clock(),
        _ => {
            hall.land();
            hall.store_late();
        }
    }
}

/// A process does some steps. If it has nothing to do, it waits.
fn work(hall: &mut Hall) {
    if hall.workers.is_empty() {
        hall.start();
    }
    let count = u32::try_from(hall.workers.len()).expect("few processes");
    let number = {
        let at = hall.chance.below(count) as usize;
        hall.workers[at].number
    };
    let steps = STEPS_MAX - hall.chance.below(STEPS_MAX);
    for _ in 0..steps {
        let Some(at) = hall.workers.iter().position(|worker| worker.number == number) else { return };
        if !hall.advance(at) {
            let pause = if hall.has_request_to_send() { Millis(1_000) } else { hall.pause(at) };
            hall.pass_time(pause);
        }
        if !hall.violations.is_empty() {
            return;
        }
    }
}

fn pass_time(hall: &mut Hall) {
    let span = hall.chance.pick(&[1_u32, 3, 8, 20, 31, 61, 200, 400, 620, 1_900, 3_300, 90_000]);
    // A process that is about to send a request is not stopped for long: see the rules of the wallet.
    let span = if hall.has_request_to_send() { span.min(3) } else { span };
    if span > 1_000 {
        hall.reach.count("clock jumps");
    }
    hall.pass_time(seconds(u64::from(span)));
}

/// The faults end, and time passes: everything that can end must end.
fn end(hall: &mut Hall) {
    (hall.faults, hall.wallet.lies) = (false, 0);
    hall.workers.clear();
    hall.start();
    for _ in 0..ROUNDS {
        if !hall.book.frozen.is_empty() || !hall.book.is_allowed {
            let accepted = hall.book.frozen.iter().map(|payment| TreasuryFact::Accepted { payment: *payment });
            let facts: Vec<_> = accepted.chain([TreasuryFact::Payouts { allowed: true }]).collect();
            if hall.store(None, &facts, &[]).is_err() {
                hall.violate("a person can't allow payouts".to_owned());
            }
        }
        rest(hall);
        hall.check();
        if !hall.violations.is_empty() {
            return;
        }
        hall.pass_time(ROUND);
    }
    rest(hall);
    hall.check();
    check_end(hall);
}

/// The process works until it has nothing to do.
fn rest(hall: &mut Hall) {
    for _ in 0..STEPS_TO_REST_MAX {
        if hall.workers.is_empty() {
            hall.violate("without faults, a process ended".to_owned());
            return;
        }
        if !hall.advance(0) || !hall.violations.is_empty() {
            return;
        }
    }
    hall.violate("a process does not come to rest".to_owned());
}

fn check_end(hall: &mut Hall) {
    let mut wrong = Vec::new();
    for payment in hall.book.uncredited() {
        if hall.wallet.own.get(&payment).is_some_and(|invoice| invoice.is_paid) {
            wrong.push(format!("a paid invoice is never credited: {:?}", payment.0));
        }
    }
    let mut pending = 0;
    for (payment, out) in hall.book.outs.iter().filter(|(_, out)| out.end.is_none()) {
        let is_listed = hall.journal.treasury.payment(*payment).is_some_and(|found| found.end.is_none());
        if !is_listed {
            wrong.push(format!("an unknown payment is not listed: {:?}", payment.0));
        }
        match hall.wallet.bills.get(payment).map(|bill| bill.state) {
            Some(State::Pending(None, _)) => pending += 1,
            Some(_) | None if is_recent(hall, out.at) => {}
            state => wrong.push(format!("a payment does not end: {:?} ({state:?})", payment.0)),
        }
    }
    for payee in &hall.payees {
        let owed = hall.book.owed(payee);
        let is_paying = |out: &book::Out| out.end.is_none() && out.from == Payer::Payee(payee.clone());
        let is_stuck = hall.book.outs.values().any(is_paying);
        let day_before = guildhall_kernel::UnixMs(hall.clock().0 - 86_400_000);
        let left = i128::from(hall.policy.daily_max.get()) - hall.book.paid_since(day_before);
        if owed >= i128::from(hall.policy.payout_min.get()) && !is_stuck && left >= 1000 {
            wrong.push(format!("a payee is not paid: {payee} is owed {owed} msat"));
        }
    }
    for _ in 0..pending {
        hall.reach.count("end pending for ever");
    }
    hall.violations.extend(wrong);
}

/// Whether a payment was decided so late that it need not have ended.
fn is_recent(hall: &Hall, at: guildhall_kernel::UnixMs) -> bool {
    at.after(seconds(5_000)) > hall.clock()
}
