//! Tests of the agent layer, in one program: linking a program takes longer than running its tests.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod checks;
mod functions;
mod hiring;
mod redact;
mod roster;
mod run;
mod words_by_chance;
