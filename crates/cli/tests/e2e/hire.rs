//! Hires without a model's decision, from another terminal.

use std::io::Write;

use serde_json::json;

use crate::chat::{CHAT, nth, team};
use crate::crew::{
    CREW, always, assert_has, delegates_in_background, first, hires, shown, slowly, staffed, until_asked, worked,
};
use crate::house::{House, Running, Wire, says};

fn house() -> House {
    team(&json!([
        nth("lead", 1, &says("What shall I do?")),
        nth("lead", 2, &says("There are twelve chairs.")),
        nth("ada", 1, &says("I counted 12.")),
    ]))
}

#[test]
fn an_agent_is_hired_into_a_conversation_and_its_report_arrives() {
    let house = house();
    let (talking, mut stdin) = Running::start_open(house.command(&[&CHAT[..], &["--team", "crew"]].concat()));
    stdin.write_all(b"Hello.\n").unwrap();
    talking.printed("What shall I do?");
    let id = talking.session();
    let hired = house.guildhall(&["hire", &id, "ada", "Count the chairs.", "--budget", "500sat"]).expect(0);
    assert_eq!(hired.stdout, format!("{id}/1.1\n"));
    hired.says("ada is hired with 500 sat");
    talking.printed("There are twelve chairs.");
    drop(stdin);
    let ended = talking.end().expect(0).says("1.1 ada");
    assert_eq!(ended.stdout, "What shall I do?\nThere are twelve chairs.\n");
    let prompt = house.requests().last().unwrap().to_string();
    assert!(prompt.contains("I counted 12."), "{prompt}");
    house.guildhall(&["verify", &id]).expect(0);
    house.guildhall(&["hire", &id, "ada", "Count the tables."]).expect(4).says("has ended");
}

#[test]
fn a_refused_hire_gives_its_reason_and_costs_nothing() {
    let house = house();
    let (talking, mut stdin) = Running::start_open(house.command(&[&CHAT[..], &["--team", "crew"]].concat()));
    stdin.write_all(b"Hello.\n").unwrap();
    talking.printed("What shall I do?");
    let id = talking.session();
    let count = |agent, more: &[&str]| house.guildhall(&[&["hire", &id, agent, "Count the chairs."], more].concat());
    count("bob", &[]).expect(4).says("contract 1 is not allowed to hire bob: it can hire ada");
    count("ada", &["--budget", "1sat"]).expect(4).says("ada is not hired").says("Nothing was spent");
    count("ada", &["--budget", "9999sat"]).expect(0).says("ada is hired with 4");
    house.guildhall(&["hire", &id, "ada", " "]).expect(2).says("the task is empty");
    house.guildhall(&["hire", "no-such-1", "ada", "Count."]).expect(2);
    drop(stdin);
    talking.end().expect(0);
    house.guildhall(&["verify", &id]).expect(0);
}

#[test]
fn a_hire_in_a_session_that_no_process_runs_waits_for_the_resume() {
    let house = house();
    let (talking, mut stdin) = Running::start_open(house.command(&[&CHAT[..], &["--team", "crew"]].concat()));
    stdin.write_all(b"Hello.\n").unwrap();
    talking.printed("What shall I do?");
    let id = talking.session();
    talking.kill();
    house.guildhall(&["hire", &id, "ada", "Count the chairs."]).expect(0).says("guildhall resume");
    let resumed = Running::start(house.command(&["resume", &id]), "").end().expect(0);
    assert_eq!(resumed.stdout, "There are twelve chairs.\n");
    house.guildhall(&["verify", &id]).expect(0);
}

#[test]
fn an_agent_is_hired_under_a_contract_that_is_at_work() {
    let rules = json!([
        first("lead", delegates_in_background("mid", "Look after it.", 2000)),
        always("lead", says("Done: {{last_user}}")),
        first("mid", slowly(says("I looked."), 4000)),
        always("mid", says("I heard: {{last_user}}")),
        always("eve", says("There are 12.")),
    ]);
    let team = [("lead", hires(&["mid"])), ("mid", hires(&["eve"])), ("eve", String::new())];
    let team = team.each_ref().map(|(name, front)| (*name, front.as_str()));
    let house = staffed(House::new(Wire::Anthropic, &rules), &team);
    let running = house.start(&CREW);
    let id = running.session();
    until_asked(&house, "mid", 1);
    house
        .guildhall(&["hire", &id, "eve", "Count."])
        .expect(4)
        .says("contract 1 is not allowed to hire eve: it can hire mid");
    house.guildhall(&["hire", &format!("{id}/1.7"), "eve", "Count."]).expect(4).says("1.7 of");
    let hired = house.guildhall(&["hire", &format!("{id}/1.1"), "eve", "Count."]).expect(0);
    assert_eq!(hired.stdout, format!("{id}/1.1.1\n"));
    let result = running.end().expect(0).json();
    assert_eq!(worked(&result), ["1 lead done", "1.1 mid done", "1.1.1 eve done"]);
    assert_has(shown(&house, "mid").last().unwrap(), &["There are 12."]);
    house.guildhall(&["verify", &id]).expect(0);
}
