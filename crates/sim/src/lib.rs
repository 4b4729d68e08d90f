//! A simulator that tries to break the contract kernel: it runs whole trees of contracts in virtual time, with random
//! agents and every kind of fault. A checker that does not share the kernel's code checks the laws after every step.
//! The crate also has the scripts that every engine must run with the same result.

mod chance;
pub mod conformance;
mod history;
mod reach;
mod run;
mod scenario;
mod script;
mod shrink;
mod store;
mod world;

pub use chance::{Chance, Drawn};
pub use history::history;
pub use reach::Reach;
pub use run::{Run, run, run_scenario};
pub use scenario::{AgentStyle, Faults, Scenario};
pub use shrink::{attempt, failure, shrink};
