//! Guildhall as a library: a hall with its models, tools and journal, and agents at work in it. The command line and the
//! server use only this. So far one agent works at a time; hiring comes next.

mod hall;
mod session;

pub use hall::{Agent, Hall, HallError, Work};
pub use session::{Ended, Outlay};
