//! Orders: what a person tells a session, from the terminal that runs it or from another. An order lies in the session's inbox
//! until whoever runs it has heard it; only what was stored counts.

use std::sync::Arc;
use std::time::Duration;

use guildhall_kernel::{
    AgentName, Ask, Brief, Cause, Fact, MESSAGE_BYTES_MAX, Msat, Path, Refusal, Sender, SessionError, SessionFact,
    Stimulus, Stored, TextKind,
};
use guildhall_local::{Holder, Order, SessionId, UnixMs};
use serde::Deserialize;

use crate::hall::{Ending, Hall, HallError, Instruction};
use crate::setup::{Request, newest_root};
use crate::undertaking::account;

/// How long to wait until whoever runs the session has heard an order.
const HEARD_WITHIN: Duration = Duration::from_secs(10);

/// How often to look whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// An order that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Its number in the inbox.
    pub(crate) number: u64,
    /// Who runs the session now.
    pub(crate) holder: Option<Holder>,
}

/// What became of a hire that a person ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spawned {
    /// The agent is at work.
    Hired {
        /// Its contract.
        contract: Path,
        /// What it was granted.
        money: Msat,
    },
    /// It was not admitted.
    Refused(Refusal),
    /// Nobody has heard it yet. It waits for whoever runs the session, or for the resume.
    Waits(Option<Holder>),
}

impl Hall {
    /// Tells whoever runs a session to end it, now or when it is next taken up. Returns who runs it now.
    pub async fn end(&self, id: &SessionId, how: Ending) -> Result<Option<Holder>, HallError> {
        Ok(self.leave(id, how).await?.holder)
    }

    /// Leaves the order to end a session in its inbox.
    pub(crate) async fn leave(&self, id: &SessionId, how: Ending) -> Result<Left, HallError> {
        let root = self.open_root(id).await?;
        let order = Order { to: root, what: how.stimulus(), texts: Vec::new() };
        let holder = self.journal().running(id).await?;
        self.put(id, &order, holder).await
    }

    /// Tells a contract of a session something. Without anybody who runs the session, it waits for the resume. Returns who
    /// runs it now.
    pub async fn tell(&self, id: &SessionId, to: &Path, what: Instruction) -> Result<Option<Holder>, HallError> {
        Ok(self.order(id, to, what).await?.holder)
    }

    pub(crate) async fn order(&self, id: &SessionId, to: &Path, what: Instruction) -> Result<Left, HallError> {
        let root = self.open_root(id).await?;
        if !self.is_open(id, to).await? {
            return Err(HallError::NobodyThere { session: id.clone(), contract: to.clone() });
        }
        // Money goes down from the root one hop at a time; words go direct.
        let (to, what, texts) = match what {
            Instruction::Words(text) => {
                let text = self.redactor().text(TextKind::Message, &text);
                // The kernel does not hear what is longer, and nobody would know.
                if text.of.bytes > MESSAGE_BYTES_MAX {
                    return Err(HallError::Refused(Refusal::MessageTooLong { bytes: text.of.bytes }));
                }
                (to.clone(), Stimulus::Message(text.of), vec![(text.of, text.says)])
            }
            // The kernel does not hear of money that can't be, and nobody would know.
            Instruction::Money(money) if !self.can_be_given(id, &root, money).await? => {
                return Err(HallError::TooMuchMoney { session: id.clone(), asked: money });
            }
            Instruction::Money(money) => (root, Stimulus::TopUp { to: to.clone(), money }, Vec::new()),
            Instruction::End(how) => (to.clone(), how.stimulus(), Vec::new()),
        };
        let holder = self.journal().running(id).await?;
        self.put(id, &Order { to, what, texts }, holder).await
    }

    /// Returns the newest root of a session, unless that has ended. What it was set up with is not read for it, so that a session
    /// can be stopped whose setup can't be read.
    async fn open_root(&self, id: &SessionId) -> Result<Path, HallError> {
        let root = self.root(id).await?;
        match self.journal().newest_fact(id, &root).await? {
            Some(Stored { fact: Fact::Closed(_), .. }) => Err(HallError::HasEnded(id.clone())),
            Some(_) | None => Ok(root),
        }
    }

    /// Whether a contract is at work.
    async fn is_open(&self, id: &SessionId, contract: &Path) -> Result<bool, HallError> {
        let newest = self.journal().newest_fact(id, contract).await?;
        Ok(newest.is_some_and(|stored| !matches!(stored.fact, Fact::Closed(_))))
    }

    /// Returns the path of the newest root that was asked for in a session.
    pub async fn root(&self, id: &SessionId) -> Result<Path, HallError> {
        let request = Request::newest(&self.journal().account(id).await?);
        Ok(request.ok_or_else(|| HallError::NothingToResume(id.clone()))?.root)
    }

    /// Whether a root can hold so much more, with what waits in the inbox for it.
    async fn can_be_given(&self, id: &SessionId, root: &Path, money: Msat) -> Result<bool, HallError> {
        let mut account = account(self.journal(), id).await?;
        let top_up = |money| SessionFact::Funded { money, root: Some(root.clone()) };
        for command in self.journal().take_after(id, 0).await? {
            // One that can't be read, or that was too much by then, is not heard either.
            if let Ok(Order { what: Stimulus::TopUp { money, .. }, .. }) = Order::deserialize(&command.command) {
                account.apply(&top_up(money)).ok();
            }
        }
        Ok(account.apply(&top_up(money)) != Err(SessionError::BeyondSupply))
    }

    /// Hires somebody in the background, without a model's decision: under a contract of a session, or under its root. The hirer
    /// hears the report as that of any hire. Whoever is hired must be one whom it may hire.
    pub async fn hire(
        &self,
        id: &SessionId,
        hirer: Option<&Path>,
        agent: &AgentName,
        task: &str,
        budget: Option<Msat>,
    ) -> Result<Spawned, HallError> {
        self.open_root(id).await?;
        let root = newest_root(self.journal(), id).await?;
        let brief = match hirer.filter(|hirer| **hirer != root.path) {
            None => Arc::clone(&root.setup.brief),
            Some(hirer) => self.brief(id, hirer).await?,
        };
        let table = self.table(id, &root.setup.staffing)?;
        let env = table.env(&brief);
        let team = env.as_ref().and_then(|env| env.runtime.team.as_deref());
        let offer = team.and_then(|team| team.offer(agent, task, budget, &brief, self.redactor()));
        let Some((offer, texts)) = offer else {
            let known: Vec<String> =
                team.iter().flat_map(|team| &team.workers).map(|worker| worker.name.to_string()).collect();
            let known = if known.is_empty() { "nobody".to_owned() } else { known.join(", ") };
            return Err(HallError::MayNotHire { hirer: brief.path.clone(), agent: agent.clone(), known });
        };
        let texts = texts.into_iter().map(|text| (text.of, text.says)).collect();
        let order = Order { to: brief.path.clone(), what: Stimulus::Hire(Box::new(offer)), texts };
        let holder = self.journal().running(id).await?;
        let left = self.put(id, &order, holder).await?;
        self.spawned(id, &brief.path, left).await
    }

    /// The brief of a contract that is at work.
    async fn brief(&self, id: &SessionId, contract: &Path) -> Result<Arc<Brief>, HallError> {
        let (first, newest) = (self.journal().first_fact(id, contract), self.journal().newest_fact(id, contract));
        match (first.await?.map(|stored| stored.fact), newest.await?.map(|stored| stored.fact)) {
            (Some(Fact::Opened(brief)), Some(newest)) if !matches!(newest, Fact::Closed(_)) => Ok(brief),
            (_, _) => Err(HallError::NobodyThere { session: id.clone(), contract: contract.clone() }),
        }
    }

    /// Waits until an order to hire was heard, if somebody runs the session.
    async fn spawned(&self, id: &SessionId, hirer: &Path, left: Left) -> Result<Spawned, HallError> {
        let cause = Cause::Stimulus(Sender::Owner { command: left.number });
        let looks = HEARD_WITHIN.as_millis() / LOOK_AGAIN.as_millis();
        for _ in 0..if left.holder.is_some() { looks } else { 0 } {
            let facts = self.journal().contract_facts(id, hirer).await?;
            if let Some(spawned) = facts.iter().filter(|stored| stored.cause == cause).find_map(became) {
                return Ok(spawned);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(Spawned::Waits(left.holder))
    }

    async fn put(&self, id: &SessionId, order: &Order, holder: Option<Holder>) -> Result<Left, HallError> {
        Ok(Left { number: self.journal().put(id, order, UnixMs::now()).await?, holder })
    }
}

/// What a fact says about the hire that it followed from.
fn became(stored: &Stored) -> Option<Spawned> {
    match &stored.fact {
        Fact::Asked { ask: Ask::Hire { brief, .. }, .. } => {
            Some(Spawned::Hired { contract: brief.path.clone(), money: brief.grant.money })
        }
        Fact::Refused { why, .. } => Some(Spawned::Refused(why.clone())),
        Fact::Opened(_)
        | Fact::Asked { .. }
        | Fact::Answered { .. }
        | Fact::Raised { .. }
        | Fact::Heard { .. }
        | Fact::Waiting { .. }
        | Fact::Woke { .. }
        | Fact::Nudged(_)
        | Fact::Compacted { .. }
        | Fact::Closing(_)
        | Fact::Closed(_) => None,
    }
}
