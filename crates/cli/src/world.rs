//! What this program finds around it: environment, config, providers. Nothing else in Guildhall looks there.

use std::collections::BTreeMap;
use std::env::{self, VarError};
use std::path::PathBuf;
use std::sync::Arc;

use guildhall::agent::roster::Roster;
use guildhall::agent::{Delta, Wire};
use guildhall::kernel::AskKey;
use guildhall::local::Replays;
use guildhall::providers::{BaseUrl, Key, REHEARSAL_PRICE};
use guildhall::{ANTHROPIC, DatedRate, Hall, HallBuilder, Models, Naming, OPENAI, Rehearsal, Source};

use crate::config::local_server::LocalServerConfig;
use crate::config::{Config, ProviderConfig, WireConfig};
use crate::exit::Failure;
use crate::local_server::{self, LOCAL};
use crate::paths::Paths;
use crate::print::{note, tame, warn};
use crate::screen;

/// The name that the rehearsal goes by: a program in the model's seat, for those who have no key and no server.
pub(crate) const REHEARSAL: &str = "rehearsal";

/// The port on which Ollama listens, unless it is told otherwise.
const OLLAMA_PORT: &str = "11434";

/// The name that Ollama goes by.
const OLLAMA: &str = "ollama";

/// The longest warning, in characters.
const WARNING_CHARS_MAX: usize = 400;

/// The variables that tell of providers.
pub(crate) const VARIABLES: [&str; 5] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"];

/// What this program found.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) paths: Paths,
    pub(crate) models: Models,
    /// The model that the config names.
    pub(crate) named: Option<String>,
    /// What the config says about model servers on this machine.
    pub(crate) local: LocalServerConfig,
    secrets: Vec<String>,
    /// Providers of the config whose key is missing, with the variable that would have it.
    keyless: BTreeMap<String, String>,
}

/// A variable that is set to something. One that can't be read is an error, since it was set for a reason.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            Err(Failure::usage(format!("the variable {name} is not UTF-8: set it to something that is, or unset it")))
        }
    }
}

/// Whether the terminal is one that only takes lines, such as that of an editor.
pub(crate) fn is_dumb_terminal() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

impl World {
    /// Looks around.
    pub(crate) fn look() -> Result<World, Failure> {
        let paths = Paths::find(variable("GUILDHALL_HOME")?.map(PathBuf::from))?;
        let config = Config::read(&paths.config)?;
        let mut world = World::new(paths, &config)?;
        world.usual_sources()?;
        for (name, provider) in &config.providers {
            world.configured_source(name, provider)?;
        }
        world.defaults(config);
        world.agreed_source();
        Ok(world)
    }

    /// A world with a home of its own, and nobody in it but the rehearsal.
    pub(crate) fn apart(home: PathBuf) -> Result<World, Failure> {
        let config = Config::default();
        let mut world = World::new(Paths::find(Some(home))?, &config)?;
        world.defaults(config);
        Ok(world)
    }

    fn new(paths: Paths, config: &Config) -> Result<World, Failure> {
        let models = Models::new(rate(config)?);
        let models = models.with_model(REHEARSAL, Rehearsal, REHEARSAL_PRICE, Replays::Yes);
        let (named, local) = (config.model.clone(), config.local_server.clone());
        Ok(World { models, paths, named, local, secrets: Vec::new(), keyless: BTreeMap::new() })
    }

    /// Opens the hall that works on a project.
    pub(crate) fn hall(&self, project: PathBuf) -> Result<Hall, Failure> {
        Ok(self.builder(project).build()?)
    }

    /// Begins the hall of a team, with so many calls to each provider at once.
    pub(crate) fn hall_with(&self, project: PathBuf, roster: Roster, calls: usize) -> HallBuilder {
        let models = self.models.clone().with_calls_at_once(calls);
        self.builder(project).models(models).roster(roster)
    }

    fn builder(&self, project: PathBuf) -> HallBuilder {
        let builder = Hall::builder().data(&self.paths.data).project(project).models(self.models.clone());
        builder
            .secrets(self.secrets.iter().cloned())
            .watch(Arc::new(tell_trouble))
            .warn(Arc::new(|line| warn(&tame(line, WARNING_CHARS_MAX))))
    }

    /// Adds the providers that variables tell of, under the names people know.
    fn usual_sources(&mut self) -> Result<(), Failure> {
        let usual = [
            (ANTHROPIC, Wire::Anthropic, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", BaseUrl::anthropic()),
            (OPENAI, Wire::OpenAi, "OPENAI_API_KEY", "OPENAI_BASE_URL", BaseUrl::openai()),
        ];
        for (name, wire, key, url, makers) in usual {
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
            return Err(Failure::usage(format!("{place}: a provider's name has no slash and is not empty")));
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

    /// Adds the server on this machine that the user agreed to, for those who name it. Nobody is asked whether it is there.
    fn agreed_source(&mut self) {
        let is_taken = self.models.sources().any(|source| source.name == LOCAL);
        if let (Some(address), false) = (self.local.agreed().first(), is_taken) {
            self.add(local_server::source(*address, None));
        }
    }

    /// Whether the server that goes by that name is one that was found, and not one that the user set up.
    pub(crate) fn has_local(&self) -> bool {
        self.models.sources().any(|source| source.name == LOCAL && source.naming == Naming::Full)
    }

    /// Whether the user set up nothing that could be asked, and named no model.
    pub(crate) fn is_bare(&self) -> bool {
        self.named.is_none() && self.models.sources().all(|source| source.naming == Naming::Full)
    }

    /// The same world with a server on this machine.
    pub(crate) fn with_local(&self, source: Source) -> World {
        World { models: self.models.clone().with_source(source), ..self.clone() }
    }

    /// Makes sure that the providers of these models have their keys: without one, a provider would refuse every call.
    pub(crate) fn need_keys<'a>(&self, models: impl IntoIterator<Item = &'a &'a str>) -> Result<(), Failure> {
        let providers = models.into_iter().filter_map(|model| model.split_once('/')).map(|(provider, _)| provider);
        for provider in providers {
            if let Some(variable) = self.keyless.get(provider) {
                let config = self.paths.config.display();
                return Err(Failure::usage(format!(
                    "the variable {variable} is not set, and providers.{provider} in {config} takes its key from there \
                     (key_env): set {variable}, or take key_env out if this provider needs no key"
                )));
            }
        }
        Ok(())
    }

    /// Reads a key out of a variable, and remembers to keep it out of the journal.
    fn key(&mut self, name: &str) -> Result<Option<Key>, Failure> {
        let Some(text) = variable(name)? else { return Ok(None) };
        let key = Key::new(&text).map_err(|why| Failure::usage(format!("{name}: {why}")))?;
        self.secrets.push(text.trim().to_owned());
        Ok(Some(key))
    }

    fn add(&mut self, source: Source) {
        self.models = self.models.clone().with_source(source);
    }

    /// Prices, short names and the model where none is named.
    fn defaults(&mut self, config: Config) {
        let mut models = self.models.clone();
        for (model, price) in config.prices {
            models = models.with_price(model, price.into());
        }
        for (alias, model) in config.aliases {
            models = models.with_alias(alias, model);
        }
        let is_set_up = |name: &str| models.sources().any(|source| source.name == name);
        let default = config.model.or_else(|| match () {
            () if is_set_up(ANTHROPIC) => Some("sonnet".to_owned()),
            () if is_set_up(OPENAI) => Some("gpt-5-mini".to_owned()),
            () => None,
        });
        if let Some(default) = default {
            models = models.with_default(default);
        }
        self.models = models;
    }
}

/// Says what no fact says: the words of the root as they come, that a provider makes us wait, since without a word it would look as if nothing happened, and what a
/// reply was lost to.
fn tell_trouble(call: &AskKey, delta: Delta<'_>) {
    let contract = &call.contract;
    match delta {
        Delta::Waiting { seconds, message, .. } => {
            note(&format!("{contract}: waiting {seconds} s before asking again: {}", tame(message, 200)));
        }
        Delta::Lost { why } => note(&format!("{contract}: {}", tame(why, 200))),
        Delta::Words(words) => screen::stream(call, words),
        Delta::Asking if contract.level() == 0 => screen::forget_words(),
        Delta::Asking | Delta::Thinking | Delta::Call { .. } | Delta::Received { .. } | Delta::Used(_) => {}
    }
}

fn rate(config: &Config) -> Result<DatedRate, Failure> {
    match &config.rate {
        None => Ok(DatedRate::default()),
        Some(rate) => {
            let usd_per_btc = rate.usd_per_btc.rate().map_err(|why| Failure::usage(format!("the rate: {why}")))?;
            Ok(DatedRate { usd_per_btc, date: rate.date.clone() })
        }
    }
}

fn base_url(place: &str, text: &str) -> Result<BaseUrl, Failure> {
    BaseUrl::parse(text).map_err(|why| Failure::usage(format!("{place}: {why}")))
}

/// Ollama's host as its own users write it: with or without scheme and port.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    // A server that listens everywhere is asked here.
    let rest = rest.strip_prefix("0.0.0.0").map_or_else(|| rest.to_owned(), |rest| format!("127.0.0.1{rest}"));
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    if has_port { format!("{scheme}://{rest}/v1") } else { format!("{scheme}://{rest}:{OLLAMA_PORT}/v1") }
}

#[cfg(test)]
mod tests {
    use super::ollama_url;

    #[test]
    fn ollamas_host_is_read_as_its_users_write_it() {
        assert_eq!(ollama_url("0.0.0.0"), "http://127.0.0.1:11434/v1");
        assert_eq!(ollama_url("localhost:8080"), "http://localhost:8080/v1");
        assert_eq!(ollama_url("https://box.lan/"), "https://box.lan:11434/v1");
    }
}
