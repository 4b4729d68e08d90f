//! The cost of a model call: a call that no provider bills costs nothing, a call that may have been billed is reserved, the largest
//! usage report counts, and a call without a usage report is estimated.

use serde_json::{Value, json};

use crate::house::{Ended, House, Known, Running, WIRES, Wire, msat, reads, says, wait_for};

/// The stored answer to a model call.
#[derive(Debug)]
struct Settled {
    /// The kind of answer: `said`, `lost`, `aborted` or `failed`.
    answer: String,
    /// `{"known": …}`, `{"estimated": …}` or `"unknown"`.
    cost: Value,
    hold: u64,
}

impl Settled {
    fn cost(&self, kind: &str) -> u64 {
        self.cost[kind].as_u64().unwrap_or_else(|| panic!("the cost is not {kind}: {self:?}"))
    }
}

/// The answers to all model calls of a session, in order.
fn settled(house: &House, id: &str) -> Vec<Settled> {
    let shown = house.show(id);
    let facts: Vec<&Value> = shown["facts"].as_array().unwrap().iter().map(|stored| &stored["fact"]).collect();
    let asked = |id: &Value| {
        let asks = facts.iter().map(|fact| &fact["asked"]);
        asks.clone().find(|asked| asked["id"] == *id && asked["ask"]["model"].is_object()).cloned()
    };
    let answers = facts.iter().map(|fact| &fact["answered"]).filter(|answered| answered.is_object());
    let settled = answers.filter_map(|answered| {
        let asked = asked(&answered["id"])?;
        let answer = answered["answer"].as_object().and_then(|answer| answer.keys().next().cloned());
        Some(Settled {
            answer: answer.unwrap_or_else(|| answered["answer"].as_str().unwrap_or_default().to_owned()),
            cost: answered["cost"].clone(),
            hold: asked["hold"]["money"].as_u64().unwrap(),
        })
    });
    settled.collect()
}

fn provider(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "anthropic",
        Wire::OpenAi => "openai",
    }
}

fn session(result: &Value) -> &str {
    result["session"].as_str().unwrap()
}

/// How many times the program printed that it waits.
fn pauses(ended: &Ended) -> usize {
    ended.stderr.lines().filter(|line| line.contains("before it calls its model again")).count()
}

fn raw(status: u16, retry_after: Option<&str>) -> Value {
    let headers: Value = retry_after.map_or_else(|| json!({}), |after| json!({"retry-after": after}));
    json!({"raw": {"status": status, "headers": headers, "body": "{\"error\": {\"message\": \"Sorry\"}}"}})
}

/// The HTTP errors that no provider bills.
const UNBILLED: [u16; 5] = [408, 429, 500, 503, 529];

#[test]
fn an_unbilled_error_is_retried_within_the_ask_and_costs_nothing() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": says("On Tuesday.")}]));
        let price = msat(&house.run(&[]).expect(0).json()["bill"]["charged"]);
        for status in UNBILLED {
            let rules = json!([{"repeat": 1, "then": raw(status, None)}, {"then": says("On Tuesday.")}]);
            let house = House::new(wire, &rules);
            let ended = house.run(&[]).expect(0).says(&format!("HTTP {status}: Sorry"));
            let result = ended.json();
            let settled = settled(&house, session(&result));
            assert_eq!((settled.len(), settled[0].cost("known")), (1, price), "{wire:?} {status}: {settled:?}");
            assert_eq!((house.requests().len(), pauses(&ended)), (2, 1), "{wire:?} {status}");
        }
    }
}

#[test]
fn a_call_with_only_unbilled_errors_costs_nothing() {
    for wire in WIRES {
        for status in UNBILLED {
            // The server asks for such a long pause that the program gives up immediately.
            let house = House::new(wire, &json!([{"then": raw(status, Some("4000"))}]));
            let ended = house.run(&[]).expect(5).says(&format!("HTTP {status}: Sorry"));
            let result = ended.json();
            let settled = settled(&house, session(&result));
            assert_eq!((settled.len(), settled[0].answer.as_str()), (1, "failed"), "{wire:?} {status}");
            assert_eq!((settled[0].cost("known"), msat(&result["bill"]["charged"])), (0, 0), "{wire:?} {status}");
            assert_eq!(house.requests().len(), 1, "{wire:?} {status}");
        }
    }
}

#[test]
fn a_gateways_error_reserves_one_hold_and_a_new_ask_follows() {
    for wire in WIRES {
        for status in [502, 504, 520, 527] {
            let rules = json!([{"repeat": 1, "then": raw(status, None)}, {"then": says("On Tuesday.")}]);
            let house = House::new(wire, &rules);
            let ended = house
                .run(&[])
                .expect(0)
                .says(&format!("1: did not get a complete reply from {}: HTTP {status}", provider(wire)));
            let settled = settled(&house, session(&ended.json()));
            assert_eq!(settled.len(), 2, "{wire:?} {status}: {settled:?}");
            assert_eq!(
                (settled[0].answer.as_str(), &settled[0].cost),
                ("lost", &json!("unknown")),
                "{wire:?} {status}"
            );
            assert!(settled[1].answer == "said" && settled[1].cost("known") < settled[1].hold, "{wire:?}: {settled:?}");
            assert_eq!((house.requests().len(), pauses(&ended)), (2, 0), "{wire:?} {status}");
        }
    }
}

#[test]
fn a_broken_reply_is_reserved_even_if_usage_was_reported() {
    let cut = json!({"reply": {"text": "half of an answer", "pace": {"chunk_chars": 4}, "damage": {"cut": {"after": {"events": 4}, "how": "close"}}}});
    for wire in WIRES {
        let house = House::new(wire, &json!([{"repeat": 1, "then": cut}, {"then": says("On Tuesday.")}]));
        let ended = house.run(&[]).expect(0).says("the connection broke after ").says(" bytes: ");
        let settled = settled(&house, session(&ended.json()));
        assert_eq!((settled[0].answer.as_str(), &settled[0].cost), ("lost", &json!("unknown")), "{wire:?}");
    }
}

#[test]
fn a_server_with_retry_after_0_gets_one_request_per_second_with_one_line_each() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": raw(429, Some("0"))}]));
        let ended = house.run(&["--timeout", "4s"]);
        let requests = house.requests().len();
        assert!((2..=6).contains(&requests), "{wire:?}: {requests} requests in four seconds");
        let pauses = pauses(&ended);
        assert!((requests - 1..=requests).contains(&pauses), "{wire:?}: {pauses} pauses between {requests} requests");
    }
}

#[test]
fn the_largest_usage_report_is_charged_and_the_highest_price_of_a_contradiction() {
    let shrinking = json!({"input": 10, "output": 1, "earlier": [{"input": 2000, "output": 3000}]});
    // More cached tokens than input tokens in total, so the rest of the input is negative.
    let contradiction = json!({"input": -4900, "output": 10, "cache_read": 5000});
    for (wires, usage, cost) in
        [(&WIRES[..], shrinking, 2000 + 5 * 3000), (&[Wire::OpenAi][..], contradiction, 5000 + 5 * 10)]
    {
        for wire in wires {
            let house = House::new(*wire, &json!([{"then": {"reply": {"text": "On Tuesday.", "usage": usage}}}]));
            let result = house.run(&[]).expect(0).json();
            let settled = settled(&house, session(&result));
            assert_eq!((settled[0].cost("known"), msat(&result["bill"]["charged"])), (cost, cost), "{wire:?} {usage}");
        }
    }
}

#[test]
fn a_reply_without_usage_is_estimated_from_its_bytes_and_costs_no_more_than_that() {
    for wire in WIRES {
        for usage in [json!("absent"), json!({"input": -1, "output": -1})] {
            let house = House::new(wire, &json!([{"then": {"reply": {"text": "hello", "usage": usage}}}]));
            let result = house.run(&["--budget", "100sat"]).expect(0).json();
            let settled = settled(&house, session(&result));
            let estimated = settled[0].cost("estimated");
            let request = house.requests()[0].to_string().len() as u64;
            assert!(estimated <= request + 5 * 100, "{wire:?}: {estimated} for a request of {request} bytes");
            assert!(estimated >= request / 2, "{wire:?}: {estimated} is not an upper bound for {request} bytes");
            assert_eq!(msat(&result["bill"]["charged"]), estimated, "{wire:?}");
        }
    }
}

#[test]
fn half_a_usage_report_is_estimated_at_no_less_than_was_reported() {
    for wire in WIRES {
        for (usage, least) in
            [(json!({"input": -1, "output": 300}), 5 * 300), (json!({"input": 2000, "output": -1}), 2000)]
        {
            let house = House::new(wire, &json!([{"then": {"reply": {"text": "hello", "usage": usage}}}]));
            let result = house.run(&["--budget", "100sat"]).expect(0).json();
            let settled = settled(&house, session(&result));
            let estimated = settled[0].cost("estimated");
            let request = house.requests()[0].to_string().len() as u64;
            assert!(estimated >= least + 5 * 5, "{wire:?} {usage}: {estimated} is less than was reported");
            assert!(estimated <= request.max(2000) + 5 * 310, "{wire:?} {usage}: {estimated}, {request} bytes");
        }
        // Half a report can exceed the hold. That is an overrun.
        let claim = json!([{"then": {"reply": {"text": "hello", "usage": {"input": -1, "output": 200_000}}}}]);
        let house = House::new(wire, &claim);
        let shown = house.run(&["--budget", "100sat"]).expect(5).json();
        let bill = &shown["bill"];
        assert!(msat(&bill["overrun"]) > 900_000 && msat(&bill["charged"]) <= 100_000, "{wire:?}: {bill:#}");
        assert_eq!(bill["estimated"], bill["charged"], "{wire:?}: {bill:#}");
    }
}

#[test]
fn a_reply_that_claims_more_than_its_hold_is_stored_with_the_claimed_cost() {
    for wire in WIRES {
        let claim = json!({"input": 1000, "output": 1, "earlier": [{"input": 1000, "output": 200_000}]});
        let house = House::new(wire, &json!([{"then": {"reply": {"text": "On Tuesday.", "usage": claim}}}]));
        let ended = house.run(&["--budget", "1000sat"]);
        let settled = settled(&house, session(&ended.json()));
        assert!(!settled.is_empty(), "{wire:?}: {ended:?}");
        for answer in settled {
            assert_eq!(answer.cost("known"), 1000 + 5 * 200_000, "{wire:?}");
            assert!(answer.hold < answer.cost("known"), "{wire:?}: {answer:?}");
        }
    }
}

#[test]
fn absurd_token_counts_leave_every_session_readable() {
    for wire in WIRES {
        let absurd = json!({"input": "10000000000000000000", "output": 7});
        let mut first = reads(&["notes.txt"]);
        first["reply"]["usage"] = absurd.clone();
        let rules =
            json!([{"repeat": 1, "then": first}, {"then": {"reply": {"text": "On Tuesday.", "usage": absurd}}}]);
        let house = House::new(wire, &rules);
        let ended = house.run(&["--allow-overrun"]);
        assert_eq!(house.requests().len(), 2, "{wire:?}: {ended:?}");
        for command in [&["ls"][..], &["verify"], &["show", session(&ended.json())]] {
            house.guildhall(command).expect(0);
        }
    }
}

/// A house whose provider needs no key, so nobody bills it.
fn local(wire: Wire, rules: &Value) -> House {
    House::scripted(wire, Known::ByVariables, json!({"rules": rules}))
}

fn start_local(house: &House) -> Running {
    let mut command = house.command(&["run", "When is the meeting?", "--yes", "--output", "json"]);
    command.env_remove("OPENAI_API_KEY").env_remove("ANTHROPIC_API_KEY");
    Running::start(command, "")
}

/// Checks the cost of a call with a request of this size and a reply of which only a few words arrived.
#[track_caller]
fn assert_arrived(settled: &Settled, answer: &str, request: u64) {
    let cost = settled.cost("known");
    assert_eq!(settled.answer, answer);
    assert!((request / 2..=request + 5 * 200).contains(&cost) && cost < settled.hold, "{request}: {settled:?}");
}

#[test]
fn a_broken_reply_of_an_unbilled_server_costs_only_what_arrived() {
    let cut = json!({"reply": {"text": "half of an answer", "pace": {"chunk_chars": 4}, "damage": {"cut": {"after": {"events": 4}, "how": "close"}}}});
    for wire in WIRES {
        let house = local(wire, &json!([{"repeat": 1, "then": cut}, {"then": says("On Tuesday.")}]));
        let result = start_local(&house).end().expect(0).json();
        let request = house.requests()[0].to_string().len() as u64;
        assert_arrived(&settled(&house, session(&result))[0], "lost", request);
    }
}

#[test]
fn a_stopped_or_killed_call_to_an_unbilled_server_costs_only_what_arrived() {
    let stalls = json!({"reply": {"text": "half of an answer", "pace": {"chunk_chars": 4}, "damage": {"stall": {"after": {"events": 4}}}}});
    for wire in WIRES {
        let house = local(wire, &json!([{"then": stalls}]));
        let running = start_local(&house);
        let id = running.session();
        wait_for("the request", || (!house.requests().is_empty()).then_some(()));
        house.guildhall(&["stop", &id]).expect(0);
        running.end().expect(1);
        let request = house.requests()[0].to_string().len() as u64;
        assert_arrived(&settled(&house, &id)[0], "aborted", request);

        let house = local(wire, &json!([{"repeat": 1, "then": stalls}, {"then": says("On Tuesday.")}]));
        let running = start_local(&house);
        let id = running.session();
        wait_for("the request", || (!house.requests().is_empty()).then_some(()));
        running.kill();
        let mut command = house.command(&["resume", &id]);
        command.env_remove("OPENAI_API_KEY").env_remove("ANTHROPIC_API_KEY");
        Running::start(command, "").end().expect(0);
        assert_arrived(&settled(&house, &id)[0], "lost", request);
    }
}
