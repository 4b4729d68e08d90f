//! A request with a known key gets the same reply again.

use guildhall_model_server::{AnswerKind, Entry, Peer};
use serde_json::{Value, json};

use crate::client::{End, WIRES, Wire, ask_with};
use crate::{replying, start};

fn replaying(rules: &Value) -> Peer {
    start(&json!({"replay": true, "rules": rules}))
}

/// The kind of each answer, and how many times its request key was executed until then.
fn answers(peer: &Peer) -> Vec<(AnswerKind, u64)> {
    let answers = peer.log().into_iter().filter_map(|entry| match entry {
        Entry::Answer { kind, executions, .. } => Some((kind, executions)),
        Entry::Request { .. } | Entry::End { .. } | Entry::Mark { .. } => None,
    });
    answers.collect()
}

#[test]
fn a_repeated_key_gets_the_same_bytes_and_is_executed_once() {
    let peer = replaying(&json!([{"then": {"reply": {"text": "{{n}} {{request_key}}"}}}]));
    for (wire, key) in WIRES.into_iter().zip(["a", "b", "c", "d"]) {
        let first = ask_with(&peer, wire, &[("idempotency-key", key)], &wire.request("x"));
        let again = ask_with(&peer, wire, &[("x-idempotency-key", key)], &wire.request("x"));
        assert_eq!(first.body, again.body);
        assert_eq!(first.headers, again.headers);
        assert!(first.text().contains(key));
    }
    let first = ask_with(&peer, Wire::OpenAi, &[], &Wire::OpenAi.request("x"));
    let second = ask_with(&peer, Wire::OpenAi, &[], &Wire::OpenAi.request("x"));
    assert_ne!(first.body, second.body, "requests without a key are never replayed");
    let pair = [(AnswerKind::Reply, 1), (AnswerKind::Replayed, 1)];
    let mut expect = pair.repeat(4);
    expect.extend([(AnswerKind::Reply, 0), (AnswerKind::Reply, 0)]);
    assert_eq!(answers(&peer), expect);
    assert_eq!(peer.executions(), 6);
}

#[test]
fn a_replay_does_not_repeat_the_damage() {
    for after in [json!("start"), json!({"bytes": 60}), json!("inside_delta")] {
        for wire in WIRES {
            let reply = json!({"text": "x {{n}}", "damage": {"cut": {"after": after, "how": "reset"}}});
            let peer = replaying(&json!([{"then": {"reply": reply}, "repeat": 1}]));
            let key = [("idempotency-key", "k")];
            let lost = ask_with(&peer, wire, &key, &wire.request("x"));
            let again = ask_with(&peer, wire, &key, &wire.request("x"));
            assert_eq!((lost.end, again.end), (End::Reset, End::Complete));
            assert!(again.body.starts_with(&lost.body) && again.text().contains("x 1"));
            assert_eq!(answers(&peer), [(AnswerKind::Reply, 1), (AnswerKind::Replayed, 1)]);
        }
    }
}

#[test]
fn a_refused_request_is_not_remembered() {
    let overloaded = json!({"then": {"wrong": {"overloaded": {}}}, "repeat": 1});
    let peer = replaying(&json!([overloaded, {"then": {"reply": {"text": "x"}}}]));
    let key = [("idempotency-key", "k")];
    let statuses = [0; 3].map(|_| ask_with(&peer, Wire::Anthropic, &key, &Wire::Anthropic.request("x")).status);
    assert_eq!(statuses, [529, 200, 200]);
    assert_eq!(answers(&peer), [(AnswerKind::Fault, 0), (AnswerKind::Reply, 1), (AnswerKind::Replayed, 1)]);
}

#[test]
fn a_known_key_with_another_body_is_refused() {
    let peer = replaying(&json!([{"then": {"reply": {"text": "x"}}}]));
    let key = [("idempotency-key", "k")];
    ask_with(&peer, Wire::OpenAi, &key, &Wire::OpenAi.request("x"));
    let other = ask_with(&peer, Wire::OpenAi, &key, &Wire::OpenAi.request("y"));
    assert_eq!((other.status, &other.json()["error"]["type"]), (400, &json!("invalid_request_error")));
    assert_eq!(answers(&peer), [(AnswerKind::Reply, 1), (AnswerKind::KeyReused, 1)]);
}

#[test]
fn without_replay_each_request_is_executed_and_counted() {
    let peer = replying(&json!({"text": "{{n}}"}));
    let key = [("idempotency-key", "k")];
    let bodies = [0; 2].map(|_| ask_with(&peer, Wire::Anthropic, &key, &Wire::Anthropic.request("x")).body);
    assert_ne!(bodies[0], bodies[1]);
    assert_eq!(answers(&peer), [(AnswerKind::Reply, 1), (AnswerKind::Reply, 2)]);
}
