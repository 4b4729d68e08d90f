//! The scripts. If two events could come in either order, the script fixes the order, so that every engine has the same
//! right result.

use guildhall_agent::{ModelError, ToolResult};
use guildhall_kernel::{Limit, Millis, Outcome, Path, Stimulus};
use serde_json::json;

use super::cut::cutting;
use super::delegation::delegating;
use super::draws::drawing;
use super::script::{
    Response, Script, call, cancels, fails, hires, looks, looks_at_length, replies, says, sees, tells, wraps_up,
};
use super::waiting::waiting;
use crate::scenario::sat;

/// Returns every script.
pub fn scripts() -> Vec<Script> {
    [alone(), failing(), ending(), stimuli(), hiring(), delegating(), waiting(), drawing(), cutting()].concat()
}

fn alone() -> Vec<Script> {
    let look = |id: &str| looks(&[id]);
    vec![
        Script::new("a plain reply", 1000, Outcome::Done).line("1#1", says("Rock.")),
        Script::new("several turns with a tool", 1000, Outcome::Done)
            .line("1#1", look("a"))
            .line("1#2", sees("grey"))
            .line("1#3", look("b"))
            .line("1#4", sees("dusty"))
            .line("1#5", says("Grey dust.")),
        Script::new("calls that are answered in reverse order", 1000, Outcome::Done)
            .line("1#1", looks(&["a", "b", "c"]))
            .line("1#2", sees("first").after("1#3"))
            .line("1#3", sees("second").after("1#4"))
            .line("1#4", sees("third"))
            .line("1#5", says("All three.")),
        Script::new("older results are shortened before the window is full", 1000, Outcome::Done)
            .window(140)
            .line("1#1", look("a"))
            .line("1#2", sees(&"grey ".repeat(80)))
            .line("1#3", look("b"))
            .line("1#4", sees(&"dusty ".repeat(80)))
            .line("1#5", says("Grey dust.")),
    ]
}

fn failing() -> Vec<Script> {
    let broken = ModelError::Broken { provider: "test".to_owned(), why: "the connection was reset".to_owned() };
    let refused = ModelError::Refused { provider: "test".to_owned(), why: "wrong key".to_owned() };
    let unreadable = vec![
        call("a", "look", Err("{\"at\": ".to_owned())),
        call("b", "touch", Ok(json!({}))),
        call("b", "look", Ok(json!({}))),
        call("c", "look", Ok(json!({"at": "c"}))),
    ];
    vec![
        Script::new("a tool that fails", 1000, Outcome::Done)
            .line("1#1", looks(&["a"]))
            .line("1#2", Response::Tool(ToolResult::failed("it is cloudy")))
            .line("1#3", says("I could not see.")),
        Script::new("calls that can't be read", 1000, Outcome::Done)
            .line("1#1", Response::Model(replies(None, unreadable, 10)))
            .line("1#2", sees("grey"))
            .line("1#3", says("Grey.")),
        Script::new("a broken reply is asked for again", 1000, Outcome::Done)
            .line("1#1", fails(broken))
            .line("1#2", says("Rock.")),
        Script::new("a model that can't be used", 1000, Outcome::Failed).line("1#1", fails(refused)),
        Script::new("an empty reply is nudged once", 1000, Outcome::Failed)
            .line("1#1", says(" "))
            .line("1#2", says("")),
    ]
}

fn ending() -> Vec<Script> {
    vec![
        Script::new("a purse that runs out of money", 40, Outcome::Exhausted(Limit::Purse))
            .line("1#1", looks_at_length(&["a"], 90))
            .line("1#2", sees("grey"))
            .line("1#3", says("Grey, so far.")),
        Script::new("turns that run out", 1000, Outcome::Exhausted(Limit::Turns))
            .with(|brief| brief.turns_max = 2)
            .line("1#1", looks(&["a"]))
            .line("1#2", sees("grey"))
            .line("1#3", looks(&["b"]))
            .line("1#4", sees("dusty"))
            .line("1#5", says("Grey, so far.")),
        Script::new("a call that still runs at the deadline", 1000, Outcome::Exhausted(Limit::Deadline))
            .with(|brief| brief.grant = brief.grant.due(Some(Millis(1_900)), Millis(0)))
            .line("1#1", Response::Nothing)
            .line("1#2", Response::Nothing),
    ]
}

fn stimuli() -> Vec<Script> {
    vec![
        Script::new("a wrap-up during a model call", 1000, Outcome::Exhausted(Limit::Asked))
            .line("1#1", looks(&["a"]).instruction(1, wraps_up()))
            .line("1#2", says("Nothing yet.")),
        Script::new("a cancel during a model call", 1000, Outcome::Cancelled)
            .line("1#1", Response::Nothing.instruction(1, cancels())),
        Script::new("a cancel during one of two tool calls", 1000, Outcome::Cancelled)
            .line("1#1", looks(&["a", "b"]))
            .line("1#2", sees("grey"))
            .line("1#3", Response::Nothing.instruction(1, cancels()).after("1#2")),
        Script::new("a message during a model call", 1000, Outcome::Done)
            .line("1#1", looks(&["a"]).instruction(1, tells("Look closely.")))
            .line("1#2", sees("grey"))
            .line("1#3", says("Grey.")),
        Script::new("the same message twice", 1000, Outcome::Done)
            .line("1#1", says("Rock.").instruction(1, tells("Why?")).instruction(1, tells("Why?")))
            .line("1#2", says("It is heavy.")),
    ]
}

fn hiring() -> Vec<Script> {
    let gift = (Stimulus::TopUp { to: Path::root(1).hire(1), money: sat(7), draw: None }, Vec::new());
    vec![
        Script::new("a hire reports to its hirer", 1000, Outcome::Done)
            .line("1#1", says("I wait.").instruction(1, hires("Look at the near side.")))
            .line("1.1#1", looks(&["a"]).after("1#1"))
            .line("1.1#2", sees("grey"))
            .line("1.1#3", says("Grey."))
            .line("1#3", says("The near side is grey.")),
        Script::new("two hires at work at the same time", 1000, Outcome::Done)
            .line(
                "1#1",
                says("I wait.")
                    .instruction(1, hires("Look at the near side."))
                    .instruction(2, hires("And the far one.")),
            )
            .line("1.1#1", says("Grey.").after("1#1"))
            .line("1.2#1", says("Grey as well.").after("1#4"))
            .line("1#4", says("One is grey."))
            .line("1#5", says("Both are grey.")),
        Script::new("money for a hire goes through its hirer", 1000, Outcome::Done)
            .line("1#1", looks(&["a"]).instruction(1, hires("Look at the near side.")).instruction(2, gift))
            .line("1.1#1", says("Grey.").after("1#5"))
            .line("1#4", sees("a gift").after("1#3"))
            .line("1#5", says("I wait."))
            .line("1#6", says("Grey.")),
        Script::new("a wrap-up is passed on to a hire", 1000, Outcome::Exhausted(Limit::Asked))
            .line("1#1", looks(&["a"]).instruction(1, hires("Look at the near side.")))
            .line("1.1#1", looks(&["b"]).after("1#3"))
            .line("1#3", sees("grey").instruction(2, wraps_up()).until("1#4"))
            .line("1.1#2", says("Little."))
            .line("1#5", says("Little, says who I hired.")),
        Script::new("a cancel is passed on to a hire", 1000, Outcome::Cancelled)
            .line("1#1", looks(&["a"]).instruction(1, hires("Look at the near side.")))
            .line("1#3", sees("grey"))
            .line("1#4", says("I wait."))
            .line("1.1#1", looks(&["b"]).after("1#4"))
            .line("1.1#2", Response::Nothing.instructs("1", 2, cancels())),
    ]
}
