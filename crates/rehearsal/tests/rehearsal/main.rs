//! The rehearsal with the real file tools: a team works on the example, on changed copies of it, and on our own source.

#![expect(clippy::unwrap_used, reason = "a test that can't continue panics")]

mod cited;
mod driver;
mod example;
mod nonsense;
mod other_project;
mod own_source;
mod payment;
mod replies;
mod team;
