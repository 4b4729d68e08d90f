//! Bad input over HTTP: a clear error, and nothing is lost.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::crew::stalls;
use crate::house::{House, Running, Wire, wait_for};
use crate::serve::{house_with_offer, one_hire_each};
use crate::serving::{Events, Server, Session};

#[test]
fn malformed_bodies_are_named_and_change_nothing() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let server = Server::start(&house);
    let session = server.funded("demo", 100);
    let before = session.state();
    let post = |rest: &str, body: &[u8]| session.client.send("POST", &session.path(rest), &[], Some(body));
    for (rest, body, status, code) in [
        ("requests", r#"{"task": "x""#, 400, "bad_request"),
        ("requests", "", 400, "bad_request"),
        ("requests", "[]", 422, "invalid"),
        ("requests", "{}", 422, "invalid"),
        ("requests", r#"{"task": 5}"#, 422, "invalid"),
        ("requests", r#"{"task": "x", "buget_sats": 5}"#, 422, "invalid"),
        ("requests", r#"{"task": "x", "budget_sats": -1}"#, 422, "invalid"),
        ("requests", r#"{"task": "x", "budget_sats": 1.5}"#, 422, "invalid"),
        ("requests", r#"{"task": "x", "budget_sats": 0}"#, 422, "amount"),
        ("requests", r#"{"task": "x", "budget_sats": 18446744073709551615}"#, 422, "amount"),
        ("requests", r#"{"task": "  "}"#, 422, "task"),
        ("fund", r#"{"amount_sats": 0}"#, 422, "amount"),
        ("fund", r#"{"amount_sats": 10000001}"#, 422, "amount"),
        ("topup", r#"{"amount_sats": 5}"#, 409, "not_at_work"),
        ("stop", "{}", 409, "not_at_work"),
        ("stop", r#"{"how": "gently"}"#, 422, "invalid"),
        ("stop", r#"{"contract": "../etc"}"#, 404, "not_found"),
        ("message", r#"{"text": "x", "contract": "1.1"}"#, 409, "not_at_work"),
        ("message", r#"{"text": ""}"#, 422, "text"),
        ("refund", r#"{"invoice": "lnbc1"}"#, 409, "play_money"),
        ("settle", r#"{"invoice": "7"}"#, 404, "not_found"),
        ("settle", r#"{"invoice": "x"}"#, 404, "not_found"),
        ("viewers", r#"{"role": "owner"}"#, 422, "invalid"),
    ] {
        let detail = post(rest, body.as_bytes()).expect_problem(status, code);
        assert!(detail.len() > 10 && detail.ends_with('.'), "{rest} {body}: {detail}");
    }
    let deep = "[".repeat(100_000);
    post("requests", deep.as_bytes()).expect_problem(400, "bad_request");
    post("requests", b"{\"task\": \"\xff\"}").expect(400);
    let make = |body: &Value| server.stranger().post("/api/sessions", body);
    make(&json!({"team": "nobody", "amount_sats": 5})).expect_problem(404, "not_found");
    make(&json!({"team": "../../etc", "amount_sats": 5})).expect_problem(404, "not_found");
    make(&json!({"team": "demo"})).expect_problem(422, "invalid");
    make(&json!({"team": "demo", "amount_sats": 0})).expect_problem(422, "amount");
    make(&json!({"team": "demo", "amount_sats": 5, "project": "/etc"})).expect_problem(422, "invalid");
    let after = session.state();
    assert_eq!(before, after);
    server.stop().expect(0);
}

#[test]
fn bodies_and_tasks_have_limits() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let server = Server::start(&house);
    let session = server.funded("demo", 100);
    let path = session.path("requests");
    let task = |bytes: usize| json!({"task": "x".repeat(bytes)});
    session.client.post(&path, &task(64 * 1024 + 1)).expect_problem(413, "too_long");
    session.client.post(&path, &task(1024 * 1024)).expect_problem(413, "too_large");
    // A hundred megabytes are refused at once, and are not read.
    let mut stream = session.client.connect();
    stream.write_all(&session.client.head("POST", &path, &[], Some(100 * 1024 * 1024))).unwrap();
    let chunk = vec![b'x'; 64 * 1024];
    let sent = (0..1600).take_while(|_| stream.write_all(&chunk).is_ok()).count();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).ok();
    let reply = String::from_utf8_lossy(&reply);
    assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 413"), "{reply}");
    assert!(sent < 1600, "the whole body was taken");
    // A head that is too long, and one that never ends.
    let long = "x".repeat(64 * 1024);
    let mut stream = session.client.connect();
    stream.write_all(&session.client.head("GET", "/api/offers", &[("X-Long", &long)], None)).ok();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).ok();
    let reply = String::from_utf8_lossy(&reply);
    assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 431"), "{reply}");
    assert_eq!(session.state()["state"], "ready");
    server.stop().expect(0);
}

#[test]
fn too_many_unpaid_sessions_streams_and_requests_are_refused() {
    let house = House::new(Wire::OpenAi, &json!([]));
    house.write_config(&format!("{}\n[serve]\nunpaid_sessions = 2\nstreams = 3\n", house.read_config()));
    let server = Server::start(&house);
    let session = server.funded("demo", 100);
    let streams: Vec<_> = (0..3).map(|_| session.events(None)).collect();
    for stream in &streams {
        stream.wait("the cast", |event| event.name == "cast");
    }
    let refused = session.client.send("GET", &session.path("events"), &[], None);
    refused.expect_problem(503, "too_many_streams");
    assert!(refused.header("retry-after").is_some());
    drop(streams);
    wait_for("a free stream", || (session.events(None).status == 200).then_some(()));
    let new = json!({"team": "demo", "amount_sats": 5});
    let made: Vec<Value> = (0..2).map(|_| server.stranger().post("/api/sessions", &new).expect(201)).collect();
    let refused = server.stranger().post("/api/sessions", &new);
    refused.expect_problem(429, "too_many_unpaid");
    let (id, owner) =
        (made[0]["session"].as_str().unwrap(), server.with_token(made[0]["owner_token"].as_str().unwrap()));
    owner.post(&format!("/api/sessions/{id}/settle"), &json!({"invoice": "1"})).expect(200);
    server.stranger().post("/api/sessions", &new).expect(201);
    server.stop().expect(0);

    house.write_config(&format!("{}public_rate = 1\nstreams_each = 1\n", house.read_config()));
    let server = Server::start(&house);
    let operator = server.operator();
    let first = Events::open(&operator, &session.id, None);
    first.wait("the cast", |event| event.name == "cast");
    operator.send("GET", &session.path("events"), &[], None).expect_problem(429, "too_many_streams");
    let statuses: Vec<u16> = (0..15).map(|_| server.stranger().get("/api/offers").status).collect();
    assert_eq!((statuses[0], statuses[14]), (200, 429), "{statuses:?}");
    // Guessing tokens counts, too, and a valid token is not held up by it.
    let guess = server.with_token(&format!("gh_{}", "1".repeat(64)));
    assert_eq!(guess.get("/api/sessions").status, 429);
    assert_eq!(server.operator().get("/api/sessions").status, 200);
    server.stop().expect(0);
}

#[test]
fn a_session_can_be_changed_only_so_often() {
    let house = House::new(Wire::OpenAi, &json!([]));
    house.write_config(&format!("{}\n[serve]\nchanges_per_minute = 3\n", house.read_config()));
    let server = Server::start(&house);
    let session = server.funded("demo", 100);
    let statuses: Vec<u16> = (0..4).map(|_| session.post("message", &json!({"text": "Hi."})).status).collect();
    assert_eq!((statuses[0], statuses[3]), (409, 429), "{statuses:?}");
    assert_eq!(session.state()["state"], "ready", "reading is not limited by it");
    session.post("stop", &json!({})).expect_problem(409, "not_at_work");
    let other = server.funded("demo", 100);
    other.post("message", &json!({"text": "Hi."})).expect_problem(409, "not_at_work");
    server.stop().expect(0);
}

#[test]
fn a_client_makes_only_so_many_sessions_and_the_operator_as_many_as_it_likes() {
    let house = House::new(Wire::OpenAi, &json!([]));
    house.write_config(&format!("{}\n[serve]\nnew_sessions_per_minute = 1\n", house.read_config()));
    let server = Server::start(&house);
    let new = json!({"team": "demo", "amount_sats": 5});
    let statuses: Vec<u16> = (0..6).map(|_| server.stranger().post("/api/sessions", &new).status).collect();
    assert_eq!((statuses[0], statuses[5]), (201, 429), "{statuses:?}");
    server.operator().post("/api/sessions", &new).expect(201);
    server.stop().expect(0);
}

#[test]
fn a_server_that_is_told_to_stop_as_soon_as_it_serves_ends_in_order() {
    let house = House::new(Wire::OpenAi, &json!([]));
    for _ in 0..5 {
        let running = Running::start(house.command(&["serve", "--addr", "127.0.0.1:0"]), "");
        running.printed("http://127.0.0.1:");
        running.terminate();
        running.end().expect(0);
    }
}

#[test]
fn requests_at_the_same_time_do_not_pass_the_limit_on_work() {
    let house = house_with_offer(&json!([{"then": stalls()}]));
    house.write_config(&format!("{}\n[serve]\nwork = 2\n", house.read_config()));
    let server = Server::start_unbilled(&house);
    let sessions: Vec<_> = (0..8).map(|_| server.funded("crew", 1000)).collect();
    let ask = |session: &Session| session.post("requests", &json!({"task": "When is the meeting?"})).status;
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let asked: Vec<_> = sessions.iter().map(|session| scope.spawn(move || ask(session))).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 202, 503, 503, 503, 503, 503, 503]);
    server.kill();
}

#[test]
fn a_second_server_in_the_same_home_is_refused() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let server = Server::start(&house);
    let refused = house.guildhall(&["serve", "--addr", "127.0.0.1:0"]).expect(75);
    assert!(refused.stderr.contains("another `guildhall serve` works in"), "{}", refused.stderr);
    server.stop().expect(0);
}

#[test]
fn settings_that_can_not_work_are_named_before_anything_is_served() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let config = house.read_config();
    let offer = "description = \"x\"\nproject = \".\"\nbudget = \"5sat\"\nmodel = \"nobody/none\"\n";
    for (settings, said) in [
        ("[serve]\nwork = 0\n", "must be at least 1"),
        ("[serve]\nstreams = 5000\n", "at most 3072"),
        ("[serve]\ninvoice_max = \"500msat\"\n", "below 1 sat"),
        ("[serve]\nlive_demo = false\n", "nothing is offered"),
        (&format!("[offers.Review]\n{offer}"), "small letters, digits and hyphens"),
        (&format!("[offers.review]\n{offer}"), "offers.review in"),
    ] {
        house.write_config(&format!("{config}\n{settings}"));
        let refused = house.guildhall(&["serve", "--addr", "127.0.0.1:0"]).expect(2);
        assert!(refused.stderr.contains(said), "{settings}: {}", refused.stderr);
        house.guildhall(&["paths"]).expect(0);
    }
    house.write_config(&format!("{config}\nno such setting"));
    house.guildhall(&["paths"]).expect(0);
}

#[test]
fn one_damaged_session_does_not_hide_the_others_from_the_operator() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let server = Server::start(&house);
    let (damaged, intact) = (server.funded("demo", 100), server.funded("demo", 200));
    server.stop().expect(0);
    house.tamper(&format!(
        "UPDATE session_fact SET body = replace(body, '100000', '900000') WHERE session = '{}'",
        damaged.id
    ));
    let server = Server::start(&house);
    let listed = server.operator().get("/api/sessions").expect(200);
    let account = |id: &str| {
        let lines = listed.as_array().unwrap();
        lines.iter().find(|line| line["session"] == id).unwrap()["account"].clone()
    };
    assert_eq!(account(&damaged.id), Value::Null, "{listed}");
    assert_eq!(account(&intact.id)["free_msat"], 200_000);
    server.stop().expect(0);
}

#[test]
fn two_requests_at_once_start_one() {
    let house = house_with_offer(&one_hire_each());
    let server = Server::start_unbilled(&house);
    let session = server.funded("crew", 1000);
    let ask = || session.post("requests", &json!({"task": "When is the meeting?", "budget_sats": 400})).status;
    let statuses = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        let mut statuses: Vec<u16> = asked.into_iter().map(|asked| asked.join().unwrap()).collect();
        statuses.sort_unstable();
        statuses
    });
    assert_eq!(statuses[..1], [202], "{statuses:?}");
    assert!(statuses[1..].iter().all(|status| [202, 409].contains(status)), "{statuses:?}");
    let state = session.ended();
    let started = statuses.iter().filter(|status| **status == 202).count();
    assert_eq!(state["requests"].as_array().unwrap().len(), started, "{state}");
    house.guildhall(&["verify"]).expect(0);
    server.stop().expect(0);
}

#[test]
fn the_same_request_at_the_same_time_under_one_key_starts_once_and_everybody_gets_its_result() {
    let house = house_with_offer(&one_hire_each());
    let server = Server::start_unbilled(&house);
    let session = server.funded("crew", 1000);
    let body = json!({"task": "When is the meeting?", "budget_sats": 400});
    let ask = || session.client.post_once(&session.path("requests"), "one", &body).expect(202);
    let roots: Vec<Value> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()["root"].clone()).collect()
    });
    assert_eq!(roots, vec![json!("1"); 8]);
    assert_eq!(session.ended()["requests"].as_array().unwrap().len(), 1);
    server.stop().expect(0);
}

#[test]
fn an_invoice_that_has_expired_is_not_settled() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let server = Server::start(&house);
    let session = server.unpaid("demo", 100);
    house.tamper("UPDATE play_invoice SET expires_at = 1");
    session.post("settle", &json!({"invoice": "1"})).expect_problem(409, "expired");
    assert_eq!((session.state()["state"].clone(), session.state()["invoices"].clone()), (json!("unpaid"), json!([])));
    session.post("fund", &json!({"amount_sats": 50})).expect(201);
    session.post("settle", &json!({"invoice": "2"})).expect(200);
    assert_eq!(session.state()["free_msat"], 50_000);
    server.stop().expect(0);
}

#[test]
fn the_server_says_that_its_journal_has_stopped() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let server = Server::start(&house);
    let session = server.funded("demo", 100);
    assert_eq!(server.stranger().get("/healthz").expect(200), json!({"status": "ok"}));
    house.refuse("session_fact", "funded");
    session.post("fund", &json!({"amount_sats": 50})).expect(201);
    let refused = session.post("settle", &json!({"invoice": "2"}));
    assert!(refused.status >= 500, "{}", refused.text());
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(!detail.contains(&house.home().display().to_string()), "{detail}");
    let health = server.stranger().get("/healthz");
    assert_eq!((health.status, health.json()), (503, json!({"status": "journal stopped"})));
    session.post("fund", &json!({"amount_sats": 50})).expect_problem(503, "journal_stopped");
    assert_eq!(session.state()["free_msat"], 100_000, "it can still be read");
    let metrics = server.operator().get("/metrics").text();
    assert!(metrics.contains("guildhall_journal_up 0"), "{metrics}");
    server.kill();
    house.refuse_nothing();
    let server = Server::start(&house);
    server
        .with_token(session.made["owner_token"].as_str().unwrap())
        .post(&session.path("settle"), &json!({"invoice": "2"}))
        .expect(200);
    server.stop().expect(0);
}
