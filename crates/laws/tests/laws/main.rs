//! Journals made by hand: lawful ones, in which nothing is found, and the same ones with one thing wrong.

#![expect(clippy::unwrap_used, reason = "a hand-made journal that does not parse is a broken test")]

mod books;
mod conduct;
mod grants;
mod journal;
mod lawful;
mod scenes;
