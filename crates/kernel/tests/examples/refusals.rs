//! One example for every refusal: the value, that the agent is told and goes on, and that nothing was spent on it.

use guildhall_kernel::{
    AmountError, Answer, AskId, Brief, CALLS_MAX, Call, Context, Contract, Fact, FieldName, Grant, Heads, Hiring,
    Inherit, Link, MESSAGE_BYTES_MAX, Millis, Msat, NameError, Need, Path, Power, Refusal, Standing, Stay, Stimulus,
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
    assert!(hall.thinks(at), "the agent is told and goes on");
    assert_eq!(hall.contract(at).purse().spent().get(), spent.get() + sat(4).get(), "only the reply has cost");
}

fn refused(facts: &[Fact]) -> Vec<&Refusal> {
    facts.iter().filter_map(|fact| if let Fact::Refused { why, .. } = fact { Some(why) } else { None }).collect()
}

/// A contractor whose researcher may hire a reader, with the researcher at work.
fn two_levels() -> Hall {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").team(&["reader", "contractor", "researcher"])]);
    hall
}

#[test]
fn who_has_no_team_may_not_hire() {
    let mut hall = Hall::open(Brief { hiring: None, ..root("coder", 100) });
    check(&mut hall, "1", hire("tester"), &Refusal::MayNotHire);
}

#[test]
fn nobody_hires_itself() {
    check(&mut two_levels(), "1.1", hire("researcher").task("one half"), &Refusal::SelfHire);
}

#[test]
fn nobody_hires_itself_who_is_not_on_its_own_team_either() {
    check(&mut Hall::open(root("contractor", 1000)), "1", hire("contractor").task("one half"), &Refusal::SelfHire);
}

#[test]
fn a_fork_is_not_a_self_hire() {
    let mut hall = two_levels();
    let fork = hire("researcher").task("one half").with(|offer| offer.inherit = Inherit::Fork);
    assert_eq!(refused(&hall.says("1.1", &[fork])), [] as [&Refusal; 0]);
}

#[test]
fn an_agent_who_is_not_on_the_team_is_refused_with_the_team() {
    let team = hiring(&["researcher", "coder", "tester"]).team.to_vec();
    let mut hall = Hall::open(root("contractor", 1000));
    check(&mut hall, "1", hire("stranger"), &Refusal::UnknownAgent { agent: agent("stranger"), team });
}

#[test]
fn a_made_up_specialist_is_unknown_where_none_may_be_made_up() {
    let why =
        Refusal::UnknownAgent { agent: agent("poet"), team: hiring(&["researcher", "coder", "tester"]).team.to_vec() };
    let ad_hoc = hire("poet").with(|offer| offer.standing = Standing::AdHoc);
    check(&mut Hall::open(root("contractor", 1000)), "1", ad_hoc, &why);
}

#[test]
fn a_circle_is_refused_with_the_way_round() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").team(&["reader"])]);
    hall.says("1.1", &[hire("reader").team(&["contractor"])]);
    let way = ["contractor", "researcher", "reader", "contractor"].map(agent).to_vec();
    check(&mut hall, "1.1.1", hire("contractor"), &Refusal::Cycle { way });
}

#[test]
fn the_same_agent_is_not_hired_again_for_the_same_task_even_where_recursion_is_allowed() {
    let recursive = Some(Hiring { recursive: true, ..hiring(&["contractor"]) });
    let mut hall = Hall::open(Brief { hiring: recursive, ..root("contractor", 1000) });
    let why = Refusal::SameTask { agent: agent("contractor") };
    check(&mut hall, "1", hire("contractor").task("the whole task"), &why);
}

#[test]
fn a_new_name_is_no_way_round_for_a_made_up_specialist() {
    let ad_hoc = Some(Hiring { team: [].into(), ad_hoc: true, recursive: false });
    let mut hall = Hall::open(Brief { hiring: ad_hoc, ..root("contractor", 1000) });
    let poet = hire("poet").task("the whole task").with(|offer| offer.standing = Standing::AdHoc);
    check(&mut hall, "1", poet, &Refusal::SameTask { agent: agent("contractor") });
}

#[test]
fn no_hire_goes_below_the_granted_depth() {
    let own = root("contractor", 1000);
    let mut hall = Hall::open(Brief { grant: Grant { depth: 2, ..own.grant }, ..own });
    let deeper = hire("coder").with(|offer| offer.depth = Some(2));
    check(&mut hall, "1", deeper, &Refusal::TooDeep { asked: 3, left: 2 });
    hall.says("1", &[hire("coder").team(&["tester"])]);
    hall.says("1.1", &[hire("tester").team(&["reader"])]);
    check(&mut hall, "1.1.1", hire("reader"), &Refusal::TooDeep { asked: 1, left: 0 });
}

#[test]
fn a_hire_needs_as_many_free_heads_as_it_takes() {
    let own = root("contractor", 1000);
    let mut hall = Hall::open(Brief { grant: Grant { heads: Heads(2), ..own.grant }, ..own });
    let many = hire("coder").team(&["tester"]).with(|offer| offer.heads = Some(Heads(2)));
    check(&mut hall, "1", many, &Refusal::NoHeads { asked: Heads(3), free: Heads(2) });
    hall.says("1", &[hire("coder").background(), hire("tester").background()]);
    check(&mut hall, "1", hire("researcher"), &Refusal::NoHeads { asked: Heads(1), free: Heads(0) });
}

#[test]
fn a_hire_below_one_turn_and_severance_and_fee_is_refused_with_the_figure() {
    let mut hall = Hall::open(root("contractor", 1000));
    let dear = hire("coder").budget(7).with(|offer| offer.fee = sat(5));
    let why = Refusal::Money { asked: sat(7), free: msat(894_600), minimum: sat(8) };
    check(&mut hall, "1", dear, &why);
    assert_snapshot!(why, @"not enough money: at least 8sat needed, 7sat offered, 894.6sat available: do the work yourself, or wait for change");
}

#[test]
fn a_tool_beyond_what_is_free_is_refused() {
    let mut hall = Hall::open(root("contractor", 100));
    let why = Refusal::Money { asked: sat(95), free: sat(94), minimum: sat(95) };
    check(&mut hall, "1", tool("map").price(95), &why);
}

#[test]
fn a_hire_that_would_have_no_time_to_work_is_refused() {
    let own = root("contractor", 1000);
    let mut hall = Hall::open(Brief { grant: own.grant.due(Some(Millis(100_000)), Millis(0)), ..own });
    hall.clock(79_000);
    let why = Refusal::Deadline { deadline: Millis(80_000), now: Millis(79_000) };
    check(&mut hall, "1", hire("coder"), &why);
}

#[test]
fn only_grantable_powers_are_granted() {
    let mut hall = Hall::open(root("contractor", 1000));
    let shell = || powers(&["shell"]);
    let why = Refusal::Powers { power: Power::parse("shell").unwrap() };
    check(&mut hall, "1", hire("coder").with(|offer| offer.powers.usable = shell()), &why);
    check(&mut hall, "1", hire("coder").with(|offer| offer.powers.grantable = shell()), &why);
    let write = hire("coder").with(|offer| offer.powers.usable = powers(&["write"]));
    assert_eq!(refused(&hall.says("1", &[write])), [] as [&Refusal; 0]);
}

#[test]
fn a_tool_is_refused_to_who_lacks_its_powers_also_before_anybody_is_asked() {
    let mut hall = Hall::open(root("contractor", 1000));
    let why = Refusal::NoPower { tool: ToolName::parse("edit").unwrap(), power: Power::parse("write").unwrap() };
    let edit = || tool("edit").on_tool(|call| call.needs = powers(&["read", "write"]));
    check(&mut hall, "1", edit(), &why);
    check(&mut hall, "1", edit().if_approved_by(9000), &why);
}

#[test]
fn a_tool_call_that_nobody_approves_is_refused() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[tool("deploy").if_approved_by(9000)]);
    let facts = hall.owner_decides("1", Answer::NoReply);
    assert_eq!(refused(&facts), [&Refusal::NotApproved]);
}

#[test]
fn only_a_root_may_stay_open() {
    let hire = Brief { path: Path::root(1).hire(1), stay: Stay::Open, ..root("coder", 100) };
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
fn a_brief_is_only_so_long_with_its_terms() {
    let mut hall = Hall::open(root("contractor", 1000));
    let term = TextRef { bytes: 65_498, ..message("long") };
    let long = hire("coder").task("1234567").with(|offer| offer.terms = [term].into());
    check(&mut hall, "1", long, &Refusal::BriefTooLong { bytes: 65_537 });
}

#[test]
fn a_message_and_a_question_are_only_so_long() {
    let mut hall = two_levels();
    let long = TextRef { bytes: MESSAGE_BYTES_MAX + 1, ..message("long") };
    let why = Refusal::MessageTooLong { bytes: MESSAGE_BYTES_MAX + 1 };
    let question = Do(Call::AskHirer { question: long, until: Millis(9000) });
    check(&mut hall, "1.1", question, &why);
    hall.says("1.1", &[hire("reader").background()]);
    check(&mut hall, "1.1", Do(Call::Message { to: path("1.1.1"), text: long }), &why);
}

#[test]
fn as_many_calls_as_are_considered_are_not_too_many() {
    let mut hall = Hall::open(root("contractor", 1000));
    let facts = hall.says("1", &vec![tool("read"); CALLS_MAX as usize]);
    assert_eq!(refused(&facts), Vec::<&Refusal>::new());
}

#[test]
fn of_too_many_calls_the_first_are_considered_and_the_rest_is_refused_as_one() {
    let mut hall = Hall::open(root("contractor", 1000));
    let calls = vec![tool("read"); CALLS_MAX as usize + 2];
    let facts = hall.says("1", &calls);
    assert_eq!(refused(&facts), [&Refusal::TooManyCalls { calls: CALLS_MAX + 2 }]);
    assert_eq!(hall.contract("1").outstanding().count(), CALLS_MAX as usize);
}

#[test]
fn only_ones_own_live_hires_are_told_stopped_or_awaited() {
    let mut hall = two_levels();
    hall.says("1.1", &[hire("reader").background()]);
    let stranger = |name: &str| Refusal::UnknownHire { hire: path(name) };
    check(&mut hall, "1.1", stop("1.1.2"), &stranger("1.1.2"));
    check(&mut hall, "1.1", tell("1.1", "me"), &stranger("1.1"));
    check(&mut hall, "1.1", wait(&["1.1.1", "1.2"], Need::All), &stranger("1.2"));
    hall.final_text("1.1.1");
    check(&mut hall, "1.1", stop("1.1.1"), &stranger("1.1.1"));
}

#[test]
fn somebody_elses_hire_is_not_awaited() {
    let mut hall = two_levels();
    let stranger = wait(&["7.1"], Need::All);
    hall.final_text("1.1");
    check(&mut hall, "1", stranger, &Refusal::UnknownHire { hire: path("7.1") });
}

#[test]
fn with_nobody_at_work_there_is_nothing_to_wait_for() {
    check(&mut Hall::open(root("contractor", 100)), "1", wait(&[], Need::All), &Refusal::NothingToAwait);
}

#[test]
fn a_brief_that_does_not_fit_its_place_is_unworkable() {
    let opened = |brief: Brief| Contract::open(brief.into(), Millis(0)).err();
    let own = || root("contractor", 100);
    let stranger = Link { agent: own().agent, task_key: own().task_key };
    let wrong = [
        Brief { lineage: own().lineage.with(stranger), ..own() },
        Brief { context: Context::Fork { request: AskId(1), upto: 1, tokens: 1 }, ..own() },
        Brief { tariff: Tariff { max_tokens: 0, ..own().tariff }, ..own() },
        Brief { severance: msat(0), ..own() },
    ];
    for brief in wrong {
        assert_eq!(opened(brief), Some(Refusal::Unworkable));
    }
}

#[test]
fn who_is_ending_makes_no_more_calls() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.told("1", Stimulus::WrapUp);
    let facts = hall.says("1", &[tool("read"), hire("coder")]);
    assert_eq!(refused(&facts), [&Refusal::Closing, &Refusal::Closing]);
}

#[test]
fn who_is_ending_takes_no_hire_from_outside() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.told("1", Stimulus::WrapUp);
    let facts = hall.told("1", Stimulus::Hire(Box::new(offer("coder"))));
    assert_eq!(refused(&facts), [&Refusal::Closing]);
}

#[test]
fn money_for_one_who_stands_elsewhere_stays_and_says_so() {
    let mut hall = Hall::open(root("contractor", 100));
    let facts = hall.told("1", Stimulus::TopUp { to: path("2.1"), money: sat(5) });
    assert_eq!(refused(&facts), [&Refusal::TopUpStays { to: path("2.1"), with: path("1") }]);
    assert_eq!(hall.contract("1").purse().granted(), sat(105));
}

#[test]
fn money_comes_from_ones_hirer_only() {
    let mut hall = two_levels();
    let top_up = Stimulus::TopUp { to: path("1.1"), money: sat(5) };
    assert_eq!(hall.told("1.1", top_up), []);
}

#[test]
fn there_is_only_so_much_money_to_be_put_in() {
    let mut hall = Hall::open(root("contractor", 100));
    let top_up = Stimulus::TopUp { to: path("1"), money: Msat::SUPPLY };
    assert_eq!(hall.told("1", top_up), []);
    assert_eq!(hall.contract("1").purse().granted(), sat(100));
}

#[test]
fn nobody_waits_for_a_hire_that_waits_for_its_answer() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").background(), hire("coder").background()]);
    hall.says("1.1", &[ask_hirer("which log?", 100_000)]);
    hall.says("1", &[tool("read")]);
    hall.tool_ends("1", "read", known(0));
    let why = Refusal::AskedYou { hire: path("1.1") };
    check(&mut hall, "1", wait(&["1.1"], Need::All), &why);
    check(&mut hall, "1", wait(&[], Need::Any), &why);
    let other = hall.says("1", &[wait(&["1.2"], Need::All).until(5_000)]);
    assert_eq!(refused(&other), [] as [&Refusal; 0], "who has not asked can be awaited");
    hall.clock(5_000);
    let answered = hall.says("1", &[tell("1.1", "the newest"), wait(&["1.1"], Need::All)]);
    assert_eq!(refused(&answered), [] as [&Refusal; 0], "who got words can be awaited");
}

#[test]
fn what_the_agent_layer_cant_read_is_refused_with_its_reason() {
    let mut hall = Hall::open(root("contractor", 1000));
    for why in [
        Unreadable::BadAmount(AmountError::Zero),
        Unreadable::BadAmount(AmountError::Negative),
        Unreadable::BadName(NameError::Odd { found: '/' }),
        Unreadable::Malformed,
        Unreadable::Field(FieldName::parse("task").unwrap(), WrongField::NotText),
        Unreadable::NothingSaid,
        Unreadable::UnknownTool,
        Unreadable::DoubledCall,
    ] {
        check(&mut hall, "1", invalid(why.clone()), &Refusal::from(why));
    }
}

/// Names the example of each refusal; a new one does not compile until it has its own.
const _: fn(&Refusal) -> fn() = |why| match why {
    Refusal::MayNotHire => who_has_no_team_may_not_hire,
    Refusal::SelfHire => nobody_hires_itself,
    Refusal::UnknownAgent { .. } => an_agent_who_is_not_on_the_team_is_refused_with_the_team,
    Refusal::Cycle { .. } => a_circle_is_refused_with_the_way_round,
    Refusal::SameTask { .. } => a_new_name_is_no_way_round_for_a_made_up_specialist,
    Refusal::TooDeep { .. } => no_hire_goes_below_the_granted_depth,
    Refusal::NoHeads { .. } => a_hire_needs_as_many_free_heads_as_it_takes,
    Refusal::Money { .. } => a_hire_below_one_turn_and_severance_and_fee_is_refused_with_the_figure,
    Refusal::Deadline { .. } => a_hire_that_would_have_no_time_to_work_is_refused,
    Refusal::Powers { .. } => only_grantable_powers_are_granted,
    Refusal::NoPower { .. } => a_tool_is_refused_to_who_lacks_its_powers_also_before_anybody_is_asked,
    Refusal::NotApproved => a_tool_call_that_nobody_approves_is_refused,
    Refusal::StaysOpen => only_a_root_may_stay_open,
    Refusal::BriefTooLong { .. } => a_brief_is_only_so_long_with_its_terms,
    Refusal::MessageTooLong { .. } => a_message_and_a_question_are_only_so_long,
    Refusal::TooManyCalls { .. } => of_too_many_calls_the_first_are_considered_and_the_rest_is_refused_as_one,
    Refusal::UnknownHire { .. } => only_ones_own_live_hires_are_told_stopped_or_awaited,
    Refusal::NothingToAwait => with_nobody_at_work_there_is_nothing_to_wait_for,
    Refusal::AskedYou { .. } => nobody_waits_for_a_hire_that_waits_for_its_answer,
    Refusal::Unworkable => a_brief_that_does_not_fit_its_place_is_unworkable,
    Refusal::Closing => who_is_ending_makes_no_more_calls,
    Refusal::TopUpStays { .. } => money_for_one_who_stands_elsewhere_stays_and_says_so,
    Refusal::BadAmount(_)
    | Refusal::BadName(_)
    | Refusal::Malformed
    | Refusal::Field { .. }
    | Refusal::NothingSaid
    | Refusal::UnknownTool
    | Refusal::DoubledCall => what_the_agent_layer_cant_read_is_refused_with_its_reason,
};
