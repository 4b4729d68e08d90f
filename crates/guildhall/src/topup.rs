//! Top-ups: money that a person adds to running work. The money goes down from the root one level at a time, and a contract on
//! the way may close. This module finds out which contract has the money in the end.

use std::time::Duration;

use guildhall_kernel::{
    Answer, Ask, AskId, AskKey, Cause, Fact, Msat, Path, Refusal, Sender, SessionFact, Stimulus, Stored,
};
use guildhall_local::{Command, Holder, Journal, JournalError, Order, SessionId, unix_now};
use serde::Deserialize;

use crate::hall::{Hall, HallError, Instruction};
use crate::setup::newest_root;
use crate::undertaking::account;

/// How long to look for the money, and the pause between two looks.
const FOLLOWED_FOR: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The place of money that a person added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToppedUp {
    /// The contract has the money.
    Given,
    /// The hire waits for money and has not begun. The money is its hirer's, which begins it as soon as that is enough.
    HasHirer(Path),
    /// The contract takes no more money. The money stays with this contract, the last one on the way that could take it.
    StaysWith(Path),
    /// No contract took the money: the root has closed, or the session's free money was used in the meantime. The money stays in
    /// the session and can be used when the session is continued.
    StaysInSession {
        /// The root.
        root: Path,
    },
    /// The top-up was not read yet. It waits for the process that runs the session, or for a resume.
    Waits(Option<Holder>),
}

/// What a contract did with a top-up.
enum TopUpStep {
    /// The contract has not received it.
    NotReceived,
    /// The contract has the money and passed nothing on.
    Received,
    /// The contract keeps the money, because the hire below takes no more.
    Kept,
    /// The contract passes the money on to this hire, with this ask.
    Passed(AskId, Path),
}

impl Hall {
    /// Gives a contract at work more money, and returns which contract has the money, if a process runs the session.
    pub async fn top_up(&self, id: &SessionId, to: &Path, money: Msat) -> Result<ToppedUp, HallError> {
        self.give(id, to, Instruction::Money(money)).await
    }

    /// Gives a contract at work more of the session's free money, and returns which contract has the money, if a process runs the
    /// session.
    pub async fn grant_more(&self, id: &SessionId, to: &Path, money: Msat) -> Result<ToppedUp, HallError> {
        self.give(id, to, Instruction::Grant(money)).await
    }

    /// Returns the top-ups that no process has read yet: each with the contract that it is for.
    pub async fn waiting_top_ups(&self, id: &SessionId) -> Result<Vec<(Path, Msat)>, HallError> {
        let waiting = self.journal().take_after(id, 0).await?;
        // An order that can't be read will have no effect.
        let top_up = |command: &Command| {
            let Ok(Order { what: Stimulus::TopUp { to, money, .. }, .. }) = Order::deserialize(&command.command) else {
                return None;
            };
            Some((to, money))
        };
        Ok(waiting.iter().filter_map(top_up).collect())
    }

    async fn give(&self, id: &SessionId, to: &Path, what: Instruction) -> Result<ToppedUp, HallError> {
        let hirer = self.hirer_of_queued(id, to).await?;
        let number = self.order(id, to, what).await?.number;
        let place = self.place_of(id, to, number).await?;
        Ok(match (hirer, &place) {
            (Some(hirer), ToppedUp::StaysWith(with)) if hirer == *with => ToppedUp::HasHirer(hirer),
            _ => place,
        })
    }

    /// Waits a short time until the money of a top-up has its place.
    async fn place_of(&self, id: &SessionId, to: &Path, number: u64) -> Result<ToppedUp, HallError> {
        for _ in 0..FOLLOWED_FOR.as_millis() / LOOK_AGAIN.as_millis() {
            // The order is stored, so an error from here on must not look as if the top-up failed: the person would repeat it.
            if let Ok(Some(found)) = self.follow(id, number, to).await {
                return Ok(found);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(ToppedUp::Waits(self.journal().running(id).await.unwrap_or(None)))
    }

    /// Returns the place of the money of this order. `None` if that is not known yet.
    async fn follow(&self, id: &SessionId, number: u64, to: &Path) -> Result<Option<ToppedUp>, HallError> {
        let waiting = self.journal().take_after(id, number.saturating_sub(1)).await?;
        if waiting.first().is_none_or(|first| first.number != number) {
            return self.locate(id, number, to).await;
        }
        if self.journal().running(id).await?.is_some() {
            return Ok(None);
        }
        if !self.has_closed(id, &to.top()).await? {
            return Ok(Some(ToppedUp::Waits(None)));
        }
        // The process of the root ended before it read the order, and no other process reads the inbox.
        self.keep_late_money(id).await?;
        Ok(None)
    }

    /// Follows the money down from the root. `None` if it is still on its way.
    async fn locate(&self, id: &SessionId, number: u64, to: &Path) -> Result<Option<ToppedUp>, HallError> {
        let (mut at, mut cause) = (to.top(), Cause::Stimulus(Sender::Owner { command: number }));
        let mut above: Option<(Path, AskId)> = None;
        loop {
            let facts = self.journal().contract_facts(id, &at).await?;
            match (step(&facts, &cause), above) {
                (TopUpStep::Received, _) => return Ok(Some(ToppedUp::Given)),
                (TopUpStep::Kept, _) => return Ok(Some(ToppedUp::StaysWith(at))),
                (TopUpStep::Passed(ask, next), _) => {
                    cause = Cause::Stimulus(Sender::Contract(AskKey { contract: at.clone(), ask }));
                    above = Some((at, ask));
                    at = next;
                }
                // The contract had closed when the money came, so the money went back to its hirer.
                (TopUpStep::NotReceived, Some((hirer, tell))) => {
                    let gone = self.journal().contract_facts(id, &hirer).await?.iter().any(
                        |stored| matches!(&stored.fact, Fact::Answered { id, answer: Answer::Gone, .. } if *id == tell),
                    );
                    return Ok(gone.then_some(ToppedUp::StaysWith(hirer)));
                }
                // The order is done, and what a root does with an order is stored in the same commit.
                (TopUpStep::NotReceived, None) => return Ok(Some(ToppedUp::StaysInSession { root: at })),
            }
        }
    }

    async fn has_closed(&self, id: &SessionId, contract: &Path) -> Result<bool, HallError> {
        let newest = self.journal().newest_fact(id, contract).await?;
        Ok(newest.is_some_and(|stored| matches!(stored.fact, Fact::Closed(_))))
    }

    /// Settles a session that no process runs and whose newest root has closed, in case a process ended right after the root
    /// closed. The root's change, and money that came too late for the root, go back to the session.
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

    /// Moves money from the inbox of a closed root to the session. If a process runs the session, that process does it.
    async fn keep_late_money(&self, id: &SessionId) -> Result<(), HallError> {
        if self.journal().take_after(id, 0).await?.is_empty() {
            return Ok(());
        }
        match self.journal().lease(id, unix_now()).await {
            Ok(lease) => Ok(self.journal().keep_late_money(&lease).await?),
            Err(JournalError::Held { .. } | JournalError::Busy) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
}

/// What a contract did with a top-up, according to its facts.
fn step(facts: &[Stored], cause: &Cause) -> TopUpStep {
    let mut step = TopUpStep::NotReceived;
    for stored in facts.iter().filter(|stored| stored.cause == *cause) {
        match &stored.fact {
            Fact::Heard { .. } => step = TopUpStep::Received,
            Fact::Refused { why: Refusal::TopUpStays { .. }, .. } => step = TopUpStep::Kept,
            // A top-up that answers a draw is not this money.
            Fact::Asked { id, ask: Ask::Tell { to, what: Stimulus::TopUp { draw: None, .. } }, .. } => {
                step = TopUpStep::Passed(*id, to.clone());
            }
            Fact::Asked { .. }
            | Fact::Queued { .. }
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
    step
}

/// The money that came for the newest root after it had closed. Between two requests, no other money is added to a session of a
/// terminal. The owner of a served session can settle an invoice at any time, so a served session has no late money.
pub(crate) async fn late_money(
    journal: &Journal,
    session: &SessionId,
    account: &[SessionFact],
) -> Result<Msat, JournalError> {
    let late = added_since_request(account);
    let is_late = late > Msat::ZERO && journal.team_of(session).await?.is_none();
    Ok(if is_late { late } else { Msat::ZERO })
}

fn added_since_request(account: &[SessionFact]) -> Msat {
    let after = account.iter().rposition(|fact| matches!(fact, SessionFact::Requested { .. })).map_or(0, |at| at + 1);
    let late = account[after..].iter().map(|fact| match fact {
        SessionFact::Funded { money, root: None, payment: None } => u128::from(money.get()),
        SessionFact::Funded { root: Some(_), .. }
        | SessionFact::Funded { payment: Some(_), .. }
        | SessionFact::Opened { .. }
        | SessionFact::Granted { .. }
        | SessionFact::Withdrawing { .. }
        | SessionFact::Withdrawn { .. }
        | SessionFact::Returned { .. }
        | SessionFact::Requested { .. }
        | SessionFact::Corrected { .. }
        | SessionFact::Ended { .. } => 0,
    });
    Msat::capped(late.sum())
}
