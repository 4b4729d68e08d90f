//! The names of everything that a schedule of payments can reach, and of facts in a history.

use guildhall_kernel::{
    Errand, FailedBecause, InvoiceError, Payer, SessionError, TreasuryError, TreasuryFact, WalletReply,
};

use super::journal::Refused;
use crate::reach::Reach;

/// Everything that schedules of payments must reach. Counting an unlisted name panics.
const ALL: &[&str] = &[
    "fact connected",
    "fact payouts",
    "fact invoiced",
    "fact received",
    "fact earned",
    "fact wanted",
    "fact wanted by a session",
    "fact wanted by a payee",
    "fact sending",
    "fact sending again",
    "fact settled",
    "fact failed",
    "fact frozen",
    "fact accepted",
    "failed refused",
    "failed expired",
    "failed person",
    "errand list",
    "errand look up",
    "errand send",
    "errand ask payee",
    "reply listed",
    "reply found",
    "reply not found",
    "reply refused",
    "reply invoice",
    "reply unclear",
    "lie unclear",
    "lie pending",
    "lie wrong amount",
    "lie wrong preimage",
    "lie no preimage",
    "lie row of another wallet",
    "lie positive amount",
    "lie row of another payment",
    "lie failed",
    "lie not found",
    "lie about our invoice",
    "lie in the list",
    "wallet failed, then paid",
    "wallet request repeated",
    "wallet refused a request",
    "wallet refused a request after an earlier one",
    "wallet refused while a request is on its way",
    "wallet paid after the end of the invoice",
    "wallet paid, and reports failed",
    "wallet pending for ever",
    "wallet forgot a request",
    "wallet looked up while a request is on its way",
    "wallet shared",
    "invoice not connected",
    "invoice without amount",
    "invoice other amount",
    "invoice fractional",
    "invoice expired",
    "invoice too long",
    "invoice other network",
    "invoice ours",
    "invoice used",
    "invoice too much",
    "invoice paid in time",
    "invoice paid late",
    "invoice paid twice",
    "batch refused without lease",
    "batch refused known payment",
    "batch refused not under way",
    "batch refused still paying",
    "batch refused overdrawn payee",
    "batch refused wrong attempt",
    "batch refused stopped",
    "batch refused not expired",
    "batch refused fee earned before",
    "batch refused for another reason",
    "batch refused by a session",
    "killed before the reply to a request",
    "killed after the reply to a request",
    "killed before a fact is stored",
    "killed before a request leaves",
    "killed before a question",
    "killed at rest",
    "process without the key that can pay",
    "process ends without its lease",
    "process begins again after a refusal",
    "two processes",
    "request without a reply",
    "late request arrives",
    "reply lost",
    "reply doubled",
    "person's facts stored later",
    "person asks twice at once",
    "person resolves a payment",
    "journal replaced by a backup",
    "clock goes back",
    "clock jumps",
    "end pending for ever",
];

/// What no schedule can reach, with the reason.
const UNREACHABLE: &[(&str, &str)] = &[
    ("invoice not connected", "every hall of a schedule has a wallet"),
    ("batch refused wrong attempt", "only the process with the lease counts requests; see the named example"),
    ("batch refused overdrawn payee", "only the process with the lease pays payees; see the named example"),
    ("batch refused for another reason", "the schedules make no batch that is wrong in itself"),
];

pub(super) fn reach() -> Reach {
    Reach::listing(ALL, UNREACHABLE)
}

pub(super) fn count_fact(reach: &mut Reach, fact: &TreasuryFact) {
    match fact {
        TreasuryFact::Connected { .. } => reach.count("fact connected"),
        TreasuryFact::Payouts { .. } => reach.count("fact payouts"),
        TreasuryFact::Invoiced { .. } => reach.count("fact invoiced"),
        TreasuryFact::Received { .. } => reach.count("fact received"),
        TreasuryFact::Earned { .. } => reach.count("fact earned"),
        TreasuryFact::Wanted { from, .. } => {
            reach.count("fact wanted");
            reach.count(match from {
                Payer::Session(_) => "fact wanted by a session",
                Payer::Payee(_) => "fact wanted by a payee",
            });
        }
        TreasuryFact::Sending { attempt, .. } => {
            reach.count("fact sending");
            if *attempt > 1 {
                reach.count("fact sending again");
            }
        }
        TreasuryFact::Settled { .. } => reach.count("fact settled"),
        TreasuryFact::Failed { why, .. } => {
            reach.count("fact failed");
            reach.count(match why {
                FailedBecause::Refused => "failed refused",
                FailedBecause::Expired => "failed expired",
                FailedBecause::Person => "failed person",
            });
        }
        TreasuryFact::Frozen { .. } => reach.count("fact frozen"),
        TreasuryFact::Accepted { .. } => reach.count("fact accepted"),
    }
}

pub(super) fn errand(errand: &Errand) -> &'static str {
    match errand {
        Errand::List { .. } => "errand list",
        Errand::LookUp { .. } => "errand look up",
        Errand::Send { .. } => "errand send",
        Errand::AskPayee { .. } => "errand ask payee",
    }
}

pub(super) fn reply(reply: &WalletReply) -> &'static str {
    match reply {
        WalletReply::Listed(_) => "reply listed",
        WalletReply::Found(_) => "reply found",
        WalletReply::NotFound => "reply not found",
        WalletReply::Refused => "reply refused",
        WalletReply::Invoice(_) => "reply invoice",
        WalletReply::Unclear => "reply unclear",
    }
}

pub(super) fn invoice_error(why: &InvoiceError) -> &'static str {
    match why {
        InvoiceError::NotConnected => "invoice not connected",
        InvoiceError::NoAmount => "invoice without amount",
        InvoiceError::OtherAmount { .. } => "invoice other amount",
        InvoiceError::Fractional { .. } => "invoice fractional",
        InvoiceError::Expired => "invoice expired",
        InvoiceError::TooLong => "invoice too long",
        InvoiceError::OtherNetwork { .. } => "invoice other network",
        InvoiceError::Ours => "invoice ours",
        InvoiceError::Used => "invoice used",
        InvoiceError::TooMuch { .. } => "invoice too much",
    }
}

pub(super) fn refused(why: &Refused) -> &'static str {
    match why {
        Refused::NotLeased => "batch refused without lease",
        Refused::Treasury(TreasuryError::KnownPayment { .. }) => "batch refused known payment",
        Refused::Treasury(TreasuryError::NotUnderWay { .. }) => "batch refused not under way",
        Refused::Treasury(TreasuryError::StillPaying { .. }) => "batch refused still paying",
        Refused::Treasury(TreasuryError::Overdrawn { .. }) => "batch refused overdrawn payee",
        Refused::Treasury(TreasuryError::EarnedBefore { .. }) => "batch refused fee earned before",
        Refused::Treasury(TreasuryError::NotExpired { .. }) => "batch refused not expired",
        Refused::Treasury(TreasuryError::PaymentsStopped) => "batch refused stopped",
        Refused::Treasury(TreasuryError::WrongAttempt { .. }) => "batch refused wrong attempt",
        Refused::Treasury(
            TreasuryError::NotConnected
            | TreasuryError::OtherWallet { .. }
            | TreasuryError::NotFrozen { .. }
            | TreasuryError::Nothing
            | TreasuryError::BeyondSupply,
        ) => "batch refused for another reason",
        Refused::Session(
            SessionError::Overdrawn { .. }
            | SessionError::BeyondSupply
            | SessionError::NotThisRoot { .. }
            | SessionError::Impossible { .. }
            | SessionError::HasBegun
            | SessionError::OtherKind { .. }
            | SessionError::NotThisPayment { .. }
            | SessionError::StillPaying { .. }
            | SessionError::Contradicted { .. },
        ) => "batch refused by a session",
    }
}

/// Describes an errand in a history.
pub(super) fn describe(errand: &Errand) -> String {
    match errand {
        Errand::List { .. } => "for the list".to_owned(),
        Errand::LookUp { payment } => format!("for the row of {:?}", payment.0),
        Errand::Send { payment, attempt, .. } => format!("to pay {:?}, request {attempt}", payment.0),
        Errand::AskPayee { payee, money } => format!("{payee} for an invoice of {money}"),
    }
}

/// Describes a fact in a history.
pub(super) fn line(fact: &TreasuryFact) -> String {
    match fact {
        TreasuryFact::Connected { wallet, .. } => format!("connected to {wallet}"),
        TreasuryFact::Payouts { allowed } => format!("payouts {}", if *allowed { "on" } else { "off" }),
        TreasuryFact::Invoiced { payment, session, money, .. } => {
            format!("invoiced {:?}, {money} for {session}", payment.0)
        }
        TreasuryFact::Received { payment } => format!("received {:?}", payment.0),
        TreasuryFact::Earned { payee, money, .. } => format!("earned {money} by {payee}"),
        TreasuryFact::Wanted { payment, from, money, fee_max, expires, .. } => {
            format!("wanted {:?}, {money} and up to {fee_max} from {from}, until {}", payment.0, expires.0)
        }
        TreasuryFact::Sending { payment, attempt } => format!("sending {:?}, request {attempt}", payment.0),
        TreasuryFact::Settled { payment, fee, .. } => format!("settled {:?}, fee {fee}", payment.0),
        TreasuryFact::Failed { payment, why } => format!("failed {:?}: {why:?}", payment.0),
        TreasuryFact::Frozen { payment } => format!("frozen by {:?}", payment.0),
        TreasuryFact::Accepted { payment } => format!("accepted {:?}", payment.0),
    }
}
