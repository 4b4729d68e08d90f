//! The memory of a waiting contract, and that the memory of a step does not grow with the transcript. Counted in bytes,
//! not in time.
#![allow(clippy::disallowed_macros, reason = "the figures are for a reader of `--nocapture`")]

#[path = "../benches/driver.rs"]
mod driver;

use std::alloc::System;

use guildhall_kernel::{Contract, Millis};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The test harness allocates some memory itself; an average over many contracts makes that negligible.
const MANY: usize = 10_000;

fn bytes_each(make: impl Fn() -> Contract) -> usize {
    let mut contracts = Vec::with_capacity(MANY);
    let region = Region::new(ALLOCATOR);
    contracts.extend((0..MANY).map(|_| make()));
    let change = region.change();
    (change.bytes_allocated - change.bytes_deallocated) / MANY + size_of::<Contract>()
}

/// A single test, because the counters belong to the whole process.
#[test]
fn a_contract_is_small_and_a_step_does_not_grow_with_the_transcript() {
    let waiting_for_a_model =
        bytes_each(|| Contract::open(driver::root(), Millis(0)).expect("the brief breaks no law").0);
    let waiting_for_a_hire = bytes_each(|| {
        let (mut contract, _) = Contract::open(driver::root(), Millis(0)).expect("the brief breaks no law");
        contract.step(driver::hires(&contract, 1), Millis(0));
        contract
    });
    eprintln!(
        "waiting for a model: {waiting_for_a_model} bytes; for a hire: {waiting_for_a_hire}, both briefs included"
    );
    assert!(waiting_for_a_model < 2304, "{waiting_for_a_model} bytes");
    assert!(waiting_for_a_hire < 2304, "{waiting_for_a_hire} bytes");

    let turn = |turns| {
        let mut contract = driver::talk(turns);
        let region = Region::new(ALLOCATOR);
        for _ in 0..MANY {
            contract.step(driver::tool_turn(&contract), Millis(0));
            contract.step(driver::tool_result(&contract), Millis(0));
        }
        region.change().bytes_allocated / MANY
    };
    let (early, late) = (turn(10), turn(20_000));
    eprintln!("a turn allocates {early} bytes after 10 turns, {late} after 20,000");
    assert!(late <= early + early / 100, "{late} bytes where {early} were enough");

    let forked = |turns| {
        let contracts: Vec<_> = (0..100).map(|_| driver::talk(turns)).collect();
        let region = Region::new(ALLOCATOR);
        for mut contract in contracts {
            contract.step(driver::fork(&contract), Millis(0));
        }
        region.change().bytes_allocated / 100
    };
    let (short, long) = (forked(10), forked(10_000));
    eprintln!("a fork allocates {short} bytes after 10 turns, {long} after 10,000");
    assert!(long <= short + short / 50, "{long} bytes where {short} were enough");
}
