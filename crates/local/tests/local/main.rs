//! Tests of the engine on one machine and of its journal, in one program: linking a program takes longer than running its
//! tests.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod conformance;
mod engine;
mod journal;
