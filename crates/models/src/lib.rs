//! Models over the wire: Anthropic Messages and OpenAI-compatible Chat Completions, and what their tokens cost.
//!
//! Without the feature `http` there are only names and prices, and no price table: a few small crates instead of a web client.
//!
//! Nothing here reads the environment, follows a redirect, or asks twice for what may have been paid for once.
#![deny(missing_docs)]

mod alias;
#[cfg(feature = "http")]
mod arguments;
#[cfg(feature = "http")]
mod client;
#[cfg(feature = "http")]
mod endpoint;
#[cfg(feature = "http")]
mod ids;
#[cfg(feature = "http")]
mod json_turn;
#[cfg(feature = "http")]
mod lenient;
mod price;
#[cfg(feature = "http")]
mod reduce;
#[cfg(feature = "http")]
mod request;
#[cfg(feature = "http")]
mod retry;
#[cfg(feature = "http")]
mod served;
#[cfg(feature = "http")]
mod sse;
#[cfg(feature = "http")]
mod verdict;
#[cfg(feature = "http")]
mod written;

pub use alias::{ALIASES, Chosen, choose};
#[cfg(feature = "http")]
pub use client::Provider;
#[cfg(feature = "http")]
pub use endpoint::{BaseUrl, BaseUrlError, Endpoint, Key, KeyError, Timeouts, WrittenCalls};
pub use guildhall_agent::{Usd, UsdError};
pub use price::{LOCAL_PRICE, Listed, NoPrice, Price, PriceBook, REHEARSAL_PRICE, REPLY_TOKENS_MAX, Rate, Seller};
#[cfg(feature = "http")]
pub use reduce::{CALLS_MAX, Fault, Piece, REPLY_BYTES_MAX, Reducer, TOKENS_MAX};
#[cfg(feature = "http")]
pub use request::{Form, ToolChoice, body};
#[cfg(feature = "http")]
pub use retry::Retry;
#[cfg(feature = "http")]
pub use served::{NoList, Served, served};
#[cfg(feature = "http")]
pub use sse::{EVENT_BYTES_MAX, Event, Frame, Sse, TooBig};
#[cfg(feature = "http")]
pub use written::{Written, read as read_written_calls};
