//! The lawful journals that the tests start from. The comments number the facts.

use std::sync::Arc;

use guildhall_kernel::{
    Answer, Ask, AskId, Brief, Cost, Fact, Heads, Limit, Mode, Need, Nudge, Origin, Outcome, Pause, Report, Stimulus,
    TextKind, Turn, Waking, Wording,
};

use crate::journal::{
    Journal, call, call_ref, check, hire, known, msat, owner, path, refused, report, root, said, sender, text, tool,
};
use crate::shares::{NEED, scout, with_free};

/// Every scene.
pub(crate) fn all() -> [Journal; 9] {
    [one_tool(), one_hire(), top_up(), wrap_up(), cancel(), calls(), waits(), draws(), draws_refused()]
}

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
    let reserved = msat(18_000);
    j.close(Report { heads: Heads(1), reserved, ..report(Outcome::Done, 3, 10_000_000, 38_140) }); // 14
    j
}

/// Money for a hire of a hire, passed on level by level.
pub(crate) fn top_up() -> Journal {
    let lead = hire(&root(), 1, "scout");
    let lead = Brief { hiring: root().hiring, fee: msat(0), ..lead };
    let below = Brief { hiring: None, ..hire(&lead, 1, "writer") };
    let money = || Stimulus::TopUp { to: path("1.1.1"), money: msat(700), draw: None };
    let by = msat(700);
    let mut j = Journal::new();
    j.open(&root()).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 1), known(10_000)).hire(&lead, Mode::Blocking, call(1, 0)); // 3, 4
    j.open(&lead).request(&[]); // 5, 6
    j.answer("1.1", 1, said(5, 1), known(10_000)).hire(&below, Mode::Blocking, call(1, 0)); // 7, 8
    j.open(&below).request(&[]); // 9, 10
    j.hear("1", owner(1), money()).fact(Fact::Raised { hire: AskId(2), by, draw: None }).tell("1.1", money()); // 11, 12, 13
    j.hear("1.1", sender("1", 3), money()).fact(Fact::Raised { hire: AskId(2), by, draw: None }).tell("1.1.1", money()); // 14, 15, 16
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
    let lead = Report { text: assembled, reserved: msat(18_000), ..report(cancelled, 0, 2_500_000, 18_000) };
    j.answer("1.1", 1, Answer::Aborted, Cost::Unknown).close(lead.clone()); // 14, 15
    j.answer("1", 4, Answer::Gone, known(0)); // 16
    let (unheard, reserved) = (vec![AskId(2)], msat(21_000));
    let end = Report { unheard, reserved, heads: Heads(1), ..report(cancelled, 1, 10_000_000, 31_000) };
    j.answer("1", 2, Answer::Report(Box::new(lead)), known(18_000)).close(end); // 17, 18
    j
}

/// A reply whose calls are approved, denied, waited for, refused.
pub(crate) fn calls() -> Journal {
    use guildhall_kernel::{Addressee, Matter, Millis, Refusal};
    let lead = hire(&root(), 1, "scout");
    let approval = || Ask::Question { to: Addressee::Owner, matter: Matter::Approval(tool(10)), until: Millis(9000) };
    let wait = Fact::Waiting { call: call_ref(1, 3), on: vec![1], need: Need::All, until: None };
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

/// The report of a hire that made one request for 10,000 and gets its fee.
pub(crate) fn paid(words: u8, granted: u64) -> Report {
    Report { fee: msat(100), ..report(Outcome::Done, words, granted, 10_100) }
}

/// A root with two hires, of which the second waits for the change of the first.
pub(crate) fn waits() -> Journal {
    let rest = 389_900 - ((686 + 1000) * 3 + 15_000);
    let (one, two) = (scout(1, NEED), scout(2, rest));
    let mut j = Journal::new();
    j.open(&with_free(400_000)).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 2), known(10_000)).hire(&one, Mode::Blocking, call(1, 0)); // 3, 4
    j.queue(&two, Mode::Blocking, call(1, 1)); // 5
    j.open(&one).request(&[]); // 6, 7
    j.answer("1.1", 1, said(5, 0), known(10_000)).close(paid(5, NEED)); // 8, 9
    j.answer("1", 2, Answer::Report(Box::new(paid(5, NEED))), known(10_100)); // 10
    j.hire(&two, Mode::Blocking, call(1, 1)); // 11
    j.open(&two).request(&[]); // 12, 13
    j.answer("1.2", 1, said(6, 0), known(10_000)).close(paid(6, rest)); // 14, 15
    j.answer("1", 3, Answer::Report(Box::new(paid(6, rest))), known(10_100)).request(&[2, 3]); // 16, 17
    j.answer("1", 4, said(3, 0), known(10_000)); // 18
    j.close(Report { heads: Heads(2), ..report(Outcome::Done, 3, 430_000, 40_200) }); // 19
    j
}

/// A root with one hire, which draws 5000 msat and gets them.
pub(crate) fn draws() -> Journal {
    let one = scout(1, NEED);
    let mut j = Journal::new();
    j.open(&with_free(400_000)).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 1), known(10_000)).hire(&one, Mode::Blocking, call(1, 0)); // 3, 4
    j.open(&one).request(&[]); // 5, 6
    j.answer("1.1", 1, said(5, 0), known(10_000)).fact(Fact::Nudged(Nudge::Empty)).draw(5000); // 7, 8, 9
    j.hear("1", sender("1.1", 2), Stimulus::Draw { least: msat(5000) }).raise((2, "1.1"), 5000, 2); // 10, 11, 12
    let money = Stimulus::TopUp { to: path("1.1"), money: msat(5000), draw: Some(AskId(2)) };
    j.hear("1.1", sender("1", 3), money).answered(2, Answer::Met).request(&[]); // 13, 14, 15
    j.answer("1", 3, Answer::Delivered, known(0)); // 16
    let done = Report { fee: msat(100), ..report(Outcome::Done, 6, NEED + 5000, 20_100) };
    j.answer("1.1", 3, said(6, 0), known(10_000)).close(done.clone()); // 17, 18
    j.answer("1", 2, Answer::Report(Box::new(done)), known(20_100)).request(&[2]); // 19, 20
    j.answer("1", 4, said(3, 0), known(10_000)); // 21
    j.close(Report { heads: Heads(1), ..report(Outcome::Done, 3, 430_000, 40_100) }); // 22
    j
}

/// A root with two hires that both draw more than there is. The younger one is refused and wraps up; its change serves
/// the older one.
pub(crate) fn draws_refused() -> Journal {
    let dry = Outcome::Exhausted(Limit::Purse);
    let (one, two) = (scout(1, NEED), scout(2, NEED));
    let draw = || Stimulus::Draw { least: msat(90_000) };
    let mut j = Journal::new();
    j.open(&with_free(600_000)).request(&[]); // 1, 2
    j.answer("1", 1, said(1, 2), known(10_000)); // 3
    j.hire(&one, Mode::Blocking, call(1, 0)).hire(&two, Mode::Blocking, call(1, 1)); // 4, 5
    j.open(&one).request(&[]); // 6, 7
    j.open(&two).request(&[]); // 8, 9
    j.answer("1.1", 1, said(5, 0), known(10_000)).fact(Fact::Nudged(Nudge::Empty)).draw(90_000); // 10, 11, 12
    j.hear("1", sender("1.1", 2), draw()); // 13
    j.answer("1.2", 1, said(6, 0), known(10_000)).fact(Fact::Nudged(Nudge::Empty)).draw(90_000); // 14, 15, 16
    let refuse = || Stimulus::RefuseDraw { draw: AskId(2) };
    j.hear("1", sender("1.2", 2), draw()).tell("1.2", refuse()); // 17, 18
    j.hear("1.2", sender("1", 4), refuse()).answered(2, Answer::NotMet); // 19, 20
    j.fact(Fact::Closing(dry)).request_as(&[], Turn::Last); // 21, 22
    j.answer("1", 4, Answer::Delivered, known(0)); // 23
    let poor = report(dry, 7, NEED, 20_000);
    j.answer("1.2", 3, said(7, 0), known(10_000)).close(poor.clone()); // 24, 25
    j.answer("1", 3, Answer::Report(Box::new(poor)), known(20_000)).raise((2, "1.1"), 90_000, 2); // 26, 27, 28
    let money = Stimulus::TopUp { to: path("1.1"), money: msat(90_000), draw: Some(AskId(2)) };
    j.hear("1.1", sender("1", 5), money).answered(2, Answer::Met).request(&[]); // 29, 30, 31
    j.answer("1", 5, Answer::Delivered, known(0)); // 32
    let done = Report { fee: msat(100), ..report(Outcome::Done, 8, NEED + 90_000, 20_100) };
    j.answer("1.1", 3, said(8, 0), known(10_000)).close(done.clone()); // 33, 34
    j.answer("1", 2, Answer::Report(Box::new(done)), known(20_100)).request(&[3, 2]); // 35, 36
    j.answer("1", 6, said(3, 0), known(10_000)); // 37
    j.close(Report { heads: Heads(2), ..report(Outcome::Done, 3, 630_000, 60_100) }); // 38
    j
}
