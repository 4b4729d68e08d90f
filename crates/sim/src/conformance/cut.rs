//! Scripts with replies that were cut, and with usage that can't be right.

use guildhall_agent::roster::DelegationMode::Offered;
use guildhall_agent::roster::Dialect::DelegateTask;
use guildhall_agent::{Attempt, RawCall, Reply, Reported, Stop, Usage, Wire};
use guildhall_kernel::{Limit, Outcome};
use serde_json::{Value, json};

use super::script::{INPUT, Response, Script, call, calls, says, sees, wraps_up};
use super::teams::team;

/// Returns the scripts about cut replies and usage.
pub(crate) fn cutting() -> Vec<Script> {
    [continuing(), ending(), json_turns(), counting()].concat()
}

/// A reply of 100 tokens, the most that the model may write, that is cut.
fn cut(words: &str) -> Response {
    written(Reply { stop: Stop::Length, ..reply(words) })
}

/// A reply of 100 tokens.
fn written(reply: Reply) -> Response {
    counted(reply, Usage { input: INPUT, output: 100, ..Usage::default() })
}

fn counted(reply: Reply, usage: Usage) -> Response {
    Response::Model(Attempt { outcome: Ok(reply), usage: Reported::Whole(usage) })
}

fn reply(words: &str) -> Reply {
    let (raw, words) = (json!({"words": words}), Some(words.to_owned()));
    Reply { wire: Wire::Inside, raw, words, calls: Vec::new(), stop: Stop::End, part: None }
}

/// A reply that is a part of a JSON turn.
fn part(written: &str, words: Option<&str>, calls: Vec<RawCall>, stop: Stop) -> Reply {
    let (words, part) = (words.map(str::to_owned), Some(written.to_owned()));
    Reply { wire: Wire::Inside, raw: Value::Null, words, calls, stop, part }
}

fn continuing() -> Vec<Script> {
    let task = |specialty: &str| json!({"specialty": specialty, "task": "Look at it.", "budget": 60});
    let two = [("a", "delegate_task", task("near-looker")), ("b", "delegate_task", task("cook"))];
    let in_call =
        vec![call("a", "look", Ok(json!({"at": "a"}))), call("b", "look", Err("{\"at\": \"the le".to_owned()))];
    vec![
        Script::new("a cut reply is continued", 1000, Outcome::Done)
            .line("1#1", cut("The moon is ma"))
            .line("1#2", says("de of grün\u{e9} rock."))
            .reports("The moon is made of grün\u{e9} rock.")
            .shows("1", &["a reply is cut", "closed: Done"]),
        Script::new("a reply is continued at most four times", 1000, Outcome::Exhausted(Limit::Length))
            .line("1#1", cut("Rock, "))
            .line("1#2", cut("and rock, "))
            .line("1#3", cut("and dust, "))
            .line("1#4", cut("and more rock,"))
            .line("1#5", cut(" and more du"))
            .reports("Rock, and rock, and dust, and more rock, and more du")
            .shows(
                "1",
                &[
                    "a reply is cut",
                    "a reply is cut",
                    "a reply is cut",
                    "a reply is cut",
                    "a reply is cut",
                    "closed: Length, cut",
                ],
            ),
        Script::new("a cut reply is continued after a draw", 106, Outcome::Done)
            .team(team(DelegateTask, Offered))
            .line("1#1", calls(&two))
            .line("1.1#1", cut("It is gr"))
            .line("1.2#1", says("Dust.").after("1.1#2 heard"))
            .line("1.1#3", says("ey.").after("1#4"))
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
            .shows("1.1", &["a reply is cut", "draws 4 sat", "the draw is met", "closed: Done"]),
        Script::new("a call that was cut is refused and the calls before it are made", 1000, Outcome::Done)
            .line("1#1", written(Reply { words: None, calls: in_call, stop: Stop::Length, ..reply("") }))
            .line("1#2", sees("grey"))
            .line("1#3", says("Grey."))
            .reports("Grey.")
            .shows("1", &["a call is refused: CutCall", "closed: Done"]),
    ]
}

fn ending() -> Vec<Script> {
    let hire = json!({"specialty": "cook", "task": "Taste it.", "budget": 100});
    vec![
        Script::new(
            "the severance pays a last reply if the rest of a cut one can't be paid",
            40,
            Outcome::Exhausted(Limit::Purse),
        )
        .line("1#1", cut("The moon is made of ro"))
        .line("1#2", says("It is rock."))
        .reports("It is rock.")
        .shows("1", &["a reply is cut", "last request", "closed: Purse"]),
        Script::new("a last reply that is cut is marked", 40, Outcome::Exhausted(Limit::Purse))
            .line("1#1", cut("The moon is made of ro"))
            .line("1#2", cut("It is ro"))
            .reports("It is ro")
            .shows("1", &["a reply is cut", "last request", "a reply is cut", "closed: Purse, cut"]),
        Script::new("a wrap-up ends a cut reply, and its text is kept", 1000, Outcome::Exhausted(Limit::Asked))
            .line("1#1", cut("The moon is "))
            .line("1#2", cut("made of ro").instruction(1, wraps_up()))
            .reports("The moon is made of ro")
            .shows("1", &["a reply is cut", "the owner asks for a wrap-up", "a reply is cut", "closed: Asked, cut"]),
        Script::new("the cut report of a hire is marked for its hirer", 1000, Outcome::Done)
            .team(team(DelegateTask, Offered))
            .line("1#1", calls(&[("a", "delegate_task", hire)]))
            .line("1.1#1", written(Reply { stop: Stop::Window, ..reply("It tastes of du") }))
            .line("1#3", says("Dust."))
            .shows("1", &["1.1 begins", "1.1 reports: Length, cut", "closed: Done"])
            .shows("1.1", &["a reply fills the window", "closed: Length, cut"]),
    ]
}

fn json_turns() -> Vec<Script> {
    let looks = vec![call("a", "look", Ok(json!({"at": "the near side"})))];
    vec![
        Script::new("a cut JSON turn with a report is continued", 1000, Outcome::Done)
            .line("1#1", written(part(r#"{"report": "The moon is ma"#, Some("The moon is ma"), vec![], Stop::Length)))
            .line("1#2", written(part(r#"de of rock."}"#, Some("The moon is made of rock."), vec![], Stop::End)))
            .reports("The moon is made of rock.")
            .shows("1", &["a reply is cut", "closed: Done"]),
        Script::new("a cut JSON turn with a call is continued", 1000, Outcome::Done)
            .line(
                "1#1",
                written(part(r#"{"calls": [{"look": {"#, Some(r#"{"calls": [{"look": {"#), vec![], Stop::Length)),
            )
            .line("1#2", written(part(r#""at": "the near side"}}]}"#, None, looks, Stop::Calls)))
            .line("1#3", sees("grey"))
            .line("1#4", says("Grey."))
            .reports("Grey.")
            .shows("1", &["a reply is cut", "closed: Done"]),
    ]
}

fn counting() -> Vec<Script> {
    let long = "Rock. ".repeat(100);
    let look = vec![call("a", "look", Ok(json!({"at": "a"})))];
    let small = Usage { input: 7, output: 9, ..Usage::default() };
    vec![
        Script::new("zero usage is charged by size", 1000, Outcome::Done)
            .line("1#1", counted(Reply { calls: look, stop: Stop::Calls, ..reply("I look.") }, Usage::default()))
            .line("1#2", sees("grey"))
            .line("1#3", says("Grey."))
            .shows("1", &["a cost is estimated: 2 sat", "closed: Done"]),
        Script::new("usage that is far too small is charged by size", 1000, Outcome::Done)
            .line("1#1", counted(reply(&long), small))
            .shows("1", &["a cost is estimated: 10 sat", "closed: Done"]),
        Script::new("a small but possible usage is believed", 1000, Outcome::Done)
            .line("1#1", counted(reply(&long), Usage { output: 38, ..small }))
            .shows("1", &["closed: Done"]),
    ]
}
