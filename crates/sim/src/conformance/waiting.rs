//! Scripts with hires that wait for money: when they begin, and when they are refused.

use guildhall_agent::ToolResult;
use guildhall_agent::roster::DelegationMode::Offered;
use guildhall_agent::roster::Dialect::DelegateTask;
use guildhall_kernel::{Limit, Outcome};
use serde_json::{Value, json};

use super::script::{
    Response, Script, calls, cancels, hires, looks, looks_at_length, replies, says, sees, tells, tops_up, wraps_up,
};
use super::teams::team;

/// Returns the scripts about hires that wait for money.
pub(crate) fn waiting() -> Vec<Script> {
    [beginning(), topping_up_and_forking(), detaching(), refusing(), steering()].concat()
}

/// Pays for two hires, and not for a third. A hire without a budget needs 16 turns of about 10.5 sat and its severance of 20 sat.
const TWO_HIRES: u64 = 450;

/// Pays for one hire, and not for a second.
const ONE_HIRE: u64 = 260;

fn boss(name: &'static str, money: u64) -> Script {
    Script::new(name, money, Outcome::Done).team(team(DelegateTask, Offered)).with(|brief| brief.grant.depth = 2)
}

fn task(specialty: &str) -> Value {
    json!({"specialty": specialty, "task": "Look at it."})
}

fn background(specialty: &str) -> Value {
    json!({"specialty": specialty, "task": "Look at it.", "background": true})
}

/// Three hires that the hirer waits for.
fn three() -> Response {
    let specialties = [("a", "near-looker"), ("b", "far-looker"), ("c", "cook")];
    calls(&specialties.map(|(id, specialty)| (id, "delegate_task", task(specialty))))
}

fn two() -> Response {
    calls(&[("a", "delegate_task", task("near-looker")), ("b", "delegate_task", task("cook"))])
}

fn two_in_background() -> Response {
    calls(&[("a", "delegate_task", background("near-looker")), ("b", "delegate_task", background("cook"))])
}

/// Three hires in the background.
fn three_in_background() -> Response {
    let specialties = [("a", "near-looker"), ("b", "far-looker"), ("c", "cook")];
    calls(&specialties.map(|(id, specialty)| (id, "delegate_task", background(specialty))))
}

fn beginning() -> Vec<Script> {
    let hire_and_look = calls(&[("a", "delegate_task", task("cook")), ("x", "look", json!({"at": "x"}))]);
    vec![
        boss("a hire that waits for money begins after the report of another hire", TWO_HIRES)
            .line("1#1", three())
            .line("1.1#1", says("Grey."))
            .line("1.2#1", says("Grey as well.").after("1#2"))
            .line("1.3#1", says("Dust.").after("1#3"))
            .line("1#5", says("Grey dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.3 waits",
                    "1.1 reports: Done",
                    "1.3 begins",
                    "1.2 reports: Done",
                    "1.3 reports: Done",
                    "closed: Done",
                ],
            ),
        Script::new("a hire that waits for money begins when the hirer's own reply has come", 69, Outcome::Done)
            .line("1#1", says("I wait.").instruction(1, hires("Look at the near side.")))
            .line("1.1#1", says("Grey."))
            .line("1#3", says("The near side is grey."))
            .shows(
                "1",
                &["the owner hires", "1.1 waits", "1.1 begins in the background", "1.1 reports: Done", "closed: Done"],
            ),
        boss("a hire that waits for money begins when a tool call has ended", 64)
            .line("1#1", hire_and_look)
            .line("1#2", Response::Tool(ToolResult::done("grey")))
            .line("1.1#1", says("Dust."))
            .line("1#4", says("Grey dust."))
            .shows("1", &["1.1 waits", "1.1 begins", "1.1 reports: Done", "closed: Done"]),
    ]
}

fn topping_up_and_forking() -> Vec<Script> {
    let three_and_look = calls(&[
        ("a", "delegate_task", task("near-looker")),
        ("b", "delegate_task", task("far-looker")),
        ("c", "delegate_task", task("cook")),
        ("x", "look", json!({"at": "x"})),
    ]);
    vec![
        boss("a hire that waits for money begins after a top-up of a person", TWO_HIRES)
            .line("1#1", three_and_look)
            .line("1#4", sees("grey").instruction(1, tops_up("1", 200)))
            .line("1.3#1", says("Dust.").after("1#4"))
            .line("1.1#1", says("Grey.").after("1#5"))
            .line("1.2#1", says("Grey as well.").after("1#2"))
            .line("1#6", says("Grey dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.3 waits",
                    "the owner sends a top-up",
                    "1.3 begins",
                    "1.3 reports: Done",
                    "1.1 reports: Done",
                    "1.2 reports: Done",
                    "closed: Done",
                ],
            ),
        boss("a fork that waits for money sees the request that made it", TWO_HIRES)
            .line(
                "1#1",
                calls(&[
                    ("a", "delegate_task", task("near-looker")),
                    ("b", "delegate_task", task("far-looker")),
                    ("c", "delegate_task", json!({"task": "Think about the cheese.", "context": "fork"})),
                ]),
            )
            .line("1.1#1", says("Grey."))
            .line("1.3#1", says("There is no cheese."))
            .line("1.2#1", says("Grey as well.").after("1#4"))
            .line("1#5", says("Grey, and no cheese."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.3 waits as a fork",
                    "1.1 reports: Done",
                    "1.3 begins",
                    "1.3 reports: Done",
                    "1.2 reports: Done",
                    "closed: Done",
                ],
            ),
    ]
}

fn detaching() -> Vec<Script> {
    vec![
        boss("a message moves a hire that waits for money into the background", TWO_HIRES)
            .line("1#1", three())
            .line("1.1#1", looks(&["x"]).instructs("1", 1, tells("Is it made of cheese?")).until("1 heard 1"))
            .line("1#4", says("I wait for the cook."))
            .line("1.1#2", sees("grey").after("1#4"))
            .line("1.1#3", says("Grey."))
            .line("1#5", says("It is grey."))
            .line("1.3#1", says("Dust.").after("1#5"))
            .line("1#7", says("It is dust."))
            .line("1.2#1", says("Grey as well.").after("1#7"))
            .line("1#8", says("Grey dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.3 waits",
                    "the owner sends a message",
                    "1.1 goes into the background",
                    "1.2 goes into the background",
                    "1.3 goes into the background",
                    "1.1 reports: Done",
                    "1.3 begins in the background",
                    "1.3 reports: Done",
                    "1.2 reports: Done",
                    "closed: Done",
                ],
            ),
    ]
}

fn refusing() -> Vec<Script> {
    let poor = calls(&[
        ("a", "delegate_task", json!({"specialty": "near-looker", "task": "Look at it.", "budget": 31})),
        ("b", "delegate_task", json!({"specialty": "cook", "task": "Look at it.", "budget": 31})),
    ]);
    vec![
        boss("a hire that waits for money is refused when nobody can return enough", 70)
            .line("1#1", poor)
            .line("1.1#1", looks_at_length(&["x"], 80))
            .line("1.1#2", sees("grey"))
            .line("1.1#3", Response::Model(replies(Some("Grey."), Vec::new(), 100)))
            .line("1#3", says("Grey, and nobody tasted it."))
            .shows("1", &["1.1 begins", "1.2 waits", "1.1 reports: Purse", "1.2 is refused: Money", "closed: Done"]),
        boss("a hire that waits for money is refused when its hirer's turns run out", ONE_HIRE)
            .ends(Outcome::Exhausted(Limit::Turns))
            .with(|brief| brief.turns_max = 1)
            .line("1#1", two_in_background())
            .line("1.1#1", says("Grey.").after("1#3"))
            .line("1#4", says("Grey, so far."))
            .shows(
                "1",
                &[
                    "1.1 begins in the background",
                    "1.2 waits",
                    "1.2 is refused: Closing",
                    "1.1 reports: Asked",
                    "last request",
                    "closed: Turns",
                ],
            ),
        boss("a hire that waits for money is refused on a cancel", ONE_HIRE)
            .ends(Outcome::Cancelled)
            .line("1#1", two())
            .line("1.1#1", Response::Nothing.instructs("1", 1, cancels()))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 waits",
                    "the owner cancels",
                    "1.2 is refused: Closing",
                    "1.1 reports: Cancelled",
                    "closed: Cancelled",
                ],
            ),
        boss("a hire that waits for money is refused on a wrap-up", ONE_HIRE)
            .ends(Outcome::Exhausted(Limit::Asked))
            .line("1#1", two())
            .line("1.1#1", says("Grey.").instructs("1", 1, wraps_up()).until("1#3"))
            .line("1#4", says("Grey, so far."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 waits",
                    "the owner asks for a wrap-up",
                    "1.2 is refused: Closing",
                    "1.1 reports: Asked",
                    "last request",
                    "closed: Asked",
                ],
            ),
    ]
}

fn steering() -> Vec<Script> {
    let first = calls(&[
        ("d", "message_agent", json!({"id": "1.3", "text": "Add salt."})),
        ("e", "list_agents", json!({})),
        ("f", "wait_for_agents", json!({"ids": ["1.3"]})),
    ]);
    let stop = calls(&[
        ("d", "wait_for_agents", json!({"ids": ["1.3"]})),
        ("e", "stop_agent", json!({"id": "1.3"})),
        ("f", "list_agents", json!({})),
    ]);
    vec![
        boss("a hire that waits for money is awaited by its id, and can't be sent a message", TWO_HIRES)
            .line("1#1", three_in_background())
            .line("1#4", first)
            .line("1.1#1", says("Grey.").after("1#5"))
            .line("1.3#1", says("Dust."))
            .line("1#7", says("Grey dust."))
            .line("1.2#1", says("Grey as well.").after("1#7"))
            .line("1#8", says("Grey dust on both sides."))
            .shows(
                "1",
                &[
                    "1.1 begins in the background",
                    "1.2 begins in the background",
                    "1.3 waits",
                    "a call is refused: NotStarted",
                    "awaits 1.3",
                    "1.1 reports: Done",
                    "1.3 begins in the background",
                    "1.3 reports: Done",
                    "the wait ends: Reported",
                    "1.2 reports: Done",
                    "closed: Done",
                ],
            ),
        boss("a hire that waits for money is stopped by its id", TWO_HIRES)
            .line("1#1", three_in_background())
            .line("1#4", stop)
            .line("1#6", says("I wait for the others."))
            .line("1.1#1", says("Grey.").after("1#6"))
            .line("1#7", says("It is grey."))
            .line("1.2#1", says("Grey as well.").after("1#7"))
            .line("1#8", says("Grey on both sides."))
            .shows(
                "1",
                &[
                    "1.1 begins in the background",
                    "1.2 begins in the background",
                    "1.3 waits",
                    "awaits 1.3",
                    "a call is refused: StoppedBeforeStart",
                    "1.3 is refused: StoppedBeforeStart",
                    "the wait ends: Reported",
                    "1.1 reports: Done",
                    "1.2 reports: Done",
                    "closed: Done",
                ],
            ),
    ]
}
