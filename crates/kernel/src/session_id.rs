//! The id of a session: short, typed by people, safe as a directory name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest session id, in bytes.
pub const SESSION_ID_BYTES_MAX: usize = 64;

/// A session's id: lower-case letters, digits and single dashes inside.
///
/// ```
/// use guildhall_kernel::SessionId;
/// assert!("brave-otter-17".parse::<SessionId>().is_ok());
/// assert!("../etc".parse::<SessionId>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(Arc<str>);

/// Error: the text is not a session id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a session id: an id consists of a-z, 0-9 and single dashes; list your sessions with `guildhall ls`"
)]
pub struct SessionIdError(pub String);

impl SessionId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = SessionIdError;
    fn from_str(text: &str) -> Result<SessionId, SessionIdError> {
        let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if text.len() <= SESSION_ID_BYTES_MAX && text.split('-').all(word) {
            Ok(SessionId(text.into()))
        } else {
            Err(SessionIdError(text.chars().take(80).collect()))
        }
    }
}

impl TryFrom<String> for SessionId {
    type Error = SessionIdError;
    fn try_from(text: String) -> Result<SessionId, SessionIdError> {
        text.parse()
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> String {
        id.0.as_ref().into()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{SESSION_ID_BYTES_MAX, SessionId};

    #[test]
    fn a_session_id_is_always_safe_as_a_directory_name() {
        let longest = "a".repeat(SESSION_ID_BYTES_MAX);
        for good in ["a", "7", "brave-otter-17", &longest] {
            assert_eq!(good.parse::<SessionId>().map(String::from).as_deref(), Ok(good));
        }
        let too_long = "a".repeat(SESSION_ID_BYTES_MAX + 1);
        for bad in ["", "-", "a-", "-a", "a--b", "A", "a.b", "..", "a/b", "a\\b", "a b", "ä", "a\0", &too_long] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
        }
    }
}
