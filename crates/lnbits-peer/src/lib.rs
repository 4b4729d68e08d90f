//! Real LNbits servers for tests, with fake money, on this machine only. [`LnbitsPeer`] runs one, [`Proxy`] stands before one and
//! loses, delays and falsifies replies.
//!
//! The first use installs LNbits from `PyPI` into the user's cache directory. Without Python 3.11 or 3.12, or without `PyPI`,
//! [`LnbitsPeer::available`] says what could not be tried. [`PythonProgram`] installs other programs for tests in the same way.

mod http;
mod install;
mod proxy;
mod python;
mod server;

pub use install::LNBITS_VERSION;
pub use proxy::{Fault, Proxy, Times};
pub use python::{Installed, PythonProgram, Unavailable};
pub use server::{Funding, LnbitsPeer, PeerWallet};
