//! The user's config file.

pub(crate) mod local_server;
pub(crate) mod serve;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use guildhall::agent::CallFormat;
use guildhall::kernel::Msat;
use guildhall::providers::{Price, Rate, Usd};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use crate::amount::Budget;
use crate::exit::Failure;
use local_server::LocalServerConfig;
use serve::{OfferConfig, ServeConfig};

/// The longest config that is read, in bytes.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// The config file. Every key is optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The default model.
    pub(crate) model: Option<String>,
    /// The price of a bitcoin.
    pub(crate) rate: Option<RateConfig>,
    /// Short names for models.
    pub(crate) aliases: BTreeMap<String, String>,
    /// Prices per million tokens, by the model's name.
    pub(crate) prices: BTreeMap<String, PriceConfig>,
    /// Providers in addition to those that variables set up.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// Settings for model servers on this machine that are found without being set up.
    pub(crate) local_server: LocalServerConfig,
    /// The limits of the wallet.
    pub(crate) wallet: WalletConfig,
    /// Who gets the fees of agents, by the agent's name.
    pub(crate) payees: BTreeMap<String, PayeeConfig>,
    /// The limits of `guildhall serve`.
    pub(crate) serve: ServeConfig,
    /// The teams that `guildhall serve` offers, by name.
    pub(crate) offers: BTreeMap<String, OfferConfig>,
}

/// The limits of the wallet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WalletConfig {
    /// The most that a session can have.
    pub(crate) session_max: Option<Sats>,
    /// A payee is paid when it is owed this much.
    pub(crate) payout_min: Option<Sats>,
    /// The largest payment to a payee.
    pub(crate) payment_max: Option<Sats>,
    /// The largest sum of payments to payees in 24 hours.
    pub(crate) daily_max: Option<Sats>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PayeeConfig {
    /// The address of the LNbits server of the payee's wallet.
    pub(crate) url: String,
    /// The environment variable that has the invoice key of that wallet.
    pub(crate) key_env: String,
    /// The largest fee for one report.
    pub(crate) fee_max: Sats,
}

/// An amount such as `100sat`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Sats(pub(crate) Msat);

impl TryFrom<String> for Sats {
    type Error = String;
    fn try_from(text: String) -> Result<Sats, String> {
        match text.parse()? {
            Budget::Msat(money) => Ok(Sats(money)),
            Budget::Usd(_) => Err(format!("{text} is in dollars: write it in sats, such as 100sat")),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateConfig {
    pub(crate) usd_per_btc: Dollars,
    pub(crate) date: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceConfig {
    input: Dollars,
    output: Dollars,
    cache_read: Option<Dollars>,
    cache_write: Option<Dollars>,
}

impl From<PriceConfig> for Price {
    fn from(price: PriceConfig) -> Price {
        let or_input = |special: Option<Dollars>| special.map_or(price.input.0, |special| special.0);
        Price {
            input: price.input.0,
            cache_read: or_input(price.cache_read),
            cache_write: or_input(price.cache_write),
            output: price.output.0,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderConfig {
    pub(crate) wire: WireConfig,
    pub(crate) base_url: String,
    /// The environment variable that has the key.
    pub(crate) key_env: Option<String>,
    /// The window of its models, in tokens.
    pub(crate) window: Option<u64>,
    /// Whether the provider answers the same `idempotency-key` with the same reply.
    #[serde(default)]
    pub(crate) replays: bool,
    /// How its models make calls: `tools`, or `json` for one JSON object per turn.
    #[serde(default)]
    pub(crate) calls: CallFormat,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WireConfig {
    Anthropic,
    OpenAi,
}

/// Dollars, as a string or a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dollars(pub(crate) Usd);

impl Dollars {
    pub(crate) fn rate(self) -> Result<Rate, String> {
        Rate::try_from(self.0).map_err(|why| why.to_string())
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Dollars, D::Error> {
        struct Amount;
        impl Visitor<'_> for Amount {
            type Value = Dollars;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an amount of dollars, such as 0.25")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Dollars, E> {
                Usd::parse(text).map(Dollars).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, whole: i64) -> Result<Dollars, E> {
                self.visit_str(&whole.to_string())
            }
            fn visit_f64<E: de::Error>(self, amount: f64) -> Result<Dollars, E> {
                self.visit_str(&amount.to_string())
            }
        }
        deserializer.deserialize_any(Amount)
    }
}

impl Config {
    /// Reads the file. A missing file is the same as an empty one.
    pub(crate) fn read(file: &Path) -> Result<Config, Failure> {
        let size = match fs::metadata(file) {
            Ok(found) if found.is_file() => found.len(),
            Ok(_) => return Err(Failure::usage(format!("the config {} is not a file", file.display()))),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Config::default()),
            Err(error) => return Err(Failure::usage(format!("can't read the config {}: {error}", file.display()))),
        };
        if size > CONFIG_BYTES_MAX {
            return Err(Failure::usage(format!(
                "the config {} has {size} bytes, but at most {CONFIG_BYTES_MAX} are allowed",
                file.display()
            )));
        }
        let text = fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("can't read the config {}: {error}", file.display())))?;
        Config::parse(&text).map_err(|why| Failure::usage(format!("{}: {why}", file.display())))
    }

    pub(crate) fn parse(text: &str) -> Result<Config, String> {
        toml::from_str(text).map_err(|why| why.to_string())
    }
}

#[cfg(test)]
mod tests {
    use guildhall::providers::{Price, Usd};

    use super::Config;
    use crate::world::VARIABLES;

    #[test]
    fn all_forms_of_a_config_are_read() {
        let config = Config::parse(
            r#"
            model = "fast"
            rate = { usd_per_btc = 95000, date = "2026-11-01" }
            aliases = { fast = "vllm/qwen3-8b" }
            [prices.qwen3-8b]
            input = 0.05
            output = "0.20"
            [providers.vllm]
            wire = "openai"
            base_url = "http://gpu:8000/v1"
            key_env = "VLLM_KEY"
            window = 32768
            "#,
        );
        let config = config.unwrap();
        let usd = |text| Usd::parse(text).unwrap();
        let price = Price::from(config.prices["qwen3-8b"]);
        assert_eq!((price.input, price.cache_read, price.output), (usd("0.05"), usd("0.05"), usd("0.20")));
        assert_eq!((config.aliases["fast"].as_str(), config.providers["vllm"].window), ("vllm/qwen3-8b", Some(32768)));
        assert!(!config.providers["vllm"].replays, "a provider replays only if the config says so");
    }

    #[test]
    fn the_documentation_has_a_valid_config_and_names_every_variable() {
        let documented = include_str!("../../../docs/configuration.md");
        let (_, config) = documented.split_once("```toml\n").unwrap();
        let (config, _) = config.split_once("```").unwrap();
        let config = Config::parse(config).unwrap();
        assert_eq!((config.providers.len(), config.aliases.len(), config.prices.len()), (2, 1, 1));
        assert!(config.model.is_some() && config.rate.is_some() && !config.local_server.agreed().is_empty());
        for variable in
            VARIABLES.iter().chain(&["GUILDHALL_HOME", "NO_COLOR", "TERM", "LNBITS_INVOICE_KEY", "LNBITS_ADMIN_KEY"])
        {
            assert!(documented.contains(&format!("`{variable}`")), "{variable} is not documented");
        }
    }

    #[test]
    fn the_documentation_of_the_server_has_a_valid_config() {
        let (_, config) = include_str!("../../../docs/serve.md").split_once("```toml\n").unwrap();
        let config = Config::parse(config.split_once("```").unwrap().0).unwrap();
        assert_eq!(
            (config.offers["review"].money, config.serve.live_demo),
            (super::serve::OfferMoney::Wallet, Some(true))
        );
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        for (text, says) in [
            ("modle = \"x\"", "modle"),
            ("rate = { usd_per_btc = -1, date = \"d\" }", "not an amount of dollars"),
            ("rate = { usd_per_btc = nan, date = \"d\" }", "not an amount of dollars"),
            ("[prices.x]\ninput = 1", "output"),
            ("[providers.x]\nwire = \"smtp\"\nbase_url = \"\"", "smtp"),
            ("model = ", "line 1"),
        ] {
            let why = Config::parse(text).unwrap_err();
            assert!(why.contains(says) && why.contains("line"), "{text}: {why}");
        }
    }
}
