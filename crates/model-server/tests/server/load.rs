//! A thousand connections at once.

use guildhall_model_server::{Reply, Rule, Script, Then};

use crate::client::{Connection, End, Wire};
use crate::start;

const CONNECTIONS: usize = 1000;

#[test]
fn a_thousand_connections_are_served_at_once() {
    let peer = start(&Script::new([Rule::new(Then::Reply(Reply::text("{{n}}")))]));
    let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| Connection::open(peer.address())).collect();
    let body = Wire::OpenAiStream.request("x").to_string();
    for connection in &mut connections {
        connection.send("POST", Wire::OpenAiStream.path(), &[], &body);
    }
    for connection in &mut connections {
        let got = connection.receive();
        assert_eq!((got.status, got.end), (200, End::Whole));
    }
    assert_eq!(peer.wait_for("a thousand answers", |log| log.len() == 3 * CONNECTIONS).len(), 3 * CONNECTIONS);
}
