//! The money that a hirer keeps, what a hire needs, and what is given out.

use guildhall_kernel::{
    Answer, AskId, Brief, Cause, Context, Fact, Heads, Inherit, Millis, Mode, Offer, Origin, Outcome, Report, Stimulus,
    TextKind, TextRef, Wording,
};
use guildhall_laws::Law;

use crate::journal::{
    Journal, agent, call, granted, hire, hold_of, known, msat, offer, owner, report, request_of, root, said, said_of,
    text,
};

/// What a hire needs at first: 16 turns of 500 tokens in and 1000 out, the severance and the fee.
pub(crate) const NEED: u64 = 16 * (500 * 3 + 15_000) + 20_100;

/// What a hire needs at least after a report.
pub(crate) const NEED_LEAST: u64 = 4 * (500 * 3 + 15_000) + 20_100;

/// What a hirer keeps for this many hires, whose reports have 1000 tokens. Its request shows 410 tokens so far.
pub(crate) const fn kept(hires: u64) -> u64 {
    (410 + hires * 1000) * 3 + 15_000
}

/// A root that has this much money available after a reply that costs 10,000. The severance is 20,000.
pub(crate) fn with_free(free: u64) -> Brief {
    let mut rich = root();
    rich.grant.money = msat(free + 30_000);
    rich
}

/// A hire with this grant.
pub(crate) fn scout(ordinal: u32, money: u64) -> Brief {
    granted(&hire(&root(), ordinal, if ordinal % 2 == 1 { "scout" } else { "writer" }), money)
}

/// A root with this much money after its reply, tool calls with these prices, hires with these grants, and hires that
/// wait.
fn hires(free: u64, tools: &[u64], grants: &[u64], waiting: u32) -> Journal {
    let admitted = u32::try_from(grants.len()).unwrap();
    let placed = admitted + waiting;
    let calls = placed + u32::try_from(tools.len()).unwrap();
    let mut j = Journal::new();
    j.open(&with_free(free)).request(&[]);
    j.answer("1", 1, said(1, calls), known(10_000));
    for (index, grant) in (0..).zip(grants) {
        j.hire(&scout(index + 1, *grant), Mode::Background, call(1, index));
    }
    for index in admitted..placed {
        j.queue(&scout(index + 1, 0), Mode::Background, call(1, index));
    }
    // The tools come last: the hirer kept their prices.
    for (index, price) in (placed..).zip(tools) {
        j.tool(*price, call(1, index));
    }
    j
}

#[test]
fn a_hirer_keeps_a_turn_that_shows_every_report() {
    let pot = |hires: u64| 1_000_000 - kept(hires);
    hires(1_000_000, &[], &[pot(1)], 0).is_lawful_so_far();
    let less = "leaves itself 19229 msat when it serves its hires, but must keep 19230";
    hires(1_000_000, &[], &[pot(1) + 1], 0).breaks(Law::Grants, less);
    hires(1_000_000, &[], &[pot(2) / 2, pot(2) / 2], 0).is_lawful_so_far();
    hires(1_000_000, &[], &[pot(2) / 2 + 1, pot(2) / 2], 0).breaks(Law::Grants, "but must keep 22230");
}

#[test]
fn a_hirer_keeps_at_most_half_of_what_it_had_when_it_hired() {
    hires(70_000, &[], &[60_000], 0).breaks(Law::Grants, "leaves itself 10000 msat");
    hires(30_001, &[], &[15_001], 0).breaks(Law::Refusals, "the minimum is 25440");
    let poor = |grant: u64| {
        let mut j = hires(26_000, &[], &[], 0).until(2);
        let mut brief = scout(1, grant);
        (brief.severance, brief.fee) = (msat(8448), msat(0));
        brief.opening_bytes = 0;
        // 26,000 msat are available, and a turn costs 19,230.
        j.answer("1", 1, said(1, 1), known(10_000)).hire(&brief, Mode::Background, call(1, 0));
        j
    };
    poor(13_000).is_lawful_so_far();
    poor(13_001).breaks(Law::Grants, "leaves itself 12999 msat when it serves its hires, but must keep 13000");
}

#[test]
fn the_tools_of_the_same_reply_are_paid_first() {
    let pot = 1_000_000 - 100_000 - kept(1);
    hires(1_000_000, &[60_000, 40_000], &[pot], 0).is_lawful_so_far();
    hires(1_000_000, &[60_000, 40_000], &[pot + 1], 0).breaks(Law::Grants, "leaves itself 19229 msat");
}

/// A root with little money after the report of its first hire. Its second hire waited, and gets this much.
fn after_a_report(grant: u64) -> Journal {
    let thrifty = |ordinal, grant| {
        let mut brief = scout(ordinal, grant);
        (brief.severance, brief.fee, brief.opening_bytes) = (msat(8448), msat(0), 0);
        brief
    };
    let mut j = Journal::new();
    j.open(&with_free(50_000)).request(&[]);
    j.answer("1", 1, said(1, 2), known(10_000)).hire(&thrifty(1, 30_000), Mode::Background, call(1, 0));
    j.queue(&thrifty(2, 0), Mode::Background, call(1, 1));
    j.open(&thrifty(1, 30_000)).request(&[]);
    let done = report(Outcome::Done, 5, 30_000, 0);
    j.answer("1.1", 1, said(5, 0), known(0)).close(done.clone());
    j.answer("1", 2, Answer::Report(Box::new(done)), known(0));
    j.hire(&thrifty(2, grant), Mode::Background, call(1, 1));
    j
}

#[test]
fn the_first_report_of_a_root_ends_the_limit_of_a_half() {
    // Before the report, the hirer kept 20,000 of 50,000. Now its next turn shows 686 tokens and one more report.
    let kept = (686 + 1000) * 3 + 15_000;
    after_a_report(50_000 - kept).is_lawful_so_far();
    let less = "leaves itself 20057 msat when it serves its hires, but must keep 20058";
    after_a_report(50_001 - kept).breaks(Law::Grants, less);
}

#[test]
fn after_a_compaction_a_hirer_keeps_less_money() {
    let compacts = |bytes: u64| {
        let mut rich = root();
        rich.grant.money = msat(1_038_000);
        let mut j = Journal::new();
        j.open(&rich).request(&[]);
        j.answer("1", 1, said(1, 1), known(10_000)).tool(0, call(1, 0));
        j.answer("1", 2, Answer::Result(text(TextKind::Result, 2)), known(0)).request(&[]);
        // Now 998,000 msat are available, and the request shows 410 tokens.
        j.answer("1", 3, said(3, 1), known(10_000));
        j.hire(&scout(1, 998_000 - (kept(1) - 2 * 3 * 100)), Mode::Background, call(3, 0));
        j.fact(Fact::Compacted { upto: 3, bytes }).request(&[]);
        j
    };
    compacts(200).is_lawful_so_far();
    compacts(201).breaks(Law::Grants, "leaves itself 18630 msat when it serves its hires, but must keep 18633");
}

#[test]
fn while_a_hire_waits_no_hire_gets_more_than_it_needs() {
    hires(NEED + 100_000, &[], &[NEED], 1).is_lawful_so_far();
    let more = "1.1 gets 284101 msat while another hire waits, but needs only 284100";
    hires(NEED + 100_000, &[], &[NEED + 1], 1).breaks(Law::Grants, more);
    hires(2 * NEED + 100_000, &[], &[NEED, NEED], 1).is_lawful_so_far();
    hires(2 * NEED + 100_000, &[], &[NEED, NEED + 1], 1).breaks(Law::Grants, "1.2 gets 284101 msat while");
}

#[test]
fn a_hire_gets_no_less_than_it_needs_unless_it_is_the_only_one_that_moves() {
    hires(2 * NEED + 100_000, &[], &[NEED, NEED - 1], 0)
        .breaks(Law::Grants, "1.2 gets 284099 msat, but needs at least 284100");
    // Alone, the hire gets the pot: all but at most a half.
    hires(200_000, &[], &[100_000], 1).is_lawful_so_far();
    hires(200_000, &[], &[99_999], 1).breaks(Law::Grants, "1.1 gets 99999 msat, but needs at least 100000");
    hires(200_000, &[20_000], &[80_000], 1).is_lawful_so_far();
    hires(200_000, &[20_000], &[79_999], 1).breaks(Law::Grants, "1.1 gets 79999 msat, but needs at least 80000");
}

#[test]
fn a_blocking_hire_behind_hires_in_the_background_may_get_less() {
    let poor = |mode: Mode, tool: u64| {
        let mut j = hires(2 * NEED + 10_000, &[], &[NEED], 0).until(4).with(3, |s| said_of(s).calls = 3);
        j.tool(tool, call(1, 1)).hire(&scout(2, 200_000), mode, call(1, 2));
        j
    };
    poor(Mode::Blocking, 0).is_lawful_so_far();
    let less = "1.2 gets 200000 msat, but needs at least 284100";
    poor(Mode::Background, 0).breaks(Law::Grants, less);
    poor(Mode::Blocking, 5).breaks(Law::Grants, less);
}

#[test]
fn a_hire_that_costs_nothing_is_admitted_whatever_its_hirer_keeps() {
    let second = |severance: u64| {
        let mut brief = scout(2, severance);
        (brief.tariff.input, brief.tariff.output) = (msat(0), msat(0));
        (brief.severance, brief.fee) = (msat(severance), msat(0));
        let mut j = hires(NEED + 25_000, &[], &[NEED], 0).until(4).with(3, |s| said_of(s).calls = 2);
        // The hirer's own request takes 18,000 of the 25,000 msat that it has kept.
        j.queue(&brief, Mode::Background, call(1, 1)).request(&[]);
        j.hire(&brief, Mode::Background, call(1, 1));
        j
    };
    second(0).is_lawful_so_far();
    second(1).breaks(Law::Grants, "leaves itself 6999 msat when it serves its hires, but must keep 22230");
}

#[test]
fn hires_without_a_limit_get_equal_parts_of_the_rest() {
    hires(1_000_000, &[], &[NEED + 10, NEED + 12], 0).is_lawful_so_far();
    let unequal = "one hire gets 13 msat more than it needs, another only 10";
    hires(1_000_000, &[], &[NEED + 10, NEED + 13], 0).breaks(Law::Grants, unequal);
    let mut limited = scout(2, NEED + 13);
    limited.money_max = Some(msat(NEED + 13));
    let mut j = hires(1_000_000, &[], &[NEED + 10, NEED], 0).until(4);
    j.hire(&limited, Mode::Background, call(1, 1));
    j.is_lawful_so_far();
}

/// A root with a hire that has spent this much and one that waits, and gets this much after the report. A third waits.
fn learns(spent: u64, grant: u64) -> Journal {
    let mut j = hires(NEED + 150_000, &[], &[NEED], 2);
    j.open(&scout(1, NEED)).request(&[]);
    let j = &mut j.with(8, |s| {
        // The hold of one long request, so that any cost fits.
        let request = request_of(s);
        request.tokens = 80_000;
        hold_of(s).money = msat(255_000);
    });
    let done = Report { fee: msat(100), ..report(Outcome::Done, 5, NEED, spent + 100) };
    j.answer("1.1", 1, said(5, 0), known(spent)).close(done.clone());
    j.answer("1", 2, Answer::Report(Box::new(done)), known(spent + 100));
    j.hire(&scout(2, grant), Mode::Background, call(1, 1)).clone()
}

#[test]
fn a_need_is_learned_from_what_a_hire_has_spent() {
    let check = |spent: u64, need: u64| {
        learns(spent, need).is_lawful_so_far();
        let more = format!("1.2 gets {} msat while another hire waits, but needs only {need}", need + 1);
        learns(spent, need + 1).breaks(Law::Grants, &more);
    };
    check(10_000, NEED_LEAST);
    check(99_900, 125_000);
    check(99_901, 125_002);
}

/// A root with 9,962,000 msat and 10 heads available, which gets an offer from outside and makes this hire.
fn offered(change: impl FnOnce(&mut Offer), grant: impl FnOnce(&mut Brief)) -> Journal {
    let mut hired = hire(&root(), 1, "scout");
    grant(&mut hired);
    let mut offer = offer(&hired, Mode::Background);
    change(&mut offer);
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.hear("1", owner(1), Stimulus::Hire(Box::new(offer))).hire(&hired, Mode::Background, Origin::Outside);
    j.step("1", Cause::Tick);
    j
}

#[test]
fn a_hire_is_granted_no_more_than_its_offer_says() {
    let says = |offer: &mut Offer| {
        (offer.budget, offer.heads) = (Some(msat(300_000)), Some(Heads(2)));
        (offer.depth, offer.deadline) = (Some(1), Some(Millis(5_000_000)));
    };
    let takes = |hire: &mut Brief| {
        (hire.grant.money, hire.grant.heads) = (msat(300_000), Heads(2));
        (hire.grant.depth, hire.grant.deadline) = (1, Some(Millis(5_000_000)));
        hire.money_max = Some(msat(300_000));
    };
    let more = |change: fn(&mut Brief), what: &str| {
        let takes = |hire: &mut Brief| {
            takes(hire);
            change(hire);
        };
        offered(says, takes).breaks(Law::Grants, what);
    };
    offered(says, takes).is_lawful_so_far();
    more(|hire| hire.grant.money = msat(300_001), "the grant is 300001 msat, but at most 300000 are allowed");
    more(|hire| hire.money_max = None, "the hire may get None, but its offer says Some(Msat(300000))");
    more(|hire| hire.grant.heads = Heads(3), "the hire is granted 3 heads, but at most 2 are allowed");
    more(|hire| hire.grant.depth = 2, "the hire is granted depth 2, but at most 1 is allowed");
    more(|hire| hire.grant.deadline = Some(Millis(5_000_001)), "the hire is due");
}

#[test]
fn a_hire_from_outside_gets_a_share_if_its_offer_names_no_amount() {
    let unsaid = |_: &mut Offer| ();
    // The reply is not there yet, so the request shows 1000 tokens.
    let pot = 9_962_000 - (2000 * 3 + 15_000);
    offered(unsaid, |hire| hire.grant.money = msat(pot)).is_lawful_so_far();
    offered(unsaid, |hire| hire.grant.money = msat(pot + 1)).breaks(Law::Grants, "leaves itself 20999 msat");
    // Of ten heads, one stays with the hirer and one is for the hire itself.
    offered(unsaid, |hire| hire.grant.heads = Heads(8)).is_lawful_so_far();
    offered(unsaid, |hire| hire.grant.heads = Heads(9)).breaks(Law::Grants, "granted 9 heads, but at most 8");
    let alone = |heads: u32| {
        move |hire: &mut Brief| {
            hire.hiring = None;
            hire.grant.heads = Heads(heads);
        }
    };
    offered(unsaid, alone(0)).is_lawful_so_far();
    offered(unsaid, alone(1)).breaks(Law::Grants, "granted 1 heads, but at most 0");
}

#[test]
fn a_named_budget_needs_only_the_minimum_while_another_hire_waits() {
    let named = |grant: u64| {
        let mut brief = scout(2, grant);
        brief.money_max = Some(msat(200_000));
        let mut j = hires(NEED + 100_000, &[], &[NEED], 0).until(4);
        let mut waiting = offer(&brief, Mode::Background);
        (waiting.budget, waiting.share_max) = (Some(msat(200_000)), None);
        let context = Context::Fresh;
        j.fact(Fact::Queued { origin: call(1, 1), ordinal: 2, offer: Box::new(waiting), context });
        j.queue(&scout(3, 0), Mode::Background, call(1, 2)).hire(&brief, Mode::Background, call(1, 1));
        j.with(3, |s| said_of(s).calls = 3)
    };
    named(25_440).is_lawful_so_far();
    named(25_441).breaks(Law::Grants, "1.2 gets 25441 msat while another hire waits, but needs only 25440");
}

#[test]
fn no_hire_gets_more_than_its_limit() {
    let limited = |grant: u64| {
        let mut brief = scout(1, grant);
        brief.money_max = Some(msat(100_000));
        let mut j = hires(1_000_000, &[], &[], 0).until(3);
        j.hire(&brief, Mode::Background, call(1, 0));
        j.with(3, |s| said_of(s).calls = 1)
    };
    limited(100_000).is_lawful_so_far();
    limited(100_001).breaks(Law::Grants, "the grant is 100001 msat, but at most 100000 are allowed");
}

#[test]
fn a_fork_that_is_offered_from_outside_has_its_hirers_agent() {
    let fork = |hire: &mut Brief| {
        hire.agent = root().agent;
        hire.context = Context::Fork { request: AskId(1), upto: 1, tokens: 1000 };
    };
    offered(|_| (), fork).is_lawful_so_far();
    offered(|offer| offer.agent = agent("scout"), fork).is_lawful_so_far();
    let other = "from outside, which was not offered";
    offered(|offer| offer.inherit = Inherit::Fresh, fork).breaks(Law::Refusals, other);
    offered(|offer| offer.inherit = Inherit::Fork, |_| ()).breaks(Law::Refusals, other);
}

#[test]
fn a_larger_report_makes_the_hirer_keep_more() {
    let after = |bytes: u32, grant: u64| {
        let words = TextRef { bytes, ..text(TextKind::Words, 5) };
        let mut j = hires(NEED + 150_000, &[], &[NEED], 1);
        j.open(&scout(1, NEED)).request(&[]);
        let done = Report { fee: msat(100), text: Wording::Final(words), ..report(Outcome::Done, 5, NEED, 10_100) };
        j.answer("1.1", 1, said(5, 0), known(10_000)).close(done.clone());
        j.answer("1", 2, Answer::Report(Box::new(done)), known(10_100));
        let mut j = j.with(8, |s| said_of(s).words = Some(words));
        j.hire(&scout(2, grant), Mode::Background, call(1, 1)).clone()
    };
    // Of the 424,000 msat that are left, the hirer keeps a turn that shows what came and one report of the same size.
    let left = NEED + 150_000 - 10_100;
    let kept = |report: u64| (410 + report + report.max(1000)) * 3 + 15_000;
    after(10, left - kept(276)).is_lawful_so_far();
    after(10, left - kept(276) + 1).breaks(Law::Grants, "leaves itself 20057 msat");
    after(5000, left - kept(5266)).is_lawful_so_far();
    after(5000, left - kept(5266) + 1).breaks(Law::Grants, "leaves itself 47825 msat");
}
