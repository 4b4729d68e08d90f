//! Stored texts of a session. A text that can't be read is reported, and the rest of the session is still shown.

use std::collections::BTreeSet;

use guildhall_agent::{TextError, stored_reply};
use guildhall_kernel::{Path, TextKind, TextRef};
use guildhall_local::{Journal, JournalError, SessionId, texts_named};

use crate::hall::{Hall, HallError};
use crate::setup::Request;

/// A stored text that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("contract {contract}: {why}")]
pub struct UnreadableText {
    /// The contract whose fact names the text.
    pub contract: Path,
    /// The text, and why it can't be read.
    pub why: TextError,
}

/// Reads a text that a fact names.
pub(crate) async fn stored_text(journal: &Journal, of: TextRef) -> Result<String, TextError> {
    match journal.text(of.hash).await {
        Ok(Some(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Ok(None) => Err(TextError::Missing(of)),
        // The error of the text names the hash.
        Err(JournalError::TextDamaged { .. }) => {
            Err(TextError::Damaged { of, why: "its bytes do not match the hash".to_owned() })
        }
        Err(why) => Err(TextError::Damaged { of, why: why.to_string() }),
    }
}

impl Hall {
    /// Returns the texts of a session that can't be read, in the order of the facts that name them.
    pub async fn unreadable_texts(&self, id: &SessionId) -> Result<Vec<UnreadableText>, HallError> {
        let mut seen = BTreeSet::new();
        let mut unreadable = Vec::new();
        if let Some(request) = Request::newest(&self.journal().account(id).await?) {
            let setup = stored_text(self.journal(), request.setup).await;
            unreadable.extend(setup.err().map(|why| UnreadableText { contract: request.root, why }));
        }
        for stored in self.journal().facts(id, 1).await? {
            for of in texts_named(&stored.fact).into_iter().filter(|of| seen.insert(of.hash)) {
                let text = stored_text(self.journal(), of).await;
                let read = match of.kind {
                    TextKind::Reply => text.and_then(|says| stored_reply(&of, &says).map(|_| ())),
                    TextKind::Task
                    | TextKind::Term
                    | TextKind::Words
                    | TextKind::Output
                    | TextKind::Arguments
                    | TextKind::Result
                    | TextKind::Message
                    | TextKind::Finding
                    | TextKind::Error
                    | TextKind::Prices
                    | TextKind::Label
                    | TextKind::Opening
                    | TextKind::Invoice
                    | TextKind::Url => text.map(|_| ()),
                };
                unreadable.extend(read.err().map(|why| UnreadableText { contract: stored.contract.clone(), why }));
            }
        }
        Ok(unreadable)
    }
}
