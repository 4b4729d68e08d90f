//! A simulator that tries to break the contract kernel: whole trees of contracts in virtual time, agents drawn by chance,
//! every fault there is, and the laws checked after every step by a checker that knows nothing of the kernel. And the scripts
//! that other engines are held against.

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
pub use scenario::{Faults, Scenario, Temper};
pub use shrink::{attempt, failure, shrink};
