//! One example for every refusal: its value, that the agent is shown it and continues, and that it costs nothing.

use guildhall_kernel::{
    AmountError, Answer, AskId, Brief, CALLS_MAX, Call, CloseWhen, Context, Contract, Fact, FieldName, Grant, Heads,
    Hiring, Inherit, MESSAGE_BYTES_MAX, Millis, Msat, NameError, Need, Path, Power, Refusal, Standing, Stimulus,
    Tariff, TextRef, ToolName, Unreadable, WrongField,
};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{
    Do, agent, ask_hirer, hire, hiring, invalid, known, message, msat, offer, path, powers, root, sat, stop, tell,
    tool, wait,
};

fn check(hall: &mut Hall, at: &str, call: Do, why: &Refusal) {
    let spent = hall.contract(at).purse().spent();
    let facts = hall.says(at, &[call]);
    assert_eq!(refused(&facts), [why]);
    assert!(hall.waits_for_model(at), "the agent is shown the refusal and continues");
    assert_eq!(hall.contract(at).purse().spent().get(), spent.get() + sat(4).get(), "only the reply costs money");
}

fn refused(facts: &[Fact]) -> Vec<&Refusal> {
    facts.iter().filter_map(|fact| if let Fact::Refused { why, .. } = fact { Some(why) } else { None }).collect()
}

/// A contractor with a researcher at work, who can hire a reader.
fn two_levels() -> Hall {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").team(&["reader", "contractor", "researcher"])]);
    hall
}

#[test]
fn only_a_refused_hire_names_the_agent_that_was_not_hired() {
    let mut hall = Hall::open(root("contractor", 1000));
    let mut agents = |call| {
        let facts = hall.says("1", &[call]);
        let agents =
            facts.iter().filter_map(|fact| if let Fact::Refused { agent, .. } = fact { Some(agent) } else { None });
        agents.cloned().collect::<Vec<_>>()
    };
    assert_eq!(agents(hire("stranger")), [Some(agent("stranger"))]);
    assert_eq!(agents(wait(&[], Need::All)), [None]);
}

#[test]
fn a_contract_without_a_team_cant_hire() {
    let mut hall = Hall::open(Brief { hiring: None, ..root("coder", 100) });
    check(&mut hall, "1", hire("tester"), &Refusal::CantHire);
}

#[test]
fn an_agent_cant_hire_itself() {
    check(&mut two_levels(), "1.1", hire("researcher").task("one half"), &Refusal::SelfHire);
}

#[test]
fn an_agent_that_is_not_on_its_own_team_cant_hire_itself() {
    check(&mut Hall::open(root("contractor", 1000)), "1", hire("contractor").task("one half"), &Refusal::SelfHire);
}

#[test]
fn a_fork_is_not_a_self_hire() {
    let mut hall = two_levels();
    let fork = hire("researcher").task("one half").with(|offer| offer.inherit = Inherit::Fork);
    assert_eq!(refused(&hall.says("1.1", &[fork])), [] as [&Refusal; 0]);
}

#[test]
fn an_agent_that_is_not_on_the_team_is_refused_with_a_list_of_the_team() {
    let team = hiring(&["researcher", "coder", "tester"]).team.to_vec();
    let mut hall = Hall::open(root("contractor", 1000));
    check(&mut hall, "1", hire("stranger"), &Refusal::UnknownAgent { agent: agent("stranger"), team });
}

#[test]
fn an_ad_hoc_specialist_is_refused_if_the_contract_cant_define_one() {
    let why =
        Refusal::UnknownAgent { agent: agent("poet"), team: hiring(&["researcher", "coder", "tester"]).team.to_vec() };
    let ad_hoc = hire("poet").with(|offer| offer.standing = Standing::AdHoc);
    check(&mut Hall::open(root("contractor", 1000)), "1", ad_hoc, &why);
}

#[test]
fn a_cycle_is_refused_with_the_agents_of_the_cycle() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").team(&["reader"])]);
    hall.says("1.1", &[hire("reader").team(&["contractor"])]);
    let way = ["contractor", "researcher", "reader", "contractor"].map(agent).to_vec();
    check(&mut hall, "1.1.1", hire("contractor"), &Refusal::Cycle { way });
}

#[test]
fn the_same_agent_is_not_hired_again_for_the_same_task_even_if_recursion_is_allowed() {
    let recursive = Some(Hiring { recursive: true, ..hiring(&["contractor"]) });
    let mut hall = Hall::open(Brief { hiring: recursive, ..root("contractor", 1000) });
    let why = Refusal::SameTask { agent: agent("contractor") };
    check(&mut hall, "1", hire("contractor").task("the whole task"), &why);
}

#[test]
fn a_new_name_does_not_make_the_same_task_allowed_for_an_ad_hoc_specialist() {
    let ad_hoc = Some(Hiring { team: [].into(), ad_hoc: true, recursive: false });
    let mut hall = Hall::open(Brief { hiring: ad_hoc, ..root("contractor", 1000) });
    let poet = hire("poet").task("the whole task").with(|offer| offer.standing = Standing::AdHoc);
    check(&mut hall, "1", poet, &Refusal::SameTask { agent: agent("contractor") });
}

/// A tree in which a contractor has hired an ad-hoc specialist that may hire this team. The specialist is contract 1.1.
fn with_specialist(name: &str, team: &[&str]) -> Hall {
    let own = root("contractor", 1000);
    let mut hall = Hall::open(Brief { hiring: own.hiring.clone().map(|own| Hiring { ad_hoc: true, ..own }), ..own });
    let ad_hoc = hire(name).task("one half").team(team).with(|offer| offer.standing = Standing::AdHoc);
    assert_eq!(refused(&hall.says("1", &[ad_hoc])), [] as [&Refusal; 0]);
    hall
}

#[test]
fn an_ad_hoc_specialist_with_a_listed_name_hires_the_listed_agent() {
    let mut hall = with_specialist("coder", &["coder"]);
    assert_eq!(refused(&hall.says("1.1", &[hire("coder").task("a quarter")])), [] as [&Refusal; 0]);
    // The same task is no obstacle either: the agent is another one.
    let mut hall = with_specialist("coder", &["coder"]);
    assert_eq!(refused(&hall.says("1.1", &[hire("coder").task("one half")])), [] as [&Refusal; 0]);
}

#[test]
fn an_ad_hoc_specialist_above_does_not_make_a_cycle_with_the_listed_agent_of_its_name() {
    let mut hall = with_specialist("tester", &["coder"]);
    hall.says("1.1", &[hire("coder").team(&["tester"])]);
    assert_eq!(refused(&hall.says("1.1.1", &[hire("tester")])), [] as [&Refusal; 0]);
}

#[test]
fn the_fork_of_an_ad_hoc_specialist_with_a_listed_name_hires_the_listed_agent() {
    let mut hall = with_specialist("coder", &["coder"]);
    let fork = hire("coder").task("a quarter").team(&["coder"]).with(|offer| offer.inherit = Inherit::Fork);
    assert_eq!(refused(&hall.says("1.1", &[fork])), [] as [&Refusal; 0]);
    assert_eq!(refused(&hall.says("1.1.1", &[hire("coder").task("one half")])), [] as [&Refusal; 0]);
}

#[test]
fn an_ad_hoc_specialist_in_between_does_not_hide_a_cycle() {
    let mut hall = with_specialist("tester", &["contractor"]);
    let way = ["contractor", "tester", "contractor"].map(agent).to_vec();
    check(&mut hall, "1.1", hire("contractor"), &Refusal::Cycle { way });
}

#[test]
fn an_ad_hoc_specialist_that_asks_for_its_own_name_is_told_its_team() {
    let mut hall = with_specialist("poet", &["coder"]);
    let why = Refusal::UnknownAgent { agent: agent("poet"), team: vec![agent("coder")] };
    check(&mut hall, "1.1", hire("poet"), &why);
}

#[test]
fn a_hire_below_the_granted_depth_is_refused() {
    let own = root("contractor", 1000);
    let mut hall = Hall::open(Brief { grant: Grant { depth: 2, ..own.grant }, ..own });
    let deeper = hire("coder").with(|offer| offer.depth = Some(2));
    check(&mut hall, "1", deeper, &Refusal::TooDeep { asked: 3, left: 2 });
    hall.says("1", &[hire("coder").team(&["tester"])]);
    hall.says("1.1", &[hire("tester").team(&["reader"])]);
    check(&mut hall, "1.1.1", hire("reader"), &Refusal::TooDeep { asked: 1, left: 0 });
}

#[test]
fn a_hire_is_refused_if_there_are_too_few_heads() {
    let own = root("contractor", 1000);
    let mut hall = Hall::open(Brief { grant: Grant { heads: Heads(2), ..own.grant }, ..own });
    let many = hire("coder").team(&["tester"]).with(|offer| offer.heads = Some(Heads(2)));
    check(&mut hall, "1", many, &Refusal::NoHeads { asked: Heads(3), free: Heads(2) });
    hall.says("1", &[hire("coder").background(), hire("tester").background()]);
    check(&mut hall, "1", hire("researcher"), &Refusal::NoHeads { asked: Heads(1), free: Heads(0) });
}

#[test]
fn a_hire_below_one_turn_and_severance_and_fee_is_refused_with_the_minimum() {
    let mut hall = Hall::open(root("contractor", 1000));
    let too_little = hire("coder").budget(7).with(|offer| offer.fee = sat(5));
    let why = Refusal::Money { asked: sat(7), free: sat(994), minimum: sat(8) };
    check(&mut hall, "1", too_little, &why);
    assert_snapshot!(why, @"not enough money: at least 8sat is needed, 7sat was offered, 994sat is available: do the work yourself, or wait until a hire returns unspent money");
}

#[test]
fn a_tool_that_costs_more_than_the_available_money_is_refused() {
    let mut hall = Hall::open(root("contractor", 100));
    let why = Refusal::Money { asked: sat(95), free: sat(94), minimum: sat(95) };
    check(&mut hall, "1", tool("map").price(95), &why);
}

#[test]
fn a_hire_that_would_have_no_time_to_work_is_refused() {
    let own = root("contractor", 1000);
    let mut hall = Hall::open(Brief { grant: own.grant.due(Some(Millis(100_000)), Millis(0)), ..own });
    hall.set_time(79_000);
    let why = Refusal::Deadline { deadline: Millis(80_000), now: Millis(79_000) };
    check(&mut hall, "1", hire("coder"), &why);
}

#[test]
fn only_grantable_powers_can_be_granted() {
    let mut hall = Hall::open(root("contractor", 1000));
    let shell = || powers(&["shell"]);
    let why = Refusal::Powers { power: Power::parse("shell").unwrap() };
    check(&mut hall, "1", hire("coder").with(|offer| offer.powers.usable = shell()), &why);
    check(&mut hall, "1", hire("coder").with(|offer| offer.powers.grantable = shell()), &why);
    let write = hire("coder").with(|offer| offer.powers.usable = powers(&["write"]));
    assert_eq!(refused(&hall.says("1", &[write])), [] as [&Refusal; 0]);
}

#[test]
fn a_tool_call_without_its_powers_is_refused_before_the_owner_is_asked() {
    let mut hall = Hall::open(root("contractor", 1000));
    let why = Refusal::NoPower { tool: ToolName::parse("edit").unwrap(), power: Power::parse("write").unwrap() };
    let edit = || tool("edit").on_tool(|call| call.needs = powers(&["read", "write"]));
    check(&mut hall, "1", edit(), &why);
    check(&mut hall, "1", edit().if_approved_by(9000), &why);
}

#[test]
fn a_tool_call_without_approval_is_refused() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[tool("deploy").if_approved_by(9000)]);
    let facts = hall.owner_decides("1", Answer::NoReply);
    assert_eq!(refused(&facts), [&Refusal::NotApproved]);
}

#[test]
fn only_a_root_can_stay_open() {
    let hire = Brief { path: Path::root(1).hire(1), close_when: CloseWhen::Asked, ..root("coder", 100) };
    assert_eq!(Contract::open(hire.into(), Millis(0)).err(), Some(Refusal::StaysOpen));
}

#[test]
fn a_root_is_refused_like_any_other_brief() {
    let opened = |brief: Brief| Contract::open(brief.into(), Millis(0)).err();
    let own = || root("contractor", 100);
    let poor = Brief { grant: Grant { money: msat(2_999), ..own().grant }, ..own() };
    let why = Refusal::Money { asked: msat(2_999), free: msat(2_999), minimum: sat(3) };
    assert_eq!(opened(poor), Some(why));
    let deep = Brief { grant: Grant { depth: 65, ..own().grant }, ..own() };
    assert_eq!(opened(deep), Some(Refusal::TooDeep { asked: 65, left: 64 }));
    let long = Brief { task: TextRef { bytes: 70_000, ..own().task }, ..own() };
    assert_eq!(opened(long), Some(Refusal::BriefTooLong { bytes: 70_000 }));
}

#[test]
fn a_brief_that_is_too_long_with_its_terms_is_refused() {
    let mut hall = Hall::open(root("contractor", 1000));
    let term = TextRef { bytes: 65_498, ..message("long") };
    let long = hire("coder").task("1234567").with(|offer| offer.terms = [term].into());
    check(&mut hall, "1", long, &Refusal::BriefTooLong { bytes: 65_537 });
}

#[test]
fn a_message_or_question_that_is_too_long_is_refused() {
    let mut hall = two_levels();
    let long = TextRef { bytes: MESSAGE_BYTES_MAX + 1, ..message("long") };
    let why = Refusal::MessageTooLong { bytes: MESSAGE_BYTES_MAX + 1 };
    let question = Do(Call::AskHirer { question: long, until: Millis(9000) });
    check(&mut hall, "1.1", question, &why);
    hall.says("1.1", &[hire("reader").background()]);
    check(&mut hall, "1.1", Do(Call::Message { to: path("1.1.1"), text: long }), &why);
}

/// A call that may be repeated.
fn list() -> Do {
    tool("list").on_tool(|call| call.for_hires = true)
}

#[test]
fn the_maximum_number_of_calls_is_accepted() {
    let mut hall = Hall::open(root("contractor", 1000));
    let facts = hall.says("1", &vec![list(); CALLS_MAX as usize]);
    assert_eq!(refused(&facts), Vec::<&Refusal>::new());
}

#[test]
fn calls_beyond_the_maximum_are_refused_together() {
    let mut hall = Hall::open(root("contractor", 1000));
    let calls = vec![list(); CALLS_MAX as usize + 2];
    let facts = hall.says("1", &calls);
    assert_eq!(refused(&facts), [&Refusal::TooManyCalls { calls: CALLS_MAX + 2 }]);
    assert_eq!(hall.contract("1").outstanding().count(), CALLS_MAX as usize);
}

#[test]
fn only_own_live_hires_can_be_messaged_stopped_or_awaited() {
    let mut hall = two_levels();
    hall.says("1.1", &[hire("reader").background()]);
    let unknown = |name: &str| Refusal::UnknownHire { hire: path(name) };
    check(&mut hall, "1.1", stop("1.1.2"), &unknown("1.1.2"));
    check(&mut hall, "1.1", tell("1.1", "me"), &unknown("1.1"));
    check(&mut hall, "1.1", wait(&["1.1.1", "1.2"], Need::All), &unknown("1.2"));
    hall.final_text("1.1.1");
    check(&mut hall, "1.1", stop("1.1.1"), &unknown("1.1.1"));
}

#[test]
fn a_hire_of_another_contract_cant_be_awaited() {
    let mut hall = two_levels();
    let unknown = wait(&["7.1"], Need::All);
    hall.final_text("1.1");
    check(&mut hall, "1", unknown, &Refusal::UnknownHire { hire: path("7.1") });
}

#[test]
fn a_wait_without_live_hires_is_refused() {
    check(&mut Hall::open(root("contractor", 100)), "1", wait(&[], Need::All), &Refusal::NothingToAwait);
}

#[test]
fn a_brief_that_does_not_fit_its_place_is_unworkable() {
    let opened = |brief: Brief| Contract::open(brief.into(), Millis(0)).err();
    let own = || root("contractor", 100);
    let extra = own().link();
    let wrong = [
        Brief { lineage: own().lineage.with(extra), ..own() },
        Brief { context: Context::Fork { request: AskId(1), upto: 1, tokens: 1 }, ..own() },
        Brief { tariff: Tariff { max_tokens: 0, ..own().tariff }, ..own() },
        Brief { severance: msat(0), ..own() },
    ];
    for brief in wrong {
        assert_eq!(opened(brief), Some(Refusal::Unworkable));
    }
}

#[test]
fn calls_of_a_contract_that_is_ending_are_refused() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.owner_sends("1", Stimulus::WrapUp);
    let facts = hall.says("1", &[tool("read"), hire("coder")]);
    assert_eq!(refused(&facts), [&Refusal::Closing, &Refusal::Closing]);
}

#[test]
fn a_hire_from_outside_is_refused_by_a_contract_that_is_ending() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.owner_sends("1", Stimulus::WrapUp);
    let facts = hall.owner_sends("1", Stimulus::Hire(Box::new(offer("coder"))));
    assert_eq!(refused(&facts), [&Refusal::Closing]);
}

#[test]
fn money_for_a_contract_elsewhere_stays_and_a_refusal_says_so() {
    let mut hall = Hall::open(root("contractor", 100));
    let facts = hall.owner_sends("1", Stimulus::TopUp { to: path("2.1"), money: sat(5), draw: None });
    assert_eq!(refused(&facts), [&Refusal::TopUpStays { to: path("2.1"), with: path("1") }]);
    assert_eq!(hall.contract("1").purse().granted(), sat(105));
}

#[test]
fn money_is_accepted_from_the_hirer_only() {
    let mut hall = two_levels();
    let top_up = Stimulus::TopUp { to: path("1.1"), money: sat(5), draw: None };
    assert_eq!(hall.owner_sends("1.1", top_up), []);
}

#[test]
fn a_top_up_beyond_the_supply_is_ignored() {
    let mut hall = Hall::open(root("contractor", 100));
    let top_up = Stimulus::TopUp { to: path("1"), money: Msat::SUPPLY, draw: None };
    assert_eq!(hall.owner_sends("1", top_up), []);
    assert_eq!(hall.contract("1").purse().granted(), sat(100));
}

#[test]
fn a_wait_for_a_hire_that_waits_for_an_answer_is_refused() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").background(), hire("coder").background()]);
    hall.says("1.1", &[ask_hirer("which log?", 100_000)]);
    hall.says("1", &[tool("read")]);
    hall.tool_ends("1", "read", known(0));
    let why = Refusal::AskedYou { hire: path("1.1") };
    check(&mut hall, "1", wait(&["1.1"], Need::All), &why);
    check(&mut hall, "1", wait(&[], Need::Any), &why);
    let other = hall.says("1", &[wait(&["1.2"], Need::All).until(5_000)]);
    assert_eq!(refused(&other), [] as [&Refusal; 0], "a hire that has not asked can be awaited");
    hall.set_time(5_000);
    let answered = hall.says("1", &[tell("1.1", "the newest"), wait(&["1.1"], Need::All)]);
    assert_eq!(refused(&answered), [] as [&Refusal; 0], "a hire that got a message can be awaited");
}

#[test]
fn a_call_that_the_agent_layer_cant_read_is_refused_with_its_reason() {
    let mut hall = Hall::open(root("contractor", 1000));
    for why in [
        Unreadable::BadAmount(AmountError::Zero),
        Unreadable::BadAmount(AmountError::Negative),
        Unreadable::BadName(NameError::BadCharacter { found: '/' }),
        Unreadable::Malformed,
        Unreadable::Cut,
        Unreadable::Field(FieldName::parse("task").unwrap(), WrongField::NotText),
        Unreadable::EmptyText,
        Unreadable::UnknownTool,
        Unreadable::DuplicateCallId,
    ] {
        check(&mut hall, "1", invalid(why.clone()), &Refusal::from(why));
    }
}

/// Names the example of each refusal; a new variant does not compile until it has an example.
const _: fn(&Refusal) -> fn() = |why| match why {
    Refusal::CantHire => a_contract_without_a_team_cant_hire,
    Refusal::SelfHire => an_agent_cant_hire_itself,
    Refusal::UnknownAgent { .. } => an_agent_that_is_not_on_the_team_is_refused_with_a_list_of_the_team,
    Refusal::Cycle { .. } => a_cycle_is_refused_with_the_agents_of_the_cycle,
    Refusal::PassedOn { .. } => crate::repeats::a_task_that_three_contracts_above_have_is_not_passed_on_again,
    Refusal::Repeated { .. } => crate::repeats::the_eighth_call_with_the_same_result_is_refused,
    Refusal::SameTask { .. } => a_new_name_does_not_make_the_same_task_allowed_for_an_ad_hoc_specialist,
    Refusal::TooDeep { .. } => a_hire_below_the_granted_depth_is_refused,
    Refusal::NoHeads { .. } => a_hire_is_refused_if_there_are_too_few_heads,
    Refusal::Money { .. } => a_hire_below_one_turn_and_severance_and_fee_is_refused_with_the_minimum,
    Refusal::Deadline { .. } => a_hire_that_would_have_no_time_to_work_is_refused,
    Refusal::Powers { .. } => only_grantable_powers_can_be_granted,
    Refusal::NoPower { .. } => a_tool_call_without_its_powers_is_refused_before_the_owner_is_asked,
    Refusal::NotApproved => a_tool_call_without_approval_is_refused,
    Refusal::StaysOpen => only_a_root_can_stay_open,
    Refusal::BriefTooLong { .. } => a_brief_that_is_too_long_with_its_terms_is_refused,
    Refusal::MessageTooLong { .. } => a_message_or_question_that_is_too_long_is_refused,
    Refusal::TooManyCalls { .. } => calls_beyond_the_maximum_are_refused_together,
    Refusal::UnknownHire { .. } => only_own_live_hires_can_be_messaged_stopped_or_awaited,
    Refusal::NothingToAwait => a_wait_without_live_hires_is_refused,
    Refusal::NotStarted { .. } => crate::waiting::a_hire_that_waits_hears_no_message,
    Refusal::StoppedBeforeStart { .. } => crate::waiting::a_hire_that_waits_can_be_stopped,
    Refusal::AskedYou { .. } => a_wait_for_a_hire_that_waits_for_an_answer_is_refused,
    Refusal::Unworkable => a_brief_that_does_not_fit_its_place_is_unworkable,
    Refusal::Closing => calls_of_a_contract_that_is_ending_are_refused,
    Refusal::TopUpStays { .. } => money_for_a_contract_elsewhere_stays_and_a_refusal_says_so,
    Refusal::BadAmount(_)
    | Refusal::BadName(_)
    | Refusal::Malformed
    | Refusal::CutCall
    | Refusal::Field { .. }
    | Refusal::EmptyText
    | Refusal::UnknownTool
    | Refusal::DuplicateCallId => a_call_that_the_agent_layer_cant_read_is_refused_with_its_reason,
};
