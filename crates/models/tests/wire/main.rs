//! The clients against a server that speaks raw HTTP and can be made to fail in every way a provider does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod anthropic;
mod arguments;
mod endpoint;
mod faults;
mod fuzz;
mod json_turn;
mod openai;
mod price;
mod request;
mod retries;
mod served;
mod server;
mod setting;
mod sse;
mod usage;
mod written;
