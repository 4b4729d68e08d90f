//! Laws 4 and 9: what must not be passed on to a hire, and what must not be refused.

use std::sync::Arc;

use guildhall_kernel::{
    AskId, Brief, CloseWhen, Context, Hash, Heads, Hiring, Lineage, Millis, Mode, Origin, Powers, Refusal, Standing,
    Stimulus, TextKind,
};
use guildhall_laws::Law;

use crate::journal::{
    Journal, agent, ask_of, call, hire, known, msat, offer, owner, path, powers, refused, report, root, said, text,
    tool,
};
use crate::scenes;

/// A root with one hire, whose brief is changed.
fn hires(from: &Brief, change: impl FnOnce(&mut Brief)) -> Journal {
    let mut hired = hire(from, 1, "scout");
    change(&mut hired);
    let mut j = Journal::new();
    j.open(from).request(&[]);
    j.answer("1", 1, said(1, 1), known(10)).hire(&hired, Mode::Background, call(1, 0)).request(&[]);
    j
}

/// Asserts that the changed hire breaks a law.
#[track_caller]
fn refuses(change: impl FnOnce(&mut Brief), law: Law, what: &str) {
    hires(&root(), change).breaks(law, what);
}

/// Asserts that the changed hire is lawful.
#[track_caller]
fn admits(from: &Brief, change: impl FnOnce(&mut Brief)) {
    let found = hires(from, change).found();
    assert!(
        found.iter().all(|violation| violation.law == Law::Liveness || violation.what.contains("held")),
        "{found:#?}"
    );
}

#[test]
fn a_hires_grant_is_within_its_hirers() {
    admits(&root(), |_| ());
    refuses(|hire| hire.grant.depth = 3, Law::Grants, "passes on depth 3, but its own depth is 3");
    refuses(|hire| hire.grant.deadline = None, Law::Grants, "too late");
    refuses(|hire| hire.grant.deadline = Some(Millis(9_970_001)), Law::Grants, "too late");
    refuses(|hire| hire.powers.usable = powers(&["exec"]), Law::Grants, "passes on the power exec");
    refuses(|hire| hire.powers.grantable = powers(&["read", "zap"]), Law::Grants, "passes on the power zap");
    refuses(|hire| hire.close_when = CloseWhen::Asked, Law::Grants, "stays open");
    refuses(|hire| hire.context = Context::After { root: path("1"), tokens: 0 }, Law::Grants, "continues after a root");
}

#[test]
fn terms_and_lineage_are_passed_on_completely() {
    refuses(|hire| hire.terms = hire.terms[..1].into(), Law::Grants, "terms were dropped");
    refuses(|hire| hire.terms = hire.terms.iter().rev().copied().collect(), Law::Grants, "terms were dropped");
    refuses(|hire| hire.lineage = Lineage::default(), Law::Grants, "the lineage is not");
    admits(&root(), |hire| hire.terms = hire.terms.iter().copied().chain([text(TextKind::Term, 90)]).collect());
}

#[test]
fn hires_are_numbered_without_gaps() {
    refuses(|hire| hire.path = path("1.2"), Law::Hires, "1.2 is not the path of hire 1");
    refuses(|hire| hire.path = path("2.1"), Law::Hires, "2.1 is not the path of hire 1");
}

#[test]
fn only_the_team_is_hired() {
    refuses(|hire| hire.agent = agent("stranger"), Law::Refusals, "which is not on its team");
    refuses(|hire| hire.standing = Standing::AdHoc, Law::Refusals, "which is not on its team");
    let alone = Brief { hiring: None, ..root() };
    hires(&alone, |_| ()).breaks(Law::Refusals, "is not allowed to hire");
    let free = Hiring { team: Arc::new([]), ad_hoc: true, recursive: false };
    admits(&Brief { hiring: Some(free), ..root() }, |hire| hire.standing = Standing::AdHoc);
}

#[test]
fn an_agent_does_not_hire_itself_or_an_agent_above_it() {
    let team = |recursive| Some(Hiring { team: Arc::new([agent("contractor")]), ad_hoc: false, recursive });
    let from = |recursive| Brief { hiring: team(recursive), ..root() };
    hires(&from(false), |hire| hire.agent = agent("contractor")).breaks(Law::Refusals, "contractor hires itself");
    admits(&from(true), |hire| hire.agent = agent("contractor"));
    let again = |hire: &mut Brief| {
        hire.agent = agent("contractor");
        hire.task_key = root().task_key;
    };
    hires(&from(true), again).breaks(Law::Refusals, "a task that a contract above already has");

    let lead = Brief { hiring: team(false), ..hire(&root(), 1, "scout") };
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, 1), known(10)).hire(&lead, Mode::Blocking, call(1, 0));
    j.open(&lead).request(&[]);
    j.answer("1.1", 1, said(1, 1), known(10)).hire(&hire(&lead, 1, "contractor"), Mode::Blocking, call(1, 0));
    j.breaks(Law::Refusals, "hires contractor, which is above it in the tree");
}

/// A journal in which a contractor hires an ad-hoc specialist of this name, which hires this agent.
fn through_specialist(name: &str, agent_name: &str, change: impl FnOnce(&mut Brief)) -> Journal {
    let team = Hiring { team: Arc::new([agent(agent_name)]), ad_hoc: true, recursive: false };
    let boss = Brief { hiring: Some(team), ..root() };
    let specialist = Brief { standing: Standing::AdHoc, ..hire(&boss, 1, name) };
    let mut below = Brief { standing: Standing::Listed, ..hire(&specialist, 1, agent_name) };
    change(&mut below);
    let mut j = Journal::new();
    j.open(&boss).request(&[]);
    j.answer("1", 1, said(1, 1), known(10)).hire(&specialist, Mode::Blocking, call(1, 0));
    j.open(&specialist).request(&[]);
    j.answer("1.1", 1, said(1, 1), known(10)).hire(&below, Mode::Blocking, call(1, 0));
    j
}

#[test]
fn an_ad_hoc_specialist_with_a_listed_name_hires_the_listed_agent() {
    through_specialist("scout", "scout", |_| ()).is_lawful_so_far();
    let key = hire(&root(), 1, "scout").task_key;
    through_specialist("scout", "scout", |hire| hire.task_key = key).is_lawful_so_far();
}

#[test]
fn an_ad_hoc_specialist_in_between_does_not_hide_an_agent_above_it() {
    through_specialist("scout", "contractor", |_| ())
        .breaks(Law::Refusals, "hires contractor, which is above it in the tree");
}

#[test]
fn no_refusal_takes_an_ad_hoc_specialist_for_the_listed_agent_of_its_name() {
    let wrong = |why: Refusal| {
        let mut j = through_specialist("scout", "writer", |hire| {
            hire.agent = agent("writer");
        });
        j.fact(refused(why, call(1, 1)));
        j.breaks(Law::Refusals, "the reason of the refusal is not true");
    };
    wrong(Refusal::SelfHire);
    wrong(Refusal::Cycle { way: vec![agent("scout"), agent("writer"), agent("scout")] });
}

#[test]
fn a_lineage_tells_ad_hoc_specialists_from_listed_agents() {
    let listed = Brief { standing: Standing::Listed, ..hire(&root(), 1, "scout") };
    let lineage = hire(&listed, 1, "writer").lineage;
    through_specialist("scout", "writer", |hire| hire.lineage = lineage)
        .breaks(Law::Grants, "the lineage is not the hirer's lineage plus the hirer");
}

#[test]
fn a_new_name_does_not_make_the_same_task_allowed() {
    let free = Hiring { team: Arc::new([]), ad_hoc: true, recursive: false };
    let same = |hire: &mut Brief| {
        hire.standing = Standing::AdHoc;
        hire.task_key = root().task_key;
    };
    hires(&Brief { hiring: Some(free), ..root() }, same)
        .breaks(Law::Refusals, "a task that a contract above already has");
    admits(&root(), |hire| hire.task_key = root().task_key);
}

#[test]
fn a_fork_continues_from_the_newest_request_as_the_same_agent() {
    let fork = |hire: &mut Brief| {
        hire.agent = agent("contractor");
        hire.context = Context::Fork { request: AskId(1), upto: 1, tokens: 1000 };
    };
    admits(&root(), fork);
    let wrong = |change: fn(&mut Brief), law, what| {
        hires(&root(), |hire| {
            fork(hire);
            change(hire);
        })
        .breaks(law, what);
    };
    wrong(|hire| hire.agent = agent("scout"), Law::Refusals, "which is not the hirer's agent");
    wrong(|hire| hire.task_key = root().task_key, Law::Refusals, "a task that a contract above already has");
    wrong(|hire| hire.tariff.input = msat(1), Law::Grants, "its own tariff");
    let newest = "not the newest request";
    wrong(|hire| hire.context = Context::Fork { request: AskId(1), upto: 0, tokens: 1000 }, Law::Grants, newest);
    wrong(|hire| hire.context = Context::Fork { request: AskId(2), upto: 1, tokens: 1000 }, Law::Grants, newest);
}

#[test]
fn a_grant_pays_for_one_turn_the_severance_and_the_fee() {
    // The maximum may be a named budget, which needs only the minimum.
    let grants = |money: u64| {
        move |hire: &mut Brief| {
            hire.grant.money = msat(money);
            hire.money_max = Some(msat(30_000));
        }
    };
    let least = 500 * 3 + 256 * 15 + 20_000 + 100;
    admits(&root(), grants(least));
    let one_less = grants(least - 1);
    refuses(one_less, Law::Refusals, "the grant is 25439 msat, but the minimum is 25440");
}

#[test]
fn a_brief_is_not_too_long() {
    let mut j = Journal::new();
    let mut long = root();
    long.task.bytes = 65_527;
    j.open(&long);
    j.breaks(Law::Grants, "the brief has 65537 bytes");
}

#[test]
fn a_contract_has_the_powers_of_its_tool_calls() {
    let reads_nothing = Brief { powers: Powers::default(), ..root() };
    let mut j = Journal::new();
    j.open(&reads_nothing).request(&[]);
    j.answer("1", 1, said(1, 1), known(10)).tool(5, call(1, 0));
    j.breaks(Law::Grants, "a tool needs the power read");
}

#[test]
fn turns_are_counted() {
    let mut j = Journal::new();
    j.open(&Brief { turns_max: 1, ..root() }).request(&[]);
    j.answer("1", 1, said(1, 1), known(10)).tool(5, call(1, 0));
    j.answer("1", 2, guildhall_kernel::Answer::Lost, known(0)).request(&[]);
    j.breaks(Law::Grants, "asks for another reply after 1 of 1");
}

#[test]
fn the_approved_call_is_the_one_that_is_made() {
    let other = scenes::calls().with(12, |s| {
        *ask_of(s) =
            guildhall_kernel::Ask::Tool(guildhall_kernel::ToolCall { price: msat(10), needs: powers(&[]), ..tool(10) });
    });
    other.breaks(Law::Refusals, "is not the call that was approved");
}

/// A root whose one call is refused.
fn refusal(why: Refusal) -> Journal {
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, 1), known(10_000)).fact(refused(why, call(1, 0))).request(&[]);
    j.answer("1", 2, said(2, 0), known(10_000));
    j.close(report(guildhall_kernel::Outcome::Done, 2, 10_000_000, 20_000));
    j
}

#[test]
fn a_refusal_with_a_true_reason_is_lawful() {
    let free = msat(9_970_000);
    refusal(Refusal::Money { asked: msat(9_970_001), free, minimum: msat(5) }).is_lawful();
    refusal(Refusal::Money { asked: msat(4), free, minimum: msat(5) }).is_lawful();
    refusal(Refusal::NoHeads { asked: Heads(11), free: Heads(10) }).is_lawful();
    refusal(Refusal::UnknownHire { hire: path("1.1") }).is_lawful();
    refusal(Refusal::Malformed).is_lawful();
}

#[test]
fn a_refusal_with_a_false_reason_is_found() {
    let wrong = |why: Refusal| refusal(why).breaks(Law::Refusals, "the reason of the refusal is not true");
    let free = msat(9_970_000);
    wrong(Refusal::Money { asked: free, free, minimum: msat(5) });
    wrong(Refusal::Money { asked: msat(9_999_999), free: msat(9_970_001), minimum: msat(5) });
    wrong(Refusal::NoHeads { asked: Heads(10), free: Heads(10) });
    wrong(Refusal::NoHeads { asked: Heads(12), free: Heads(11) });
    wrong(Refusal::TooDeep { asked: 3, left: 3 });
    wrong(Refusal::Deadline { deadline: Millis(9_970_000), now: Millis(20) });
    wrong(Refusal::CantHire);
    wrong(Refusal::Cycle { way: vec![agent("scout"), agent("contractor"), agent("scout")] });
    wrong(Refusal::UnknownAgent { agent: agent("scout"), team: vec![agent("scout")] });
    wrong(Refusal::SameTask { agent: agent("scout") });
    wrong(Refusal::Powers { power: guildhall_kernel::Power::parse("write").unwrap() });
    wrong(Refusal::NoPower { tool: tool(1).tool, power: guildhall_kernel::Power::parse("read").unwrap() });
    wrong(Refusal::NotApproved);
    wrong(Refusal::BriefTooLong { bytes: 65_536 });
    wrong(Refusal::TooManyCalls { calls: 1025 });
    refusal(Refusal::Closing).breaks(Law::Refusals, "refused because the contract is ending");
    refusal(Refusal::TopUpStays { to: path("1.1"), with: path("1") })
        .breaks(Law::Refusals, "money for 1.1 stays, but was never heard");
}

#[test]
fn money_stays_only_if_it_cant_be_passed_on() {
    let money = Stimulus::TopUp { to: path("1.1.4"), money: msat(700), draw: None };
    let stays = refused(Refusal::TopUpStays { to: path("1.1.4"), with: path("1") }, Origin::Outside);
    let mut j = scenes::one_hire().until(6);
    j.hear("1", owner(1), money.clone()).fact(stays.clone());
    j.breaks(Law::Refusals, "stays with 1 without a reason");
    let mut j = scenes::one_hire().until(12);
    j.hear("1", owner(1), money).fact(stays);
    j.answer("1", 3, said(3, 0), known(10));
    j.close(guildhall_kernel::Report {
        heads: Heads(1),
        ..report(guildhall_kernel::Outcome::Done, 3, 10_000_700, 20_150)
    });
    j.is_lawful();
}

#[test]
fn an_offer_from_outside_is_admitted_or_refused() {
    let hired = hire(&root(), 1, "scout");
    let offer = |task_key: Hash| {
        Stimulus::Hire(Box::new(guildhall_kernel::Offer { task_key, ..offer(&hired, Mode::Background) }))
    };
    let mut j = scenes::one_tool().until(2);
    j.hear("1", owner(1), offer(hired.task_key));
    j.breaks(Law::Refusals, "neither admitted nor refused");
    let mut j = scenes::one_tool().until(2);
    j.hear("1", owner(1), offer(Hash([77; 32]))).hire(&hired, Mode::Background, Origin::Outside);
    j.breaks(Law::Refusals, "hires scout from outside, which was not offered");
}

#[test]
fn a_question_has_a_receiver_and_a_maximum_length() {
    use guildhall_kernel::{Addressee, Ask, Matter, TextRef};
    let asks = |to, words: TextRef| {
        let mut j = Journal::new();
        j.open(&root()).request(&[]);
        let question = Ask::Question { to, matter: Matter::Text(words), until: Millis(900) };
        j.answer("1", 1, said(1, 1), known(10)).ask(question, 0, 0, call(1, 0));
        j
    };
    let words = text(TextKind::Message, 1);
    asks(Addressee::Hirer, words).breaks(Law::Refusals, "a root asks its hirer, but a root has none");
    asks(Addressee::Owner, TextRef { bytes: 65_537, ..words }).breaks(Law::Refusals, "a message has 65537 bytes");
}

#[test]
fn a_root_has_no_lineage_and_no_fork() {
    let opens = |change: fn(&mut Brief), law, what| {
        let mut brief = root();
        change(&mut brief);
        let mut j = Journal::new();
        j.open(&brief);
        j.breaks(law, what);
    };
    opens(|root| root.lineage = hire(root, 1, "scout").lineage, Law::Grants, "a root has a lineage");
    opens(
        |root| root.context = Context::Fork { request: AskId(1), upto: 1, tokens: 0 },
        Law::Grants,
        "can't be a fork",
    );
    opens(
        |root| root.context = Context::After { root: path("2"), tokens: 0 },
        Law::Grants,
        "which is not a closed root",
    );
    opens(|root| root.grant.depth = 65, Law::Purse, "the grant allows 65 levels below level 0");
}
