//! The usage of a reply, over a real connection. The largest of several reports counts, and of contradictory numbers the most
//! expensive interpretation.

use std::sync::Mutex;
use std::time::SystemTime;

use guildhall_agent::{Billing, Delta, Model, Reported, Usage, Wire};
use guildhall_kernel::Msat;
use guildhall_models::{BaseUrl, Endpoint, Event, Price, PriceBook, Provider, Rate, Seller, TOKENS_MAX, Usd};
use serde_json::{Value, json};

use crate::anthropic::{block, part};
use crate::faults::WIRES;
use crate::server::{Server, Step, stream};
use crate::setting::{ask, chunks, delta, endpoint, finish, named, prompt, reducer};

/// All input, the part of it that was in a cache, and output.
#[derive(Clone, Copy)]
struct Report(u64, u64, u64);

/// A complete reply "Hello." with these reports of usage.
fn reporting(wire: Wire, reports: &[Report]) -> Step {
    match wire {
        Wire::Anthropic => {
            let usage = |Report(input, cached, output): &Report| json!({"input_tokens": input - cached, "cache_read_input_tokens": cached, "output_tokens": output});
            stream(anthropic(&reports.iter().map(usage).collect::<Vec<_>>()))
        }
        Wire::OpenAi => {
            let usage = |Report(input, cached, output): &Report| json!({"prompt_tokens": input, "completion_tokens": output, "prompt_tokens_details": {"cached_tokens": cached}});
            stream(openai(&reports.iter().map(usage).collect::<Vec<_>>()))
        }
        Wire::Inside => panic!("not an HTTP protocol"),
    }
}

/// The first report is sent at the start of the reply, the others at its end.
fn anthropic(reports: &[Value]) -> String {
    let (first, rest) = reports.split_first().map_or((Value::Null, reports), |(first, rest)| (first.clone(), rest));
    let message = json!({"role": "assistant", "content": [], "usage": first});
    let mut events = vec![
        json!({"type": "message_start", "message": message}),
        block(0, &json!({"type": "text", "text": "Hello."})),
    ];
    for usage in rest {
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": usage}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    events.push(json!({"type": "message_stop"}));
    named(&events)
}

fn openai(reports: &[Value]) -> String {
    let mut events = vec![delta(&json!({"content": "Hello."})), finish("stop")];
    events.extend(reports.iter().map(|usage| json!({"choices": [], "usage": usage})));
    chunks(&events) + "data: [DONE]\n\n"
}

async fn usage_of(wire: Wire, reply: Step) -> Reported {
    let attempt = ask(wire, vec![vec![reply]]).await.attempt;
    assert_eq!(attempt.outcome.unwrap().words.as_deref(), Some("Hello."), "{wire:?}");
    attempt.usage
}

fn used(input: u64, cache_read: u64, output: u64) -> Usage {
    Usage { input, cache_read, cache_write: 0, output }
}

#[tokio::test]
async fn the_largest_of_several_usage_reports_counts() {
    for wire in WIRES {
        for (reports, expect) in [
            (vec![Report(9000, 0, 9000), Report(11, 0, 1)], used(9000, 0, 9000)),
            (vec![Report(11, 0, 1), Report(9000, 0, 9000)], used(9000, 0, 9000)),
            (vec![Report(9000, 0, 1), Report(11, 0, 9000), Report(0, 0, 0)], used(9000, 0, 9000)),
            (vec![Report(0, 0, 0), Report(2010, 2000, 42)], used(2010, 2000, 42)),
            (vec![Report(2010, 2000, 1), Report(2010, 2000, 42)], used(2010, 2000, 42)),
        ] {
            assert_eq!(usage_of(wire, reporting(wire, &reports)).await, Reported::Whole(expect), "{wire:?}");
        }
    }
}

#[tokio::test]
async fn of_contradictory_reports_about_the_cache_the_most_expensive_counts() {
    for wire in WIRES {
        for reports in [[Report(100, 0, 5), Report(100, 80, 5)], [Report(100, 80, 5), Report(100, 0, 5)]] {
            assert_eq!(usage_of(wire, reporting(wire, &reports)).await, Reported::Whole(used(100, 0, 5)), "{wire:?}");
        }
    }
    let both = json!({"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 30, "prompt_tokens_details": {"cached_tokens": 80}});
    assert_eq!(usage_of(Wire::OpenAi, stream(openai(&[both]))).await, Reported::Whole(used(100, 30, 5)));
}

#[tokio::test]
async fn parts_that_are_larger_than_the_total_count_as_the_most_expensive_interpretation() {
    let details = |details: &Value| {
        let mut usage = json!({"prompt_tokens": 100, "completion_tokens": 5});
        usage.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
        stream(openai(&[usage]))
    };
    for (more, expect) in [
        (json!({"prompt_tokens_details": {"cached_tokens": 5000}}), used(5000, 0, 5)),
        (json!({"prompt_cache_hit_tokens": 101}), used(101, 0, 5)),
        // The rest of the total is thinking, which is billed as output.
        (json!({"total_tokens": 400}), used(100, 0, 300)),
        (json!({"total_tokens": 7}), used(100, 0, 5)),
        (json!({"completion_tokens_details": {"reasoning_tokens": 30}}), used(100, 0, 35)),
        (json!({"completion_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 105}), used(100, 0, 5)),
    ] {
        assert_eq!(usage_of(Wire::OpenAi, details(&more)).await, Reported::Whole(expect), "{more}");
    }
    let written = json!({"input_tokens": 10, "cache_creation_input_tokens": 300, "output_tokens": 1});
    let read = json!({"input_tokens": 10, "cache_read_input_tokens": 300, "output_tokens": 42});
    let most_expensive = Some(Usage { input: 310, cache_read: 0, cache_write: 300, output: 42 });
    assert_eq!(usage_of(Wire::Anthropic, stream(anthropic(&[written, read]))).await.whole(), most_expensive);
}

#[tokio::test]
async fn impossible_counts_are_limited_and_their_cost_is_still_reported() {
    let rate = Rate::parse("100000").unwrap();
    let price = Price::flat(Usd::parse("1").unwrap(), Usd::parse("5").unwrap());
    let book = PriceBook::new(rate, SystemTime::now()).with_price("m", price);
    let seller = Seller::Provider("tester".into());
    for wire in WIRES {
        let (input, output) = if wire == Wire::Anthropic {
            ("input_tokens", "output_tokens")
        } else {
            ("prompt_tokens", "completion_tokens")
        };
        for huge in ["10000000000000000000", "100000000000000000000", "18446744073709551615", "1e300"] {
            let report: Value = serde_json::from_str(&format!(r#"{{"{input}": {huge}, "{output}": {huge}}}"#)).unwrap();
            let reply =
                stream(if wire == Wire::Anthropic { anthropic(&[report.clone(), report]) } else { openai(&[report]) });
            let usage = usage_of(wire, reply).await.whole().unwrap();
            assert_eq!((usage.input, usage.output), (TOKENS_MAX, TOKENS_MAX), "{wire:?} {huge}");
            assert_eq!(
                book.cost(&seller, "m", &usage).unwrap().get(),
                6 * TOKENS_MAX,
                "{wire:?}: the cost of the reported tokens"
            );
        }
        // A reply that reports more output than the request allowed costs what it reports.
        let usage =
            usage_of(wire, reporting(wire, &[Report(0, 0, 0), Report(1000, 0, 200_000)])).await.whole().unwrap();
        let cost = book.cost(&seller, "m", &usage).unwrap();
        assert_eq!(
            (cost, cost > Msat::new(1000 + 5 * 512).unwrap()),
            (Msat::new(1_001_000).unwrap(), true),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn a_reply_without_usage_reports_nothing_and_half_a_usage_is_a_part() {
    for wire in WIRES {
        assert_eq!(usage_of(wire, reporting(wire, &[])).await, Reported::Nothing, "{wire:?}");
    }
    let at_start = reporting(Wire::Anthropic, &[Report(100, 0, 1)]);
    let part = Reported::Part(used(100, 0, 1));
    assert_eq!(usage_of(Wire::Anthropic, at_start).await, part, "the output after the start was not counted");
    for (half, expect) in [
        (json!({"input_tokens": 9}), Reported::Part(used(9, 0, 0))),
        (json!({"output_tokens": 9}), Reported::Part(used(0, 0, 9))),
        (json!({"input_tokens": -1, "output_tokens": "x"}), Reported::Nothing),
    ] {
        assert_eq!(usage_of(Wire::Anthropic, stream(anthropic(&[half]))).await, expect);
    }
    for (half, expect) in [
        (json!({"prompt_tokens": 9}), Reported::Part(used(9, 0, 0))),
        (json!({"completion_tokens": 9}), Reported::Part(used(0, 0, 9))),
        (json!({"total_tokens": 9}), Reported::Part(used(0, 0, 9))),
        (json!({"total_tokens": 9, "completion_tokens": 4}), Reported::Part(used(0, 0, 9))),
        (json!({"total_tokens": 9, "prompt_tokens": 5}), Reported::Part(used(5, 0, 4))),
        (json!([]), Reported::Nothing),
    ] {
        assert_eq!(usage_of(Wire::OpenAi, stream(openai(&[half]))).await, expect);
    }
}

#[tokio::test]
async fn a_report_of_zero_or_of_too_few_tokens_is_passed_on_as_it_is() {
    // Whether such a report can be right depends on the bytes that were sent. The agent's runtime decides that.
    for wire in WIRES {
        for reports in
            [vec![Report(0, 0, 0)], vec![Report(0, 0, 0), Report(0, 0, 0)], vec![Report(1, 1, 0), Report(0, 0, 0)]]
        {
            let (input, cached) = reports.iter().fold((0, 0), |most, report| most.max((report.0, report.1)));
            // Anthropic counts output at the start of a reply before there is any.
            let is_final = wire == Wire::OpenAi || reports.len() > 1;
            let usage = used(input, cached, 0);
            let expect = if is_final { Reported::Whole(usage) } else { Reported::Part(usage) };
            assert_eq!(usage_of(wire, reporting(wire, &reports)).await, expect, "{wire:?}");
        }
    }
}

#[tokio::test]
async fn after_the_stop_reason_an_error_loses_nothing_and_the_usage_is_final() {
    let stopped = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 9, "output_tokens": 3}});
    let message = json!({"type": "message_start", "message": {"role": "assistant", "content": []}});
    let anthropic = named(&[message, block(0, &json!({"type": "text", "text": "Hello."})), stopped]);
    let counted = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}});
    let openai = chunks(&[delta(&json!({"content": "Hello."})), finish("stop"), counted]);
    for (wire, text) in [(Wire::Anthropic, anthropic), (Wire::OpenAi, openai)] {
        for tail in ["data: {\"x\": 1e400}\n\n", "data: {\"error\": {\"message\": \"Sorry\"}}\n\n", "data: {\"ha"] {
            assert_eq!(
                usage_of(wire, stream(format!("{text}{tail}"))).await,
                Reported::Whole(used(9, 0, 3)),
                "{wire:?} {tail}"
            );
        }
    }
    let uncounted = chunks(&[delta(&json!({"content": "Hello."})), finish("stop")]) + "data: {\"usage\": 1e400}\n\n";
    assert_eq!(usage_of(Wire::OpenAi, stream(uncounted)).await, Reported::Nothing);
}

#[tokio::test]
async fn every_byte_that_a_model_writes_is_reported_when_it_arrives() {
    let text = |text: &str| json!({"type": "text_delta", "text": text});
    let anthropic = named(&[
        json!({"type": "message_start", "message": {"role": "assistant", "content": []}}),
        block(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        part(0, &json!({"type": "thinking_delta", "thinking": "hm"})),
        block(1, &json!({"type": "text", "text": ""})),
        part(1, &text("Hel")),
        part(1, &text("lo.")),
        block(2, &json!({"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}})),
        part(2, &json!({"type": "input_json_delta", "partial_json": "{\"path\":"})),
        part(2, &json!({"type": "input_json_delta", "partial_json": "\"a\"}"})),
    ]);
    let call = |function: &Value| {
        delta(&json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}))
    };
    let openai = chunks(&[
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"reasoning_content": "hm"})),
        delta(&json!({"content": "Hel"})),
        delta(&json!({"content": "lo."})),
        call(&json!({"name": "read_file", "arguments": ""})),
        call(&json!({"arguments": "{\"path\":"})),
        call(&json!({"arguments": "\"a\"}"})),
    ]);
    for (wire, text) in [(Wire::Anthropic, anthropic), (Wire::OpenAi, openai)] {
        let server = Server::start(vec![vec![stream(text)]]);
        let received = Mutex::new(Vec::new());
        let watch = |delta: Delta<'_>| {
            if let Delta::Received { bytes } = delta {
                received.lock().unwrap().push(bytes);
            }
        };
        let attempt = Provider::new(wire, endpoint(&server.url())).ask(&prompt(), &watch).await;
        assert!(attempt.outcome.is_err(), "{wire:?}: the stream is incomplete");
        let written = "hm".len() + "Hello.".len() + "read_file".len() + r#"{"path":"a"}"#.len();
        assert_eq!(received.into_inner().unwrap().iter().sum::<u64>(), written as u64, "{wire:?}");
    }
}

#[test]
fn only_a_server_on_this_machine_without_a_key_has_nominal_billing() {
    for wire in WIRES {
        let local = Endpoint::new(BaseUrl::parse("http://127.0.0.1:8080").unwrap(), None, "m");
        assert_eq!(Provider::new(wire, local).billing(), Billing::Nominal);
        assert_eq!(
            Provider::new(wire, endpoint("http://127.0.0.1:8080")).billing(),
            Billing::Billed,
            "the endpoint has a key"
        );
        let remote = Endpoint::new(BaseUrl::parse("http://192.168.0.7:8080").unwrap(), None, "m");
        assert_eq!(Provider::new(wire, remote).billing(), Billing::Billed);
    }
}

/// The usage after these reports, each with seven tokens of output.
fn counted(wire: Wire, reports: &[Value]) -> Usage {
    let mut reducer = reducer(wire);
    for report in reports {
        let mut usage = report.clone();
        usage[if wire == Wire::Anthropic { "output_tokens" } else { "completion_tokens" }] = json!(7);
        let data = json!({"type": "message_delta", "usage": usage}).to_string();
        reducer.reduce(&Event { name: String::new(), data }).unwrap();
    }
    let usage = reducer.usage().whole().unwrap();
    assert_eq!(usage.output, 7);
    usage
}

#[test]
fn written_cache_tokens_count_as_the_most_expensive_and_are_limited_last() {
    let all = |input, read, write| json!({"prompt_tokens": input, "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": write}});
    let parts = |plain, read, write| json!({"input_tokens": plain, "cache_read_input_tokens": read, "cache_creation_input_tokens": write});
    let null = Value::Null;
    for (wire, reports, expect) in [
        (Wire::OpenAi, vec![all(100, 5000, 0)], (5000, 0, 0)),
        (Wire::OpenAi, vec![all(100, 90, 20)], (110, 0, 20)),
        (Wire::OpenAi, vec![all(100, 0, 300)], (300, 0, 300)),
        (Wire::Anthropic, vec![parts(json!(5000), 0, 0), parts(json!(10), 4990, 0)], (5000, 0, 0)),
        (Wire::Anthropic, vec![parts(json!(10), 2000, 300), parts(null, 10, 0)], (2310, 2000, 300)),
        (Wire::Anthropic, vec![parts(json!(10), TOKENS_MAX, TOKENS_MAX)], (TOKENS_MAX, 0, TOKENS_MAX)),
        (Wire::Anthropic, vec![parts(json!(TOKENS_MAX), TOKENS_MAX, 5)], (TOKENS_MAX, 0, 5)),
    ] {
        let Usage { input, cache_read, cache_write, .. } = counted(wire, &reports);
        assert_eq!((input, cache_read, cache_write), expect, "{reports:?}");
    }
}

#[test]
fn only_a_number_that_is_not_negative_is_a_count() {
    for (count, expect) in [(json!(12), 12), (json!(11.2), 12), (json!(0), 0)] {
        assert_eq!(counted(Wire::Anthropic, &[json!({"input_tokens": count})]).input, expect, "{count}");
    }
    for count in [json!(-1), json!(-0.5), json!("12"), json!(null), json!([12]), json!(true)] {
        let mut reducer = reducer(Wire::Anthropic);
        let data = json!({"type": "message_delta", "usage": {"input_tokens": count}}).to_string();
        reducer.reduce(&Event { name: String::new(), data }).unwrap();
        assert_eq!(reducer.usage(), Reported::Nothing, "{count}");
    }
}
