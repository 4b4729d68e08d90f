//! Hand-made journals: lawful ones, in which the checker finds nothing, and the same journals with one mistake.

#![expect(clippy::unwrap_used, reason = "an invalid value in a hand-made journal is a mistake in the test")]

mod account;
mod books;
mod conduct;
mod deadlines;
mod fees;
mod forms;
mod grants;
mod journal;
mod lawful;
mod parts;
mod payments;
mod questions;
mod scenes;
mod shares;
mod treasury;
mod wallet;
