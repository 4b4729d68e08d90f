//! What is asked again inside one ask and what is not, over a real connection: what can't have cost anything is, with pauses, and
//! each pause is told once.

use std::time::{Duration, Instant};

use guildhall_agent::{ModelError, Reported, Wire};

use crate::faults::{WIRES, check_broken, check_hello, check_refused, error_event, fault, half, hello};
use crate::server::{Server, Step, answer, nobody, stream};
use crate::setting::{Asked, ask, ask_at, ask_with, endpoint};

#[tokio::test]
async fn a_busy_server_is_asked_again_and_people_are_told() {
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
        assert_eq!(asked.told[0], "(waits 1 s, RateLimited: HTTP 429: slow (rate_limit_error))");
        assert_eq!(asked.told[2], "(waits 1 s, Unavailable: HTTP 503: Loading model (unavailable_error))");
    }
}

#[tokio::test]
async fn a_server_that_says_when_to_come_back_is_believed() {
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
async fn a_wait_that_takes_too_long_ends_the_attempt_at_once() {
    for headers in
        ["retry-after: 1000000000\r\n", "retry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\n", "retry-after: 2\r\n"]
    {
        let started = Instant::now();
        let Asked { attempt, told, .. } =
            ask(Wire::OpenAi, vec![fault(429, headers, "rate_limit_error", "slow")]).await;
        check_refused(
            &attempt,
            &["turns requests away for now (HTTP 429: slow", "asked once. What to do: come back in "],
        );
        assert!(started.elapsed() < Duration::from_secs(1) && told.is_empty());
    }
}

#[tokio::test]
async fn asking_again_ends() {
    let scripts = (0..10).map(|_| fault(529, "", "overloaded_error", "Overloaded")).collect();
    // 1 + 2 + … + 256 ms and a little fit, 512 more do not.
    let asked = ask_with(Wire::Anthropic, scripts, |endpoint| {
        endpoint.retry.pauses_total_max = Duration::from_secs(1);
    })
    .await;
    let Err(why @ ModelError::Refused { .. }) = asked.attempt.outcome else { panic!() };
    assert_eq!(
        why.to_string(),
        "tester refused: it turns requests away for now (HTTP 529: Overloaded (overloaded_error)), asked 10 times. \
         What to do: come back later"
    );
}

#[tokio::test]
async fn an_account_that_has_run_dry_is_not_asked_again() {
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
        let (attempt, told) = ask_at(wire, endpoint(&nobody())).await;
        let Err(ModelError::Unavailable { why, .. }) = attempt.outcome else { panic!("{attempt:?}") };
        assert!(why.contains("refused") && why.contains("tried 3 times"), "{why}");
        assert_eq!((told.len(), attempt.usage), (2, Reported::Nothing));
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
async fn what_no_provider_bills_is_asked_again_and_each_pause_is_told_once() {
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
            let told: Vec<_> = asked.told.iter().filter(|told| told.starts_with("(waits")).collect();
            let line = format!("(waits 1 s, {reason}: HTTP {status}: an HTML page instead of JSON)");
            assert_eq!(told, [&line, &line], "{wire:?}");
        }
    }
}

#[tokio::test]
async fn a_gateways_answer_may_have_cost_and_is_not_asked_again() {
    for wire in WIRES {
        for status in [501, 502, 504].into_iter().chain(520..=527) {
            let asked = ask(wire, vec![vec![answer(status, "retry-after: 1\r\n", "<html>Bad Gateway</html>")]]).await;
            check_broken(&asked.attempt, &format!("HTTP {status}: an HTML page"), None);
            assert_eq!((asked.requests.len(), asked.told.len()), (1, 0), "{wire:?} {status}");
        }
    }
}

#[tokio::test]
async fn any_other_4xx_is_refused_at_once() {
    for wire in WIRES {
        for status in [400, 401, 402, 403, 404, 405, 406, 409, 410, 418, 422, 425, 451, 499] {
            let asked = ask(wire, vec![fault(status, "", "some_error", "No.")]).await;
            check_refused(&asked.attempt, &[&format!("HTTP {status}: No. (some_error)"), "What to do: "]);
            assert_eq!((asked.requests.len(), asked.told.len()), (1, 0), "{wire:?} {status}");
        }
    }
}

#[tokio::test]
async fn a_server_that_says_to_come_back_at_once_gets_twenty_requests() {
    for wire in WIRES {
        for status in [429, 500] {
            let scripts = (0..20).map(|_| fault(status, "retry-after: 0\r\n", "some_error", "Again.")).collect();
            let asked = ask(wire, scripts).await;
            check_refused(&asked.attempt, &[&format!("HTTP {status}"), "asked 20 times"]);
            assert_eq!((asked.requests.len(), asked.told.len()), (20, 19), "{wire:?}: one line per pause");
        }
    }
}

#[tokio::test]
async fn an_error_within_a_stream_is_tried_again_only_if_nothing_had_begun() {
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
