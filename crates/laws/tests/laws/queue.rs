//! Hires that wait for money: their ordinals, their order, and how their wait ends.

use std::sync::Arc;

use guildhall_kernel::{
    Answer, Ask, AskId, Brief, Cause, CloseWhen, Context, Fact, Heads, Hold, Inherit, Limit, Mode, Need, Offer, Origin,
    Outcome, Path, Pause, Refusal, Report, Stimulus, Stored, TextKind, Waking,
};
use guildhall_laws::Law;

use crate::journal::{
    Journal, agent, brief_of, call, call_ref, granted, hold_of, known, msat, offer, owner, path, powers, refused,
    refused_hire, report, request_of, root, said, said_of, sender, text,
};
use crate::scenes::{self, paid};
use crate::shares::{NEED, scout, with_free};

/// A root with this many hires in one reply. The first one works, the others wait.
fn waiting(count: u32, mode: Mode) -> Journal {
    let mut j = Journal::new();
    j.open(&with_free(400_000)).request(&[]);
    j.answer("1", 1, said(1, count), known(10_000)).hire(&scout(1, NEED), mode, call(1, 0));
    for ordinal in 2..=count {
        j.queue(&scout(ordinal, 0), mode, call(1, ordinal - 1));
    }
    j
}

/// The same root after the report of the first hire.
fn after_report(count: u32, mode: Mode) -> Journal {
    let mut j = waiting(count, mode);
    j.open(&scout(1, NEED)).request(&[]);
    j.answer("1.1", 1, said(5, 0), known(10_000)).close(paid(5, NEED));
    j.answer("1", 2, Answer::Report(Box::new(paid(5, NEED))), known(10_100));
    j
}

fn dropped(ordinal: u32) -> Refusal {
    Refusal::StoppedBeforeStart { hire: path("1").hire(ordinal) }
}

/// Stops a waiting hire, which the reply's call made.
fn stop(j: &mut Journal, ordinal: u32) -> &mut Journal {
    let origin = call(1, ordinal - 1);
    j.hear("1", owner(1), Stimulus::DropHire { ordinal }).fact(refused_hire(dropped(ordinal), origin, Some(ordinal)))
}

#[test]
fn a_hire_that_waits_has_the_next_ordinal() {
    waiting(3, Mode::Blocking).is_lawful_so_far();
    let numbered = |ordinal: u32| {
        waiting(3, Mode::Blocking).with(6, |s| {
            let Fact::Queued { ordinal: number, .. } = &mut s.fact else { panic!("a hire waits") };
            *number = ordinal;
        })
    };
    numbered(2).breaks(Law::Hires, "hire 2 waits, but 3 is the next ordinal");
    numbered(4).breaks(Law::Hires, "hire 4 waits, but 3 is the next ordinal");
}

#[test]
fn a_call_that_waits_is_decided_on() {
    waiting(3, Mode::Blocking).without(6).breaks(Law::Reports, "2 calls of the reply were decided on, but 3 must be");
    waiting(3, Mode::Blocking).repeated(6).breaks(Law::Reports, "call 2 of #1 is decided on twice");
    let mut early = after_report(2, Mode::Blocking);
    early.request(&[2]);
    early.breaks(Law::Reports, "a request was made while call Some(1) has no answer");
}

#[test]
fn no_hire_overtakes_one_that_waits() {
    let admits = |ordinal: u32| {
        let mut j = after_report(3, Mode::Blocking);
        j.hire(&scout(ordinal, 86_100), Mode::Blocking, call(1, ordinal - 1));
        j
    };
    admits(2).is_lawful_so_far();
    admits(3).breaks(Law::Grants, "1.3 is hired before hire 2, which waits longer");
    // A new hire waits behind the others.
    let mut j = waiting(2, Mode::Background);
    j.request(&[]);
    j.answer("1", 3, said(2, 1), known(1000));
    let mut new = j.clone();
    new.hire(&scout(3, 86_100), Mode::Background, call(3, 0));
    new.breaks(Law::Grants, "1.3 is hired before hire 2, which waits longer");
    j.queue(&scout(3, 0), Mode::Background, call(3, 0)).request(&[]);
    j.is_lawful_so_far();
}

#[test]
fn a_refused_hire_leaves_a_gap() {
    let then = |ordinal: u32| {
        let mut j = waiting(2, Mode::Background);
        stop(&mut j, 2).request(&[]);
        j.answer("1", 3, said(2, 1), known(1000)).queue(&scout(ordinal, 0), Mode::Background, call(3, 0));
        j.request(&[]);
        j
    };
    then(3).is_lawful_so_far();
    then(2).breaks(Law::Hires, "hire 2 waits, but 3 is the next ordinal");
    let mut j = waiting(2, Mode::Background);
    stop(&mut j, 2).hire(&scout(2, 86_100), Mode::Background, call(1, 1));
    j.breaks(Law::Hires, "1.2 is not the path of hire 3");
}

#[test]
fn no_more_hires_wait_than_heads_are_available() {
    let heads = |heads: u32| {
        waiting(3, Mode::Blocking).with(1, |s| {
            brief_of(s).grant.heads = Heads(heads);
        })
    };
    heads(3).is_lawful_so_far();
    heads(2).breaks(Law::Purse, "2 hires wait, but only 1 heads are available");
}

#[test]
fn a_hire_is_admitted_or_refused_once() {
    let mut twice = scenes::waits().until(11);
    twice.hire(&scout(2, 86_100), Mode::Blocking, call(1, 1));
    twice.breaks(Law::Hires, "1.2 is not the path of hire 3");
    let mut both = scenes::waits().until(11);
    both.fact(refused_hire(Refusal::Closing, call(1, 1), Some(2)));
    both.breaks(Law::Reports, "hire 2 is refused, but it does not wait");
    let mut again = waiting(2, Mode::Blocking);
    stop(&mut again, 2).fact(refused_hire(dropped(2), call(1, 1), Some(2)));
    again.breaks(Law::Reports, "hire 2 is refused, but it does not wait");
    let mut never = waiting(2, Mode::Blocking);
    never.hear("1", owner(1), Stimulus::DropHire { ordinal: 3 });
    never.fact(refused_hire(dropped(3), call(1, 2), Some(3)));
    never.breaks(Law::Reports, "hire 3 is refused, but it does not wait");
}

#[test]
fn an_admitted_hire_is_the_one_that_waited() {
    let differs = |change: fn(&mut Brief)| {
        scenes::waits().with(11, |s| change(brief_of(s))).breaks(Law::Hires, "1.2 differs from the hire that waited");
    };
    differs(|hire| hire.agent = agent("scout"));
    differs(|hire| hire.task.bytes = 11);
    differs(|hire| hire.task_key.0[0] = 99);
    differs(|hire| hire.fee = msat(99));
    differs(|hire| hire.severance = msat(19_999));
    differs(|hire| hire.tariff.input = msat(1));
    differs(|hire| hire.opening_bytes = 499);
    differs(|hire| hire.turns_max = 19);
    differs(|hire| hire.money_max = Some(msat(1_000_000)));
    let origin = scenes::waits().with(11, |s| {
        let Fact::Asked { origin, .. } = &mut s.fact else { panic!("a hire") };
        *origin = Origin::Cascade;
    });
    origin.breaks(Law::Hires, "1.2 differs from the hire that waited");
    let refused = {
        let mut j = waiting(2, Mode::Blocking);
        j.hear("1", owner(1), Stimulus::DropHire { ordinal: 2 });
        j.fact(refused_hire(dropped(2), Origin::Cascade, Some(2)));
        j
    };
    refused.breaks(Law::Reports, "hire 2 is refused with another origin");
}

#[test]
fn a_message_moves_a_waiting_hire_into_the_background() {
    let moved = |mode| {
        let mut j = waiting(2, Mode::Blocking);
        j.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 9)));
        for hire in [1, 2] {
            j.fact(Fact::Woke { pause: Pause::Hire(hire), why: Waking::Message });
        }
        j.request(&[]);
        j.open(&scout(1, NEED)).request(&[]);
        j.answer("1.1", 1, said(5, 0), known(10_000)).close(paid(5, NEED));
        j.answer("1", 2, Answer::Report(Box::new(paid(5, NEED))), known(10_100));
        j.hire(&scout(2, 86_100), mode, call(1, 1));
        j
    };
    moved(Mode::Background).is_lawful_so_far();
    moved(Mode::Blocking).breaks(Law::Hires, "1.2 is hired as Blocking, not Background");
    let mut j = after_report(2, Mode::Blocking);
    j.hire(&scout(2, 86_100), Mode::Background, call(1, 1));
    j.breaks(Law::Hires, "1.2 is hired as Background, not Blocking");
    let mut half = waiting(2, Mode::Blocking);
    half.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 9)));
    half.fact(Fact::Woke { pause: Pause::Hire(1), why: Waking::Message });
    half.breaks(Law::Liveness, "an urgent message came, but a call still waits for a hire");
    let mut none = waiting(2, Mode::Blocking);
    none.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 9)));
    none.fact(Fact::Woke { pause: Pause::Hire(3), why: Waking::Message });
    none.breaks(Law::Reports, "Hire(3) can't end because of Message");
}

#[test]
fn the_admission_of_a_hire_in_the_background_adds_a_notice() {
    let shows = |tokens: u64| {
        let mut j = after_report(2, Mode::Background);
        j.hire(&scout(2, 86_100), Mode::Background, call(1, 1)).request(&[2]);
        let last = j.stored.len();
        j.with(last, |s| request_of(s).tokens = tokens).with(last, |s| hold_of(s).money = msat(tokens * 3 + 15_000))
    };
    // 400 tokens were reported. The reply, the report and its task have 10 bytes each.
    shows(400 + 30 + 2 * 256).is_lawful_so_far();
    shows(400 + 30 + 2 * 256 - 1).breaks(Law::Holds, "pays for 941 tokens, but shows at least 942");
}

#[test]
fn a_call_can_wait_for_a_hire_that_waits() {
    let waits = |on: Vec<u32>, need| {
        let mut j = waiting(3, Mode::Background).until(3).with(3, |s| said_of(s).calls = 4);
        j.hire(&scout(1, NEED), Mode::Background, call(1, 0));
        j.queue(&scout(2, 0), Mode::Background, call(1, 1)).queue(&scout(3, 0), Mode::Background, call(1, 2));
        j.fact(Fact::Waiting { call: call_ref(1, 3), on, need, until: None });
        j
    };
    let woke = || Fact::Woke { pause: Pause::Call(call_ref(1, 3)), why: Waking::Reported };
    waits(vec![2, 3], Need::All).is_lawful_so_far();
    waits(vec![4], Need::All).breaks(Law::Liveness, "a call waits for hire 4, which neither lives nor waits");
    // A refusal counts like a report.
    let mut any = waits(vec![2, 3], Need::Any);
    stop(&mut any, 2);
    any.breaks(Law::Liveness, "call 3 waits for reports that have already come");
    any.fact(woke()).request(&[]);
    any.is_lawful_so_far();
    let mut all = waits(vec![2, 3], Need::All);
    stop(&mut all, 2);
    all.is_lawful_so_far();
    let mut early = all.clone();
    early.fact(woke());
    early.breaks(Law::Reports, "can't end because of Reported");
    all.hear("1", owner(2), Stimulus::DropHire { ordinal: 3 }).fact(refused_hire(dropped(3), call(1, 2), Some(3)));
    all.breaks(Law::Liveness, "call 3 waits for reports that have already come");
}

#[test]
fn a_hire_that_a_person_gives_up_no_longer_waits() {
    let mut j = waiting(3, Mode::Background);
    stop(&mut j, 3);
    j.is_lawful_so_far();
    let mut kept = waiting(3, Mode::Background);
    kept.hear("1", owner(1), Stimulus::DropHire { ordinal: 3 });
    kept.step("1", Cause::Tick).request(&[]);
    kept.breaks(Law::Reports, "hire 3 was given up, but still waits for money");
    let nobody = "1.2 is refused as stopped, but nobody stopped it";
    let mut other = waiting(3, Mode::Background);
    other.hear("1", owner(1), Stimulus::DropHire { ordinal: 3 });
    other.fact(refused_hire(dropped(2), call(1, 1), Some(2)));
    other.breaks(Law::Refusals, nobody);
    let mut tick = waiting(3, Mode::Background);
    tick.step("1", Cause::Tick).fact(refused_hire(dropped(2), call(1, 1), Some(2)));
    tick.breaks(Law::Refusals, nobody);
    let mut live = waiting(2, Mode::Background);
    live.hear("1", owner(1), Stimulus::DropHire { ordinal: 1 });
    live.fact(refused_hire(dropped(1), call(1, 0), Some(1)));
    live.breaks(Law::Refusals, "1.1 is refused as stopped, but nobody stopped it");
}

#[test]
fn only_a_person_gives_up_a_hire() {
    let mut j = waiting(2, Mode::Background);
    j.open(&scout(1, NEED)).request(&[]);
    j.hear("1.1", sender("1", 2), Stimulus::DropHire { ordinal: 1 });
    j.breaks(Law::Holds, "a contract gives up a hire for another one");
}

#[test]
fn a_waiting_hire_without_a_call_delays_the_next_request_too() {
    let waits = |mode: Mode| {
        let mut j = waiting(1, Mode::Background).until(3).with(3, |s| said_of(s).calls = 0);
        j.hire(&scout(1, NEED), Mode::Background, Origin::Cascade);
        j.queue(&scout(2, 0), mode, Origin::Cascade).request(&[]);
        j
    };
    waits(Mode::Background).is_lawful_so_far();
    waits(Mode::Blocking).breaks(Law::Reports, "a request was made while it waits for hire Some(2)");
}

/// A root with a waiting hire, and its next reply with one call.
fn called(why: Refusal) -> Journal {
    let mut j = waiting(2, Mode::Background);
    j.request(&[]);
    j.answer("1", 3, said(2, 1), known(1000)).fact(refused(why, call(3, 0)));
    j
}

#[test]
fn calls_about_a_waiting_hire_have_true_reasons() {
    let untrue = "the reason of the refusal is not true";
    called(Refusal::NotStarted { hire: path("1.2") }).is_lawful_so_far();
    called(Refusal::NotStarted { hire: path("1.1") }).breaks(Law::Refusals, untrue);
    called(Refusal::UnknownHire { hire: path("1.3") }).is_lawful_so_far();
    called(Refusal::UnknownHire { hire: path("1.2") }).breaks(Law::Refusals, untrue);
    called(Refusal::NothingToAwait).breaks(Law::Refusals, untrue);
    // A call that stops a waiting hire is refused with the same reason.
    let mut stops = called(dropped(2));
    stops.fact(refused_hire(dropped(2), call(1, 1), Some(2)));
    stops.is_lawful_so_far();
}

#[test]
fn an_ending_refuses_every_hire_that_waits() {
    let asked = Outcome::Exhausted(Limit::Asked);
    let mut ends = waiting(2, Mode::Background);
    ends.request(&[]);
    ends.hear("1", owner(1), Stimulus::WrapUp).fact(Fact::Closing(asked));
    let mut kept = ends.clone();
    ends.fact(refused_hire(Refusal::Closing, call(1, 1), Some(2))).tell("1.1", Stimulus::WrapUp);
    ends.is_lawful_so_far();
    kept.tell("1.1", Stimulus::WrapUp);
    kept.breaks(Law::Closing, "the contract is ending, but 1 of its hires wait");
    let mut late = waiting(2, Mode::Background).until(4).with(3, |s| said_of(s).calls = 1);
    late.hear("1", owner(1), Stimulus::WrapUp).queue(&scout(2, 0), Mode::Background, call(1, 1));
    late.breaks(Law::Closing, "a hire waits for money after the contract was asked to end");
}

#[test]
fn a_contract_with_a_waiting_hire_is_not_done() {
    let mut closes = after_report(2, Mode::Background);
    closes.request(&[2]);
    closes.answer("1", 3, said(3, 0), known(10_000));
    closes.close(Report { heads: Heads(1), ..report(Outcome::Done, 3, 430_000, 30_100) });
    closes.breaks(Law::Closing, "closes while 1 of its hires wait for money");
    // A conversation is not idle.
    let mut talk = after_report(2, Mode::Background).with(1, |s| brief_of(s).close_when = CloseWhen::Asked);
    talk.breaks(Law::Liveness, "nothing that could free money is open");
    talk.request(&[2]);
    talk.answer("1", 3, said(3, 0), known(10_000));
    talk.breaks(Law::Liveness, "the contract is not closed and has no open ask");
}

#[test]
fn a_waiting_hire_keeps_the_context_that_it_has_from_the_beginning() {
    let fork = |tokens: u64| Brief {
        agent: root().agent,
        context: Context::Fork { request: AskId(1), upto: 1, tokens },
        ..scout(2, 0)
    };
    let waits = |hire: &Brief| {
        let mut j = waiting(2, Mode::Background).until(4);
        j.queue(hire, Mode::Background, call(1, 1)).request(&[]);
        j
    };
    let prefix = 410 + 2 * 256;
    waits(&fork(prefix)).is_lawful_so_far();
    waits(&fork(prefix - 1)).breaks(Law::Holds, "but its prefix has at least 922");
    let newer = Brief { context: Context::Fork { request: AskId(2), upto: 1, tokens: 1000 }, ..fork(prefix) };
    waits(&newer).breaks(Law::Grants, "the fork refers to #2, which is not the newest request");
    let not_offered = waits(&fork(prefix)).with(5, |s| offer_of(s).inherit = Inherit::Fresh);
    not_offered.breaks(Law::Grants, "a hire waits with a context that was not offered");
    // The hirer's newest request has changed when the hire is admitted.
    let admits = |hire: &Brief| {
        let mut j = waits(&fork(prefix));
        j.open(&scout(1, NEED)).request(&[]);
        j.answer("1.1", 1, said(5, 0), known(10_000)).close(paid(5, NEED));
        j.answer("1", 2, Answer::Report(Box::new(paid(5, NEED))), known(10_100));
        j.hire(&granted(hire, 97_164), Mode::Background, call(1, 1));
        j
    };
    admits(&fork(prefix)).is_lawful_so_far();
    let now = Brief { context: Context::Fork { request: AskId(3), upto: 6, tokens: 1000 }, ..fork(prefix) };
    admits(&now).breaks(Law::Hires, "1.2 differs from the hire that waited");
}

fn offer_of(stored: &mut Stored) -> &mut Offer {
    let Fact::Queued { offer, .. } = &mut stored.fact else { panic!("fact {} is not a waiting hire", stored.seq) };
    offer
}

#[test]
fn a_hire_that_can_never_be_admitted_does_not_wait() {
    let offers = |change: fn(&mut Offer), law, what: &str| {
        waiting(2, Mode::Background).with(5, |s| change(offer_of(s))).breaks(law, what);
    };
    let least = "hire 2 waits, but can never have its minimum of 25440 msat";
    offers(|offer| offer.budget = Some(msat(25_439)), Law::Refusals, least);
    offers(|offer| offer.share_max = Some(msat(25_439)), Law::Refusals, least);
    offers(|offer| offer.agent = agent("stranger"), Law::Refusals, "hires stranger, which is not on its team");
    offers(|offer| offer.powers.usable = powers(&["zap"]), Law::Grants, "passes on the power zap");
    let lone = waiting(2, Mode::Background).with(1, |s| brief_of(s).grant.depth = 0);
    lone.with(4, |s| brief_of(s).grant.depth = 0).breaks(Law::Grants, "passes on depth 0, but its own depth is 0");
    let mut flat = waiting(2, Mode::Background).with(1, |s| brief_of(s).grant.depth = 0).until(3);
    flat.queue(&scout(1, 0), Mode::Background, call(1, 0));
    flat.breaks(Law::Grants, "a hire waits, but the contract's own depth is 0");
    let limited = waiting(2, Mode::Background).with(5, |s| offer_of(s).budget = Some(msat(25_440)));
    limited.is_lawful_so_far();
}

#[test]
fn a_hire_from_outside_can_wait() {
    let waits = |change: fn(&mut Offer)| {
        let mut j = waiting(1, Mode::Background);
        j.request(&[]);
        let mut offered = offer(&scout(2, 0), Mode::Background);
        change(&mut offered);
        j.hear("1", owner(1), Stimulus::Hire(Box::new(offered))).queue(&scout(2, 0), Mode::Background, Origin::Outside);
        j.step("1", Cause::Tick);
        j
    };
    waits(|_| ()).is_lawful_so_far();
    // It may wait in the background instead.
    waits(|offer| offer.mode = Mode::Blocking).is_lawful_so_far();
    waits(|offer| offer.fee = msat(1)).breaks(Law::Refusals, "hires writer from outside, which was not offered");
    let mut course = waiting(2, Mode::Background).until(4);
    course.queue(&scout(2, 0), Mode::Background, Origin::Course);
    course.breaks(Law::Replay, "a hire can't wait because of Course");
}

#[test]
fn a_fork_that_is_offered_before_the_first_request_has_no_prefix() {
    let waits = |first: bool| {
        let mut j = Journal::new();
        j.open(&Brief { close_when: CloseWhen::Asked, ..with_free(400_000) });
        if first {
            j.request(&[]);
        }
        let fork = Offer { inherit: Inherit::Fork, ..offer(&scout(1, 0), Mode::Background) };
        j.hear("1", owner(1), Stimulus::Hire(Box::new(fork.clone())));
        let (origin, offer) = (Origin::Outside, Box::new(fork));
        j.fact(Fact::Queued { origin, ordinal: 1, offer, context: Context::Fresh });
        if !first {
            j.request(&[]);
        }
        j
    };
    waits(true).breaks(Law::Grants, "a hire waits with a context that was not offered");
    waits(false).is_lawful_so_far();
}

#[test]
fn a_hire_does_not_wait_for_nothing() {
    let mut j = after_report(2, Mode::Blocking);
    j.breaks(Law::Liveness, "a hire waits for money, but nothing that could free money is open");
    j.hire(&scout(2, 86_100), Mode::Blocking, call(1, 1));
    j.is_lawful_so_far();
}

#[test]
fn a_hire_that_waits_is_not_opened() {
    let mut j = waiting(2, Mode::Blocking);
    j.open(&scout(2, 86_100));
    j.breaks(Law::Hires, "1 never asked for this hire");
}

#[test]
fn a_top_up_for_a_waiting_hire_stays_with_its_hirer() {
    let mut j = waiting(2, Mode::Background);
    let money = Stimulus::TopUp { to: path("1.2"), money: msat(700), draw: None };
    let why = Refusal::TopUpStays { to: path("1.2"), with: path("1") };
    j.hear("1", owner(1), money).fact(refused(why, Origin::Outside));
    j.is_lawful_so_far();
}

#[test]
fn a_thousand_hires_wait_and_are_admitted_lawfully() {
    let count = 1000;
    let hire = |ordinal: u32, money: u64| Brief { path: Path::root(1).hire(ordinal), ..scout(1, money) };
    let mut rich = with_free(1_000_000_000);
    rich.grant.heads = Heads(count);
    let mut j = Journal::new();
    j.open(&rich).request(&[]);
    j.answer("1", 1, said(1, count + 1), known(10_000));
    for ordinal in 1..=count {
        j.queue(&hire(ordinal, 0), Mode::Background, call(1, ordinal - 1));
    }
    let on = (1..=count).collect();
    j.fact(Fact::Waiting { call: call_ref(1, count), on, need: Need::All, until: None });
    for ordinal in 1..=count {
        let ask = Ask::Hire { brief: Arc::new(hire(ordinal, NEED)), mode: Mode::Background };
        let hold = Hold { money: msat(NEED), heads: Heads(1) };
        j.fact(Fact::Asked { id: AskId(ordinal + 1), ask, hold, origin: call(1, ordinal - 1) });
    }
    j.is_lawful_so_far();
}
