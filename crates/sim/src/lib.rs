//! A simulator that tries to break the contract kernel: it runs whole trees of contracts in virtual time, with random
//! agents and every kind of fault. A checker that does not share the kernel's code checks the laws after every step.
//! A second kind of schedule pays money in and out of a wallet that lies; the simulator knows who really paid what.
//! The crate also has the scripts that every engine must run with the same result.

pub mod budget;
mod chance;
pub mod conformance;
mod history;
mod payments;
mod reach;
mod run;
mod scenario;
mod script;
mod shrink;
mod store;
mod subject;
mod world;

pub use chance::{Chance, Drawn};
pub use history::history;
pub use payments::{History, PaymentsRun, run_payments};
pub use reach::Reach;
pub use run::{Run, run, run_scenario};
pub use scenario::{AgentStyle, Faults, Scenario};
pub use shrink::{attempt, failure, shrink};
pub use subject::{Played, Subject};
