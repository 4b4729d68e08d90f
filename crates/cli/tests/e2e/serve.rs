//! `guildhall serve` as a program uses it: fund, ask, watch, steer, get the change back.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::crew::{always, delegates, enlist, first, hires, stalls};
use crate::house::{House, Known, Wire, says, wait_for};
use crate::serving::{Event, Server};

/// A house that offers its crew in play money.
pub(crate) fn house_with_offer(rules: &Value) -> House {
    let house = House::scripted(Wire::OpenAi, Known::ByVariables, json!({"rules": rules}));
    enlist(&house, &[("lead", &hires(&["clerk"])), ("clerk", "")]);
    offer(&house, "");
    house
}

/// Adds the offer `crew` to the config.
pub(crate) fn offer(house: &House, more: &str) {
    let project = house.project().display();
    house.write_config(&format!(
        "{}\n[offers.crew]\ndescription = \"Two agents.\"\nproject = \"{project}\"\nteam = \"{project}/crew\"\nbudget = \"500sat\"\n{more}",
        house.read_config()
    ));
}

/// The lead hires the clerk, who answers.
pub(crate) fn one_hire_each() -> Value {
    json!([
        first("lead", delegates("clerk", "Find the date.", 100)),
        always("lead", says("The meeting is on Tuesday.")),
        always("clerk", says("Tuesday.")),
    ])
}

fn fact_of<'a>(event: &'a Event, kind: &str) -> Option<&'a Value> {
    event.data["fact"].get(kind)
}

#[test]
fn a_stranger_runs_the_live_demo_from_offer_to_change() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let server = Server::start(&house);
    let offers = server.stranger().get("/api/offers").expect(200);
    assert_eq!((&offers[0]["team"], &offers[0]["money"]), (&json!("demo"), &json!("play")), "{offers}");
    assert_eq!((offers.as_array().unwrap().len(), &offers[0]["cost"]), (1, &Value::Null));
    assert!(offers[0]["agents"].as_array().unwrap().len() > 2, "{offers}");
    assert!(!offers.to_string().contains("instructions"), "{offers}");

    let session = server.unpaid("demo", 500);
    assert_eq!(
        (&session.made["invoice"]["amount_msat"], &session.state()["state"]),
        (&json!(500_000), &json!("unpaid"))
    );
    let events = session.events(None);
    let cast = events.wait("the cast", |event| event.name == "cast");
    assert!(cast.data["agents"].as_array().unwrap().len() > 2, "{}", cast.data);
    session.post("requests", &json!({"task": "Why?"})).expect_problem(402, "balance_too_low");
    session.post("settle", &json!({"invoice": "1"})).expect(200);
    assert_eq!(session.state()["state"], "ready");

    session.post("requests", &json!({"task": "Why?", "budget_sats": 1})).expect_problem(422, "budget_too_small");
    assert_eq!(session.ask("Why is the payment API failing?", Some(400)), "1");
    session.post("requests", &json!({"task": "And why else?"})).expect_problem(409, "busy");
    assert_eq!(
        (&session.state()["role"], &server.operator().get(&session.path("")).expect(200)["role"]),
        (&json!("owner"), &json!("operator"))
    );
    events.wait("an activity", |event| event.name == "activity" && event.data["does"] == "thinks");
    events.wait("a hire", |event| event.data["fact"]["asked"]["ask"].get("hire").is_some());
    assert_eq!(session.state()["state"], "works");
    let state = session.ended();
    let (request, ledger) = (&state["requests"][0], session.get("ledger").expect(200));
    assert_eq!((&request["state"], &request["root"]), (&json!("done"), &json!("1")), "{state}");
    assert_eq!(ledger["violations"], json!([]));
    let spent = request["spent_msat"].as_u64().unwrap();
    assert!(spent > 0 && state["free_msat"] == 500_000 - spent, "{state}");
    let bill: u64 = ledger["bill"].as_array().unwrap().iter().map(|line| line["used_msat"].as_u64().unwrap()).sum();
    assert_eq!(bill, spent, "{ledger}");

    let answer = request["answer"]["hash"].as_str().unwrap();
    let answer = session.get(&format!("texts/{answer}"));
    assert!(answer.status == 200 && answer.text().contains("rehearsal: no language model"), "{}", answer.text());
    let refund = session.post("refund", &json!({})).expect(202);
    session.post("requests", &json!({"task": "Why?"})).expect_problem(402, "balance_too_low");
    assert_eq!((&refund["amount_msat"], &refund["state"]), (&json!(500_000 - spent), &json!("paid")));
    assert_eq!(
        (session.state()["free_msat"].clone(), session.state()["withdrawn_msat"].clone()),
        (json!(0), json!(500_000 - spent))
    );
    let last = events.wait("the refund", |event| fact_of(event, "returned").is_some());
    assert_eq!(last.id, Some(session.state()["newest_event"].as_str().unwrap().to_owned()));
    let offers = server.stranger().get("/api/offers").expect(200);
    assert_eq!(offers[0]["cost"], json!({"requests": 1, "median_msat": spent, "percentile_90_msat": spent}));
    let tree = session.get("tree").expect(200);
    let described: Value = serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap();
    let described = &described["components"]["schemas"]["TreeContractView"]["properties"];
    let keys = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
    assert_eq!(keys(&tree["contracts"][0]), keys(described), "every field of a contract is described");
    let invoice = session.post("fund", &json!({"amount_sats": 70})).expect(201);
    session.post("settle", &json!({"invoice": invoice["invoice"]})).expect(200);
    let shown = house.guildhall(&["show", &session.id, "--output", "json"]).expect(0).json();
    assert_eq!((&shown["late"], &shown["free"]), (&json!(0), &json!(70_000)), "money between two requests is not late");
    let ended = server.stop().expect(0);
    assert!(ended.stdout.contains("operator token: "), "{}", ended.stdout);
    house.guildhall(&["verify"]).expect(0);
    // A session of the live demo goes on in a terminal, too, until its time is over.
    let continued =
        ["run", "--continue", &session.id, "--budget", "100sat", "--timeout", "3s", "--yes", "And what else?"];
    house.guildhall(&continued).expect(3);
}

#[test]
fn a_session_is_steered_while_it_works_and_continued_afterwards() {
    let house = house_with_offer(&json!([
        first("lead", delegates("clerk", "Find the date.", 100)),
        always("lead", says("The meeting is on Tuesday.")),
        first("clerk", stalls()),
        always("clerk", says("Tuesday.")),
    ]));
    let server = Server::start_unbilled(&house);
    let session = server.funded("crew", 2000);
    let events = session.events(None);
    session.ask("When is the meeting?", Some(1000));
    // Words right after the request are not too early.
    session.post("message", &json!({"text": "Be quick."})).expect(202);
    session.post("refund", &json!({})).expect_problem(409, "busy");
    let is_asking = |event: &Event| event.data["contract"] == "1.1" && event.data["fact"].get("asked").is_some();
    events.wait("the request of the clerk", is_asking);

    session.post("topup", &json!({"amount_sats": 1001})).expect_problem(402, "balance_too_low");
    session.post("topup", &json!({"amount_sats": 200, "contract": "1.1"})).expect(202);
    events.wait("the grant", |event| fact_of(event, "granted").is_some());
    events.wait("the raise", |event| event.data["contract"] == "1.1" && fact_of(event, "heard").is_some());
    assert_eq!(session.state()["free_msat"], 800_000);
    session.post("message", &json!({"text": "Hurry up."})).expect(202);
    session.post("message", &json!({"text": "Hello?", "contract": "1.7"})).expect_problem(409, "not_at_work");
    session.post("stop", &json!({"contract": "1.1"})).expect(202);
    let state = session.ended();
    assert_eq!(state["requests"][0]["state"], "done", "{state}");
    let spent = state["spent_msat"].as_u64().unwrap();
    assert_eq!(state["free_msat"], 2_000_000 - spent, "{state}");

    assert_eq!(session.ask("And where?", None), "2");
    let state = session.ended();
    assert_eq!(state["requests"].as_array().unwrap().len(), 2);
    let closed = events.wait("the end of the second request", |event| {
        event.data["contract"] == "2" && fact_of(event, "closed").is_some()
    });
    let tree = session.get(&format!("tree?at={}", closed.id.unwrap())).expect(200);
    let contracts: Vec<(&str, &str)> = tree["contracts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|contract| (contract["path"].as_str().unwrap(), contract["state"].as_str().unwrap()))
        .collect();
    assert!(contracts.contains(&("1.1", "cancelled")) && contracts.contains(&("2", "done")), "{contracts:?}");
    house.guildhall(&["verify"]).expect(0);
    server.stop().expect(0);
}

#[test]
fn events_resume_after_any_id_and_the_tree_at_the_end_is_the_same() {
    let house = house_with_offer(&one_hire_each());
    let server = Server::start_unbilled(&house);
    let session = server.funded("crew", 1000);
    let live = session.events(None);
    session.ask("When is the meeting?", None);
    let end = session.ended()["newest_event"].as_str().unwrap().to_owned();
    live.wait("the last event", |event| event.id.as_deref() == Some(end.as_str()));
    let all: Vec<Event> = live.so_far().into_iter().filter(|event| event.id.is_some()).collect();
    assert!(all.len() > 12, "{all:?}");
    for (place, event) in all.iter().enumerate() {
        let later = session.events(event.id.as_deref());
        if place + 1 < all.len() {
            later.wait("the last event", |event| event.id.as_deref() == Some(end.as_str()));
        } else {
            later.wait("the cast", |event| event.name == "cast");
        }
        let rest: Vec<Event> = later.so_far().into_iter().filter(|event| event.id.is_some()).collect();
        assert_eq!(rest, all[place + 1..], "after {:?}", event.id);
        session.get(&format!("tree?at={}", event.id.as_deref().unwrap())).expect(200);
    }
    for wrong in ["999.0", "0.999"] {
        let refused = session.client.send("GET", &session.path("events"), &[("Last-Event-ID", wrong)], None);
        refused.expect_problem(404, "not_found");
        session.get(&format!("tree?at={wrong}")).expect_problem(404, "not_found");
    }
    for wrong in ["", "x", "1", "1.2.3", "-1.0"] {
        let refused = session.client.send("GET", &session.path("events"), &[("Last-Event-ID", wrong)], None);
        refused.expect_problem(400, "bad_request");
    }
    server.stop().expect(0);
}

#[test]
fn the_same_key_has_its_effect_once_and_another_request_under_it_is_refused() {
    let house = house_with_offer(&one_hire_each());
    let server = Server::start_unbilled(&house);
    let made = server.operator().post("/api/sessions", &json!({"team": "crew", "amount_sats": 1000})).expect(201);
    let (id, owner) = (made["session"].as_str().unwrap(), made["owner_token"].as_str().unwrap());
    let (operator, owner) = (server.operator(), server.with_token(owner));
    let path = |rest: &str| format!("/api/sessions/{id}/{rest}");
    for _ in 0..2 {
        operator.post_once(&path("settle"), "s", &json!({"invoice": "1"})).expect(200);
    }
    operator.post_once(&path("settle"), "s", &json!({"invoice": "2"})).expect_problem(422, "key_used");
    let fund = json!({"amount_sats": 70});
    let invoices: Vec<Value> = (0..2).map(|_| owner.post_once(&path("fund"), "f", &fund).expect(201)).collect();
    assert_eq!((&invoices[0], &invoices[0]["invoice"]), (&invoices[1], &json!("2")));
    let request = json!({"task": "When is the meeting?", "budget_sats": 300});
    let roots: Vec<Value> = (0..2).map(|_| owner.post_once(&path("requests"), "r", &request).expect(202)).collect();
    assert_eq!(roots, [json!({"root": "1"}), json!({"root": "1"})]);
    wait_for("the end of the work", || {
        Some(owner.get(&format!("/api/sessions/{id}")).json()).filter(|state| state["state"] == "ready")
    });
    assert_eq!(
        owner.post_once(&path("requests"), "r", &request).expect(202),
        json!({"root": "1"}),
        "also after the end"
    );
    owner.post_once(&path("requests"), "r", &json!({"task": "Another?"})).expect_problem(422, "key_used");
    let state = owner.get(&format!("/api/sessions/{id}")).expect(200);
    assert_eq!(state["requests"].as_array().unwrap().len(), 1);
    let refunds: Vec<Value> = (0..2).map(|_| owner.post_once(&path("refund"), "x", &json!({})).expect(202)).collect();
    assert_eq!((&refunds[0], &refunds[0]["amount_msat"]), (&refunds[1], &state["free_msat"]));
    for wrong in ["", "a b", &"k".repeat(256)] {
        owner.post_once(&path("fund"), wrong, &fund).expect_problem(400, "bad_request");
    }
    server.stop().expect(0);
}
