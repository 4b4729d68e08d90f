//! Without the feature `http` there are no providers, only models inside the process.

use guildhall_agent::CallFormat;
use guildhall_local::SessionId;
use guildhall_models::{PriceBook, Seller};

use super::{Locked, ModelName, ModelSlot, ModelsError, no_source, unclear};

/// No providers.
#[derive(Clone, Default)]
pub(super) struct Sources {}

#[expect(clippy::unused_self, reason = "the same functions as with providers")]
impl Sources {
    pub(super) fn set_calls_at_once(&mut self, _calls: usize) {}

    pub(super) fn has(&self, _name: &str) -> bool {
        false
    }

    pub(super) fn calls(&self, _name: &str) -> CallFormat {
        CallFormat::Tools
    }

    pub(super) fn seller(&self, _name: &str) -> Option<Seller> {
        None
    }

    pub(super) fn seller_of(&self, model: &str) -> Result<&str, ModelsError> {
        Err(unclear(model, ""))
    }

    pub(super) fn slot(
        &self,
        name: &ModelName,
        _session: &SessionId,
        _book: &PriceBook,
        _locked: &Locked,
    ) -> Result<ModelSlot, ModelsError> {
        Err(no_source(name))
    }
}
