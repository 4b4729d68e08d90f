//! The money of a root: which fact of the session's account belongs to a fact of the root, and whether a top-up fits the
//! account. A top-up that does not fit is never delivered, because its facts could not be stored.

use guildhall_kernel::{Fact, Input, Msat, Path, Report, Sender, SessionFact, SessionKind, Stimulus};
use serde::{Deserialize, Serialize};

use super::EngineError;
use super::driver::ContractDriver;

/// Where the money of a top-up comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoneySource {
    /// The top-up creates play money. The money of a wallet can't be created, so that a top-up in a session with such money
    /// moves the session's free money, too.
    #[default]
    New,
    /// The top-up moves the session's free money.
    Free,
}

impl MoneySource {
    /// Returns where the money really comes from in a session of this kind.
    fn within(self, kind: &SessionKind) -> MoneySource {
        match kind {
            SessionKind::Play => self,
            SessionKind::Wallet(_) => MoneySource::Free,
        }
    }

    /// Returns the fact of the account for a top-up of a root at work.
    pub fn top_up(self, kind: &SessionKind, root: Path, money: Msat) -> SessionFact {
        match self.within(kind) {
            MoneySource::New => SessionFact::Funded { money, root: Some(root), payment: None },
            MoneySource::Free => SessionFact::Granted { root, money },
        }
    }

    /// Returns the fact of the account for a top-up that no contract can receive any more. Money that was free stays free.
    pub(super) fn late(self, kind: &SessionKind, money: Msat) -> Option<SessionFact> {
        match self.within(kind) {
            MoneySource::New => Some(SessionFact::Funded { money, root: None, payment: None }),
            MoneySource::Free => None,
        }
    }
}

/// Returns the account's fact that belongs to a fact of a root: a person's top-up, or the end.
pub(super) fn account_fact(fact: &Fact, root: &Path, kind: &SessionKind, source: MoneySource) -> Option<SessionFact> {
    match fact {
        Fact::Heard { from: Sender::Owner { .. }, stimulus: Stimulus::TopUp { money, .. } } => {
            Some(source.top_up(kind, root.clone(), *money))
        }
        Fact::Closed(report) => {
            let Report { spent, reserved, estimated, .. } = **report;
            Some(SessionFact::Ended { root: root.clone(), spent, reserved, estimated })
        }
        Fact::Heard { .. }
        | Fact::Opened(_)
        | Fact::Asked { .. }
        | Fact::Answered { .. }
        | Fact::Queued { .. }
        | Fact::Refused { .. }
        | Fact::Raised { .. }
        | Fact::Waiting { .. }
        | Fact::Woke { .. }
        | Fact::Nudged(_)
        | Fact::Compacted { .. }
        | Fact::Closing(_) => None,
    }
}

impl ContractDriver {
    /// Whether the account can give the money of an order. Free money may have been used since the order was left: then the
    /// order has no effect, and the money stays where it is.
    pub(super) async fn can_be_paid(&mut self, input: &Input, source: MoneySource) -> Result<bool, EngineError> {
        let Input::Stimulus { from: Sender::Owner { .. }, what: Stimulus::TopUp { money, .. } } = input else {
            return Ok(true);
        };
        if !self.is_in_account || self.has_received(input) {
            return Ok(true);
        }
        // An earlier top-up may be queued, and the account is read from the disk.
        self.store_queued().await?;
        let inner = &self.engine.inner;
        let mut account = inner.journal.folded_account(inner.lease.session()).await?;
        Ok(account.apply(&source.top_up(&inner.kind, self.path().clone(), *money)).is_ok())
    }
}
