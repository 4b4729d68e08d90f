//! The real program as a child process, seen from the other side of the socket.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod client;
mod examples;
mod faults;
mod hostile;
mod load;
mod log;
mod program;
mod protocols;
mod replay;
mod requests;

use std::path::Path;

use guildhall_model_server::{Peer, Reply, Rule, Script, Then};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_guildhall-model-server"))
}

fn start(script: &Script) -> Peer {
    Peer::start_program(program(), script)
}

/// A server that answers everything with this.
fn always(then: Then) -> Peer {
    start(&Script::new([Rule::new(then)]))
}

fn replying(reply: Reply) -> Peer {
    always(Then::Reply(Box::new(reply)))
}
