//! Money that a person adds to work under way, followed until it is known where it ended up: it goes down from the root one hop
//! at a time, and on its way somebody may close.

use std::time::Duration;

use guildhall_kernel::{Answer, Ask, AskId, AskKey, Cause, Fact, Msat, Path, Refusal, Sender, SessionFact, Stored};
use guildhall_local::{Holder, JournalError, SessionId, UnixMs};

use crate::hall::{Hall, HallError, Instruction};
use crate::setup::newest_root;
use crate::undertaking::account;

/// How long to follow the money, and how often to look.
const FOLLOWED_FOR: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What became of money that a person added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToppedUp {
    /// The contract has it.
    Given,
    /// The contract takes no more money. It stays with the last one on the way to it that does.
    StaysWith(Path),
    /// The root has closed. It stays in the session, for whoever goes on in it.
    StaysInSession {
        /// Which root.
        root: Path,
    },
    /// Nobody has heard of it yet. It waits for whoever runs the session, or for the resume.
    Waits(Option<Holder>),
}

/// What a contract did with money that it was told of.
enum TopUpStep {
    /// It has not heard of it.
    Unheard,
    /// It has it, and passed nothing on.
    ReadAgent,
    /// It keeps it for somebody below who takes no more.
    Kept,
    /// It passes it on, by this ask.
    Passed(AskId, Path),
}

impl Hall {
    /// Gives a contract at work more money, and says where that ended up, if somebody runs the session.
    pub async fn top_up(&self, id: &SessionId, to: &Path, money: Msat) -> Result<ToppedUp, HallError> {
        let number = self.order(id, to, Instruction::Money(money)).await?.number;
        for _ in 0..FOLLOWED_FOR.as_millis() / LOOK_AGAIN.as_millis() {
            // The money is stored: whatever goes wrong from here on, whoever gave it must not give it again.
            if let Ok(Some(found)) = self.follow(id, number, to).await {
                return Ok(found);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(ToppedUp::Waits(self.journal().running(id).await.unwrap_or(None)))
    }

    /// Says where money is that was left in the inbox. Nothing if that is not known yet.
    async fn follow(&self, id: &SessionId, number: u64, to: &Path) -> Result<Option<ToppedUp>, HallError> {
        let waiting = self.journal().take_after(id, number.saturating_sub(1)).await?;
        if waiting.first().is_none_or(|first| first.number != number) {
            return self.whereabouts(id, number, to).await;
        }
        if self.journal().running(id).await?.is_some() {
            return Ok(None);
        }
        if !self.has_closed(id, &to.top()).await? {
            return Ok(Some(ToppedUp::Waits(None)));
        }
        // Its process ended before it could hear of the money, and nobody else looks into the inbox.
        self.keep_late_money(id).await?;
        Ok(None)
    }

    /// Follows money down from the root. Nothing if it is still on its way.
    async fn whereabouts(&self, id: &SessionId, number: u64, to: &Path) -> Result<Option<ToppedUp>, HallError> {
        let (mut at, mut cause) = (to.top(), Cause::Stimulus(Sender::Owner { command: number }));
        let mut above: Option<(Path, AskId)> = None;
        loop {
            let facts = self.journal().contract_facts(id, &at).await?;
            match (hop(&facts, &cause), above) {
                (TopUpStep::ReadAgent, _) => return Ok(Some(ToppedUp::Given)),
                (TopUpStep::Kept, _) => return Ok(Some(ToppedUp::StaysWith(at))),
                (TopUpStep::Passed(ask, next), _) => {
                    cause = Cause::Stimulus(Sender::Contract(AskKey { contract: at.clone(), ask }));
                    above = Some((at, ask));
                    at = next;
                }
                // It had closed when the money came, which is back with its hirer.
                (TopUpStep::Unheard, Some((hirer, tell))) => {
                    let gone = self.journal().contract_facts(id, &hirer).await?.iter().any(
                        |stored| matches!(&stored.fact, Fact::Answered { id, answer: Answer::Gone, .. } if *id == tell),
                    );
                    return Ok(gone.then_some(ToppedUp::StaysWith(hirer)));
                }
                (TopUpStep::Unheard, None) => {
                    let closed = self.has_closed(id, &at).await?;
                    return Ok(closed.then_some(ToppedUp::StaysInSession { root: at }));
                }
            }
        }
    }

    async fn has_closed(&self, id: &SessionId, contract: &Path) -> Result<bool, HallError> {
        let newest = self.journal().newest_fact(id, contract).await?;
        Ok(newest.is_some_and(|stored| matches!(stored.fact, Fact::Closed(_))))
    }

    /// Settles a session at rest whose newest root has closed: what a process left undone that ended right after it. The root's
    /// change is the session's, and so is money that came too late for the root.
    pub async fn settle(&self, id: &SessionId) -> Result<(), HallError> {
        let root = newest_root(self.journal(), id).await?.path;
        if !self.has_closed(id, &root).await? {
            return Ok(());
        }
        if account(self.journal(), id).await?.has_ended(&root) {
            self.keep_late_money(id).await
        } else {
            self.resume(id).await?.wait().await.map(|_| ())
        }
    }

    /// Keeps money in the session that lies in its inbox for a root that has closed. Whoever runs the session does so itself.
    async fn keep_late_money(&self, id: &SessionId) -> Result<(), HallError> {
        if self.journal().take_after(id, 0).await?.is_empty() {
            return Ok(());
        }
        match self.journal().lease(id, UnixMs::now()).await {
            Ok(lease) => Ok(self.journal().keep_late_money(&lease).await?),
            Err(JournalError::Held { .. } | JournalError::Busy) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
}

/// What a contract did with money, by its facts.
fn hop(facts: &[Stored], cause: &Cause) -> TopUpStep {
    let mut hop = TopUpStep::Unheard;
    for stored in facts.iter().filter(|stored| stored.cause == *cause) {
        match &stored.fact {
            Fact::Heard { .. } => hop = TopUpStep::ReadAgent,
            Fact::Refused { why: Refusal::TopUpStays { .. }, .. } => hop = TopUpStep::Kept,
            Fact::Asked { id, ask: Ask::Tell { to, .. }, .. } => hop = TopUpStep::Passed(*id, to.clone()),
            Fact::Asked { .. }
            | Fact::Refused { .. }
            | Fact::Opened(_)
            | Fact::Answered { .. }
            | Fact::Raised { .. }
            | Fact::Waiting { .. }
            | Fact::Woke { .. }
            | Fact::Nudged(_)
            | Fact::Compacted { .. }
            | Fact::Closing(_)
            | Fact::Closed(_) => {}
        }
    }
    hop
}

/// The money that came for the newest root after it had closed: only that is added to a session between two requests.
pub(crate) fn late_money(account: &[SessionFact]) -> Msat {
    let after = account.iter().rposition(|fact| matches!(fact, SessionFact::Requested { .. })).map_or(0, |at| at + 1);
    let late = account[after..].iter().map(|fact| match fact {
        SessionFact::Funded { money, root: None } => u128::from(money.get()),
        SessionFact::Funded { root: Some(_), .. }
        | SessionFact::Requested { .. }
        | SessionFact::Corrected { .. }
        | SessionFact::Ended { .. } => 0,
    });
    Msat::capped(late.sum())
}
