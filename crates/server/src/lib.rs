//! Guildhall over HTTP: sessions that others fund, watch and steer. The routes and their meaning are in `docs/serve.md`; their exact
//! form is what [`openapi`] returns.
//!
//! A server offers teams. Everybody may make a session with an offered team, and gets its owner's token. Money is only moved: a
//! budget comes out of the session's balance, which only paid or settled invoices raise. Running work belongs to the server, not to
//! a connection: it goes on when everybody has gone, and after a crash.
#![deny(missing_docs)]

mod activity;
mod app;
mod body;
mod caller;
mod connection;
mod demo;
mod events;
mod guard;
mod input;
mod metrics;
mod money;
mod offer;
mod page;
mod peer;
mod places;
mod problem;
mod rates;
mod replay;
mod routes;
mod server;
mod token;
mod trees;

pub use activity::Activities;
pub use app::{Limits, LogFn, LogKind, Settings};
pub use connection::STREAMS_MAX;
pub use demo::LiveDemo;
pub use guard::{OriginError, Sites};
pub use offer::{MoneyKind, Offer};
pub use rates::Rate;
pub use routes::openapi;
pub use server::{Server, ServerError};
pub use token::Token;
