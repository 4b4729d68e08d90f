//! Events: the facts of a session and the facts of its account, in one order. The id of an event says how many facts of each kind
//! there are up to this event, so a reader can continue after any id.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use guildhall_kernel::{Millis, SessionFact, Stored, UnixMs};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

/// A place in the events of a session: how many facts and how many facts of the account come before it. The id of an event is the
/// place after it.
///
/// ```
/// use guildhall_local::Cursor;
/// let cursor = Cursor { facts: 5, account: 2 };
/// assert_eq!((cursor.to_string(), "5.2".parse()), ("5.2".to_owned(), Ok(cursor)));
/// assert!(cursor > Cursor::START);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor {
    /// How many facts come before.
    pub facts: u64,
    /// How many facts of the account come before.
    pub account: u64,
}

impl Cursor {
    /// The place before the first event.
    pub const START: Cursor = Cursor { facts: 0, account: 0 };

    /// Returns the place after an event that begins here.
    pub(super) fn after(self, kind: &EventKind) -> Cursor {
        match kind {
            EventKind::Fact(_) => Cursor { facts: self.facts + 1, ..self },
            EventKind::Account(_) => Cursor { account: self.account + 1, ..self },
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.facts, self.account)
    }
}

/// Error: the text is not the id of an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the id of an event: an id is two numbers with a point between them, such as 5.2")]
pub struct CursorError(pub String);

impl FromStr for Cursor {
    type Err = CursorError;
    fn from_str(text: &str) -> Result<Cursor, CursorError> {
        let parse = || {
            let (facts, account) = text.split_once('.')?;
            let cursor = Cursor { facts: facts.parse().ok()?, account: account.parse().ok()? };
            // An event has one id only: no other sign, and no zero before a number.
            (cursor.to_string() == text).then_some(cursor)
        };
        parse().ok_or_else(|| CursorError(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for Cursor {
    type Error = CursorError;
    fn try_from(text: String) -> Result<Cursor, CursorError> {
        text.parse()
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> String {
        cursor.to_string()
    }
}

/// A fact of a session's account, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountFact {
    /// Its number in the account, counted from 1.
    pub n: u64,
    /// The number of the session's fact before it, or 0 if there was none.
    pub after: u64,
    /// When it happened.
    pub at: Millis,
    /// The fact.
    pub fact: SessionFact,
}

impl AccountFact {
    pub(super) fn id(&self) -> Cursor {
        Cursor { facts: self.after, account: self.n }
    }
}

/// What has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A fact of a contract. Those who need only facts share it without its event.
    Fact(Arc<Stored>),
    /// A fact of the account.
    Account(AccountFact),
}

/// Something that has happened in a session.
#[derive(Debug)]
pub struct Event {
    /// The id. It is greater than the ids of all events before.
    pub id: Cursor,
    /// What has happened.
    pub kind: EventKind,
    /// When this process saw that the event is durable. `None` if the event was read from the database.
    pub durable_at: Option<UnixMs>,
    encoded: OnceCell<Arc<[u8]>>,
}

impl Event {
    pub(super) fn new(id: Cursor, kind: EventKind, durable_at: Option<UnixMs>) -> Event {
        Event { id, kind, durable_at, encoded: OnceCell::new() }
    }

    pub(super) fn is_encoded(&self) -> bool {
        self.encoded.initialized()
    }

    /// Returns the same event without the form in which it is sent.
    pub(super) fn without_encoded(&self) -> Event {
        Event::new(self.id, self.kind.clone(), self.durable_at)
    }

    /// Returns the place before this event.
    pub(super) fn before(&self) -> Cursor {
        match &self.kind {
            EventKind::Fact(_) => Cursor { facts: self.id.facts - 1, ..self.id },
            EventKind::Account(_) => Cursor { account: self.id.account - 1, ..self.id },
        }
    }

    /// Returns the fact of a contract, if the event is one.
    pub fn fact(&self) -> Option<&Arc<Stored>> {
        match &self.kind {
            EventKind::Fact(stored) => Some(stored),
            EventKind::Account(_) => None,
        }
    }

    /// Returns the event in the form in which it is sent. `encode` makes it when it is needed for the first time, and all who send
    /// the event share it. If `encode` fails or is dropped, the next caller makes it.
    pub async fn encoded<E, F: Future<Output = Result<Arc<[u8]>, E>>>(
        &self,
        encode: impl FnOnce() -> F,
    ) -> Result<Arc<[u8]>, E> {
        self.encoded.get_or_try_init(encode).await.cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use guildhall_kernel::{Millis, Msat, SessionFact};

    use super::{AccountFact, Cursor, Event, EventKind};

    #[test]
    fn only_the_id_of_an_event_is_read_as_one() {
        for wrong in ["", "5", "5.", ".2", "5.2.1", "+5.2", "05.2", "5.-2", " 5.2", "5,2", "18446744073709551616.0"] {
            assert!(wrong.parse::<Cursor>().is_err(), "{wrong:?}");
        }
        assert_eq!("0.0".parse(), Ok(Cursor::START));
        assert_eq!("18446744073709551615.0".parse(), Ok(Cursor { facts: u64::MAX, account: 0 }));
    }

    #[tokio::test]
    async fn an_event_is_encoded_once_and_again_only_after_an_error() {
        let fact = SessionFact::Funded { money: Msat::ZERO, root: None, payment: None };
        let fact = AccountFact { n: 1, after: 0, at: Millis(1), fact };
        let event = Event::new(fact.id(), EventKind::Account(fact), None);
        assert_eq!(event.encoded(async || Err("no text")).await, Err("no text"));
        let first = event.encoded(async || Ok::<_, Infallible>(Arc::from(*b"first"))).await.unwrap();
        let second = event.encoded(async || Ok::<_, Infallible>(Arc::from(*b"second"))).await.unwrap();
        assert!(Arc::ptr_eq(&first, &second));
    }
}
