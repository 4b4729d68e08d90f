//! The chain of hashes over a session's rows. The hashes cover the stored bytes themselves, so that every later version can
//! check them. Stored bytes are never rewritten.

use std::fmt;
use std::str::FromStr;

use guildhall_kernel::{Hash, SessionId};

use super::JournalError;

/// One of the two hash chains of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// The chain of the facts of its contracts.
    Facts,
    /// The chain of the facts of its account.
    Account,
}

/// Shown after the number of a fact.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Chain::Facts => Ok(()),
            Chain::Account => f.write_str(" of the account"),
        }
    }
}

impl Chain {
    /// Returns the hash that a session's chain starts with.
    pub(crate) fn genesis(self, session: &SessionId) -> Hash {
        // These texts are part of the stored form and must never change.
        let context = match self {
            Chain::Facts => "guildhall journal 1: facts of a session",
            Chain::Account => "guildhall journal 1: account of a session",
        };
        Hash(blake3::derive_key(context, session.as_str().as_bytes()))
    }
}

/// Returns the hash of a row that follows a row with the hash `before`. Each part is hashed after its length, so that no
/// bytes can move from one column to the next unnoticed.
pub(crate) fn link(before: Hash, parts: &[&[u8]]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before.0);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Hash(*hasher.finalize().as_bytes())
}

/// Returns the hash under which a text is stored.
///
/// ```
/// let hash = guildhall_local::hash_text(b"book a flight");
/// assert_ne!(hash, guildhall_local::hash_text(b"book a hotel"));
/// ```
pub fn hash_text(bytes: &[u8]) -> Hash {
    Hash(*blake3::hash(bytes).as_bytes())
}

/// The head of a session: how many rows its two chains have, and the last hash of each. It is printed on the bill. A chain
/// whose end was cut off is still valid by itself; a comparison with a printed head detects the cut.
///
/// ```
/// use guildhall_local::{Head, hash_text};
/// let head = Head { facts: 12, hash: hash_text(b"a"), account: 2, account_hash: hash_text(b"b") };
/// assert_eq!(head.to_string().parse(), Ok(head));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// How many facts the session has, which is the sequence number of the last fact.
    pub facts: u64,
    /// The hash of the last fact.
    pub hash: Hash,
    /// How many facts the account has.
    pub account: u64,
    /// The hash of the account's last fact.
    pub account_hash: Hash,
}

/// Error: the text is not a journal head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a journal head: copy the head that `guildhall verify` prints, such as 12:9f…:2:a4…")]
pub struct HeadError(pub String);

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.facts, self.hash, self.account, self.account_hash)
    }
}

impl FromStr for Head {
    type Err = HeadError;
    fn from_str(text: &str) -> Result<Head, HeadError> {
        let mut parts = text.split(':');
        let head = (|| {
            let mut count = || parts.next()?.parse::<u64>().ok();
            let facts = count()?;
            let hash = Hash::try_from(parts.next()?.to_owned()).ok()?;
            let account = parts.next()?.parse().ok()?;
            let account_hash = Hash::try_from(parts.next()?.to_owned()).ok()?;
            parts.next().is_none().then_some(Head { facts, hash, account, account_hash })
        })();
        head.ok_or_else(|| HeadError(text.chars().take(80).collect()))
    }
}

/// The first error that a check of a session found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The session's head row is missing or was changed.
    #[error("the row that records the state of the session is missing, or was changed after it was stored")]
    Head,
    /// The session's own row was changed.
    #[error("the session's time, project or label was changed after it was stored")]
    About,
    /// A fact was changed, or a fact before it is missing.
    #[error("fact {seq} was changed after it was stored, or a fact before it is missing")]
    Fact {
        /// The fact's number.
        seq: u64,
    },
    /// A fact of the account was changed, or one before it is missing.
    #[error("fact {n} of the account was changed after it was stored, or one before it is missing")]
    Account {
        /// The fact's number in the account.
        n: u64,
    },
    /// Facts at the end are missing or were added.
    #[error("{recorded} facts were stored, but the journal has {found}")]
    Facts {
        /// How many facts there must be, according to the session's head.
        recorded: u64,
        /// How many facts there are.
        found: u64,
    },
    /// Facts at the end of the account are missing or were added.
    #[error("{recorded} facts of the account were stored, but the journal has {found}")]
    Accounts {
        /// How many facts there must be, according to the session's head.
        recorded: u64,
        /// How many facts there are.
        found: u64,
    },
    /// The index of each contract's facts does not match the facts.
    #[error("the index of the facts of each contract is damaged")]
    Index,
    /// The commands in the inbox that are not executed yet were changed.
    #[error("the open commands in the inbox were changed after they were stored")]
    Inbox,
    /// The list of calls that wait for a permit was changed.
    #[error("the list of calls that are not sent yet was changed after it was stored")]
    InLine,
    /// The lease was changed.
    #[error("the row that records which process last ran the session was changed after it was stored")]
    Lease,
    /// A text that a fact names is missing or was changed.
    #[error("the text {hash} is missing, or was changed after it was stored")]
    Text {
        /// The text's hash.
        hash: Hash,
    },
    /// The journal has fewer facts than the printed head.
    #[error(
        "the given head counts {printed} facts{of}, but the journal has only {found}: the end of the journal was cut off"
    )]
    Cut {
        /// Which facts.
        of: Chain,
        /// How many facts the printed head counts.
        printed: u64,
        /// How many facts there are.
        found: u64,
    },
    /// The journal has other facts than when the head was printed.
    #[error(
        "the given head does not match: fact {seq}{of}, or a fact before it, is not the one that the head was printed for. Either stored facts were replaced, or the head is of another session"
    )]
    OtherJournal {
        /// Which facts.
        of: Chain,
        /// The last fact that the printed head counts.
        seq: u64,
    },
}

impl Broken {
    /// Returns the place that is damaged.
    fn place(&self) -> String {
        match self {
            Broken::Head => "its head row".to_owned(),
            Broken::About => "its own row".to_owned(),
            Broken::Fact { seq } => format!("fact {seq}"),
            Broken::OtherJournal { of, seq } => format!("fact {seq}{of}"),
            Broken::Account { n } => format!("fact {n} of the account"),
            Broken::Facts { recorded, found } => format!("fact {}", recorded.min(found).saturating_add(1)),
            Broken::Accounts { recorded, found } => {
                format!("fact {} of the account", recorded.min(found).saturating_add(1))
            }
            Broken::Index => "the index of its facts".to_owned(),
            Broken::Inbox => "its inbox".to_owned(),
            Broken::InLine => "its list of waiting calls".to_owned(),
            Broken::Lease => "its lease".to_owned(),
            Broken::Text { hash } => format!("text {hash}"),
            Broken::Cut { of, found, .. } => format!("fact {}{of}", found.saturating_add(1)),
        }
    }
}

/// An error in the hall as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HallBroken {
    /// The structure of the database is damaged.
    #[error("the database is damaged: {0}")]
    Database(String),
    /// A table, an index or a trigger differs from the definition in this program.
    #[error("the database's own definition of {name} (a table, index or trigger) is missing or was changed")]
    Definition {
        /// The name of the table, index or trigger.
        name: String,
    },
    /// The row that covers all sessions is missing.
    #[error("the row that covers all sessions is missing")]
    HeadMissing,
    /// The row that covers all sessions was changed.
    #[error("the row that covers all sessions was changed after it was stored")]
    Head,
    /// Sessions were deleted or added.
    #[error("{recorded} sessions were stored, but the journal has {found}")]
    Sessions {
        /// How many sessions there must be, according to the hall's head.
        recorded: u64,
        /// How many sessions there are.
        found: u64,
    },
    /// The head of a session was changed.
    #[error(
        "the row that records the state of a session was changed or replaced; the journal can't tell which session"
    )]
    SessionHeads,
    /// The treasury was changed.
    #[error("the treasury is damaged: {why}")]
    Treasury {
        /// What is wrong.
        why: String,
    },
    /// There are rows of a session that does not exist.
    #[error("session {session:?} is missing, but the table {table} has rows for this session")]
    Stray {
        /// The session's id in these rows.
        session: String,
        /// The table with these rows.
        table: &'static str,
    },
    /// A session is listed, but no session was stored under its id.
    #[error(
        "the table session has a row for session {session:?}, but the table session_head has none: the one was added, or the other was deleted"
    )]
    Unknown {
        /// The session's id.
        session: String,
    },
}

/// The reason why a check ended: the journal can't be read, or stored data was changed.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Broken(Broken),
    Journal(JournalError),
}

impl Fault {
    /// Converts the fault to an error that names the session.
    pub(crate) fn of(self, session: &SessionId) -> JournalError {
        match self {
            Fault::Broken(broken) => {
                let (session, place) = (session.clone(), broken.place());
                JournalError::Corrupt { session, place, why: broken.to_string() }
            }
            Fault::Journal(error) => error,
        }
    }
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Fault {
        Fault::Broken(broken)
    }
}

impl From<JournalError> for Fault {
    fn from(error: JournalError) -> Fault {
        Fault::Journal(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Journal(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Chain, Head, hash_text, link};
    use guildhall_kernel::SessionId;

    #[test]
    fn the_hashes_of_a_chain_never_change() {
        let session: SessionId = "a".parse().unwrap();
        let genesis = Chain::Facts.genesis(&session);
        assert_eq!(genesis.to_string(), "1813c8f3bf9711cc68e7c4612a20b9d79239f7be7d68dcf5586d62daeb8e5a5b");
        assert_eq!(
            link(genesis, &[b"ab", b"c"]).to_string(),
            "efce769bc8e60ac9c5dc432f40c66c97589e80262d93bfd101b033019b287a14"
        );
        assert_ne!(link(genesis, &[b"ab", b"c"]), link(genesis, &[b"a", b"bc"]));
        assert_ne!(genesis, Chain::Account.genesis(&session));
    }

    #[test]
    fn a_text_that_is_not_a_head_is_refused() {
        let head = Head { facts: 1, hash: hash_text(b"a"), account: 0, account_hash: hash_text(b"b") }.to_string();
        for junk in ["", "1", ":::", &head[1..], &head[..head.len() - 1], &format!("{head}:1")] {
            assert!(junk.parse::<Head>().is_err(), "{junk:?}");
        }
    }
}
