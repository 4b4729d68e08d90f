//! The reading of calls.

use std::collections::BTreeMap;

use guildhall_kernel::{
    AmountError, Call, Check, Effect, FRAME_TOKENS, FieldName, Inherit, Mode, NameError, Need, Offer, Unreadable,
    WrongField,
};

use guildhall_agent::LABEL_BYTES_MAX;

use super::*;

/// Reads one call of an agent that an agent hired.
fn read(team: Team, name: &str, arguments: Value) -> Call {
    read_with_texts(team, brief(), name, arguments).0
}

fn read_with_texts(team: Team, brief: Brief, name: &str, arguments: Value) -> (Call, Vec<Text>) {
    let runtime = runtime(Some(team), Hired::ByAgent, said(None, &[(name, arguments)]));
    let (mut reply, texts) = ask(&runtime, &[Fact::Opened(Arc::new(brief))], Turn::Next);
    assert_eq!(reply.calls.len(), 1);
    (reply.calls.remove(0), texts)
}

fn offer(team: Team, name: &str, arguments: Value) -> Offer {
    let call = read(team, name, arguments);
    if let Call::Hire(offer) = call { *offer } else { panic!("{call:?}") }
}

pub(super) fn delegate(team: Team, arguments: Value) -> Offer {
    offer(team, "delegate_task", arguments)
}

fn refusal(team: Team, arguments: Value) -> Unreadable {
    let call = read(team, "delegate_task", arguments);
    if let Call::Invalid(why) = call { why } else { panic!("{call:?}") }
}

#[test]
fn the_calls_in_the_source_documents_hire() {
    let agents = || team(Dialect::Agent, DelegationMode::Offered);
    let investigator =
        json!({"name": "bug-investigator", "prompt": "Read api.ts and look for timeout configurations."});
    for name in ["Agent", "Task"] {
        let fork = offer(agents(), name, investigator.clone());
        assert_eq!((fork.agent, fork.inherit, fork.mode), (agent("boss"), Inherit::Fork, Mode::Blocking));
        assert_eq!(fork.task, text(TextKind::Task, "Read api.ts and look for timeout configurations.").of);
    }
    let coder = json!({"prompt": "Fix it.", "subagent_type": "Flight Agent", "run_in_background": true});
    let fresh = offer(agents(), "Agent", coder);
    assert_eq!((fresh.agent, fresh.inherit, fresh.mode), (agent("Flight Agent"), Inherit::Fresh, Mode::Background));
    let task = json!({"specialty": "Flight Agent", "task": "Find flights to Rome.", "budget": 250});
    let hire = delegate(offered(), task);
    assert_eq!((hire.agent, hire.budget, hire.mode), (agent("Flight Agent"), Some(sat(250)), Mode::Blocking));
    let handed = json!({"target_agent": "food-agent", "prompt": "Find a trattoria."});
    let handed = offer(team(Dialect::DelegateToAgent, DelegationMode::Offered), "delegate_to_agent", handed);
    assert_eq!((handed.agent, handed.budget, handed.inherit), (agent("food-agent"), None, Inherit::Fresh));
}

#[test]
fn a_bad_budget_is_refused_with_the_reason() {
    let check = |budget: Value, why: AmountError| {
        let arguments = json!({"specialty": "food-agent", "task": "Eat.", "budget": budget});
        assert_eq!(refusal(offered(), arguments), Unreadable::BadAmount(why), "{budget}");
    };
    check(json!(0), AmountError::Zero);
    check(json!(-1), AmountError::Negative);
    check(json!(0.5), AmountError::Fractional);
    check(json!("NaN"), AmountError::NotANumber);
    check(json!("a lot"), AmountError::NotANumber);
    check(json!(true), AmountError::NotANumber);
    check(json!(1e30), AmountError::BeyondSupply);
}

#[test]
fn a_budget_is_the_call_s_up_to_the_maximum_or_else_the_worker_s_default() {
    let granted = |default: Option<u64>, max: Option<u64>, budget: Value| {
        let (budget_default, budget_max) = (default.map(sat), max.map(sat));
        let mut team = offered();
        team.workers[1] = Arc::new(Worker { budget_default, budget_max, ..worker("food-agent", "", &[]) });
        delegate(team, json!({"specialty": "food-agent", "task": "Eat.", "budget": budget})).budget
    };
    assert_eq!(granted(None, None, json!("40 sats")), Some(sat(40)));
    assert_eq!(granted(None, None, Value::Null), None, "a share");
    assert_eq!(granted(Some(30), None, Value::Null), Some(sat(30)));
    assert_eq!(granted(Some(30), Some(20), Value::Null), Some(sat(20)));
    assert_eq!(granted(None, Some(20), json!(5000)), Some(sat(20)));
}

#[test]
fn an_agent_is_found_by_name_and_then_by_specialty() {
    let found = |specialty: &str| delegate(offered(), json!({"specialty": specialty, "task": "Go."})).agent;
    for name in ["Flight Agent", "flight-agent", " FLIGHT_AGENT ", "air travel", "Air-Travel", "airports"] {
        assert_eq!(found(name), agent("Flight Agent"), "{name}");
    }
    assert_eq!(found("stargazer"), agent("stargazer"), "the kernel refuses the unknown name with the list");
    assert_eq!(found("boss"), agent("boss"), "the kernel refuses a self-hire");
    let by_name = json!({"subagent_type": "air travel", "prompt": "Go."});
    let other = offer(team(Dialect::Agent, DelegationMode::Offered), "Agent", by_name);
    assert_eq!(other.agent, agent("air travel"), "the other dialects accept only names");
}

fn field(name: &str, wrong: WrongField) -> Unreadable {
    Unreadable::Field(FieldName::parse(name).unwrap(), wrong)
}

#[test]
fn a_name_is_the_contract_s_label_as_one_short_line() {
    let label = |name: Value| {
        let arguments = json!({"specialty": "food-agent", "task": "Go.", "name": name});
        let (call, texts) = read_with_texts(offered(), brief(), "delegate_task", arguments);
        let Call::Hire(offer) = call else { panic!("{call:?}") };
        let of = offer.label.map(|label| *label);
        of.map(|of| texts.into_iter().find(|text| text.of == of).unwrap().says)
    };
    assert_eq!(label(json!("dinner  in\nRome")), Some("dinner in Rome".to_owned()));
    assert_eq!(label(json!("\u{1b}[31mred\u{202e}")), Some("[31mred".to_owned()));
    assert_eq!(label(json!("é".repeat(5000))).unwrap().len(), LABEL_BYTES_MAX);
    for none in [json!(""), json!(" \n"), json!("\u{200b}"), json!(5), json!(null)] {
        assert_eq!(label(none.clone()), None, "{none}");
    }
}

#[test]
fn an_ad_hoc_specialist_with_the_name_of_a_member_finds_the_member() {
    let named =
        |name: &str| Team { own: Arc::new(worker(name, "", &[])), standing: Standing::AdHoc, ..with_ad_hoc(offered()) };
    for name in ["food-agent", "Food Agent", "FOOD-AGENT"] {
        let offer = delegate(named(name), json!({"specialty": name, "task": "Go."}));
        assert_eq!((offer.agent.as_str(), offer.standing), ("food-agent", Standing::Listed), "{name}");
        assert_eq!(named(name).others().count(), 2, "{name} may hire both members");
    }
    let itself = delegate(named("poet"), json!({"specialty": "Poet", "task": "Go."}));
    assert_eq!((itself.agent.as_str(), itself.standing), ("poet", Standing::Listed), "the kernel refuses this name");
}

#[test]
fn an_ad_hoc_specialist_is_hired_only_where_that_is_allowed() {
    let hired = |specialty: &str| {
        let offer = delegate(with_ad_hoc(offered()), json!({"specialty": specialty, "task": "Go."}));
        (offer.agent.to_string(), offer.standing, offer.turns_max)
    };
    let ad_hoc = |name: &str| (name.to_owned(), Standing::AdHoc, 3);
    assert_eq!(hired("Postgres expert"), ad_hoc("Postgres expert"));
    assert_eq!(hired("SQL / Postgres (v16)"), ad_hoc("SQL-Postgres-v16"));
    assert_eq!(
        hired(&"very ".repeat(40)),
        ad_hoc(&["very"; 13].join("-")),
        "the specialty is cut to the length of a name"
    );
    assert_eq!(hired("air travel"), ("Flight Agent".to_owned(), Standing::Listed, 7));
    assert_eq!(hired("Boss"), ("boss".to_owned(), Standing::Listed, 7), "no specialist has its hirer's name");
    for nameless in ["", "///"] {
        let why = refusal(with_ad_hoc(offered()), json!({"specialty": nameless, "task": "Go."}));
        assert!(matches!(why, Unreadable::BadName(_)), "{why:?}");
    }
    let why = refusal(offered(), json!({"specialty": "a/b", "task": "Go."}));
    assert_eq!(why, Unreadable::BadName(NameError::BadCharacter { found: '/' }));
}

#[test]
fn a_field_of_the_wrong_type_is_refused_and_an_unknown_field_is_ignored() {
    for (malformed, name, wrong) in [
        (json!({"task": "Go."}), "specialty", WrongField::Missing),
        (json!({"specialty": "food-agent"}), "task", WrongField::Missing),
        (json!({"specialty": 5, "task": "Go."}), "specialty", WrongField::NotText),
        (json!({"specialty": "food-agent", "task": ["Go."]}), "task", WrongField::NotText),
        (json!({"specialty": "food-agent", "task": "Go.", "context": "shared"}), "context", WrongField::UnknownValue),
        (json!({"specialty": "food-agent", "task": "Go.", "background": "perhaps"}), "background", WrongField::NotBool),
    ] {
        assert_eq!(refusal(offered(), malformed.clone()), field(name, wrong), "{malformed}");
    }
    for empty in ["", " \n"] {
        let why = refusal(offered(), json!({"specialty": "food-agent", "task": empty}));
        assert_eq!(why, Unreadable::EmptyText);
    }
    let more = json!({"specialty": "food-agent", "task": "Go.", "priority": "high", "name": 5, "background": "true"});
    assert_eq!(delegate(offered(), more).mode, Mode::Background);
    assert_eq!(read(offered(), "Agent", json!({"prompt": "Go."})), Call::Invalid(Unreadable::UnknownTool));
}

#[test]
fn an_offer_brings_the_worker_s_conditions_and_the_hirer_s_checks() {
    let (adds, check) = (text(TextKind::Term, "Under 900 dollars."), text(TextKind::Term, "\"receipts\""));
    let mut team = offered();
    team.workers[1] = Arc::new(Worker { adds: vec![adds.clone()], background: true, ..worker("food-agent", "", &[]) });
    team.checks = vec![(check.clone(), sat(2))];
    let (own, handed) = (text(TextKind::Term, "In May."), text(TextKind::Term, "By train."));
    let brief = Brief { terms: Arc::from([own.of]), adds: Arc::from([handed.of]), ..brief() };
    let arguments = json!({"specialty": "food-agent", "task": "Eat."});
    let (call, texts) = read_with_texts(team.clone(), brief.clone(), "delegate_task", arguments);
    let Call::Hire(offer) = call else { panic!("{call:?}") };
    assert_eq!((offer.fee, offer.severance, offer.turns_max, offer.mode), (sat(1), sat(20), 7, Mode::Background));
    assert_eq!((&*offer.adds, &*offer.checks), (&[adds.of][..], &[Check { what: check.of, price: sat(2) }][..]));
    let shown = "boss needs:\n\nEat.\n\nThese terms hold for you and for everybody you hire:\n- In May.\n- By train.\
                 \n\nYour report counts only if it passes these checks:\n- Each claim is followed by the id of the call \
                 that shows it, in brackets, as the result of that call has it.";
    assert_eq!(offer.opening_bytes, 1000 + shown.len() as u64 + FRAME_TOKENS);
    for named in [offer.task, adds.of, check.of] {
        assert!(texts.iter().any(|text| text.of == named), "{named:?} is stored with the offer");
    }
    let arguments = json!({"task": "Eat.", "context": "fork"});
    let Call::Hire(fork) = read_with_texts(team, brief, "delegate_task", arguments).0 else { panic!("no hire") };
    assert_eq!((fork.inherit, fork.agent, fork.mode), (Inherit::Fork, agent("boss"), Mode::Blocking));
    assert!(fork.opening_bytes < 600, "the kernel counts what precedes a fork's brief: {}", fork.opening_bytes);
}

#[test]
fn wait_stop_and_message_calls_name_hires_by_their_ids() {
    let path = |text: &str| text.parse::<Path>().unwrap();
    let wait = |arguments| read(offered(), "wait_for_agents", arguments);
    assert_eq!(wait(json!({})), Call::Wait { on: vec![], need: Need::All, until: None });
    let (on, until) = (vec![path("1.2"), path("1.10")], Some(Millis(6500)));
    let some = json!({"ids": ["1.2", "1.10"], "any": true, "timeout_s": 1.5});
    assert_eq!(wait(some), Call::Wait { on, need: Need::Any, until });
    assert_eq!(wait(json!({"ids": "1.2"})), Call::Wait { on: vec![path("1.2")], need: Need::All, until: None });
    for (malformed, name, wrong) in [
        (json!({"ids": [1.2]}), "ids", WrongField::NotId),
        (json!({"ids": ["cook"]}), "ids", WrongField::NotId),
        (json!({"timeout_s": -1}), "timeout_s", WrongField::NotSeconds),
        (json!({"any": 1}), "any", WrongField::NotBool),
    ] {
        assert_eq!(wait(malformed.clone()), Call::Invalid(field(name, wrong)), "{malformed}");
    }
    assert_eq!(read(offered(), "stop_agent", json!({"id": "1.2"})), Call::Stop(path("1.2")));
    let words = text(TextKind::Message, "Hurry.").of;
    let message = read(offered(), "message_agent", json!({"id": "1.2", "text": "Hurry."}));
    assert_eq!(message, Call::Message { to: path("1.2"), text: words });
}

#[test]
fn a_question_waits_for_three_minutes() {
    let question = text(TextKind::Message, "Which day?").of;
    let asked = read(offered(), "ask_hirer", json!({"question": "Which day?"}));
    assert_eq!(asked, Call::AskHirer { question, until: Millis(NOW.0 + 180_000) });
    let silent = read(offered(), "ask_hirer", json!({"question": ""}));
    assert_eq!(silent, Call::Invalid(Unreadable::EmptyText));
}

#[test]
fn lists_and_boards_cost_nothing_and_can_be_called_again() {
    for (name, arguments, effect) in
        [("list_agents", json!({}), Effect::Pure), ("board", json!({"post": "Rome is full."}), Effect::Idempotent)]
    {
        let Call::Tool { call, approval: None } = read(offered(), name, arguments.clone()) else { panic!("{name}") };
        assert_eq!((call.tool.as_str(), call.price, call.effect), (name, Msat::ZERO, effect));
        assert_eq!(call.arguments, text(TextKind::Arguments, &arguments.to_string()).of);
        assert_eq!(call.needs, guildhall_kernel::PowerSet::default());
    }
    assert_eq!(read(offered(), "board", json!({"post": 5})), Call::Invalid(field("post", WrongField::NotText)));
}

#[test]
fn a_hire_must_pass_the_checks_of_its_own_besides_those_of_all_hires() {
    let sum = |max: &str| text(TextKind::Term, &format!(r#"{{"sum":{{"of":"price","max":"{max}"}}}}"#));
    let (all, flights) = (sum("2000"), sum("900"));
    let team = || Team {
        checks: vec![(all.clone(), Msat::ZERO)],
        checks_of: BTreeMap::from([(agent("Flight Agent"), vec![(flights.clone(), Msat::ZERO)])]),
        ..offered()
    };
    let checks = |name: &str| {
        let offer = delegate(team(), json!({"specialty": name, "task": "Find one."}));
        (offer.checks.iter().map(|check| check.what).collect::<Vec<_>>(), offer.opening_bytes)
    };
    let (both, longer) = checks("Flight Agent");
    let (one, shorter) = checks("food-agent");
    assert_eq!((both, one), (vec![all.of, flights.of], vec![all.of]));
    assert!(longer > shorter + 40, "the room for the second check is held: {longer}, {shorter}");
}
