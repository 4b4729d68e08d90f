//! Slash commands in a conversation: unknown ones are answered by the program, `/model` and `/clear` open the next root.

use serde_json::{Value, json};

use crate::chat::{CHAT, nth, team};
use crate::crew::{assert_has, assert_lacks, facts};
use crate::house::{Ended, House, MODEL, Running, Wire, msat, says};
use crate::terminal::Terminal;

/// The second model. It is not the one of the config.
const OTHER: &str = "other-model";

fn house(rules: &Value) -> House {
    let script = json!({"key": crate::house::KEY, "models": [MODEL, OTHER], "rules": rules});
    let house = House::scripted(Wire::Anthropic, crate::house::Known::ByVariables, script);
    let config = house.read_config();
    house.write_config(&format!("{config}[prices.\"{OTHER}\"]\ninput = 2\noutput = 10\n"));
    house
}

fn talker() -> House {
    house(&json!([
        {"when": {"nth": 1}, "then": says("On Tuesday.")},
        {"when": {"nth": 2}, "then": says("In the hall.")},
        {"then": says("That is all.")},
    ]))
}

fn chat(house: &House, lines: &str) -> Ended {
    Running::start(house.command(&CHAT), lines).end()
}

#[test]
fn a_slash_and_letters_are_a_command_with_or_without_arguments_and_a_path_is_a_message() {
    let house = talker();
    let ended =
        chat(&house, "/hlep me\n/compact everything\n/cost now\n/etc/passwd has what?\n/exit now\nnever\n").expect(0);
    assert_has(
        &ended.stderr,
        &["unknown command /hlep. Did you mean /help?", "unknown command /compact.", "no agent is at work now"],
    );
    let requests = house.requests();
    assert_eq!((ended.stdout.as_str(), requests.len()), ("On Tuesday.\n", 1));
    assert_has(&requests[0].to_string(), &["/etc/passwd has what?"]);
}

#[test]
fn model_goes_on_with_another_model_the_conversation_and_the_money_that_is_left() {
    let house = talker();
    let ended = chat(&house, &format!("When?\n/model\n/model {OTHER}\nAnd where?\n/cost\n")).expect(0);
    assert_eq!(ended.stdout, "On Tuesday.\nIn the hall.\n");
    assert_has(
        &ended.stderr,
        &[&format!("the model is anthropic/{MODEL}"), &format!("the conversation goes on with {OTHER}; ")],
    );
    let requests = house.requests();
    assert_eq!((&requests[0]["model"], &requests[1]["model"], requests.len()), (&json!(MODEL), &json!(OTHER), 2));
    assert_has(&requests[1].to_string(), &["When?", "On Tuesday.", "And where?"]);
    // Two roots of one session, and the second one has what the first one left.
    let opened = facts(&house, "last", "opened");
    let grants: Vec<u64> = opened.iter().map(|(_, brief)| brief["grant"]["money"].as_u64().unwrap()).collect();
    assert_eq!(opened.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    let first = &facts(&house, "last", "closed")[0].1;
    assert_eq!((grants[0], Some(grants[1])), (5_000_000, first["change"].as_u64()), "{first}");
    assert!(grants[1] < grants[0]);
    // The cost is that of both roots.
    let spent: u64 = facts(&house, "last", "closed").iter().map(|(_, report)| report["spent"].as_u64().unwrap()).sum();
    let cost = ended.stderr.lines().find_map(|line| line.strip_prefix("the whole conversation: used ")).unwrap();
    let sats: f64 = cost.split(' ').next().unwrap().parse().unwrap();
    assert!((sats * 1000.0 - f64::from(u32::try_from(spent).unwrap())).abs() < 0.5, "{cost}: {spent}");
    assert_has(cost, &[" of 5000 sat so far"]);
    house.guildhall(&["verify", "last"]).expect(0);
}

#[test]
fn clear_goes_on_without_the_conversation_with_the_same_agent() {
    let house = talker();
    let ended = chat(&house, "When?\n/clear\nAnd where?\nAnd who?\n").expect(0);
    assert_eq!(ended.stdout, "On Tuesday.\nIn the hall.\nThat is all.\n");
    assert_has(&ended.stderr, &["the agent starts anew, without the conversation so far; "]);
    let requests: Vec<String> = house.requests().iter().map(Value::to_string).collect();
    assert_lacks(&requests[1], &["When?", "On Tuesday."]);
    assert_has(&requests[2], &["And where?", "In the hall.", "And who?"]);
    assert_lacks(&requests[2], &["When?"]);
    house.guildhall(&["verify", "last"]).expect(0);
}

#[test]
fn clear_before_the_first_message_drops_the_conversation_that_would_go_on() {
    let house = talker();
    chat(&house, "When?\n").expect(0);
    let args = [&CHAT[..], &["-c"]].concat();
    Running::start(house.command(&args), "/clear\n/model other-model\nAnd where?\n").end().expect(0);
    let request = &house.requests()[1];
    assert_eq!(request["model"], json!(OTHER));
    assert_lacks(&request.to_string(), &["When?"]);
}

#[test]
fn a_conversation_that_ends_after_clear_costs_nothing_more_and_is_saved() {
    let house = talker();
    let ended = chat(&house, "When?\n/clear\n/exit\n").expect(0).says("the agent starts anew");
    assert_has(&ended.stderr, &["is saved. To read it, run: guildhall show "]);
    assert_eq!((ended.stdout.as_str(), house.requests().len()), ("On Tuesday.\n", 1));
    let json = Running::start(house.command(&[&CHAT[..], &["--output", "json"]].concat()), "When?\n/clear\n").end();
    let json = json.expect(0).json();
    assert!(msat(&json["bill"]["charged"]) > 0, "{json:#}");
}

#[test]
fn a_model_that_can_not_be_used_changes_nothing_and_costs_nothing() {
    let house = talker();
    let ended = chat(&house, "When?\n/model othr-model\n/model gpt-5\nAnd where?\n").expect(0);
    assert_has(&ended.stderr, &["no model is named \"othr-model\"", "is sold by openai"]);
    assert_eq!((ended.stdout.as_str(), facts(&house, "last", "opened").len()), ("On Tuesday.\nIn the hall.\n", 1));
}

#[test]
fn a_resumed_conversation_has_the_commands_too() {
    let house = talker();
    let (talking, mut stdin) = Running::start_open(house.command(&CHAT));
    std::io::Write::write_all(&mut stdin, b"When?\n").unwrap();
    talking.printed("On Tuesday.");
    let id = talking.session();
    talking.kill();
    let ended = Running::start(house.command(&["resume", &id]), "/model other-model\nAnd where?\n").end().expect(0);
    assert_eq!(ended.stdout, "In the hall.\n");
    let request = &house.requests()[1];
    assert_eq!(request["model"], json!(OTHER));
    assert_has(&request.to_string(), &["When?", "And where?"]);
    house.guildhall(&["verify", &id]).expect(0);
}

#[test]
fn hires_at_work_end_only_after_a_yes() {
    let hire = json!({"specialty": "ada", "task": "Count the chairs.", "budget": 1000, "background": true});
    let stalled = json!({"reply": {"text": "Well, let me see.", "pace": {"chunk_chars": 2}, "damage": {"stall": {"after": {"events": 3}}}}});
    let house = team(&json!([
        nth("lead", 1, &json!({"reply": {"calls": [{"name": "delegate_task", "arguments": hire}]}})),
        nth("lead", 2, &says("She has begun.")),
        nth("lead", 3, &says("All is new.")),
        nth("ada", 1, &stalled),
    ]));
    let terminal = Terminal::sized(100, 40);
    let running = Running::start_wholly_in(&terminal, house.command(&[&CHAT[..], &["--team", "crew"]].concat()));
    running.showed("> ");
    terminal.type_in("Count the chairs.\r");
    running.showed_then("She has begun.", "> ");
    terminal.type_in("/clear\r");
    running.showed_then("1 hire at work ends then, without a report. Go on? [y/N]", "> ");
    terminal.type_in("no\r");
    running.showed("nothing was changed");
    assert!(facts(&house, "last", "closed").is_empty());
    terminal.type_in("/clear\r");
    running.showed_then("nothing was changed", "Go on? [y/N]");
    terminal.type_in("y\r");
    running.showed("the agent starts anew");
    terminal.type_in("What now?\r");
    running.showed("All is new.");
    terminal.type_in("/exit\r");
    let ended = running.end().expect(0);
    assert_has(&ended.stderr, &["1.1 ada"]);
    let requests: Vec<String> = house.requests().iter().map(Value::to_string).collect();
    assert_lacks(requests.iter().rfind(|request| request.contains("You are lead.")).unwrap(), &["Count the chairs."]);
    house.guildhall(&["verify", "last"]).expect(0);
}
