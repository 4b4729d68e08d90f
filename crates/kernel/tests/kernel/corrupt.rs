//! The error for a journal that breaks a law names the fact that breaks it, and no journal causes a panic. The tests
//! remove, repeat, swap and change each fact of a journal, and then damage its stored form at random.

mod chance;
mod changes;
mod rich;

use guildhall_kernel::{Answer, Contract, Corrupt, Cost, Fact, Msat};

/// Restores a damaged journal. The fact that the error names must be at the damage or after it.
fn restore(facts: &[Fact], damage: usize) -> Result<Contract, Corrupt> {
    let restored = Contract::restore(facts.iter().cloned());
    if let Err(corrupt) = &restored {
        let named = facts.get(corrupt.index).map_or("the end", Fact::kind);
        let named = if facts.is_empty() { "nothing" } else { named };
        assert_eq!(corrupt.fact, named, "{corrupt}");
        assert!(corrupt.index >= damage, "{corrupt}, before the damage at {damage}");
    }
    restored
}

/// Checks that all these journals are corrupt, except the listed ones, which break no law for the given reason.
fn check(damaged: impl Iterator<Item = (usize, String, Vec<Fact>)>, lawful: &[(&str, &str)]) {
    let restored = damaged.filter(|(at, _, facts)| restore(facts, *at).is_ok()).map(|(_, name, _)| name);
    let expected: Vec<&str> = lawful.iter().map(|(name, _reason)| *name).collect();
    assert_eq!(restored.collect::<Vec<_>>(), expected);
}

/// Names a fact of the rich journal: its place and its kind.
fn name(facts: &[Fact], at: usize) -> String {
    format!("{at} {}", facts[at].kind())
}

#[test]
fn the_rich_journal_has_every_kind_of_fact_and_is_lawful() {
    let facts = rich::journal();
    let kinds: std::collections::BTreeSet<_> = facts.iter().map(Fact::kind).collect();
    assert_eq!(kinds.len(), 12, "{kinds:?}");
    assert!(restore(&facts, 0).is_ok());
}

#[test]
fn an_empty_journal_is_corrupt() {
    assert!(restore(&[], 0).is_err());
}

#[test]
fn a_missing_fact_is_found() {
    let facts = rich::journal();
    let without = |at: usize| facts[..at].iter().chain(&facts[at + 1..]).cloned().collect();
    check((0..facts.len()).map(|at| (at, name(&facts, at), without(at))), &[]);
}

#[test]
fn a_repeated_fact_is_found() {
    let facts = rich::journal();
    let twice = |at: usize| facts[..=at].iter().chain(&facts[at..]).cloned().collect();
    check((0..facts.len()).map(|at| (at, name(&facts, at), twice(at))), &[]);
}

#[test]
fn swapped_facts_are_found() {
    let facts = rich::journal();
    let swapped = |at: usize| {
        let mut facts = facts.clone();
        facts.swap(at, at + 1);
        facts
    };
    let lawful = [
        ("17 answered", "a delivery and a message from the owner come from the world, in any order"),
        ("18 heard", "a message ends a wait, also if the message is heard a moment later"),
        ("26 answered", "a delivery and a report come from the world, in any order"),
        ("37 answered", "a reply and a report come from the world, in any order"),
        ("53 answered", "a delivery and a report come from the world, in any order"),
    ];
    check((0..facts.len() - 1).map(|at| (at, name(&facts, at), swapped(at))), &lawful);
}

#[test]
fn a_journal_may_end_after_a_step_but_not_within_a_reply() {
    let (facts, steps) = (rich::journal(), rich::steps());
    for end in &steps {
        assert!(restore(&facts[..*end], 0).is_ok(), "a step ends at {end}");
    }
    let calls = |fact: &Fact| matches!(fact, Fact::Answered { answer: Answer::Said(said), .. } if said.calls > 0);
    for (at, _) in facts.iter().enumerate().filter(|(_, fact)| calls(fact)) {
        let corrupt = restore(&facts[..=at], at).unwrap_err();
        assert_eq!((corrupt.index, corrupt.fact), (at + 1, "the end"), "{corrupt}");
    }
}

#[test]
fn a_changed_fact_is_found() {
    let facts = rich::journal();
    let changed = facts.iter().enumerate().flat_map(|(at, fact)| {
        let put = |(what, fact): (&str, Fact)| {
            let mut facts = facts.clone();
            facts[at] = fact;
            (at, format!("{}: {what}", name(&facts, at)), facts)
        };
        changes::of(fact).into_iter().map(put).collect::<Vec<_>>()
    });
    let shown = "a compaction follows, which sets the size";
    let last = "no later request depends on the size";
    let own = "a report is checked in its own contract's journal; here only its cost counts";
    let lawful = [
        ("22 answered: input tokens", shown),
        ("27 answered: heads", own),
        ("35 answered: heads", own),
        ("38 answered: heads", own),
        ("47 asked: arguments", "the call was not approved, so it was never made"),
        ("54 answered: heads", own),
        ("56 answered: larger", last),
        ("56 answered: input tokens", last),
    ];
    check(changed, &lawful);
}

/// A different cost within the hold breaks no law by itself, because costs come from the world. But the report then has
/// the wrong sum.
#[test]
fn a_changed_cost_is_found_when_the_contract_closes() {
    let facts = rich::journal();
    let mut found = 0;
    for (at, fact) in facts.iter().enumerate() {
        let Fact::Answered { id, answer, cost: Cost::Known(cost) } = fact else { continue };
        let Some(less) = cost.get().checked_sub(1) else { continue };
        let mut facts = facts.clone();
        let cost = Cost::Known(Msat::new(less).unwrap());
        facts[at] = Fact::Answered { id: *id, answer: answer.clone(), cost };
        let corrupt = restore(&facts, at).unwrap_err();
        // A hire's cost must equal the spending in its report, so this error is found earlier.
        let is_hire = answer.report().is_some();
        assert_eq!(corrupt.fact, if is_hire { "answered" } else { "closed" }, "{corrupt}");
        found += 1;
    }
    assert!(found > 5, "the journal has costs to change");
}

#[test]
fn random_damage_to_the_stored_form_never_panics() {
    chance::damage(&rich::journal(), 20_000);
}
