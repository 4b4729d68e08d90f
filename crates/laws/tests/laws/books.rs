//! Money and heads that do not add up: the laws about the purse, the holds, the hires and the severance.

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
    j.breaks(Law::Purse, "holds 18000 msat, but only 17999 are available");
}

#[test]
fn fee_and_severance_are_held_from_the_beginning() {
    let mut j = Journal::new();
    j.open(&Brief { fee: msat(9_990_000), ..root() });
    j.breaks(Law::Purse, "the fee and the severance take 10010000 of 10000000");
}

#[test]
fn a_contract_passes_on_no_more_heads_than_it_has() {
    let mut many = hire(&root(), 1, "scout");
    many.grant.heads = Heads(10);
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, 1), known(10)).hire(&many, Mode::Blocking, call(1, 0));
    j.breaks(Law::Purse, "holds 11 heads, but only 10 are available");
}

#[test]
fn heads_are_reported_as_they_were_used() {
    scenes::one_hire()
        .with(14, |s| report_of(s).heads = Heads(0))
        .breaks(Law::Purse, "reports 0 heads, but 1 were used");
}

#[test]
fn each_ask_holds_its_ceiling() {
    let cut = |nth: usize| scenes::one_hire().with(nth, |s| hold_of(s).money = msat(17));
    cut(2).breaks(Law::Holds, "holds 17 msat, but the ceiling is 18000");
    cut(4).breaks(Law::Holds, "holds 17 msat, but the ceiling is 2500000");
    cut(8).breaks(Law::Holds, "holds 17 msat, but the ceiling is 50");
    scenes::one_tool().with(4, |s| hold_of(s).money = msat(17)).breaks(Law::Holds, "the ceiling is 5000");
    scenes::wrap_up().with(10, |s| hold_of(s).money = msat(17)).breaks(Law::Holds, "the ceiling is 0");
    scenes::one_hire().with(4, |s| hold_of(s).heads = Heads(1)).breaks(Law::Holds, "holds 1 heads, but 4 are needed");
    scenes::one_tool().with(4, |s| hold_of(s).heads = Heads(1)).breaks(Law::Holds, "holds 1 heads, but 0 are needed");
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
fn an_answer_is_of_the_kind_of_its_ask() {
    let wrong = |nth: usize, answer: Answer| {
        scenes::one_hire()
            .with(nth, |s| *answer_of(s).0 = answer)
            .breaks(Law::Holds, "has an answer of the wrong kind");
    };
    wrong(3, Answer::Passed);
    wrong(9, Answer::Delivered);
    wrong(11, Answer::Lost);
    scenes::top_up().with(17, |s| *answer_of(s).0 = Answer::Lost).breaks(Law::Holds, "wrong kind");
    scenes::calls().with(11, |s| *answer_of(s).0 = Answer::Passed).breaks(Law::Holds, "wrong kind");
}

#[test]
fn a_request_asks_for_no_more_tokens_than_the_tariff_allows() {
    let tokens = |max: u32| {
        scenes::one_tool().with(2, |s| request_of(s).max_tokens = max).breaks(Law::Holds, "not 256 to 1000");
    };
    tokens(255);
    tokens(1001);
}

#[test]
fn a_stimulus_is_heard_once_and_as_it_was_sent() {
    let words = || Stimulus::Message(text(TextKind::Message, 40));
    let mut j = scenes::one_tool().until(2);
    j.hear("1", owner(1), words()).hear("1", owner(2), words()).hear("1", owner(1), words());
    j.breaks(Law::Holds, "command 1 is heard twice");
    let mut j = scenes::wrap_up().until(12);
    j.hear("1.1", sender("1", 4), Stimulus::WrapUp);
    j.breaks(Law::Holds, "1#4 is heard twice");
    let mut j = scenes::wrap_up().until(10);
    j.hear("1.1", sender("1", 4), Stimulus::Cancel);
    j.breaks(Law::Holds, "did not send this stimulus to this contract");
    let mut j = scenes::wrap_up().until(7);
    j.hear("1.1", sender("1", 4), Stimulus::WrapUp);
    j.breaks(Law::Holds, "is heard before it was asked");
}

#[test]
fn a_hire_opens_with_the_brief_of_its_ask() {
    let mut j = scenes::one_hire().until(4);
    j.open(&hire(&root(), 1, "writer"));
    j.breaks(Law::Hires, "the brief differs from the brief of 1#2");
    let mut j = scenes::one_hire().until(4);
    j.open(&hire(&root(), 2, "scout"));
    j.breaks(Law::Hires, "never asked for this hire");
    let mut j = Journal::new();
    j.open(&hire(&root(), 1, "scout"));
    j.breaks(Law::Hires, "its hirer 1 is unknown");
}

#[test]
fn a_hires_hold_is_its_grant_and_the_money_on_the_way() {
    scenes::top_up().without(12).breaks(Law::Hires, "passes on 0.7sat to 1.1");
    scenes::top_up().without(13).breaks(Law::Hires, "was added to #2, but not sent to it");
    scenes::top_up().until(11).breaks(Law::Hires, "was neither passed on nor kept");
    scenes::top_up()
        .with(12, |s| s.fact = Fact::Raised { hire: guildhall_kernel::AskId(2), by: msat(701), draw: None })
        .breaks(Law::Hires, "which was not heard for this hire");
    let more = Stimulus::TopUp { to: path("1.1.1"), money: msat(701), draw: None };
    scenes::top_up()
        .with(14, |s| {
            let Fact::Heard { stimulus, .. } = &mut s.fact else { panic!("a top-up is heard") };
            *stimulus = more;
        })
        .breaks(Law::Hires, "2500700 msat are held for 1.1, which was granted 2500701; -1 are on the way");
}

#[test]
fn money_comes_from_the_hirer_or_for_a_root_from_the_owner() {
    let mut j = scenes::one_hire().until(6);
    j.hear("1.1", owner(1), Stimulus::TopUp { to: path("1.1"), money: msat(5), draw: None });
    j.breaks(Law::Hires, "which is not its hirer");
}

#[test]
fn money_is_not_delivered_before_it_is_heard() {
    let mut j = scenes::top_up().until(13);
    j.answer("1", 3, Answer::Delivered, known(0));
    j.breaks(Law::Hires, "is marked as delivered, but");
}

#[test]
fn the_charge_of_a_hire_is_the_spending_in_its_report() {
    scenes::one_hire()
        .with(11, |s| *answer_of(s).1 = known(10_139))
        .breaks(Law::Hires, "for a report that spent 10.14sat");
    scenes::one_hire()
        .with(11, |s| *answer_of(s).1 = Cost::Unknown)
        .breaks(Law::Hires, "for a report that spent 10.14sat");
}

#[test]
fn a_report_adds_up() {
    let wrong = |change: fn(&mut guildhall_kernel::Report), what: &str| {
        scenes::one_hire().with(10, |s| change(report_of(s))).breaks(Law::Hires, what);
    };
    wrong(|report| report.spent = msat(10_139), "reports 10139 msat spent, but 10140 were spent");
    wrong(|report| report.change = msat(2_489_861), "gives 2489861 msat back, but 2489860 are left");
    wrong(|report| report.fee = msat(99), "a fee of 99 msat is paid, but 100 is due");
    wrong(|report| report.acceptance = Acceptance::NotAccepted, "a fee of 100 msat is paid, but 0 is due");
}

#[test]
fn the_severance_pays_only_for_the_last_request() {
    let mut poor = root();
    poor.grant.money = msat(38_000);
    let mut j = Journal::new();
    j.open(&poor).request(&[]);
    j.answer("1", 1, said(1, 1), Cost::Unknown).tool(1, call(1, 0));
    j.breaks(Law::Purse, "holds 1 msat, but only 0 are available");
}

#[test]
fn the_last_request_is_made_once_and_only_after_a_limit() {
    use guildhall_kernel::Turn;
    scenes::one_tool()
        .with(6, |s| request_of(s).turn = Turn::Last)
        .breaks(Law::Severance, "without a limit as the reason");
    let mut j = scenes::wrap_up().until(15);
    j.answer("1.1", 2, Answer::Lost, Cost::Unknown).request_as(&[], Turn::Last);
    j.breaks(Law::Severance, "a second last request was made");
}

#[test]
fn a_contract_with_money_for_a_last_request_makes_one() {
    let dry = Outcome::Exhausted(Limit::Purse);
    let mut end = report(dry, 0, 10_000_000, 18_000);
    end.text = Wording::Assembled(text(TextKind::Words, 9));
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, Answer::Lost, Cost::Unknown).fact(Fact::Closing(dry)).close(end);
    j.breaks(Law::Severance, "closes without a last request, although 9982000 msat were left for one");
}

#[test]
fn a_check_is_listed_in_the_brief() {
    let mut j = scenes::one_hire().until(7);
    j.ask(guildhall_kernel::Ask::Check(check(51)), 51, 0, guildhall_kernel::Origin::Course);
    j.breaks(Law::Reports, "a check that the brief does not name");
}

#[test]
fn a_hires_brief_that_differs_from_its_ask_is_found() {
    // The brief in the hirer's ask and the opened brief must be equal: a change to only one of them is found.
    scenes::one_hire()
        .with(4, |s| {
            let guildhall_kernel::Ask::Hire { brief, .. } = ask_of(s) else { panic!("a hire") };
            Arc::make_mut(brief).turns_max += 1;
        })
        .breaks(Law::Hires, "the brief differs from the brief of 1#2");
}

#[test]
fn the_first_request_pays_for_the_whole_opening() {
    scenes::one_tool()
        .with(2, |s| request_of(s).tokens = 499)
        .breaks(Law::Holds, "pays for 499 tokens, but shows at least 500");
}

#[test]
fn a_bill_that_does_not_add_up_is_also_found_between_steps() {
    let mut checker = guildhall_laws::Checker::new();
    let journal = scenes::one_hire().with(11, |s| *answer_of(s).1 = known(10_139));
    let observed = journal.stored.iter().map(|stored| checker.observe(stored).len()).sum::<usize>();
    assert!(observed > 0);
    let found = checker.at_rest();
    assert_eq!(
        found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["law 3 (hires), contract 1, fact 14: the contracts cost 38140 msat, but their purses spent 38139"]
    );
}

#[test]
fn a_report_uses_no_more_heads_than_its_hire_holds() {
    let mut many = scenes::checked_report();
    many.heads = Heads(4);
    let mut j = scenes::one_hire().until(4);
    j.answer("1", 2, Answer::Report(Box::new(many)), known(10_140));
    j.breaks(Law::Purse, "the report used 5 heads, but only 4 are held");
}

#[test]
fn only_a_question_can_end_without_an_answer_from_the_world() {
    let tick = |s: &mut guildhall_kernel::Stored| s.cause = guildhall_kernel::Cause::Tick;
    scenes::one_tool()
        .with(5, tick)
        .breaks(Law::Replay, "#2 (a tool call) is answered without an answer from the world");
    let silence = scenes::calls().with(13, tick).with(14, tick);
    silence.is_lawful();
}
