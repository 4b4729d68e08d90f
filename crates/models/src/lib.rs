//! Models over HTTP: Anthropic Messages and OpenAI-compatible Chat Completions, and the prices of their tokens.
//!
//! Without the feature `http` there are only names and prices, without a price table: a few small crates instead of a web client.
//!
//! This crate never reads the environment, never follows a redirect, and never repeats a request that may have cost something.
#![deny(missing_docs)]

mod alias;
#[cfg(feature = "http")]
mod http;
mod price;

pub use alias::{ALIASES, Chosen, choose};
pub use guildhall_agent::{Usd, UsdError};
#[cfg(feature = "http")]
pub use http::*;
#[cfg(feature = "http")]
pub use price::sellers_of;
pub use price::{LOCAL_PRICE, Listed, NoPrice, Price, PriceBook, REHEARSAL_PRICE, REPLY_TOKENS_MAX, Rate, Seller};
