//! The money that a hirer keeps when it hires, and the maximum of a hire from outside.

use std::sync::Arc;

use guildhall_kernel::{
    AskId, Brief, Cause, Context, Fact, Heads, Inherit, Millis, Mode, Msat, Offer, Origin, Stimulus,
};
use guildhall_laws::Law;

use crate::forms::in_form_1;
use crate::journal::{Journal, agent, call, hire, known, msat, owner, root, said};

/// Returns the grant that leaves this much money available after the reply: a reply costs 10,000 and the severance is
/// 20,000.
fn grant_for(free: u64) -> Msat {
    msat(free + 30_000)
}

/// A root with this much available money after its reply, tool calls with these prices, and hires with these grants.
fn hires(free: u64, tools: &[u64], grants: &[u64]) -> Journal {
    let mut rich = root();
    rich.grant.money = grant_for(free);
    let (tool_count, hire_count) = (u32::try_from(tools.len()).unwrap(), u32::try_from(grants.len()).unwrap());
    let mut j = Journal::new();
    j.open(&rich).request(&[]);
    j.answer("1", 1, said(1, tool_count + hire_count), known(10_000));
    for (index, grant) in (0..).zip(grants) {
        j.hire(&granted(&rich, index + 1, *grant), Mode::Background, call(1, index));
    }
    // The tools come last: the hirer kept their prices.
    for (index, price) in (hire_count..).zip(tools) {
        j.tool(*price, call(1, index));
    }
    j
}

fn granted(hirer: &Brief, ordinal: u32, money: u64) -> Brief {
    let mut brief = hire(hirer, ordinal, if ordinal % 2 == 1 { "scout" } else { "writer" });
    brief.grant.money = msat(money);
    brief.grant.heads = Heads(0);
    brief
}

#[test]
fn a_hirer_keeps_a_tenth() {
    hires(10_000_000, &[], &[9_000_000]).is_lawful_so_far();
    let less = "grants 9000001 of 10000000 msat to 1 hires, but must keep 1000000";
    hires(10_000_000, &[], &[9_000_001]).breaks(Law::Grants, less);
    hires(10_000_000, &[], &[5_000_000, 3_000_000, 1_000_000]).is_lawful_so_far();
    let less = "grants 9000001 of 10000000 msat to 3 hires";
    hires(10_000_000, &[], &[5_000_000, 3_000_001, 1_000_000]).breaks(Law::Grants, less);
}

#[test]
fn a_tenth_is_rounded_down() {
    hires(10_000_009, &[], &[9_000_009]).is_lawful_so_far();
    hires(10_000_009, &[], &[9_000_010]).breaks(Law::Grants, "must keep 1000000");
    hires(10_000_010, &[], &[9_000_009]).is_lawful_so_far();
    hires(10_000_010, &[], &[9_000_010]).breaks(Law::Grants, "must keep 1000001");
}

#[test]
fn the_tools_of_the_same_reply_are_paid_first() {
    hires(10_000_000, &[600_000, 400_000], &[8_100_000]).is_lawful_so_far();
    let less = "grants 8100001 of 9000000 msat to 1 hires, but must keep 900000";
    hires(10_000_000, &[600_000, 400_000], &[8_100_001]).breaks(Law::Grants, less);
}

#[test]
fn a_hirer_keeps_the_price_of_two_more_turns() {
    // The request shows 410 tokens so far, at 3 msat each. A reply of 1000 tokens costs 15,000, and each report adds
    // 4000 tokens.
    let kept = |hires: u64| (410 * 3 + 15_000) + ((410 + hires * 4000) * 3 + 15_000);
    assert_eq!((kept(1), kept(2)), (44_460, 56_460));
    hires(200_000, &[], &[200_000 - 44_460]).is_lawful_so_far();
    hires(200_000, &[], &[200_001 - 44_460]).breaks(Law::Grants, "must keep 44460");
    hires(200_000, &[], &[60_000, 140_000 - 56_460]).is_lawful_so_far();
    hires(200_000, &[], &[60_000, 140_001 - 56_460]).breaks(Law::Grants, "must keep 56460");
}

#[test]
fn a_hirer_need_not_keep_more_than_a_half() {
    hires(60_001, &[], &[30_001]).is_lawful_so_far();
    hires(60_001, &[], &[30_002]).breaks(Law::Grants, "must keep 30000");
}

#[test]
fn after_a_compaction_a_hirer_keeps_less_money_for_its_turns() {
    let compacts = |bytes: u64| {
        let mut rich = root();
        rich.grant.money = msat(230_000 + 18_000);
        let mut j = Journal::new();
        j.open(&rich).request(&[]);
        j.answer("1", 1, said(1, 1), known(10_000)).tool(0, call(1, 0));
        let result = guildhall_kernel::Answer::Result(crate::journal::text(guildhall_kernel::TextKind::Result, 2));
        j.answer("1", 2, result, known(0)).request(&[]);
        // Now 208,000 msat are available, and the request shows 410 tokens.
        j.answer("1", 3, said(3, 1), known(10_000));
        j.hire(&granted(&rich, 1, 208_000 - (44_460 - 2 * 3 * 200)), Mode::Background, call(3, 0));
        j.fact(Fact::Compacted { upto: 3, bytes }).request(&[]);
        j
    };
    compacts(200).is_lawful_so_far();
    compacts(201).breaks(Law::Grants, "must keep 43266");
}

/// A root that hires its team after its first reply.
fn cascades(free: u64, grants: &[u64], origin: Origin) -> Journal {
    let mut rich = root();
    rich.grant.money = grant_for(free);
    let mut j = Journal::new();
    j.open(&rich).request(&[]);
    j.answer("1", 1, said(1, 0), known(10_000));
    for (ordinal, grant) in (1..).zip(grants) {
        j.hire(&granted(&rich, ordinal, *grant), Mode::Blocking, origin);
    }
    j
}

#[test]
fn a_hirer_keeps_a_tenth_when_the_runtime_hires_for_it() {
    for origin in [Origin::Cascade, Origin::Promise] {
        cascades(10_000_000, &[4_500_000, 4_500_000], origin).is_lawful_so_far();
        let less = "grants 9000001 of 10000000 msat to 2 hires, but must keep 1000000";
        cascades(10_000_000, &[4_500_000, 4_500_001], origin).breaks(Law::Grants, less);
    }
}

#[test]
fn each_reply_has_its_own_shares() {
    let mut j = hires(10_000_000, &[], &[9_000_000]);
    j.request(&[]);
    // 982,000 msat are available, and 990,000 after this reply.
    j.answer("1", 3, said(3, 1), known(10_000));
    let mut rich = root();
    rich.grant.money = grant_for(10_000_000);
    let most = j.clone().hire(&granted(&rich, 2, 891_000), Mode::Background, call(3, 0)).clone();
    most.is_lawful_so_far();
    j.hire(&granted(&rich, 2, 891_001), Mode::Background, call(3, 0));
    j.breaks(Law::Grants, "grants 891001 of 990000 msat to 1 hires, but must keep 99000");
}

#[test]
fn the_first_release_computed_shares_by_other_rules() {
    in_form_1(hires(10_000_000, &[], &[10_000_000])).is_lawful_so_far();
    in_form_1(cascades(10_000_000, &[10_000_000], Origin::Cascade)).is_lawful_so_far();
}

/// A root with 9,962,000 msat and 10 heads available, which gets an offer from outside and makes this hire.
fn offered(change: impl FnOnce(&mut Offer), grant: impl FnOnce(&mut Brief)) -> Journal {
    let mut hired = hire(&root(), 1, "scout");
    grant(&mut hired);
    let mut offer = Offer {
        model_slot: 0,
        share_max: None,
        label: None,
        agent: hired.agent.clone(),
        standing: hired.standing,
        task: hired.task,
        task_key: hired.task_key,
        inherit: Inherit::Fresh,
        mode: Mode::Background,
        budget: None,
        heads: None,
        depth: None,
        deadline: None,
        terms: Arc::new([]),
        adds: Arc::new([]),
        fee: hired.fee,
        payee: None,
        severance: hired.severance,
        tariff: hired.tariff,
        turns_max: hired.turns_max,
        opening_bytes: hired.opening_bytes,
        opening: None,
        powers: hired.powers.clone(),
        hiring: hired.hiring.clone(),
        checks: Arc::new([]),
    };
    change(&mut offer);
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.hear("1", owner(1), Stimulus::Hire(Box::new(offer))).hire(&hired, Mode::Background, Origin::Outside);
    j.step("1", Cause::Tick);
    j
}

#[test]
fn a_hire_from_outside_is_granted_no_more_than_its_offer_says() {
    let says = |offer: &mut Offer| {
        (offer.budget, offer.heads) = (Some(msat(300_000)), Some(Heads(2)));
        (offer.depth, offer.deadline) = (Some(1), Some(Millis(5_000_000)));
    };
    let takes = |hire: &mut Brief| {
        (hire.grant.money, hire.grant.heads) = (msat(300_000), Heads(2));
        (hire.grant.depth, hire.grant.deadline) = (1, Some(Millis(5_000_000)));
    };
    let more = |change: fn(&mut Brief), what: &str| {
        let takes = |hire: &mut Brief| {
            takes(hire);
            change(hire);
        };
        offered(says, takes).breaks(Law::Grants, what);
    };
    offered(says, takes).is_lawful_so_far();
    more(|hire| hire.grant.money = msat(300_001), "a hire from outside is granted 300001 msat, but at most 300000");
    more(|hire| hire.grant.heads = Heads(3), "a hire from outside is granted 3 heads, but at most 2");
    more(|hire| hire.grant.depth = 2, "a hire from outside is granted depth 2, but at most 1");
    more(|hire| hire.grant.deadline = Some(Millis(5_000_001)), "a hire from outside is due");
}

#[test]
fn a_hire_from_outside_gets_a_share_if_its_offer_names_no_amount() {
    let unsaid = |_: &mut Offer| ();
    offered(unsaid, |hire| hire.grant.money = msat(8_965_800)).is_lawful_so_far();
    let more = "a hire from outside is granted 8965801 msat, but at most 8965800";
    offered(unsaid, |hire| hire.grant.money = msat(8_965_801)).breaks(Law::Grants, more);
    let capped = |offer: &mut Offer| offer.share_max = Some(msat(400_000));
    offered(capped, |hire| hire.grant.money = msat(400_000)).is_lawful_so_far();
    let more = "a hire from outside is granted 400001 msat, but at most 400000";
    offered(capped, |hire| hire.grant.money = msat(400_001)).breaks(Law::Grants, more);
    // A maximum below the contract's minimum does not prevent the hire.
    let tight = |offer: &mut Offer| offer.share_max = Some(msat(1));
    offered(tight, |hire| hire.grant.money = msat(25_440)).is_lawful_so_far();
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
    in_form_1(offered(unsaid, |hire| hire.grant.money = msat(9_962_000))).is_lawful_so_far();
}

#[test]
fn a_fork_that_is_offered_from_outside_has_its_hirers_agent() {
    let forks = |offer: &mut Offer| offer.inherit = Inherit::Fork;
    let fork = |hire: &mut Brief| {
        hire.agent = root().agent;
        hire.context = Context::Fork { request: AskId(1), upto: 1, tokens: 1000 };
    };
    let scout = |offer: &mut Offer| offer.agent = agent("scout");
    offered(forks, fork).is_lawful_so_far();
    let named = |offer: &mut Offer| {
        forks(offer);
        scout(offer);
    };
    offered(named, fork).is_lawful_so_far();
    let other = "from outside, which was not offered";
    offered(scout, fork).breaks(Law::Refusals, other);
    offered(|_| (), fork).breaks(Law::Refusals, other);
    offered(forks, |_| ()).breaks(Law::Refusals, other);
}
