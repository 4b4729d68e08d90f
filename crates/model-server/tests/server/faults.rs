//! Each fault, as a client sees it.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use guildhall_model_server::{Ending, Entry, Peer, Tokens};
use serde_json::{Value, json};

use crate::client::{Connection, End, Got, STREAMS, WIRES, Wire, ask};
use crate::{always, replying, start};

/// A client that has received nothing for this long receives nothing more.
const SILENCE: Duration = Duration::from_millis(300);

const TEXT: &str = "héllo, a text of some length for the deltas";

fn undamaged(wire: Wire) -> Got {
    ask(&replying(&json!({"text": TEXT})), wire, "")
}

fn damaged(damage: &Value) -> Peer {
    replying(&json!({"text": TEXT, "damage": damage}))
}

fn cut(after: &Value, how: &str) -> Value {
    json!({"cut": {"after": after, "how": how}})
}

#[test]
fn refusals_are_those_of_each_provider() {
    let check = |wrong: Value, wire, status, kind: &str, code: Value| {
        let got = ask(&always(&json!({"wrong": wrong})), wire, "");
        let error = got.json()["error"].clone();
        let found = if wire == Wire::Anthropic { &error["details"]["error_code"] } else { &error["code"] };
        assert_eq!((got.status, &error["type"], found), (status, &json!(kind), &code), "{error}");
        assert!(error["message"].is_string());
        assert_eq!(got.headers.get("retry-after"), None);
    };
    let (none, anthropic, openai) = (json!(null), Wire::Anthropic, Wire::OpenAi);
    let (rate, overloaded) = (json!({"rate_limit": {}}), json!({"overloaded": {}}));
    check(json!("key"), anthropic, 401, "authentication_error", none.clone());
    check(json!("key"), openai, 401, "invalid_request_error", json!("invalid_api_key"));
    check(json!("model"), anthropic, 404, "not_found_error", none.clone());
    check(json!("model"), openai, 404, "invalid_request_error", json!("model_not_found"));
    check(json!("context_too_long"), anthropic, 400, "invalid_request_error", none.clone());
    check(json!("context_too_long"), openai, 400, "invalid_request_error", json!("context_length_exceeded"));
    check(json!("request"), anthropic, 400, "invalid_request_error", none.clone());
    check(json!("request"), openai, 400, "invalid_request_error", none.clone());
    check(rate.clone(), anthropic, 429, "rate_limit_error", none.clone());
    check(rate, openai, 429, "requests", json!("rate_limit_exceeded"));
    check(json!("spend_limit"), anthropic, 429, "rate_limit_error", json!("enforced_spend_limit_reached"));
    check(json!("spend_limit"), openai, 429, "invalid_request_error", json!("organization_spend_limit_exceeded"));
    check(json!("credit"), anthropic, 400, "invalid_request_error", none.clone());
    check(json!("credit"), openai, 429, "insufficient_quota", json!("insufficient_quota"));
    check(overloaded.clone(), anthropic, 529, "overloaded_error", none.clone());
    check(overloaded, openai, 503, "server_error", none.clone());
    check(json!("server"), anthropic, 500, "api_error", none.clone());
    check(json!("server"), openai, 500, "server_error", none);
}

#[test]
fn an_anthropic_refusal_has_a_request_id() {
    let got = ask(&always(&json!({"wrong": {"overloaded": {}}})), Wire::AnthropicStream, "");
    assert_eq!(
        got.text(),
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#
    );
}

#[test]
fn retry_after_can_be_seconds_a_date_or_any_text() {
    for (retry, header) in [
        (json!(7), "7"),
        (json!(1_000_000_000), "1000000000"),
        (json!("Wed, 21 Oct 2026 07:28:00 GMT"), "Wed, 21 Oct 2026 07:28:00 GMT"),
        (json!("soon"), "soon"),
    ] {
        for kind in ["rate_limit", "overloaded"] {
            let got = ask(&always(&json!({"wrong": {kind: {"retry_after": retry}}})), Wire::OpenAi, "");
            assert_eq!(got.headers["retry-after"], header);
        }
    }
}

#[test]
fn a_raw_response_is_sent_byte_for_byte() {
    let html = "<html><body>Bad gateway {{n}}</body></html>";
    let headers = json!({"content-type": "text/html", "server": "proxy"});
    let peer = always(&json!({"raw": {"status": 200, "headers": headers, "body": html}}));
    for (wire, n) in WIRES.into_iter().zip(1..) {
        let got = ask(&peer, wire, "");
        assert_eq!((got.status, got.text()), (200, html.replace("{{n}}", &n.to_string())));
        assert_eq!((&*got.headers["content-type"], &*got.headers["server"]), ("text/html", "proxy"));
    }
}

#[test]
fn a_redirect_has_the_other_address() {
    let to = "http://127.0.0.1:1/v1/messages";
    let got = ask(&always(&json!({"redirect": {"to": to}})), Wire::Anthropic, "");
    assert_eq!((got.status, got.headers["location"].as_str(), got.body.len()), (307, to, 0));
}

#[test]
fn a_connection_can_end_before_any_header() {
    for (then, end, ending) in [("close", End::Closed, Ending::Closed), ("reset", End::Reset, Ending::Reset)] {
        let peer = always(&json!(then));
        let got = ask(&peer, Wire::Anthropic, "");
        assert_eq!((got.status, got.end, peer.ending(1)), (0, end, ending));
    }
}

#[test]
fn a_server_that_is_down_refuses_connections_and_then_accepts_them_again() {
    let peer = always(&json!({"down": {"ms": 400}}));
    let idle = Connection::open(peer.address());
    assert_eq!(ask(&peer, Wire::OpenAi, "").end, End::Closed);
    let refused = TcpStream::connect(peer.address()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    let mut idle = idle;
    assert_eq!(idle.receive().end, End::Closed, "idle connections are closed, too");
    let until = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(peer.address()).is_err() {
        assert!(Instant::now() < until, "the server did not accept connections again");
        std::thread::yield_now();
    }
}

#[test]
fn a_stall_sends_nothing_and_the_log_shows_that_the_client_closed_the_connection() {
    let after = |place: Value| json!({"reply": {"text": "x", "damage": {"stall": {"after": place}}}});
    let (start, none, two) = (after(json!("start")), after(json!({"events": 0})), after(json!({"events": 2})));
    for (then, status, events) in [(json!("stall"), 0, 0), (start, 0, 0), (none, 200, 0), (two, 200, 2)] {
        for wire in STREAMS {
            let peer = always(&then);
            let mut connection = Connection::open(peer.address()).with_timeout(SILENCE);
            connection.send("POST", wire.path(), &[], &wire.request("").to_string());
            let got = connection.receive();
            assert_eq!((got.status, got.end), (status, End::Silent));
            assert_eq!(got.text().matches("data: ").count(), events);
            drop(connection);
            assert_eq!(peer.ending(1), Ending::HungUp);
        }
    }
}

#[test]
fn a_body_ends_at_the_byte_of_the_script() {
    for wire in WIRES {
        let all = undamaged(wire).body;
        for (how, end, ending) in [
            ("reset", End::Reset, Ending::Reset),
            ("close", End::Closed, Ending::Closed),
            ("end", End::Complete, Ending::Sent),
        ] {
            for bytes in [0, 1, 100, all.len() - 1] {
                let peer = damaged(&cut(&json!({"bytes": bytes}), how));
                let got = ask(&peer, wire, "");
                assert_eq!((got.status, got.end, peer.ending(1)), (200, end, ending), "{wire:?} {how} {bytes}");
                assert_eq!(got.body, all[..bytes], "{wire:?} {how}");
            }
        }
    }
}

#[test]
fn a_slow_body_ends_at_the_byte_of_the_script() {
    let drip = json!({"drip": {"bytes": 2, "every_ms": 0}});
    let slow = json!({"between_ms": 7});
    for wire in WIRES {
        let all = undamaged(wire).body;
        for pace in [&drip, &slow] {
            let damage = cut(&json!({"bytes": 99}), "reset");
            let got = ask(&replying(&json!({"text": TEXT, "damage": damage, "pace": pace})), wire, "");
            assert_eq!((got.status, got.end, &*got.body), (200, End::Reset, &all[..99]), "{wire:?} {pace:?}");
        }
    }
}

#[test]
fn a_turn_can_be_executed_although_the_client_receives_nothing() {
    let peer = damaged(&cut(&json!("start"), "reset"));
    let got = ask(&peer, Wire::OpenAiStream, "");
    assert_eq!((got.status, got.end, peer.ending(1)), (0, End::Reset, Ending::Reset));
    assert_eq!(peer.executions(), 1);
}

#[test]
fn a_body_can_end_inside_a_character() {
    for wire in WIRES {
        let got = ask(&damaged(&cut(&json!("inside_utf8"), "reset")), wire, "");
        let error = String::from_utf8(got.body).unwrap_err();
        assert_eq!((error.utf8_error().error_len(), got.end), (None, End::Reset), "only the end is missing");
    }
}

#[test]
fn a_body_can_end_inside_json() {
    for wire in WIRES {
        let text = ask(&damaged(&cut(&json!("inside_delta"), "close")), wire, "").text();
        let last = text.lines().last().unwrap();
        let json = last.strip_prefix("data: ").unwrap_or(last);
        assert!(serde_json::from_str::<Value>(json).unwrap_err().is_eof(), "{json}");
        assert!(!text.contains("message_stop") && !text.contains("DONE"), "{text}");
    }
}

#[test]
fn a_stream_can_end_with_an_error() {
    let error = json!({"events": 4, "kind": "overloaded_error", "message": "Overloaded"});
    let peer = damaged(&json!({"error": error}));
    let got = ask(&peer, Wire::AnthropicStream, "");
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let text = got.text();
    let partial = text.strip_suffix(error).unwrap_or_else(|| panic!("{text}"));
    assert!(
        undamaged(Wire::AnthropicStream).text().starts_with(partial) && partial.contains("text_delta"),
        "{partial}"
    );
    let got = ask(&peer, Wire::OpenAiStream, "");
    let error =
        "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\",\"param\":null,\"code\":null}}\n\n";
    assert!(got.text().ends_with(error) && got.end == End::Complete, "{}", got.text());
}

#[test]
fn the_end_of_a_stream_can_be_sent_twice() {
    let peer = damaged(&json!("end_twice"));
    let anthropic = ask(&peer, Wire::AnthropicStream, "").text();
    assert_eq!((anthropic.matches("\"message_stop\"").count(), anthropic.matches("\"message_delta\"").count()), (2, 2));
    assert_eq!(ask(&peer, Wire::OpenAiStream, "").text().matches("data: [DONE]").count(), 2);
}

#[test]
fn a_slow_drip_sends_the_same_bytes() {
    let pace = json!({"drip": {"bytes": 64, "every_ms": 5}, "first_ms": 20, "headers_ms": 20});
    let peer = replying(&json!({"text": TEXT, "pace": pace}));
    for wire in WIRES {
        let start = Instant::now();
        let got = ask(&peer, wire, "");
        let drops = u64::try_from(got.body.len().div_ceil(64)).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(40 + 5 * (drops - 1)), "{:?}", start.elapsed());
        assert_eq!(got.text().replace(['2', '3', '4'], "1"), undamaged(wire).text().replace(['2', '3', '4'], "1"));
    }
}

#[test]
fn the_content_type_can_be_wrong() {
    let peer = replying(&json!({"text": "x", "content_type": "text/plain"}));
    for wire in WIRES {
        assert_eq!(ask(&peer, wire, "").headers["content-type"], "text/plain");
    }
}

#[test]
fn usage_can_be_absent_zero_huge_negative_or_changing() {
    let with_usage = |usage: Value| replying(&json!({"text": "x", "usage": usage}));
    let peer = with_usage(json!("absent"));
    for wire in WIRES {
        let text = ask(&peer, wire, "").text();
        assert!(!text.contains("tokens"), "{text}");
    }
    let zero = ask(&with_usage(json!({})), Wire::OpenAi, "").json()["usage"].clone();
    assert_eq!((&zero["prompt_tokens"], &zero["total_tokens"]), (&json!(0), &json!(0)));
    let huge = with_usage(json!({"input": i64::MAX, "output": -5}));
    assert_eq!(ask(&huge, Wire::Anthropic, "").json()["usage"]["input_tokens"], i64::MAX);
    assert_eq!(ask(&huge, Wire::OpenAi, "").json()["usage"]["completion_tokens"], -5);
    let odd = with_usage(json!({"input": "1e400"}));
    assert!(ask(&odd, Wire::OpenAi, "").text().contains(r#""prompt_tokens":1e400"#));
    let changing = with_usage(json!({"input": 9, "input_at_start": 4}));
    let events = ask(&changing, Wire::AnthropicStream, "").events();
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 4);
    assert_eq!(events[events.len() - 2]["usage"]["input_tokens"], 9);
    let shrinking = with_usage(json!({"output": 1, "earlier": [{"output": 9000}]}));
    for (wire, key) in [(Wire::AnthropicStream, "output_tokens"), (Wire::OpenAiStream, "completion_tokens")] {
        let events = ask(&shrinking, wire, "").events();
        let reports = events.iter().filter(|event| event["usage"].is_object());
        let reported = reports.map(|event| event["usage"][key].clone());
        assert_eq!(reported.collect::<Vec<_>>(), [json!(9000), json!(1)]);
    }
}

#[test]
fn usage_can_be_a_part_of_what_is_counted_for_one_reply_or_for_all() {
    let rules = |usage: Value| json!([{"when": {"last_user": "own"}, "then": {"reply": {"text": "x".repeat(400), "usage": usage}}}, {"then": {"reply": {"text": "x".repeat(400)}}}]);
    let reported = |peer: &Peer, wire, text: &str| {
        let usage = ask(peer, wire, text).json()["usage"].clone();
        let count = |names: [&str; 2]| names.iter().find_map(|name| usage[*name].as_u64());
        (count(["input_tokens", "prompt_tokens"]), count(["output_tokens", "completion_tokens"]))
    };
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let script = |usual: Value| json!({"usage": usual, "rules": rules(json!("counted"))});
        let counted = reported(&start(&script(json!("counted"))), wire, "own");
        let (Some(input), Some(100)) = counted else { panic!("{counted:?}") };
        for (fraction, expect) in [
            ([0, 1], (Some(0), Some(0))),
            ([1, 2], (Some(input / 2), Some(50))),
            ([1, 16], (Some(input / 16), Some(6))),
            ([3, 1], (Some(3 * input), Some(300))),
        ] {
            let peer = start(&script(json!({"fraction": fraction})));
            assert_eq!(reported(&peer, wire, "all"), expect, "{wire:?} {fraction:?}");
            assert_eq!(reported(&peer, wire, "own"), counted, "a reply's own usage counts");
        }
        let absent = start(&script(json!("absent")));
        assert_eq!(reported(&absent, wire, "all"), (None, None));
        // The log has the count, whatever is reported.
        let log = absent.wait_for("an answer", |log| log.iter().any(|entry| matches!(entry, Entry::Answer { .. })));
        let tokens = log.iter().find_map(|entry| if let Entry::Answer { tokens, .. } = entry { *tokens } else { None });
        assert_eq!(tokens, Some(Tokens { input, output: 100 }));
    }
    let zero = start(&json!({"usage": {"fraction": [0, 1]}, "rules": rules(json!("counted"))}));
    let events = ask(&zero, Wire::AnthropicStream, "all").events();
    assert_eq!(events[0]["message"]["usage"]["output_tokens"], 0, "also at the start of a stream");
}
