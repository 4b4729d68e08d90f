//! References to texts. The kernel never contains a text: it stores the text's hash, length and purpose.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The hash of a text, computed outside the kernel: 32 bytes, written as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash(pub [u8; 32]);

/// The error for a text that is not a hash.
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
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[hex_digit(byte >> 4), hex_digit(byte & 15)]);
        }
        f.write_str(str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

/// Returns the digit of four bits.
fn hex_digit(bits: u8) -> u8 {
    b"0123456789abcdef"[usize::from(bits)]
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The purpose of a text. The kernel does not use it; stores and people do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// A brief's task.
    Task,
    /// One of a brief's terms.
    Term,
    /// A model's whole reply, as its provider sent it.
    Reply,
    /// The part of a reply for a reader.
    Words,
    /// A structured output.
    Output,
    /// A tool call's arguments.
    Arguments,
    /// A tool's result.
    Result,
    /// A message, a question or an answer to one.
    Message,
    /// The result of a failed check.
    Finding,
    /// An error that a model, a tool or a check reported.
    Error,
    /// A price table with its rate.
    Prices,
    /// The hirer's name for a contract.
    Label,
    /// A system prompt and tools.
    Opening,
    /// A Lightning invoice.
    Invoice,
    /// The address of a wallet server.
    Url,
}

/// A stored text, by reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TextRef {
    /// The hash: the key of the stored text. A text is stored before the fact that refers to it.
    pub hash: Hash,
    /// The length: a text never has more tokens than bytes, so the length limits the text's price.
    pub bytes: u32,
    /// The purpose of the text.
    pub kind: TextKind,
}
