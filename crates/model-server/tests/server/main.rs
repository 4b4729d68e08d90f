//! Tests the real program as a child process, over a socket.
#![allow(clippy::unwrap_used, reason = "a test that can't continue panics")]

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
mod work;

use std::path::Path;

use guildhall_model_server::Peer;
use serde_json::{Value, json};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_guildhall-model-server"))
}

fn start(script: &Value) -> Peer {
    Peer::start_program(program(), script)
}

/// Starts a server that gives every request the same answer.
fn always(then: &Value) -> Peer {
    start(&json!({"rules": [{"then": then}]}))
}

fn replying(reply: &Value) -> Peer {
    always(&json!({"reply": reply}))
}
