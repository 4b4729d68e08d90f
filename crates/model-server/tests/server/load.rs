//! A thousand open connections at the same time.

use serde_json::json;

use crate::client::{Connection, End, Wire};
use crate::replying;

const CONNECTIONS: usize = 1000;

#[test]
fn a_thousand_open_connections_are_served() {
    let peer = replying(&json!({"text": "{{n}}"}));
    let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| Connection::open(peer.address())).collect();
    let body = Wire::OpenAiStream.request("x").to_string();
    for connection in &mut connections {
        connection.send("POST", Wire::OpenAiStream.path(), &[], &body);
    }
    for connection in &mut connections {
        let got = connection.receive();
        assert_eq!((got.status, got.end), (200, End::Complete));
    }
    assert_eq!(peer.wait_for("a thousand answers", |log| log.len() == 3 * CONNECTIONS).len(), 3 * CONNECTIONS);
}
