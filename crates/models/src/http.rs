//! Models over HTTP and TLS: the two protocols.

mod arguments;
mod body;
mod client;
mod endpoint;
mod ids;
mod json;
mod json_turn;
mod lenient;
mod reduce;
mod request;
mod retry;
mod served;
mod sse;
mod tls;
mod verdict;
mod written;

pub use client::Provider;
pub use endpoint::{BaseUrl, BaseUrlError, Endpoint, Key, KeyError, Timeouts, WrittenCalls};
pub use reduce::{CALLS_MAX, Fault, Piece, REPLY_BYTES_MAX, Reducer, TOKENS_MAX};
pub use request::{Extras, Form, ToolChoice, body};
pub use retry::Retry;
pub use served::{NoList, Served, served};
pub use sse::{EVENT_BYTES_MAX, Event, Frame, Sse, TooBig};
pub use written::{Written, read as read_written_calls};
