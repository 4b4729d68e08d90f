//! Which replies of a contract are parts of a longer one.

use crate::ask::Cut;
use crate::contract::CONTINUATIONS_MAX;
use crate::fact::Fact;

/// Follows the facts of one contract and tells whether its newest reply was cut and is continued.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplyParts {
    /// How many parts of the newest reply there are.
    parts: u32,
    /// A contract that is ending continues no reply.
    is_closing: bool,
}

impl ReplyParts {
    /// Takes the contract's next fact.
    pub fn note(&mut self, fact: &Fact) {
        if let Fact::Closing(_) = fact {
            *self = ReplyParts { parts: 0, is_closing: true };
        } else if let Some((_, said)) = fact.said() {
            let is_part = said.calls == 0 && said.words.is_some() && said.cut == Some(Cut::MaxTokens);
            let is_continued = is_part && !self.is_closing && self.parts < CONTINUATIONS_MAX;
            self.parts = if is_continued { self.parts + 1 } else { 0 };
        }
    }

    /// Returns whether the newest reply is continued by the next one.
    pub fn are_continued(self) -> bool {
        self.parts > 0
    }
}
