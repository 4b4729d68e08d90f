//! The lawful journals that the tests start from. The comments number the facts.

use std::sync::Arc;

use guildhall_kernel::{
    Answer, Ask, AskId, Brief, Cost, Fact, Heads, Limit, Mode, Need, Origin, Outcome, Pause, Report, Stimulus,
    TextKind, Turn, Waking, Wording,
};

use crate::journal::{
    Journal, call, call_ref, check, hire, known, msat, owner, path, refused, report, root, said, sender, text, tool,
};

/// A root that uses one tool.
pub(crate) fn one_tool() -> Journal {
    let mut j = Journal::new();
    j.open(&root()).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 1), known(10_000)).tool(5000, call(1, 0)); // 3, 4
    j.answer("1", 2, Answer::Result(text(TextKind::Result, 2)), known(4000)).request(&[]); // 5, 6
    j.answer("1", 3, said(3, 0), known(12_000)); // 7
    j.close(report(Outcome::Done, 3, 10_000_000, 26_000)); // 8
    j
}

/// The hire of [`one_hire`]: its report must pass a check.
pub(crate) fn checked_hire() -> Brief {
    Brief { checks: Arc::new([check(50)]), ..hire(&root(), 1, "scout") }
}

/// The report of [`checked_hire`].
pub(crate) fn checked_report() -> Report {
    Report { fee: msat(100), ..report(Outcome::Done, 5, 2_500_000, 10_140) }
}

/// A root with one hire, which has a check and a fee.
pub(crate) fn one_hire() -> Journal {
    let mut j = Journal::new();
    j.open(&root()).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 1), known(10_000)).hire(&checked_hire(), Mode::Blocking, call(1, 0)); // 3, 4
    j.open(&checked_hire()).request(&[]); // 5, 6
    j.answer("1.1", 1, said(5, 0), known(10_000)).ask(Ask::Check(check(50)), 50, 0, Origin::Course); // 7, 8
    j.answer("1.1", 2, Answer::Passed, known(40)).close(checked_report()); // 9, 10
    j.answer("1", 2, Answer::Report(Box::new(checked_report())), known(10_140)).request(&[2]); // 11, 12
    j.answer("1", 3, said(3, 0), Cost::Unknown); // 13
    let reserved = Some(msat(18_000));
    j.close(Report { heads: Heads(1), reserved, ..report(Outcome::Done, 3, 10_000_000, 38_140) }); // 14
    j
}

/// Money for a hire of a hire, passed on level by level.
pub(crate) fn top_up() -> Journal {
    let lead = hire(&root(), 1, "scout");
    let lead = Brief { hiring: root().hiring, fee: msat(0), ..lead };
    let below = Brief { hiring: None, ..hire(&lead, 1, "writer") };
    let money = || Stimulus::TopUp { to: path("1.1.1"), money: msat(700) };
    let by = msat(700);
    let mut j = Journal::new();
    j.open(&root()).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 1), known(10_000)).hire(&lead, Mode::Blocking, call(1, 0)); // 3, 4
    j.open(&lead).request(&[]); // 5, 6
    j.answer("1.1", 1, said(5, 1), known(10_000)).hire(&below, Mode::Blocking, call(1, 0)); // 7, 8
    j.open(&below).request(&[]); // 9, 10
    j.hear("1", owner(1), money()).fact(Fact::Raised { hire: AskId(2), by }).tell("1.1", money()); // 11, 12, 13
    j.hear("1.1", sender("1", 3), money()).fact(Fact::Raised { hire: AskId(2), by }).tell("1.1.1", money()); // 14, 15, 16
    j.answer("1", 3, Answer::Delivered, known(0)); // 17
    j.hear("1.1.1", sender("1.1", 3), money()); // 18
    j.answer("1.1", 3, Answer::Delivered, known(0)); // 19
    let paid = Report { fee: msat(100), ..report(Outcome::Done, 7, 625_700, 10_100) };
    j.answer("1.1.1", 1, said(7, 0), known(10_000)).close(paid.clone()); // 20, 21
    j.answer("1.1", 2, Answer::Report(Box::new(paid)), known(10_100)).request(&[2]); // 22, 23
    let lead = Report { heads: Heads(1), ..report(Outcome::Done, 8, 2_500_700, 30_100) };
    j.answer("1.1", 4, said(8, 0), known(10_000)).close(lead.clone()); // 24, 25
    j.answer("1", 2, Answer::Report(Box::new(lead)), known(30_100)).request(&[2]); // 26, 27
    j.answer("1", 4, said(9, 0), known(10_000)); // 28
    j.close(Report { heads: Heads(2), ..report(Outcome::Done, 9, 10_000_700, 50_100) }); // 29
    j
}

/// A root with a hire in the background, both at work.
fn at_work() -> Journal {
    let lead = hire(&root(), 1, "scout");
    let mut j = Journal::new();
    j.open(&root()).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 1), known(10_000)).hire(&lead, Mode::Background, call(1, 0)).request(&[]); // 3, 4, 5
    j.open(&lead).request(&[]); // 6, 7
    j
}

/// A tree that is asked to wrap up, and does.
pub(crate) fn wrap_up() -> Journal {
    let asked = Outcome::Exhausted(Limit::Asked);
    let mut j = at_work();
    j.hear("1", owner(1), Stimulus::WrapUp).fact(Fact::Closing(asked)).tell("1.1", Stimulus::WrapUp); // 8, 9, 10
    j.hear("1.1", sender("1", 4), Stimulus::WrapUp).fact(Fact::Closing(asked)); // 11, 12
    j.answer("1", 4, Answer::Delivered, known(0)); // 13
    j.answer("1.1", 1, said(5, 0), known(10_000)).request_as(&[], Turn::Last); // 14, 15
    let lead = report(asked, 6, 2_500_000, 20_000);
    j.answer("1.1", 2, said(6, 0), known(10_000)).close(lead.clone()); // 16, 17
    j.answer("1", 3, said(7, 0), known(10_000)); // 18
    j.answer("1", 2, Answer::Report(Box::new(lead)), known(20_000)).request_as(&[2], Turn::Last); // 19, 20
    j.answer("1", 5, said(8, 0), known(10_000)); // 21
    j.close(Report { heads: Heads(1), ..report(asked, 8, 10_000_000, 50_000) }); // 22
    j
}

/// A tree that is cancelled.
pub(crate) fn cancel() -> Journal {
    let mut j = at_work();
    let cancelled = Outcome::Cancelled;
    j.hear("1", owner(1), Stimulus::Cancel).fact(Fact::Closing(cancelled)).tell("1.1", Stimulus::Cancel); // 8, 9, 10
    j.answer("1", 3, Answer::Aborted, known(3000)); // 11
    j.hear("1.1", sender("1", 4), Stimulus::Cancel).fact(Fact::Closing(cancelled)); // 12, 13
    let assembled = Wording::Assembled(text(TextKind::Words, 99));
    let lead = Report { text: assembled, reserved: Some(msat(18_000)), ..report(cancelled, 0, 2_500_000, 18_000) };
    j.answer("1.1", 1, Answer::Aborted, Cost::Unknown).close(lead.clone()); // 14, 15
    j.answer("1", 4, Answer::Gone, known(0)); // 16
    let (unheard, reserved) = (vec![AskId(2)], Some(msat(21_000)));
    let end = Report { unheard, reserved, heads: Heads(1), ..report(cancelled, 1, 10_000_000, 31_000) };
    j.answer("1", 2, Answer::Report(Box::new(lead)), known(18_000)).close(end); // 17, 18
    j
}

/// A reply whose calls are approved, denied, waited for, refused.
pub(crate) fn calls() -> Journal {
    use guildhall_kernel::{Addressee, Matter, Millis, Refusal};
    let lead = hire(&root(), 1, "scout");
    let approval = || Ask::Question { to: Addressee::Owner, matter: Matter::Approval(tool(10)), until: Millis(9000) };
    let wait = Fact::Waiting { call: call_ref(1, 3), on: vec![AskId(4)], need: Need::All, until: None };
    let mut j = Journal::new();
    j.open(&root()).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 5), known(10_000)); // 3
    j.ask(approval(), 0, 0, call(1, 0)).ask(approval(), 0, 0, call(1, 1)); // 4, 5
    j.hire(&lead, Mode::Background, call(1, 2)).fact(wait); // 6, 7
    j.fact(refused(Refusal::UnknownHire { hire: path("1.7") }, call(1, 4))); // 8
    j.open(&lead).request(&[]); // 9, 10
    j.answer("1", 2, Answer::Approved, known(0)).tool(10, call(1, 0)); // 11, 12
    j.answer("1", 3, Answer::NoReply, known(0)); // 13
    j.fact(refused(Refusal::NotApproved, call(1, 1))); // 14
    let paid = Report { fee: msat(100), ..report(Outcome::Done, 5, 2_500_000, 10_100) };
    j.answer("1.1", 1, said(5, 0), known(10_000)).close(paid.clone()); // 15, 16
    j.answer("1", 4, Answer::Report(Box::new(paid)), known(10_100)); // 17
    j.fact(Fact::Woke { pause: Pause::Call(call_ref(1, 3)), why: Waking::Reported }); // 18
    j.answer("1", 5, Answer::Result(text(TextKind::Result, 2)), known(10)).request(&[4]); // 19, 20
    j.answer("1", 6, said(3, 0), known(10_000)); // 21
    j.close(Report { heads: Heads(1), ..report(Outcome::Done, 3, 10_000_000, 30_110) }); // 22
    j
}
