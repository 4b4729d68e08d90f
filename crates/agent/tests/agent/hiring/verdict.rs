//! The verdict on a reply without a call.

use guildhall_kernel::{
    Answer, Ask, Cost, Hold, Link, Mode, Nudge, Origin, Outcome, OwnSize, Refusal, Said, Sender, Stimulus, Undone,
    Verdict,
};

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
    Fact::Nudged(Nudge::ConfirmReport)
}

/// Checks whether a final text is nudged, for a team with the names of the travel example.
#[track_caller]
fn check_nudged(words: &str, expect: bool) {
    let mut travel = offered();
    let names = ["Scheduling Agent", "Financial Agent", "Flight Agent", "Experiences Agent", "Food Agent", "editor"];
    travel.workers = names.map(|name| Arc::new(worker(name, "", &[]))).into();
    let (verdict, _) = verdict_after(travel, words, CloseWhen::FinalText, vec![]);
    assert_eq!(verdict.undone.map(Undone::nudge), expect.then_some(Nudge::ConfirmReport), "{words}");
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
    assert_eq!((after.undone, hires(&after).is_empty()), (Some(Undone::RequiredHire), false));
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

/// Returns what a text leaves undone after these facts.
fn undone(words: &str, facts: Vec<Fact>) -> Option<Undone> {
    verdict(DelegationMode::Offered, words, facts).undone
}

/// An offered team whose members the agent's file names.
fn listed() -> Team {
    Team { listing: Listing::ByName, ..offered() }
}

fn listed_undone(words: &str, facts: Vec<Fact>) -> Option<Undone> {
    verdict_after(listed(), words, CloseWhen::FinalText, facts).0.undone
}

#[test]
fn after_a_hire_only_a_member_with_a_long_name_that_was_not_hired_and_a_written_call_count() {
    let after = |words| undone(words, hired_and_reported());
    assert_eq!(after("The Flight Agent will look."), Some(Undone::PromisedHire));
    assert_eq!(after("The food-agent found trattorias."), None);
    assert_eq!(after("delegate_task(specialty=\"Flight\", task=\"Find one.\")"), Some(Undone::PromisedHire));
    assert_eq!(after("Done."), None);
    let one_word = Team { workers: vec![Arc::new(worker("editor", "", &[]))], ..offered() };
    let facts = hired_and_reported();
    assert_eq!(verdict_after(one_word, "The editor likes it.", CloseWhen::FinalText, facts).0, Verdict::default());
}

/// The food-agent was hired and has reported.
fn hired_and_reported() -> Vec<Fact> {
    let text = text(TextKind::Words, "Pasta.");
    let answer = super::data::report(&text, Outcome::Done);
    let cost = Cost::Known(Msat::ZERO);
    vec![hired("food-agent", Origin::Outside), Fact::Answered { id: AskId(2), answer, cost }]
}

#[test]
fn while_a_hire_is_at_work_only_a_written_call_counts() {
    let facts = || vec![hired("food-agent", Origin::Outside), owner_speaks()];
    assert_eq!(listed_undone("The Flight Agent is next.", facts()), None);
    assert_eq!(listed_undone("Yes.", facts()), None);
    assert_eq!(listed_undone("delegate_task(specialty=\"Flight\", task=\"x\")", facts()), Some(Undone::PromisedHire));
}

#[test]
fn a_short_text_of_a_fork_is_its_report() {
    let context = BriefContext::Fork { request: AskId(1), upto: 1, tokens: 10 };
    let runtime = runtime(Some(listed()), Hired::ByOwner, said(Some("Grey."), &[]));
    let fork = Brief { context, path: Path::root(1).hire(1), ..brief() };
    assert_eq!(ask(&runtime, &[Fact::Opened(Arc::new(fork))], Turn::Next).0.verdict.undone, None);
}

#[test]
fn a_member_whose_hire_was_refused_is_not_asked_about() {
    let refused = Fact::Refused {
        why: Refusal::CantHire,
        origin: Origin::Course,
        bytes: 40,
        agent: Some(agent("Flight Agent")),
        ordinal: None,
    };
    assert_eq!(undone("The Flight Agent could not be hired.", vec![refused]), None);
}

#[test]
fn after_the_question_and_a_hire_a_name_counts_no_more() {
    let facts = [nudged(), called()].into_iter().chain(hired_and_reported()).collect();
    assert_eq!(undone("The Flight Agent was not needed.", facts), None);
}

#[test]
fn a_short_text_of_an_agent_that_lists_its_team_by_name_and_made_no_call_is_asked_about() {
    assert_eq!(listed_undone("I'm delegating to my child agent...", vec![]), Some(Undone::NoHire));
    assert_eq!(listed_undone("4", vec![]), Some(Undone::NoHire));
    assert_eq!(listed_undone(&"long ".repeat(80), vec![]), None);
    assert_eq!(listed_undone("4", vec![called()]), None);
    assert_eq!(undone("4", vec![]), None, "the built-in contractor's team is open");
    let chat = verdict_after(listed(), "Hello!", CloseWhen::Asked, vec![]).0;
    assert_eq!(chat, Verdict::default());
}

#[test]
fn an_agent_without_levels_or_hires_left_is_asked_only_about_a_written_call() {
    let without = |grant: Grant, words| {
        let runtime = runtime(Some(listed()), Hired::ByOwner, said(Some(words), &[]));
        ask(&runtime, &[Fact::Opened(Arc::new(Brief { grant, ..brief() }))], Turn::Next).0.verdict.undone
    };
    for grant in [Grant { depth: 0, ..brief().grant }, Grant { heads: Heads(0), ..brief().grant }] {
        assert_eq!(without(grant, "The Flight Agent will look."), None);
        let call = "delegate_task(specialty=\"Flight\", task=\"x\")";
        assert_eq!(without(grant, call), Some(Undone::Unclear), "asked about, but never marked");
    }
}

#[test]
fn a_promise_that_is_repeated_after_a_hire_is_found_again() {
    let text = Fact::Answered { id: AskId(4), answer: Answer::Said(a_reply(0)), cost: Cost::Known(Msat::ZERO) };
    let facts = hired_and_reported().into_iter().chain([text, nudged()]).collect();
    assert_eq!(undone("The Flight Agent will look.", facts), Some(Undone::PromisedHire));
}

#[test]
fn a_member_that_works_above_the_agent_is_no_promise() {
    let link = Link { agent: agent("Flight Agent"), standing: Standing::Listed, task_key: brief().task_key };
    let hiring = Some(Hiring { team: Arc::from([agent("Flight Agent")]), ad_hoc: false, recursive: false });
    let below = Brief { lineage: Lineage::default().with(link), path: Path::root(1).hire(1), hiring, ..brief() };
    let runtime = runtime(Some(offered()), Hired::ByAgent, said(Some("As the Flight Agent asked."), &[]));
    let reply = ask(&runtime, &[Fact::Opened(Arc::new(below))], Turn::Next).0;
    assert_eq!(reply.verdict.undone, None);
}

#[test]
fn the_answer_to_the_agent_s_own_question_restarts_nothing() {
    let answer = text(TextKind::Message, "In March.").of;
    let answered = Fact::Answered { id: AskId(5), answer: Answer::Text(answer), cost: Cost::Known(Msat::ZERO) };
    let facts = hired_and_reported().into_iter().chain([owner_speaks(), answered]).collect();
    assert_eq!(listed_undone("In March, then.", facts), None);
}

#[test]
fn each_message_restarts_what_counts_as_a_promise() {
    let told = |facts: Vec<Fact>| facts.into_iter().chain([owner_speaks()]).collect::<Vec<_>>();
    let words = "The food-agent will look.";
    assert_eq!(undone(words, told(hired_and_reported())), Some(Undone::PromisedHire));
    assert_eq!(listed_undone("4", told(vec![called()])), Some(Undone::NoHire));
}

/// A reply that made a call.
fn called() -> Fact {
    Fact::Answered { id: AskId(1), answer: Answer::Said(a_reply(1)), cost: Cost::Known(Msat::ZERO) }
}

fn a_reply(calls: u32) -> Said {
    let words = text(TextKind::Words, "The first text.").of;
    let size = OwnSize::default();
    let (output, input_tokens, used, cut, implausible, undone) = (None, None, None, None, None, None);
    Said {
        reply: words,
        words: Some(words),
        output,
        input_tokens,
        used,
        size,
        cut,
        implausible,
        calls,
        confirms: false,
        undone,
    }
}

/// Whether a reply to the question only says that the first text is the report.
fn confirms(words: &str, since: Vec<Fact>) -> bool {
    let runtime = runtime(Some(offered()), Hired::ByOwner, said(Some(words), &[]));
    let first = Fact::Answered { id: AskId(1), answer: Answer::Said(a_reply(0)), cost: Cost::Known(Msat::ZERO) };
    let facts = [Fact::Opened(Arc::new(brief())), first].into_iter().chain(since).collect::<Vec<_>>();
    let reply = ask(&runtime, &facts, Turn::Next).0;
    assert!(!reply.confirms || reply.words.is_none(), "{words}: the word is shown nowhere");
    reply.confirms
}

#[test]
fn a_reply_that_only_says_done_confirms_the_first_text() {
    for words in [
        "DONE",
        "Done.",
        " done \n",
        "**DONE**",
        "\"DONE\"",
        "“Done”",
        "`done`",
        "```\nDONE\n```",
        "```text\nDONE.\n```",
        "{\"report\": \"DONE\"}",
        "```json\n{\"report\": \"done\"}\n```",
    ] {
        assert!(confirms(words, vec![nudged()]), "{words}");
        assert!(!confirms(words, vec![]), "{words}: nobody asked");
    }
    for words in
        ["Done: it is blue.", "I am done", "undone", "{\"report\": \"DONE\", \"x\": \"y\"}", "DONE DONE", "{}", "[]"]
    {
        assert!(!confirms(words, vec![nudged()]), "{words}");
    }
}

#[test]
fn an_agent_that_must_hire_is_nudged_and_then_the_runtime_hires_for_it() {
    let none = verdict(DelegationMode::Required, "First the food.", vec![]);
    assert_eq!(none.undone, Some(Undone::RequiredHire));
    assert_eq!(hires(&none), vec!["food-agent"]);
    let some = verdict(DelegationMode::Required, "Rome is nice.", vec![hired("food-agent", Origin::Outside)]);
    assert_eq!(some, Verdict::default());
    let refused =
        Fact::Refused { why: Refusal::CantHire, origin: Origin::Cascade, bytes: 40, agent: None, ordinal: None };
    let none = verdict(DelegationMode::Required, "Rome is nice.", vec![refused]);
    assert_eq!((none.undone, none.then_hire), (Some(Undone::RequiredHire), vec![]), "the report says what is missing");
}

#[test]
fn a_cascade_hires_the_named_agents_else_the_fitting_ones_else_all() {
    let mode = DelegationMode::Cascade;
    let named = verdict(mode, "I'll coordinate with my flight and food teams...", vec![]);
    assert_eq!(hires(&named), vec!["Flight Agent", "food-agent"]);
    let named = verdict(mode, "First the food.", vec![]);
    assert_eq!((hires(&named), named.undone), (vec!["food-agent"], None));
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
