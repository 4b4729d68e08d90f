//! Replies that are incomplete, invalid or too large, over a real connection, and requests that are refused.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use guildhall_agent::{Attempt, Delta, Model, ModelError, Reported, Stop, Usage, Wire};
use guildhall_models::{Endpoint, Form, Provider};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::server::{Server, Step, answer, chunked, stream};
use crate::setting::{ask, ask_at, ask_with, body, chunks, delta, endpoint, finish, named, prompt};
use crate::{anthropic, openai};

pub(crate) const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];

/// A complete reply "Hello.".
pub(crate) fn hello(wire: Wire) -> Step {
    if wire == Wire::Anthropic { stream(named(&anthropic::hello())) } else { stream(openai::hello()) }
}

/// The first half of a reply, and the usage reported in it.
pub(crate) fn half(wire: Wire) -> (String, Option<Usage>) {
    match wire {
        Wire::Anthropic => {
            let usage = Usage { input: 2310, cache_read: 2000, cache_write: 300, output: 1 };
            (named(&anthropic::hello()[..4]), Some(usage))
        }
        Wire::OpenAi => (chunks(&[delta(&json!({"content": "Hel"}))]), None),
        Wire::Inside => panic!("not an HTTP protocol"),
    }
}

pub(crate) fn error_event(wire: Wire, kind: &str) -> String {
    let error = json!({"type": "error", "error": {"type": kind, "message": "Sorry"}});
    if wire == Wire::Anthropic {
        named(&[error])
    } else {
        chunks(&[json!({"error": {"message": "Sorry", "type": kind}})])
    }
}

pub(crate) fn check_hello(attempt: Attempt) {
    let reply = attempt.outcome.unwrap();
    assert_eq!((reply.words.as_deref(), reply.stop), (Some("Hello."), Stop::End));
    assert!(attempt.usage.whole().is_some());
}

/// Checks that the attempt broke for this reason, with this usage.
pub(crate) fn check_broken(attempt: &Attempt, why: &str, usage: Option<Usage>) {
    match &attempt.outcome {
        Err(ModelError::Broken { provider, why: message }) => {
            assert!(provider == "tester" && message.contains(why), "{message:?} does not contain {why:?}");
        }
        other => panic!("not broken but {other:?}"),
    }
    assert_eq!(attempt.usage.whole(), usage);
}

pub(crate) fn check_refused(attempt: &Attempt, why: &[&str]) {
    let Err(ModelError::Refused { why: message, .. }) = &attempt.outcome else { panic!("{:?}", attempt.outcome) };
    assert!(why.iter().all(|why| message.contains(why)), "{message:?} does not contain all of {why:?}");
    assert_eq!(attempt.usage, Reported::Nothing);
}

pub(crate) fn fault(status: u16, headers: &str, kind: &str, message: &str) -> Vec<Step> {
    let body = json!({"error": {"type": kind, "message": message}});
    vec![answer(status, headers, body.to_string())]
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_never_shown_in_a_message() {
    for wire in WIRES {
        let asked = ask(wire, vec![fault(401, "", "authentication_error", "Incorrect key: sk-secret")]).await;
        check_refused(&asked.attempt, &["401", "Incorrect key: [key]", "check the key"]);
    }
}

#[tokio::test]
async fn an_unknown_model_and_an_invalid_request_are_refused_with_advice() {
    for wire in WIRES {
        let asked = ask(wire, vec![fault(404, "", "not_found_error", "model: tester-1")]).await;
        check_refused(&asked.attempt, &["model: tester-1", "name of the model"]);
        let asked = ask(wire, vec![fault(400, "", "invalid_request_error", "tools.0: bad")]).await;
        check_refused(&asked.attempt, &["tools.0: bad"]);
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_has_its_own_error() {
    for (wire, kind, text) in [
        (Wire::Anthropic, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
        (Wire::OpenAi, "context_length_exceeded", "Too much."),
    ] {
        let asked = ask(wire, vec![fault(400, "", kind, text)]).await;
        assert!(matches!(asked.attempt.outcome, Err(ModelError::TooLong { .. })), "{:?}", asked.attempt);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_so_that_the_key_is_not_sent_elsewhere() {
    for wire in WIRES {
        let elsewhere = Server::start(vec![vec![hello(wire)]]);
        let headers = format!("location: {}/v1/messages\r\n", elsewhere.url());
        for status in [301, 302, 307, 308] {
            let asked = ask(wire, vec![vec![answer(status, &headers, "")]]).await;
            check_refused(&asked.attempt, &["redirects are not followed"]);
        }
        // This is the first connection to the other server.
        let (attempt, _) = ask_at(wire, endpoint(&elsewhere.url())).await;
        check_hello(attempt);
        assert_eq!(elsewhere.requests().await.len(), 1);
    }
}

#[tokio::test]
async fn an_html_page_is_not_a_reply() {
    for wire in WIRES {
        for body in ["<!doctype html><html>", "  \n<html>"] {
            let asked = ask(wire, vec![vec![answer(200, "content-type: text/html\r\n", body)]]).await;
            check_broken(&asked.attempt, "an HTML page instead of JSON", None);
        }
        for (body, why) in
            [("", "is empty"), ("Hello", "neither JSON"), ("{\"ha", "is not JSON"), ("{}", "the body has no")]
        {
            let asked = ask(wire, vec![vec![answer(200, "", body)]]).await;
            check_broken(&asked.attempt, why, None);
        }
    }
}

#[tokio::test]
async fn a_compressed_body_is_not_unpacked() {
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    for wire in WIRES {
        let asked = ask(wire, vec![vec![answer(200, "content-encoding: gzip\r\n", bomb)]]).await;
        check_broken(&asked.attempt, "compressed", None);
        let asked = ask(wire, vec![vec![answer(200, "", bomb)]]).await;
        check_broken(&asked.attempt, "neither JSON nor", None);
        assert!(asked.requests[0].head.contains("accept-encoding: identity"));
    }
}

#[tokio::test]
async fn half_a_stream_is_an_error_with_its_size_and_the_reported_usage() {
    for wire in WIRES {
        let (text, usage) = half(wire);
        let asked = ask(wire, vec![vec![stream(&text)]]).await;
        let after = format!("ended before the reply was complete, after {} bytes", text.len());
        check_broken(&asked.attempt, &after, usage);
        let asked = ask(wire, vec![vec![chunked(&text)]]).await;
        check_broken(&asked.attempt, &format!("the connection broke after {} bytes: ", text.len()), usage);
        assert_eq!(asked.requests.len(), 1);
        // Cut within a character of an event.
        let cut = format!("{text}data: {{\"x\":\"").into_bytes().into_iter().chain([0xf0, 0x9f]).collect::<Vec<u8>>();
        let asked = ask(wire, vec![vec![stream(cut)]]).await;
        check_broken(&asked.attempt, "ended before the reply was complete", usage);
    }
}

#[tokio::test]
async fn a_reset_breaks_an_attempt_before_and_within_a_stream() {
    for wire in WIRES {
        let asked = ask(wire, vec![vec![Step::Reset]]).await;
        check_broken(&asked.attempt, "the connection broke before an answer arrived: ", None);
        let (text, usage) = half(wire);
        let asked = ask(wire, vec![vec![chunked(&text), Step::Reset]]).await;
        check_broken(&asked.attempt, &format!("the connection broke after {} bytes: ", text.len()), usage);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_stop_reason_loses_nothing() {
    let mut events = anthropic::hello();
    events.pop();
    let asked = ask(Wire::Anthropic, vec![vec![chunked(named(&events))]]).await;
    check_hello(asked.attempt);
    let text = openai::hello();
    let asked = ask(Wire::OpenAi, vec![vec![chunked(text.strip_suffix("data: [DONE]\n\n").unwrap())]]).await;
    check_hello(asked.attempt);
}

#[tokio::test]
async fn silence_ends_an_attempt_before_and_within_a_stream() {
    let short = Duration::from_secs(1);
    for wire in WIRES {
        for steps in [vec![Step::Hold], vec![answer(200, "", ""), Step::Hold]] {
            let asked = ask_with(wire, vec![steps], |endpoint| endpoint.timeouts.first_byte = short).await;
            check_broken(&asked.attempt, "no answer within 1 s", None);
        }
        let (text, usage) = half(wire);
        let message = format!("the server sent nothing for 1 s after {} bytes", text.len());
        let asked =
            ask_with(wire, vec![vec![chunked(text), Step::Hold]], |endpoint| endpoint.timeouts.idle = short).await;
        check_broken(&asked.attempt, &message, usage);
    }
}

#[tokio::test]
async fn pings_and_comments_extend_the_time_limit_and_half_events_do_not() {
    let idle = |endpoint: &mut Endpoint| endpoint.timeouts.idle = Duration::from_millis(1500);
    let ping = named(&[json!({"type": "ping"})]) + ": still here\n";
    let head = answer(200, "", named(&anthropic::hello()[..1]));
    let rest = Step::Send(named(&anthropic::hello()[1..]).into_bytes());
    // Each ping takes about 100 ms, and all pings together take much longer than the limit.
    let pings: String = ping.repeat(40);
    let script = vec![vec![head, Step::Drip(pings.into_bytes(), Duration::from_millis(2)), rest]];
    check_hello(ask_with(Wire::Anthropic, script, idle).await.attempt);

    let drip = format!("data: {}", " ".repeat(1000));
    let script = vec![vec![answer(200, "", ": hi\n"), Step::Drip(drip.into_bytes(), Duration::from_millis(10))]];
    let started = Instant::now();
    check_broken(&ask_with(Wire::OpenAi, script, idle).await.attempt, "the server sent nothing for ", None);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn an_endless_body_is_an_error_at_the_limit() {
    let flood = |text: &str| Step::Flood(text.repeat(4096).into_bytes());
    for wire in WIRES {
        let asked = ask(wire, vec![vec![answer(200, "", "data: "), flood("0123456789")]]).await;
        check_broken(&asked.attempt, "an event is larger than", None);
        let asked = ask(wire, vec![vec![answer(200, "", "{\"a\":\""), flood("0123456789")]]).await;
        check_broken(&asked.attempt, "the body is larger than", None);
        let asked = ask(wire, vec![vec![answer(200, "", ""), flood("          ")]]).await;
        check_broken(&asked.attempt, "the body is larger than", None);
        let asked = ask(wire, vec![vec![answer(200, "", ""), flood(": ping\n")]]).await;
        check_broken(&asked.attempt, "the body is larger than", None);
        let asked = ask(wire, vec![vec![answer(400, "", ""), flood("x")]]).await;
        check_refused(&asked.attempt, &["HTTP 400: xxx"]);
    }
}

#[tokio::test]
async fn fifty_megabytes_of_text_are_an_error_at_the_limit() {
    let words = "w".repeat(100_000);
    let used = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}});
    let event = chunks(&[delta(&json!({"content": words})), used]);
    let asked = ask(Wire::OpenAi, vec![vec![answer(200, "", ""), Step::Flood(event.into_bytes())]]).await;
    check_broken(&asked.attempt, "the reply is larger than", Some(Usage { input: 9, output: 1, ..Usage::default() }));
}

#[tokio::test]
async fn deep_json_is_a_fault_in_a_stream_and_invalid_arguments_in_a_call() {
    let deep = "[".repeat(10_000);
    for wire in WIRES {
        let asked = ask(wire, vec![vec![stream(format!("data: {deep}\n\n"))]]).await;
        check_broken(&asked.attempt, "is not JSON", None);
    }
    let call = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read_file", "arguments": deep}}]});
    let stream = stream(chunks(&[delta(&call), finish("tool_calls")]));
    let reply = ask(Wire::OpenAi, vec![vec![stream]]).await.attempt.outcome.unwrap();
    assert_eq!(reply.calls[0].arguments, Err(deep));
}

#[tokio::test]
async fn a_dropped_ask_closes_the_connection_and_its_watch_received_the_usage() {
    let server = Server::start(vec![vec![chunked(named(&anthropic::hello()[..4])), Step::Hold]]);
    let model = Provider::new(Wire::Anthropic, endpoint(&server.url()));
    let used = Mutex::new(None);
    let received = Notify::new();
    let watch = |delta: Delta<'_>| match delta {
        Delta::Used(usage) => *used.lock().unwrap() = Some(usage),
        Delta::Words(_) => received.notify_one(),
        Delta::Asking
        | Delta::Thinking
        | Delta::Call { .. }
        | Delta::Waiting { .. }
        | Delta::Received { .. }
        | Delta::Lost { .. } => {}
    };
    let prompt = prompt();
    let task = model.ask(&prompt, &watch);
    tokio::select! {
        attempt = task => panic!("{attempt:?}"),
        () = received.notified() => {}
    }
    // This call returns only after the client has closed the connection.
    assert_eq!(server.requests().await.len(), 1);
    assert_eq!(used.into_inner().unwrap().map(|usage| usage.input), Some(2310));
}

#[test]
fn the_body_of_a_request_asks_for_usage() {
    let body =
        body(Wire::OpenAi, &endpoint("http://127.0.0.1:1"), &prompt(), Form::of(&endpoint("http://127.0.0.1:1")));
    assert_eq!(body.unwrap()["stream_options"], json!({"include_usage": Value::Bool(true)}));
}
