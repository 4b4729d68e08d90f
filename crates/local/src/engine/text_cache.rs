//! The texts that a driver has read from the journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_agent::{TextError, Texts};
use guildhall_kernel::{Hash, TextKind, TextRef};

use super::{EngineError, SessionEngine};
use crate::journal::JournalError;

/// A cache of all texts that a contract's facts name. Clones share the texts. A text that can't be read is an error
/// only for code that needs the text: the contract can be ended without it.
#[derive(Clone, Default)]
pub(super) struct TextCache(Arc<BTreeMap<Hash, Result<Arc<str>, TextError>>>);

impl TextCache {
    pub(super) fn insert(&mut self, hash: Hash, text: Result<Arc<str>, TextError>) {
        Arc::make_mut(&mut self.0).insert(hash, text);
    }

    /// Loads those of these texts that are not in the cache.
    pub(super) async fn load(
        &mut self,
        engine: &SessionEngine,
        texts: impl IntoIterator<Item = TextRef>,
    ) -> Result<(), EngineError> {
        for of in texts.into_iter().filter(is_needed) {
            if self.0.contains_key(&of.hash) {
                continue;
            }
            let text = match engine.inner.journal.text(of.hash).await {
                Ok(Some(says)) => Ok(String::from_utf8_lossy(&says).into()),
                Ok(None) => Err(TextError::Missing(of)),
                Err(why @ JournalError::TextDamaged { .. }) => Err(TextError::Damaged { of, why: why.to_string() }),
                // The journal can't be read at the moment; the text itself may be valid.
                Err(why) => return Err(why.into()),
            };
            self.insert(of.hash, text);
        }
        Ok(())
    }
}

/// Returns whether a contract needs a text. Openings are stored only for transcripts.
pub(super) fn is_needed(of: &TextRef) -> bool {
    of.kind != TextKind::Opening
}

impl Texts for TextCache {
    fn text(&self, of: &TextRef) -> Result<String, TextError> {
        match self.0.get(&of.hash) {
            Some(Ok(says)) => Ok(says.as_ref().to_owned()),
            Some(Err(why)) => Err(why.clone()),
            None => Err(TextError::Missing(*of)),
        }
    }
}
