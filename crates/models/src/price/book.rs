//! Prices of models: from the config, the fixed price of local servers, or the price table. A model without a price is an error,
//! never free.

use std::collections::BTreeMap;
use std::time::SystemTime;

use guildhall_agent::Usage;
#[cfg(feature = "http")]
use guildhall_agent::Wire;
use guildhall_kernel::{Msat, Tariff};

use super::{LOCAL_PRICE, Price, Rate, Usd, table};
#[cfg(feature = "http")]
use crate::http::Endpoint;

/// The most output tokens of one reply, unless the model has a lower limit.
pub const REPLY_TOKENS_MAX: u32 = 8192;

/// Models with a lower limit, by the start of their names.
const SHORT_REPLIES: [(&str, u32); 5] =
    [("claude-3-haiku", 4096), ("claude-3-opus", 4096), ("claude-3-sonnet", 4096), ("gpt-3.5", 4096), ("gpt-4-", 4096)];

/// The prompt length for which the most expensive tier is looked up, unless the model's window is smaller.
const WINDOW_TOKENS_MAX: u64 = 1_000_000;

/// A prompt of this length pays the cheapest tier of every model.
const SMALL_TOKENS: u64 = 1000;

/// The party that is paid for tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seller {
    /// Nobody: the server belongs to the user.
    Local,
    /// A provider, by its id in the price table.
    Provider(String),
}

#[cfg(feature = "http")]
impl Seller {
    /// Returns the seller at an endpoint. A URL that the table does not know counts as a proxy of Anthropic or OpenAI, by its
    /// protocol. A model that this company does not sell has no price there.
    pub fn of(wire: Wire, endpoint: &Endpoint) -> Seller {
        if endpoint.is_local() || wire == Wire::Inside {
            return Seller::Local;
        }
        let company = if wire == Wire::Anthropic { "anthropic" } else { "openai" };
        Seller::Provider(table::provider_at(endpoint.base_url.as_str()).unwrap_or(company).to_owned())
    }
}

/// The price of a model is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no price is known for the model {model:?} of {seller}")]
pub struct NoPrice {
    /// The model.
    pub model: String,
    /// The provider that sells the model.
    pub seller: String,
}

/// A model of the price table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The provider that sells the model.
    pub provider: String,
    /// The full name.
    pub model: String,
    /// The price for prompts of usual length.
    pub price: Price,
    /// The size of the model's window in tokens, if known.
    pub window: Option<u64>,
}

/// The prices and the rate at one point in time. Both stay fixed for the duration of a root contract.
#[derive(Clone, Debug)]
pub struct PriceBook {
    rate: Rate,
    at: SystemTime,
    set_prices: BTreeMap<String, Price>,
    prompt_tokens_max: u64,
}

impl PriceBook {
    /// Creates the price book for a point in time.
    pub fn new(rate: Rate, at: SystemTime) -> PriceBook {
        PriceBook { rate, at, set_prices: BTreeMap::new(), prompt_tokens_max: WINDOW_TOKENS_MAX }
    }

    /// Sets the price of a model from the config. It replaces the price of the table and of local servers.
    #[must_use]
    pub fn with_price(mut self, model: impl Into<String>, price: Price) -> PriceBook {
        self.set_prices.insert(model.into(), price);
        self
    }

    /// Limits the length of prompts. Tariffs then ignore the tiers of longer prompts.
    #[must_use]
    pub fn with_prompt_max(mut self, tokens: u64) -> PriceBook {
        self.prompt_tokens_max = tokens.clamp(SMALL_TOKENS, WINDOW_TOKENS_MAX);
        self
    }

    /// Returns the cost of a usage. The dollar amount is rounded to the nearest billionth, the result upwards.
    pub fn cost(&self, seller: &Seller, model: &str, usage: &Usage) -> Result<Msat, NoPrice> {
        let dollars = match self.price_set(seller, model) {
            Some(price) => price.of(usage),
            None => Some(self.calculated(seller, model, usage)?.total),
        };
        // The amount is too large for any purse. A contract is never charged more than its hold.
        Ok(dollars.map_or(Msat::SUPPLY, |dollars| self.rate.to_msat(dollars)))
    }

    /// Returns the prices for the holds of a contract: the highest price of an input token and of an output token. These are the
    /// prices of the most expensive tier that a prompt within the model's window can reach; input includes writing to a cache.
    pub fn tariff(&self, seller: &Seller, model: &str) -> Result<Tariff, NoPrice> {
        let price = if let Some(price) = self.price_set(seller, model) {
            price
        } else {
            let window = self.window(seller, model).unwrap_or(WINDOW_TOKENS_MAX);
            self.price_at(seller, model, window.clamp(SMALL_TOKENS, self.prompt_tokens_max))?
        };
        let input = price.input.max(price.cache_write).max(price.cache_read);
        let short = SHORT_REPLIES.iter().find(|(start, _)| model.starts_with(start));
        Ok(Tariff {
            input: self.rate.to_msat(input),
            output: self.rate.to_msat(price.output),
            max_tokens: short.map_or(REPLY_TOKENS_MAX, |(_, tokens)| *tokens),
        })
    }

    /// Returns a model's price for prompts of usual length.
    pub fn price(&self, seller: &Seller, model: &str) -> Result<Price, NoPrice> {
        self.price_set(seller, model).map_or_else(|| self.price_at(seller, model, SMALL_TOKENS), Ok)
    }

    /// Lists the models of a provider that have a price for input and for output, in the table's order.
    pub fn listed(&self, provider: &str) -> Vec<Listed> {
        let seller = Seller::Provider(provider.to_owned());
        let priced = table::models_of(provider).filter_map(|(model, window)| {
            let price = self.price(&seller, model).ok()?;
            let is_sold = price.input > Usd::default() && price.output > Usd::default();
            is_sold.then(|| Listed { provider: provider.to_owned(), model: model.to_owned(), price, window })
        });
        priced.collect()
    }

    fn price_set(&self, seller: &Seller, model: &str) -> Option<Price> {
        let local = match seller {
            Seller::Local => Some(LOCAL_PRICE),
            Seller::Provider(_) => None,
        };
        self.set_prices.get(model).copied().or(local)
    }

    /// Returns the prices per million tokens for a call with this many tokens.
    fn price_at(&self, seller: &Seller, model: &str, tokens: u64) -> Result<Price, NoPrice> {
        let usage = Usage { input: tokens, output: tokens, ..Usage::default() };
        let plain = self.calculated(seller, model, &usage)?;
        let read = self.calculated(seller, model, &Usage { cache_read: tokens, ..usage })?;
        let written = self.calculated(seller, model, &Usage { cache_write: tokens, ..usage })?;
        if plain.input.nanos() == 0 && plain.output.nanos() == 0 {
            return Err(no_price(seller, model));
        }
        let per_million = |usd: Usd| {
            Usd::from_nanos(usd.nanos().saturating_mul(WINDOW_TOKENS_MAX.into()) / u128::from(tokens.max(1)))
        };
        Ok(Price {
            input: per_million(plain.input),
            cache_read: per_million(read.input),
            cache_write: per_million(written.input),
            output: per_million(plain.output),
        })
    }

    /// Returns the size of a model's window in tokens, if the table has it.
    pub fn window(&self, seller: &Seller, model: &str) -> Option<u64> {
        match seller {
            Seller::Provider(provider) => table::window(provider, model),
            Seller::Local => None,
        }
    }

    fn calculated(&self, seller: &Seller, model: &str, usage: &Usage) -> Result<Calculated, NoPrice> {
        let Seller::Provider(provider) = seller else { return Err(no_price(seller, model)) };
        table::cost(provider, model, usage, self.at).ok_or_else(|| no_price(seller, model))
    }
}

/// The cost of a usage according to the table.
pub(super) struct Calculated {
    pub(super) input: Usd,
    pub(super) output: Usd,
    pub(super) total: Usd,
}

fn no_price(seller: &Seller, model: &str) -> NoPrice {
    let seller = match seller {
        Seller::Local => "a local server",
        Seller::Provider(provider) => provider,
    };
    NoPrice { model: model.to_owned(), seller: seller.to_owned() }
}
