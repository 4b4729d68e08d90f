//! Hires: blocking, in the background, forked, from outside; how money, heads, terms and time are passed on to hires.

use guildhall_kernel::{
    Answer, Ask, AskId, Brief, Compaction, Context, Grant, Heads, Hiring, Inherit, Millis, Offer, Reply, Stimulus,
    TextRef, Verdict, WRAP_UP_MARGIN_MAX,
};
use insta::assert_snapshot;

use crate::hall::{Delivery, Hall};
use crate::say::{
    Do, PRICED_INPUT, calling, hire, hiring, known, message, offer, path, root, sat, stop, tell, term, tool, words,
};

#[test]
fn hires_of_hires_report_upwards_and_their_change_comes_back() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(300).team(&["reader"]), hire("coder").budget(500)]);
    hall.says("1.1", &[hire("reader").budget(100).background()]);
    hall.replies_for("1.1.1", calling(&[tool("grep").price(31)]), known(4));
    hall.says("1.1", &[stop("1.1.1")]);
    hall.tool("1.1.1", "grep", Answer::Aborted, known(31));
    hall.final_text("1.1");
    hall.final_text("1.1");
    hall.final_text("1.2");
    hall.final_text("1");
    assert_snapshot!(hall.tree(), @"
    contractor     1000sat  done       spent 63sat
    ├─ researcher   300sat  done       spent 51sat
    │  └─ reader    100sat  cancelled  spent 35sat
    └─ coder        500sat  done       spent  4sat
    ");
}

#[test]
fn the_call_of_a_blocking_hire_is_answered_with_its_report() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.skip_facts("1");
    hall.says("1", &[hire("coder").budget(300)]);
    assert!(!hall.waits_for_model("1"));
    hall.final_text("1.1");
    assert_snapshot!(hall.new_facts("1"), @"
    answered #1 said 1 call, cost 4sat
    asked #2 hire 1.1 coder, holds 300sat and 1 head
    answered #2 report done, cost 4sat
    asked #3 model hearing #2, holds 10sat
    ");
}

#[test]
fn the_call_of_a_background_hire_is_answered_immediately_and_the_report_comes_later() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.skip_facts("1");
    hall.says("1", &[hire("coder").budget(300).background()]);
    hall.final_text("1.1");
    hall.says("1", &[tool("read")]);
    hall.tool_ends("1", "read", known(0));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said 1 call, cost 4sat
    asked #2 hire 1.1 coder in background, holds 300sat and 1 head
    asked #3 model, holds 10sat
    answered #2 report done, cost 4sat
    answered #3 said 1 call, cost 4sat
    asked #4 tool read, holds 0sat
    answered #4 result "read"
    asked #5 model hearing #2, holds 10sat
    "#);
}

#[test]
fn a_contract_that_waits_asks_nothing_that_needs_a_permit() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(500).team(&["coder"])]);
    hall.says("1.1", &[hire("coder").budget(100)]);
    for waiting in ["1", "1.1"] {
        assert!(hall.contract(waiting).outstanding().all(|(_, ask)| matches!(ask, Ask::Hire { .. })));
    }
    assert!(hall.waits_for_model("1.1.1"));
}

#[test]
fn a_fork_begins_with_its_hirers_last_request_and_the_reply_that_made_it() {
    let mut hall =
        Hall::open(Brief { tariff: PRICED_INPUT, severance: PRICED_INPUT.last_min(), ..root("contractor", 1000) });
    hall.owner_sends("1", Stimulus::Message(message("sent after the request")));
    hall.replies("1", Reply { input_tokens: Some(80), ..calling(&[fork("the left half")]) });
    let brief = hall.contract("1.1").brief();
    let Context::Fork { request, upto, tokens } = brief.context else { panic!("{:?}", brief.context) };
    assert_eq!((request, upto), (AskId(1), 1));
    assert!(tokens > 80, "{tokens}: the reply and room for the results of its calls are added");
    assert_eq!(brief.agent, hall.contract("1").brief().agent);
    assert_eq!(brief.tariff, PRICED_INPUT);
}

#[test]
fn a_fork_holds_the_price_of_its_prefix_without_a_cache_discount() {
    let mut hall =
        Hall::open(Brief { tariff: PRICED_INPUT, severance: PRICED_INPUT.last_min(), ..root("contractor", 1000) });
    hall.replies("1", Reply { input_tokens: Some(2000), ..calling(&[fork("the left half")]) });
    assert_snapshot!(hall.open_asks("1.1"), @"#1 model, holds 33.63sat");
    hall.replies_for("1.1", words("cached"), known(3));
    assert_snapshot!(hall.tree(), @"
    contractor     1000sat  at work  spent 7sat
    └─ contractor   100sat  done     spent 3sat
    ");
}

fn fork(task: &str) -> Do {
    hire("ignored-name").task(task).budget(100).with(|offer| offer.inherit = Inherit::Fork)
}

#[test]
fn unused_heads_come_back_with_the_report() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").team(&["reader"]).with(|offer| offer.heads = Some(Heads(5)))]);
    assert_eq!(hall.contract("1").heads().available(), Heads(4));
    hall.says("1.1", &[hire("reader").budget(50)]);
    hall.final_text("1.1.1");
    hall.final_text("1.1");
    assert_eq!(hall.contract("1").heads().available(), Heads(8));
    assert_eq!(hall.contract("1").heads().spent(), Heads(2));
}

#[test]
fn terms_are_appended_on_every_level_and_never_dropped() {
    let own =
        Brief { terms: [term("in English")].into(), adds: [term("under $900")].into(), ..root("contractor", 1000) };
    let mut hall = Hall::open(own);
    let manager = |name: &str, below: &str, own: TextRef, adds: TextRef| {
        hire(name).team(&[below]).with(|offer| (offer.terms, offer.adds) = ([own].into(), [adds].into()))
    };
    hall.says("1", &[manager("researcher", "reader", term("only today"), term("cite all"))]);
    hall.says("1.1", &[manager("reader", "clerk", term("page one"), term("no ads"))]);
    hall.says("1.1.1", &[hire("clerk")]);
    let terms = hall.contract("1.1.1.1").brief().terms.to_vec();
    let expected = ["in English", "under $900", "only today", "cite all", "page one", "no ads"];
    assert_eq!(terms, expected.map(term));
}

#[test]
fn depth_falls_by_one_per_level() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").team(&["reader"]).with(|offer| offer.depth = Some(1))]);
    hall.says("1.1", &[hire("reader")]);
    let depth = |at: &str| hall.contract(at).brief().grant.depth;
    assert_eq!([depth("1"), depth("1.1"), depth("1.1.1")], [5, 1, 0]);
}

#[test]
fn a_hires_deadline_leaves_its_hirer_the_wrap_up_margin() {
    let own = root("contractor", 1000);
    let due = Millis(600_000);
    let mut hall = Hall::open(Brief {
        grant: Grant { deadline: Some(due), margin: Some(WRAP_UP_MARGIN_MAX), ..own.grant },
        ..own
    });
    let late = |offer: &mut Offer| offer.deadline = Some(Millis(1_000_000));
    let soon = |offer: &mut Offer| offer.deadline = Some(Millis(100_000));
    hall.says("1", &[hire("researcher").team(&["reader"]), hire("coder").with(late), hire("tester").with(soon)]);
    hall.says("1.1", &[hire("reader")]);
    let deadline = |at: &str| hall.contract(at).brief().grant.deadline;
    let latest = due.before(WRAP_UP_MARGIN_MAX);
    assert_eq!([deadline("1.1"), deadline("1.2")], [Some(latest); 2]);
    assert_eq!(deadline("1.3"), Some(Millis(100_000)));
    assert_eq!(deadline("1.1.1"), Some(latest.before(WRAP_UP_MARGIN_MAX)));
}

#[test]
fn a_hire_from_outside_runs_in_the_background_and_its_report_causes_a_turn() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.skip_facts("1");
    hall.owner_sends("1", Stimulus::Hire(Box::new(offer("coder"))));
    hall.final_text("1");
    assert!(!hall.waits_for_model("1"));
    hall.final_text("1.1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    heard hire of coder
    asked #2 hire 1.1 coder in background, holds 66sat and 1 head (from outside)
    answered #1 said "final text of 1", cost 4sat
    answered #2 report done, cost 4sat
    asked #3 model hearing #2, holds 10sat
    "#);
}

#[test]
fn a_recursive_agent_can_hire_itself_for_another_task() {
    let own = root("contractor", 1000);
    let recursive = |names: &[&str]| Some(Hiring { recursive: true, ..hiring(names) });
    let mut hall = Hall::open(Brief { hiring: recursive(&["contractor"]), ..own });
    let again = |task: &str| hire("contractor").task(task).with(|offer| offer.hiring = recursive(&["contractor"]));
    hall.says("1", &[again("one half")]);
    hall.says("1.1", &[again("one quarter")]);
    assert_snapshot!(hall.tree(), @"
    contractor        1000sat  at work  spent 4sat
    └─ contractor      990sat  at work  spent 4sat
       └─ contractor   980sat  at work  spent 0sat
    ");
}

#[test]
fn after_a_final_text_with_live_hires_each_report_causes_one_turn() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").background(), hire("coder").background()]);
    hall.skip_facts("1");
    hall.final_text("1");
    assert!(!hall.waits_for_model("1"));
    hall.final_text("1.2");
    hall.final_text("1");
    assert!(!hall.waits_for_model("1"));
    hall.final_text("1.1");
    hall.final_text("1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #4 said "final text of 1", cost 4sat
    answered #3 report done, cost 4sat
    asked #5 model hearing #3, holds 10sat
    answered #5 said "final text of 1", cost 4sat
    answered #2 report done, cost 4sat
    asked #6 model hearing #2, holds 10sat
    answered #6 said "final text of 1", cost 4sat
    closed: done, accepted, "final text of 1", spent 24sat, change 976sat
    "#);
}

#[test]
fn reports_that_arrive_during_a_model_call_are_in_the_next_request() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").background(), hire("coder").background()]);
    hall.skip_facts("1");
    hall.final_text("1.2");
    hall.final_text("1.1");
    hall.final_text("1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #3 report done, cost 4sat
    answered #2 report done, cost 4sat
    answered #4 said "final text of 1", cost 4sat
    asked #5 model hearing #3 #2, holds 10sat
    "#);
}

#[test]
fn a_report_is_owed_through_compaction_until_a_request_includes_it() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").background()]);
    hall.final_text("1.1");
    hall.skip_facts("1");
    let compact = Some(Compaction { upto: 3, bytes: 50 });
    let verdict = Verdict { compact, ..Default::default() };
    hall.replies("1", Reply { verdict, ..calling(&[tool("read")]) });
    hall.tool_ends("1", "read", known(0));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #3 said 1 call, cost 4sat
    compacted the first 3 facts: 50 bytes
    asked #4 tool read, holds 0sat
    answered #4 result "read"
    asked #5 model hearing #2, holds 10sat
    "#);
}

#[test]
fn a_hirer_closes_only_when_its_stimuli_to_hires_are_delivered() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").budget(300)]);
    hall.set_delivery(Delivery::Slow);
    hall.final_text("1.1");
    hall.owner_sends("1", Stimulus::TopUp { to: path("1.1"), money: sat(50), draw: None });
    hall.deliver_next();
    hall.final_text("1");
    assert!(hall.contract("1").report().is_none(), "the top-up is not delivered yet");
    hall.set_delivery(Delivery::Prompt);
    assert_snapshot!(hall.tree(), @"
    contractor  1050sat  done  spent 12sat
    └─ coder     300sat  done  spent  4sat
    ");
}

#[test]
fn a_message_to_a_hire_is_delivered_and_heard() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").background()]);
    hall.skip_facts("1.1");
    hall.says("1", &[tell("1.1", "use tabs")]);
    hall.final_text("1.1");
    assert_snapshot!(hall.new_facts("1.1"), @r#"
    heard message "use tabs"
    answered #1 said "final text of 1.1", cost 4sat
    asked #2 model, holds 10sat
    "#);
}
