//! Money and heads that do not add up: the laws of the purse, the holds, the hires and the severance.

use std::sync::Arc;

use guildhall_kernel::{
    Acceptance, Answer, Brief, Cost, Fact, Heads, Limit, Mode, Outcome, Stimulus, TextKind, Wording,
};
use guildhall_laws::Law;

use crate::journal::{
    Journal, answer_of, ask_of, call, check, hire, hold_of, known, msat, owner, path, report, report_of, request_of,
    root, said, sender, text,
};
use crate::scenes;

#[test]
fn a_contract_holds_no_more_than_it_has() {
    let mut j = Journal::new();
    let mut poor = root();
    poor.grant.money = msat(37_999);
    j.open(&poor).request(&[]);
    j.breaks(Law::Purse, "holds 18000 msat of 17999 available");
}

#[test]
fn fee_and_severance_are_held_from_the_beginning() {
    let mut j = Journal::new();
    j.open(&Brief { fee: msat(9_990_000), ..root() });
    j.breaks(Law::Purse, "fee and severance take 10010000 of 10000000");
}

#[test]
fn a_contract_passes_on_no_more_heads_than_it_has() {
    let mut many = hire(&root(), 1, "scout");
    many.grant.heads = Heads(10);
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, 1), known(10)).hire(&many, Mode::Blocking, call(1, 0));
    j.breaks(Law::Purse, "holds 11 heads of 10 available");
}

#[test]
fn heads_are_reported_as_they_were_used() {
    scenes::one_hire().with(14, |s| report_of(s).heads = Heads(0)).breaks(Law::Purse, "reports 0 heads, 1 were used");
}

#[test]
fn each_ask_holds_its_ceiling() {
    let cut = |nth: usize| scenes::one_hire().with(nth, |s| hold_of(s).money = msat(17));
    cut(2).breaks(Law::Holds, "holds 17 msat where 18000 is the ceiling");
    cut(4).breaks(Law::Holds, "holds 17 msat where 2500000 is the ceiling");
    cut(8).breaks(Law::Holds, "holds 17 msat where 50 is the ceiling");
    scenes::one_tool().with(4, |s| hold_of(s).money = msat(17)).breaks(Law::Holds, "where 5000 is the ceiling");
    scenes::wrap_up().with(10, |s| hold_of(s).money = msat(17)).breaks(Law::Holds, "where 0 is the ceiling");
    scenes::one_hire().with(4, |s| hold_of(s).heads = Heads(1)).breaks(Law::Holds, "holds 1 heads where 4 are due");
    scenes::one_tool().with(4, |s| hold_of(s).heads = Heads(1)).breaks(Law::Holds, "holds 1 heads where 0 are due");
}

#[test]
fn an_ask_is_settled_once() {
    let mut j = scenes::one_tool().until(6);
    j.answer("1", 2, Answer::Result(text(TextKind::Result, 2)), known(4000));
    j.breaks(Law::Holds, "#2 is settled a second time");
    scenes::one_tool()
        .with(5, |s| {
            let Fact::Answered { id, .. } = &mut s.fact else { panic!("an answer") };
            id.0 = 9;
        })
        .breaks(Law::Holds, "#9 was never asked");
}

#[test]
fn an_answer_is_of_the_kind_that_was_asked_for() {
    let wrong = |nth: usize, answer: Answer| {
        scenes::one_hire().with(nth, |s| *answer_of(s).0 = answer).breaks(Law::Holds, "has an answer of another kind");
    };
    wrong(3, Answer::Passed);
    wrong(9, Answer::Delivered);
    wrong(11, Answer::Lost);
    scenes::top_up().with(17, |s| *answer_of(s).0 = Answer::Lost).breaks(Law::Holds, "another kind");
    scenes::calls().with(11, |s| *answer_of(s).0 = Answer::Passed).breaks(Law::Holds, "another kind");
}

#[test]
fn a_request_asks_for_as_much_as_the_tariff_allows() {
    let tokens = |max: u32| {
        scenes::one_tool().with(2, |s| request_of(s).max_tokens = max).breaks(Law::Holds, "not 256 to 1000");
    };
    tokens(255);
    tokens(1001);
}

#[test]
fn a_stimulus_is_heard_once_and_as_it_was_told() {
    let words = || Stimulus::Message(text(TextKind::Message, 40));
    let mut j = scenes::one_tool().until(2);
    j.hear("1", owner(1), words()).hear("1", owner(2), words()).hear("1", owner(1), words());
    j.breaks(Law::Holds, "command 1 is heard twice");
    let mut j = scenes::wrap_up().until(12);
    j.hear("1.1", sender("1", 4), Stimulus::WrapUp);
    j.breaks(Law::Holds, "1#4 is heard twice");
    let mut j = scenes::wrap_up().until(10);
    j.hear("1.1", sender("1", 4), Stimulus::Cancel);
    j.breaks(Law::Holds, "did not tell this contract that");
    let mut j = scenes::wrap_up().until(7);
    j.hear("1.1", sender("1", 4), Stimulus::WrapUp);
    j.breaks(Law::Holds, "before it was asked");
}

#[test]
fn a_hire_opens_with_the_brief_that_was_asked_with() {
    let mut j = scenes::one_hire().until(4);
    j.open(&hire(&root(), 1, "writer"));
    j.breaks(Law::Hires, "this is not the brief of 1#2");
    let mut j = scenes::one_hire().until(4);
    j.open(&hire(&root(), 2, "scout"));
    j.breaks(Law::Hires, "never asked for this hire");
    let mut j = Journal::new();
    j.open(&hire(&root(), 1, "scout"));
    j.breaks(Law::Hires, "there is no hirer 1");
}

#[test]
fn a_hires_hold_is_its_grant_and_what_is_on_the_way() {
    scenes::top_up().without(12).breaks(Law::Hires, "passes on 0.7sat to 1.1");
    scenes::top_up().without(13).breaks(Law::Hires, "was added to #2, which was not told");
    scenes::top_up().until(11).breaks(Law::Hires, "went no further and says nothing");
    scenes::top_up()
        .with(12, |s| s.fact = Fact::Raised { hire: guildhall_kernel::AskId(2), by: msat(701) })
        .breaks(Law::Hires, "which was not heard for it");
    let more = Stimulus::TopUp { to: path("1.1.1"), money: msat(701) };
    scenes::top_up()
        .with(14, |s| {
            let Fact::Heard { stimulus, .. } = &mut s.fact else { panic!("a top-up is heard") };
            *stimulus = more;
        })
        .breaks(Law::Hires, "2500700 msat are held for 1.1, it was granted 2500701, -1 are on the way");
}

#[test]
fn money_comes_from_ones_hirer_or_a_roots_owner() {
    let mut j = scenes::one_hire().until(6);
    j.hear("1.1", owner(1), Stimulus::TopUp { to: path("1.1"), money: msat(5) });
    j.breaks(Law::Hires, "who is not its hirer");
}

#[test]
fn money_is_not_delivered_before_it_is_heard() {
    let mut j = scenes::top_up().until(13);
    j.answer("1", 3, Answer::Delivered, known(0));
    j.breaks(Law::Hires, "is said to have heard of money, and has not");
}

#[test]
fn a_hire_is_charged_what_it_reports() {
    scenes::one_hire().with(11, |s| *answer_of(s).1 = known(10_139)).breaks(Law::Hires, "for a report of 10.14sat");
    scenes::one_hire().with(11, |s| *answer_of(s).1 = Cost::Unknown).breaks(Law::Hires, "for a report of 10.14sat");
}

#[test]
fn a_report_adds_up() {
    let wrong = |change: fn(&mut guildhall_kernel::Report), what: &str| {
        scenes::one_hire().with(10, |s| change(report_of(s))).breaks(Law::Hires, what);
    };
    wrong(|report| report.spent = msat(10_139), "reports 10139 msat spent, 10140 were");
    wrong(|report| report.change = msat(2_489_861), "gives 2489861 msat back, 2489860 are left");
    wrong(|report| report.fee = msat(99), "a fee of 99 msat is paid where 100 is due");
    wrong(|report| report.acceptance = Acceptance::NotAccepted, "a fee of 100 msat is paid where 0 is due");
}

#[test]
fn the_severance_pays_for_nothing_but_the_last_request() {
    let mut poor = root();
    poor.grant.money = msat(38_000);
    let mut j = Journal::new();
    j.open(&poor).request(&[]);
    j.answer("1", 1, said(1, 1), Cost::Unknown).tool(1, call(1, 0));
    j.breaks(Law::Purse, "holds 1 msat of 0 available");
}

#[test]
fn the_last_request_is_made_once_and_only_by_one_cut_short() {
    use guildhall_kernel::Turn;
    scenes::one_tool().with(6, |s| request_of(s).turn = Turn::Last).breaks(Law::Severance, "was not cut short");
    let mut j = scenes::wrap_up().until(15);
    j.answer("1.1", 2, Answer::Lost, Cost::Unknown).request_as(&[], Turn::Last);
    j.breaks(Law::Severance, "a second last request");
}

#[test]
fn nobody_ends_mute_while_there_is_money_for_a_last_word() {
    let dry = Outcome::Exhausted(Limit::Purse);
    let mut end = report(dry, 0, 10_000_000, 18_000);
    end.text = Wording::Assembled(text(TextKind::Words, 9));
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, Answer::Lost, Cost::Unknown).fact(Fact::Closing(dry)).close(end);
    j.breaks(Law::Severance, "closes without a last report although 9982000 msat were left for one");
}

#[test]
fn a_check_is_one_of_the_briefs() {
    let mut j = scenes::one_hire().until(7);
    j.ask(guildhall_kernel::Ask::Check(check(51)), 51, 0, guildhall_kernel::Origin::Course);
    j.breaks(Law::Reports, "a check that the brief does not name");
}

#[test]
fn a_fork_of_the_books_does_not_go_unseen() {
    // The hirer's ask and the opened brief are one value: a change to either alone is found.
    scenes::one_hire()
        .with(4, |s| {
            let guildhall_kernel::Ask::Hire { brief, .. } = ask_of(s) else { panic!("a hire") };
            Arc::make_mut(brief).turns_max += 1;
        })
        .breaks(Law::Hires, "this is not the brief of 1#2");
}

#[test]
fn the_first_request_pays_for_the_whole_opening() {
    scenes::one_tool()
        .with(2, |s| request_of(s).tokens = 499)
        .breaks(Law::Holds, "pays for 499 tokens of at least 500");
}

#[test]
fn a_bill_that_does_not_add_up_is_found_at_rest_too() {
    let mut checker = guildhall_laws::Checker::new();
    let journal = scenes::one_hire().with(11, |s| *answer_of(s).1 = known(10_139));
    let observed = journal.stored.iter().map(|stored| checker.observe(stored).len()).sum::<usize>();
    assert!(observed > 0);
    let found = checker.at_rest();
    assert_eq!(
        found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["law 3 (hires), contract 1, fact 14: the bill is 38140 msat, but 38139 were spent"]
    );
}

#[test]
fn a_report_uses_no_more_heads_than_its_hire_holds() {
    let mut many = scenes::checked_report();
    many.heads = Heads(4);
    let mut j = scenes::one_hire().until(4);
    j.answer("1", 2, Answer::Report(Box::new(many)), known(10_140));
    j.breaks(Law::Purse, "5 heads used of 4 held");
}

#[test]
fn only_silence_answers_without_the_world() {
    let tick = |s: &mut guildhall_kernel::Stored| s.cause = guildhall_kernel::Cause::Tick;
    scenes::one_tool().with(5, tick).breaks(Law::Replay, "#2, a tool call, is answered by nobody");
    let silence = scenes::calls().with(13, tick).with(14, tick);
    silence.is_lawful();
}
