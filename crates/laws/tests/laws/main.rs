//! Hand-made journals: lawful ones, in which the checker finds nothing, and the same journals with one mistake.

#![expect(clippy::unwrap_used, reason = "an invalid value in a hand-made journal is a mistake in the test")]

mod account;
mod books;
mod conduct;
mod cut;
mod deadlines;
mod draws;
mod fees;
mod grants;
mod journal;
mod lawful;
mod parts;
mod payments;
mod questions;
mod queue;
mod scarce;
mod scenes;
mod shares;
mod sizes;
mod treasury;
mod wallet;
