//! Tests of the library, in one program: linking a program takes longer than running its tests.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod balance;
mod closing;
#[cfg(feature = "http")]
mod fuzz;
mod keeper;
mod library;
mod missing;
#[cfg(feature = "lightning")]
mod money;
mod promises;
mod settings;
mod tamper;
mod tree;
#[cfg(feature = "http")]
mod work;
