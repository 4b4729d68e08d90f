//! Replies that a limit cut: they are continued, and what stays cut is marked and never done.

use std::sync::Arc;

use guildhall_kernel::{
    Acceptance, Answer, Ask, Brief, CloseWhen, Cut, Fact, Limit, Nudge, Origin, Outcome, OwnSize, Report, Said,
    Stimulus, TextKind, TextRef, Turn, Wording,
};
use guildhall_laws::Law;

use crate::journal::{
    Journal, call, check, hold_of, known, msat, owner, refused, report, report_of, request_of, root, said, said_of,
    text,
};

const LENGTH: Outcome = Outcome::Exhausted(Limit::Length);

/// A reply that is cut; its text with all parts before it has this many bytes.
fn part(seed: u8, cut: Option<Cut>, bytes: u32) -> Answer {
    let Answer::Said(whole) = said(seed, 0) else { panic!("a reply") };
    let words = TextRef { bytes, ..text(TextKind::Words, seed) };
    Answer::Said(Said { cut, words: Some(words), size: OwnSize { bytes: 10, tokens: 4 }, ..whole })
}

/// A root with this many replies in a row that reach `max_tokens`.
fn parts(brief: &Brief, count: u8) -> Journal {
    let mut j = Journal::new();
    j.open(brief);
    for nth in 1..=count {
        j.request(&[]);
        j.answer("1", nth.into(), part(nth, Some(Cut::MaxTokens), 10 * u32::from(nth)), known(10_000));
    }
    j
}

/// The report with the text of this part.
fn cut_report(outcome: Outcome, part: u8, spent: u64) -> Report {
    let words = TextRef { bytes: 10 * u32::from(part), ..text(TextKind::Words, part) };
    let text = Wording::Final(words);
    let acceptance = Acceptance::NotAccepted;
    Report { text, cut: true, tokens: 4 * u32::from(part), acceptance, ..report(outcome, part, 10_000_000, spent) }
}

/// A reply in two parts, and its report.
fn continued() -> Journal {
    let mut j = parts(&root(), 1);
    j.request(&[]);
    j.answer("1", 2, part(2, None, 20), known(10_000));
    j.close(Report { cut: false, ..cut_report(Outcome::Done, 2, 20_000) });
    j.with(6, |s| report_of(s).acceptance = Acceptance::Accepted)
}

#[test]
fn a_reply_is_continued_and_reported_whole() {
    continued().is_lawful();
    continued().with(5, |s| said_of(s).words = None).breaks(Law::Reports, "not the agent's newest text");
    continued().with(6, |s| report_of(s).cut = true).breaks(Law::Reports, "marks the text as cut: true");
}

#[test]
fn a_cut_reply_is_never_done() {
    let mut j = parts(&root(), 1);
    j.close(report(Outcome::Done, 1, 10_000_000, 10_000));
    j.breaks(Law::Reports, "marks the text as cut: false, but it must be true");
    let mut j = parts(&root(), 1);
    j.close(cut_report(Outcome::Done, 1, 10_000));
    j.breaks(Law::Reports, "ends as Done with a text that is cut");
    let mut j = parts(&root(), 1);
    j.close(Report { acceptance: Acceptance::Accepted, ..cut_report(Outcome::Done, 1, 10_000) });
    j.breaks(Law::Reports, "is accepted with a text that is cut");
}

#[test]
fn a_reply_is_continued_four_times_and_then_ends_for_its_length() {
    let ends = |count: u8| {
        let mut j = parts(&root(), count);
        j.fact(Fact::Closing(LENGTH)).close(cut_report(LENGTH, count, 10_000 * u64::from(count)));
        j
    };
    ends(5).is_lawful();
    ends(4).breaks(Law::Closing, "begins to close as Exhausted(Length) without a reason");
    // The sixth part begins a new reply.
    let mut j = parts(&root(), 6);
    j.request(&[]);
    j.answer("1", 7, part(7, None, 10), known(10_000));
    let tokens = Report { cut: false, tokens: 8, ..cut_report(Outcome::Done, 7, 70_000) };
    let words = TextRef { bytes: 10, ..text(TextKind::Words, 7) };
    j.close(Report { text: Wording::Final(words), acceptance: Acceptance::Accepted, ..tokens });
    j.is_lawful();
}

#[test]
fn a_reply_that_fills_the_context_window_ends_for_its_length() {
    let window = |cut| {
        let mut j = Journal::new();
        j.open(&root()).request(&[]);
        j.answer("1", 1, part(1, cut, 10), known(10_000));
        j.fact(Fact::Closing(LENGTH)).close(cut_report(LENGTH, 1, 10_000));
        j
    };
    window(Some(Cut::Window)).is_lawful();
    window(None).breaks(Law::Closing, "begins to close as Exhausted(Length) without a reason");
    window(Some(Cut::Window))
        .with(5, |s| report_of(s).cut = false)
        .breaks(Law::Reports, "marks the text as cut: false, but it must be true");
    let mut last = window(Some(Cut::Window)).until(4);
    last.request_as(&[], Turn::Last);
    last.breaks(Law::Severance, "although a text that was cut is the report");
}

#[test]
fn the_parts_of_a_reply_are_one_turn() {
    let one = Brief { turns_max: 1, ..root() };
    let mut j = parts(&one, 3);
    j.request(&[]);
    j.answer("1", 4, part(4, None, 40), known(10_000));
    j.close(Report { cut: false, acceptance: Acceptance::Accepted, ..cut_report(Outcome::Done, 4, 40_000) });
    j.is_lawful();
    let mut j = parts(&one, 2);
    j.request(&[]);
    j.answer("1", 3, part(3, None, 30), known(10_000)).request(&[]);
    j.breaks(Law::Grants, "asks for another reply after 1 of 1");
}

#[test]
fn a_contract_that_wraps_up_reports_the_parts_that_came() {
    let asked = Outcome::Exhausted(Limit::Asked);
    let mut j = parts(&root(), 1);
    j.request(&[]);
    j.hear("1", owner(1), Stimulus::WrapUp).fact(Fact::Closing(asked));
    j.answer("1", 2, Answer::Lost, known(0));
    let mut last = j.clone();
    last.request_as(&[], Turn::Last);
    last.breaks(Law::Severance, "although a text that was cut is the report");
    let mut assembled = j.clone();
    let mut whole = j.clone();
    j.close(cut_report(asked, 1, 10_000));
    j.is_lawful();
    let text = Wording::Assembled(cut_report(asked, 1, 0).text.text());
    assembled.close(Report { text, ..cut_report(asked, 1, 10_000) });
    assembled.is_lawful();
    whole.close(Report { text, cut: false, ..cut_report(asked, 1, 10_000) });
    whole.breaks(Law::Reports, "marks the text as cut: false, but it must be true");
}

#[test]
fn a_contract_that_runs_dry_in_the_middle_of_a_reply_makes_a_last_request() {
    let dry = Outcome::Exhausted(Limit::Purse);
    let mut j = parts(&root(), 1);
    j.fact(Fact::Closing(dry));
    let mut mute = j.clone();
    j.request_as(&[], Turn::Last);
    j.answer("1", 2, part(2, Some(Cut::MaxTokens), 10), known(10_000));
    let words = TextRef { bytes: 10, ..text(TextKind::Words, 2) };
    let cut = Report { text: Wording::Final(words), tokens: 4, ..cut_report(dry, 2, 20_000) };
    j.close(cut);
    j.is_lawful();
    let text = Wording::Assembled(cut_report(dry, 1, 0).text.text());
    mute.close(Report { text, ..cut_report(dry, 1, 10_000) });
    mute.breaks(Law::Severance, "closes without a last request");
}

#[test]
fn a_last_request_asks_for_at_least_512_tokens() {
    let last = |max_tokens: u32| {
        let mut j = parts(&root(), 1);
        j.fact(Fact::Closing(Outcome::Exhausted(Limit::Purse))).request_as(&[], Turn::Last);
        let nth = j.stored.len();
        j.with(nth, |s| request_of(s).max_tokens = max_tokens)
            .with(nth, |s| hold_of(s).money = msat(3000 + 15 * u64::from(max_tokens)))
    };
    last(512).is_lawful_so_far();
    last(511).breaks(Law::Holds, "asks for 511 output tokens, not 512 to 1000");
}

#[test]
fn a_severance_pays_for_512_tokens() {
    let opens = |severance: u64| {
        let mut j = Journal::new();
        j.open(&Brief { severance: msat(severance), ..root() }).request(&[]);
        j
    };
    opens(256 * 3 + 512 * 15).is_lawful_so_far();
    opens(256 * 3 + 512 * 15 - 1).breaks(Law::Severance, "the severance is 8447 msat, but the minimum is 8448");
}

#[test]
fn a_conversation_with_a_cut_text_does_not_end_as_done() {
    let talk = Brief { close_when: CloseWhen::Asked, ..root() };
    let mut j = Journal::new();
    j.open(&talk).request(&[]);
    j.answer("1", 1, part(1, Some(Cut::Window), 10), known(10_000));
    j.is_lawful();
    let ends = |outcome| {
        let mut j = j.clone();
        j.hear("1", owner(1), Stimulus::WrapUp).fact(Fact::Closing(outcome)).close(cut_report(outcome, 1, 10_000));
        j
    };
    ends(LENGTH).is_lawful();
    ends(Outcome::Done).breaks(Law::Reports, "ends as Done with a text that is cut");
}

#[test]
fn the_tokens_of_a_report_are_those_of_all_its_parts() {
    let counts = |tokens: u32| continued().with(6, |s| report_of(s).tokens = tokens);
    counts(8).is_lawful();
    counts(0).is_lawful();
    counts(4).breaks(Law::Reports, "counts 4 tokens for its text, but 8 were reported");
    // Without the tokens of one part, the sum is unknown.
    let unknown = |tokens: u32| counts(tokens).with(3, |s| said_of(s).size.tokens = 0);
    unknown(0).is_lawful();
    unknown(4).breaks(Law::Reports, "counts 4 tokens for its text, but 0 were reported");
}

#[test]
fn a_continued_text_keeps_what_came_before() {
    let mut j = parts(&root(), 1);
    j.request(&[]);
    j.answer("1", 2, part(2, Some(Cut::MaxTokens), 9), known(10_000)).request(&[]);
    j.breaks(Law::Reports, "a continued reply has lost the text before it");
}

#[test]
fn a_reply_that_waits_for_its_continuation_is_not_checked() {
    let careful = Brief { checks: Arc::new([check(50)]), ..root() };
    let mut j = parts(&careful, 1);
    j.ask(Ask::Check(check(50)), 50, 0, Origin::Course);
    j.breaks(Law::Reports, "checks a reply that waits for its continuation");
}

#[test]
fn an_agent_gets_no_nudge_in_the_middle_of_a_reply() {
    let mut j = parts(&root(), 1);
    j.fact(Fact::Nudged(Nudge::ConfirmReport)).request(&[]);
    j.breaks(Law::Reports, "the agent got a nudge, but its reply waits for its continuation");
}

#[test]
fn only_a_last_request_shows_less_than_everything() {
    let mut next = parts(&root(), 1);
    next.request(&[]);
    let nth = next.stored.len();
    next.with(nth, |s| request_of(s).cut = true).breaks(Law::Holds, "an ordinary request is cut to fit");
    // The transcript has 661 tokens.
    let last = |tokens: u64, cut: bool| {
        let mut j = parts(&root(), 1);
        j.fact(Fact::Closing(Outcome::Exhausted(Limit::Purse))).request_as(&[], Turn::Last);
        let nth = j.stored.len();
        j.with(nth, |s| (request_of(s).tokens, request_of(s).cut) = (tokens, cut))
            .with(nth, |s| hold_of(s).money = msat(tokens * 3 + 15_000))
    };
    last(661, false).is_lawful_so_far();
    last(660, true).is_lawful_so_far();
    last(660, false).breaks(Law::Holds, "pays for 660 tokens, but shows at least 661");
}

#[test]
fn a_request_that_is_cut_includes_no_report() {
    let cut = |hears: &[u32]| {
        let mut j = crate::scenes::wrap_up().until(19);
        j.request_as(hears, Turn::Last);
        j.with(20, |s| request_of(s).cut = true)
    };
    cut(&[]).is_lawful_so_far();
    cut(&[2]).breaks(Law::Reports, "includes the reports [#2], but [#2] are owed");
    let whole = crate::scenes::wrap_up().with(20, |s| request_of(s).hears.clear());
    whole.breaks(Law::Reports, "includes the reports [], but [#2] are owed");
}

#[test]
fn a_reply_that_is_cut_within_a_call_is_not_continued() {
    let mut j = Journal::new();
    j.open(&Brief { turns_max: 1, ..root() }).request(&[]);
    j.answer("1", 1, said(1, 2), known(10_000)).tool(5, call(1, 0));
    j.fact(refused(guildhall_kernel::Refusal::Malformed, call(1, 1)));
    let mut j = j.with(3, |s| said_of(s).cut = Some(Cut::MaxTokens));
    j.answer("1", 2, Answer::Result(text(TextKind::Result, 2)), known(5)).request(&[]);
    j.breaks(Law::Grants, "asks for another reply after 1 of 1");
}

#[test]
fn a_continuation_pays_for_the_words_that_ask_for_it() {
    // 400 tokens were reported; the part counts 5, and the words that ask for the rest 256.
    let shows = |tokens: u64| {
        let mut j = parts(&root(), 1);
        j.request(&[]);
        let last = j.stored.len();
        j.with(last, |s| request_of(s).tokens = tokens).with(last, |s| hold_of(s).money = msat(tokens * 3 + 15_000))
    };
    shows(400 + 5 + 256).is_lawful_so_far();
    shows(400 + 5 + 255).breaks(Law::Holds, "pays for 660 tokens, but shows at least 661");
}
