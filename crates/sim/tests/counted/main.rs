//! The work that waiting costs, counted in facts and allocations, not in time. A test program of its own, because the counters belong
//! to the whole process.

use std::alloc::System;

use guildhall_kernel::Msat;
use guildhall_sim::budget::{Outcomes, Prices, Work, run};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const fn msat(amount: u64) -> Msat {
    match Msat::new(amount) {
        Ok(msat) => msat,
        Err(_) => Msat::SUPPLY,
    }
}

const PRICES: Prices =
    Prices { held_input: msat(1_250_000), billed_input: msat(1_000_000), output: msat(5_000_000), max_tokens: 64_000 };

/// Runs work with this much money, and returns what came of it with the number of allocations.
fn counted(work: &Work, money: u64) -> (Outcomes, u64) {
    let region = Region::new(ALLOCATOR);
    let outcomes = run(work, PRICES, msat(money), 32, 1);
    let change = region.change();
    (outcomes, (change.allocations + change.reallocations) as u64)
}

/// Twice the hires may cost at most this many tenths of twice the work: maps grow a little faster than linearly.
const TENTHS_MAX: u64 = 12;

fn is_linear(half: u64, whole: u64) -> bool {
    whole <= half * 2 * TENTHS_MAX / 10
}

#[test]
fn a_thousand_hires_that_wait_or_draw_cost_linear_work() {
    // Few of the hires fit at once, so almost all wait.
    let waits = |hires: u32| counted(&Work::even(1, hires, 1, 100), u64::from(hires) * 9_000);
    let ((half, half_work), (whole, whole_work)) = (waits(500), waits(1_000));
    assert_eq!((half.leaves.len(), whole.leaves.len()), (500, 1_000));
    assert!(half.waited >= 450 && whole.waited >= 900, "{} and {} have waited", half.waited, whole.waited);
    assert!(is_linear(half_work, whole_work), "{half_work} and {whole_work} allocations");
    assert!(is_linear(half.facts as u64, whole.facts as u64), "{} and {} facts", half.facts, whole.facts);

    // All hires get a part of what they need, and draw the rest.
    let draws = |hires: u32| counted(&Work::even(1, hires, 12, 1_500), u64::from(hires) * 120_000);
    let ((half, half_work), (whole, whole_work)) = (draws(500), draws(1_000));
    assert!(half.draws >= 500 && whole.draws >= 1_000, "{} and {} draws", half.draws, whole.draws);
    assert!(is_linear(half_work, whole_work), "{half_work} and {whole_work} allocations");
    assert!(is_linear(half.facts as u64, whole.facts as u64), "{} and {} facts", half.facts, whole.facts);
}
