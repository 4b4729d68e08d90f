//! What models cost: as the config says, as a local server's tariff, or as the price table of `genai-prices` has it. A
//! model that is in none of them has no price, and is never taken to be free.

use std::collections::BTreeMap;
use std::time::SystemTime;

use guildhall_agent::Usage;
#[cfg(feature = "http")]
use guildhall_agent::Wire;
use guildhall_kernel::{Msat, Tariff};

use super::{LOCAL_PRICE, Price, Rate, Usd, table};
#[cfg(feature = "http")]
use crate::http::Endpoint;

/// The most output tokens to ask for in one reply, unless a model can't give so many.
pub const REPLY_TOKENS_MAX: u32 = 8192;

/// Models that give fewer, by how their names begin.
const SHORT_REPLIES: [(&str, u32); 5] =
    [("claude-3-haiku", 4096), ("claude-3-opus", 4096), ("claude-3-sonnet", 4096), ("gpt-3.5", 4096), ("gpt-4-", 4096)];

/// Up to here the table is asked for its dearest tier, unless a model's window is smaller.
const WINDOW_TOKENS_MAX: u64 = 1_000_000;

/// Up to here a prompt pays the lowest tier everywhere.
const SMALL_TOKENS: u64 = 1000;

/// Who is paid for tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seller {
    /// Nobody: the server is the user's own.
    Local,
    /// A provider, by its id in the price table.
    Provider(String),
}

#[cfg(feature = "http")]
impl Seller {
    /// Returns who is paid at an endpoint. A place the table does not know is taken to be a proxy of the protocol's
    /// maker: a model that the maker does not sell has no price there.
    pub fn of(wire: Wire, endpoint: &Endpoint) -> Seller {
        if endpoint.is_local() || wire == Wire::Inside {
            return Seller::Local;
        }
        let maker = if wire == Wire::Anthropic { "anthropic" } else { "openai" };
        Seller::Provider(table::provider_at(endpoint.base_url.as_str()).unwrap_or(maker).to_owned())
    }
}

/// There is no price for a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no price is known for the model {model:?} of {seller}: set its price per million tokens in the config")]
pub struct NoPrice {
    /// The model.
    pub model: String,
    /// Who sells it.
    pub seller: String,
}

/// A model of the price table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Who sells it.
    pub provider: String,
    /// Its full name.
    pub model: String,
    /// Its price for prompts of usual length.
    pub price: Price,
    /// How many tokens its window has, if that is known.
    pub window: Option<u64>,
}

/// The prices of one moment and the rate of that moment. Both are locked when a session's request opens.
#[derive(Clone, Debug)]
pub struct PriceBook {
    rate: Rate,
    at: SystemTime,
    set: BTreeMap<String, Price>,
    prompt_tokens_max: u64,
}

impl PriceBook {
    /// Opens the book at a moment.
    pub fn new(rate: Rate, at: SystemTime) -> PriceBook {
        PriceBook { rate, at, set: BTreeMap::new(), prompt_tokens_max: WINDOW_TOKENS_MAX }
    }

    /// Sets a model's price, as the config has it. It counts more than the table and a local server's tariff.
    #[must_use]
    pub fn with_price(mut self, model: impl Into<String>, price: Price) -> PriceBook {
        self.set.insert(model.into(), price);
        self
    }

    /// Promises that no prompt will be longer: tariffs leave out the tiers that only longer ones pay.
    #[must_use]
    pub fn with_prompt_max(mut self, tokens: u64) -> PriceBook {
        self.prompt_tokens_max = tokens.clamp(SMALL_TOKENS, WINDOW_TOKENS_MAX);
        self
    }

    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns what a usage costs. The dollar amount is rounded to its billionth, the result once, upwards.
    pub fn cost(&self, seller: &Seller, model: &str, usage: &Usage) -> Result<Msat, NoPrice> {
        let dollars = match self.price_set(seller, model) {
            Some(price) => price.of(usage),
            None => Some(self.calculated(seller, model, usage)?.total),
        };
        // More than there is: no purse can pay it, and its hold is all that is charged.
        Ok(dollars.map_or(Msat::SUPPLY, |dollars| self.rate.to_msat(dollars)))
    }

    /// Returns the prices that a contract holds by: the most that a token of input and of output can cost. That is the
    /// dearest tier that a prompt within the model's window can reach, and input as it costs when it is written to a cache.
    pub fn tariff(&self, seller: &Seller, model: &str) -> Result<Tariff, NoPrice> {
        let price = match self.price_set(seller, model) {
            Some(price) => price,
            None => self.price_at(seller, model, self.prompt_max(seller, model))?,
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

    /// Lists the models of a provider that take and give text for money, in the table's order.
    pub fn listed(&self, provider: &str) -> Vec<Listed> {
        let seller = Seller::Provider(provider.to_owned());
        let priced = table::models_of(provider).into_iter().filter_map(|(model, window)| {
            let price = self.price(&seller, &model).ok()?;
            let is_sold = price.input > Usd::default() && price.output > Usd::default();
            is_sold.then(|| Listed { provider: provider.to_owned(), model, price, window })
        });
        priced.collect()
    }

    fn price_set(&self, seller: &Seller, model: &str) -> Option<Price> {
        let local = match seller {
            Seller::Local => Some(LOCAL_PRICE),
            Seller::Provider(_) => None,
        };
        self.set.get(model).copied().or(local)
    }

    /// Returns the prices per million in a call of that many tokens.
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

    fn prompt_max(&self, seller: &Seller, model: &str) -> u64 {
        let window = self.window(seller, model).unwrap_or(WINDOW_TOKENS_MAX);
        window.clamp(SMALL_TOKENS, self.prompt_tokens_max)
    }

    /// Returns how many tokens a model can be shown, if the table says.
    pub fn window(&self, seller: &Seller, model: &str) -> Option<u64> {
        let found = self.calculated(seller, model, &Usage::default()).ok()?;
        table::models_of(&found.provider).into_iter().find(|(model, _)| *model == found.model)?.1
    }

    fn calculated(&self, seller: &Seller, model: &str, usage: &Usage) -> Result<Calculated, NoPrice> {
        let Seller::Provider(provider) = seller else { return Err(no_price(seller, model)) };
        table::calculated(provider, model, usage, self.at).ok_or_else(|| no_price(seller, model))
    }
}

/// What the table says of a usage.
pub(super) struct Calculated {
    pub(super) input: Usd,
    pub(super) output: Usd,
    pub(super) total: Usd,
    pub(super) provider: String,
    pub(super) model: String,
}

fn no_price(seller: &Seller, model: &str) -> NoPrice {
    let seller = match seller {
        Seller::Local => "a local server",
        Seller::Provider(provider) => provider,
    };
    NoPrice { model: model.to_owned(), seller: seller.to_owned() }
}
