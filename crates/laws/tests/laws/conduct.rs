//! Lost calls, contracts that end wrongly, malformed journals: laws 5, 6, 8 and 10.

use std::sync::Arc;

use guildhall_kernel::{
    Acceptance, Answer, Ask, AskId, Brief, CALLS_MAX, Cause, Fact, Limit, Millis, Mode, Need, Nudge, Origin, Outcome,
    Pause, Refusal, Report, Stimulus, TextKind, Undone, Waking, Wording,
};
use guildhall_laws::Law;

use crate::journal::{
    Journal, answer_of, ask_of, call, call_ref, check, hire, known, msat, owner, path, refused, report, report_of,
    request_of, root, said, sender, text,
};
use crate::scenes;

#[test]
fn every_call_of_a_reply_is_decided_on_in_its_batch() {
    scenes::one_tool().without(4).breaks(Law::Reports, "0 calls of the reply were decided on, but 1 must be");
    scenes::calls().without(8).breaks(Law::Reports, "4 calls of the reply were decided on, but 5 must be");
    scenes::calls().without(4).breaks(Law::Reports, "call 1 of #1 is decided on, but call 0 is next");
    let mut j = scenes::one_tool().until(4);
    j.tool(5000, call(1, 0));
    j.breaks(Law::Reports, "call 0 of #1 is decided on twice");
    let mut j = scenes::one_tool().until(4);
    j.tool(5000, call(1, 1));
    j.breaks(Law::Reports, "call 1 is beyond the 1 calls of #1");
}

#[test]
fn calls_beyond_the_limit_are_refused_together() {
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, CALLS_MAX + 7), known(10_000));
    for index in 0..CALLS_MAX {
        // Refusals of a usual size would not fit into the next request.
        let (why, origin) = (Refusal::UnknownTool, call(1, index));
        j.fact(Fact::Refused { why, origin, bytes: 0, agent: None, ordinal: None });
    }
    let short = j.clone();
    let why = Refusal::TooManyCalls { calls: CALLS_MAX + 7 };
    j.fact(refused(why, call(1, CALLS_MAX))).request(&[]);
    j.answer("1", 2, said(2, 0), known(10_000)).close(report(Outcome::Done, 2, 10_000_000, 20_000));
    j.is_lawful();
    short.breaks(Law::Reports, "1024 calls of the reply were decided on, but 1025 must be");
    let mut over = short.clone();
    over.tool(5, call(1, CALLS_MAX));
    over.breaks(Law::Refusals, "call 1024 of #1 is over the limit");
}

#[test]
fn every_call_has_an_answer_before_the_next_request() {
    let mut j = scenes::one_tool().until(4);
    j.request(&[]);
    j.breaks(Law::Reports, "a request was made while call Some(0) has no answer");
    let mut j = scenes::one_hire().until(6);
    j.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 1))).request(&[]);
    j.breaks(Law::Reports, "has no answer");
    let mut j = scenes::one_hire().until(6);
    j.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 1)));
    j.fact(Fact::Woke { pause: Pause::Hire(1), why: Waking::Message }).request(&[]);
    j.breaks(Law::Liveness, "the contract never closed");
}

#[test]
fn an_answered_approval_is_followed_by_its_call_or_a_refusal() {
    scenes::calls()
        .without(14)
        .breaks(Law::Reports, "an approval was answered, but its call was neither asked nor refused");
    scenes::calls()
        .without(12)
        .breaks(Law::Reports, "an approval was answered, but its call was neither asked nor refused");
}

#[test]
fn a_wait_ends_when_its_reports_have_come_and_not_before() {
    scenes::calls().without(18).breaks(Law::Liveness, "waits for reports that have already come");
    let mut j = scenes::calls().until(16);
    j.step("1", Cause::Tick).fact(Fact::Woke { pause: Pause::Call(call_ref(1, 3)), why: Waking::Reported });
    j.breaks(Law::Reports, "can't end because of Reported");
    let mut j = scenes::calls().until(16);
    j.step("1", Cause::Tick).fact(Fact::Woke { pause: Pause::Call(call_ref(1, 3)), why: Waking::TimedOut });
    j.breaks(Law::Reports, "can't end because of TimedOut");
    let waits = |on| Fact::Waiting { call: call_ref(1, 0), on, need: Need::Any, until: None };
    let with = |on| scenes::one_tool().until(4).with(4, |s| s.fact = waits(on));
    with(vec![]).breaks(Law::Liveness, "waits for reports that have already come");
    with(vec![1]).breaks(Law::Liveness, "a call waits for hire 1, which neither lives nor waits");
}

#[test]
fn a_message_from_the_owner_ends_a_wait() {
    let mut j = scenes::one_hire().until(6);
    j.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 1)));
    j.breaks(Law::Liveness, "an urgent message came, but a call still waits");
}

#[test]
fn a_report_is_owed_until_a_request_includes_it() {
    scenes::one_hire().with(12, |s| request_of(s).hears.clear()).breaks(Law::Reports, "but [#2] are owed");
    scenes::one_tool().with(6, |s| request_of(s).hears.push(AskId(2))).breaks(Law::Reports, "but [] are owed");
    scenes::cancel().with(18, |s| report_of(s).unheard.clear()).breaks(Law::Reports, "but [#2] are owed");
    scenes::one_hire().with(14, |s| report_of(s).unheard.push(AskId(2))).breaks(Law::Reports, "but [] are owed");
}

#[test]
fn a_hire_is_answered_by_its_own_report_once_it_has_closed() {
    scenes::one_hire().without(10).breaks(Law::Liveness, "is not closed and has no open ask");
    let early = |mut j: Journal| {
        j.answer("1", 2, Answer::Report(Box::new(scenes::checked_report())), known(10_140));
        j
    };
    early(scenes::one_hire().until(8)).breaks(Law::Reports, "1.1 has reported, but has not closed");
    let mut other = scenes::checked_report();
    other.output = Some(text(TextKind::Output, 66));
    scenes::one_hire()
        .with(11, |s| *answer_of(s).0 = Answer::Report(Box::new(other)))
        .breaks(Law::Reports, "the report differs from the report of 1.1");
}

#[test]
fn a_report_has_the_agents_newest_text() {
    let wrong = |change: fn(&mut Report), what: &str| {
        scenes::one_tool().with(8, |s| change(report_of(s))).breaks(Law::Reports, what);
    };
    wrong(|report| report.text = Wording::Final(text(TextKind::Words, 1)), "not the agent's newest text");
    wrong(|report| report.text = Wording::Assembled(text(TextKind::Words, 3)), "is done without a final text");
    wrong(|report| report.undone = Some(Undone::RequiredHire), "says that Some(RequiredHire) is undone");
}

#[test]
fn only_a_report_that_passed_every_check_is_accepted() {
    let found = Answer::FailedCheck(text(TextKind::Finding, 1));
    let without = "is accepted without passing every check";
    scenes::one_hire().with(9, |s| *answer_of(s).0 = found).breaks(Law::Reports, without);
    scenes::one_hire().with(9, |s| *answer_of(s).0 = Answer::Lost).breaks(Law::Reports, without);
    let two: Arc<[_]> = Arc::new([check(50), check(60)]);
    let mut j = scenes::one_hire();
    for stored in &mut j.stored {
        if let Fact::Asked { ask: Ask::Hire { brief, .. }, .. } | Fact::Opened(brief) = &mut stored.fact
            && brief.path == path("1.1")
        {
            Arc::make_mut(brief).checks = Arc::clone(&two);
        }
    }
    j.breaks(Law::Reports, without);
    scenes::wrap_up()
        .with(22, |s| report_of(s).acceptance = Acceptance::Accepted)
        .breaks(Law::Reports, "is accepted, but ended as Exhausted(Asked)");
    let robbed = |report: &mut Report| report.acceptance = Acceptance::NotAccepted;
    scenes::one_tool().with(8, |s| robbed(report_of(s))).breaks(Law::Reports, "is not accepted, although it is done");
}

#[test]
fn a_contract_closes_only_without_open_asks() {
    let mut j = scenes::one_tool().until(4);
    j.close(report(Outcome::Done, 1, 10_000_000, 10_000));
    j.breaks(Law::Closing, "closes while 1 asks are open");
    let mut j = scenes::one_tool();
    j.step("1", Cause::Tick).fact(Fact::Nudged(Nudge::FixReport));
    j.breaks(Law::Closing, "a closed contract has one more fact");
}

#[test]
fn a_contract_ends_with_the_outcome_it_began_to_close_with() {
    scenes::wrap_up().with(22, |s| report_of(s).outcome = Outcome::Done).breaks(Law::Closing, "ends as Done");
    scenes::one_tool().with(8, |s| report_of(s).outcome = Outcome::Failed).breaks(Law::Closing, "ends as Failed");
}

#[test]
fn a_contract_closes_for_a_true_reason() {
    let closing = |outcome, what: &str| {
        let mut j = scenes::one_tool().until(2);
        j.step("1", Cause::Tick).fact(Fact::Closing(outcome));
        j.breaks(Law::Closing, what);
    };
    closing(Outcome::Done, "can't follow now");
    closing(Outcome::Cancelled, "without a reason");
    closing(Outcome::Exhausted(Limit::Asked), "without a reason");
    closing(Outcome::Exhausted(Limit::Turns), "without a reason");
    closing(Outcome::Exhausted(Limit::Deadline), "without a reason");
    let mut j = scenes::wrap_up().until(10);
    j.step("1", Cause::Tick).fact(Fact::Closing(Outcome::Failed));
    j.breaks(Law::Closing, "can't follow now");
}

#[test]
fn an_ending_is_followed_and_passed_on() {
    scenes::wrap_up().without(10).breaks(Law::Closing, "1.1 must be sent WrapUp, but was sent Nothing");
    scenes::cancel().without(10).breaks(Law::Closing, "1.1 must be sent Cancel, but was sent Nothing");
    scenes::cancel()
        .with(10, |s| *ask_of(s) = Ask::Tell { to: path("1.1"), what: Stimulus::WrapUp })
        .breaks(Law::Closing, "asks for a stimulus while it closes as Cancelled");
    scenes::cancel().until(10).without(9).breaks(Law::Closing, "a cancel was heard, but the contract does not end");
    scenes::wrap_up().until(10).without(9).breaks(Law::Closing, "a wrap-up was heard, but the contract does not end");
}

#[test]
fn a_contract_that_is_ending_asks_for_nothing_new() {
    let mut j = scenes::wrap_up().until(13);
    j.answer("1.1", 1, said(5, 1), known(10)).tool(5, call(1, 0));
    j.breaks(Law::Closing, "asks for a tool call while it closes as Exhausted(Asked)");
    let mut j = scenes::wrap_up().until(13);
    j.answer("1.1", 1, said(5, 0), known(10)).request(&[]);
    j.breaks(Law::Closing, "asks for a request while it closes");
    let mut j = scenes::wrap_up().until(13);
    let wait = Fact::Waiting { call: call_ref(3, 0), on: vec![1], need: Need::Any, until: None };
    j.answer("1", 3, said(4, 1), known(10)).fact(wait);
    j.breaks(Law::Closing, "a call begins to wait while the contract is ending");
    let mut j = scenes::cancel().until(10);
    let two = hire(&root(), 2, "writer");
    j.answer("1", 3, said(4, 1), known(10)).hire(&two, Mode::Background, call(3, 0));
    j.breaks(Law::Closing, "asks for a hire while it closes as Cancelled");
}

#[test]
fn a_call_is_aborted_only_after_a_cancel() {
    scenes::one_tool()
        .with(5, |s| *answer_of(s).0 = Answer::Aborted)
        .breaks(Law::Closing, "but the contract was not cancelled");
}

#[test]
fn a_contract_is_gone_only_after_it_has_closed() {
    scenes::wrap_up()
        .with(13, |s| *answer_of(s).0 = Answer::Gone)
        .breaks(Law::Closing, "is marked as gone, but has not closed");
}

#[test]
fn a_contract_that_is_not_closed_has_an_open_ask() {
    scenes::one_tool().until(7).breaks(Law::Liveness, "is not closed and has no open ask");
    scenes::one_tool().until(6).breaks(Law::Liveness, "the contract never closed");
}

#[test]
fn facts_are_numbered_and_in_order_of_time() {
    scenes::one_tool().with(3, |s| s.seq = 4).breaks(Law::Replay, "the next fact must have number 3");
    scenes::one_tool().with(3, |s| s.at = Millis(5)).breaks(Law::Replay, "time goes back");
    scenes::one_tool().with(4, |s| s.at = Millis(21)).breaks(Law::Replay, "have different times");
    scenes::one_tool().with(3, |s| s.v = 2).breaks(Law::Replay, "form 2 is unknown");
}

#[test]
fn facts_follow_from_their_cause() {
    scenes::one_tool().with(3, |s| s.cause = Cause::Answer(AskId(2))).breaks(Law::Replay, "does not follow from");
    scenes::wrap_up().with(8, |s| s.cause = Cause::Tick).breaks(Law::Replay, "does not follow from");
    scenes::one_tool()
        .with(4, |s| s.cause = Cause::Opening)
        .breaks(Law::Reports, "0 calls of the reply were decided on");
    scenes::one_tool().with(2, |s| s.cause = Cause::Answer(AskId(1))).breaks(Law::Liveness, "has no open ask");
    let mut j = scenes::one_tool().until(2);
    j.step("1", Cause::Answer(AskId(1))).tool(5, Origin::Course);
    j.breaks(Law::Replay, "asked does not follow from Answer(#1)");
    let mut j = scenes::one_tool().until(2);
    j.open(&root());
    j.breaks(Law::Replay, "a contract is opened twice");
    scenes::one_tool()
        .with(1, |s| s.fact = Fact::Opened(Arc::new(Brief { path: path("2"), ..root() })))
        .breaks(Law::Replay, "was opened with the brief of 2");
}

#[test]
fn asks_are_numbered_and_requests_show_every_fact() {
    scenes::one_tool()
        .with(4, |s| {
            let Fact::Asked { id, .. } = &mut s.fact else { panic!("a tool call") };
            *id = AskId(3);
        })
        .breaks(Law::Replay, "#3 is asked, but #2 is next");
    scenes::one_tool().with(6, |s| request_of(s).upto = 4).breaks(Law::Replay, "shows 4 facts, but there are 5");
    scenes::one_tool()
        .with(4, |s| {
            let Fact::Asked { origin, .. } = &mut s.fact else { panic!("a tool call") };
            *origin = Origin::Course;
        })
        .breaks(Law::Replay, "a tool call can't come from Course");
}

#[test]
fn one_request_is_open_at_a_time() {
    let mut j = scenes::one_tool().until(2);
    j.step("1", Cause::Tick).request(&[]);
    j.breaks(Law::Holds, "a second request was made while one is open");
}

#[test]
fn a_nudge_is_given_once() {
    let mut j = scenes::one_tool().until(2);
    j.step("1", Cause::Tick).fact(Fact::Nudged(Nudge::ConfirmReport)).fact(Fact::Nudged(Nudge::ConfirmReport));
    j.breaks(Law::Replay, "the nudge ConfirmReport twice");
}

#[test]
fn facts_that_no_request_has_shown_are_not_compacted() {
    let compacted = |upto| Fact::Compacted { upto, bytes: 10 };
    let mut j = scenes::one_tool().until(6);
    j.step("1", Cause::Tick).fact(compacted(6));
    j.breaks(Law::Replay, "but only 5 facts were shown");
    let mut j = scenes::one_tool().until(6);
    j.step("1", Cause::Tick).fact(compacted(5)).fact(compacted(5));
    j.breaks(Law::Replay, "compacts up to 5 after 5");
}

#[test]
fn only_the_hirer_hears_a_hires_question() {
    use guildhall_kernel::{Addressee, Matter};
    let words = text(TextKind::Message, 50);
    let ask = Ask::Question { to: Addressee::Hirer, matter: Matter::Text(words), until: Millis(9000) };
    let mut j = scenes::one_hire().until(6);
    j.answer("1.1", 1, said(5, 1), known(10_000)).ask(ask, 0, 0, call(1, 0));
    let mut wrong = j.clone();
    wrong.hear("1", sender("1.1", 2), Stimulus::Question(text(TextKind::Message, 51)));
    wrong.breaks(Law::Holds, "did not send this stimulus to this contract");
    let mut stuck = j.clone();
    stuck.hear("1", sender("1.1", 2), Stimulus::Question(words));
    stuck.breaks(Law::Liveness, "an urgent message came, but a call still waits");
    j.hear("1", sender("1.1", 2), Stimulus::Question(words));
    j.fact(Fact::Woke { pause: Pause::Hire(1), why: Waking::Message }).request(&[]);
    j.breaks(Law::Liveness, "the contract never closed");
}

#[test]
fn a_conversation_includes_every_report_in_a_request() {
    let talk = Brief { close_when: guildhall_kernel::CloseWhen::Asked, ..root() };
    let lead = Brief { close_when: guildhall_kernel::CloseWhen::FinalText, fee: msat(0), ..hire(&talk, 1, "scout") };
    let end = report(Outcome::Done, 5, 2_500_000, 10_000);
    let mut j = Journal::new();
    j.open(&talk).request(&[]);
    j.answer("1", 1, said(1, 1), known(10)).hire(&lead, Mode::Background, call(1, 0)).request(&[]);
    j.open(&lead).request(&[]);
    j.answer("1", 3, said(2, 0), known(10));
    j.answer("1.1", 1, said(5, 0), known(10_000)).close(end.clone());
    j.answer("1", 2, Answer::Report(Box::new(end)), known(10_000));
    j.breaks(Law::Reports, "no request included the reports [#2]");
}

#[test]
fn every_missing_or_repeated_fact_is_found() {
    for (scene, journal) in scenes::all().iter().enumerate() {
        for nth in 1..=journal.stored.len() {
            let fact = &journal.stored[nth - 1].fact;
            assert_ne!(journal.clone().without(nth).found(), [], "scene {scene} without {fact:?}");
            assert_ne!(journal.clone().repeated(nth).found(), [], "scene {scene} has {fact:?} twice");
        }
    }
}

#[test]
fn a_contract_sends_only_allowed_stimuli_to_contracts_below() {
    let words = text(TextKind::Message, 1);
    let tells = |to: &str, what| {
        let mut j = scenes::one_hire().until(6);
        j.step("1", Cause::Tick).tell(to, what);
        j
    };
    tells("2", Stimulus::Message(words)).breaks(Law::Replay, "sends a message to 2, which is not below");
    tells("1.1", Stimulus::Question(words)).breaks(Law::Replay, "a stimulus that contracts do not send");
    tells("1.2", Stimulus::Cancel).breaks(Law::Replay, "sends a stimulus to 1.2, which is not a live hire");
    tells("1.1.1", Stimulus::Cancel).breaks(Law::Replay, "sends a stimulus to 1.1.1, which is not a live hire");
    let mut j = scenes::one_hire().until(6);
    j.hear("1.1", sender("1", 1), Stimulus::Message(words));
    j.breaks(Law::Holds, "1#1 does not send a stimulus");
}

#[test]
fn a_reply_with_calls_is_not_a_final_text() {
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, 1), known(10_000));
    j.fact(refused(Refusal::UnknownTool, call(1, 0)));
    j.close(report(Outcome::Done, 1, 10_000_000, 10_000));
    j.breaks(Law::Reports, "is done with a reply that makes 1 calls");
}

#[test]
fn a_contract_that_was_asked_to_end_does_not_hire() {
    let mut j = scenes::wrap_up().until(8);
    let offered = hire(&root(), 2, "writer");
    j.hire(&offered, Mode::Background, Origin::Cascade);
    j.breaks(Law::Closing, "hires after it was asked to end");
}
