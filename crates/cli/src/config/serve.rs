//! The settings of `guildhall serve`.

use std::path::PathBuf;

use serde::Deserialize;

use super::Sats;

/// The limits of the server.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServeConfig {
    /// Whether the live demo is offered. Without this, it is offered only if nothing else is.
    pub(crate) live_demo: Option<bool>,
    /// How many sessions may wait for their first payment.
    pub(crate) unpaid_sessions: Option<Count>,
    /// How many streams of events may be open.
    pub(crate) streams: Option<Count>,
    /// How many of them one client, or one session, may have.
    pub(crate) streams_each: Option<Count>,
    /// The largest invoice.
    pub(crate) invoice_max: Option<Sats>,
    /// How many requests may be at work at the same time.
    pub(crate) work: Option<Count>,
    /// How many sessions a minute a client may make.
    pub(crate) new_sessions_per_minute: Option<Count>,
    /// How many requests, messages, top-ups, payments and new viewers a minute the owner of one session may make.
    pub(crate) changes_per_minute: Option<Count>,
    /// How many requests a second a client without a token may make.
    pub(crate) public_rate: Option<Count>,
    /// How many requests a second a client may make in all.
    pub(crate) client_rate: Option<Count>,
}

/// A limit. Zero would refuse everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub(crate) struct Count(pub(crate) u32);

impl TryFrom<u32> for Count {
    type Error = &'static str;
    fn try_from(number: u32) -> Result<Count, &'static str> {
        if number == 0 { Err("0 would refuse everything: it must be at least 1") } else { Ok(Count(number)) }
    }
}

/// A team that the server offers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfferConfig {
    /// What the team can do, in one sentence.
    pub(crate) description: String,
    /// The directory that its agents can read. A relative path starts at the directory of the config.
    pub(crate) project: PathBuf,
    /// The directory with its agent files. Without it, the agents of the project, of the user, and the built-in ones.
    pub(crate) team: Option<PathBuf>,
    /// The first agent.
    pub(crate) agent: Option<String>,
    /// The model of all agents.
    pub(crate) model: Option<String>,
    /// The kind of money.
    #[serde(default)]
    pub(crate) money: OfferMoney,
    /// The budget that is proposed for one request.
    pub(crate) budget: Sats,
    /// An example of a task.
    pub(crate) example: Option<String>,
}

/// The kind of money of an offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OfferMoney {
    /// Play money.
    #[default]
    Play,
    /// The money of the wallet.
    Wallet,
}
