//! Models over the wire: Anthropic Messages and OpenAI-compatible Chat Completions, one within the process, which needs neither
//! key nor server, and what their tokens cost.
//!
//! Nothing here reads the environment, follows a redirect, or asks twice for what may have been paid for once.

mod alias;
mod arguments;
mod client;
mod endpoint;
mod ids;
mod lenient;
mod price;
mod provider;
mod reduce;
mod rehearsal;
mod request;
mod served;
mod sse;
mod verdict;
mod written;

pub use alias::{ALIASES, Chosen, choose};
pub use endpoint::{BaseUrl, BaseUrlError, Endpoint, Key, KeyError, Retry, Timeouts, WrittenCalls};
pub use guildhall_agent::{Usd, UsdError};
pub use price::{LOCAL_PRICE, Listed, NoPrice, Price, PriceBook, REHEARSAL_PRICE, REPLY_TOKENS_MAX, Rate, Seller};
pub use provider::{Anthropic, OpenAi, Provider};
pub use reduce::{CALLS_MAX, Fault, Piece, REPLY_BYTES_MAX, Reducer};
pub use rehearsal::{LABEL as REHEARSAL_LABEL, Rehearsal};
pub use request::body;
pub use served::{NoList, Served, served};
pub use sse::{EVENT_BYTES_MAX, Event, Frame, Sse, TooBig};
pub use written::{Written, read as read_written_calls};
