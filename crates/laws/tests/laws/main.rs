//! Journals made by hand: lawful ones, in which nothing is found, and the same ones with one thing wrong.

mod books;
mod conduct;
mod grants;
mod journal;
mod lawful;
mod scenes;
