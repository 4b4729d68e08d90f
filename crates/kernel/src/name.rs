//! Names that come from files and models: short, printable, never a path. Valid by construction.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Why a text is not a name, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameError {
    /// The text is empty or has only spaces.
    #[error("the name is empty: use letters, digits, '-', '_' or '.', such as log-reader")]
    Empty,
    /// The text is longer than [`NAME_BYTES_MAX`].
    #[error("the name is too long ({bytes} bytes, at most {NAME_BYTES_MAX}): use a shorter name")]
    TooLong {
        /// The length of the text.
        bytes: usize,
    },
    /// A character is not allowed: it could be part of a path, a control character or a look-alike.
    #[error(
        "a name can't have {found:?} there: use letters a-z, digits, '-' and '_', and in the middle single spaces and '.'"
    )]
    BadCharacter {
        /// The first character that is not allowed.
        found: char,
    },
}

fn checked(name: &str) -> Result<Arc<str>, NameError> {
    if name.trim().is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong { bytes: name.len() });
    }
    let mut before = ' ';
    for found in name.chars() {
        let separator = matches!(found, ' ' | '.');
        if !(found.is_ascii_alphanumeric() || matches!(found, '-' | '_') || separator && !matches!(before, ' ' | '.')) {
            return Err(NameError::BadCharacter { found });
        }
        before = found;
    }
    if matches!(before, ' ' | '.') { Err(NameError::BadCharacter { found: before }) } else { Ok(name.into()) }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Makes a name from a text, or says why the text is not a name.
            pub fn parse(name: &str) -> Result<$name, NameError> {
                checked(name).map($name)
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(name: String) -> Result<$name, NameError> {
                $name::parse(&name)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

name! {
    /// The name of an agent of the roster, or of an ad-hoc specialist.
    ///
    /// ```
    /// use guildhall_kernel::AgentName;
    /// assert!(AgentName::parse("log-reader").is_ok());
    /// assert!(AgentName::parse("../etc/passwd").is_err());
    /// ```
    AgentName
}
name! {
    /// The name of a tool.
    ToolName
}
name! {
    /// The name of a field of a call's arguments.
    FieldName
}
name! {
    /// The name of something that a contract may do. The kernel compares powers and gives them no meaning.
    Power
}
name! {
    /// The name of a payee of the operator's configuration.
    PayeeName
}
name! {
    /// The id that a wallet server gave a wallet.
    WalletId
}

#[cfg(test)]
mod tests {
    use super::{AgentName, NameError};

    #[test]
    fn names_are_accepted_or_refused_with_the_reason() {
        for good in ["a", "log-reader", "Head Travel Agent", "gpt_4.1", "A1"] {
            assert_eq!(AgentName::parse(good).map(String::from).as_deref(), Ok(good));
        }
        assert_eq!(AgentName::parse(""), Err(NameError::Empty));
        assert_eq!(AgentName::parse("  "), Err(NameError::Empty));
        assert_eq!(AgentName::parse(&"x".repeat(65)), Err(NameError::TooLong { bytes: 65 }));
        for (odd, found) in [
            ("a/b", '/'),
            ("..", '.'),
            (".hidden", '.'),
            ("a..b", '.'),
            ("a\\b", '\\'),
            ("a ", ' '),
            (" a", ' '),
            ("a  b", ' '),
            ("a\nb", '\n'),
            ("a\0", '\0'),
            ("аdmin", 'а'),
            ("a\u{202e}b", '\u{202e}'),
            ("a\u{200b}b", '\u{200b}'),
            ("~", '~'),
            ("a.", '.'),
        ] {
            assert_eq!(AgentName::parse(odd), Err(NameError::BadCharacter { found }), "{odd:?}");
        }
    }

    #[test]
    fn a_stored_name_is_checked_when_it_is_read() {
        assert!(serde_json::from_str::<AgentName>("\"../x\"").is_err());
    }
}
