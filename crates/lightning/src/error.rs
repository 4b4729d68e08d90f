//! What can go wrong between this process and a wallet server. No message has a key.

use std::fmt;

use guildhall_kernel::{Msat, WalletId};

use crate::decode::DecodeError;

/// One of the two keys of a wallet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// The key that makes invoices and reads.
    Invoice,
    /// The key that also pays.
    Admin,
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyKind::Invoice => "invoice key",
            KeyKind::Admin => "admin key",
        })
    }
}

/// Why a wallet server could not be used, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LightningError {
    /// The settings of TLS do not work on this machine.
    #[error("TLS does not work on this machine ({why}): check its certificates")]
    Tls {
        /// The reason.
        why: String,
    },
    /// There is no connection.
    #[error("the wallet server {url} can't be reached ({why}): check the address, and whether the server runs")]
    Unreachable {
        /// The address.
        url: String,
        /// The reason.
        why: String,
    },
    /// The reply did not arrive, or only a part of it.
    #[error("the wallet server {url} did not reply ({why}): check whether the server runs")]
    NoReply {
        /// The address.
        url: String,
        /// The reason.
        why: String,
    },
    /// The reply is not one of LNbits.
    #[error("the reply of {url} is not one of LNbits (HTTP status {status}, {why}): check the address")]
    NotLnbits {
        /// The address.
        url: String,
        /// The status.
        status: u16,
        /// What is wrong with the reply.
        why: String,
    },
    /// The server allows no more requests now.
    #[error("the wallet server {url} allows no more requests now: wait a minute, or raise its rate limit")]
    TooManyRequests {
        /// The address.
        url: String,
    },
    /// The server reported an error.
    #[error("the wallet server {url} says: {detail} (HTTP status {status})")]
    Server {
        /// The address.
        url: String,
        /// The status.
        status: u16,
        /// Its words, without keys.
        detail: String,
    },
    /// The server does not know a key.
    #[error("the wallet server does not know the {key}: copy it again from the wallet's page in LNbits")]
    WrongKey {
        /// The key.
        key: KeyKind,
    },
    /// The admin key was given in place of the invoice key.
    #[error(
        "the invoice key is the admin key of the wallet, which can pay: give the key that LNbits calls Invoice/read key"
    )]
    AdminKeyAsInvoiceKey,
    /// The invoice key was given in place of the admin key.
    #[error("the admin key is an invoice key, which can't pay: give the key that LNbits calls Admin key")]
    InvoiceKeyAsAdminKey,
    /// The two keys belong to different wallets.
    #[error(
        "the invoice key belongs to wallet {invoice}, and the admin key to wallet {admin}: give two keys of one wallet"
    )]
    OtherWallet {
        /// The wallet of the invoice key.
        invoice: WalletId,
        /// The wallet of the admin key.
        admin: WalletId,
    },
    /// A key belongs to another wallet than the one that is connected.
    #[error(
        "the {key} belongs to wallet {found}, but wallet {expected} is connected: give the keys of the connected wallet"
    )]
    NotThisWallet {
        /// The key.
        key: KeyKind,
        /// Its wallet.
        found: WalletId,
        /// The wallet that is connected.
        expected: WalletId,
    },
    /// The wallet does not show its own payments.
    #[error(
        "wallet {wallet} does not show its payments: it is shared by another wallet, use a wallet that is not shared"
    )]
    HiddenPayments {
        /// The wallet.
        wallet: WalletId,
    },
    /// There is no key that can pay.
    #[error("there is no admin key, and only that key can pay: set it, then the payment is tried again")]
    NoAdminKey,
    /// The amount can't be put on an invoice.
    #[error("an invoice for {money} can't be made: give a whole number of sats, at least 1")]
    NotWholeSats {
        /// The amount.
        money: Msat,
    },
    /// The description is too long.
    #[error("the description of an invoice has {bytes} bytes, and at most {max} are allowed: shorten it")]
    LongMemo {
        /// Its length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The time until the invoice expires is not possible.
    #[error("an invoice must be valid for at least a second and at most a day")]
    Expiry,
    /// The invoice is not for the amount that was asked for.
    #[error("the wallet server made an invoice for another amount than {asked}: do not use this server")]
    OtherAmount {
        /// The amount that was asked for.
        asked: Msat,
    },
    /// The invoice can't be read.
    #[error(transparent)]
    Invoice(#[from] DecodeError),
    /// The list changed while it was read, so rows may be missing.
    #[error("the list of payments changed while it was read: it is read again later")]
    ListChanged,
    /// The list is too long.
    #[error("the wallet has more than {max} payments: use a new wallet")]
    LongList {
        /// The limit.
        max: usize,
    },
}
