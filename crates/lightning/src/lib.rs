//! Lightning through a wallet on an LNbits server: invoices, lookups and payments.
//!
//! A wallet server is a stranger whose replies can be late, wrong or missing. So [`Lnbits`] never repeats a request, never
//! decides whether money has moved, and calls a reply clear only if it understands all of it. The treasury of the kernel decides.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//!
//! use guildhall_kernel::Msat;
//! use guildhall_lightning::{Lnbits, PlainHttp, WalletKey, WalletUrl};
//!
//! let url = WalletUrl::parse("https://lnbits.example.org", PlainHttp::Loopback)?;
//! let wallet = Lnbits::new(url, WalletKey::new("0123456789abcdef0123456789abcdef")?, None)?;
//! let invoice = wallet.invoice(Msat::parse("250sat")?, "Guildhall", Duration::from_mins(10)).await?;
//! println!("{}", invoice.text);
//! # Ok(())
//! # }
//! ```
//!
//! This crate reads no environment variables and has no background tasks.
#![deny(missing_docs)]

mod address;
mod client;
mod decode;
mod error;
mod reply;
mod time;
mod tls;

pub use address::{PlainHttp, WalletKey, WalletKeyError, WalletUrl, WalletUrlError};
pub use client::{Answer, Lnbits, MEMO_BYTES_MAX, WalletIdentity};
pub use decode::{DecodeError, DecodedInvoice, INVOICE_BYTES_MAX, decode, preimage_hash};
pub use error::{KeyKind, LightningError};
