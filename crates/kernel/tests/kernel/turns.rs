//! Turns with tools, compaction and approvals; how asks are held and settled.

use guildhall_kernel::{Answer, Brief, Compaction, Cost, Effect, Reply, Stimulus, TextKind, Verdict};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{PRICED_INPUT, calling, hire, known, message, root, text, tool, words};

#[test]
fn a_contract_alternates_between_its_model_and_its_tools_until_a_final_text() {
    let mut hall = Hall::open(root("coder", 100));
    hall.says("1", &[tool("read")]);
    hall.tool_ends("1", "read", known(0));
    hall.final_text("1");
    assert_snapshot!(hall.facts("1"), @r#"
    opened coder with 100sat
    asked #1 model, holds 10sat
    answered #1 said 1 call, cost 4sat
    asked #2 tool read, holds 0sat
    answered #2 result "read"
    asked #3 model, holds 10sat
    answered #3 said "final text of 1", cost 4sat
    closed: done, accepted, "final text of 1", spent 8sat, change 92sat
    "#);
}

#[test]
fn calls_of_a_reply_are_admitted_in_order_and_the_next_turn_waits_for_all_of_them() {
    let mut hall = Hall::open(root("coder", 100));
    hall.skip_facts("1");
    hall.says("1", &[tool("read").price(60), tool("write").price(30), tool("list").price(5)]);
    hall.tool_ends("1", "write", known(30));
    assert!(!hall.waits_for_model("1"));
    hall.tool_ends("1", "read", known(60));
    assert!(hall.waits_for_model("1"));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said 3 calls, cost 4sat
    asked #2 tool read, holds 60sat
    asked #3 tool write, holds 30sat
    refused call 3 of #1: not enough money: at least 5sat is needed, 5sat was offered, 4sat is available: do the work yourself, or wait until a hire returns unspent money
    answered #3 result "write", cost 30sat
    answered #2 result "read", cost 60sat
    asked #4 model, holds 4sat
    "#);
}

#[test]
fn an_ask_holds_its_ceiling_and_its_answer_settles_it() {
    let mut hall = Hall::open(root("coder", 100));
    let mut purse = vec![hall.purse("1")];
    hall.says("1", &[tool("read").price(20)]);
    purse.push(hall.purse("1"));
    hall.tool_ends("1", "read", known(12));
    purse.push(hall.purse("1"));
    hall.final_text("1");
    purse.push(hall.purse("1"));
    assert_snapshot!(purse.join("\n"), @"
    100sat = 88sat available + 12sat held + 0sat spent
    100sat = 74sat available + 22sat held + 4sat spent
    100sat = 72sat available + 12sat held + 16sat spent
    100sat = 80sat available + 0sat held + 20sat spent
    ");
}

#[test]
fn a_cost_above_the_hold_is_charged_at_the_hold_and_stored_unchanged() {
    let mut hall = Hall::open(root("coder", 100));
    hall.skip_facts("1");
    hall.replies_for("1", calling(&[tool("read").price(20)]), known(11));
    hall.tool_ends("1", "read", known(50));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said 1 call, cost 11sat
    asked #2 tool read, holds 20sat
    answered #2 result "read", cost 50sat
    asked #3 model, holds 10sat
    "#);
    assert_snapshot!(hall.purse("1"), @"100sat = 58sat available + 12sat held + 30sat spent");
}

#[test]
fn an_unknown_cost_settles_at_the_hold() {
    let mut hall = Hall::open(root("coder", 100));
    hall.replies_for("1", words("done"), Cost::Unknown);
    assert_snapshot!(hall.purse("1"), @"100sat = 90sat available + 0sat held + 10sat spent");
}

#[test]
fn a_root_leaves_one_turn_besides_its_longest_reply() {
    let mut hall = Hall::open(root("coder", 14));
    hall.says("1", &[tool("read")]);
    hall.tool_ends("1", "read", known(0));
    assert_snapshot!(hall.facts("1"), @r#"
    opened coder with 14sat
    asked #1 model, holds 8sat
    answered #1 said 1 call, cost 4sat
    asked #2 tool read, holds 0sat
    answered #2 result "read"
    asked #3 model, holds 4sat
    "#);
}

#[test]
fn a_request_holds_the_price_of_the_reported_tokens_and_the_texts_added_since() {
    let mut hall = Hall::open(Brief {
        tariff: PRICED_INPUT,
        severance: PRICED_INPUT.last_min(),
        opening_bytes: 900,
        ..root("coder", 100)
    });
    hall.replies("1", Reply { input_tokens: Some(300), ..calling(&[tool("read")]) });
    hall.tool_ends("1", "read", known(0));
    assert_snapshot!(hall.facts("1"), @r#"
    opened coder with 100sat
    asked #1 model, holds 19sat
    answered #1 said 1 call, cost 4sat
    asked #2 tool read, holds 0sat
    answered #2 result "read"
    asked #3 model, holds 13.75sat
    "#);
}

#[test]
fn compaction_makes_later_requests_smaller() {
    let mut hall = Hall::open(Brief {
        tariff: PRICED_INPUT,
        severance: PRICED_INPUT.last_min(),
        opening_bytes: 900,
        ..root("coder", 100)
    });
    let shorter = Verdict { compact: Some(Compaction { upto: 1, bytes: 500 }), ..Verdict::default() };
    hall.replies("1", Reply { verdict: shorter, ..calling(&[tool("read")]) });
    hall.tool_ends("1", "read", known(0));
    assert_snapshot!(hall.facts("1"), @r#"
    opened coder with 100sat
    asked #1 model, holds 19sat
    answered #1 said 1 call, cost 4sat
    compacted the first 1 facts: 500 bytes
    asked #2 tool read, holds 0sat
    answered #2 result "read"
    asked #3 model, holds 15.75sat
    "#);
}

#[test]
fn facts_that_no_request_has_shown_are_never_compacted() {
    let mut hall = Hall::open(root("coder", 100));
    hall.owner_sends("1", Stimulus::Message(message("run the tests")));
    hall.skip_facts("1");
    let beyond = Verdict { compact: Some(Compaction { upto: 2, bytes: 10 }), ..Verdict::default() };
    hall.replies("1", Reply { verdict: beyond, ..words("done") });
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said "done", cost 4sat
    asked #2 model, holds 10sat
    "#);
}

#[test]
fn a_structured_output_comes_with_the_report() {
    let mut hall = Hall::open(root("coder", 100));
    let output = text(TextKind::Output, "{\"answer\": 42}");
    hall.replies("1", Reply { output: Some(output), ..words("forty-two") });
    assert_eq!(hall.report("1").output, Some(output));
}

#[test]
fn a_tool_call_holds_nothing_until_it_is_approved() {
    let mut hall = Hall::open(root("coder", 100));
    hall.skip_facts("1");
    hall.says("1", &[tool("deploy").price(20).if_approved_by(5000)]);
    assert_snapshot!(hall.purse("1"), @"100sat = 94sat available + 2sat held + 4sat spent");
    hall.owner_decides("1", Answer::Approved);
    hall.tool_ends("1", "deploy", known(20));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said 1 call, cost 4sat
    asked #2 question to owner until 5000ms: whether to deploy
    answered #2 approved
    asked #3 tool deploy, holds 20sat
    answered #3 result "deploy", cost 20sat
    asked #4 model, holds 10sat
    "#);
}

#[test]
fn a_tool_call_that_is_not_approved_is_refused_and_costs_nothing() {
    let mut hall = Hall::open(root("coder", 100));
    hall.skip_facts("1");
    hall.says("1", &[tool("deploy").price(20).if_approved_by(5000)]);
    hall.owner_decides("1", Answer::NoReply);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #1 said 1 call, cost 4sat
    asked #2 question to owner until 5000ms: whether to deploy
    answered #2 no reply
    refused call 1 of #1: the owner did not approve this call: continue without it
    asked #3 model, holds 10sat
    ");
}

#[test]
fn no_approval_in_time_means_no() {
    let mut hall = Hall::open(root("coder", 100));
    hall.says("1", &[tool("deploy").price(20).if_approved_by(5000), tool("read")]);
    hall.tool_ends("1", "read", known(0));
    hall.skip_facts("1");
    hall.set_time(4999);
    assert_snapshot!(hall.new_facts("1"), @"");
    hall.set_time(5000);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #2 no reply
    refused call 1 of #1: the owner did not approve this call: continue without it
    asked #4 model, holds 10sat
    ");
}

#[test]
fn an_approved_call_is_refused_if_the_money_is_gone() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.says("1", &[tool("deploy").price(20).if_approved_by(5000), hire("coder").budget(80)]);
    hall.skip_facts("1");
    hall.owner_decides("1", Answer::Approved);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #2 approved
    refused call 1 of #1: not enough money: at least 20sat is needed, 20sat was offered, 14sat is available: do the work yourself, or wait until a hire returns unspent money
    ");
}

#[test]
fn a_tool_call_that_must_not_be_repeated_is_made_like_any_other() {
    let mut hall = Hall::open(root("coder", 100));
    hall.says("1", &[tool("send").price(3).on_tool(|call| call.effect = Effect::Once)]);
    assert_snapshot!(hall.open_asks("1"), @"#2 tool send, holds 3sat");
}
