//! The session: a funded account with one root contract per request, and later corrections. Its state is a fold of its
//! own facts. A session has play money, which a stated budget creates, or the money of a wallet, which enters only by a paid
//! invoice. A session never changes from one kind to the other.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::money::{Msat, Quantity};
use crate::name::WalletId;
use crate::path::{AskKey, Path};
use crate::text::TextRef;
use crate::treasury::PaymentHash;

/// The version of the stored form of an account's facts. This kernel writes and reads no other form.
pub const ACCOUNT_FORMAT: u16 = 5;

/// Something that happened to a session's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionFact {
    /// The session has the money of a wallet. This is its first fact. A session without this fact has play money.
    Opened {
        /// The wallet.
        wallet: WalletId,
    },
    /// A person added money: for the session, or, in play money, as a top-up for a root that is at work.
    Funded {
        /// The amount.
        money: Msat,
        /// The root that gets the money immediately. Never present with a payment.
        root: Option<Path>,
        /// The payment that the wallet received. Absent in play money.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payment: Option<PaymentHash>,
    },
    /// A root that is at work got more of the session's free money.
    Granted {
        /// The root.
        root: Path,
        /// The amount.
        money: Msat,
    },
    /// Free money was set aside for a payment out of the wallet.
    Withdrawing {
        /// The payment.
        payment: PaymentHash,
        /// Its amount and its fee limit.
        money: Msat,
    },
    /// The payment ended; the money that it did not use is free again.
    Withdrawn {
        /// The payment.
        payment: PaymentHash,
        /// What it cost, with its fee. Zero if it failed.
        spent: Msat,
    },
    /// A person took free play money out of the session.
    Returned {
        /// The amount.
        money: Msat,
    },
    /// A root contract was granted part of the money.
    Requested {
        /// The root; roots are numbered in order.
        root: Path,
        /// Its grant.
        money: Msat,
        /// The price table and the rate, locked for this root.
        prices: TextRef,
    },
    /// A person learned that an ask had cost less than its charge: the difference goes back to the session.
    Corrected {
        /// The ask.
        ask: AskKey,
        /// The difference.
        credit: Msat,
    },
    /// A root contract closed; its change went back to the session.
    Ended {
        /// The root.
        root: Path,
        /// The money that the root spent.
        spent: Msat,
        /// The part of `spent` that may not have been billed.
        reserved: Msat,
        /// The part of `spent` that is an upper bound.
        estimated: Msat,
    },
}

/// The kind of money that a session has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionKind {
    /// Play money: a stated budget creates it.
    #[default]
    Play,
    /// The money of a wallet: it enters only by a paid invoice.
    Wallet(WalletId),
}

/// Why a session's account can't take a fact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The session does not have enough money.
    #[error("{asked} was asked for, but only {free} is left in the session: add money to the session, or grant less")]
    Overdrawn {
        /// The requested amount.
        asked: Msat,
        /// The amount that is left.
        free: Msat,
    },
    /// The sum exceeds the supply of bitcoin.
    #[error("the sum would exceed 21 million BTC: fund the session with less")]
    BeyondSupply,
    /// Roots are numbered in order, and end once.
    #[error("root {root} does not exist, or has ended")]
    NotThisRoot {
        /// The root that was named.
        root: Path,
    },
    /// A root can't spend more than its grant, and a credit can't be more than the root could have spent.
    #[error("{claimed} is more than the {most} that was available")]
    Impossible {
        /// The claimed amount.
        claimed: Msat,
        /// The maximum amount.
        most: Msat,
    },
    /// Only the first fact says that the session has the money of a wallet.
    #[error("the session has begun: it keeps the kind of money that it has")]
    HasBegun,
    /// Play money can't be paid in or out, and money of a wallet can't be created.
    #[error("{}", if *.wallet { "in a session with the money of a wallet, money enters only by a paid invoice" } else {
        "a session with play money has no payments" })]
    OtherKind {
        /// Whether the session has the money of a wallet.
        wallet: bool,
    },
    /// The payment was received before, or is not the payment that money was set aside for.
    #[error("payment {payment} was counted before, or no money is set aside for it")]
    NotThisPayment {
        /// The payment.
        payment: PaymentHash,
    },
    /// A session has one payment under way at a time.
    #[error("payment {payment} of this session is still under way: wait until it ends")]
    StillPaying {
        /// The payment that is under way.
        payment: PaymentHash,
    },
    /// The ask was corrected before, by a different amount.
    #[error("ask {ask} was corrected before, by {before}")]
    Contradicted {
        /// The ask.
        ask: AskKey,
        /// The earlier amount.
        before: Msat,
    },
}

/// A fact of a session's journal that can't have happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fact {} of the session's account can't have happened: {source}", .index + 1)]
pub struct SessionCorrupt {
    /// The fact's place, counted from 0.
    pub index: usize,
    /// The reason.
    pub source: SessionError,
}

/// A session's account: `funded + credited = free + granted to roots at work + spent + set aside + withdrawn`.
///
/// ```
/// use guildhall_kernel::{Hash, Msat, Path, Session, SessionFact, TextKind, TextRef};
/// let prices = TextRef { hash: Hash([0; 32]), bytes: 0, kind: TextKind::Prices };
/// let sat = |sat| Msat::from_sat(sat).unwrap();
/// let session = Session::restore([
///     SessionFact::Funded { money: sat(100), root: None, payment: None },
///     SessionFact::Requested { root: Path::root(1), money: sat(60), prices },
///     SessionFact::Ended { root: Path::root(1), spent: sat(25), reserved: sat(5), estimated: Msat::ZERO },
/// ]).unwrap();
/// assert_eq!((session.free(), session.reserved()), (sat(75), sat(5)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    kind: SessionKind,
    has_begun: bool,
    free: Msat,
    spent: Msat,
    reserved: Msat,
    estimated: Msat,
    credited: Msat,
    /// All roots, in order.
    roots: Vec<Root>,
    /// The credit of each corrected ask. The same correction twice counts once.
    corrections: BTreeMap<AskKey, Msat>,
    /// All payments, in and out. A payment is used once.
    payments: BTreeSet<PaymentHash>,
    /// The payment that is under way, with the money that is set aside for it.
    withdrawing: Option<(PaymentHash, Msat)>,
    withdrawn: Msat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Root {
    /// While the root is at work: the most that it may spend. After it ended: what it spent.
    most: Msat,
    /// The most that corrections may return: everything that the root may spend, until the root ends and says how much
    /// is reserved.
    correctable: Msat,
    credited: Msat,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    AtWork,
    Ended,
}

impl Session {
    /// Restores a session from its stored facts.
    pub fn restore(facts: impl IntoIterator<Item = SessionFact>) -> Result<Session, SessionCorrupt> {
        let mut session = Session::default();
        for (index, fact) in facts.into_iter().enumerate() {
            session.apply(&fact).map_err(|source| SessionCorrupt { index, source })?;
        }
        Ok(session)
    }

    /// Applies one fact, or says why the fact can't have happened. A refused fact changes nothing.
    pub fn apply(&mut self, fact: &SessionFact) -> Result<(), SessionError> {
        self.take(fact)?;
        self.has_begun = true;
        Ok(())
    }

    fn take(&mut self, fact: &SessionFact) -> Result<(), SessionError> {
        match fact {
            SessionFact::Opened { wallet } => self.open(wallet),
            SessionFact::Funded { money, root, payment: None } => {
                self.require_kind(false)?;
                self.fund(*money, root.as_ref())
            }
            SessionFact::Funded { money, root, payment: Some(payment) } => {
                self.require_kind(true)?;
                if root.is_some() || self.payments.contains(payment) {
                    return Err(SessionError::NotThisPayment { payment: *payment });
                }
                self.fund(*money, None)?;
                self.payments.insert(*payment);
                Ok(())
            }
            SessionFact::Granted { root, money } => self.grant(root, *money),
            SessionFact::Withdrawing { payment, money } => self.set_aside(*payment, *money),
            SessionFact::Withdrawn { payment, spent } => self.withdraw(*payment, *spent),
            SessionFact::Returned { money } => self.give_back(*money),
            SessionFact::Requested { root, money, .. } => self.request(root, *money),
            SessionFact::Corrected { ask, credit } => self.correct(ask, *credit),
            SessionFact::Ended { root, spent, reserved, estimated } => self.end(root, *spent, *reserved, *estimated),
        }
    }

    /// Returns the kind of money that the session has.
    pub fn kind(&self) -> &SessionKind {
        &self.kind
    }

    /// Returns the payment that is under way, with the money that is set aside for it.
    pub fn withdrawing(&self) -> Option<(PaymentHash, Msat)> {
        self.withdrawing
    }

    /// Returns the money that was paid out, with the fees of the payments, or that went back in play money.
    pub fn withdrawn(&self) -> Msat {
        self.withdrawn
    }

    /// Returns the most that the roots at work may spend.
    pub fn at_work(&self) -> Msat {
        let most = self.roots.iter().filter(|root| root.stage == Stage::AtWork).map(|root| root.most);
        most.fold(Msat::ZERO, |sum, most| sum.plus(most).unwrap_or(Msat::SUPPLY))
    }

    /// Returns all money that is not spent: free, granted to roots at work, and set aside for a payment.
    pub fn unspent(&self) -> Msat {
        let aside = self.withdrawing.map_or(Msat::ZERO, |(_, money)| money);
        [self.free, self.at_work(), aside]
            .into_iter()
            .fold(Msat::ZERO, |sum, part| sum.plus(part).unwrap_or(Msat::SUPPLY))
    }

    /// Returns the money that no root has been granted.
    pub fn free(&self) -> Msat {
        self.free
    }

    /// Returns the money that ended roots have spent, before corrections.
    pub fn spent(&self) -> Msat {
        self.spent
    }

    /// Returns the part of the spent money that may not have been billed, before corrections.
    pub fn reserved(&self) -> Msat {
        self.reserved
    }

    /// Returns the part of the spent money that is an upper bound.
    pub fn estimated(&self) -> Msat {
        self.estimated
    }

    /// Returns the money that corrections gave back: the money reserved for the corrected calls minus the cost of those calls.
    pub fn credited(&self) -> Msat {
        self.credited
    }

    /// Returns the path of the next root.
    pub fn next_root(&self) -> Path {
        Path::root(u32::try_from(self.roots.len()).map_or(u32::MAX, |roots| roots.saturating_add(1)))
    }

    /// Returns whether the session had this root and the root has ended.
    pub fn has_ended(&self, root: &Path) -> bool {
        self.stage(root) == Some(Stage::Ended)
    }

    /// Returns whether the session has this root and the root has not ended.
    pub fn is_at_work(&self, root: &Path) -> bool {
        self.stage(root) == Some(Stage::AtWork)
    }

    fn stage(&self, root: &Path) -> Option<Stage> {
        let place = usize::try_from(root.ordinal()).ok().and_then(|ordinal| ordinal.checked_sub(1));
        let found = place.and_then(|place| self.roots.get(place)).filter(|_| root.level() == 0);
        found.map(|root| root.stage)
    }

    fn open(&mut self, wallet: &WalletId) -> Result<(), SessionError> {
        if self.has_begun {
            return Err(SessionError::HasBegun);
        }
        self.kind = SessionKind::Wallet(wallet.clone());
        Ok(())
    }

    fn require_kind(&self, wallet: bool) -> Result<(), SessionError> {
        let has_wallet = matches!(self.kind, SessionKind::Wallet(_));
        if has_wallet == wallet { Ok(()) } else { Err(SessionError::OtherKind { wallet: has_wallet }) }
    }

    fn fund(&mut self, money: Msat, root: Option<&Path>) -> Result<(), SessionError> {
        let at_work = self.roots.iter().filter(|root| root.stage == Stage::AtWork).map(|root| root.most);
        let aside = self.withdrawing.map_or(Msat::ZERO, |(_, money)| money);
        let held = at_work.chain([aside]).try_fold(self.free, Msat::plus).and_then(|sum| sum.plus(money));
        held.ok_or(SessionError::BeyondSupply)?;
        match root {
            None => self.free = self.free.plus(money).ok_or(SessionError::BeyondSupply)?,
            Some(root) => self.raise(root, money)?,
        }
        Ok(())
    }

    /// Gives a root at work more money.
    fn raise(&mut self, root: &Path, money: Msat) -> Result<(), SessionError> {
        let root = self.root_at_work(root)?;
        root.most = root.most.plus(money).ok_or(SessionError::BeyondSupply)?;
        root.correctable = root.most;
        Ok(())
    }

    fn grant(&mut self, root: &Path, money: Msat) -> Result<(), SessionError> {
        let free = self.free.minus(money).ok_or(SessionError::Overdrawn { asked: money, free: self.free })?;
        self.raise(root, money)?;
        self.free = free;
        Ok(())
    }

    fn set_aside(&mut self, payment: PaymentHash, money: Msat) -> Result<(), SessionError> {
        self.require_kind(true)?;
        if let Some((payment, _)) = self.withdrawing {
            return Err(SessionError::StillPaying { payment });
        }
        if self.payments.contains(&payment) {
            return Err(SessionError::NotThisPayment { payment });
        }
        self.free = self.free.minus(money).ok_or(SessionError::Overdrawn { asked: money, free: self.free })?;
        self.payments.insert(payment);
        self.withdrawing = Some((payment, money));
        Ok(())
    }

    fn withdraw(&mut self, payment: PaymentHash, spent: Msat) -> Result<(), SessionError> {
        let aside = self.withdrawing.filter(|(of, _)| *of == payment);
        let (_, most) = aside.ok_or(SessionError::NotThisPayment { payment })?;
        let change = most.minus(spent).ok_or(SessionError::Impossible { claimed: spent, most })?;
        let sum = |before: Msat, more: Msat| before.plus(more).ok_or(SessionError::BeyondSupply);
        (self.free, self.withdrawn) = (sum(self.free, change)?, sum(self.withdrawn, spent)?);
        self.withdrawing = None;
        Ok(())
    }

    fn give_back(&mut self, money: Msat) -> Result<(), SessionError> {
        self.require_kind(false)?;
        let free = self.free.minus(money).ok_or(SessionError::Overdrawn { asked: money, free: self.free })?;
        self.withdrawn = self.withdrawn.plus(money).ok_or(SessionError::BeyondSupply)?;
        self.free = free;
        Ok(())
    }

    fn request(&mut self, root: &Path, money: Msat) -> Result<(), SessionError> {
        if *root != self.next_root() {
            return Err(SessionError::NotThisRoot { root: root.clone() });
        }
        self.free = self.free.minus(money).ok_or(SessionError::Overdrawn { asked: money, free: self.free })?;
        self.roots.push(Root { most: money, correctable: money, credited: Msat::ZERO, stage: Stage::AtWork });
        Ok(())
    }

    fn correct(&mut self, ask: &AskKey, credit: Msat) -> Result<(), SessionError> {
        match self.corrections.get(ask) {
            Some(before) if *before == credit => return Ok(()),
            Some(before) => return Err(SessionError::Contradicted { ask: ask.clone(), before: *before }),
            None => {}
        }
        let root = self.root(&ask.contract.top())?;
        let most = root.correctable.minus(root.credited).unwrap_or(Msat::ZERO);
        if credit > most {
            return Err(SessionError::Impossible { claimed: credit, most });
        }
        let of_root = root.credited.plus(credit).ok_or(SessionError::BeyondSupply)?;
        let free = self.free.plus(credit).ok_or(SessionError::BeyondSupply)?;
        let credited = self.credited.plus(credit).ok_or(SessionError::BeyondSupply)?;
        self.root(&ask.contract.top())?.credited = of_root;
        (self.free, self.credited) = (free, credited);
        self.corrections.insert(ask.clone(), credit);
        Ok(())
    }

    fn end(&mut self, root: &Path, spent: Msat, reserved: Msat, estimated: Msat) -> Result<(), SessionError> {
        let Root { most, credited, .. } = *self.root_at_work(root)?;
        let change = most.minus(spent).ok_or(SessionError::Impossible { claimed: spent, most })?;
        let correctable = reserved.max(credited);
        let uncertain = reserved.plus(estimated).ok_or(SessionError::BeyondSupply)?;
        for (claimed, most) in [(uncertain, spent), (credited, spent)] {
            if claimed > most {
                return Err(SessionError::Impossible { claimed, most });
            }
        }
        let sum = |before: Msat, more: Msat| before.plus(more).ok_or(SessionError::BeyondSupply);
        let (free, all_spent) = (sum(self.free, change)?, sum(self.spent, spent)?);
        let all_reserved = sum(self.reserved, reserved)?;
        let all_estimated = sum(self.estimated, estimated)?;
        *self.root_at_work(root)? = Root { most: spent, correctable, credited, stage: Stage::Ended };
        (self.free, self.spent, self.reserved, self.estimated) = (free, all_spent, all_reserved, all_estimated);
        Ok(())
    }

    fn root(&mut self, root: &Path) -> Result<&mut Root, SessionError> {
        let place = usize::try_from(root.ordinal()).unwrap_or(usize::MAX) - 1;
        let found = if root.level() == 0 { self.roots.get_mut(place) } else { None };
        found.ok_or(SessionError::NotThisRoot { root: root.clone() })
    }

    fn root_at_work(&mut self, root: &Path) -> Result<&mut Root, SessionError> {
        match self.root(root)? {
            found if found.stage == Stage::AtWork => Ok(found),
            _ended => Err(SessionError::NotThisRoot { root: root.clone() }),
        }
    }
}
