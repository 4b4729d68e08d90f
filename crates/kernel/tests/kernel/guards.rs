//! Inputs that a contract rejects: claims that are too large, stimuli that the sender is not allowed to send, inputs
//! that come too late, money for the wrong purpose.

use guildhall_kernel::{
    Answer, Ask, AskId, AskKey, Brief, CloseWhen, Compaction, Contract, Cost, Fact, Grant, Heads, Hiring, Inherit,
    Input, MESSAGE_BYTES_MAX, Millis, Msat, Need, Offer, Outcome, Refusal, Reply, Report, Sender, Standing, Stimulus,
    TextRef, Undone, Verdict, WRAP_UP_MARGIN_MAX,
};

use crate::hall::{Delivery, Hall};
use crate::say::{
    PRICED_INPUT, ask_hirer, calling, check, hire, known, message, offer, path, root, sat, tool, undone, wait, words,
};

fn from(contract: &str) -> Sender {
    Sender::Contract(AskKey { contract: path(contract), ask: AskId(1) })
}

#[test]
fn a_report_that_claims_more_than_its_grant_is_charged_its_grant() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.says("1", &[hire("coder").budget(20)]);
    hall.set_delivery(Delivery::Slow);
    hall.final_text("1.1");
    let claim = Report { spent: sat(5000), heads: Heads(u32::MAX), ..hall.report("1.1").clone() };
    let id = hall.find("1", |ask| matches!(ask, Ask::Hire { .. }));
    hall.answer("1", id, Answer::Report(Box::new(claim)), Cost::Unknown);
    let contract = hall.contract("1");
    assert_eq!(
        (contract.purse().granted(), contract.heads().granted()),
        (sat(100), root("contractor", 100).grant.heads)
    );
}

#[test]
fn an_unrelated_contract_can_neither_end_a_contract_nor_hire_for_it_nor_ask_it() {
    let mut hall = Hall::open(root("contractor", 100));
    let offer = Box::new(offer("coder"));
    let stimuli = [Stimulus::Cancel, Stimulus::WrapUp, Stimulus::Hire(offer), Stimulus::Question(message("why?"))];
    for (n, what) in (1..).zip(stimuli) {
        assert_eq!(hall.step("1", Input::Stimulus { from: from(&format!("7.{n}")), what }), []);
    }
}

#[test]
fn a_message_that_is_too_long_is_not_heard() {
    let mut hall = Hall::open(root("contractor", 100));
    let long = TextRef { bytes: MESSAGE_BYTES_MAX + 1, ..message("long") };
    assert_eq!(hall.owner_sends("1", Stimulus::Message(long)), []);
}

#[test]
fn calls_of_a_reply_after_the_time_limit_are_refused() {
    let own = root("coder", 100);
    let grant = Grant { deadline: Some(Millis(100_000)), margin: Some(WRAP_UP_MARGIN_MAX), ..own.grant };
    let mut contract = Contract::open(Brief { grant, ..own }.into(), Millis(0)).unwrap().0;
    let reply = Box::new(calling(&[tool("read")]));
    let facts = contract.step(Input::Reply { id: AskId(1), reply, cost: known(1) }, Millis(70_000));
    let kinds: Vec<_> = facts.iter().map(Fact::kind).collect();
    assert_eq!(kinds, ["answered", "refused", "closing", "asked"], "the last request is asked, and no tool");
}

#[test]
fn a_report_that_did_not_fit_into_a_cut_request_is_listed_as_unheard() {
    let own = root("contractor", 60);
    let mut hall = Hall::open(Brief { tariff: PRICED_INPUT, severance: sat(6), turns_max: 1, ..own });
    hall.set_delivery(Delivery::Slow);
    hall.replies_for("1", calling(&[hire("coder").budget(10)]), known(0));
    let brief = hall.find("1", |ask| matches!(ask, Ask::Hire { .. }));
    hall.set_delivery(Delivery::Prompt);
    let long = TextRef { bytes: 60_000, ..message("long") };
    hall.replies("1.1", Reply { words: Some(long), reply: long, ..words("long") });
    hall.replies("1", words("this far"));
    assert_eq!(hall.report("1").unheard, [brief]);
}

#[test]
fn reports_in_a_lost_last_request_are_listed_as_unheard() {
    let mut hall = Hall::open(Brief { turns_max: 1, ..root("contractor", 100) });
    hall.says("1", &[hire("coder").budget(20)]);
    let hired = hall.find("1", |ask| matches!(ask, Ask::Hire { .. }));
    hall.final_text("1.1");
    hall.model("1", Answer::Lost, Cost::Unknown);
    assert_eq!(hall.report("1").unheard, [hired]);
}

#[test]
fn the_rest_of_the_severance_does_not_pay_for_a_check() {
    let own = Brief { checks: [check("tests", 1)].into(), ..root("coder", 6) };
    let mut hall = Hall::open(own);
    hall.replies_for("1", calling(&[tool("read")]), known(4));
    hall.tool_ends("1", "read", known(0));
    let facts = hall.replies_for("1", words("what I found"), known(1));
    let why = Refusal::Money { asked: sat(1), free: sat(0), minimum: sat(1) };
    assert!(facts.iter().any(|fact| matches!(fact, Fact::Refused { why: found, .. } if *found == why)), "{facts:?}");
    assert_eq!(hall.report("1").change, sat(1));
}

#[test]
fn without_another_turn_the_final_text_counts_and_no_nudge_is_given() {
    let mut hall = Hall::open(Brief { turns_max: 1, ..root("coder", 100) });
    hall.replies("1", undone(Undone::RequiredHire, &[]));
    let report = hall.report("1");
    assert_eq!((report.outcome, report.undone), (Outcome::Done, Some(Undone::RequiredHire)));
}

#[test]
fn only_lost_calls_in_a_row_count() {
    let mut hall = Hall::open(Brief { turns_max: 100, ..root("coder", 10_000) });
    for _ in 0..5 {
        for _ in 0..31 {
            hall.model("1", Answer::Lost, known(0));
        }
        hall.says("1", &[tool("read")]);
        hall.tool_ends("1", "read", known(0));
    }
    assert!(hall.waits_for_model("1"));
}

#[test]
fn the_hirer_of_a_root_is_its_owner() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.says("1", &[ask_hirer("which of the two?", 9000)]);
    hall.owner_sends("1", Stimulus::Message(message("the first")));
    assert!(hall.waits_for_model("1"), "the owner's message answers the question");
}

#[test]
fn a_late_input_yields_no_facts_even_after_the_deadline() {
    let own = root("coder", 100);
    let grant = Grant { deadline: Some(Millis(100_000)), margin: Some(WRAP_UP_MARGIN_MAX), ..own.grant };
    let mut contract = Contract::open(Brief { grant, ..own }.into(), Millis(0)).unwrap().0;
    let unknown = Input::Answer { id: AskId(99), answer: Answer::Passed, cost: known(0) };
    assert_eq!(contract.step(unknown, Millis(80_000)), []);
    assert!(!contract.step(Input::Tick, Millis(80_000)).is_empty());
}

#[test]
fn a_stimulus_that_could_not_be_stored_and_read_again_is_not_heard() {
    let mut hall = Hall::open(root("contractor", 100));
    let invalid = Sender::Contract(AskKey { contract: path("7"), ask: AskId(0) });
    assert_eq!(hall.step("1", Input::Stimulus { from: invalid, what: Stimulus::Message(message("hm")) }), []);
    let deep = (0..70).fold(path("1"), |path, _| path.hire(1));
    assert_eq!(hall.owner_sends("1", Stimulus::TopUp { to: deep, money: sat(1), draw: None }), []);
}

#[test]
fn a_fee_and_a_severance_beyond_the_supply_are_refused() {
    let own = root("contractor", 100);
    let grant = Grant { money: Msat::SUPPLY, ..own.grant };
    let brief = Brief { grant, fee: Msat::SUPPLY, ..own };
    assert!(matches!(Contract::open(brief.into(), Millis(0)).err(), Some(Refusal::Money { .. })));
}

#[test]
fn a_fork_of_an_ad_hoc_specialist_is_identified_by_its_task_alone() {
    let own = root("contractor", 1000);
    let hiring = own.hiring.clone().map(|hiring| Hiring { ad_hoc: true, ..hiring });
    let mut hall = Hall::open(Brief { hiring, ..own });
    let ad_hoc = |offer: &mut Offer| offer.standing = Standing::AdHoc;
    hall.says("1", &[hire("helper").task("dig").budget(300).team(&["helper"]).with(ad_hoc)]);
    let again = hire("other").task("the task").with(|offer| {
        offer.inherit = Inherit::Fork;
        offer.task_key = root("contractor", 1).task_key;
    });
    let facts = hall.says("1.1", &[again]);
    assert!(facts.iter().any(|fact| matches!(fact, Fact::Refused { why: Refusal::SameTask { .. }, .. })), "{facts:?}");
}

#[test]
fn each_message_from_the_owner_resets_the_nudges_of_a_conversation() {
    let mut hall = Hall::open(Brief { close_when: CloseWhen::Asked, ..root("coder", 1000) });
    for round in 0..2 {
        hall.replies("1", undone(Undone::RequiredHire, &[]));
        assert!(hall.waits_for_model("1"), "round {round}: the agent gets the nudge");
        hall.replies("1", undone(Undone::RequiredHire, &[]));
        assert!(!hall.waits_for_model("1"), "round {round}: the agent gets the nudge only once");
        hall.owner_sends("1", Stimulus::Message(message("and now?")));
    }
}

#[test]
fn a_hire_with_exactly_the_minimum_is_admitted() {
    let mut hall = Hall::open(root("contractor", 100));
    let least = Brief { fee: sat(1), ..root("coder", 3) }.minimum();
    let exact = hire("coder").with(|offer| {
        offer.fee = sat(1);
        offer.budget = Some(least);
    });
    hall.says("1", &[exact]);
    assert_eq!(hall.contract("1.1").purse().granted(), least);
}

#[test]
fn a_wait_for_any_of_two_live_hires_waits() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").background(), hire("tester").background()]);
    hall.says("1", &[wait(&["1.1", "1.2"], Need::Any)]);
    assert!(!hall.waits_for_model("1"));
    hall.final_text("1.2");
    assert!(hall.waits_for_model("1"));
}

#[test]
fn facts_that_are_shortened_already_are_not_shortened_again() {
    let mut hall = Hall::open(root("coder", 1000));
    let shorter = Verdict { compact: Some(Compaction { upto: 1, bytes: 50 }), ..Verdict::default() };
    for round in 0..2 {
        let facts = hall.replies("1", Reply { verdict: shorter.clone(), ..calling(&[tool("read")]) });
        assert_eq!(facts.iter().any(|fact| fact.kind() == "compacted"), round == 0);
        hall.tool_ends("1", "read", known(0));
    }
}
