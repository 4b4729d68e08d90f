//! What became of a session: the answer, and what it cost.

use guildhall_kernel::{Msat, Outcome, Report};
use guildhall_local::{Head, Journal, SessionId};

use crate::hall::HallError;

/// What work came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The session.
    pub session: SessionId,
    /// The answer, or what was found instead of one.
    pub text: String,
    /// The report.
    pub report: Report,
    /// What it cost.
    pub outlay: Outlay,
    /// The head of the journal's chain: whoever has it finds out if the journal is cut later.
    pub head: Head,
}

/// What was put in, and where it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlay {
    /// What was granted.
    pub granted: Msat,
    /// What was spent.
    pub spent: Msat,
}

impl Ended {
    pub(crate) async fn read(journal: &Journal, session: &SessionId, report: Report) -> Result<Ended, HallError> {
        let text = journal.text(report.text.text().hash).await?.unwrap_or_default();
        let granted = Msat::new(report.spent.get() + report.change.get()).unwrap_or(Msat::SUPPLY);
        let outlay = Outlay { granted, spent: report.spent };
        let head = journal.head(session).await?;
        Ok(Ended { session: session.clone(), text: String::from_utf8_lossy(&text).into_owned(), report, outlay, head })
    }

    /// The exit code that scripts are promised.
    pub fn exit_code(&self) -> u8 {
        match self.report.outcome {
            Outcome::Done => 0,
            Outcome::Exhausted(guildhall_kernel::Limit::Asked) => 130,
            Outcome::Exhausted(_) => 3,
            Outcome::Failed => 5,
            Outcome::Cancelled => 1,
        }
    }
}
