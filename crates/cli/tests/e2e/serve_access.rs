//! Permissions over HTTP: every route with every kind of token, foreign hosts and origins, and what never leaves the server.

use serde_json::{Value, json};

use crate::house::{House, Wire, wait_for};
use crate::serve::{house_with_offer, one_hire_each};
use crate::serving::{Client, Events, Server, Session};

/// The routes of a session, with a valid body for those that take one.
fn routes() -> Vec<(&'static str, &'static str, Option<Value>)> {
    let hash = "texts/0000000000000000000000000000000000000000000000000000000000000000";
    vec![
        ("GET", "", None),
        ("GET", "tree", None),
        ("GET", "ledger", None),
        ("GET", "transcript/1", None),
        ("GET", "events", None),
        ("GET", hash, None),
        ("POST", "requests", Some(json!({"task": "x"}))),
        ("POST", "fund", Some(json!({"amount_sats": 1}))),
        ("POST", "topup", Some(json!({"amount_sats": 1}))),
        ("POST", "stop", Some(json!({}))),
        ("POST", "message", Some(json!({"text": "x"}))),
        ("POST", "refund", Some(json!({}))),
        ("GET", "viewers", None),
        ("POST", "viewers", Some(json!({}))),
        ("POST", "settle", Some(json!({"invoice": "1"}))),
        ("DELETE", "viewers/2", None),
    ]
}

/// The status of a request. A stream is closed after its head.
fn status(client: &Client, session: &Session, (method, rest, body): &(&str, &str, Option<Value>)) -> u16 {
    if *rest == "events" {
        return Events::open(client, &session.id, None).status;
    }
    let body = body.as_ref().map(Value::to_string);
    client.send(method, &session.path(rest), &[], body.as_deref().map(str::as_bytes)).status
}

#[test]
fn every_route_refuses_every_token_that_is_not_for_it() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let server = Server::start(&house);
    let (session, other) = (server.funded("demo", 100), server.funded("demo", 100));
    let viewer = |session: &Session| {
        let added = session.post("viewers", &json!({})).expect(201);
        (added["viewer"].as_u64().unwrap(), server.with_token(added["token"].as_str().unwrap()))
    };
    let (number, viewing) = viewer(&session);
    let (revoked_number, revoked) = viewer(&session);
    assert_eq!((number, revoked_number), (2, 3));
    let revoke = session.client.send("DELETE", &session.path("viewers/3"), &[], None);
    assert_eq!(revoke.status, 204);
    let listed = session.get("viewers").expect(200);
    assert_eq!((listed["viewers"].as_array().unwrap().len(), listed["viewers"][0]["viewer"].as_u64()), (1, Some(2)));
    let (_, foreign_viewer) = viewer(&other);
    let wrong = server.with_token(&format!("gh_{}", "0".repeat(64)));
    let not_a_token = server.with_token("secret");
    let strangers =
        [("none", &server.stranger()), ("wrong", &wrong), ("not a token", &not_a_token), ("revoked", &revoked)];
    for route in routes() {
        for (name, client) in strangers {
            assert_eq!(status(client, &session, &route), 401, "{name}: {route:?}");
        }
        for (name, client) in [("foreign owner", &other.client), ("foreign viewer", &foreign_viewer)] {
            assert_eq!(status(client, &session, &route), 403, "{name}: {route:?}");
        }
        let is_readable = route.0 == "GET" && route.1 != "viewers";
        let expected = if is_readable { [200, 404].as_slice() } else { &[403] };
        let found = status(&viewing, &session, &route);
        assert!(expected.contains(&found), "viewer: {route:?}: {found}");
    }
    let unknown = Session { id: "no-such-session".to_owned(), client: session.client.clone(), made: Value::Null };
    assert_eq!(status(&session.client, &unknown, &routes()[0]), 403, "an owner learns nothing about other sessions");
    assert_eq!(status(&server.operator(), &unknown, &routes()[0]), 404);
    for path in ["/api/sessions", "/metrics"] {
        for (name, client) in strangers {
            assert_eq!(client.get(path).status, 401, "{name}: {path}");
        }
        for client in [&session.client, &viewing] {
            client.get(path).expect_problem(403, "forbidden");
        }
        assert_eq!(server.operator().get(path).status, 200);
    }
    for path in ["/api/offers", "/healthz", "/api/openapi.json"] {
        assert_eq!(server.stranger().get(path).status, 200, "{path}");
    }
    for (method, path, expected) in
        [("GET", "/nothing", 404), ("GET", "/api", 404), ("PUT", "/api/offers", 405), ("OPTIONS", "/api/offers", 405)]
    {
        server.stranger().send(method, path, &[], None).expect(expected);
    }
    server.stop().expect(0);
}

#[test]
fn revoking_a_token_ends_its_streams_and_no_others() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let server = Server::start(&house);
    let session = server.funded("demo", 100);
    let token = |_| session.post("viewers", &json!({})).expect(201)["token"].as_str().unwrap().to_owned();
    let viewers: Vec<Client> = (0..2).map(|number| server.with_token(&token(number))).collect();
    let streams: Vec<Events> = viewers.iter().map(|viewer| Events::open(viewer, &session.id, None)).collect();
    for stream in &streams {
        stream.wait("the cast", |event| event.name == "cast");
    }
    let owner = session.events(None);
    session.client.send("DELETE", &session.path("viewers/2"), &[], None);
    streams[0].ended();
    session.post("fund", &json!({"amount_sats": 5})).expect(201);
    session.post("settle", &json!({"invoice": "2"})).expect(200);
    for stream in [&streams[1], &owner] {
        stream.wait("the new money", |event| event.id.as_deref() == Some("0.2"));
    }
    assert!(streams[0].ids().iter().all(|id| id != "0.2"));
    // A stop ends all streams.
    server.running().terminate();
    streams[1].ended();
    owner.ended();
}

#[test]
fn rebinding_and_foreign_origins_are_refused() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let server = Server::start_with(&house, &["--addr", "127.0.0.1:0", "--public", "https://hall.example"]);
    let (stranger, port) = (server.stranger(), server.address().port());
    let with = |headers: &[(&str, &str)]| stranger.send("GET", "/api/offers", headers, None);
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), "hall.example".to_owned()] {
        assert_eq!(with(&[("Host", &host)]).status, 200, "{host}");
    }
    for host in ["evil.example", "127.0.0.1", "hall.example.evil.example", "", "hall.example:1"] {
        with(&[("Host", host)]).expect_problem(403, "forbidden");
    }
    let own = format!("http://127.0.0.1:{port}");
    for origin in [own.as_str(), "https://hall.example"] {
        let reply = with(&[("Origin", origin)]);
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, None), "{origin}");
    }
    for origin in ["https://evil.example", "null", "http://hall.example", "https://hall.example:444"] {
        with(&[("Origin", origin)]).expect_problem(403, "forbidden");
    }
    let body = br#"{"team":"demo","amount_sats":1}"#;
    let foreign = [("Origin", "https://evil.example")];
    stranger.send("POST", "/api/sessions", &foreign, Some(body)).expect_problem(403, "forbidden");
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        stranger.send("POST", "/api/sessions", &[("Content-Type", kind)], Some(body)).expect_problem(415, "not_json");
    }
    let headers = with(&[]);
    for (name, value) in [
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(headers.header(name), Some(value));
    }
    server.stop().expect(0);
    let refused = house.guildhall(&["serve", "--addr", "0.0.0.0:0"]).expect(2);
    assert!(refused.stderr.contains("--public https://hall.example.com"), "{}", refused.stderr);
    for wrong in ["hall.example", "https://hall.example/path", "ftp://hall.example"] {
        house.guildhall(&["serve", "--addr", "127.0.0.1:0", "--public", wrong]).expect(2);
    }
}

#[test]
fn no_token_in_any_url_or_log() {
    let house = house_with_offer(&one_hire_each());
    let server = Server::start_unbilled(&house);
    let session = server.funded("crew", 1000);
    let viewer = session.post("viewers", &json!({})).expect(201);
    let (token, link) = (viewer["token"].as_str().unwrap(), viewer["link"].as_str().unwrap());
    let (before, behind) = link.split_once('#').unwrap();
    assert!(!before.contains("gh_") && behind.contains(token), "{link}");
    let owner = session.made["owner_token"].as_str().unwrap();
    // A token in an address is not accepted.
    for query in
        [format!("?token={owner}"), format!("?access_token={owner}"), format!("?authorization=Bearer%20{owner}")]
    {
        assert_eq!(server.stranger().get(&format!("{}{query}", session.path(""))).status, 401);
    }
    let events = session.events(None);
    session.ask("When is the secret meeting?", None);
    session.ended();
    session.get("transcript/1");
    server.with_token(token).get(&session.path("ledger")).expect(200);
    drop(events);
    let operator = std::fs::read_to_string(house.home().join("operator-token")).unwrap();
    server.operator().get("/metrics");
    let ended = server.stop().expect(0);
    let log = format!("{}{}", ended.stdout, ended.stderr);
    assert!(log.contains("/api/sessions/{id}/requests 202"), "{log}");
    for secret in [owner, token, operator.trim(), "gh_", "secret meeting", "Tuesday"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
    let journal = std::fs::read(house.journal()).unwrap();
    for secret in [owner, token, operator.trim()] {
        assert!(!journal.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "the journal has a token");
    }
}

#[cfg(unix)]
#[test]
fn the_operator_s_token_is_for_its_owner_alone_and_stays_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new(Wire::OpenAi, &json!([]));
    let file = house.home().join("operator-token");
    let server = Server::start(&house);
    let token = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    server.stop().expect(0);
    let server = Server::start(&house);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), token);
    assert_eq!(server.operator().get("/api/sessions").status, 200);
    server.stop().expect(0);
    std::fs::write(&file, "not a token\n").unwrap();
    let refused = house.guildhall(&["serve", "--addr", "127.0.0.1:0"]).expect(1);
    assert!(refused.stderr.contains("Remove the file"), "{}", refused.stderr);
}

#[test]
fn foreign_text_hash_yields_nothing() {
    let house = house_with_offer(&one_hire_each());
    let server = Server::start_unbilled(&house);
    let (session, other) = (server.funded("crew", 1000), server.funded("crew", 1000));
    session.ask("When is the meeting?", None);
    let state = session.ended();
    let answer = state["requests"][0]["answer"]["hash"].as_str().unwrap().to_owned();
    assert_eq!(session.get(&format!("texts/{answer}")).text(), "The meeting is on Tuesday.");
    other.get(&format!("texts/{answer}")).expect_problem(404, "not_found");
    // Settings and system prompts are named by facts, and can't be read all the same.
    let db = rusqlite::Connection::open(house.journal()).unwrap();
    let mut all = db.prepare("SELECT lower(hex(hash)), kind FROM text").unwrap();
    let all = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let all: Vec<(String, String)> = all.map(Result::unwrap).collect();
    for (hash, kind) in &all {
        let expected = if ["prices", "opening"].contains(&kind.as_str()) { 404 } else { 200 };
        assert_eq!(session.get(&format!("texts/{hash}")).status, expected, "{kind}");
        assert_eq!(other.get(&format!("texts/{hash}")).status, 404, "{kind}");
    }
    for kind in ["prices", "opening", "task", "words"] {
        assert!(all.iter().any(|(_, own)| own == kind), "{kind}: {all:?}");
    }
    for wrong in ["", "x", "..", "%2e%2e", &answer[1..], &answer.to_uppercase()] {
        assert_eq!(session.get(&format!("texts/{wrong}")).status, 404, "{wrong}");
    }
    // Nothing that a viewer gets has a system prompt, a path of this machine or a process in it.
    let events = session.events(None);
    let newest = state["newest_event"].as_str().unwrap();
    events.wait("the last event", |event| event.id.as_deref() == Some(newest));
    let mut shown = events.so_far().iter().map(|event| event.data.to_string()).collect::<Vec<_>>().join("\n");
    for rest in ["", "tree", "ledger", "transcript/1", "transcript/1.1"] {
        shown.push_str(&session.get(rest).text());
    }
    shown.push_str(&session.get("transcript/9").expect_problem(404, "not_found"));
    let (home, project) = (house.home().display().to_string(), house.project().display().to_string());
    let pid = format!("process {}", server.running().pid());
    for hidden in ["You are lead", "You are clerk", home.as_str(), project.as_str(), pid.as_str()] {
        assert!(!shown.contains(hidden), "{hidden}: {shown}");
    }
    assert!(shown.contains("The meeting is on Tuesday."), "{shown}");
    server.stop().expect(0);
}

#[test]
fn a_budget_above_the_balance_is_refused() {
    let house = house_with_offer(&one_hire_each());
    let server = Server::start_unbilled(&house);
    let session = server.funded("crew", 1000);
    let refused = session.post("requests", &json!({"task": "When?", "budget_sats": 1001}));
    let detail = refused.expect_problem(402, "balance_too_low");
    assert_eq!(detail, "1001 sat was asked for, but only 1000 sat is free in the session. Fund the session.");
    assert_eq!(
        (session.state()["state"].clone(), session.state()["free_msat"].clone()),
        (json!("ready"), json!(1_000_000))
    );
    session.ask("When?", Some(1000));
    session.ended();
    let state = session.state();
    let more = state["free_msat"].as_u64().unwrap() / 1000 + 1;
    session.post("requests", &json!({"task": "When?", "budget_sats": more})).expect_problem(402, "balance_too_low");
    server.stop().expect(0);
}

#[test]
fn play_money_does_not_reach_a_priced_model_without_the_operator() {
    let house = house_with_offer(&one_hire_each());
    let server = Server::start(&house);
    let offers = server.stranger().get("/api/offers").expect(200);
    assert_eq!(offers[0]["needs_operator"], true, "{offers}");
    let new = json!({"team": "crew", "amount_sats": 100});
    server.stranger().post("/api/sessions", &new).expect_problem(403, "forbidden");
    let made = server.operator().post("/api/sessions", &new).expect(201);
    let owner = server.with_token(made["owner_token"].as_str().unwrap());
    let settle = format!("/api/sessions/{}/settle", made["session"].as_str().unwrap());
    owner.post(&settle, &json!({"invoice": "1"})).expect_problem(403, "forbidden");
    server.operator().post(&settle, &json!({"invoice": "1"})).expect(200);
    let (requests, topup) = (settle.replace("settle", "requests"), settle.replace("settle", "topup"));
    owner.post(&requests, &json!({"task": "When?"})).expect_problem(403, "forbidden");
    owner.post(&topup, &json!({"amount_sats": 1})).expect_problem(403, "forbidden");
    server.operator().post(&requests, &json!({"task": "When?"})).expect(202);
    wait_for("the work", || (owner.get(&settle.replace("/settle", "")).json()["state"] == "ready").then_some(()));
    server.stop().expect(0);
}

#[test]
fn play_money_from_before_does_not_reach_a_model_that_is_priced_now() {
    let house = house_with_offer(&one_hire_each());
    let server = Server::start_unbilled(&house);
    let address = server.address().to_string();
    let session = server.funded("crew", 1000);
    server.stop().expect(0);
    let server = Server::start_with(&house, &["--addr", &address]);
    session.post("requests", &json!({"task": "When?"})).expect_problem(403, "forbidden");
    session.post("fund", &json!({"amount_sats": 5})).expect(201);
    session.post("settle", &json!({"invoice": "2"})).expect_problem(403, "forbidden");
    assert_eq!(house.requests().len(), 0);
    session.post("refund", &json!({})).expect(202);
    server.stop().expect(0);
}
