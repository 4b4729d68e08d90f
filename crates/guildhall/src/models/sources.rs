//! Providers: servers that models are called on by name, over HTTP.

use std::sync::Arc;

use guildhall_agent::{CallFormat, Wire};
use guildhall_local::{CallLimiter, Replays, SessionId};
use guildhall_models::{BaseUrl, Endpoint, Key, PriceBook, Provider, Retry, Seller, Timeouts};

use super::{ANTHROPIC, Locked, ModelName, ModelSlot, ModelsError, OPENAI, WINDOW_TOKENS, no_source, slot, unclear};

/// The most tokens of a JSON turn. Small models that do not stop are cut off here. A report that is cut off still counts.
const JSON_TURN_TOKENS_MAX: u32 = 2048;

/// A provider: a server that models are called on by name.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, as in `anthropic/claude-sonnet-5-5`.
    pub name: String,
    /// The protocol of the provider.
    pub wire: Wire,
    /// The address of the provider.
    pub base_url: BaseUrl,
    /// The API key, if the provider needs one.
    pub key: Option<Key>,
    /// Whether the provider answers the same request key with the same reply. If it does not, a call that a crash interrupted
    /// counts as lost.
    pub replays: Replays,
    /// The window of its models, in tokens, if the price table does not list it.
    pub window: Option<u64>,
    /// Which names select the models of this provider.
    pub naming: Naming,
    /// How its models make tool calls. A session keeps the format that it was started with.
    pub calls: CallFormat,
    /// The timeouts of a request.
    pub timeouts: Timeouts,
    /// When and how often to try again.
    pub retry: Retry,
}

/// Which names select the models of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// The model's own name, if it is unambiguous, and `PROVIDER/NAME`.
    Short,
    /// Only `PROVIDER/NAME`, so that this provider is never selected by accident.
    Full,
}

impl Source {
    /// Returns a provider with default values for all other fields.
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

/// The providers of a hall, each with a limiter for its calls.
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

    /// How a provider's models make tool calls.
    pub(super) fn calls(&self, name: &str) -> CallFormat {
        self.get(name).map(|(source, _)| source.calls).unwrap_or_default()
    }

    /// The seller behind a provider.
    pub(super) fn seller(&self, name: &str) -> Option<Seller> {
        self.get(name).map(|(source, _)| source.seller())
    }

    /// The provider of a model that was named without its provider.
    pub(super) fn seller_of(&self, model: &str) -> Result<&str, ModelsError> {
        let begins = |starts: &[&str]| starts.iter().any(|start| model.starts_with(start));
        let short: Vec<&Source> = self.iter().filter(|source| source.naming == Naming::Short).collect();
        match short.as_slice() {
            // With only one provider set up, a model of any maker is called there: a proxy serves models of all makers.
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

    /// Prepares a model for a session, at the prices that were fixed for the session.
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
        // The price table may have changed since, for example with a newer program. The fixed price applies.
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
