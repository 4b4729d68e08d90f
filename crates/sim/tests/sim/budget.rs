//! A budget holds, and it can be used: how much of a known amount of work is finished within it.

use guildhall_kernel::Msat;
use guildhall_sim::Chance;
use guildhall_sim::budget::{CALL_LENGTH, Outcomes, Prices, Task, Work, run};

const fn msat(amount: u64) -> Msat {
    match Msat::new(amount) {
        Ok(msat) => msat,
        Err(_) => Msat::SUPPLY,
    }
}

/// $1 and $5 per million tokens, at 1 msat for a millionth of a dollar. A hold pays a quarter more for input.
const PRICES: Prices =
    Prices { held_input: msat(1_250_000), billed_input: msat(1_000_000), output: msat(5_000_000), max_tokens: 8_192 };

/// More than any of this work costs.
const PLENTY: Msat = msat(2_000_000_000_000);

/// How many calls run at once.
const PERMITS: [usize; 3] = [1, 5, 32];

/// Runs work with a budget of which it needs a part, in percent, and returns the budget and what came of it.
fn at(work: &Work, percent: u64, permits: usize) -> (Msat, Outcomes) {
    let free = run(work, PRICES, PLENTY, permits, 1);
    let budget = msat(free.bill * 100 / percent);
    (budget, run(work, PRICES, budget, permits, 1))
}

/// Checks that all of the work is finished, and that every report is whole.
fn finishes(work: &Work, percent: u64) {
    for permits in PERMITS {
        let (budget, outcomes) = at(work, percent, permits);
        let seen = (outcomes.leaves.len(), outcomes.hirers, outcomes.poor_hirers);
        assert_eq!(seen, (work.leaves(), work.hirers(), 0), "{permits} at once, {budget}: {outcomes:?}");
        takes_at_most_three_times_as_long(work, permits, &outcomes);
    }
}

/// Compares the time with the time without a limit, at five calls at once.
fn takes_at_most_three_times_as_long(work: &Work, permits: usize, outcomes: &Outcomes) {
    if permits == 5 {
        let free = run(work, PRICES, PLENTY, permits, 1);
        let (time, most) = (outcomes.time / CALL_LENGTH, 3 * free.time / CALL_LENGTH);
        assert!(time <= most, "{time} call lengths, {most} allowed: {outcomes:?}");
    }
}

/// Checks that at least this many leaves finish uncut, and that every hirer's report is whole.
fn finishes_part(work: &Work, percent: u64, leaves: usize) {
    for permits in PERMITS {
        let (budget, outcomes) = at(work, percent, permits);
        assert!(outcomes.leaves.len() >= leaves, "{permits} at once, {budget}: {outcomes:?}");
        assert_eq!((outcomes.poor_hirers, outcomes.root), (0, true), "{permits} at once, {budget}: {outcomes:?}");
        takes_at_most_three_times_as_long(work, permits, &outcomes);
    }
}

#[test]
fn work_that_fits_is_finished_by_every_leaf() {
    let cases: [(u32, u32, u32, u32, u64); 10] = [
        (1, 20, 3, 500, 46),
        (1, 20, 4, 500, 66),
        (1, 20, 1, 1_500, 39),
        (1, 20, 1, 2_500, 63),
        (1, 20, 2, 1_200, 63),
        (1, 5, 4, 1_500, 44),
        (1, 5, 6, 1_500, 74),
        (2, 4, 3, 500, 39),
        (3, 4, 1, 500, 58),
        (3, 4, 2, 300, 73),
    ];
    for (levels, hires, turns, tokens, percent) in cases {
        finishes(&Work::even(levels, hires, turns, tokens), percent);
    }
}

#[test]
fn work_that_just_fits_is_finished_by_most_leaves() {
    finishes_part(&Work::even(1, 20, 5, 500), 88, 15);
    finishes_part(&Work::even(1, 20, 1, 3_500), 87, 15);
    finishes_part(&Work::even(1, 5, 4, 3_000), 84, 4);
}

/// Work that does not fit: each leaf costs a fifth of the budget.
#[test]
fn of_work_that_does_not_fit_some_is_finished_and_the_budget_is_used() {
    for (turns, tokens) in [(4, 3_500), (15, 500)] {
        let leaf = Work::even(1, 1, turns, tokens);
        let hirer = Work::Hirer(Vec::new());
        let cost = run(&leaf, PRICES, PLENTY, 1, 1).bill - run(&hirer, PRICES, PLENTY, 1, 1).bill;
        let budget = msat(5 * cost);
        for work in [Work::even(1, 20, turns, tokens), Work::even(3, 4, turns, tokens)] {
            for permits in PERMITS {
                let outcomes = run(&work, PRICES, budget, permits, 1);
                assert!(outcomes.leaves.len() >= 2, "{turns} × {tokens}, {permits} at once: {outcomes:?}");
                assert!(outcomes.root, "{turns} × {tokens}, {permits} at once: {outcomes:?}");
                assert_eq!(outcomes.poor_hirers, 0, "{turns} × {tokens}, {permits} at once: {outcomes:?}");
                let used = outcomes.bill * 100 / budget.get();
                assert!((85..=100).contains(&used), "{used} %, {turns} × {tokens}, {permits} at once: {outcomes:?}");
            }
        }
    }
}

/// One hire wants far more than the nine beside it, and all nine finish.
#[test]
fn a_greedy_hire_starves_nobody() {
    let small = || Task::of(Work::Leaf { turns: 4, tokens: 500 });
    let greedy = |said| Task { said, ..Task::of(Work::Leaf { turns: 50, tokens: 500 }) };
    let nine = || (0..9).map(|_| small()).collect::<Vec<_>>();
    let hirer = || Task::of(Work::even(1, 10, 4, 500));
    let said = Some(msat(1_000_000_000_000));
    let with = |first: Vec<Task>, last: Vec<Task>| Work::Hirer(first.into_iter().chain(nine()).chain(last).collect());
    let cases = [
        ("first", with(vec![greedy(None)], vec![]), 2..=10),
        ("last", with(vec![], vec![greedy(None)]), 1..=9),
        ("first, with a said budget", with(vec![greedy(said)], vec![]), 2..=10),
        ("last, with a said budget", with(vec![], vec![greedy(said)]), 1..=9),
        ("a hirer of ten first", with(vec![hirer()], vec![]), 2..=10),
        ("a hirer of ten last", with(vec![], vec![hirer()]), 1..=9),
    ];
    for (name, work, nine) in cases {
        for permits in PERMITS {
            let outcomes = run(&work, PRICES, msat(500_000), permits, 1);
            let done = outcomes.leaves.iter().filter(|leaf| leaf.level() == 1 && nine.contains(&leaf.ordinal()));
            assert_eq!(done.count(), 9, "{name}, {permits} at once: {outcomes:?}");
        }
    }
}

/// The default budget of one dollar, and prices above those of `haiku` and of `sonnet`: $1 and $5, and $3 and $15 per million
/// tokens.
#[test]
fn a_hundred_leaves_and_eleven_hirers_finish_at_the_default_dollar() {
    let sonnet =
        Prices { held_input: msat(3_750_000), billed_input: msat(3_000_000), output: msat(15_000_000), ..PRICES };
    let work = Work::even(2, 10, 1, 75);
    for prices in [PRICES, sonnet] {
        for permits in PERMITS {
            let (free, outcomes) =
                (run(&work, prices, PLENTY, permits, 1), run(&work, prices, msat(1_000_000), permits, 1));
            let seen = (outcomes.leaves.len(), outcomes.hirers, outcomes.poor_hirers, outcomes.refused_hires);
            assert_eq!(seen, (100, 11, 0, 0), "{permits} at once: {outcomes:?}");
            assert!(permits != 5 || outcomes.time <= 2 * free.time, "{} of {}: {outcomes:?}", outcomes.time, free.time);
        }
    }
}

/// Trees of unequal work: 1 to 3 levels, 2 to 12 hires, leaves of 1 to 20 turns of 60 to 4,000 tokens.
fn random_tree(chance: &mut Chance, levels: u32) -> Work {
    if levels == 0 {
        let turns = log_normal(chance, 1.2, 0.8).clamp(1.0, 20.0);
        let tokens = log_normal(chance, 6.2, 0.8).clamp(60.0, 4_000.0);
        return Work::Leaf { turns: whole(turns), tokens: whole(tokens) };
    }
    let hires = 2 + chance.below(if levels == 1 { 11 } else { 4 });
    let hire = |chance: &mut Chance| {
        let below = if levels > 1 && chance.below(10) < 3 { 0 } else { levels - 1 };
        Task::of(random_tree(chance, below))
    };
    Work::Hirer((0..hires).map(|_| hire(chance)).collect())
}

/// Most amounts of work are small, and a few are large.
fn log_normal(chance: &mut Chance, mean: f64, deviation: f64) -> f64 {
    let uniform: f64 = (0..12).map(|_| f64::from(chance.below(1_000_000)) / 1e6).sum();
    (mean + deviation * (uniform - 6.0)).exp()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the numbers are between 1 and 4,000")]
fn whole(number: f64) -> u32 {
    number as u32
}

/// Returns how many of so many random trees finish wholly if they need this part of the budget, in percent.
fn wholly_finished(trees: u64, percent: u64) -> u64 {
    let mut finished = 0;
    for seed in 0..trees {
        let mut chance = Chance::seeded(seed);
        let levels = chance.pick(&[1, 1, 2, 3]);
        let work = random_tree(&mut chance, levels);
        let permits = chance.pick(&PERMITS);
        let need = run(&work, PRICES, PLENTY, 32, seed).bill;
        let outcomes = run(&work, PRICES, msat(need * 100 / percent), permits, seed);
        let whole = outcomes.leaves.len() == work.leaves() && outcomes.hirers == work.hirers();
        finished += u64::from(whole && outcomes.refused_hires == 0);
    }
    finished
}

#[test]
fn unequal_work_is_finished_too() {
    let (half, most) = (wholly_finished(1_000, 50), wholly_finished(1_000, 75));
    assert!(half >= 950 && most >= 800, "of 1,000: {half} with half the budget, {most} with three quarters");
}
