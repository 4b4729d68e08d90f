//! References to texts. The kernel never holds a text: it holds a hash, a length and what the text is for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The hash of a text, made outside the kernel. 32 bytes, written as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash(pub [u8; 32]);

/// Says that a text is not a hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash is 64 lower-case hexadecimal digits")]
pub struct HashError;

impl TryFrom<String> for Hash {
    type Error = HashError;
    fn try_from(text: String) -> Result<Hash, HashError> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(HashError),
        };
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(HashError);
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Hash(hash))
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> String {
        hash.to_string()
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What a text is for. The kernel does not read it; people and stores do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// A brief's task.
    Task,
    /// One of a brief's terms.
    Term,
    /// A model's whole reply, as its provider sent it.
    Reply,
    /// What a reply says to a reader.
    Words,
    /// A structured output.
    Output,
    /// A tool call's arguments.
    Arguments,
    /// A tool's result.
    Result,
    /// A message, a question or an answer to one.
    Message,
    /// What a check found.
    Finding,
    /// What the world reported as an error.
    Error,
    /// A price table with its rate.
    Prices,
    /// What a hirer calls a contract.
    Label,
    /// A system prompt and tools.
    Opening,
}

/// A stored text, by reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TextRef {
    /// Its hash: the key under which it was stored, before the fact that names it.
    pub hash: Hash,
    /// Its length: no text has more tokens than bytes, so this bounds its price.
    pub bytes: u32,
    /// What it is for.
    pub kind: TextKind,
}
