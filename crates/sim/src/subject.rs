//! What a run of the simulator tries to break: trees of contracts, or payments.

use crate::chance::Chance;
use crate::history::history;
use crate::payments::{self, History, PaymentsRun, run_payments};
use crate::reach::Reach;
use crate::run::Run;
use crate::shrink::{attempt, catch};

/// What the schedules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Trees of contracts.
    Trees,
    /// Payments in and out of the hall's wallet.
    Payments,
}

/// The result of one schedule.
#[derive(Debug)]
pub struct Played {
    /// What was broken.
    pub violations: Vec<String>,
    /// The counts of what was reached.
    pub reach: Reach,
    /// The number of stored facts.
    pub facts: u64,
    /// What happened, if it was asked for.
    pub history: String,
}

impl Subject {
    /// Runs a schedule. A panic is returned as an error.
    pub fn play(self, chance: Chance, kept: History) -> Result<Played, String> {
        match self {
            Subject::Trees => {
                let Run { violations, reach, journal } = attempt(chance)?;
                let facts = journal.len() as u64;
                let history = match kept {
                    History::Kept => history(&journal),
                    History::Dropped => String::new(),
                };
                Ok(Played { violations, reach, facts, history })
            }
            Subject::Payments => {
                let PaymentsRun { violations, reach, facts, history } = catch(|| run_payments(chance, kept))?;
                let history = history.into_iter().map(|line| line + "\n").collect();
                Ok(Played { violations, reach, facts, history })
            }
        }
    }

    /// Returns the table of everything that schedules must reach, with all counts at 0.
    pub fn reach(self) -> Reach {
        match self {
            Subject::Trees => Reach::default(),
            Subject::Payments => payments::reach(),
        }
    }
}
