//! A model provider for tests: a program that speaks Anthropic Messages and OpenAI Chat Completions over real HTTP,
//! scripted per test, with every fault a client has to live through. It depends on none of our crates, so that a
//! misreading of a protocol can't hide in both.
//!
//! The script types are here so that tests can build scripts, and [`Peer`] runs the program.
//!
//! ```
//! use guildhall_model_server::{Reply, Rule, Script, Then};
//!
//! let script = Script::new([Rule::new(Then::Reply(Reply::text("hello {{last_user}}")))]);
//! let json = r#"{"rules":[{"then":{"reply":{"text":"hello {{last_user}}"}}}]}"#;
//! assert_eq!(json.parse::<Script>().unwrap(), script);
//! ```

mod answer;
mod anthropic;
mod bomb;
mod book;
mod connection;
mod entry;
mod openai;
mod peer;
mod refusal;
mod render;
mod script;
mod server;
mod template;
mod tree;
mod turn;

pub use entry::{Ending, Entry, Said};
pub use peer::Peer;
pub use script::{
    Amount, Call, Count, Cut, Damage, Drip, Endpoint, Pace, Place, Protocol, Raw, Reply, RetryAfter, Rule, Script,
    ScriptError, Text, Then, Thinking, Tree, Usage, UsageTold, When, Wrong,
};
pub use server::serve;
