//! A model provider for tests: a program that serves Anthropic Messages and OpenAI Chat Completions over real HTTP. Each test
//! gives the program a script, and scripts can play every fault that a client must handle. This crate depends on none of our
//! other crates, so that one misunderstanding of a protocol can't be in both the client and the server.
//!
//! A script is JSON, described in the README. [`Peer`] runs the program.

mod answer;
mod anthropic;
mod bomb;
mod connection;
mod entry;
mod openai;
mod peer;
mod refusal;
mod render;
mod responder;
mod schema;
mod script;
mod server;
mod template;
mod tree;
mod turn;
mod work;

pub use entry::{AnswerKind, Ending, Entry, Tokens};
pub use peer::Peer;
pub use server::serve;
