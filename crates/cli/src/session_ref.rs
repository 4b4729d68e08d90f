//! A session as people type it: its id, the beginning of its id, or `last`; and a contract of it, as `ID/1.2`.

use std::str::FromStr;

use guildhall::Hall;
use guildhall::kernel::Path;
use guildhall::local::{JournalError, SessionId, SessionIdError};

use crate::exit::Failure;

/// The newest session.
pub(crate) const LAST: &str = "last";

/// The most sessions that a message names.
const NAMED_MAX: usize = 5;

/// The session of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionRef(String);

impl FromStr for SessionRef {
    type Err = SessionIdError;
    fn from_str(text: &str) -> Result<SessionRef, SessionIdError> {
        // The beginning of an id may end with a dash.
        text.strip_suffix('-').unwrap_or(text).parse::<SessionId>()?;
        Ok(SessionRef(text.to_owned()))
    }
}

impl SessionRef {
    /// Finds the session in the journal.
    pub(crate) async fn find(&self, hall: &Hall) -> Result<SessionId, Failure> {
        let typed = self.0.as_str();
        let rows = hall.journal().sessions().await?;
        if let Some(row) = rows.iter().find(|row| row.id.as_str() == typed) {
            return Ok(row.id.clone());
        }
        if typed == LAST {
            // The newest comes first.
            return rows.into_iter().next().map(|row| row.id).ok_or_else(|| {
                Failure::usage(
                    "there is no session yet, so `last` has no meaning. To start one, run: guildhall run \"…\"",
                )
            });
        }
        let meant: Vec<&SessionId> =
            rows.iter().map(|row| &row.id).filter(|id| id.as_str().starts_with(typed)).collect();
        match meant.as_slice() {
            [one] => Ok((*one).clone()),
            // The text may be a whole id whose row was deleted, so the error is about that session.
            [] => match typed.parse::<SessionId>() {
                Ok(session) => Err(JournalError::UnknownSession { session }.into()),
                Err(why) => Err(Failure::usage(why.to_string())),
            },
            several => {
                let named = several.iter().take(NAMED_MAX).map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let more = if several.len() > NAMED_MAX { ", …" } else { "" };
                let count = several.len();
                Err(Failure::usage(format!(
                    "the ids of {count} sessions begin with {typed:?} ({named}{more}): type more of the id"
                )))
            }
        }
    }
}

/// A session or a contract of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetRef {
    pub(crate) session: SessionRef,
    pub(crate) contract: Option<Path>,
}

impl FromStr for TargetRef {
    type Err = String;
    fn from_str(text: &str) -> Result<TargetRef, String> {
        let (session, contract) = text.split_once('/').map_or((text, None), |(session, path)| (session, Some(path)));
        let session = session.parse().map_err(|why: SessionIdError| why.to_string())?;
        let path = |path: &str| {
            Path::try_from(path.to_owned()).map_err(|_| format!("{path:?} is not a contract: write it like 1.2"))
        };
        Ok(TargetRef { session, contract: contract.map(path).transpose()? })
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionRef, TargetRef};

    #[test]
    fn ids_beginnings_last_and_contracts_are_parsed() {
        for good in ["brave-otter-17", "brave-", "b", "last"] {
            assert!(good.parse::<SessionRef>().is_ok(), "{good}");
        }
        for bad in ["", "-", "--facts", "../etc", "Brave", "brave--"] {
            assert!(bad.parse::<SessionRef>().is_err(), "{bad}");
        }
        let target: TargetRef = "last/1.2".parse().unwrap();
        assert_eq!(target.contract.unwrap().to_string(), "1.2");
        assert!("last/one".parse::<TargetRef>().unwrap_err().contains("write it like 1.2"));
    }
}
