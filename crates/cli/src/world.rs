//! The environment of this program: variables, config, providers. No other part of Guildhall reads them.

use std::collections::BTreeMap;
use std::env::{self, VarError};
use std::path::PathBuf;
use std::sync::Arc;

use guildhall::agent::{Delta, Wire};
use guildhall::kernel::{AgentName, AskKey, Msat, PayeeName};
use guildhall::lightning::{Lnbits, PlainHttp, WalletKey, WalletUrl};
use guildhall::local::{Replays, SessionId};
use guildhall::providers::{BaseUrl, Key, REHEARSAL_PRICE};
use guildhall::{
    ANTHROPIC, DatedRate, Hall, HallBuilder, Models, Naming, OPENAI, Payee, Rehearsal, Source, TreasuryLimits,
};
use guildhall_server::LiveDemo;

use crate::config::local_server::LocalServerConfig;
use crate::config::serve::{OfferConfig, ServeConfig};
use crate::config::{Config, ProviderConfig, Sats, WireConfig};
use crate::exit::Failure;
use crate::local_server::{self, LOCAL};
use crate::paths::Paths;
use crate::print::{note, tame, warn};
use crate::screen;
use crate::team::Found;

/// The model name of the rehearsal: a program in place of a model, for people without a key and without a server.
pub(crate) const REHEARSAL: &str = "rehearsal";

/// The model name of the live demo of `guildhall serve`: the rehearsal, at the pace of a person who watches.
pub(crate) const LIVE_DEMO: &str = "live-demo";

/// The default port of Ollama.
const OLLAMA_PORT: &str = "11434";

/// The provider name of Ollama.
const OLLAMA: &str = "ollama";

/// The longest warning, in characters.
const WARNING_CHARS_MAX: usize = 400;

/// The variables that set up providers.
pub(crate) const VARIABLES: [&str; 5] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"];

/// The variables with the keys of the wallet.
const INVOICE_KEY: &str = "LNBITS_INVOICE_KEY";
const ADMIN_KEY: &str = "LNBITS_ADMIN_KEY";

/// The environment of this program.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) paths: Paths,
    pub(crate) models: Models,
    /// The model that the config names.
    pub(crate) named: Option<String>,
    /// The settings of the config for model servers on this machine.
    pub(crate) local: LocalServerConfig,
    /// Claude Code's directory for the user's own agents. `None` without a home directory, and in an isolated environment.
    pub(crate) claude_agents: Option<PathBuf>,
    secrets: Vec<String>,
    /// Providers of the config whose key is missing, with the variable for the key.
    keyless: BTreeMap<String, String>,
    wallet: Wallet,
    /// The settings of `guildhall serve`.
    pub(crate) serve: ServeConfig,
    pub(crate) offers: BTreeMap<String, OfferConfig>,
}

/// The wallet's keys, the payees and the limits.
#[derive(Clone, Default)]
struct Wallet {
    keys: Option<(WalletKey, Option<WalletKey>)>,
    payees: BTreeMap<AgentName, (PayeeName, Payee)>,
    /// The payees without a key, with the variable for the key.
    keyless: Vec<(String, String)>,
    limits: TreasuryLimits,
}

/// The value of a variable, if it is set and not empty. A value that can't be read is an error, because it was set for a reason.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            Err(Failure::usage(format!("the variable {name} is not UTF-8: set it to valid UTF-8, or unset it")))
        }
    }
}

/// Whether the terminal only supports plain lines, such as the terminal of an editor.
pub(crate) fn is_dumb_terminal() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

impl World {
    /// Reads the variables and the config.
    pub(crate) fn load() -> Result<World, Failure> {
        let paths = World::paths()?;
        let config = Config::read(&paths.config)?;
        let mut world = World::new(paths, &config)?;
        let home = etcetera::home_dir().ok().filter(|home| home.is_absolute());
        world.claude_agents = home.map(|home| home.join(".claude/agents"));
        world.sources_from_variables()?;
        for (name, provider) in &config.providers {
            world.configured_source(name, provider)?;
        }
        world.wallet = world.read_wallet(&config)?;
        world.defaults(config);
        world.agreed_source();
        Ok(world)
    }

    /// Where the files are, without reading any of them.
    pub(crate) fn paths() -> Result<Paths, Failure> {
        Paths::find(variable("GUILDHALL_HOME")?.map(PathBuf::from))
    }

    /// An environment with its own home directory and no model except the rehearsal.
    pub(crate) fn isolated(home: PathBuf) -> Result<World, Failure> {
        let config = Config::default();
        let mut world = World::new(Paths::find(Some(home))?, &config)?;
        world.defaults(config);
        Ok(world)
    }

    fn new(paths: Paths, config: &Config) -> Result<World, Failure> {
        let models = Models::new(rate(config)?);
        let models = models.with_model(REHEARSAL, Rehearsal, REHEARSAL_PRICE, Replays::Yes);
        // Everywhere, so that a session of the live demo can be resumed and continued in a terminal, too.
        let models = models.with_model(LIVE_DEMO, LiveDemo, REHEARSAL_PRICE, Replays::Yes);
        let (named, local) = (config.model.clone(), config.local_server.clone());
        Ok(World {
            models,
            paths,
            named,
            local,
            claude_agents: None,
            secrets: Vec::new(),
            keyless: BTreeMap::new(),
            wallet: Wallet::default(),
            serve: config.serve.clone(),
            offers: config.offers.clone(),
        })
    }

    /// Opens the hall that works on a project.
    pub(crate) fn hall(&self, project: PathBuf) -> Result<Hall, Failure> {
        Ok(self.builder(project).build()?)
    }

    /// Returns a builder for the hall of a team, with this number of parallel calls to each provider.
    pub(crate) fn hall_with(&self, project: PathBuf, found: Found, calls: usize) -> HallBuilder {
        let models = self.models.clone().with_calls_at_once(calls);
        let unpaid = found.of_project(&project);
        let builder = self.builder(project).models(models).roster(found.roster);
        unpaid.iter().fold(builder, HallBuilder::without_fee)
    }

    pub(crate) fn builder(&self, project: PathBuf) -> HallBuilder {
        let builder = Hall::builder().data(&self.paths.data).project(project).models(self.models.clone());
        let mut builder = builder.treasury_limits(self.wallet.limits.clone());
        if let Some((invoice, admin)) = &self.wallet.keys {
            builder = builder.wallet_keys(invoice.clone(), admin.clone());
        }
        for (agent, (name, payee)) in &self.wallet.payees {
            builder = builder.payee(agent.clone(), name.clone(), payee.clone());
        }
        builder
            .secrets(self.secrets.iter().cloned())
            .watch(Arc::new(show_delta))
            .warn(Arc::new(|line| warn(&tame(line, WARNING_CHARS_MAX))))
    }

    /// Reads the keys of the wallet, the payees and the limits.
    fn read_wallet(&mut self, config: &Config) -> Result<Wallet, Failure> {
        let invoice = self.wallet_key(INVOICE_KEY)?;
        let admin = self.wallet_key(ADMIN_KEY)?;
        let keys = match (invoice, admin) {
            (Some(invoice), admin) => Some((invoice, admin)),
            (None, Some(_)) => {
                return Err(Failure::usage(format!("{ADMIN_KEY} is set and {INVOICE_KEY} is not: set both")));
            }
            (None, None) => None,
        };
        let (mut payees, mut keyless) = (BTreeMap::new(), Vec::new());
        for (name, payee) in &config.payees {
            let place = format!("payees.{name} in {}", self.paths.config.display());
            let wrong = |why: String| Failure::usage(format!("{place}: {why}"));
            let agent = AgentName::parse(name).map_err(|why| wrong(why.to_string()))?;
            let payee_name = PayeeName::parse(name).map_err(|why| wrong(why.to_string()))?;
            let url = WalletUrl::parse(&payee.url, PlainHttp::Loopback).map_err(|why| wrong(why.to_string()))?;
            // Without its key, a payee earns, and its fees wait. `guildhall wallet` says so.
            let key = self.wallet_key(&payee.key_env)?;
            if key.is_none() {
                keyless.push((name.clone(), payee.key_env.clone()));
            }
            let wallet =
                key.map(|key| Lnbits::new(url, key, None)).transpose().map_err(|why| wrong(why.to_string()))?;
            payees.insert(agent, (payee_name, Payee { wallet, fee_max: payee.fee_max.0 }));
        }
        let (own, default) = (&config.wallet, TreasuryLimits::default());
        let or = |own: Option<Sats>, default: Msat| own.map_or(default, |sats| sats.0);
        let limits = TreasuryLimits {
            session_max: or(own.session_max, default.session_max),
            payout_min: or(own.payout_min, default.payout_min),
            payment_max: or(own.payment_max, default.payment_max),
            daily_max: or(own.daily_max, default.daily_max),
            ..default
        };
        Ok(Wallet { keys, payees, keyless, limits })
    }

    /// The payees whose key is missing, with the variable for the key.
    pub(crate) fn keyless_payees(&self) -> &[(String, String)] {
        &self.wallet.keyless
    }

    /// Reads a key of a wallet from a variable and adds it to the secrets, which are kept out of the journal.
    fn wallet_key(&mut self, name: &str) -> Result<Option<WalletKey>, Failure> {
        let Some(text) = variable(name)? else { return Ok(None) };
        let key = WalletKey::new(&text).map_err(|why| Failure::usage(format!("{name}: {why}")))?;
        self.secrets.push(text.trim().to_owned());
        Ok(Some(key))
    }

    /// Adds the providers that variables set up.
    fn sources_from_variables(&mut self) -> Result<(), Failure> {
        let known = [
            (ANTHROPIC, Wire::Anthropic, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", BaseUrl::anthropic()),
            (OPENAI, Wire::OpenAi, "OPENAI_API_KEY", "OPENAI_BASE_URL", BaseUrl::openai()),
        ];
        for (name, wire, key, url, makers) in known {
            let key = self.key(key)?;
            let base_url = variable(url)?.map(|text| base_url(url, &text)).transpose()?;
            if key.is_some() || base_url.is_some() {
                self.add(Source::new(name, wire, base_url.unwrap_or(makers), key));
            }
        }
        if let Some(host) = variable("OLLAMA_HOST")? {
            let base_url = base_url("OLLAMA_HOST", &ollama_url(&host))?;
            self.add(Source::new(OLLAMA, Wire::OpenAi, base_url, None));
        }
        Ok(())
    }

    fn configured_source(&mut self, name: &str, provider: &ProviderConfig) -> Result<(), Failure> {
        let place = format!("providers.{name} in {}", self.paths.config.display());
        if name.is_empty() || name.contains('/') {
            return Err(Failure::usage(format!(
                "{place}: the name of a provider must not be empty or contain a slash"
            )));
        }
        let base_url = base_url(&place, &provider.base_url)?;
        let key = match &provider.key_env {
            Some(variable) => {
                let key = self.key(variable)?;
                if key.is_none() {
                    self.keyless.insert(name.to_owned(), variable.clone());
                }
                key
            }
            None => None,
        };
        let wire = match provider.wire {
            WireConfig::Anthropic => Wire::Anthropic,
            WireConfig::OpenAi => Wire::OpenAi,
        };
        let replays = if provider.replays { Replays::Yes } else { Replays::No };
        let (window, calls) = (provider.window, provider.calls);
        self.add(Source { replays, window, calls, ..Source::new(name, wire, base_url, key) });
        Ok(())
    }

    /// Adds the server on this machine that the user agreed to, so that it can be named. This does not connect to the server.
    fn agreed_source(&mut self) {
        let is_taken = self.models.sources().any(|source| source.name == LOCAL);
        if let (Some(address), false) = (self.local.agreed().first(), is_taken) {
            self.add(local_server::source(*address, None));
        }
    }

    /// Whether the provider `local` is a server that was found, and not a server that the user set up.
    pub(crate) fn has_local(&self) -> bool {
        self.models.sources().any(|source| source.name == LOCAL && source.naming == Naming::Full)
    }

    /// Whether the user set up no provider and named no model.
    pub(crate) fn is_bare(&self) -> bool {
        self.named.is_none() && self.models.sources().all(|source| source.naming == Naming::Full)
    }

    /// The same environment with a server on this machine.
    pub(crate) fn with_local(&self, source: Source) -> World {
        World { models: self.models.clone().with_source(source), ..self.clone() }
    }

    /// Makes sure that the providers of these models have their keys. Without its key, a provider would refuse every call.
    pub(crate) fn need_keys<'a>(&self, models: impl IntoIterator<Item = &'a &'a str>) -> Result<(), Failure> {
        let providers = models.into_iter().filter_map(|model| model.split_once('/')).map(|(provider, _)| provider);
        for provider in providers {
            if let Some(variable) = self.keyless.get(provider) {
                let config = self.paths.config.display();
                return Err(Failure::usage(format!(
                    "the variable {variable} is not set, and providers.{provider} in {config} reads its key from it \
                     (key_env): set {variable}, or remove key_env if this provider needs no key"
                )));
            }
        }
        Ok(())
    }

    /// Reads a key from a variable and adds it to the secrets, which are kept out of the journal.
    fn key(&mut self, name: &str) -> Result<Option<Key>, Failure> {
        let Some(text) = variable(name)? else { return Ok(None) };
        let key = Key::new(&text).map_err(|why| Failure::usage(format!("{name}: {why}")))?;
        self.secrets.push(text.trim().to_owned());
        Ok(Some(key))
    }

    fn add(&mut self, source: Source) {
        self.models = self.models.clone().with_source(source);
    }

    /// Sets prices, short names and the default model.
    fn defaults(&mut self, config: Config) {
        let mut models = self.models.clone();
        for (model, price) in config.prices {
            models = models.with_price(model, price.into());
        }
        for (alias, model) in config.aliases {
            models = models.with_alias(alias, model);
        }
        // A provider with a key comes first: a server that needs no key has an address of its own.
        let known = [(ANTHROPIC, "sonnet"), (OPENAI, "gpt-5-mini")];
        let source = |name: &str| models.sources().find(|source| source.name == name);
        let has_key = |name: &str| source(name).is_some_and(|source| source.key.is_some());
        let default = known.iter().find(|(name, _)| has_key(name));
        let default = default.or_else(|| known.iter().find(|(name, _)| source(name).is_some()));
        let default = config.model.or_else(|| default.map(|(_, model)| (*model).to_owned()));
        if let Some(default) = default {
            models = models.with_default(default);
        }
        self.models = models;
    }
}

/// Shows what the facts do not contain: the text of the root while it arrives, pauses before a new attempt, and why a reply was
/// lost.
fn show_delta(_session: &SessionId, call: &AskKey, delta: Delta<'_>) {
    let contract = &call.contract;
    match delta {
        Delta::Waiting { seconds, message, .. } => {
            note(&format!(
                "contract {contract} waits {seconds} s before it calls its model again: {}",
                tame(message, 200)
            ));
        }
        Delta::Lost { why } => note(&format!("{contract}: {}", tame(why, 200))),
        Delta::Words(words) => screen::stream(call, words),
        Delta::Asking if contract.level() == 0 => screen::begin_reply(call),
        Delta::Asking | Delta::Thinking | Delta::Call { .. } | Delta::Received { .. } | Delta::Used(_) => {}
    }
}

fn rate(config: &Config) -> Result<DatedRate, Failure> {
    match &config.rate {
        None => Ok(DatedRate::default()),
        Some(rate) => {
            let usd_per_btc = rate
                .usd_per_btc
                .rate()
                .map_err(|why| Failure::usage(format!("`rate.usd_per_btc` in the config: {why}")))?;
            Ok(DatedRate { usd_per_btc, date: rate.date.clone() })
        }
    }
}

fn base_url(place: &str, text: &str) -> Result<BaseUrl, Failure> {
    BaseUrl::parse(text).map_err(|why| Failure::usage(format!("{place}: {why}")))
}

/// The URL for `OLLAMA_HOST`, which may lack the scheme and the port.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    // 0.0.0.0 means that the server listens on all interfaces; this machine is one of them.
    let rest = rest.strip_prefix("0.0.0.0").map_or_else(|| rest.to_owned(), |rest| format!("127.0.0.1{rest}"));
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    if has_port { format!("{scheme}://{rest}/v1") } else { format!("{scheme}://{rest}:{OLLAMA_PORT}/v1") }
}

#[cfg(test)]
mod tests {
    use super::ollama_url;

    #[test]
    fn the_host_of_ollama_may_lack_scheme_and_port() {
        assert_eq!(ollama_url("0.0.0.0"), "http://127.0.0.1:11434/v1");
        assert_eq!(ollama_url("localhost:8080"), "http://localhost:8080/v1");
        assert_eq!(ollama_url("https://box.lan/"), "https://box.lan:11434/v1");
    }
}
