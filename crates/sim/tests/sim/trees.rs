//! Whole trees in the simulator: promises for every tree, tested on the hardest trees.

use guildhall_kernel::{Ask, Fact, Limit, Outcome, Path, Stored, Wording};
use guildhall_sim::{Chance, Run, Scenario, attempt, run_scenario};

fn closed(journal: &[Stored]) -> impl Iterator<Item = (&Path, &guildhall_kernel::Report)> {
    journal.iter().filter_map(|stored| {
        let Fact::Closed(report) = &stored.fact else { return None };
        Some((&stored.contract, &**report))
    })
}

fn opened(journal: &[Stored]) -> usize {
    journal.iter().filter(|stored| matches!(stored.fact, Fact::Opened(_))).count()
}

#[test]
fn a_chain_of_64_blocking_hires_finishes_on_one_permit() {
    let Run { violations, journal, .. } = run_scenario(Scenario::deepest_chain(), Chance::replaying(Vec::new()));
    assert_eq!(violations, Vec::<String>::new());
    let deepest = closed(&journal).map(|(path, _)| path.level()).max();
    assert_eq!(deepest, Some(64));
    assert_eq!(closed(&journal).count(), 65);
    let root = closed(&journal).find(|(path, _)| path.level() == 0).map(|(_, report)| report.outcome);
    assert_eq!(root, Some(Outcome::Done));
}

#[test]
fn a_fork_bomb_ends_with_every_contract_closed_and_within_its_grant() {
    for (permits, heads, depth) in [(1, 300, 64), (2, 1000, 3), (16, 2000, 10)] {
        let scenario = Scenario::fork_bomb(permits, heads, depth);
        let funded = scenario.roots[0].grant.money;
        let Run { violations, journal, .. } = run_scenario(scenario, Chance::seeded(7));
        assert_eq!(violations, Vec::<String>::new());
        assert_eq!(closed(&journal).count(), opened(&journal));
        assert!(opened(&journal) <= heads as usize + 1, "{} contracts of {heads} heads", opened(&journal));
        assert!(opened(&journal) > heads as usize / 4, "too few contracts: {}", opened(&journal));
        assert!(closed(&journal).all(|(path, _)| path.level() <= usize::from(depth)));
        let (_, root) = closed(&journal).find(|(path, _)| path.level() == 0).expect("the root closed");
        assert!(root.spent <= funded);
    }
}

#[test]
fn a_contract_that_is_done_has_a_final_text() {
    let mut assembled = 0;
    for seed in 0..3000 {
        let Run { journal, .. } = attempt(Chance::seeded(seed)).expect("no panic");
        for (path, report) in closed(&journal) {
            match (report.outcome, report.text) {
                (Outcome::Done, Wording::Assembled(_)) => panic!("{path} of seed {seed} is done without a final text"),
                (Outcome::Exhausted(_) | Outcome::Failed, Wording::Assembled(_)) => assembled += 1,
                (_, Wording::Final(_)) | (Outcome::Cancelled, Wording::Assembled(_)) => {}
            }
        }
    }
    assert!(assembled > 0, "at least one report was assembled without a model");
}

#[test]
fn the_severance_pays_for_a_last_request_when_the_money_runs_out() {
    let mut last_requests = 0;
    for seed in 0..2000 {
        let Run { journal, .. } = attempt(Chance::seeded(seed)).expect("no panic");
        let out_of_money = closed(&journal).filter(|(_, report)| report.outcome == Outcome::Exhausted(Limit::Purse));
        for (path, report) in out_of_money {
            let asked = journal.iter().any(|stored| {
                stored.contract == *path
                    && matches!(&stored.fact, Fact::Asked { ask: Ask::Model(request), .. } if request.turn == guildhall_kernel::Turn::Last)
            });
            last_requests += u32::from(asked && matches!(report.text, Wording::Final(_)));
        }
    }
    assert!(last_requests > 50, "{last_requests} contracts that ran out of money made a last request");
}

#[test]
fn the_same_seed_gives_the_same_schedule() {
    let journal = |seed| attempt(Chance::seeded(seed)).expect("no panic").journal;
    for seed in 0..50 {
        assert_eq!(journal(seed), journal(seed));
    }
}
