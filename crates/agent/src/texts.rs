//! Where stored texts are found, and why one can't be used. A text comes from a disk, so each can be missing or damaged: that
//! is an error, never a panic.

use std::sync::Arc;

use guildhall_kernel::{TextKind, TextRef};

use crate::model::Reply;

/// Why a stored text can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TextError {
    /// It is not there.
    #[error("the {} with hash {} is not stored", kind(.0), .0.hash)]
    Missing(TextRef),
    /// The store can't hand it over.
    #[error("the {} with hash {} can't be read: {why}", kind(.of), .of.hash)]
    Damaged { of: TextRef, why: String },
    /// It was to be a model's reply, and is none.
    #[error("the {} with hash {} is not valid: {why}", kind(.of), .of.hash)]
    NotReply { of: TextRef, why: String },
}

fn kind(of: &TextRef) -> &'static str {
    match of.kind {
        TextKind::Task => "task",
        TextKind::Term => "term",
        TextKind::Reply => "model reply",
        TextKind::Words => "text of a model reply",
        TextKind::Output => "structured output",
        TextKind::Arguments => "call arguments",
        TextKind::Result => "tool result",
        TextKind::Message => "message",
        TextKind::Finding => "finding of a check",
        TextKind::Error => "error text",
        TextKind::Label => "label",
        TextKind::Opening => "opening",
        TextKind::Prices => "setup of a session",
    }
}

/// Where texts are found. What a fact names is stored before the fact.
pub trait Texts: Sync {
    /// Returns a stored text.
    fn text(&self, of: &TextRef) -> Result<String, TextError>;

    /// Returns a stored reply.
    fn reply(&self, of: &TextRef) -> Result<Arc<Reply>, TextError> {
        stored_reply(of, &self.text(of)?).map(Arc::new)
    }
}

/// Reads a reply as it was stored.
pub fn stored_reply(of: &TextRef, says: &str) -> Result<Reply, TextError> {
    serde_json::from_str(says).map_err(|why| TextError::NotReply { of: *of, why: why.to_string() })
}
