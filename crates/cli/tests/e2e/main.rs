//! The program as people run it, against a provider in a process of its own.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod alone;
mod bad_teams;
mod billing;
mod bounds;
mod chat;
mod control;
mod correct;
mod crew;
mod delegation;
mod demo;
mod endings;
mod faults;
mod first_release;
mod hire;
mod hostile;
mod house;
mod json_turns;
mod killed;
mod killed_trees;
mod late;
mod local_server;
mod looking;
mod money;
mod people;
mod quote;
mod refusals;
mod shares;
mod showing;
mod stored;
mod tampered;
mod tasks;
mod teams;
mod terminal;
mod trees;
mod work;
