//! A server that is killed while teams work: the work resumes, viewers come back, no event is missed or doubled, and the books
//! balance. A server that is told to stop loses no call.

use std::collections::BTreeSet;
use std::io::Write;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::crew::{always, delegates, first, slowly, stalls};
use crate::house::{House, Wire, says, wait_for};
use crate::serve::house_with_offer;
use crate::serving::{Events, Server, Session};

/// How often the server is killed. `cargo xtask soak` sets more.
fn rounds() -> usize {
    std::env::var("GUILDHALL_SERVE_KILLS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(4)
}

#[test]
fn serve_survives_kills_without_losing_or_doubling_an_event() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let mut server = Server::start(&house);
    let address = server.address().to_string();
    let sessions: Vec<_> = (0..2).map(|_| server.funded("demo", 1000)).collect();
    let mut seen: Vec<Vec<String>> = vec![Vec::new(); sessions.len()];
    for session in &sessions {
        session.ask("Why is the payment API failing?", Some(500));
    }
    for round in 0..rounds() {
        let streams: Vec<Events> =
            sessions.iter().zip(&seen).map(|(session, seen)| session.events(seen.last().map(String::as_str))).collect();
        // The moments of the kills differ: after ever more new events.
        let wanted = 3 + 4 * round;
        wait_for("new events", || {
            let news = streams.iter().map(|stream| stream.ids().len()).sum::<usize>();
            let is_over = sessions.iter().all(|session| session.state()["state"] == "ready");
            (news >= wanted || is_over).then_some(())
        });
        server.kill();
        for (stream, seen) in streams.iter().zip(&mut seen) {
            stream.ended();
            seen.extend(stream.ids());
        }
        server = Server::start_with(&house, &["--addr", &address]);
        for session in &sessions {
            if session.state()["state"] == "ready" {
                session.ask("And why else?", Some(100));
            }
        }
    }
    for (session, seen) in sessions.iter().zip(&mut seen) {
        let state = session.ended();
        let newest = state["newest_event"].as_str().unwrap().to_owned();
        let rest = session.events(seen.last().map(String::as_str));
        if seen.last() != Some(&newest) {
            rest.wait("the last event", |event| event.id.as_ref() == Some(&newest));
        }
        seen.extend(rest.ids());
        let whole = session.events(None);
        whole.wait("the last event", |event| event.id.as_ref() == Some(&newest));
        assert_eq!(*seen, whole.ids(), "what viewers saw in pieces is what there is");
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len(), "no event came twice");
        let last = state["requests"].as_array().unwrap().last().unwrap().clone();
        assert!(["done", "ran_dry"].contains(&last["state"].as_str().unwrap()), "{state}");
        let ledger = session.get("ledger").expect(200);
        assert_eq!(ledger["violations"], json!([]));
        let sum: i64 =
            ledger["balances"].as_array().unwrap().iter().map(|line| line["balance_msat"].as_i64().unwrap()).sum();
        assert_eq!(sum, 0, "{ledger}");
        let number = |name: &str| state[name].as_u64().unwrap();
        assert_eq!(number("free_msat") + number("spent_msat"), 1_000_000, "{state}");
    }
    server.stop().expect(0);
    house.guildhall(&["verify"]).expect(0);
}

#[test]
fn a_server_that_is_told_to_stop_lets_its_calls_end_and_the_next_one_continues() {
    let house = house_with_offer(&json!([
        first("lead", delegates("clerk", "Find the date.", 100)),
        always("lead", says("The meeting is on Tuesday.")),
        always("clerk", slowly(says("Tuesday."), 1500)),
    ]));
    let server = Server::start_unbilled(&house);
    let session = server.funded("crew", 1000);
    session.ask("When is the meeting?", None);
    wait_for("the request of the clerk", || (house.requests().len() == 2).then_some(()));
    let address = server.address().to_string();
    server.stop().expect(0);
    assert_eq!(house.requests().len(), 2, "no new call left");
    let server = Server::start_unbilled_at(&house, &address);
    let state = session.ended();
    assert_eq!((&state["requests"][0]["state"], house.requests().len()), (&json!("done"), 3), "{state}");
    let ledger = session.get("ledger").expect(200);
    let reserved: u64 =
        ledger["bill"].as_array().unwrap().iter().map(|line| line["reserved_msat"].as_u64().unwrap()).sum();
    assert_eq!(reserved, 0, "no call was lost: {ledger}");
    server.stop().expect(0);
}

#[test]
fn a_call_between_two_tries_is_not_tried_again_after_the_stop_and_not_lost() {
    let busy = json!({"raw": {"status": 503, "headers": {"retry-after": "2"}, "body": "busy"}});
    let house = house_with_offer(&json!([first("lead", busy), always("lead", says(&"It is on Tuesday. ".repeat(30)))]));
    let server = Server::start_unbilled(&house);
    let session = server.funded("crew", 1000);
    let events = session.events(None);
    session.ask("When is the meeting?", None);
    events.wait("the pause", |event| event.name == "activity" && event.data["does"] == "waits");
    let address = server.address().to_string();
    server.stop().expect(0);
    assert_eq!(house.requests().len(), 1, "no try left after the stop");
    let server = Server::start_unbilled_at(&house, &address);
    let state = session.ended();
    assert_eq!((&state["requests"][0]["state"], house.requests().len()), (&json!("done"), 2), "{state}");
    let ledger = session.get("ledger").expect(200);
    assert_eq!(ledger["bill"][0]["reserved_msat"], 0, "{ledger}");
    server.stop().expect(0);
}

#[test]
fn sessions_of_the_command_line_are_not_resumed_by_a_server() {
    let house = house_with_offer(&json!([{"then": stalls()}]));
    let running = house.start(&["--team", "crew", "--budget", "500sat"]);
    let id = running.session();
    wait_for("the request", || (house.requests().len() == 1).then_some(()));
    running.kill();
    let server = Server::start(&house);
    let listed = server.operator().get("/api/sessions").expect(200);
    assert_eq!(listed, json!([]));
    let state: Value = server.operator().get(&format!("/api/sessions/{id}")).expect(200);
    assert_eq!((&state["state"], &state["team"]), (&json!("stopped"), &Value::Null));
    assert_eq!(house.requests().len(), 1);
    server.stop().expect(0);
}

#[test]
fn a_second_ctrl_c_stops_a_server_at_once() {
    let house = house_with_offer(&json!([{"then": stalls()}]));
    let server = Server::start_unbilled(&house);
    let session = server.funded("crew", 1000);
    session.ask("When is the meeting?", None);
    wait_for("the request", || (house.requests().len() == 1).then_some(()));
    server.running().interrupt();
    server.running().showed("Press Ctrl-C again to stop immediately");
    server.running().interrupt();
    server.ended().expect(130).says("stopped immediately");
}

#[test]
fn a_client_that_goes_in_mid_request_leaves_nothing_half_done() {
    let house = house_with_offer(&crate::serve::one_hire_each());
    let server = Server::start_unbilled(&house);
    let sessions: Vec<Session> = (0..12).map(|_| server.funded("crew", 1000)).collect();
    // The moments at which the client goes are what is tried here.
    for (session, ms) in sessions.iter().zip(0..) {
        let body = br#"{"task":"When is the meeting?"}"#;
        let mut stream = session.client.connect();
        stream.write_all(&session.client.head("POST", &session.path("requests"), &[], Some(body.len()))).unwrap();
        stream.write_all(body).unwrap();
        thread::sleep(Duration::from_millis(ms));
        drop(stream);
    }
    sessions[11].post("requests", &json!({"task": "When is the meeting?"}));
    let mut taken = 0;
    for session in &sessions {
        let state = session.ended();
        let requests = state["requests"].as_array().unwrap();
        assert!(requests.iter().all(|request| request["state"] == "done"), "{state}");
        assert_eq!(state["at_work_msat"], 0);
        taken += requests.len();
    }
    assert!(taken > 0, "no request arrived");
    server.stop().expect(0);
}

#[test]
fn work_of_a_team_that_is_not_offered_any_more_can_be_cancelled_and_its_money_paid_back() {
    let house = house_with_offer(&json!([{"then": stalls()}]));
    let server = Server::start_unbilled(&house);
    let address = server.address().to_string();
    let session = server.funded("crew", 1000);
    session.ask("When is the meeting?", Some(400));
    wait_for("the request", || (house.requests().len() == 1).then_some(()));
    server.kill();
    let config = house.read_config().replace("[offers.crew]", "[offers.others]");
    house.write_config(&config);
    let server = Server::start_unbilled_at(&house, &address);
    wait_for("the end of the start", || (session.state()["state"] == "stopped").then_some(()));
    session.post("requests", &json!({"task": "When?"})).expect_problem(409, "team_gone");
    session.post("message", &json!({"text": "Hello?"})).expect_problem(409, "team_gone");
    session.post("stop", &json!({})).expect(202);
    let state = session.ended();
    assert_eq!((&state["requests"][0]["state"], house.requests().len()), (&json!("cancelled"), 1), "{state}");
    let refund = session.post("refund", &json!({})).expect(202);
    assert_eq!(refund["amount_msat"], state["free_msat"]);
    server.stop().expect(0);
    house.guildhall(&["verify"]).expect(0);
}
