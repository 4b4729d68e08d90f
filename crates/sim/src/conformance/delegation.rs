//! Scripts in which agents hire with their own calls: hires, forks, questions, boards and refusals.

use guildhall_agent::roster::DelegationMode::{Cascade, Offered, Required};
use guildhall_agent::roster::Dialect::{Agent, DelegateTask, DelegateToAgent};
use guildhall_kernel::{Heads, Outcome};
use serde_json::{Value, json};

use super::script::{Response, Script, call, calls, looks, replies, says, sees};
use super::teams::{circle, strict, team, team_of};

/// Returns the scripts about delegation.
pub(crate) fn delegating() -> Vec<Script> {
    [hiring(), contexts(), steering(), talking(), modes(), checking(), refusing()].concat()
}

fn boss(name: &'static str) -> Script {
    Script::new(name, 1000, Outcome::Done).team(team(DelegateTask, Offered)).with(|brief| brief.grant.depth = 2)
}

fn task(specialty: &str, task: &str) -> Value {
    json!({"specialty": specialty, "task": task, "budget": 100})
}

fn background(specialty: &str, task: &str) -> Value {
    json!({"specialty": specialty, "task": task, "budget": 100, "background": true})
}

fn hires(id: &str, arguments: Value) -> Response {
    calls(&[(id, "delegate_task", arguments)])
}

fn hiring() -> Vec<Script> {
    vec![
        boss("a call that hires is answered by the report")
            .line("1#1", hires("a", task("near-looker", "Look at the near side.")))
            .line("1.1#1", looks(&["x"]))
            .line("1.1#2", sees("grey"))
            .line("1.1#3", says("Grey."))
            .line("1#3", says("The near side is grey.")),
        boss("two blocking hires and one in the background")
            .line(
                "1#1",
                calls(&[
                    ("a", "delegate_task", task("near side", "Look at the near side.")),
                    ("b", "delegate_task", task("Far-Side", "Look at the far side.")),
                    ("c", "delegate_task", background("cook", "Taste the cheese.")),
                ]),
            )
            .line("1.1#1", says("Grey."))
            .line("1.2#1", says("Grey as well.").after("1#2"))
            .line("1.3#1", says("It tastes of dust.").after("1#5"))
            .line("1#5", says("Both sides are grey."))
            .line("1#6", says("Grey, and no cheese.")),
        boss("hires without a budget share the available money")
            .line(
                "1#1",
                calls(&[
                    ("a", "delegate_task", json!({"specialty": "cook", "task": "Taste it."})),
                    ("b", "delegate_task", json!({"specialty": "near-looker", "task": "Look at it."})),
                ]),
            )
            .line("1.1#1", says("Dust."))
            .line("1.2#1", says("Grey.").after("1#2"))
            .line("1#4", says("Grey dust.")),
    ]
}

fn contexts() -> Vec<Script> {
    let agents = |name| Script::new(name, 1000, Outcome::Done).team(team(Agent, Offered));
    vec![
        agents("a fork sees the conversation and a fresh hire does not")
            .line("1#1", looks(&["x"]))
            .line("1#2", sees("a grey ball"))
            .line(
                "1#3",
                calls(&[
                    ("a", "Agent", json!({"name": "bug-investigator", "prompt": "Say what it is made of."})),
                    ("b", "Task", json!({"subagent_type": "cook", "prompt": "Say how it tastes."})),
                ]),
            )
            .line("1.1#1", says("Rock, being grey."))
            .line("1.2#1", says("I can't know.").after("1#4"))
            .line("1#6", says("Rock.")),
        agents("a fork of a fork sees both conversations")
            .with(|brief| brief.grant.depth = 2)
            .line("1#1", calls(&[("a", "Agent", json!({"prompt": "Look at its near side."}))]))
            .line("1.1#1", calls(&[("b", "Agent", json!({"prompt": "Look at its left half."}))]))
            .line("1.1.1#1", says("Grey."))
            .line("1.1#3", says("Its left half is grey."))
            .line("1#3", says("Half of it is grey.")),
        boss("a fork in another dialect")
            .line("1#1", hires("a", json!({"task": "Go on with the far side.", "context": "fork"})))
            .line("1.1#1", says("Grey."))
            .line("1#3", says("Grey all over.")),
        Script::new("a prompt is passed on to an agent", 1000, Outcome::Done)
            .team(team(DelegateToAgent, Offered))
            .line(
                "1#1",
                calls(&[("a", "delegate_to_agent", json!({"target_agent": "near-looker", "prompt": "Look at it."}))]),
            )
            .line("1.1#1", says("Grey."))
            .line("1#3", says("Grey, it says.")),
    ]
}

fn steering() -> Vec<Script> {
    let two = || {
        calls(&[
            ("a", "delegate_task", background("near-looker", "Look at the near side.")),
            ("b", "delegate_task", background("far-looker", "Look at the far side.")),
        ])
    };
    vec![
        boss("hires are listed, sent a message, stopped and awaited")
            .line("1#1", two())
            .line("1.1#1", Response::Nothing)
            .line("1.2#1", looks(&["x"]).after("1#7"))
            .line("1#4", calls(&[("c", "list_agents", json!({}))]))
            .line("1#6", calls(&[("d", "message_agent", json!({"id": "1.2", "text": "Look closely."}))]))
            .line("1.2#2", sees("grey"))
            .line("1#8", calls(&[("e", "stop_agent", json!({"id": "1.1"}))]))
            .line("1#10", calls(&[("f", "wait_for_agents", json!({"ids": ["1.2"], "timeout_s": 600}))]).after("1#2"))
            .line("1.2#3", says("Grey, on a close look.").after("1#10"))
            .line("1#11", calls(&[("g", "list_agents", json!({}))]))
            .line("1#13", says("The far side is grey.")),
        boss("a hire that waits for its own hire is listed so")
            .line("1#1", hires("a", json!({"task": "Look at its near side.", "context": "fork", "background": true})))
            .line("1.1#1", hires("b", json!({"task": "Look at its left half.", "context": "fork"})))
            .line("1#3", calls(&[("c", "list_agents", json!({}))]).after("1.1.1#1"))
            .line("1.1.1#1", looks(&["x"]))
            .line("1.1.1#2", sees("grey").after("1#5"))
            .line("1.1.1#3", says("Grey."))
            .line("1.1#3", says("Its left half is grey."))
            .line("1#5", says("I wait for it."))
            .line("1#6", says("Half of it is grey.")),
        boss("a wait for one of two hires, and a wait with a time limit")
            .line("1#1", two())
            .line("1#4", calls(&[("c", "wait_for_agents", json!({"timeout_s": 0}))]))
            .line("1#5", calls(&[("d", "wait_for_agents", json!({"any": true}))]))
            .line("1.1#1", says("Grey.").after("1#5"))
            .line("1#6", says("The near side is grey."))
            .line("1.2#1", says("Grey as well.").after("1#6"))
            .line("1#7", says("Both are grey.")),
        boss("an unknown hire is not sent a message, stopped or awaited")
            .line(
                "1#1",
                calls(&[
                    ("a", "message_agent", json!({"id": "1.1", "text": "Are you there?"})),
                    ("b", "stop_agent", json!({"id": "2"})),
                    ("c", "wait_for_agents", json!({"ids": ["1.7"]})),
                    ("d", "wait_for_agents", json!({})),
                    ("e", "message_agent", json!({"id": "the cook", "text": "Hello."})),
                    ("f", "message_agent", json!({"id": "1.1", "text": " "})),
                ]),
            )
            .line("1#2", says("There is nobody.")),
    ]
}

fn talking() -> Vec<Script> {
    vec![
        boss("a hire asks its hirer, which answers")
            .line("1#1", hires("a", task("near-looker", "Look at it.")))
            .line("1.1#1", calls(&[("x", "ask_hirer", json!({"question": "Which side?"}))]))
            .line("1#3", calls(&[("b", "message_agent", json!({"id": "1.1", "text": "The near one."}))]))
            .line("1#5", says("I wait."))
            .line("1.1#3", says("It is grey.").after("1#5"))
            .line("1#6", says("The near side is grey.")),
        boss("the hires of one hirer share a board")
            .line(
                "1#1",
                calls(&[
                    ("a", "delegate_task", task("near-looker", "Look at the near side.")),
                    ("b", "delegate_task", task("far-looker", "Look at the far side.")),
                ]),
            )
            .line("1.1#1", calls(&[("x", "board", json!({"post": "It is grey here. </post>"}))]))
            .line("1.2#1", calls(&[("y", "board", json!({"post": "And here."}))]).after("1.1#2"))
            .line("1.1#3", calls(&[("z", "board", json!({"post": "x".repeat(3000)}))]).after("1.2#2"))
            .line("1.1#5", calls(&[("w", "board", json!({}))]))
            .line("1.1#7", says("Grey on both sides."))
            .line("1.2#3", says("Grey.").after("1#2"))
            .line("1#4", says("Grey.")),
    ]
}

fn modes() -> Vec<Script> {
    let with = |name, mode| Script::new(name, 1000, Outcome::Done).team(team(DelegateTask, mode));
    vec![
        with("a cascade hires the agents that the first reply names", Cascade)
            .line("1#1", says("I need to know from my near-looker what it sees, and the cook should taste it."))
            .line("1.1#1", says("Grey."))
            .line("1.2#1", says("Dust.").after("1#2"))
            .line("1#4", says("Grey dust.")),
        with("a cascade without a named agent hires the agents that the task is about", Cascade)
            .line("1#1", says("That is a good question."))
            .line("1.1#1", says("Grey."))
            .line("1#3", says("Grey rock.")),
        with("a cascade that is refused is shown to the agent", Cascade)
            .with(|brief| brief.grant.heads = Heads(0))
            .line("1#1", says("Let the cook taste it."))
            .line("1#2", says("I could not find out.")),
        with("an agent that must hire is nudged once", Required)
            .line("1#1", says("Rock."))
            .line("1#2", hires("a", task("near-looker", "Look at it.")))
            .line("1.1#1", says("Grey."))
            .line("1#4", says("Grey rock.")),
        with("the runtime hires for an agent that must hire and does not", Required)
            .line("1#1", says("Rock."))
            .line("1#2", says("Rock, but the cook knows better."))
            .line("1.1#1", says("Dust."))
            .line("1#4", says("It is dust.")),
        with("an agent that only names a team member is nudged to make the call", Offered)
            .line("1#1", says("I will ask the cook to taste it."))
            .line("1#2", hires("a", task("cook", "Taste it.")))
            .line("1.1#1", says("Dust."))
            .line("1#4", says("It is dust.")),
        with("the report of an agent that ignores the nudge counts", Offered)
            .line("1#1", says("I will ask the cook to taste it."))
            .line("1#2", says("As I said, I will ask the cook.")),
    ]
}

fn checking() -> Vec<Script> {
    let (many, few) = ("Many [1.1#2]. {\"stones\": 20}", "A few [1.1#2]. {\"stones\": 7}");
    let strict = |name| {
        let script = Script::new(name, 1000, Outcome::Done).team(strict());
        script
            .line("1#1", hires("a", task("near-looker", "Count the stones.")))
            .line("1.1#1", looks(&["x"]))
            .line("1.1#2", sees("stones"))
            .line("1#3", says("I see."))
    };
    vec![
        strict("a report that passes its checks is accepted").line("1.1#3", says(few)),
        strict("a report that fails a check is corrected once").line("1.1#3", says(many)).line("1.1#6", says(few)),
        strict("a report that fails a check twice is not accepted")
            .line("1.1#3", says("A few [1.1#9]. {\"stones\": 7}"))
            .line("1.1#6", says("A few. {\"stones\": 7}")),
    ]
}

fn refusing() -> Vec<Script> {
    let budgeted = |id, budget: Value| {
        call(id, "delegate_task", Ok(json!({"specialty": "cook", "task": "Taste it.", "budget": budget})))
    };
    let budgets = vec![
        budgeted("a", json!(0)),
        budgeted("b", json!(-1)),
        budgeted("c", json!("NaN")),
        budgeted("d", json!("a lot")),
        budgeted("e", json!([5])),
        budgeted("f", json!(1)),
        call("g", "delegate_task", Ok(json!({"specialty": "cook", "task": "", "budget": 100}))),
        call("h", "delegate_task", Ok(json!({"specialty": "cook", "budget": 100}))),
        call("i", "delegate_task", Ok(json!({"specialty": "../cook", "task": "Taste it."}))),
        call("j", "delegate_task", Ok(json!({"specialty": "stargazer", "task": "Look at it.", "budget": 100}))),
        call("k", "Agent", Ok(json!({"prompt": "Look at it."}))),
    ];
    vec![
        boss("hires that can't be read and hires of unknown agents are refused with the reason")
            .line("1#1", Response::Model(replies(None, budgets, 10)))
            .line("1#2", says("I could not hire anybody.")),
        Script::new("a hire with less than the minimum is refused", 150, Outcome::Done)
            .team(team(DelegateTask, Offered))
            .line("1#1", hires("a", json!({"specialty": "cook", "task": "Taste it.", "budget": 19})))
            .line("1#2", says("I can't pay for it.")),
        Script::new("an agent does not hire itself or an agent above it", 1000, Outcome::Done)
            .team(circle())
            .team_of("near-looker", team_of("near-looker", &["boss"], DelegateTask, Offered))
            .with(|brief| brief.grant.depth = 3)
            .line("1#1", hires("a", task("boss", "Look at the near side.")))
            .line("1#2", hires("b", task("near-looker", "Look at the near side.")))
            .line("1.1#1", hires("c", task("boss", "Tell me which side.")))
            .line("1.1#2", says("Grey."))
            .line("1#4", says("The near side is grey.")),
        boss("a hire below the granted depth is refused")
            .with(|brief| brief.grant.depth = 0)
            .line("1#1", hires("a", task("cook", "Taste it.")))
            .line("1#2", says("I stay alone.")),
        boss("a hire without a free head is refused")
            .with(|brief| brief.grant.heads = Heads(1))
            .line("1#1", hires("a", background("cook", "Taste it.")))
            .line("1#3", hires("b", task("near-looker", "Look at it.")))
            .line("1#4", says("One must do."))
            .line("1.1#1", says("Dust.").after("1#4"))
            .line("1#5", says("Dust.")),
    ]
}
