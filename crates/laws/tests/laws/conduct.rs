//! Calls that get lost, contracts that do not end as they should, journals that are none: laws five, six, eight and ten.

use std::sync::Arc;

use guildhall_kernel::{
    Acceptance, Answer, Ask, AskId, Brief, CALLS_MAX, Cause, Fact, Limit, Millis, Mode, Need, Nudge, Origin, Outcome,
    Pause, Refusal, Report, Stimulus, TextKind, Waking, Wording,
};
use guildhall_laws::Law;

use crate::journal::{
    Journal, answer_of, ask_of, call, call_ref, check, hire, known, msat, owner, path, refused, report, report_of,
    request_of, root, said, sender, text,
};
use crate::scenes;

#[test]
fn every_call_of_a_reply_is_placed_in_its_batch() {
    scenes::one_tool().without(4).breaks(Law::Reports, "0 calls of a reply were placed, 1 should have been");
    scenes::calls().without(8).breaks(Law::Reports, "4 calls of a reply were placed, 5 should have been");
    scenes::calls().without(4).breaks(Law::Reports, "call 1 of #1 is placed when 0 is due");
    let mut j = scenes::one_tool().until(4);
    j.tool(5000, call(1, 0));
    j.breaks(Law::Reports, "call 0 of #1 is placed twice");
    let mut j = scenes::one_tool().until(4);
    j.tool(5000, call(1, 1));
    j.breaks(Law::Reports, "call 1 of #1, which made 1");
}

#[test]
fn calls_over_the_limit_are_refused_as_one() {
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, CALLS_MAX + 7), known(10_000));
    for index in 0..CALLS_MAX {
        // So many reasons of a usual size would not fit the request that follows.
        j.fact(Fact::Refused { why: Refusal::UnknownTool, origin: call(1, index), bytes: Some(0) });
    }
    let short = j.clone();
    let why = Refusal::TooManyCalls { calls: CALLS_MAX + 7 };
    j.fact(refused(why, call(1, CALLS_MAX))).request(&[]);
    j.answer("1", 2, said(2, 0), known(10_000)).close(report(Outcome::Done, 2, 10_000_000, 20_000));
    j.is_lawful();
    short.breaks(Law::Reports, "1024 calls of a reply were placed, 1025 should have been");
    let mut over = short.clone();
    over.tool(5, call(1, CALLS_MAX));
    over.breaks(Law::Refusals, "call 1024 of #1 is over the limit");
}

#[test]
fn no_request_leaves_a_call_behind() {
    let mut j = scenes::one_tool().until(4);
    j.request(&[]);
    j.breaks(Law::Reports, "a request while call Some(0) has no answer");
    let mut j = scenes::one_hire().until(6);
    j.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 1))).request(&[]);
    j.breaks(Law::Reports, "has no answer");
    let mut j = scenes::one_hire().until(6);
    j.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 1)));
    j.fact(Fact::Woke { pause: Pause::Hire(AskId(2)), why: Waking::Words }).request(&[]);
    j.breaks(Law::Liveness, "it never closed");
}

#[test]
fn an_approvals_answer_is_acted_upon() {
    scenes::calls().without(14).breaks(Law::Reports, "an approval was answered and nothing followed");
    scenes::calls().without(12).breaks(Law::Reports, "an approval was answered and nothing followed");
}

#[test]
fn a_call_wakes_when_what_it_waits_for_has_come_and_not_before() {
    scenes::calls().without(18).breaks(Law::Liveness, "waits for reports that have come");
    let mut j = scenes::calls().until(16);
    j.step("1", Cause::Tick).fact(Fact::Woke { pause: Pause::Call(call_ref(1, 3)), why: Waking::Reported });
    j.breaks(Law::Reports, "can't have woken for Reported");
    let mut j = scenes::calls().until(16);
    j.step("1", Cause::Tick).fact(Fact::Woke { pause: Pause::Call(call_ref(1, 3)), why: Waking::TimedOut });
    j.breaks(Law::Reports, "can't have woken for TimedOut");
    let waits = |on| Fact::Waiting { call: call_ref(1, 0), on, need: Need::Any, until: None };
    let with = |on| scenes::one_tool().until(4).with(4, |s| s.fact = waits(on));
    with(vec![]).breaks(Law::Liveness, "waits for reports that have come");
    with(vec![AskId(1)]).breaks(Law::Liveness, "which is no live hire");
}

#[test]
fn words_wake_a_hirer_that_waits() {
    let mut j = scenes::one_hire().until(6);
    j.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 1)));
    j.breaks(Law::Liveness, "words came, and a call still waits");
}

#[test]
fn a_report_is_owed_until_a_request_includes_it() {
    scenes::one_hire().with(12, |s| request_of(s).hears.clear()).breaks(Law::Reports, "owed are [#2]");
    scenes::one_tool().with(6, |s| request_of(s).hears.push(AskId(2))).breaks(Law::Reports, "owed are []");
    scenes::cancel().with(18, |s| report_of(s).unheard.clear()).breaks(Law::Reports, "but owed are [#2]");
    scenes::one_hire().with(14, |s| report_of(s).unheard.push(AskId(2))).breaks(Law::Reports, "but owed are []");
}

#[test]
fn a_hire_is_answered_by_its_own_report_once_it_has_closed() {
    scenes::one_hire().without(10).breaks(Law::Liveness, "neither closed nor owed anything");
    let early = |mut j: Journal| {
        j.answer("1", 2, Answer::Report(Box::new(scenes::checked_report())), known(10_140));
        j
    };
    early(scenes::one_hire().until(8)).breaks(Law::Reports, "1.1 has reported, but has not closed");
    let mut other = scenes::checked_report();
    other.output = Some(text(TextKind::Output, 66));
    scenes::one_hire()
        .with(11, |s| *answer_of(s).0 = Answer::Report(Box::new(other)))
        .breaks(Law::Reports, "this is not the report of 1.1");
}

#[test]
fn a_report_says_what_the_agent_said() {
    let wrong = |change: fn(&mut Report), what: &str| {
        scenes::one_tool().with(8, |s| change(report_of(s))).breaks(Law::Reports, what);
    };
    wrong(|report| report.text = Wording::Final(text(TextKind::Words, 1)), "not what the agent said last");
    wrong(|report| report.text = Wording::Assembled(text(TextKind::Words, 3)), "done without a final text");
    wrong(|report| report.ignored_nudge = Some(Nudge::FixReport), "leaves Some(Mend) undone");
}

#[test]
fn only_a_report_that_passed_every_check_is_accepted() {
    let found = Answer::FailedCheck(text(TextKind::Finding, 1));
    let without = "accepted without passing every check";
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
        .breaks(Law::Reports, "accepted, but ended as Exhausted(Asked)");
    let robbed = |report: &mut Report| report.acceptance = Acceptance::NotAccepted;
    scenes::one_tool().with(8, |s| robbed(report_of(s))).breaks(Law::Reports, "not accepted, though it is done");
}

#[test]
fn a_contract_closes_when_nothing_is_open() {
    let mut j = scenes::one_tool().until(4);
    j.close(report(Outcome::Done, 1, 10_000_000, 10_000));
    j.breaks(Law::Closing, "closed while 1 asks are open");
    let mut j = scenes::one_tool();
    j.step("1", Cause::Tick).fact(Fact::Nudged(Nudge::FixReport));
    j.breaks(Law::Closing, "a closed contract has one more fact");
}

#[test]
fn a_contract_ends_as_it_was_closing() {
    scenes::wrap_up().with(22, |s| report_of(s).outcome = Outcome::Done).breaks(Law::Closing, "ends as Done");
    scenes::one_tool().with(8, |s| report_of(s).outcome = Outcome::Failed).breaks(Law::Closing, "ends as Failed");
}

#[test]
fn a_contract_closes_for_a_reason_that_happened() {
    let closing = |outcome, what: &str| {
        let mut j = scenes::one_tool().until(2);
        j.step("1", Cause::Tick).fact(Fact::Closing(outcome));
        j.breaks(Law::Closing, what);
    };
    closing(Outcome::Done, "can't follow");
    closing(Outcome::Cancelled, "for which there is no reason");
    closing(Outcome::Exhausted(Limit::Asked), "for which there is no reason");
    closing(Outcome::Exhausted(Limit::Turns), "for which there is no reason");
    closing(Outcome::Exhausted(Limit::Deadline), "for which there is no reason");
    let mut j = scenes::wrap_up().until(10);
    j.step("1", Cause::Tick).fact(Fact::Closing(Outcome::Failed));
    j.breaks(Law::Closing, "can't follow");
}

#[test]
fn a_wish_to_end_is_obeyed_and_passed_on() {
    scenes::wrap_up().without(10).breaks(Law::Closing, "1.1 should have been told WrapUp, and was GoOn");
    scenes::cancel().without(10).breaks(Law::Closing, "1.1 should have been told Cancel, and was GoOn");
    scenes::cancel()
        .with(10, |s| *ask_of(s) = Ask::Tell { to: path("1.1"), what: Stimulus::WrapUp })
        .breaks(Law::Closing, "asks for a tell while closing as Cancelled");
    scenes::cancel().until(10).without(9).breaks(Law::Closing, "a cancel was heard and not obeyed");
    scenes::wrap_up().until(10).without(9).breaks(Law::Closing, "a wrap-up was heard and not obeyed");
}

#[test]
fn one_who_is_ending_asks_for_nothing_new() {
    let mut j = scenes::wrap_up().until(13);
    j.answer("1.1", 1, said(5, 1), known(10)).tool(5, call(1, 0));
    j.breaks(Law::Closing, "asks for a tool call while closing as Exhausted(Asked)");
    let mut j = scenes::wrap_up().until(13);
    j.answer("1.1", 1, said(5, 0), known(10)).request(&[]);
    j.breaks(Law::Closing, "asks for a request while closing");
    let mut j = scenes::wrap_up().until(13);
    let wait = Fact::Waiting { call: call_ref(3, 0), on: vec![AskId(2)], need: Need::Any, until: None };
    j.answer("1", 3, said(4, 1), known(10)).fact(wait);
    j.breaks(Law::Closing, "a call begins to wait while the contract is ending");
    let mut j = scenes::cancel().until(10);
    let two = hire(&root(), 2, "writer");
    j.answer("1", 3, said(4, 1), known(10)).hire(&two, Mode::Background, call(3, 0));
    j.breaks(Law::Closing, "asks for a hire while closing as Cancelled");
}

#[test]
fn nothing_is_aborted_unless_somebody_cancelled() {
    scenes::one_tool().with(5, |s| *answer_of(s).0 = Answer::Aborted).breaks(Law::Closing, "but nobody cancelled");
}

#[test]
fn nobody_is_gone_before_it_has_closed() {
    scenes::wrap_up().with(13, |s| *answer_of(s).0 = Answer::Gone).breaks(Law::Closing, "and is not");
}

#[test]
fn one_who_has_not_closed_is_owed_something() {
    scenes::one_tool().until(7).breaks(Law::Liveness, "neither closed nor owed anything");
    scenes::one_tool().until(6).breaks(Law::Liveness, "it never closed");
}

#[test]
fn facts_are_numbered_and_in_time() {
    scenes::one_tool().with(3, |s| s.seq = 4).breaks(Law::Replay, "no fact 3, which is due");
    scenes::one_tool().with(3, |s| s.at = Millis(5)).breaks(Law::Replay, "time goes back");
    scenes::one_tool().with(4, |s| s.at = Millis(21)).breaks(Law::Replay, "have different times");
    scenes::one_tool().with(3, |s| s.v = 3).breaks(Law::Replay, "form 3 is not known");
}

#[test]
fn facts_follow_from_their_cause() {
    scenes::one_tool().with(3, |s| s.cause = Cause::Answer(AskId(2))).breaks(Law::Replay, "does not follow from");
    scenes::wrap_up().with(8, |s| s.cause = Cause::Tick).breaks(Law::Replay, "does not follow from");
    scenes::one_tool().with(4, |s| s.cause = Cause::Opening).breaks(Law::Reports, "0 calls of a reply were placed");
    scenes::one_tool().with(2, |s| s.cause = Cause::Answer(AskId(1))).breaks(Law::Liveness, "owed anything");
    let mut j = scenes::one_tool().until(2);
    j.step("1", Cause::Answer(AskId(1))).tool(5, Origin::Course);
    j.breaks(Law::Replay, "asked does not follow from Answer(#1)");
    let mut j = scenes::one_tool().until(2);
    j.open(&root());
    j.breaks(Law::Replay, "a contract is opened twice");
    scenes::one_tool()
        .with(1, |s| s.fact = Fact::Opened(Arc::new(Brief { path: path("2"), ..root() })))
        .breaks(Law::Replay, "opened with the brief of 2");
}

#[test]
fn asks_are_numbered_and_requests_show_every_fact() {
    scenes::one_tool()
        .with(4, |s| {
            let Fact::Asked { id, .. } = &mut s.fact else { panic!("a tool call") };
            *id = AskId(3);
        })
        .breaks(Law::Replay, "#3 is asked when #2 is due");
    scenes::one_tool().with(6, |s| request_of(s).upto = 4).breaks(Law::Replay, "shows 4 facts where there are 5");
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
    j.breaks(Law::Holds, "a second request while one is open");
}

#[test]
fn a_nudge_is_given_once() {
    let mut j = scenes::one_tool().until(2);
    j.step("1", Cause::Tick).fact(Fact::Nudged(Nudge::Promise)).fact(Fact::Nudged(Nudge::Promise));
    j.breaks(Law::Replay, "nudged twice about Promise");
}

#[test]
fn what_no_request_has_shown_is_not_compacted() {
    let compacted = |upto| Fact::Compacted { upto, bytes: 10 };
    let mut j = scenes::one_tool().until(6);
    j.step("1", Cause::Tick).fact(compacted(6));
    j.breaks(Law::Replay, "but only 5 were shown");
    let mut j = scenes::one_tool().until(6);
    j.step("1", Cause::Tick).fact(compacted(5)).fact(compacted(5));
    j.breaks(Law::Replay, "compacted up to 5 after 5");
}

#[test]
fn a_question_of_a_hire_is_heard_by_its_hirer_alone() {
    use guildhall_kernel::{Addressee, Matter};
    let words = text(TextKind::Message, 50);
    let ask = Ask::Question { to: Addressee::Hirer, matter: Matter::Words(words), until: Millis(9000) };
    let mut j = scenes::one_hire().until(6);
    j.answer("1.1", 1, said(5, 1), known(10_000)).ask(ask, 0, 0, call(1, 0));
    let mut wrong = j.clone();
    wrong.hear("1", sender("1.1", 2), Stimulus::Question(text(TextKind::Message, 51)));
    wrong.breaks(Law::Holds, "did not tell this contract that");
    let mut stuck = j.clone();
    stuck.hear("1", sender("1.1", 2), Stimulus::Question(words));
    stuck.breaks(Law::Liveness, "words came, and a call still waits");
    j.hear("1", sender("1.1", 2), Stimulus::Question(words));
    j.fact(Fact::Woke { pause: Pause::Hire(AskId(2)), why: Waking::Words }).request(&[]);
    j.breaks(Law::Liveness, "it never closed");
}

#[test]
fn a_conversation_hears_every_report() {
    let talk = Brief { stay: guildhall_kernel::CloseWhen::Asked, ..root() };
    let lead = Brief { stay: guildhall_kernel::CloseWhen::FinalText, fee: msat(0), ..hire(&talk, 1, "scout") };
    let end = report(Outcome::Done, 5, 2_500_000, 10_000);
    let mut j = Journal::new();
    j.open(&talk).request(&[]);
    j.answer("1", 1, said(1, 1), known(10)).hire(&lead, Mode::Background, call(1, 0)).request(&[]);
    j.open(&lead).request(&[]);
    j.answer("1", 3, said(2, 0), known(10));
    j.answer("1.1", 1, said(5, 0), known(10_000)).close(end.clone());
    j.answer("1", 2, Answer::Report(Box::new(end)), known(10_000));
    j.breaks(Law::Reports, "the reports [#2] were never heard");
}

#[test]
fn no_fact_can_be_left_out_or_doubled_unseen() {
    let all = [
        scenes::one_tool(),
        scenes::one_hire(),
        scenes::top_up(),
        scenes::wrap_up(),
        scenes::cancel(),
        scenes::calls(),
    ];
    for (scene, journal) in all.iter().enumerate() {
        for nth in 1..=journal.stored.len() {
            let fact = &journal.stored[nth - 1].fact;
            assert_ne!(journal.clone().without(nth).found(), [], "scene {scene} lacks {fact:?}");
            assert_ne!(journal.clone().doubled(nth).found(), [], "scene {scene} has {fact:?} twice");
        }
    }
}

#[test]
fn a_contract_tells_only_those_below_and_only_what_it_can() {
    let words = text(TextKind::Message, 1);
    let tells = |to: &str, what| {
        let mut j = scenes::one_hire().until(6);
        j.step("1", Cause::Tick).tell(to, what);
        j
    };
    tells("2", Stimulus::Message(words)).breaks(Law::Replay, "words for 2, who does not stand below");
    tells("1.1", Stimulus::Question(words)).breaks(Law::Replay, "what no contract can tell");
    tells("1.2", Stimulus::Cancel).breaks(Law::Replay, "tells 1.2, which is no live hire");
    tells("1.1.1", Stimulus::Cancel).breaks(Law::Replay, "tells 1.1.1, which is no live hire");
    let mut j = scenes::one_hire().until(6);
    j.hear("1.1", sender("1", 1), Stimulus::Message(words));
    j.breaks(Law::Holds, "1#1 tells nobody anything");
}

#[test]
fn a_reply_with_calls_is_no_final_text() {
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, 1), known(10_000));
    j.fact(refused(Refusal::UnknownTool, call(1, 0)));
    j.close(report(Outcome::Done, 1, 10_000_000, 10_000));
    j.breaks(Law::Reports, "done with a reply that makes 1 calls");
}

#[test]
fn one_who_was_told_to_end_hires_nobody() {
    let mut j = scenes::wrap_up().until(8);
    let offered = hire(&root(), 2, "writer");
    j.hire(&offered, Mode::Background, Origin::Promise);
    j.breaks(Law::Closing, "hires after being told to end");
}
