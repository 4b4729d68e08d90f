//! Named examples of what a contract does; each name is a promise. The laws are tested elsewhere with chance, the intent here.

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
