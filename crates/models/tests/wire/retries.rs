//! Which failures are retried inside one ask, over a real connection: those that can't have cost anything, with pauses. Each pause
//! is reported once.

use std::time::{Duration, Instant};

use guildhall_agent::{Attempt, ModelError, Reported, Wire};
use guildhall_models::Fault;
use serde_json::json;

use crate::faults::{WIRES, check_broken, check_hello, check_refused, error_event, fault, half, hello};
use crate::server::{Server, Step, answer, closed_url, stream};
use crate::setting::{Asked, ask, ask_at, ask_with, chunks, delta, endpoint, finish, reduce};

#[tokio::test]
async fn a_busy_server_gets_the_request_again_and_the_pauses_are_reported() {
    for wire in WIRES {
        let scripts = vec![
            fault(429, "", "rate_limit_error", "slow"),
            fault(529, "", "overloaded_error", "Overloaded"),
            fault(503, "", "unavailable_error", "Loading model"),
            vec![hello(wire)],
        ];
        let asked = ask(wire, scripts).await;
        check_hello(asked.attempt);
        assert_eq!(asked.requests.len(), 4);
        assert!(asked.requests.iter().all(|request| request.body == asked.requests[0].body));
        assert_eq!(asked.watched[0], "(waits 1 s, RateLimited: HTTP 429: slow (rate_limit_error))");
        assert_eq!(asked.watched[2], "(waits 1 s, Unavailable: HTTP 503: Loading model (unavailable_error))");
    }
}

#[tokio::test]
async fn the_pause_is_the_one_that_the_server_asks_for() {
    let dated = "date: Sun, 15 Nov 2026 10:00:00 GMT\r\nretry-after: Sun, 15 Nov 2026 10:00:01 GMT\r\n";
    for headers in ["retry-after-ms: 300\r\n", "retry-after: 0.3\r\n", dated] {
        let started = Instant::now();
        let scripts = vec![fault(429, headers, "rate_limit_error", "slow"), vec![hello(Wire::Anthropic)]];
        let asked = ask(Wire::Anthropic, scripts).await;
        check_hello(asked.attempt);
        assert!(started.elapsed() >= Duration::from_millis(300), "{headers}");
    }
}

#[tokio::test]
async fn a_wait_that_is_too_long_ends_the_attempt_immediately() {
    for headers in
        ["retry-after: 1000000000\r\n", "retry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\n", "retry-after: 2\r\n"]
    {
        let started = Instant::now();
        let Asked { attempt, watched, .. } =
            ask(Wire::OpenAi, vec![fault(429, headers, "rate_limit_error", "slow")]).await;
        check_refused(
            &attempt,
            &["does not accept requests now (HTTP 429: slow", "tried once. What to do: try again in "],
        );
        assert!(started.elapsed() < Duration::from_secs(1) && watched.is_empty());
    }
}

#[tokio::test]
async fn retries_have_a_limit() {
    let scripts = (0..10).map(|_| fault(529, "", "overloaded_error", "Overloaded")).collect();
    // Pauses of 1 + 2 + … + 256 ms and a little more are within the limit, 512 ms more are not.
    let asked = ask_with(Wire::Anthropic, scripts, |endpoint| {
        endpoint.retry.pauses_total_max = Duration::from_secs(1);
    })
    .await;
    let Err(why @ ModelError::Refused { .. }) = asked.attempt.outcome else { panic!() };
    assert_eq!(
        why.to_string(),
        "tester refused: the server does not accept requests now (HTTP 529: Overloaded (overloaded_error)), tried 10 \
         times. What to do: try again later"
    );
}

#[tokio::test]
async fn pauses_grow_to_a_maximum() {
    let scripts = (0..20).map(|_| fault(529, "", "overloaded_error", "Overloaded")).collect();
    // Nineteen pauses of 1 + 2 + 4 + 4 + … ms and a quarter more are within the limit; without a maximum there would be six.
    let asked = ask_with(Wire::Anthropic, scripts, |endpoint| {
        endpoint.retry.pause_max = Duration::from_millis(4);
        endpoint.retry.pauses_total_max = Duration::from_millis(100);
    })
    .await;
    check_refused(&asked.attempt, &["tried 20 times"]);
}

#[tokio::test]
async fn a_request_for_an_account_without_money_is_not_retried() {
    for wire in WIRES {
        let asked = ask(wire, vec![fault(429, "retry-after: 0\r\n", "insufficient_quota", "Check your billing")]).await;
        check_refused(&asked.attempt, &["Check your billing", "no money left"]);
        let asked = ask(wire, vec![fault(429, "", "rate_limit_error", "Monthly spend limit reached")]).await;
        check_refused(&asked.attempt, &["spend limit"]);
    }
}

#[tokio::test]
async fn a_refused_connection_is_tried_a_few_times_and_then_unavailable() {
    for wire in WIRES {
        let (attempt, watched) = ask_at(wire, endpoint(&closed_url())).await;
        let Err(ModelError::Unavailable { why, .. }) = attempt.outcome else { panic!("{attempt:?}") };
        assert!(why.contains("refused") && why.contains("tried 3 times"), "{why}");
        assert_eq!((watched.len(), attempt.usage), (2, Reported::Nothing));
    }
}

#[tokio::test]
async fn a_server_without_tls_where_tls_was_expected_is_unavailable() {
    let plain = || vec![answer(400, "", "this is plain HTTP"), Step::Reset];
    let server = Server::start(vec![plain(), plain(), plain()]);
    let url = server.url().replace("http://", "https://");
    let (attempt, _) = ask_at(Wire::OpenAi, endpoint(&url)).await;
    assert!(matches!(attempt.outcome, Err(ModelError::Unavailable { .. })), "{attempt:?}");
    assert_eq!((attempt.usage, server.requests().await.len()), (Reported::Nothing, 0));
}

#[tokio::test]
async fn failures_that_no_provider_bills_are_retried_and_each_pause_is_reported_once() {
    for wire in WIRES {
        for (status, reason) in [
            (408, "Unavailable"),
            (429, "RateLimited"),
            (500, "Unavailable"),
            (503, "Unavailable"),
            (529, "Unavailable"),
        ] {
            let page = || vec![answer(status, "", "<html><h1>Sorry</h1></html>")];
            let asked = ask(wire, vec![page(), page(), vec![hello(wire)]]).await;
            check_hello(asked.attempt);
            assert_eq!(asked.requests.len(), 3, "{wire:?} {status}");
            let pauses: Vec<_> = asked.watched.iter().filter(|line| line.starts_with("(waits")).collect();
            let line = format!("(waits 1 s, {reason}: HTTP {status}: an HTML page instead of JSON)");
            assert_eq!(pauses, [&line, &line], "{wire:?}");
        }
    }
}

#[tokio::test]
async fn an_error_of_a_gateway_may_have_cost_something_and_is_not_retried() {
    for wire in WIRES {
        for status in [501, 502, 504].into_iter().chain(520..=527) {
            let asked = ask(wire, vec![vec![answer(status, "retry-after: 1\r\n", "<html>Bad Gateway</html>")]]).await;
            check_broken(&asked.attempt, &format!("HTTP {status}: an HTML page"), None);
            assert_eq!((asked.requests.len(), asked.watched.len()), (1, 0), "{wire:?} {status}");
        }
    }
}

#[tokio::test]
async fn any_other_4xx_is_refused_immediately() {
    for wire in WIRES {
        for status in [400, 401, 402, 403, 404, 405, 406, 409, 410, 418, 422, 425, 451, 499] {
            let asked = ask(wire, vec![fault(status, "", "some_error", "No.")]).await;
            check_refused(&asked.attempt, &[&format!("HTTP {status}: No. (some_error)"), "What to do: "]);
            assert_eq!((asked.requests.len(), asked.watched.len()), (1, 0), "{wire:?} {status}");
        }
    }
}

#[tokio::test]
async fn a_server_that_asks_for_an_immediate_retry_gets_twenty_requests() {
    for wire in WIRES {
        for status in [429, 500] {
            let scripts = (0..20).map(|_| fault(status, "retry-after: 0\r\n", "some_error", "Again.")).collect();
            let asked = ask(wire, scripts).await;
            check_refused(&asked.attempt, &[&format!("HTTP {status}"), "tried 20 times"]);
            assert_eq!((asked.requests.len(), asked.watched.len()), (20, 19), "{wire:?}: one line per pause");
        }
    }
}

#[tokio::test]
async fn an_error_within_a_stream_is_retried_only_before_the_reply_has_begun() {
    for wire in WIRES {
        let (text, usage) = half(wire);
        let asked = ask(wire, vec![vec![stream(text + &error_event(wire, "overloaded_error"))]]).await;
        check_broken(&asked.attempt, "Sorry (overloaded_error)", usage);
        let asked = ask(wire, vec![vec![stream(error_event(wire, "overloaded_error"))], vec![hello(wire)]]).await;
        check_hello(asked.attempt);
        let asked = ask(wire, vec![vec![stream(error_event(wire, "api_error"))]]).await;
        check_broken(&asked.attempt, "Sorry (api_error)", None);
    }
}

/// The result of one error response, without retries.
async fn judged(status: u16, headers: &str, body: &str) -> Attempt {
    let script = vec![answer(status, headers, body)];
    let asked = ask_with(Wire::OpenAi, vec![script], |endpoint| endpoint.retry.tries_max = 1).await;
    assert_eq!(asked.requests.len(), 1);
    asked.attempt
}

#[tokio::test]
async fn an_empty_account_and_a_limit_per_minute_are_distinguished() {
    let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let low = r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#;
    for (status, headers, body) in [(429, "", quota), (429, "retry-after: 5\r\n", quota), (400, "", low), (402, "", "")]
    {
        check_refused(
            &judged(status, headers, body).await,
            &["What to do: add money to your account", "has no money left"],
        );
    }
    // A response that says when to retry is a limit per minute, even if its text sounds like an empty account.
    let minute = r#"{"error":{"message":"Usage limit reached for this minute"}}"#;
    let attempt = judged(429, "retry-after: 20\r\n", minute).await;
    check_refused(&attempt, &["does not accept requests now", "tried once", "try again in 20 s"]);
}

#[tokio::test]
async fn each_refusal_says_what_to_do() {
    for (status, body, remedy) in [
        (401, r#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#, "check the key"),
        (404, r#"{"error":{"type":"not_found_error","message":"model: nope"}}"#, "check the name of the model"),
        (422, r#"{"detail":"bad"}"#, "check the protocol"),
        (307, "", "correct the base URL"),
    ] {
        check_refused(&judged(status, "", body).await, &[&format!("HTTP {status}"), &format!("What to do: {remedy}")]);
    }
    for (status, text) in [
        (400, "This model's maximum context length is 8192 tokens"),
        (400, "the request exceeds the available context size, try increasing it"),
        (500, "the request exceeds the available context size"),
        (413, "request_too_large"),
    ] {
        let attempt = judged(status, "", &format!(r#"{{"error":{{"message":"{text}"}}}}"#)).await;
        assert!(matches!(attempt.outcome, Err(ModelError::TooLong { .. })), "{attempt:?}");
    }
    for status in [201, 204] {
        check_broken(&judged(status, "", "").await, &format!("HTTP {status}: the provider gave no reason"), None);
    }
}

#[tokio::test]
async fn the_time_of_a_retry_is_read_in_every_form() {
    let date = "date: Sun, 15 Nov 2026 10:00:00 GMT\r\nretry-after: Sun, 15 Nov 2026";
    for (headers, when) in [
        ("retry-after: 7\r\n", "in 7 s"),
        ("retry-after: 7.25\r\n", "in 7 s"),
        ("retry-after-ms: 9000\r\nretry-after: 7\r\n", "in 9 s"),
        (&format!("{date} 10:00:30 GMT\r\n"), "in 30 s"),
        (&format!("{date} 09:00:00 GMT\r\n"), "in 0 s"),
        ("retry-after: 1000000000\r\n", "in 1000000000 s"),
        ("date: Sun, 15 Nov 2026 10:00:00 GMT\r\n", "later"),
        ("retry-after: -1\r\n", "later"),
        ("retry-after: NaN\r\n", "later"),
        ("retry-after: 1e400\r\n", "later"),
        ("retry-after: soon\r\n", "later"),
    ] {
        check_refused(&judged(503, headers, "").await, &[&format!("try again {when}")]);
    }
}

#[tokio::test]
async fn messages_are_read_from_every_form_and_cleaned() {
    for (body, message) in [
        (r#"{"error":"model not found"}"#, "HTTP 404: model not found. What"),
        (r#"{"error":{"message":"m","type":"t","code":"c"}}"#, "HTTP 404: m (t, c). What"),
        (r#"{"error":{"message":"m","code":503}}"#, "HTTP 404: m. What"),
        ("  <!doctype html>", "HTTP 404: an HTML page instead of JSON. What"),
        ("plain\u{1b}[31m\n", "HTTP 404: plain [31m. What"),
        ("", "HTTP 404: the provider gave no reason. What"),
        (&"ü".repeat(1000), &format!("HTTP 404: {}…. What", "ü".repeat(400))),
    ] {
        check_refused(&judged(404, "", body).await, &[message]);
    }
}

#[test]
fn an_empty_error_field_is_not_an_error() {
    for (error, expect) in [(json!(null), false), (json!(""), false), (json!(false), false), (json!("x"), true)] {
        let mut chunk = delta(&json!({"content": "Hello."}));
        chunk["error"] = error.clone();
        let is_error = matches!(reduce(Wire::OpenAi, &[chunk, finish("stop")]), Err(Fault::ProviderError(_)));
        assert_eq!(is_error, expect, "{error}");
    }
}

#[tokio::test]
async fn the_text_of_an_error_in_a_stream_decides_about_a_retry() {
    for (kind, message, waits) in [
        ("rate_limit_error", "Sorry", Some("RateLimited")),
        ("overloaded_error", "Sorry", Some("Unavailable")),
        ("", "Loading model", Some("Unavailable")),
        ("insufficient_quota", "slow down", None),
        ("api_error", "Internal server error", None),
    ] {
        let error = chunks(&[json!({"error": {"message": message, "type": kind}})]);
        let scripts = [stream(error)].into_iter().chain(waits.map(|_| hello(Wire::OpenAi))).map(|step| vec![step]);
        let asked = ask(Wire::OpenAi, scripts.collect()).await;
        assert_eq!(asked.attempt.outcome.is_ok(), waits.is_some(), "{kind} {message}");
        assert!(
            waits.is_none_or(|why| asked.watched[0].starts_with(&format!("(waits 1 s, {why}"))),
            "{:?}",
            asked.watched
        );
    }
}
