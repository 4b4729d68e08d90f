//! The verdict on a reply without a call.

use guildhall_kernel::{Ask, Hold, Mode, Nudge, Origin, Refusal, Sender, Stimulus, Verdict};

use super::*;

/// Returns the verdict on a final text after these facts, and the texts of its offers.
fn verdict_after(team: Team, words: &str, close_when: CloseWhen, facts: Vec<Fact>) -> (Verdict, Vec<Text>) {
    let runtime = runtime(Some(team), Hired::ByOwner, said(Some(words), &[]));
    let opened = Fact::Opened(Arc::new(Brief { close_when, ..brief() }));
    let facts: Vec<Fact> = std::iter::once(opened).chain(facts).collect();
    let (reply, texts) = ask(&runtime, &facts, Turn::Next);
    (reply.verdict, texts)
}

fn verdict(mode: DelegationMode, words: &str, facts: Vec<Fact>) -> Verdict {
    verdict_after(team(Dialect::DelegateTask, mode), words, CloseWhen::FinalText, facts).0
}

/// Returns the agents that a verdict hires.
fn hires(verdict: &Verdict) -> Vec<&str> {
    verdict.then_hire.iter().map(|offer| offer.agent.as_str()).collect()
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

fn nudged() -> Fact {
    Fact::Nudged(Nudge::Promise)
}

/// Checks whether a final text is nudged, for a team with the names of the travel example.
#[track_caller]
fn check_nudged(words: &str, expect: bool) {
    let mut travel = offered();
    let names = ["Scheduling Agent", "Financial Agent", "Flight Agent", "Experiences Agent", "Food Agent", "editor"];
    travel.workers = names.map(|name| Arc::new(worker(name, "", &[]))).into();
    let nudge = expect.then_some(Nudge::Promise);
    let (verdict, _) = verdict_after(travel, words, CloseWhen::FinalText, vec![]);
    assert_eq!(verdict, Verdict { nudge, ..Verdict::default() }, "{words}");
}

/// A hire that waits for money.
fn waits(origin: Origin) -> Fact {
    let offer = verdict(DelegationMode::Cascade, "Look.", vec![]).then_hire.remove(0);
    Fact::Queued { origin, ordinal: 1, offer: Box::new(offer), context: guildhall_kernel::Context::Fresh }
}

#[test]
fn a_hire_that_waits_for_money_counts_as_hired_until_it_is_refused() {
    for (mode, origin) in [
        (DelegationMode::Offered, Origin::Course),
        (DelegationMode::Required, Origin::Course),
        (DelegationMode::Cascade, Origin::Cascade),
    ] {
        assert_eq!(verdict(mode, "The tester will look at it.", vec![waits(origin)]), Verdict::default(), "{mode:?}");
    }
    let refused =
        Fact::Refused { why: Refusal::Closing, origin: Origin::Course, bytes: 9, agent: None, ordinal: Some(1) };
    let after = verdict(DelegationMode::Required, "Done.", vec![waits(Origin::Course), refused]);
    assert_eq!((after.nudge, hires(&after).is_empty()), (Some(Nudge::Required), false));
}

#[test]
fn a_final_text_that_names_a_member_of_the_team_is_nudged_and_no_agent_is_hired() {
    for words in [
        "I'm delegating to Scheduling Agent...",
        "Financial Agent needs: flights for Italy in March.",
        "Financial Agent should know it has Flight/Experiences/Food agents under it",
        "To stay within budget, Financial Agent invoking its 3 sub-agents...",
        "Selected 2 agents: Scheduling Agent, Financial Agent",
        "Starting Financial Agent...",
        "I need help from the flight-agent.",
        "Ich bitte den Flight Agent um Hilfe.",
        "Le food agent s'en occupe.",
        "我会让Flight Agent去查。",
        "The editor will look over it.",
    ] {
        check_nudged(words, true);
    }
}

#[test]
fn a_final_text_that_names_no_member_of_the_team_is_the_report() {
    for words in [
        "I'm delegating to my child agent...",
        "I'll coordinate with my scheduling and financial teams...",
        "For a 10-day trip in October, Rome is nice.",
        "Found flights LAX-Rome-Venice $850 per person.",
        "Budget-friendly trattorias: Trastevere 15-25 per meal.",
        "Based on all team input, here's your complete Italy itinerary.",
        "The user agent string is Mozilla.",
        "Flights, agents and food.",
        "An editorial was written.",
        "The function search(x) calls delegate_task.",
        "The search parameters are in the file.",
    ] {
        check_nudged(words, false);
    }
}

#[test]
fn a_call_that_is_written_as_text_is_nudged() {
    for words in [
        "delegate_task(specialty=\"Flight\", task=\"Find one.\")",
        "```json\n{\"name\": \"delegate_task\", \"arguments\": {\"task\": \"Find one.\"}}\n```",
        "I call delegate_task: {\"specialty\": \"x\"",
        "message_agent {\"id\": \"1.1\"}",
    ] {
        check_nudged(words, true);
    }
}

#[test]
fn a_name_of_one_word_does_not_count_if_the_task_contains_it() {
    let mut one = offered();
    one.workers = vec![Arc::new(worker("Italy", "", &[]))];
    let words = "Italy it is.";
    assert!(TASK.contains("Italy"), "{TASK}");
    assert_eq!(verdict_after(one, words, CloseWhen::FinalText, vec![]).0, Verdict::default());
}

#[test]
fn an_agent_that_was_nudged_or_has_hired_is_not_nudged_again() {
    let words = "I will ask the Flight Agent.";
    for fact in [nudged(), hired("food-agent", Origin::Outside)] {
        assert_eq!(verdict(DelegationMode::Offered, words, vec![fact]), Verdict::default());
    }
}

#[test]
fn an_agent_that_must_hire_is_nudged_and_then_the_runtime_hires_for_it() {
    let none = verdict(DelegationMode::Required, "First the food.", vec![]);
    assert_eq!(none.nudge, Some(Nudge::Required));
    assert_eq!(hires(&none), vec!["food-agent"]);
    let some = verdict(DelegationMode::Required, "Rome is nice.", vec![hired("food-agent", Origin::Outside)]);
    assert_eq!(some, Verdict::default());
    let refused =
        Fact::Refused { why: Refusal::CantHire, origin: Origin::Cascade, bytes: 40, agent: None, ordinal: None };
    let none = verdict(DelegationMode::Required, "Rome is nice.", vec![refused]);
    assert_eq!((none.nudge, none.then_hire), (Some(Nudge::Required), vec![]), "the report says what is missing");
}

#[test]
fn a_cascade_hires_the_named_agents_else_the_fitting_ones_else_all() {
    let mode = DelegationMode::Cascade;
    let named = verdict(mode, "I'll coordinate with my flight and food teams...", vec![]);
    assert_eq!(hires(&named), vec!["Flight Agent", "food-agent"]);
    let named = verdict(mode, "First the food.", vec![]);
    assert_eq!((hires(&named), named.nudge), (vec!["food-agent"], None));
    let mut fitting = team(Dialect::DelegateTask, mode);
    fitting.workers[0] = Arc::new(worker("Flight Agent", "Knows how to get to Italy.", &[]));
    let fitting = verdict_after(fitting, "Let us see.", CloseWhen::FinalText, vec![]).0;
    assert_eq!(hires(&fitting), vec!["Flight Agent"]);
    let all = verdict(mode, "Let us see.", vec![]);
    assert_eq!(hires(&all), vec!["Flight Agent", "food-agent"]);
    assert!(all.then_hire.iter().all(|offer| offer.mode == Mode::Blocking));
}

#[test]
fn a_cascade_does_not_hire_the_agent_itself() {
    let mut team = team(Dialect::DelegateTask, DelegationMode::Cascade);
    team.workers.insert(0, Arc::clone(&team.own));
    let verdict =
        verdict_after(team, "I, the boss, need something to eat: food-agent!", CloseWhen::FinalText, vec![]).0;
    assert_eq!(hires(&verdict), vec!["food-agent"]);
}

#[test]
fn a_cascade_happens_once_even_if_no_agent_could_be_hired() {
    let refused =
        Fact::Refused { why: Refusal::CantHire, origin: Origin::Cascade, bytes: 40, agent: None, ordinal: None };
    for facts in [vec![hired("food-agent", Origin::Cascade)], vec![refused]] {
        assert_eq!(verdict(DelegationMode::Cascade, "Here is the plan.", facts), Verdict::default());
    }
}

#[test]
fn each_message_of_the_owner_restarts_the_verdict() {
    let facts = || vec![hired("food-agent", Origin::Cascade), owner_speaks()];
    let cascade = || team(Dialect::DelegateTask, DelegationMode::Cascade);
    let anew = verdict_after(cascade(), "First the food.", CloseWhen::Asked, facts()).0;
    assert_eq!(hires(&anew), vec!["food-agent"]);
    assert_eq!(verdict_after(cascade(), "First the food.", CloseWhen::FinalText, facts()).0, Verdict::default());
}

#[test]
fn a_last_reply_is_not_judged() {
    let required = team(Dialect::DelegateTask, DelegationMode::Required);
    let runtime = runtime(Some(required), Hired::ByOwner, said(Some("Rome."), &[]));
    let (reply, _) = ask(&runtime, &[Fact::Opened(Arc::new(brief()))], Turn::Last);
    assert_eq!(reply.verdict, Verdict::default());
}
