//! Each fault, from the client's side.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use guildhall_model_server::{
    Amount, Cut, Damage, Drip, Ending, Pace, Place, Raw, Reply, RetryAfter, Then, Usage, UsageTold, Wrong,
};
use serde_json::json;

use crate::client::{Connection, End, Got, STREAMS, WIRES, Wire, ask};
use crate::{always, replying};

/// Long enough to be sure that nothing comes.
const SILENCE: Duration = Duration::from_millis(300);

fn whole(wire: Wire) -> Got {
    ask(&replying(*Reply::text("héllo, a text of some length for the deltas")), wire, "")
}

fn damaged(damage: Damage) -> guildhall_model_server::Peer {
    replying(*Reply::text("héllo, a text of some length for the deltas").damage(damage))
}

#[test]
fn refusals_are_in_the_words_of_each_provider() {
    let check = |wrong: Wrong, wire, status, kind: &str, code: serde_json::Value| {
        let got = ask(&always(Then::Wrong(wrong)), wire, "");
        let error = got.json()["error"].clone();
        let told = if wire == Wire::Anthropic { &error["details"]["error_code"] } else { &error["code"] };
        assert_eq!((got.status, &error["type"], told), (status, &json!(kind), &code), "{error}");
        assert!(error["message"].is_string());
        assert_eq!(got.headers.get("retry-after"), None);
    };
    let (none, anthropic, openai) = (json!(null), Wire::Anthropic, Wire::OpenAi);
    let (rate, overloaded) = (Wrong::RateLimit { retry_after: None }, Wrong::Overloaded { retry_after: None });
    check(Wrong::Key, anthropic, 401, "authentication_error", none.clone());
    check(Wrong::Key, openai, 401, "invalid_request_error", json!("invalid_api_key"));
    check(Wrong::Model, anthropic, 404, "not_found_error", none.clone());
    check(Wrong::Model, openai, 404, "invalid_request_error", json!("model_not_found"));
    check(Wrong::ContextTooLong, anthropic, 400, "invalid_request_error", none.clone());
    check(Wrong::ContextTooLong, openai, 400, "invalid_request_error", json!("context_length_exceeded"));
    check(Wrong::Request, anthropic, 400, "invalid_request_error", none.clone());
    check(Wrong::Request, openai, 400, "invalid_request_error", none.clone());
    check(rate.clone(), anthropic, 429, "rate_limit_error", none.clone());
    check(rate, openai, 429, "requests", json!("rate_limit_exceeded"));
    check(Wrong::SpendLimit, anthropic, 429, "rate_limit_error", json!("enforced_spend_limit_reached"));
    check(Wrong::SpendLimit, openai, 429, "invalid_request_error", json!("organization_spend_limit_exceeded"));
    check(Wrong::Credit, anthropic, 400, "invalid_request_error", none.clone());
    check(Wrong::Credit, openai, 429, "insufficient_quota", json!("insufficient_quota"));
    check(overloaded.clone(), anthropic, 529, "overloaded_error", none.clone());
    check(overloaded, openai, 503, "server_error", none.clone());
    check(Wrong::Server, anthropic, 500, "api_error", none.clone());
    check(Wrong::Server, openai, 500, "server_error", none);
}

#[test]
fn an_anthropic_refusal_has_the_shape_of_one() {
    let got = ask(&always(Then::Wrong(Wrong::Overloaded { retry_after: None })), Wire::AnthropicStream, "");
    assert_eq!(
        got.text(),
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#
    );
}

#[test]
fn retry_after_is_seconds_a_date_or_nonsense() {
    for (retry, header) in [
        (RetryAfter::Seconds(7), "7"),
        (RetryAfter::Seconds(1_000_000_000), "1000000000"),
        (RetryAfter::Text("Wed, 21 Oct 2026 07:28:00 GMT".into()), "Wed, 21 Oct 2026 07:28:00 GMT"),
        (RetryAfter::Text("soon".into()), "soon"),
    ] {
        for wrong in
            [Wrong::RateLimit { retry_after: Some(retry.clone()) }, Wrong::Overloaded { retry_after: Some(retry) }]
        {
            let got = ask(&always(Then::Wrong(wrong)), Wire::OpenAi, "");
            assert_eq!(got.headers["retry-after"], header);
        }
    }
}

#[test]
fn a_raw_response_is_given_byte_for_byte() {
    let html = "<html><body>Bad gateway {{n}}</body></html>";
    let headers = [("content-type".into(), "text/html".into()), ("server".into(), "proxy".into())].into();
    let peer = always(Then::Raw(Raw { status: 200, headers, body: html.into() }));
    for (wire, n) in WIRES.into_iter().zip(1..) {
        let got = ask(&peer, wire, "");
        assert_eq!((got.status, got.text()), (200, html.replace("{{n}}", &n.to_string())));
        assert_eq!((&*got.headers["content-type"], &*got.headers["server"]), ("text/html", "proxy"));
    }
}

#[test]
fn a_redirect_names_the_other_address() {
    let to = "http://127.0.0.1:1/v1/messages";
    let got = ask(&always(Then::Redirect { to: to.into() }), Wire::Anthropic, "");
    assert_eq!((got.status, got.headers["location"].as_str(), got.body.len()), (307, to, 0));
}

#[test]
fn a_connection_ends_before_any_header() {
    for (then, end, ending) in [(Then::Close, End::Closed, Ending::Closed), (Then::Reset, End::Reset, Ending::Reset)] {
        let peer = always(then);
        let got = ask(&peer, Wire::Anthropic, "");
        assert_eq!((got.status, got.end, peer.ending(1)), (0, end, ending));
    }
}

#[test]
fn a_server_that_is_down_refuses_connections_and_comes_back() {
    let peer = always(Then::Down { ms: 400 });
    let idle = Connection::open(peer.address());
    assert_eq!(ask(&peer, Wire::OpenAi, "").end, End::Closed);
    let refused = TcpStream::connect(peer.address()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    let mut idle = idle;
    assert_eq!(idle.receive().end, End::Closed, "idle connections are closed, too");
    let until = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(peer.address()).is_err() {
        assert!(Instant::now() < until, "the server stays away");
        std::thread::yield_now();
    }
}

#[test]
fn a_stall_sends_nothing_and_the_log_tells_who_hung_up() {
    let events = |count| Then::Reply(Reply::text("x").damage(Damage::Stall { after: Place::Events(count) }));
    let start = Then::Reply(Reply::text("x").damage(Damage::Stall { after: Place::Start }));
    for (then, status) in [(Then::Stall, 0), (start, 0), (events(0), 200), (events(2), 200)] {
        for wire in STREAMS {
            let peer = always(then.clone());
            let mut connection = Connection::open(peer.address()).patience(SILENCE);
            connection.send("POST", wire.path(), &[], &wire.request("").to_string());
            let got = connection.receive();
            assert_eq!((got.status, got.end), (status, End::Silent));
            assert_eq!(got.text().matches("data: ").count(), if then == events(2) { 2 } else { 0 });
            drop(connection);
            assert_eq!(peer.ending(1), Ending::HungUp);
        }
    }
}

#[test]
fn a_body_breaks_off_at_the_byte_asked_for() {
    for wire in WIRES {
        let all = whole(wire).body;
        for (how, end, ending) in [
            (Cut::Reset, End::Reset, Ending::Reset),
            (Cut::Close, End::Closed, Ending::Closed),
            (Cut::End, End::Whole, Ending::Sent),
        ] {
            for bytes in [0, 1, 100, all.len() - 1] {
                let peer = damaged(Damage::Cut { after: Place::Bytes(bytes), how });
                let got = ask(&peer, wire, "");
                assert_eq!((got.status, got.end, peer.ending(1)), (200, end, ending), "{wire:?} {how:?} {bytes}");
                assert_eq!(got.body, all[..bytes], "{wire:?} {how:?}");
            }
        }
    }
}

#[test]
fn a_slow_body_breaks_off_at_the_byte_asked_for() {
    let drip = Pace { drip: Some(Drip { bytes: 2, every_ms: 0 }), ..Pace::default() };
    let slow = Pace { between_ms: 7, ..Pace::default() };
    for wire in WIRES {
        let all = whole(wire).body;
        for pace in [&drip, &slow] {
            let damage = Damage::Cut { after: Place::Bytes(99), how: Cut::Reset };
            let reply = Reply::text("héllo, a text of some length for the deltas").damage(damage);
            let got = ask(&replying(Reply { pace: pace.clone(), ..*reply }), wire, "");
            assert_eq!((got.status, got.end, &*got.body), (200, End::Reset, &all[..99]), "{wire:?} {pace:?}");
        }
    }
}

#[test]
fn a_turn_can_be_executed_and_nothing_of_it_arrive() {
    let peer = damaged(Damage::Cut { after: Place::Start, how: Cut::Reset });
    let got = ask(&peer, Wire::OpenAiStream, "");
    assert_eq!((got.status, got.end, peer.ending(1)), (0, End::Reset, Ending::Reset));
    assert_eq!(peer.executions(), 1);
}

#[test]
fn a_body_breaks_off_inside_a_character() {
    for wire in WIRES {
        let got = ask(&damaged(Damage::Cut { after: Place::InsideUtf8, how: Cut::Reset }), wire, "");
        let error = String::from_utf8(got.body).unwrap_err();
        assert_eq!((error.utf8_error().error_len(), got.end), (None, End::Reset), "only the end is missing");
    }
}

#[test]
fn a_body_breaks_off_inside_json() {
    for wire in WIRES {
        let text = ask(&damaged(Damage::Cut { after: Place::InsideDelta, how: Cut::Close }), wire, "").text();
        let last = text.lines().last().unwrap();
        let json = last.strip_prefix("data: ").unwrap_or(last);
        assert!(serde_json::from_str::<serde_json::Value>(json).unwrap_err().is_eof(), "{json}");
        assert!(!text.contains("message_stop") && !text.contains("DONE"), "{text}");
    }
}

#[test]
fn an_error_comes_after_a_part_of_the_stream() {
    let damage = Damage::Error { events: 4, kind: "overloaded_error".into(), message: "Overloaded".into() };
    let peer = damaged(damage);
    let got = ask(&peer, Wire::AnthropicStream, "");
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let text = got.text();
    let partial = text.strip_suffix(error).unwrap_or_else(|| panic!("{text}"));
    assert!(whole(Wire::AnthropicStream).text().starts_with(partial) && partial.contains("text_delta"), "{partial}");
    let got = ask(&peer, Wire::OpenAiStream, "");
    let error =
        "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\",\"param\":null,\"code\":null}}\n\n";
    assert!(got.text().ends_with(error) && got.end == End::Whole, "{}", got.text());
}

#[test]
fn the_end_comes_twice() {
    let peer = damaged(Damage::EndTwice);
    let anthropic = ask(&peer, Wire::AnthropicStream, "").text();
    assert_eq!((anthropic.matches("\"message_stop\"").count(), anthropic.matches("\"message_delta\"").count()), (2, 2));
    assert_eq!(ask(&peer, Wire::OpenAiStream, "").text().matches("data: [DONE]").count(), 2);
}

#[test]
fn a_slow_drip_changes_no_byte() {
    let pace = Pace { drip: Some(Drip { bytes: 64, every_ms: 5 }), first_ms: 20, headers_ms: 20, ..Pace::default() };
    let peer = replying(Reply { pace, ..*Reply::text("héllo, a text of some length for the deltas") });
    for wire in WIRES {
        let began = Instant::now();
        let got = ask(&peer, wire, "");
        let drops = u64::try_from(got.body.len().div_ceil(64)).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(40 + 5 * (drops - 1)), "{:?}", began.elapsed());
        assert_eq!(got.text().replace(['2', '3', '4'], "1"), whole(wire).text().replace(['2', '3', '4'], "1"));
    }
}

#[test]
fn the_content_type_can_be_wrong() {
    let peer = replying(Reply { content_type: Some("text/plain".into()), ..*Reply::text("x") });
    for wire in WIRES {
        assert_eq!(ask(&peer, wire, "").headers["content-type"], "text/plain");
    }
}

#[test]
fn usage_is_absent_zero_huge_negative_or_changing() {
    let peer = replying(Reply { usage: UsageTold::Absent, ..*Reply::text("x") });
    for wire in WIRES {
        let text = ask(&peer, wire, "").text();
        assert!(!text.contains("tokens"), "{text}");
    }
    let given = |usage| replying(Reply { usage: UsageTold::Given(usage), ..*Reply::text("x") });
    let zero = ask(&given(Usage::default()), Wire::OpenAi, "").json()["usage"].clone();
    assert_eq!((&zero["prompt_tokens"], &zero["total_tokens"]), (&json!(0), &json!(0)));
    let huge = Usage { input: Amount::Whole(i64::MAX), output: Amount::Whole(-5), ..Usage::default() };
    let huge = given(huge);
    assert_eq!(ask(&huge, Wire::Anthropic, "").json()["usage"]["input_tokens"], i64::MAX);
    assert_eq!(ask(&huge, Wire::OpenAi, "").json()["usage"]["completion_tokens"], -5);
    let odd = given(Usage { input: Amount::Verbatim("1e400".into()), ..Usage::default() });
    assert!(ask(&odd, Wire::OpenAi, "").text().contains(r#""prompt_tokens":1e400"#));
    let changing = Usage { input: Amount::Whole(9), input_at_start: Some(Amount::Whole(4)), ..Usage::default() };
    let events = ask(&given(changing), Wire::AnthropicStream, "").events();
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 4);
    assert_eq!(events[events.len() - 2]["usage"]["input_tokens"], 9);
    let large = Usage { output: Amount::Whole(9000), ..Usage::default() };
    let shrinking = given(Usage { output: Amount::Whole(1), earlier: vec![large], ..Usage::default() });
    for (wire, key) in [(Wire::AnthropicStream, "output_tokens"), (Wire::OpenAiStream, "completion_tokens")] {
        let events = ask(&shrinking, wire, "").events();
        let told = events.iter().filter(|event| event["usage"].is_object()).map(|event| event["usage"][key].clone());
        assert_eq!(told.collect::<Vec<_>>(), [json!(9000), json!(1)]);
    }
}
