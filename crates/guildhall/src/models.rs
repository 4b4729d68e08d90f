//! The models of a hall: providers by name, models inside the process, short names, prices, and the dated exchange rate at which
//! amounts are shown in two currencies.

#[cfg(feature = "http")]
mod sources;
#[cfg(not(feature = "http"))]
#[path = "models/no_sources.rs"]
mod sources;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use guildhall_agent::{Billing, CallFormat, Model, ModelError, Reply, TokenCounts, model_fn};
use guildhall_kernel::{Msat, Tariff};
use guildhall_local::{CallLimiter, Replays, SessionId};
#[cfg(feature = "http")]
use guildhall_models::Listed;
use guildhall_models::{ALIASES, Chosen, NoPrice, Price, PriceBook, Rate, Seller, choose};
use serde::{Deserialize, Serialize};

use self::sources::Sources;
#[cfg(feature = "http")]
pub use self::sources::{Naming, Source};
use crate::task_list_model::TaskListModel;

/// The default number of calls to one provider that run at the same time. After a "too many requests" answer, this number is
/// lower for a while.
pub const CALLS_AT_ONCE: usize = 32;

/// The highest number of calls to one provider that can run at the same time: more than any provider accepts, and few enough
/// for this machine.
pub const CALLS_AT_ONCE_MAX: usize = 10_000;

/// The longest prompt, in tokens, even if the model's window is larger: several providers charge more for longer prompts.
const WINDOW_TOKENS_MAX: u64 = 200_000;

/// The window of a model whose window is not known.
const WINDOW_TOKENS: u64 = 128_000;

/// The price of a bitcoin in dollars when this version was made, and the date.
const RATE: (&str, &str) = ("100000", "2026-11-15");

/// The longest reply of a task list. It costs nothing, but there must be a limit.
const TASK_LIST_TOKENS_MAX: u32 = 8192;

/// The provider name of the maker of Claude.
pub const ANTHROPIC: &str = "anthropic";

/// The provider name of the maker of GPT.
pub const OPENAI: &str = "openai";

/// The price of a bitcoin in dollars, and its date.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatedRate {
    /// Dollars per bitcoin.
    pub usd_per_btc: Rate,
    /// The date, as a person wrote it.
    pub date: String,
}

impl Default for DatedRate {
    /// Returns the rate at the time when this version was made.
    fn default() -> DatedRate {
        let (usd_per_btc, date) = RATE;
        DatedRate { usd_per_btc: Rate::parse(usd_per_btc).expect("a constant that is a rate"), date: date.to_owned() }
    }
}

/// Why a model can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelsError {
    /// No model was named, and there is no default.
    #[error("no model was chosen")]
    NoneChosen,
    /// The provider of the model is not set up.
    #[error("model {model} is served by {source_name}, which is not set up here")]
    NoSource {
        /// The model.
        model: String,
        /// The provider.
        source_name: String,
    },
    /// Several providers could serve the model, or none.
    #[error(
        "can't tell which provider serves the model {model:?}: write it as PROVIDER/{model}. Providers that are set up: {known}"
    )]
    Unclear {
        /// The model.
        model: String,
        /// The providers that are set up.
        known: String,
    },
    /// The price of the model is not known.
    #[error(transparent)]
    NoPrice(#[from] NoPrice),
}

/// The receiver of the payment for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paid {
    /// A provider sends a bill.
    Provider,
    /// Nobody sends a bill: the model runs on this machine.
    Nobody,
}

/// The models of a hall.
#[derive(Clone)]
pub struct Models {
    rate: DatedRate,
    sources: Sources,
    inside: BTreeMap<String, Inside>,
    aliases: BTreeMap<String, String>,
    prices: BTreeMap<String, Price>,
    default: Option<String>,
    calls_at_once: usize,
}

/// A model inside this process.
#[derive(Clone)]
struct Inside {
    model: Arc<dyn Model>,
    price: Price,
    replays: Replays,
    limiter: Arc<CallLimiter>,
}

/// A model that was chosen: its provider and its full name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    /// The provider. For a model inside the process, this is the model's own name.
    pub source: String,
    /// The model's full name at the provider.
    pub model: String,
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.source == self.model { f.write_str(&self.model) } else { write!(f, "{}/{}", self.source, self.model) }
    }
}

/// The parts of a model that an agent needs.
#[derive(Clone)]
pub(crate) struct ModelSlot {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) price: guildhall_agent::Price,
    pub(crate) tariff: Tariff,
    pub(crate) window: u64,
    pub(crate) replays: Replays,
    pub(crate) limiter: Arc<CallLimiter>,
    pub(crate) counts: Arc<TokenCounts>,
}

impl ModelSlot {
    /// The slot of a task list, which calls no real model and costs nothing.
    pub(crate) fn of_task_list() -> ModelSlot {
        ModelSlot {
            model: Arc::new(TaskListModel),
            price: Arc::new(|_| Msat::ZERO),
            tariff: Tariff { input: Msat::ZERO, output: Msat::ZERO, max_tokens: TASK_LIST_TOKENS_MAX },
            window: u64::MAX,
            replays: Replays::Yes,
            limiter: Arc::new(CallLimiter::new(1)),
            counts: Arc::default(),
        }
    }
}

/// The rate and the prices of a root, fixed when the root was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locked {
    /// The rate.
    pub rate: DatedRate,
    /// The moment at which the price table was read, in seconds since 1970.
    pub at_s: u64,
    /// The price of the model, per million tokens, for prompts of usual length.
    pub price: Price,
    /// Whether nobody bills the model. Its price is then nominal and only counts against the budget.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nominal: bool,
    /// How the model makes calls.
    #[serde(default, skip_serializing_if = "is_tools")]
    pub calls: CallFormat,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_tools(calls: &CallFormat) -> bool {
    *calls == CallFormat::Tools
}

impl Default for Models {
    /// Returns models without any provider, at the exchange rate of this version.
    fn default() -> Models {
        Models::new(DatedRate::default())
    }
}

impl Models {
    /// Returns models without any provider.
    pub fn new(rate: DatedRate) -> Models {
        let (inside, aliases, prices) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Models {
            rate,
            sources: Sources::default(),
            inside,
            aliases,
            prices,
            default: None,
            calls_at_once: CALLS_AT_ONCE,
        }
    }

    /// Adds a provider. It replaces an earlier provider of the same name.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_source(mut self, source: Source) -> Models {
        self.sources.add(source, self.calls_at_once);
        self
    }

    /// Adds a model that runs inside this process. A model that replays gives the same reply to the same ask without further
    /// cost.
    #[must_use]
    pub fn with_model(
        mut self,
        name: impl Into<String>,
        model: impl Model + 'static,
        price: Price,
        replays: Replays,
    ) -> Models {
        let model = Arc::new(model);
        let limiter = Arc::new(CallLimiter::new(self.calls_at_once));
        self.inside.insert(name.into(), Inside { model, price, replays, limiter });
        self
    }

    /// Sets how many calls to each provider run at the same time: at least one, and at most [`CALLS_AT_ONCE_MAX`]. A rate limit
    /// lowers the number for a while.
    #[must_use]
    pub fn with_calls_at_once(mut self, calls: usize) -> Models {
        let calls = calls.clamp(1, CALLS_AT_ONCE_MAX);
        self.calls_at_once = calls;
        self.sources.set_calls_at_once(calls);
        for inside in self.inside.values_mut() {
            inside.limiter = Arc::new(CallLimiter::new(calls));
        }
        self
    }

    /// Adds a short name.
    #[must_use]
    pub fn with_alias(mut self, alias: impl Into<String>, model: impl Into<String>) -> Models {
        self.aliases.insert(alias.into(), model.into());
        self
    }

    /// Sets the price of a model.
    #[must_use]
    pub fn with_price(mut self, model: impl Into<String>, price: Price) -> Models {
        self.prices.insert(model.into(), price);
        self
    }

    /// Sets the default model.
    #[must_use]
    pub fn with_default(mut self, model: impl Into<String>) -> Models {
        self.default = Some(model.into());
        self
    }

    /// Sets the default model, if none is set yet.
    pub(crate) fn or_default(mut self, model: String) -> Models {
        self.default.get_or_insert(model);
        self
    }

    /// Returns the rate.
    pub fn rate(&self) -> &DatedRate {
        &self.rate
    }

    /// Returns the providers.
    #[cfg(feature = "http")]
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter()
    }

    /// Finds a model by a short name, a full name or `PROVIDER/NAME`. `None` means the default model.
    pub fn find(&self, name: Option<&str>) -> Result<ModelName, ModelsError> {
        // The name of a model inside the process has priority over a short name of another model.
        let own = name.or(self.default.as_deref()).map(|name| self.unalias(name));
        if let Some(own) = own.filter(|own| self.inside.contains_key(*own)) {
            return Ok(ModelName { source: own.to_owned(), model: own.to_owned() });
        }
        let named = name.map(|name| self.unalias(name));
        let model = match (named.map(choose), &self.default) {
            (Some(Chosen::Model(model)), _) => model,
            (Some(Chosen::Inherit) | None, Some(default)) => match choose(self.unalias(default)) {
                Chosen::Model(model) => model,
                Chosen::Inherit => return Err(ModelsError::NoneChosen),
            },
            (Some(Chosen::Inherit) | None, None) => return Err(ModelsError::NoneChosen),
        };
        if self.inside.contains_key(&model) {
            return Ok(ModelName { source: model.clone(), model });
        }
        let found = match model.split_once('/') {
            Some((source, rest)) if self.sources.has(source) => {
                return Ok(ModelName { source: source.to_owned(), model: rest.to_owned() });
            }
            Some((source @ (ANTHROPIC | OPENAI), _)) => source,
            _ => self.sources.seller_of(&model)?,
        };
        let source = found.to_owned();
        if self.sources.has(&source) {
            Ok(ModelName { source, model })
        } else {
            Err(ModelsError::NoSource { model, source_name: source })
        }
    }

    /// Finds the model that an agent's file names, if its provider is set up and its price is known. A short name such as
    /// `opus` means the model of its maker. A server on this machine does not serve that model.
    pub fn find_own(&self, name: &str, now: SystemTime) -> Result<ModelName, ModelsError> {
        let found = self.find(Some(name))?;
        let is_short = ALIASES.iter().any(|(alias, _)| alias.eq_ignore_ascii_case(name.trim()));
        let is_local = matches!(self.sources.seller(&found.source), Some(Seller::Local));
        if is_short && is_local && !self.aliases.contains_key(name) && found.source != ANTHROPIC {
            return Err(ModelsError::NoSource { model: found.model, source_name: ANTHROPIC.to_owned() });
        }
        self.lock(&found, now)?;
        Ok(found)
    }

    /// Returns all names of a model, the shortest first. `model` is its full name here.
    pub(crate) fn names_of(&self, model: &str) -> Vec<String> {
        let short = ALIASES.iter().map(|(alias, _)| *alias).chain(self.aliases.keys().map(String::as_str));
        let means = |name: &&str| self.find(Some(name)).is_ok_and(|found| found.to_string() == model);
        let plain = model.split_once('/').map(|(_, plain)| plain);
        let mut names: Vec<String> = short.chain(plain).chain([model]).filter(means).map(str::to_owned).collect();
        names.sort_by_key(String::len);
        names.dedup();
        names
    }

    /// Returns who is paid for a model.
    pub fn paid(&self, name: &ModelName) -> Paid {
        match (self.inside.get(&name.source).map(|inside| inside.model.billing()), self.sources.seller(&name.source)) {
            (Some(Billing::Billed), _) | (None, Some(Seller::Provider(_))) => Paid::Provider,
            (Some(Billing::Nominal), _) | (None, Some(Seller::Local) | None) => Paid::Nobody,
        }
    }

    /// Fixes the rate and the price of a model for a root.
    pub fn lock(&self, name: &ModelName, now: SystemTime) -> Result<Locked, ModelsError> {
        let at_s = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let price = match (self.inside.get(&name.source), self.sources.seller(&name.source)) {
            (Some(inside), _) => inside.price,
            (None, Some(seller)) => self.book(at_s).price(&seller, &name.model)?,
            (None, None) => return Err(no_source(name)),
        };
        let nominal = self.paid(name) == Paid::Nobody;
        let calls = self.sources.calls(&name.source);
        Ok(Locked { rate: self.rate.clone(), at_s, price, nominal, calls })
    }

    /// Lists the models that can be used, with their prices.
    #[cfg(feature = "http")]
    pub fn listed(&self, now: SystemTime) -> Vec<Listed> {
        let at_s = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let book = self.book(at_s);
        let sold = self.sources().flat_map(|source| match source.seller() {
            Seller::Provider(provider) => {
                let of_source = |listed: Listed| Listed { provider: source.name.clone(), ..listed };
                book.listed(&provider).into_iter().map(of_source).collect()
            }
            Seller::Local => Vec::new(),
        });
        let set = self.prices.iter().map(|(model, price)| Listed {
            provider: "config".to_owned(),
            model: model.clone(),
            price: *price,
            window: None,
        });
        sold.chain(set).collect()
    }

    /// Returns the full name that a short name stands for. Any other name is returned unchanged.
    pub fn unalias<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    pub(crate) fn book(&self, at_s: u64) -> PriceBook {
        // This program never stores an impossible time. If one is stored anyway, the prices stored with it still apply.
        let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(at_s)).unwrap_or(SystemTime::UNIX_EPOCH);
        let book = PriceBook::new(self.rate.usd_per_btc, at).with_prompt_max(WINDOW_TOKENS_MAX);
        self.prices.iter().fold(book, |book, (model, price)| book.with_price(model, *price))
    }

    /// Prepares a model for a session, at the prices that were fixed for the session.
    pub(crate) fn slot(
        &self,
        name: &ModelName,
        session: &SessionId,
        locked: &Locked,
    ) -> Result<ModelSlot, ModelsError> {
        let at = Models { rate: locked.rate.clone(), ..self.clone() };
        if let Some(Inside { model, replays, limiter, .. }) = self.inside.get(&name.source) {
            let book = at.book(locked.at_s).with_price(&name.model, locked.price);
            let (model, limiter) = (Arc::clone(model), Arc::clone(limiter));
            return slot(model, book, Seller::Local, name, WINDOW_TOKENS, (*replays, limiter));
        }
        self.sources.slot(name, session, &at.book(locked.at_s), locked)
    }

    /// Prepares the place of a model that can't be used any more, at the prices that were fixed for the session. Each call fails
    /// and costs nothing.
    pub(crate) fn gone(&self, model: &str, why: &str, locked: &Locked) -> Result<ModelSlot, ModelsError> {
        let at = Models { rate: locked.rate.clone(), ..self.clone() };
        let book = at.book(locked.at_s).with_price(model, locked.price);
        let name = ModelName { source: model.to_owned(), model: model.to_owned() };
        let why = why.to_owned();
        let failing = model_fn(move |_| std::future::ready(Err::<Reply, _>(ModelError::NoModel { why: why.clone() })));
        let limiter = Arc::new(CallLimiter::new(1));
        slot(Arc::new(failing), book, Seller::Local, &name, WINDOW_TOKENS, (Replays::No, limiter))
    }
}

fn slot(
    model: Arc<dyn Model>,
    book: PriceBook,
    seller: Seller,
    name: &ModelName,
    window: u64,
    (replays, limiter): (Replays, Arc<CallLimiter>),
) -> Result<ModelSlot, ModelsError> {
    let tariff = book.tariff(&seller, &name.model)?;
    let named = name.model.clone();
    let price = Arc::new(move |usage: &guildhall_agent::Usage| {
        // `book.tariff` above found the price of this model, so `cost` finds it, too.
        book.cost(&seller, &named, usage).unwrap_or(Msat::SUPPLY)
    });
    Ok(ModelSlot {
        model,
        price,
        tariff,
        window: window.min(WINDOW_TOKENS_MAX),
        replays,
        limiter,
        counts: Arc::default(),
    })
}

fn unclear(model: &str, known: &str) -> ModelsError {
    let known = if known.is_empty() { "none" } else { known };
    ModelsError::Unclear { model: model.to_owned(), known: known.to_owned() }
}

fn no_source(name: &ModelName) -> ModelsError {
    ModelsError::NoSource { model: name.model.clone(), source_name: name.source.clone() }
}
