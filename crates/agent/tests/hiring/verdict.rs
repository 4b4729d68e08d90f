//! What is made of a reply without a call.

use guildhall_kernel::{Ask, HireReason, Hold, Mode, Nudge, Origin, Refusal, Sender, Stimulus, ThenHire, Verdict};

use super::*;

/// What is made of words, after these facts.
fn verdict_after(team: Team, words: &str, stay: Stay, facts: Vec<Fact>) -> (Verdict, Vec<Text>) {
    let runtime = runtime(Some(team), Hired::ByOwner, said(Some(words), &[]));
    let opened = Fact::Opened(Arc::new(Brief { stay, ..brief() }));
    let facts: Vec<Fact> = std::iter::once(opened).chain(facts).collect();
    let (reply, texts) = ask(&runtime, &facts, Turn::Next);
    (reply.verdict, texts)
}

fn verdict(mode: DelegationMode, words: &str, facts: Vec<Fact>) -> Verdict {
    verdict_after(team(Dialect::DelegateTask, mode), words, Stay::Once, facts).0
}

/// Whom a verdict hires, and why.
fn hires(verdict: &Verdict) -> Option<(HireReason, Vec<&str>)> {
    let ThenHire { why, offers } = verdict.then_hire.as_ref()?;
    Some((*why, offers.iter().map(|offer| offer.agent.as_str()).collect()))
}

fn hired(name: &str, origin: Origin) -> Fact {
    let brief = Brief { agent: agent(name), path: Path::root(1).hire(1), ..brief() };
    let ask = Ask::Hire { brief: Arc::new(brief), mode: Mode::Blocking };
    Fact::Asked { id: AskId(2), ask, hold: Hold::default(), origin }
}

fn owner_speaks() -> Fact {
    let text = text(TextKind::Message, "And now?").of;
    Fact::Heard { from: Sender::Owner { command: 1 }, stimulus: Stimulus::Message(text) }
}

#[test]
fn words_that_promise_nothing_are_left_alone() {
    for words in ["Rome is nice.", "The Flight Agent found a flight for 85.", "I will write the plan."] {
        assert_eq!(verdict(DelegationMode::Offered, words, vec![]), Verdict::default(), "{words}");
    }
}

#[test]
fn a_promise_is_told_first_and_kept_in_the_agent_s_stead_next() {
    let words = "I'm delegating to Flight Agent...";
    let (verdict, texts) = verdict_after(offered(), words, Stay::Once, vec![]);
    assert_eq!(verdict.nudge, Some(Nudge::Promise));
    assert_eq!(hires(&verdict), Some((HireReason::Promise, vec!["Flight Agent"])));
    let task = verdict.then_hire.unwrap().offers[0].task;
    let task = texts.iter().find(|text| text.of == task).unwrap();
    assert!(task.says.contains(words) && task.says.contains(TASK), "{}", task.says);
}

#[test]
fn a_promise_that_was_kept_is_none_and_one_kept_by_the_runtime_is_not_kept_twice() {
    let words = "I will ask the Flight Agent and the food-agent.";
    let facts = vec![hired("Flight Agent", Origin::Outside)];
    let one = verdict(DelegationMode::Offered, words, facts.clone());
    assert_eq!(hires(&one), Some((HireReason::Promise, vec!["food-agent"])));
    let facts = vec![hired("Flight Agent", Origin::Outside), hired("food-agent", Origin::Outside)];
    assert_eq!(verdict(DelegationMode::Offered, words, facts), Verdict::default());
    let again = verdict(DelegationMode::Offered, words, vec![hired("food-agent", Origin::Promise)]);
    assert_eq!((again.nudge, again.then_hire), (Some(Nudge::Promise), None), "the report will say so");
}

#[test]
fn a_promise_to_nobody_in_particular_is_kept_only_where_it_is_clear_who_is_meant() {
    let words = "I'm delegating to my child agent...";
    let unclear = verdict(DelegationMode::Offered, words, vec![]);
    assert_eq!((unclear.nudge, unclear.then_hire), (Some(Nudge::Promise), None));
    let mut alone = offered();
    alone.workers.truncate(1);
    let clear = verdict_after(alone, words, Stay::Once, vec![]).0;
    assert_eq!(hires(&clear), Some((HireReason::Promise, vec!["Flight Agent"])));
}

#[test]
fn who_must_hire_is_told_until_somebody_was_hired() {
    let none = verdict(DelegationMode::Required, "Rome is nice.", vec![]);
    assert_eq!((none.nudge, none.then_hire), (Some(Nudge::Required), None));
    let some = verdict(DelegationMode::Required, "Rome is nice.", vec![hired("food-agent", Origin::Outside)]);
    assert_eq!(some, Verdict::default());
}

#[test]
fn a_cascade_hires_those_who_are_named_else_those_who_fit_else_all() {
    let mode = DelegationMode::Cascade;
    let named = verdict(mode, "I'll coordinate with my flight and food teams...", vec![]);
    assert_eq!(hires(&named), Some((HireReason::Cascade, vec!["Flight Agent", "food-agent"])));
    let named = verdict(mode, "First the food.", vec![]);
    assert_eq!((hires(&named), named.nudge), (Some((HireReason::Cascade, vec!["food-agent"])), None));
    let mut fitting = team(Dialect::DelegateTask, mode);
    fitting.workers[0] = Arc::new(worker("Flight Agent", "Knows how to get to Italy.", &[]));
    let fitting = verdict_after(fitting, "Let us see.", Stay::Once, vec![]).0;
    assert_eq!(hires(&fitting), Some((HireReason::Cascade, vec!["Flight Agent"])));
    let all = verdict(mode, "Let us see.", vec![]);
    assert_eq!(hires(&all), Some((HireReason::Cascade, vec!["Flight Agent", "food-agent"])));
    assert!(all.then_hire.unwrap().offers.iter().all(|offer| offer.mode == Mode::Blocking));
}

#[test]
fn nobody_hands_its_words_to_itself() {
    let mut team = team(Dialect::DelegateTask, DelegationMode::Cascade);
    team.workers.insert(0, Arc::clone(&team.own));
    let verdict = verdict_after(team, "I, the boss, need something to eat: food-agent!", Stay::Once, vec![]).0;
    assert_eq!(hires(&verdict), Some((HireReason::Cascade, vec!["food-agent"])));
}

#[test]
fn a_cascade_happens_once_also_if_nobody_could_be_hired() {
    let refused = Fact::Refused { why: Refusal::MayNotHire, origin: Origin::Cascade, bytes: Some(40) };
    for facts in [vec![hired("food-agent", Origin::Cascade)], vec![refused]] {
        assert_eq!(verdict(DelegationMode::Cascade, "Here is the plan.", facts), Verdict::default());
    }
}

#[test]
fn a_conversation_begins_anew_with_each_thing_the_owner_says() {
    let facts = || vec![hired("food-agent", Origin::Cascade), owner_speaks()];
    let cascade = || team(Dialect::DelegateTask, DelegationMode::Cascade);
    let anew = verdict_after(cascade(), "First the food.", Stay::Open, facts()).0;
    assert_eq!(hires(&anew), Some((HireReason::Cascade, vec!["food-agent"])));
    assert_eq!(verdict_after(cascade(), "First the food.", Stay::Once, facts()).0, Verdict::default());
}

#[test]
fn last_words_are_not_judged() {
    let required = team(Dialect::DelegateTask, DelegationMode::Required);
    let runtime = runtime(Some(required), Hired::ByOwner, said(Some("Rome."), &[]));
    let (reply, _) = ask(&runtime, &[Fact::Opened(Arc::new(brief()))], Turn::Last);
    assert_eq!(reply.verdict, Verdict::default());
}
