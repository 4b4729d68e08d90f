//! Journals made by hand: lawful ones, in which nothing is found, and the same ones with one thing wrong.

#![expect(clippy::unwrap_used, reason = "a hand-made journal that does not parse is a broken test")]

mod account;
mod books;
mod conduct;
mod deadlines;
mod forms;
mod grants;
mod journal;
mod lawful;
mod parts;
mod questions;
mod scenes;
mod shares;
