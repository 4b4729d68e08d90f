//! Tokens: 256 random bits that prove who calls. Only their hashes are stored and compared.

use std::fmt;

use guildhall::kernel::Hash;
use guildhall::local::hash_text;

/// Every token begins with this, so that people and programs that look for leaked secrets recognise it.
const PREFIX: &str = "gh_";

/// The number of random bytes.
const BYTES: usize = 32;

/// A token. Neither its debug output nor any log shows it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Returns a new token from the random numbers of the system.
    pub fn random() -> Result<Token, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Token(format!("{PREFIX}{}", Hash(bytes))))
    }

    /// Reads a token. `None` if the text can't be one.
    pub fn parse(text: &str) -> Option<Token> {
        let digits = text.strip_prefix(PREFIX)?;
        let is_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (digits.len() == 2 * BYTES && is_hex).then(|| Token(text.to_owned()))
    }

    /// Returns the hash under which the token is known.
    pub fn hash(&self) -> Hash {
        hash_text(self.0.as_bytes())
    }

    /// Returns the token itself, to hand it to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Compares two hashes in a time that does not depend on where they differ.
pub(crate) fn is_same(one: Hash, other: Hash) -> bool {
    one.0.iter().zip(other.0).fold(0, |differs, (byte, other)| differs | (byte ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::{Token, is_same};
    use guildhall::kernel::Hash;

    #[test]
    fn a_random_token_is_read_back_and_never_shown() {
        let (one, two) = (Token::random().unwrap(), Token::random().unwrap());
        let read = Token::parse(one.reveal()).unwrap();
        assert!(is_same(one.hash(), read.hash()) && !is_same(one.hash(), two.hash()));
        assert_eq!((one.reveal().len(), format!("{one:?}").as_str()), (67, "Token(…)"));
    }

    #[test]
    fn what_can_t_be_a_token_is_not_read() {
        let valid = Token::random().unwrap();
        let valid = valid.reveal();
        for wrong in ["", "gh_", &valid[1..], &valid[..66], &format!("{valid}0"), &valid.to_uppercase()] {
            assert!(Token::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn hashes_are_compared_in_every_byte() {
        for place in 0..32 {
            let mut other = [7; 32];
            other[place] = 8;
            assert!(!is_same(Hash([7; 32]), Hash(other)), "{place}");
        }
    }
}
