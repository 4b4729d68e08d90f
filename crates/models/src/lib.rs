//! Models over the wire: Anthropic Messages and OpenAI-compatible Chat Completions, and what their tokens cost.
//!
//! Without the feature `http` there are only names and prices, and no price table: a few small crates instead of a web client.
//!
//! Nothing here reads the environment, follows a redirect, or asks twice for what may have been paid for once.
#![deny(missing_docs)]

mod alias;
#[cfg(feature = "http")]
mod http;
mod price;

pub use alias::{ALIASES, Chosen, choose};
pub use guildhall_agent::{Usd, UsdError};
#[cfg(feature = "http")]
pub use http::*;
pub use price::{LOCAL_PRICE, Listed, NoPrice, Price, PriceBook, REHEARSAL_PRICE, REPLY_TOKENS_MAX, Rate, Seller};
