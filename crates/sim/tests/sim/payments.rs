//! Schedules of payments: they are repeatable, and their choices say everything about them.

use guildhall_sim::{Chance, History, PaymentsRun, Played, Subject, run_payments};

#[test]
fn the_same_seed_pays_the_same() {
    let history = |seed| run_payments(Chance::seeded(seed), History::Kept).history;
    for seed in 0..50 {
        assert_eq!(history(seed), history(seed));
    }
}

#[test]
fn a_schedule_of_payments_is_replayed_from_its_choices() {
    for seed in 0..50 {
        let (chance, drawn) = Chance::recording(seed);
        let PaymentsRun { history, .. } = run_payments(chance, History::Kept);
        let again = run_payments(Chance::replaying(drawn.take()), History::Kept);
        assert_eq!(again.history, history, "seed {seed}");
    }
}

#[test]
fn without_faults_a_wallet_that_tells_the_truth_pays_everything() {
    let Played { violations, reach, .. } =
        Subject::Payments.play(Chance::replaying(Vec::new()), History::Dropped).expect("no panic");
    assert_eq!(violations, Vec::<String>::new());
    assert_eq!((reach.of("fact received"), reach.of("fact failed"), reach.of("lie failed")), (1, 0, 0));
}
