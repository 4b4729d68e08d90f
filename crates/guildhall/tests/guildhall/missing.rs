//! A hire may lack its agent, its model or a tool when its brief is set up, because the hall has changed since the work started.
//! The hire fails, and its hirer goes on.

use std::fs;
use std::path::Path as FilePath;

use guildhall::kernel::{Ask, Stored};
use guildhall::roster::Source;
use guildhall::{
    Fact, Hall, HallBuilder, HallError, Msat, Outcome, Prompt, REHEARSAL_PRICE, Reply, Roster, SessionId, model_fn,
};
use serde_json::{Value, json};

use crate::settings::{settings_of, with_settings};

/// A hall with a lead that hires a counter and says what it heard.
fn hall(project: &FilePath, add: impl FnOnce(HallBuilder) -> HallBuilder) -> Hall {
    let crew = project.join("crew");
    fs::create_dir_all(&crew).unwrap();
    for (name, front) in [("lead", "delegation:\n  team: [counter]\n"), ("counter", "model: counter-model\n")] {
        let text = format!("---\nname: {name}\ndescription: Does a part.\n{front}---\nYou are {name}.\n");
        fs::write(crew.join(format!("{name}.md")), text).unwrap();
    }
    let lead = model_fn(|prompt: Prompt| async move {
        match prompt.last_result() {
            None => Reply::call("delegate_task", json!({"specialty": "counter", "task": "Count the lanterns."})),
            Some(heard) => Reply::words(format!("I heard: {heard}")),
        }
    });
    let roster = Roster::load(&[Source::Named(crew)]);
    let builder = Hall::builder().project(project).data(project.join("data")).roster(roster);
    add(builder.model("lead-model", lead, REHEARSAL_PRICE)).build().unwrap()
}

/// Adds the model of the counter. It never replies.
fn with_counter(builder: HallBuilder) -> HallBuilder {
    builder.model("counter-model", model_fn(|_| std::future::pending::<Reply>()), REHEARSAL_PRICE)
}

/// Starts work, and stops it when the counter has asked its model.
async fn interrupted(hall: &Hall) -> SessionId {
    let mut running = hall.run("Count.").budget(Msat::from_sat(500).unwrap()).start().await.unwrap();
    let is_asked = |fact: &Fact| matches!(fact, Fact::Asked { ask: Ask::Model(_), .. });
    loop {
        let stored = running.next().await.unwrap().unwrap();
        if stored.contract.level() == 1 && is_asked(&stored.fact) {
            return running.id().clone();
        }
    }
}

/// Changes the settings after the lead has hired the counter and before the counter begins, and resumes. The hire must fail with
/// this reason, for nothing.
async fn check(change: impl FnOnce(&mut Value), why: &str) {
    let project = tempfile::tempdir().unwrap();
    let hall = hall(project.path(), with_counter);
    let like = interrupted(&hall).await;
    let mut settings = settings_of(hall.journal(), &like).await;
    change(&mut settings["staffing"]);
    let settings = settings.to_string();
    let is_of_root = |stored: &Stored| stored.contract.level() == 0;
    let id = with_settings(hall.journal(), &like, settings.as_bytes(), is_of_root).await;
    let ended = hall.resume(&id).await.unwrap().wait().await.unwrap();
    assert_eq!(ended.report.outcome, Outcome::Done, "{:?}", ended.failure);
    assert!(ended.text.starts_with("I heard: <sub-agent-failed ") && ended.text.contains(why), "{}", ended.text);
    assert!(ended.violations.is_empty(), "{:?}", ended.violations);
    let facts = hall.journal().facts(&id, 1).await.unwrap();
    let hire: Vec<&Fact> =
        facts.iter().filter(|stored| stored.contract.level() == 1).map(|stored| &stored.fact).collect();
    let (Some(Fact::Opened(_)), Some(Fact::Closed(report))) = (hire.first(), hire.last()) else { panic!("{hire:?}") };
    assert_eq!((report.outcome, report.spent, report.reserved), (Outcome::Failed, Msat::ZERO, Msat::ZERO));
    let text = hall.journal().text(report.text.text().hash).await.unwrap().unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), format!("{why} So this work was not started and nothing was spent"));
}

#[tokio::test]
async fn a_hire_whose_agent_is_missing_fails_with_the_reason_for_nothing_and_the_hirer_goes_on() {
    let change = |staffing: &mut Value| drop(staffing["agents"].as_array_mut().unwrap().remove(1));
    check(change, "this session has no agent named counter.").await;
}

#[tokio::test]
async fn a_hire_whose_model_is_missing_fails_with_the_reason_for_nothing_and_the_hirer_goes_on() {
    let change = |staffing: &mut Value| {
        staffing["model_of_agent"]["counter"] = json!("old/model");
        staffing["locked"]["old/model"] = staffing["locked"]["counter-model"].clone();
    };
    let why = "counter can't work: can't tell which provider serves the model \"old/model\": write it as PROVIDER/old/model. \
               Providers that are set up: none.";
    check(change, why).await;
}

#[tokio::test]
async fn a_hire_whose_tool_is_missing_fails_with_the_reason_for_nothing_and_the_hirer_goes_on() {
    let change = |staffing: &mut Value| staffing["agents"][1]["tools"] = json!(["read_file", "old_tool"]);
    check(change, "counter can't work: this hall has no tool named old_tool.").await;
}

#[tokio::test]
async fn a_resume_is_refused_while_an_agent_at_work_lacks_its_model() {
    let project = tempfile::tempdir().unwrap();
    let before = hall(project.path(), with_counter);
    let id = interrupted(&before).await;
    let journal = before.journal().clone();
    drop(before);
    journal.close().await;
    let without = hall(project.path(), |builder| builder);
    let head = without.journal().head(&id).await.unwrap();
    assert!(matches!(without.resume(&id).await.map(drop), Err(HallError::Models(_))));
    assert_eq!(without.journal().head(&id).await.unwrap(), head, "nothing was stored");
}
