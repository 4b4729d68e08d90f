//! Orders from a person to a session, from the terminal that runs the session or from another. An order stays in the session's
//! inbox until the process that runs the session has read it. An order counts only after it is stored.

use std::sync::Arc;
use std::time::Duration;

use guildhall_kernel::{
    AgentName, Ask, Brief, Cause, Fact, MESSAGE_BYTES_MAX, Msat, Origin, Path, Refusal, Sender, SessionError, Stimulus,
    Stored, TextKind,
};
use guildhall_local::{Holder, MoneySource, Order, RequestKey, SessionId, unix_now};
use serde::Deserialize;

use crate::hall::{Ending, Hall, HallError, Instruction};
use crate::setup::{newest_request, newest_root};
use crate::undertaking::account;

/// How long to wait until the process that runs the session has read an order.
const READ_WITHIN: Duration = Duration::from_secs(10);

/// The pause between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// An order in the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// The number of the order in the inbox.
    pub(crate) number: u64,
    /// The process that runs the session now.
    pub(crate) holder: Option<Holder>,
}

/// The result of a hire that a person ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderedHire {
    /// The agent is at work.
    Hired {
        /// The contract of the new agent.
        contract: Path,
        /// The money that the contract was granted.
        money: Msat,
    },
    /// There is not enough money now. The hire begins when other work returns some.
    WaitsForMoney {
        /// The id that the contract of the new agent will have.
        contract: Path,
    },
    /// The hire was refused.
    Refused(Refusal),
    /// The order was not read yet. It waits for the process that runs the session, or for a resume.
    Waits(Option<Holder>),
}

impl Hall {
    /// Orders a session to end, now or after its next resume. Returns the process that runs the session now.
    pub async fn end(&self, id: &SessionId, how: Ending) -> Result<Option<Holder>, HallError> {
        Ok(self.order_end(id, how).await?.holder)
    }

    /// Puts the stop of a session into its inbox.
    pub(crate) async fn order_end(&self, id: &SessionId, how: Ending) -> Result<Queued, HallError> {
        let root = self.open_root(id).await?;
        let order = Order::new(root, how.stimulus());
        let holder = self.journal().running(id).await?;
        self.put(id, &order, holder).await
    }

    /// Sends an instruction to a contract of a session. If no process runs the session, the instruction waits for a resume.
    /// Returns the process that runs the session now.
    pub async fn instruct(&self, id: &SessionId, to: &Path, what: Instruction) -> Result<Option<Holder>, HallError> {
        Ok(self.order(id, to, what).await?.holder)
    }

    /// Sends an instruction under a key, unless the key was used before in this session. Returns the number of the instruction,
    /// which is also the result of the request.
    pub async fn instruct_once(
        &self,
        id: &SessionId,
        to: &Path,
        what: Instruction,
        key: Option<RequestKey>,
    ) -> Result<u64, HallError> {
        let order = self.prepare_order(id, to, what).await?;
        Ok(self.journal().put_once(id, &order, unix_now(), key).await?)
    }

    pub(crate) async fn order(&self, id: &SessionId, to: &Path, what: Instruction) -> Result<Queued, HallError> {
        let order = self.prepare_order(id, to, what).await?;
        let holder = self.journal().running(id).await?;
        self.put(id, &order, holder).await
    }

    /// Returns the order for an instruction, if its contract can receive it.
    async fn prepare_order(&self, id: &SessionId, to: &Path, what: Instruction) -> Result<Order, HallError> {
        let root = self.open_root(id).await?;
        // A root that was requested opens soon.
        if *to != root && !self.is_open(id, to).await? {
            let Some(hirer) = self.hirer_of_queued(id, to).await? else {
                return Err(HallError::NotAtWork { session: id.clone(), contract: to.clone() });
            };
            match what {
                // A top-up stays with the hirer, which says so.
                Instruction::Money(_) | Instruction::Grant(_) => {}
                Instruction::Message(_) => {
                    return Err(HallError::Refused(Refusal::NotStarted { hire: to.clone() }));
                }
                Instruction::End(_) => {
                    return Ok(Order::new(hirer, Stimulus::DropHire { ordinal: to.ordinal() }));
                }
            }
        }
        // Money goes down from the root one level at a time. A message goes directly to its contract.
        match what {
            Instruction::Message(text) => {
                let text = self.redactor().text(TextKind::Message, &text);
                // The kernel ignores a longer message without an error.
                if text.of.bytes > MESSAGE_BYTES_MAX {
                    return Err(HallError::Refused(Refusal::MessageTooLong { bytes: text.of.bytes }));
                }
                let texts = vec![(text.of, text.says)];
                Ok(Order { texts, ..Order::new(to.clone(), Stimulus::Message(text.of)) })
            }
            Instruction::Money(money) => self.top_up_order(id, root, to, money, MoneySource::New).await,
            Instruction::Grant(money) => self.top_up_order(id, root, to, money, MoneySource::Free).await,
            Instruction::End(how) => Ok(Order::new(to.clone(), how.stimulus())),
        }
    }

    /// Returns the order for a top-up, if the account allows it.
    async fn top_up_order(
        &self,
        id: &SessionId,
        root: Path,
        to: &Path,
        money: Msat,
        source: MoneySource,
    ) -> Result<Order, HallError> {
        // The kernel ignores a top-up beyond all money there is, without an error.
        if !self.can_be_given(id, &root, money, source).await? {
            return Err(HallError::TooMuchMoney { session: id.clone(), asked: money });
        }
        Ok(Order { source, ..Order::new(root, Stimulus::TopUp { to: to.clone(), money, draw: None }) })
    }

    /// Returns the newest root of a session, unless that root has ended. This does not read the settings of the root, so that a
    /// session with unreadable settings can be stopped.
    async fn open_root(&self, id: &SessionId) -> Result<Path, HallError> {
        let root = self.root(id).await?;
        match self.journal().newest_fact(id, &root).await? {
            Some(Stored { fact: Fact::Closed(_), .. }) => Err(HallError::HasEnded(id.clone())),
            Some(_) | None => Ok(root),
        }
    }

    /// Returns the hirer of a hire that waits for money and has no contract yet.
    pub(crate) async fn hirer_of_queued(&self, id: &SessionId, hire: &Path) -> Result<Option<Path>, HallError> {
        let Some(hirer) = hire.hirer() else { return Ok(None) };
        let facts = self.journal().contract_facts(id, &hirer).await?;
        let waits = facts.iter().rev().find_map(|stored| match &stored.fact {
            Fact::Queued { ordinal, .. } if *ordinal == hire.ordinal() => Some(true),
            Fact::Refused { ordinal: Some(ordinal), .. } if *ordinal == hire.ordinal() => Some(false),
            Fact::Asked { ask: Ask::Hire { brief, .. }, .. } if brief.path == *hire => Some(false),
            Fact::Closed(_) => Some(false),
            Fact::Opened(_)
            | Fact::Asked { .. }
            | Fact::Answered { .. }
            | Fact::Queued { .. }
            | Fact::Refused { .. }
            | Fact::Raised { .. }
            | Fact::Heard { .. }
            | Fact::Waiting { .. }
            | Fact::Woke { .. }
            | Fact::Nudged(_)
            | Fact::Compacted { .. }
            | Fact::Closing(_) => None,
        });
        Ok(waits.unwrap_or(false).then_some(hirer))
    }

    /// Whether a contract is at work.
    async fn is_open(&self, id: &SessionId, contract: &Path) -> Result<bool, HallError> {
        let newest = self.journal().newest_fact(id, contract).await?;
        Ok(newest.is_some_and(|stored| !matches!(stored.fact, Fact::Closed(_))))
    }

    /// Returns the path of the newest root of a session.
    pub async fn root(&self, id: &SessionId) -> Result<Path, HallError> {
        Ok(newest_request(self.journal(), id).await?.root)
    }

    /// Whether a root can hold this money in addition to the top-ups that wait in its inbox. It is an error if the session does not
    /// have this much free money.
    async fn can_be_given(
        &self,
        id: &SessionId,
        root: &Path,
        money: Msat,
        source: MoneySource,
    ) -> Result<bool, HallError> {
        // The inbox is read first: an order that is executed in between is counted twice, and never left out.
        let waiting = self.journal().take_after(id, 0).await?;
        let mut account = account(self.journal(), id).await?;
        let kind = account.kind().clone();
        let top_up = |money, source: MoneySource| source.top_up(&kind, root.clone(), money);
        for command in waiting {
            // An order that can't be read, or that is itself too much, will have no effect, so it does not count.
            if let Ok(Order { what: Stimulus::TopUp { money, .. }, source, .. }) = Order::deserialize(&command.command)
            {
                account.apply(&top_up(money, source)).ok();
            }
        }
        match account.apply(&top_up(money, source)) {
            Err(SessionError::BeyondSupply) => Ok(false),
            Err(why @ SessionError::Overdrawn { .. }) => Err(why.into()),
            Ok(()) | Err(_) => Ok(true),
        }
    }

    /// Hires an agent in the background without a model's decision. The hirer is a contract of the session, by default its root.
    /// The hirer receives the report like the report of any hire. The agent must be in the team of the hirer.
    pub async fn hire(
        &self,
        id: &SessionId,
        hirer: Option<&Path>,
        agent: &AgentName,
        task: &str,
        budget: Option<Msat>,
    ) -> Result<OrderedHire, HallError> {
        self.open_root(id).await?;
        let root = newest_root(self.journal(), id).await?;
        let brief = match hirer.filter(|hirer| **hirer != root.path) {
            None => Arc::clone(&root.setup.brief),
            Some(hirer) => self.brief(id, hirer).await?,
        };
        let table = self.table(id, &root.setup.staffing)?;
        // A hirer that can't be set up has no team.
        let env = table.env(&brief).ok();
        let team = env.as_ref().and_then(|env| env.runtime.profile.team().map(Arc::as_ref));
        let offer = team.and_then(|team| team.offer(agent, task, budget, &brief, self.redactor()));
        let Some((offer, texts)) = offer else {
            let known: Vec<String> =
                team.iter().flat_map(|team| &team.workers).map(|worker| worker.name.to_string()).collect();
            let known = if known.is_empty() { "nobody".to_owned() } else { known.join(", ") };
            return Err(HallError::NotInTeam { hirer: brief.path.clone(), agent: agent.clone(), known });
        };
        let texts = texts.into_iter().map(|text| (text.of, text.says)).collect();
        let order = Order { texts, ..Order::new(brief.path.clone(), Stimulus::Hire(Box::new(offer))) };
        let holder = self.journal().running(id).await?;
        let queued = self.put(id, &order, holder).await?;
        self.wait_for_hire(id, &brief.path, queued).await
    }

    /// Returns the brief of a contract that is at work.
    async fn brief(&self, id: &SessionId, contract: &Path) -> Result<Arc<Brief>, HallError> {
        let (first, newest) = (self.journal().first_fact(id, contract), self.journal().newest_fact(id, contract));
        match (first.await?.map(|stored| stored.fact), newest.await?.map(|stored| stored.fact)) {
            (Some(Fact::Opened(brief)), Some(newest)) if !matches!(newest, Fact::Closed(_)) => Ok(brief),
            (_, _) => Err(HallError::NotAtWork { session: id.clone(), contract: contract.clone() }),
        }
    }

    /// Waits until an order to hire was read, if a process runs the session.
    async fn wait_for_hire(&self, id: &SessionId, hirer: &Path, queued: Queued) -> Result<OrderedHire, HallError> {
        let cause = Cause::Stimulus(Sender::Owner { command: queued.number });
        let looks = READ_WITHIN.as_millis() / LOOK_AGAIN.as_millis();
        for _ in 0..if queued.holder.is_some() { looks } else { 0 } {
            let facts = self.journal().contract_facts(id, hirer).await?;
            let caused: Vec<&Stored> = facts.iter().filter(|stored| stored.cause == cause).collect();
            if let Some(hire) = hire_result(&caused) {
                return Ok(hire);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(OrderedHire::Waits(queued.holder))
    }

    async fn put(&self, id: &SessionId, order: &Order, holder: Option<Holder>) -> Result<Queued, HallError> {
        Ok(Queued { number: self.journal().put(id, order, unix_now()).await?, holder })
    }
}

/// The result of an ordered hire, from the facts that the order caused. In the same step, other hires that waited may have begun
/// or been refused, and a hire that had to wait may begin or be refused itself.
fn hire_result(caused: &[&Stored]) -> Option<OrderedHire> {
    let (at, placed) = caused.iter().enumerate().find_map(|(at, stored)| Some((at, placed(stored)?)))?;
    let OrderedHire::WaitsForMoney { contract } = &placed else { return Some(placed) };
    let later = caused[at + 1..].iter().find_map(|stored| {
        if let Fact::Refused { ordinal: Some(ordinal), why, .. } = &stored.fact {
            return (stored.contract.hire(*ordinal) == *contract).then(|| OrderedHire::Refused(why.clone()));
        }
        let is_own =
            |hire: &OrderedHire| matches!(hire, OrderedHire::Hired { contract: began, .. } if began == contract);
        hired(&stored.fact).filter(is_own)
    });
    later.or(Some(placed))
}

/// Where a fact places a hire that was ordered from outside.
fn placed(stored: &Stored) -> Option<OrderedHire> {
    if let Fact::Queued { origin: Origin::Outside, ordinal, .. } = &stored.fact {
        return Some(OrderedHire::WaitsForMoney { contract: stored.contract.hire(*ordinal) });
    }
    if let Fact::Refused { origin: Origin::Outside, ordinal: None, why, .. } = &stored.fact {
        return Some(OrderedHire::Refused(why.clone()));
    }
    if let Fact::Asked { origin: Origin::Outside, .. } = &stored.fact { hired(&stored.fact) } else { None }
}

fn hired(fact: &Fact) -> Option<OrderedHire> {
    let (_, Ask::Hire { brief, .. }) = fact.asked()? else { return None };
    Some(OrderedHire::Hired { contract: brief.path.clone(), money: brief.grant.money })
}
