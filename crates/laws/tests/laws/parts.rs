//! The parts of the spent money (reserved, estimated and used) in reports and on the bill.

use guildhall_kernel::{
    Answer, Ask, Brief, Cost, Fact, Heads, ImplausibleUsage, Mode, Msat, Origin, Outcome, Report, Said, TextKind,
    Tokens,
};
use guildhall_laws::{Law, Parts, TokenSum};

use crate::journal::{Journal, answer_of, call, check, hire, known, msat, path, report, report_of, root, said, text};
use crate::scenes;

/// A root whose model call, tool call and check have these answers and costs.
fn answered(
    model: (Answer, Cost),
    tool: (Answer, Cost),
    checked: (Answer, Cost),
    parts: (u64, u64),
    spent: u64,
) -> Journal {
    let careful = Brief { checks: std::sync::Arc::new([check(50)]), ..root() };
    let mut j = Journal::new();
    j.open(&careful).request(&[]); // 1, 2
    j.answer("1", 1, model.0, model.1).tool(5000, call(1, 0)); // 3, 4
    j.answer("1", 2, tool.0, tool.1).request(&[]); // 5, 6
    j.answer("1", 3, said(3, 0), known(12_000)).ask(Ask::Check(check(50)), 50, 0, Origin::Course); // 7, 8
    j.answer("1", 4, checked.0, checked.1); // 9
    let (reserved, estimated) = (msat(parts.0), msat(parts.1));
    j.close(Report { reserved, estimated, ..report(Outcome::Done, 3, 10_000_000, spent) }); // 10
    j
}

fn result() -> Answer {
    Answer::Result(text(TextKind::Result, 2))
}

fn estimated(cost: u64) -> Cost {
    Cost::Estimated(msat(cost))
}

/// Asserts that a report with these parts is lawful, and that a report with one msat more or less in one part is not.
#[track_caller]
fn parts_are(journal: &Journal, closed: usize, reserved: u64, estimated: u64) {
    journal.is_lawful();
    let wrong_values = |value: u64| [value.checked_sub(1), value.checked_add(1)].into_iter().flatten();
    for wrong in wrong_values(reserved) {
        let journal = journal.clone().with(closed, |s| report_of(s).reserved = msat(wrong));
        journal.breaks(Law::Hires, &format!("reports {wrong} msat reserved, but {reserved} are"));
    }
    for wrong in wrong_values(estimated) {
        let journal = journal.clone().with(closed, |s| report_of(s).estimated = msat(wrong));
        journal.breaks(Law::Hires, &format!("reports {wrong} msat estimated, but {estimated} are"));
    }
}

#[test]
fn reported_costs_count_as_used() {
    let j = answered((said(1, 1), known(10_000)), (result(), known(4000)), (Answer::Passed, known(40)), (0, 0), 26_040);
    parts_are(&j, 10, 0, 0);
}

#[test]
fn an_unknown_cost_is_reserved_for_each_kind_of_call() {
    let passed = || (Answer::Passed, known(40));
    let model = answered((said(1, 1), Cost::Unknown), (result(), known(4000)), passed(), (18_000, 0), 34_040);
    parts_are(&model, 10, 18_000, 0);
    let tool = answered((said(1, 1), known(10_000)), (result(), Cost::Unknown), passed(), (5000, 0), 27_040);
    parts_are(&tool, 10, 5000, 0);
    let checked = (Answer::Passed, Cost::Unknown);
    let check = answered((said(1, 1), known(10_000)), (result(), known(4000)), checked, (50, 0), 26_050);
    parts_are(&check, 10, 50, 0);
}

#[test]
fn an_upper_bound_is_estimated_and_never_more_than_its_hold() {
    let passed = || (Answer::Passed, known(40));
    let within = answered((said(1, 1), estimated(11_000)), (result(), known(4000)), passed(), (0, 11_000), 27_040);
    parts_are(&within, 10, 0, 11_000);
    let above = answered((said(1, 1), estimated(99_000)), (result(), estimated(7)), passed(), (0, 18_007), 30_047);
    parts_are(&above, 10, 0, 18_007);
}

#[test]
fn the_charge_of_a_call_that_was_lost_or_failed_is_reserved_whatever_its_cost() {
    let failed = || Answer::Failed(text(TextKind::Error, 7));
    for answer in [Answer::Lost, failed()] {
        for (cost, charge) in [(known(4000), 4000), (estimated(3000), 3000), (Cost::Unknown, 5000)] {
            let passed = (Answer::Passed, known(40));
            let tool = (answer.clone(), cost);
            let j = answered((said(1, 1), known(10_000)), tool, passed, (charge, 0), 22_040 + charge);
            parts_are(&j, 10, charge, 0);
        }
    }
}

#[test]
fn the_charge_of_an_aborted_call_is_reserved_also_in_the_hirers_report() {
    // The hire's call is reserved at its hold, the root's call at its known usage.
    parts_are(&scenes::cancel(), 18, 21_000, 0);
    let j = scenes::cancel().with(15, |s| report_of(s).reserved = msat(17_999));
    j.breaks(Law::Hires, "reports 17999 msat reserved, but 18000 are");
}

/// A root with a hire whose model call has this cost.
fn hires(cost: Cost, lead: Report, parts: (Msat, Msat)) -> Journal {
    let brief = hire(&root(), 1, "scout");
    let spent = lead.spent.get();
    let mut j = Journal::new();
    j.open(&root()).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 1), known(10_000)).hire(&brief, Mode::Blocking, call(1, 0)); // 3, 4
    j.open(&brief).request(&[]); // 5, 6
    j.answer("1.1", 1, said(5, 0), cost).close(lead.clone()); // 7, 8
    j.answer("1", 2, Answer::Report(Box::new(lead)), known(spent)).request(&[2]); // 9, 10
    j.answer("1", 3, said(3, 0), estimated(500)); // 11
    let (reserved, estimated) = parts;
    j.close(Report { heads: Heads(1), reserved, estimated, ..report(Outcome::Done, 3, 10_000_000, 10_500 + spent) }); // 12
    j
}

#[test]
fn the_parts_of_a_hires_report_are_included_in_its_hirers() {
    let paid = Report { fee: msat(100), ..report(Outcome::Done, 5, 2_500_000, 10_100) };
    let lead = Report { estimated: msat(10_000), ..paid.clone() };
    parts_are(&hires(estimated(10_000), lead, (msat(0), msat(10_500))), 12, 0, 10_500);
    let paid = Report { fee: msat(100), ..report(Outcome::Done, 5, 2_500_000, 18_100) };
    let lead = Report { reserved: msat(18_000), ..paid };
    parts_are(&hires(Cost::Unknown, lead, (msat(18_000), msat(500))), 12, 18_000, 500);
}

/// A root whose hire has no facts in this journal and returns this report.
fn hire_without_facts(lead: Report, parts: (u64, u64)) -> Journal {
    let brief = hire(&root(), 1, "scout");
    let spent = lead.spent.get();
    let mut j = Journal::new();
    j.open(&root()).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 1), known(10_000)).hire(&brief, Mode::Blocking, call(1, 0)); // 3, 4
    j.answer("1", 2, Answer::Report(Box::new(lead)), known(spent)).request(&[2]); // 5, 6
    j.answer("1", 3, said(3, 0), known(10_000)); // 7
    let (reserved, estimated) = (msat(parts.0), msat(parts.1));
    j.close(Report { heads: Heads(1), reserved, estimated, ..report(Outcome::Done, 3, 10_000_000, 20_000 + spent) }); // 8
    j
}

#[test]
fn reserved_estimated_and_fee_do_not_exceed_the_spending() {
    let lead = |reserved: Msat, estimated: Msat| Report {
        reserved,
        estimated,
        fee: msat(100),
        ..report(Outcome::Done, 5, 2_500_000, 10_000)
    };
    hire_without_facts(lead(msat(9000), msat(900)), (9000, 900)).is_lawful();
    let more = "9001 msat reserved, 900 estimated and a fee of 100 exceed the 10000 spent";
    hire_without_facts(lead(msat(9001), msat(900)), (9001, 900)).breaks(Law::Hires, more);
    let more = "9000 msat reserved, 901 estimated and a fee of 100 exceed the 10000 spent";
    hire_without_facts(lead(msat(9000), msat(901)), (9000, 901)).breaks(Law::Hires, more);
    let closed = scenes::one_hire().with(14, |s| report_of(s).reserved = msat(38_141));
    closed.breaks(Law::Hires, "38141 msat reserved, 0 estimated and a fee of 0 exceed the 38140 spent");
}

#[test]
fn the_bill_has_the_parts_of_each_contract_alone_and_with_its_hires() {
    let (checker, found) = scenes::cancel().followed();
    assert_eq!(found, []);
    let line = |contract: &str| checker.line(&path(contract)).unwrap();
    let parts = |used, estimated, reserved| Parts { used, estimated, reserved };
    assert_eq!((line("1").own, line("1").own_parts), (13_000, parts(10_000, 0, 3000)));
    assert_eq!(line("1").all_parts, parts(10_000, 0, 21_000));
    assert_eq!((line("1.1").own, line("1.1").own_parts), (18_000, parts(0, 0, 18_000)));
    assert_eq!(line("1.1").all_parts, parts(0, 0, 18_000));
    assert_eq!(line("1").all_parts.total(), line("1").spent);

    // The sums of a hirer include the spending of a hire that has not reported yet; the hirer's purse does not.
    let (checker, found) = scenes::cancel().until(15).followed();
    assert_eq!(found, []);
    let line = checker.line(&path("1")).unwrap();
    assert_eq!((line.spent, line.all_parts), (13_000, parts(10_000, 0, 21_000)));

    let lead = Report { estimated: msat(10_000), fee: msat(100), ..report(Outcome::Done, 5, 2_500_000, 10_100) };
    let (checker, found) = hires(estimated(10_000), lead, (msat(0), msat(10_500))).followed();
    assert_eq!(found, []);
    let line = |contract: &str| checker.line(&path(contract)).unwrap();
    assert_eq!((line("1").own_parts, line("1").all_parts), (parts(10_000, 500, 0), parts(10_100, 10_500, 0)));
    assert_eq!((line("1.1").own_parts, line("1.1").all_parts), (parts(100, 10_000, 0), parts(100, 10_000, 0)));
    assert_eq!(checker.bill().collect::<Vec<_>>(), [line("1"), line("1.1")]);
}

#[test]
fn tokens_are_added_up_whatever_a_provider_claims() {
    let used = |j: Journal, nth: usize, used: Tokens| {
        j.with(nth, |s| {
            let Answer::Said(said) = answer_of(s).0 else { panic!("a reply") };
            *said = Said { used: Some(used), ..*said };
        })
    };
    let huge = Tokens { input: u64::MAX, cached: 7, output: u64::MAX };
    let j = used(scenes::one_hire(), 3, Tokens { input: 10, cached: 4, output: 2 });
    let j = used(used(j, 7, huge), 13, huge);
    let (checker, found) = j.followed();
    assert_eq!(found, []);
    let line = |contract: &str| checker.line(&path(contract)).unwrap();
    let most = u128::from(u64::MAX);
    assert_eq!(line("1").own_tokens, TokenSum { input: 10 + most, cached: 11, output: 2 + most });
    assert_eq!(line("1.1").own_tokens, TokenSum { input: most, cached: 7, output: most });
    assert_eq!(line("1").all_tokens, TokenSum { input: 10 + 2 * most, cached: 18, output: 2 + 2 * most });
    assert_eq!(line("1.1").all_tokens, line("1.1").own_tokens);
}

#[test]
fn nothing_is_computed_from_a_usage_report_that_can_t_be_right() {
    let reports = |change: fn(&mut Said, &mut Cost)| {
        let changed = scenes::one_tool().with(7, |stored| {
            let Fact::Answered { answer: Answer::Said(said), cost, .. } = &mut stored.fact else { panic!("a reply") };
            (said.implausible, said.input_tokens) = (Some(ImplausibleUsage { tokens: 0, bytes: 12_000 }), None);
            *cost = estimated(12_000);
            change(said, cost);
        });
        changed.with(8, |stored| report_of(stored).estimated = msat(12_000))
    };
    reports(|_, _| {}).is_lawful();
    let broken = "#3 is settled by a usage report that can't be right";
    reports(|said, _| said.used = Some(Tokens::default())).breaks(Law::Holds, broken);
    reports(|said, _| said.input_tokens = Some(400)).breaks(Law::Holds, broken);
    reports(|_, cost| *cost = known(12_000)).breaks(Law::Holds, broken);
}
