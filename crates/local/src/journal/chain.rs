//! The chain of hashes over a session's rows. It covers the stored bytes themselves, so that it can be checked by any later
//! version, and nothing here ever writes them anew.

use std::fmt;
use std::str::FromStr;

use guildhall_kernel::Hash;

use super::JournalError;
use crate::id::SessionId;

/// Which of a session's two chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chain {
    Facts,
    Account,
}

impl Chain {
    /// Returns what the chain of this session begins with.
    pub(crate) fn genesis(self, session: &SessionId) -> Hash {
        // These words are part of the stored form: they never change.
        let context = match self {
            Chain::Facts => "guildhall journal 1: facts of a session",
            Chain::Account => "guildhall journal 1: account of a session",
        };
        Hash(blake3::derive_key(context, session.as_str().as_bytes()))
    }
}

/// Returns the hash of a row after the one with hash `before`. Each part is preceded by its length, so that nothing can
/// move from one column into the next.
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

/// Where a session's journal stands: how many rows its two chains have, and the last hash of each. Printed on the bill, so
/// that a tail which was cut off is found, though what is left is a sound chain.
///
/// ```
/// use guildhall_local::{Head, hash_text};
/// let head = Head { facts: 12, hash: hash_text(b"a"), account: 2, account_hash: hash_text(b"b") };
/// assert_eq!(head.to_string().parse(), Ok(head));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// How many facts: the last one's sequence number.
    pub facts: u64,
    /// The last fact's hash.
    pub hash: Hash,
    /// How many facts of the account.
    pub account: u64,
    /// The last one's hash.
    pub account_hash: Hash,
}

/// Says that a text is not a journal's head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a journal head: copy it from `guildhall verify`, such as 12:9f…:2:a4…")]
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

/// What is wrong with a session, as a check found it first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The session's head row is missing, or is not what was stored.
    #[error("the row that records the state of the session is missing, or was changed after it was stored")]
    Head,
    /// The session's own row is not what was stored.
    #[error("the session's time, project or label was changed after it was stored")]
    About,
    /// A fact is not the one that was stored, or a fact is missing before it.
    #[error("fact {seq} was changed after it was stored, or a fact before it is missing")]
    Fact {
        /// Its number.
        seq: u64,
    },
    /// The same, of the account.
    #[error("fact {n} of the account was changed after it was stored, or one before it is missing")]
    Account {
        /// Its number.
        n: u64,
    },
    /// Facts are missing at the end, or were added there.
    #[error("{recorded} facts were stored, and {found} are there")]
    Facts {
        /// How many there were, by the session's head.
        recorded: u64,
        /// How many there are.
        found: u64,
    },
    /// The same, of the account.
    #[error("{recorded} facts of the account were stored, and {found} are there")]
    Accounts {
        /// How many there were, by the session's head.
        recorded: u64,
        /// How many there are.
        found: u64,
    },
    /// The index by which a contract's facts are read does not fit the facts.
    #[error("the index of the facts of each contract is damaged")]
    Index,
    /// The commands that wait are not those that were stored.
    #[error("the commands that wait in the inbox were changed after they were stored")]
    Inbox,
    /// The calls in line are not those that were stored.
    #[error("the list of calls that are not sent yet was changed after it was stored")]
    InLine,
    /// The lease is not the one that was stored.
    #[error("the row that records which process last ran the session was changed after it was stored")]
    Lease,
    /// A fact names a text that is missing, or is not what was stored.
    #[error("the text {hash} is missing, or was changed after it was stored")]
    Text {
        /// Its hash.
        hash: Hash,
    },
    /// The journal ends before the head that was printed.
    #[error(
        "the given head counts {printed} facts, but the journal has only {found}: the end of the journal was cut off"
    )]
    Cut {
        /// How many there were.
        printed: u64,
        /// How many there are.
        found: u64,
    },
    /// The journal has other facts than when the head was printed.
    #[error("the given head is of another journal: they differ at or before fact {seq}")]
    Another {
        /// The printed head's fact.
        seq: u64,
    },
}

impl Broken {
    /// Returns the place that is damaged.
    fn place(&self) -> String {
        match self {
            Broken::Head => "its head row".to_owned(),
            Broken::About => "its own row".to_owned(),
            Broken::Fact { seq } | Broken::Another { seq } => format!("fact {seq}"),
            Broken::Account { n } => format!("fact {n} of the account"),
            Broken::Facts { recorded, found } => format!("fact {}", recorded.min(found).saturating_add(1)),
            Broken::Accounts { recorded, found } => {
                format!("fact {} of the account", recorded.min(found).saturating_add(1))
            }
            Broken::Index => "the index of its facts".to_owned(),
            Broken::Inbox => "its inbox".to_owned(),
            Broken::InLine => "its calls in line".to_owned(),
            Broken::Lease => "its lease".to_owned(),
            Broken::Text { hash } => format!("text {hash}"),
            Broken::Cut { found, .. } => format!("fact {}", found.saturating_add(1)),
        }
    }
}

/// What is wrong with the hall as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HallBroken {
    /// The database's own structure is damaged.
    #[error("the database is damaged: {0}")]
    Database(String),
    /// A table, an index or a trigger is not as this program defines it.
    #[error("the definition of {name} in the database is missing, or was changed after it was stored")]
    Definition {
        /// Its name.
        name: String,
    },
    /// The row that covers all sessions is missing.
    #[error("the row that covers all sessions is missing")]
    HeadMissing,
    /// The row that covers all sessions is not what was stored.
    #[error("the row that covers all sessions was changed after it was stored")]
    Head,
    /// Sessions were deleted or added.
    #[error("{recorded} sessions were stored, and {found} are there")]
    Sessions {
        /// How many there were, by the hall's head.
        recorded: u64,
        /// How many there are.
        found: u64,
    },
    /// A session's head is not the one that was stored.
    #[error("the row that records the state of a session was changed after it was stored")]
    SessionHeads,
    /// Rows are left of a session that is not there.
    #[error("session {session:?} is missing, but the table {table} has rows for this session")]
    Stray {
        /// Its id, as the rows have it.
        session: String,
        /// Where they are.
        table: &'static str,
    },
    /// A session is listed that was not stored under that id.
    #[error("session {session:?} is listed, but no session was stored under this id")]
    Unknown {
        /// Its id.
        session: String,
    },
}

/// What ends a check: the journal can't be read, or something in it is not what was stored.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Broken(Broken),
    Journal(JournalError),
}

impl Fault {
    /// Returns the error that names the session.
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
    use crate::id::SessionId;

    #[test]
    fn the_chain_is_what_it_always_was() {
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
    fn what_is_no_head_is_refused() {
        let head = Head { facts: 1, hash: hash_text(b"a"), account: 0, account_hash: hash_text(b"b") }.to_string();
        for junk in ["", "1", ":::", &head[1..], &head[..head.len() - 1], &format!("{head}:1")] {
            assert!(junk.parse::<Head>().is_err(), "{junk:?}");
        }
    }
}
