//! Named examples of what a contract does; each test name states a promise. The laws are tested with random schedules
//! in `crates/sim`. `corrupt` and `golden` are about stored facts.

mod answers;
mod checks;
mod conversations;
mod corrupt;
mod cut;
mod draw;
mod draws;
mod endings;
mod golden;
mod guards;
mod hall;
mod hires;
mod money;
mod nudges;
mod refusals;
mod repeats;
mod row_order;
mod say;
mod shares;
mod turns;
mod uncertain;
mod waiting;
mod waits;
