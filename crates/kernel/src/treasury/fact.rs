//! The facts of the treasury, and why a fact is refused.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Network;
use crate::money::Msat;
use crate::name::{PayeeName, WalletId};
use crate::path::Path;
use crate::session_id::SessionId;
use crate::text::{Hash, TextRef};
use crate::time::UnixMs;

/// The hash that identifies a Lightning payment: the SHA-256 of its preimage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PaymentHash(pub Hash);

impl fmt::Display for PaymentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The secret that the payee reveals when it takes a payment. Who has it can prove that the payment was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Preimage(pub Hash);

impl fmt::Display for Preimage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The account that a payment is taken from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payer {
    /// A session: a refund that a person asked for.
    Session(SessionId),
    /// A payee: the fees that it has earned.
    Payee(PayeeName),
}

impl fmt::Display for Payer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Payer::Session(session) => write!(f, "session {session}"),
            Payer::Payee(payee) => write!(f, "payee {payee}"),
        }
    }
}

/// Why a payment failed. Each reason proves that the payment will never be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedBecause {
    /// The wallet refused the first request.
    Refused,
    /// The invoice expired, and the wallet did not pay it.
    Expired,
    /// A person said so.
    Person,
}

/// Something that happened to the hall's money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreasuryFact {
    /// The hall uses this wallet. It can be stored again with another address of the same wallet.
    Connected {
        /// The wallet.
        wallet: WalletId,
        /// Its network.
        network: Network,
        /// The address of its server.
        url: TextRef,
    },
    /// A person allowed or stopped payments to payees.
    Payouts {
        /// Whether payees are paid.
        allowed: bool,
    },
    /// The wallet made an invoice for a session. Stored before anyone sees the invoice.
    Invoiced {
        /// The payment.
        payment: PaymentHash,
        /// The session that gets the money.
        session: SessionId,
        /// The amount.
        money: Msat,
        /// When the invoice expires. A later payment counts, too.
        expires: UnixMs,
        /// The invoice.
        invoice: TextRef,
    },
    /// The wallet has the money of an invoice. Stored with the `Funded` of its session.
    Received {
        /// The payment.
        payment: PaymentHash,
    },
    /// A payee earned the fee of an accepted report. Stored with the report.
    Earned {
        /// The payee.
        payee: PayeeName,
        /// The session.
        session: SessionId,
        /// The contract that reported.
        contract: Path,
        /// The fee.
        money: Msat,
    },
    /// A payment was decided, and its money set aside. Stored with the `Withdrawing` of its session, if a session pays.
    Wanted {
        /// The payment.
        payment: PaymentHash,
        /// The account that pays.
        from: Payer,
        /// The amount.
        money: Msat,
        /// The most that the payment may cost besides its amount.
        fee_max: Msat,
        /// When the invoice expires.
        expires: UnixMs,
        /// The invoice.
        invoice: TextRef,
    },
    /// A request to pay is about to leave.
    Sending {
        /// The payment.
        payment: PaymentHash,
        /// How many requests there are with this one.
        attempt: u32,
    },
    /// The payment was made, and there is proof. Stored with the `Withdrawn` of its session, if a session pays.
    Settled {
        /// The payment.
        payment: PaymentHash,
        /// The routing fee. What exceeds the limit is paid by the house.
        fee: Msat,
        /// The proof.
        preimage: Preimage,
    },
    /// The payment will never be made. Stored with the `Withdrawn` of its session, if a session pays.
    Failed {
        /// The payment.
        payment: PaymentHash,
        /// The reason.
        why: FailedBecause,
    },
    /// The wallet made a payment that this hall does not know: the journal is an old backup, or somebody else uses the wallet.
    /// Nothing is paid until a person has accepted the payment.
    Frozen {
        /// The payment.
        payment: PaymentHash,
    },
    /// A person knows what a payment was that this hall does not know, and accepts it.
    Accepted {
        /// The payment.
        payment: PaymentHash,
    },
}

impl TreasuryFact {
    /// Returns the payment that this fact names for the first time.
    pub fn introduces(&self) -> Option<PaymentHash> {
        match self {
            TreasuryFact::Invoiced { payment, .. }
            | TreasuryFact::Wanted { payment, .. }
            | TreasuryFact::Frozen { payment } => Some(*payment),
            TreasuryFact::Connected { .. }
            | TreasuryFact::Payouts { .. }
            | TreasuryFact::Received { .. }
            | TreasuryFact::Earned { .. }
            | TreasuryFact::Sending { .. }
            | TreasuryFact::Settled { .. }
            | TreasuryFact::Failed { .. }
            | TreasuryFact::Accepted { .. } => None,
        }
    }

    /// Whether only the process that asks the wallet may store this fact.
    pub fn needs_lease(&self) -> bool {
        match self {
            TreasuryFact::Received { .. }
            | TreasuryFact::Sending { .. }
            | TreasuryFact::Settled { .. }
            | TreasuryFact::Failed { .. }
            | TreasuryFact::Frozen { .. }
            // Two processes that pay payees would exceed the limit of a day together.
            | TreasuryFact::Wanted { from: Payer::Payee(_), .. } => true,
            TreasuryFact::Connected { .. }
            | TreasuryFact::Payouts { .. }
            | TreasuryFact::Invoiced { .. }
            | TreasuryFact::Earned { .. }
            | TreasuryFact::Wanted { from: Payer::Session(_), .. }
            | TreasuryFact::Accepted { .. } => false,
        }
    }
}

/// Why the treasury can't take a fact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreasuryError {
    /// No wallet is connected.
    #[error("no wallet is connected: run `guildhall wallet connect URL`")]
    NotConnected,
    /// The hall has another wallet.
    #[error("this hall has the wallet {connected}, and its sessions keep that wallet: use another GUILDHALL_HOME")]
    OtherWallet {
        /// The wallet of the hall.
        connected: WalletId,
    },
    /// A payment hash is used once.
    #[error("payment {payment} exists already, and an invoice is used once: see `guildhall payments`")]
    KnownPayment {
        /// The payment.
        payment: PaymentHash,
    },
    /// There is no such payment, or it has ended.
    #[error("payment {payment} does not exist, or has ended")]
    NotUnderWay {
        /// The payment.
        payment: PaymentHash,
    },
    /// The payment is not one that a person must accept.
    #[error("payment {payment} is not one of the payments that wait to be accepted: see `guildhall wallet`")]
    NotFrozen {
        /// The payment.
        payment: PaymentHash,
    },
    /// A contract earns its fee once.
    #[error("the fee of contract {contract} of session {session} was earned before")]
    EarnedBefore {
        /// The session.
        session: SessionId,
        /// The contract.
        contract: Path,
    },
    /// The payee does not have enough money.
    #[error("{asked} was asked for, but payee {payee} is owed only {owed}")]
    Overdrawn {
        /// The payee.
        payee: PayeeName,
        /// The amount with its fee limit.
        asked: Msat,
        /// What the payee is owed.
        owed: Msat,
    },
    /// An account has one payment under way at a time.
    #[error("payment {payment} of {from} is still under way: wait until it ends")]
    StillPaying {
        /// The account.
        from: Payer,
        /// The payment.
        payment: PaymentHash,
    },
    /// Requests to pay are counted, and a refused request proves something only if it was the first.
    #[error("payment {payment} has {sent} requests: this does not follow")]
    WrongAttempt {
        /// The payment.
        payment: PaymentHash,
        /// How many requests were sent.
        sent: u32,
    },
    /// The invoice of a payment is still valid.
    #[error("the invoice of payment {payment} has not expired: it can still be paid")]
    NotExpired {
        /// The payment.
        payment: PaymentHash,
    },
    /// A person has stopped payments, or the wallet made a payment that this hall does not know.
    #[error("payments are stopped: see `guildhall payments`")]
    PaymentsStopped,
    /// An amount is zero.
    #[error("the amount is 0")]
    Nothing,
    /// A sum exceeds the supply of bitcoin.
    #[error("the sum would exceed 21 million BTC")]
    BeyondSupply,
}

/// A fact of the treasury's journal that can't have happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fact {} of the treasury can't have happened: {source}", .index + 1)]
pub struct TreasuryCorrupt {
    /// The fact's place, counted from 0.
    pub index: usize,
    /// The reason.
    pub source: TreasuryError,
}
