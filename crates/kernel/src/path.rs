//! Ids: the place of a contract in the tree, and the number of an ask. Ids are deterministic, so they serve as
//! idempotency keys.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The maximum number of levels of hires below a root.
pub const DEPTH_MAX: u8 = 64;

/// A contract's place in its session: `1` is the first root, `1.2` that root's second hire.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path(Arc<[u32]>);

/// The error for a text that is not a contract's path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the number of a contract: write numbers from 1 joined by dots, such as 1.2.1")]
pub struct PathError(pub String);

impl Path {
    /// Returns the path of the session's `ordinal`-th root, counted from 1.
    pub fn root(ordinal: u32) -> Path {
        assert!(ordinal > 0, "roots are counted from 1");
        Path([ordinal].into())
    }

    /// Returns the path of this contract's `ordinal`-th admitted hire, counted from 1.
    #[must_use]
    pub fn hire(&self, ordinal: u32) -> Path {
        assert!(ordinal > 0, "hires are counted from 1");
        Path(self.0.iter().copied().chain([ordinal]).collect())
    }

    /// Returns the hirer's path; a root has none.
    pub fn hirer(&self) -> Option<Path> {
        let (_, above) = self.0.split_last().expect("a path is never empty");
        (!above.is_empty()).then(|| Path(above.into()))
    }

    /// Returns the root of the tree that the contract belongs to; a root returns itself.
    #[must_use]
    pub fn top(&self) -> Path {
        Path::root(*self.0.first().expect("a path is never empty"))
    }

    /// Returns the last number: the contract's place among its hirer's hires.
    pub fn ordinal(&self) -> u32 {
        *self.0.last().expect("a path is never empty")
    }

    /// Returns the number of contracts above: 0 for a root.
    pub fn level(&self) -> usize {
        self.0.len() - 1
    }

    /// Returns the hire of this contract on the way to `to`, if `to` is below this contract.
    pub fn toward(&self, to: &Path) -> Option<Path> {
        let below = to.0.len() > self.0.len() && to.0.starts_with(&self.0);
        below.then(|| Path(to.0[..=self.0.len()].into()))
    }
}

impl FromStr for Path {
    type Err = PathError;
    fn from_str(text: &str) -> Result<Path, PathError> {
        let bad = || PathError(text.chars().take(80).collect());
        let ordinal = |part: &str| {
            let plain = part.bytes().all(|b| b.is_ascii_digit()) && !part.starts_with('0');
            if plain { part.parse::<u32>().map_err(|_| bad()) } else { Err(bad()) }
        };
        let path = Path(text.split('.').map(ordinal).collect::<Result<_, _>>()?);
        if path.level() > usize::from(DEPTH_MAX) { Err(bad()) } else { Ok(path) }
    }
}

impl TryFrom<String> for Path {
    type Error = PathError;
    fn try_from(text: String) -> Result<Path, PathError> {
        text.parse()
    }
}

impl From<Path> for String {
    fn from(path: Path) -> String {
        path.to_string()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, below) = self.0.split_first().expect("a path is never empty");
        write!(f, "{first}")?;
        below.iter().try_for_each(|ordinal| write!(f, ".{ordinal}"))
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number of an ask within its contract, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskId(pub u32);

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Debug for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The id of an ask within its session: `1.2#7`. Engines use it as the idempotency key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AskKey {
    /// The contract that asked.
    pub contract: Path,
    /// The number of the ask.
    pub ask: AskId,
}

impl fmt::Display for AskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.contract, self.ask)
    }
}

impl fmt::Debug for AskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<AskKey> for String {
    fn from(key: AskKey) -> String {
        key.to_string()
    }
}

impl TryFrom<String> for AskKey {
    type Error = PathError;
    fn try_from(text: String) -> Result<AskKey, PathError> {
        let key = text.split_once('#').and_then(|(contract, ask)| {
            Some(AskKey { contract: contract.parse().ok()?, ask: AskId(ask.parse().ok()?) })
        });
        // An idempotency key has one spelling: #+7 and #07 are refused.
        key.filter(|key| key.ask.0 > 0 && key.to_string() == text).ok_or(PathError(text))
    }
}

/// One call of one reply: the reply's ask, and the call's place in it, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CallRef {
    /// The model ask whose reply made the call.
    pub reply: AskId,
    /// The call's place in that reply.
    pub index: u32,
}

#[cfg(test)]
mod tests {
    use super::{AskId, AskKey, Path};

    #[test]
    fn a_path_is_read_back_as_it_was_written() {
        let path = Path::root(1).hire(2).hire(1);
        assert_eq!(path.to_string(), "1.2.1");
        assert_eq!("1.2.1".parse(), Ok(path.clone()));
        assert_eq!(path.hirer(), Some(Path::root(1).hire(2)));
        assert_eq!(Path::root(1).toward(&path), Some(Path::root(1).hire(2)));
        assert_eq!(path.toward(&path), None);
        assert_eq!(Path::root(2).toward(&path), None);
        let key = AskKey { contract: path, ask: AskId(7) };
        assert_eq!(AskKey::try_from(String::from("1.2.1#7")), Ok(key.clone()));
        assert_eq!(key.to_string(), "1.2.1#7");
        for junk in ["1.2.1", "1#", "#7", "1#0", "1#+7", "1#07", "1#7 ", "1#7#8", "01#7"] {
            assert!(AskKey::try_from(String::from(junk)).is_err(), "{junk:?}");
        }
    }

    #[test]
    fn a_text_that_is_not_a_path_is_refused() {
        for junk in ["", ".", "1.", "0", "1.0", "01", "1.-2", "+1", "1 ", "4294967296", "1#2", "٣"] {
            assert!(junk.parse::<Path>().is_err(), "{junk:?}");
        }
        assert!("1.".repeat(64).trim_end_matches('.').parse::<Path>().is_ok());
        assert!("1.".repeat(66).trim_end_matches('.').parse::<Path>().is_err());
    }
}
