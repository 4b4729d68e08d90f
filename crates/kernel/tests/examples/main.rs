//! Named examples of what a contract does; each test name states a promise. The laws are tested with random schedules
//! in `crates/sim`.

mod answers;
mod checks;
mod conversations;
mod draw;
mod endings;
mod guards;
mod hall;
mod hires;
mod money;
mod nudges;
mod refusals;
mod say;
mod shares;
mod turns;
mod uncertain;
mod waits;
