//! Providers: places where models are asked for by name, over HTTP.

use std::sync::Arc;

use guildhall_agent::{CallFormat, Wire};
use guildhall_local::{CallLimiter, Replays, SessionId};
use guildhall_models::{BaseUrl, Endpoint, Key, PriceBook, Provider, Retry, Seller, Timeouts};

use super::{ANTHROPIC, Locked, ModelName, ModelSlot, ModelsError, OPENAI, WINDOW_TOKENS, no_source, slot, unclear};

/// The most tokens of a JSON turn. Small models that don't find an end are cut off here; a report counts as far as it goes.
const JSON_TURN_TOKENS_MAX: u32 = 2048;

/// A provider: a place where models are asked for by name.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, as in `anthropic/claude-sonnet-5-5`.
    pub name: String,
    /// The protocol that it speaks.
    pub wire: Wire,
    /// Where it is.
    pub base_url: BaseUrl,
    /// The key, if it needs one.
    pub key: Option<Key>,
    /// Whether it answers the same request key with the same reply. Where it does not, a call that a crash interrupted
    /// counts as lost.
    pub replays: Replays,
    /// How many tokens its models can be shown, where the price table does not say.
    pub window: Option<u64>,
    /// By which names its models are known.
    pub naming: Naming,
    /// How its models make calls, unless a session has it otherwise.
    pub calls: CallFormat,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How long to try again.
    pub retry: Retry,
}

/// By which names a provider's models are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// By their own, where that is clear, and as `PROVIDER/NAME`.
    Short,
    /// Only as `PROVIDER/NAME`: nobody comes to it who did not mean it.
    Full,
}

impl Source {
    /// Describes a provider, with what is usual for everything else.
    pub fn new(name: impl Into<String>, wire: Wire, base_url: BaseUrl, key: Option<Key>) -> Source {
        Source {
            name: name.into(),
            wire,
            base_url,
            key,
            replays: Replays::No,
            window: None,
            naming: Naming::Short,
            calls: CallFormat::Tools,
            timeouts: Timeouts::default(),
            retry: Retry::default(),
        }
    }

    fn endpoint(&self, model: &str, session: &SessionId, calls: CallFormat) -> Endpoint {
        let session = (self.replays == Replays::Yes).then(|| session.to_string());
        Endpoint {
            name: self.name.clone(),
            timeouts: self.timeouts,
            retry: self.retry,
            session,
            calls,
            ..Endpoint::new(self.base_url.clone(), self.key.clone(), model)
        }
    }

    pub(super) fn seller(&self) -> Seller {
        Seller::of(self.wire, &Endpoint::new(self.base_url.clone(), self.key.clone(), ""))
    }
}

/// The providers of a hall, each with a limit for its calls.
#[derive(Clone, Default)]
pub(super) struct Sources(Vec<(Source, Arc<CallLimiter>)>);

impl Sources {
    pub(super) fn add(&mut self, source: Source, calls: usize) {
        self.0.retain(|(before, _)| before.name != source.name);
        self.0.push((source, Arc::new(CallLimiter::new(calls))));
    }

    pub(super) fn set_calls_at_once(&mut self, calls: usize) {
        for (_, limiter) in &mut self.0 {
            *limiter = Arc::new(CallLimiter::new(calls));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter().map(|(source, _)| source)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn get(&self, name: &str) -> Option<&(Source, Arc<CallLimiter>)> {
        self.0.iter().find(|(source, _)| source.name == name)
    }

    /// How a provider's models make calls.
    pub(super) fn calls(&self, name: &str) -> CallFormat {
        self.get(name).map(|(source, _)| source.calls).unwrap_or_default()
    }

    /// Who is paid at a provider.
    pub(super) fn seller(&self, name: &str) -> Option<Seller> {
        self.get(name).map(|(source, _)| source.seller())
    }

    /// Who has a model that was named without its provider.
    pub(super) fn seller_of(&self, model: &str) -> Result<&str, ModelsError> {
        let begins = |starts: &[&str]| starts.iter().any(|start| model.starts_with(start));
        let short: Vec<&Source> = self.iter().filter(|source| source.naming == Naming::Short).collect();
        match short.as_slice() {
            // Whoever set up one provider alone means that one: proxies have everybody's models.
            [only] if !only.base_url.is_makers() => Ok(&only.name),
            _ if begins(&["claude-"]) => Ok(ANTHROPIC),
            _ if begins(&["gpt-", "chatgpt-", "o1", "o3", "o4"]) => Ok(OPENAI),
            [only] => Ok(&only.name),
            _ => {
                let known: Vec<&str> = self.iter().map(|source| source.name.as_str()).collect();
                Err(unclear(model, &known.join(", ")))
            }
        }
    }

    /// Sets a model up for a session, at the prices that were fixed for it.
    pub(super) fn slot(
        &self,
        name: &ModelName,
        session: &SessionId,
        book: &PriceBook,
        locked: &Locked,
    ) -> Result<ModelSlot, ModelsError> {
        let (source, limiter) = self.get(&name.source).ok_or_else(|| no_source(name))?;
        let endpoint = source.endpoint(&name.model, session, locked.calls);
        let seller = source.seller();
        let mut book = book.clone();
        // A table that has changed since, as with a newer program: what was fixed counts.
        if book.price(&seller, &name.model).as_ref() != Ok(&locked.price) {
            book = book.with_price(&name.model, locked.price);
        }
        let window = source.window.or_else(|| book.window(&seller, &name.model)).unwrap_or(WINDOW_TOKENS);
        let model = Arc::new(Provider::new(source.wire, endpoint));
        let mut slot = slot(model, book, seller, name, window, (source.replays, Arc::clone(limiter)))?;
        if locked.calls == CallFormat::Json {
            slot.tariff.max_tokens = slot.tariff.max_tokens.min(JSON_TURN_TOKENS_MAX);
        }
        Ok(slot)
    }
}
