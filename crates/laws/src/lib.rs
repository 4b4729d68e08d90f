//! The independent checker of Guildhall's laws: stored facts in, violations out.
//!
//! The checker shares the kernel's types and nothing else: all arithmetic and every rule is implemented again here, so
//! that the same mistake is not in both. The checker never decides, repairs or panics; a journal that makes no sense is
//! a violation.
//!
//! - [`Checker`] reads the facts of one session's contracts.
//! - [`Checker::check_account`] compares them with the session's account, in play money or of a wallet.
//! - [`TreasuryChecker`] reads the facts of the hall's treasury, and compares them with each session of the wallet: its
//!   account, its briefs and its reports.
//!
//! ```
//! use guildhall_kernel::{Cause, FORMAT, Fact, Millis, Outcome, Path, Stored};
//! use guildhall_laws::{Checker, Law};
//!
//! let mut checker = Checker::new();
//! let stored = Stored {
//!     v: FORMAT,
//!     seq: 1,
//!     contract: Path::root(1),
//!     at: Millis(0),
//!     cause: Cause::Tick,
//!     fact: Fact::Closing(Outcome::Failed),
//! };
//! let broken = checker.observe(&stored);
//! assert_eq!(broken[0].law, Law::Replay);
//! assert_eq!(broken[0].what, "the contract has a fact before it was opened");
//! assert!(broken[0].to_string().starts_with("law 10 (replay), contract 1, fact 1: "));
//! ```
#![deny(missing_docs)]

mod account;
mod answers;
mod asks;
mod batch;
mod bill;
mod calls;
mod checker;
mod closing;
mod contract;
mod deadlines;
mod draft;
mod draws;
mod hires;
mod opening;
mod parts;
mod purse;
mod queue;
mod refusals;
mod repeats;
mod rest;
mod row;
mod scarce;
mod shares;
mod sizes;
mod stimuli;
mod tells;
mod treasury;
mod violation;

pub use account::{AccountViolation, SessionSums};
pub use bill::BillLine;
pub use checker::Checker;
pub use parts::{Parts, TokenSum};
pub use treasury::{MoneyPlace, PayeeSums, TreasuryChecker, TreasuryNote, TreasurySums, TreasuryViolation};
pub use violation::{Law, Violation};
