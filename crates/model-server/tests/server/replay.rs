//! A repeated request key gets the same reply.

use guildhall_model_server::{Cut, Damage, Entry, Place, Reply, Rule, Said, Script, Then, Wrong};
use serde_json::json;

use crate::client::{End, WIRES, Wire, ask_with};
use crate::start;

fn replaying(rules: impl IntoIterator<Item = Rule>) -> Script {
    Script { replay: true, ..Script::new(rules) }
}

fn said(peer: &guildhall_model_server::Peer) -> Vec<(Said, u64)> {
    let answers = peer.log().into_iter().filter_map(|entry| match entry {
        Entry::Answer { said, executions, .. } => Some((said, executions)),
        Entry::Request { .. } | Entry::End { .. } | Entry::Mark { .. } => None,
    });
    answers.collect()
}

#[test]
fn a_repeated_key_gets_the_same_bytes_and_is_executed_once() {
    let peer = start(&replaying([Rule::new(Then::Reply(Reply::text("{{n}} {{request_key}}")))]));
    for (wire, key) in WIRES.into_iter().zip(["a", "b", "c", "d"]) {
        let first = ask_with(&peer, wire, &[("idempotency-key", key)], &wire.request("x"));
        let again = ask_with(&peer, wire, &[("x-idempotency-key", key)], &wire.request("x"));
        assert_eq!(first.body, again.body);
        assert_eq!(first.headers, again.headers);
        assert!(first.text().contains(key));
    }
    let none = ask_with(&peer, Wire::OpenAi, &[], &Wire::OpenAi.request("x"));
    let other = ask_with(&peer, Wire::OpenAi, &[], &Wire::OpenAi.request("x"));
    assert_ne!(none.body, other.body, "without a key nothing is repeated");
    let pair = [(Said::Reply, 1), (Said::Replayed, 1)];
    let mut expect = pair.repeat(4);
    expect.extend([(Said::Reply, 0), (Said::Reply, 0)]);
    assert_eq!(said(&peer), expect);
    assert_eq!(peer.executions(), 6);
}

#[test]
fn what_the_way_did_to_a_reply_is_not_repeated() {
    for after in [Place::Start, Place::Bytes(60), Place::InsideDelta] {
        for wire in WIRES {
            let damage = Damage::Cut { after, how: Cut::Reset };
            let peer = start(&replaying([Rule::new(Then::Reply(Reply::text("x {{n}}").damage(damage))).repeat(1)]));
            let key = [("idempotency-key", "k")];
            let lost = ask_with(&peer, wire, &key, &wire.request("x"));
            let again = ask_with(&peer, wire, &key, &wire.request("x"));
            assert_eq!((lost.end, again.end), (End::Reset, End::Whole));
            assert!(again.body.starts_with(&lost.body) && again.text().contains("x 1"));
            assert_eq!(said(&peer), [(Said::Reply, 1), (Said::Replayed, 1)]);
        }
    }
}

#[test]
fn a_refused_request_is_not_remembered() {
    let busy = Rule::new(Then::Wrong(Wrong::Overloaded { retry_after: None })).repeat(1);
    let peer = start(&replaying([busy, Rule::new(Then::Reply(Reply::text("x")))]));
    let key = [("idempotency-key", "k")];
    let statuses = [0; 3].map(|_| ask_with(&peer, Wire::Anthropic, &key, &Wire::Anthropic.request("x")).status);
    assert_eq!(statuses, [529, 200, 200]);
    assert_eq!(said(&peer), [(Said::Fault, 0), (Said::Reply, 1), (Said::Replayed, 1)]);
}

#[test]
fn a_key_that_comes_with_another_body_is_refused() {
    let peer = start(&replaying([Rule::new(Then::Reply(Reply::text("x")))]));
    let key = [("idempotency-key", "k")];
    ask_with(&peer, Wire::OpenAi, &key, &Wire::OpenAi.request("x"));
    let other = ask_with(&peer, Wire::OpenAi, &key, &Wire::OpenAi.request("y"));
    assert_eq!((other.status, &other.json()["error"]["type"]), (400, &json!("invalid_request_error")));
    assert_eq!(said(&peer), [(Said::Reply, 1), (Said::KeyReused, 1)]);
}

#[test]
fn without_replay_each_request_is_executed_and_counted() {
    let peer = start(&Script::new([Rule::new(Then::Reply(Reply::text("{{n}}")))]));
    let key = [("idempotency-key", "k")];
    let bodies = [0; 2].map(|_| ask_with(&peer, Wire::Anthropic, &key, &Wire::Anthropic.request("x")).body);
    assert_ne!(bodies[0], bodies[1]);
    assert_eq!(said(&peer), [(Said::Reply, 1), (Said::Reply, 2)]);
}
