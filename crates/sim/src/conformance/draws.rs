//! Scripts in which hires ask their hirers for more money.

use guildhall_agent::roster::DelegationMode::Offered;
use guildhall_agent::roster::Dialect::DelegateTask;
use guildhall_agent::{ToolResult, Worker};
use guildhall_kernel::{CloseWhen, Limit, Millis, Msat, Outcome, Tariff};
use serde_json::{Value, json};

use super::script::{Response, Script, calls, cancels, looks_at_length, says, sees, tariff, tops_up, wraps_up};
use super::teams::{lead, team, team_of, with_workers};
use crate::scenario::sat;

/// Returns the scripts about draws.
pub(crate) fn drawing() -> Vec<Script> {
    [granting(), climbing(), climbing_for_hires(), refusing(), ending(), others()].concat()
}

/// Pays for two hires of about 35 sat each: one turn with a long reply, and the severance.
const TWO_HIRES: u64 = 106;

/// Pays for one such hire.
const ONE_HIRE: u64 = 71;

fn boss(name: &'static str, money: u64) -> Script {
    Script::new(name, money, Outcome::Done).team(team(DelegateTask, Offered)).with(|brief| brief.grant.depth = 2)
}

fn task(specialty: &str, budget: u64) -> Value {
    json!({"specialty": specialty, "task": "Look at it.", "budget": budget})
}

fn background(specialty: &str) -> Value {
    json!({"specialty": specialty, "task": "Look at it.", "budget": 60, "background": true})
}

/// A reply that leaves too little money for the next turn of a hire.
fn long() -> Response {
    looks_at_length(&["x"], 80)
}

/// Two hires, of which 1.1 can't pay its second turn. It draws with 1.1#3.
fn pair(name: &'static str) -> Script {
    let two = [("a", "delegate_task", task("near-looker", 60)), ("b", "delegate_task", task("cook", 60))];
    boss(name, TWO_HIRES).line("1#1", calls(&two)).line("1.1#2", sees("grey"))
}

/// A hire that can't pay its second turn, and a tool call of its hirer that holds money. The hire draws with 1.1#3.
fn alone(name: &'static str) -> Script {
    let both = [("a", "delegate_task", task("near-looker", 60)), ("y", "look", json!({"at": "y"}))];
    boss(name, ONE_HIRE).line("1#1", calls(&both)).line("1.1#1", long()).line("1.1#2", sees("grey"))
}

fn granting() -> Vec<Script> {
    vec![
        pair("a draw is granted at once")
            .line("1.2#1", says("Dust."))
            .line("1.1#1", long().after("1#3"))
            .line("1.1#4", says("Grey.").after("1#4"))
            .line("1#5", says("Grey dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.2 reports: Done",
                    "1.1 draws",
                    "1.1 gets what it draws",
                    "1.1 reports: Done",
                    "closed: Done",
                ],
            )
            .shows("1.1", &["draws 3 sat", "the draw is met", "closed: Done"]),
        pair("a draw is granted after the report of another hire")
            .line("1.1#1", long())
            .line("1.2#1", says("Dust.").after("1.1#3 heard"))
            .line("1.1#4", says("Grey.").after("1#4"))
            .line("1#5", says("Grey dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.1 draws",
                    "1.2 reports: Done",
                    "1.1 gets what it draws",
                    "1.1 reports: Done",
                    "closed: Done",
                ],
            )
            .shows("1.1", &["draws 3 sat", "the draw is met", "closed: Done"]),
        alone("a draw is met by a top-up of a person")
            .line("1#3", sees("stars").instruction(1, tops_up("1.1", 10)).after("1.1#3 heard").until("1#4"))
            .line("1.1#4", says("Grey.").after("1#3"))
            .line("1#5", says("It is grey."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.1 draws",
                    "the owner sends a top-up",
                    "1.1 gets a top-up",
                    "1.1 reports: Done",
                    "closed: Done",
                ],
            )
            .shows("1.1", &["draws 3 sat", "1 sends a top-up", "the draw is met", "closed: Done"]),
        alone("a top-up of the hirer serves a draw")
            .line("1#3", sees("stars").instruction(1, tops_up("1", 10)).after("1.1#3 heard").until("1#4"))
            .line("1.1#4", says("Grey.").after("1#3"))
            .line("1#5", says("It is grey."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.1 draws",
                    "the owner sends a top-up",
                    "1.1 gets what it draws",
                    "1.1 reports: Done",
                    "closed: Done",
                ],
            )
            .shows("1.1", &["draws 3 sat", "the draw is met", "closed: Done"]),
    ]
}

/// A boss whose near-looker may hire the cook.
fn leading(name: &'static str, money: u64) -> Script {
    let below = team_of("near-looker", &["cook"], DelegateTask, Offered);
    boss(name, money).team(lead()).team_of("near-looker", below)
}

fn climbing() -> Vec<Script> {
    vec![
        leading("a draw climbs two levels", 190)
            .line(
                "1#1",
                calls(&[
                    ("a", "delegate_task", task("near-looker", 150)),
                    ("b", "delegate_task", task("far-looker", 150)),
                ]),
            )
            .line("1.1#1", calls(&[("c", "delegate_task", task("cook", 100))]))
            .line("1.1.1#1", long())
            .line("1.1.1#2", sees("dust"))
            .line("1.1.1#3", long())
            .line("1.1.1#4", sees("more dust"))
            .line("1.2#1", says("Grey.").after("1.1#3 heard"))
            .line("1.1.1#6", says("It tastes of dust.").after("1#4").after("1.1#4"))
            .line("1.1#5", says("It is dust."))
            .line("1#5", says("Grey dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.1 draws",
                    "1.2 reports: Done",
                    "1.1 gets what it draws",
                    "1.1 reports: Done",
                    "closed: Done",
                ],
            )
            .shows(
                "1.1",
                &[
                    "1.1.1 begins",
                    "1.1.1 draws",
                    "draws 3 sat",
                    "the draw is met",
                    "1.1.1 gets what it draws",
                    "1.1.1 reports: Done",
                    "closed: Done",
                ],
            )
            .shows("1.1.1", &["draws 3 sat", "the draw is met", "closed: Done"]),
    ]
}

fn climbing_for_hires() -> Vec<Script> {
    vec![
        leading("a draw that is refused is refused to the hire that it was made for", 112)
            .line("1#1", calls(&[("a", "delegate_task", task("near-looker", 150))]))
            .line("1.1#1", calls(&[("c", "delegate_task", task("cook", 100))]))
            .line("1.1.1#1", long())
            .line("1.1.1#2", sees("dust"))
            .line("1.1.1#3", long())
            .line("1.1.1#4", sees("more dust"))
            .line("1.1.1#6", says("Dust, so far.").after("1#3").after("1.1#4"))
            .line("1.1#5", says("It is dust."))
            .line("1#4", says("Dust."))
            .shows("1", &["1.1 begins", "1.1 draws", "the draw of 1.1 is refused", "1.1 reports: Done", "closed: Done"])
            .shows(
                "1.1",
                &[
                    "1.1.1 begins",
                    "1.1.1 draws",
                    "draws 1 sat",
                    "the draw is not met",
                    "the draw of 1.1.1 is refused",
                    "1.1.1 reports: Purse",
                    "closed: Done",
                ],
            )
            .shows("1.1.1", &["draws 1 sat", "the draw is not met", "last request", "closed: Purse"]),
        leading("a hirer draws for a hire that waits for money", 125)
            .line(
                "1#1",
                calls(&[
                    ("a", "delegate_task", task("near-looker", 100)),
                    ("b", "delegate_task", task("far-looker", 100)),
                ]),
            )
            .line("1.1#1", calls(&[("c", "delegate_task", task("cook", 100))]))
            .line("1.2#1", says("Grey.").after("1.1#2 heard"))
            .line("1.1.1#1", says("It tastes of dust.").after("1#4"))
            .line("1.1#4", says("It is dust."))
            .line("1#5", says("Grey dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.1 draws",
                    "1.2 reports: Done",
                    "1.1 gets what it draws",
                    "1.1 reports: Done",
                    "closed: Done",
                ],
            )
            .shows(
                "1.1",
                &[
                    "1.1.1 waits",
                    "draws 17 sat",
                    "the draw is met",
                    "1.1.1 begins",
                    "1.1.1 reports: Done",
                    "closed: Done",
                ],
            ),
    ]
}

fn refusing() -> Vec<Script> {
    let hire = |arguments: Value| calls(&[("a", "delegate_task", arguments)]);
    vec![
        boss("a hire draws nothing beyond its budget", 1000)
            .line("1#1", hire(task("near-looker", 35)))
            .line("1.1#1", long())
            .line("1.1#2", sees("grey"))
            .line("1.1#3", says("Grey, so far."))
            .line("1#3", says("It is grey."))
            .shows("1", &["1.1 begins", "1.1 reports: Purse", "closed: Done"])
            .shows("1.1", &["last request", "closed: Purse"]),
        boss("a hire draws nothing beyond the maximum of its agent", 1000)
            .team(with_workers(team(DelegateTask, Offered), |worker| worker.budget_max = Some(sat(35))))
            .line("1#1", hire(json!({"specialty": "near-looker", "task": "Look at it."})))
            .line("1.1#1", long())
            .line("1.1#2", sees("grey"))
            .line("1.1#3", says("Grey, so far."))
            .line("1#3", says("It is grey."))
            .shows("1", &["1.1 begins", "1.1 reports: Purse", "closed: Done"])
            .shows("1.1", &["last request", "closed: Purse"]),
        pair("when nobody moves, the youngest draw is refused and its change serves the other")
            .line("1.1#1", long())
            .line("1.2#1", long().after("1.1#3 heard"))
            .line("1.2#2", sees("dust"))
            .line("1.2#4", says("Dust, so far.").after("1#4"))
            .line("1.1#4", says("Grey.").after("1#5"))
            .line("1#6", says("Grey dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.1 draws",
                    "1.2 draws",
                    "the draw of 1.2 is refused",
                    "1.2 reports: Purse",
                    "1.1 gets what it draws",
                    "1.1 reports: Done",
                    "closed: Done",
                ],
            )
            .shows("1.1", &["draws 3 sat", "the draw is met", "closed: Done"])
            .shows("1.2", &["draws 3 sat", "the draw is not met", "last request", "closed: Purse"]),
        pair("a hire whose question is not answered counts as one that waits")
            .line("1.1#1", long())
            .line("1.2#1", calls(&[("q", "ask_hirer", json!({"question": "Which cheese?"}))]).after("1.1#3 heard"))
            .line("1#4", says("I will think about it."))
            .line("1.1#4", says("Grey, so far.").after("1#5"))
            .line("1#6", calls(&[("c", "message_agent", json!({"id": "1.2", "text": "Any cheese."}))]))
            .line("1#8", says("I wait for the cook."))
            .line("1.2#3", says("Dust.").after("1#8"))
            .line("1#9", says("Grey dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.1 draws",
                    "1.2 asks",
                    "1.1 goes into the background",
                    "1.2 goes into the background",
                    "the draw of 1.1 is refused",
                    "1.1 reports: Purse",
                    "1.2 reports: Done",
                    "closed: Done",
                ],
            )
            .shows("1.1", &["draws 3 sat", "the draw is not met", "last request", "closed: Purse"]),
    ]
}

fn ending() -> Vec<Script> {
    vec![
        pair("a cancel ends a draw")
            .line("1.1#1", long())
            .line("1.2#1", says("Dust.").instructs("1.1", 1, cancels()).after("1.1#3 heard").until("1#2"))
            .line("1#4", says("Dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.1 draws",
                    "1.1 reports: Cancelled",
                    "1.2 reports: Done",
                    "closed: Done",
                ],
            )
            .shows("1.1", &["draws 3 sat", "the owner cancels", "the draw is not met", "closed: Cancelled"]),
        alone("a wrap-up of the hirer ends a draw")
            .ends(Outcome::Exhausted(Limit::Asked))
            .line("1#3", sees("stars").instruction(1, wraps_up()).after("1.1#3 heard").until("1#2"))
            .line("1.1#4", says("Grey, so far.").after("1#4"))
            .line("1#5", says("It is grey."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.1 draws",
                    "the owner asks for a wrap-up",
                    "1.1 reports: Asked",
                    "last request",
                    "closed: Asked",
                ],
            )
            .shows(
                "1.1",
                &["draws 3 sat", "1 asks for a wrap-up", "the draw is not met", "last request", "closed: Asked"],
            ),
        alone("a deadline ends a draw")
            .with(|brief| brief.grant = brief.grant.due(Some(Millis(3_000)), Millis(0)))
            .line("1#3", sees("stars").after("1#2"))
            .line("1.1#4", says("Grey, so far."))
            .line("1#4", says("It is grey."))
            .shows("1", &["1.1 begins", "1.1 draws", "1.1 reports: Deadline", "closed: Done"])
            .shows("1.1", &["draws 3 sat", "the draw is not met", "last request", "closed: Deadline"]),
    ]
}

fn others() -> Vec<Script> {
    let two = [("a", "delegate_task", background("near-looker")), ("b", "delegate_task", background("cook"))];
    vec![
        boss("an idle conversation serves a draw", TWO_HIRES)
            .with(|brief| brief.close_when = CloseWhen::Asked)
            .ends(Outcome::Exhausted(Limit::Asked))
            .line("1#1", calls(&two))
            .line("1#4", says("I wait."))
            .line("1.2#1", says("Dust.").after("1#4"))
            .line("1#5", says("It is dust."))
            .line("1.1#1", long().after("1#5"))
            .line("1.1#2", sees("grey"))
            .line("1.1#4", says("Grey.").after("1#6"))
            .line("1#7", says("Grey dust.").instruction(1, wraps_up()))
            .shows(
                "1",
                &[
                    "1.1 begins in the background",
                    "1.2 begins in the background",
                    "1.2 reports: Done",
                    "1.1 draws",
                    "1.1 gets what it draws",
                    "1.1 reports: Done",
                    "the owner asks for a wrap-up",
                    "closed: Asked",
                ],
            )
            .shows("1.1", &["draws 3 sat", "the draw is met", "closed: Done"]),
        boss("hires with two prices draw what their own turns cost, and a free one draws nothing", 124)
            .team(with_workers(team(DelegateTask, Offered), priced))
            .line(
                "1#1",
                calls(&[
                    ("a", "delegate_task", task("near-looker", 60)),
                    ("b", "delegate_task", task("far-looker", 60)),
                    ("c", "delegate_task", task("cook", 60)),
                ]),
            )
            .line("1.3#1", long())
            .line("1.3#2", Response::Tool(ToolResult::done("dust")))
            .line("1.3#3", long())
            .line("1.3#4", Response::Tool(ToolResult::done("more dust")))
            .line("1.3#5", says("It tastes of dust."))
            .line("1.1#1", long().after("1#4"))
            .line("1.1#2", sees("grey"))
            .line("1.1#4", says("Grey.").after("1#5"))
            .line("1.2#1", long().after("1#2"))
            .line("1.2#2", sees("grey"))
            .line("1.2#4", says("Grey as well.").after("1#6"))
            .line("1#7", says("Grey dust."))
            .shows(
                "1",
                &[
                    "1.1 begins",
                    "1.2 begins",
                    "1.3 begins",
                    "1.3 reports: Done",
                    "1.1 draws",
                    "1.1 gets what it draws",
                    "1.1 reports: Done",
                    "1.2 draws",
                    "1.2 gets what it draws",
                    "1.2 reports: Done",
                    "closed: Done",
                ],
            )
            .shows("1.1", &["draws 3 sat", "the draw is met", "closed: Done"])
            .shows("1.2", &["draws 11 sat", "the draw is met", "closed: Done"])
            .shows("1.3", &["closed: Done"]),
    ]
}

/// The output of the far-looker costs twice as much as that of the others, and the cook is free.
fn priced(worker: &mut Worker) {
    match worker.name.as_str() {
        "far-looker" => worker.tariff = Tariff { output: sat(200_000), ..tariff() },
        "cook" => {
            worker.tariff = Tariff { input: Msat::ZERO, output: Msat::ZERO, ..tariff() };
            worker.severance = Msat::ZERO;
        }
        _ => {}
    }
}
