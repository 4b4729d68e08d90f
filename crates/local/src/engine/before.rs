//! What a contract is shown before its own brief.

use std::sync::Arc;

use guildhall_agent::{History, Message, Texts, fork_prefix};
use guildhall_kernel::{Context, Fact, Path, Stored};

use super::text_cache::TextCache;
use super::{EngineError, SessionEngine};
use crate::journal::texts_named;

/// Returns the messages before a contract's brief: a fork continues from its hirer's request, and a later root
/// continues from the end of an earlier root.
pub(super) async fn messages_before(
    engine: &SessionEngine,
    path: &Path,
    context: &Context,
) -> Result<Vec<Message>, EngineError> {
    let source = match (context, path.hirer()) {
        (Context::Fresh, _) | (Context::Fork { .. }, None) => return Ok(Vec::new()),
        (Context::Fork { .. }, Some(hirer)) => hirer,
        (Context::After { root, .. }, _) => root.clone(),
    };
    let inner = &engine.inner;
    let stored = inner.journal.contract_facts(inner.lease.session(), &source).await?;
    let facts: Vec<Fact> = stored.into_iter().map(|stored| stored.fact).collect();
    let facts = match context {
        Context::Fork { request, upto, .. } => fork_prefix(&facts, *request, *upto),
        Context::Fresh | Context::After { .. } => facts,
    };
    let mut texts = TextCache::default();
    texts.load(engine, facts.iter().flat_map(texts_named)).await?;
    let above = match facts.first() {
        Some(Fact::Opened(brief)) => Box::pin(messages_before(engine, &source, &brief.context)).await?,
        _ => Vec::new(),
    };
    let messages = History { before: &above, root_task: None, facts: &facts, texts: &texts }.messages();
    messages.map_err(|why| EngineError::Text { contract: source, why })
}

/// Returns the task of the root above a contract. A task that can't be read is left out: a hire has its own task.
pub(super) async fn root_task(engine: &SessionEngine, path: &Path) -> Result<Option<Arc<str>>, EngineError> {
    let inner = &engine.inner;
    let first = inner.journal.first_fact(inner.lease.session(), &path.top()).await?;
    let Some(Stored { fact: Fact::Opened(brief), .. }) = first else { return Ok(None) };
    let mut texts = TextCache::default();
    texts.load(engine, [brief.task]).await?;
    Ok(texts.text(&brief.task).ok().map(Arc::from))
}
