//! Tests the client with a server that sends raw HTTP and can play every failure of a provider.

#![expect(clippy::unwrap_used, reason = "a test that can't continue panics")]

mod anthropic;
mod arguments;
mod endpoint;
mod faults;
mod fuzz;
mod json_turn;
mod openai;
mod price;
mod price_table;
mod request;
mod retries;
mod served;
mod server;
mod setting;
mod sse;
mod usage;
mod written;
