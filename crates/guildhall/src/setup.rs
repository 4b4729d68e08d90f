//! What a root was asked for with, stored with the request: a resume goes on with the same agent, model and prices,
//! whatever has changed outside since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use guildhall_agent::{Scribe, Text};
use guildhall_kernel::{AgentName, Brief, Msat, Path, SessionFact, Standing, TextKind, TextRef};
use guildhall_local::{Journal, OfficeError, SessionId};
use serde::{Deserialize, Serialize};

use crate::agents::Agent;
use crate::hall::HallError;
use crate::meter::TokenLimit;
use crate::models::{DatedRate, Locked};

/// Who can come to work, with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Staffing {
    /// The agents; the first takes the work on.
    pub agents: Vec<Agent>,
    /// The model of each, as `PROVIDER/NAME`. The clerk of a list of tasks has none.
    pub seated: BTreeMap<AgentName, String>,
    /// The rate at which all is shown.
    pub rate: DatedRate,
    /// The prices of those models.
    pub locked: BTreeMap<String, Locked>,
    /// What the project says to everybody.
    pub guide: Option<String>,
}

impl Staffing {
    /// Returns the first agent's name.
    pub fn entry(&self) -> Option<&AgentName> {
        self.agents.first().map(|agent| &agent.name)
    }

    /// Returns the first agent's model; of a list of tasks, that of the first agent that has one.
    pub fn model(&self) -> &str {
        self.agents.iter().find_map(|agent| self.seated.get(&agent.name)).map_or("", String::as_str)
    }

    /// Whether a clerk works off a list of tasks.
    pub fn is_list(&self) -> bool {
        self.entry().is_some_and(|entry| !self.seated.contains_key(entry))
    }

    /// Returns the model that is asked for whoever works under this brief. A clerk asks none.
    pub fn model_of(&self, brief: &Brief) -> Option<&str> {
        match (usize::from(brief.chair).checked_sub(1), brief.standing) {
            (Some(chair), _) => self.models().into_iter().nth(chair),
            (None, Standing::Listed) => self.seated.get(&brief.agent).map(String::as_str),
            (None, Standing::AdHoc) => {
                brief.lineage.upward().find_map(|link| self.seated.get(&link.agent)).map(String::as_str)
            }
        }
    }

    /// Returns the models that can come to be asked, in the order in which a brief's chair counts them.
    pub fn models(&self) -> BTreeSet<&str> {
        self.seated.values().map(String::as_str).collect()
    }
}

/// The form in which a setup is written. Whoever changes it keeps reading the forms before.
pub(crate) const SETUP_FORM: u32 = 1;

/// A setup as it is stored.
#[derive(Serialize)]
struct Written<'a> {
    form: u32,
    #[serde(flatten)]
    setup: &'a Setup,
}

/// The part of a stored setup that every version reads.
#[derive(Deserialize)]
struct Form {
    /// The first form did not say so.
    #[serde(default = "first_form")]
    form: u32,
}

fn first_form() -> u32 {
    1
}

/// Everything that is fixed when a root is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Who can come to work, with what.
    pub staffing: Staffing,
    /// After how many tokens in all it is to wrap up.
    pub tokens_max: Option<u64>,
    /// Whether a provider is asked on that bills more than was held for a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_overrun: bool,
    /// The brief: a process that ends before the contract is opened loses nothing.
    pub brief: Arc<Brief>,
}

impl Setup {
    /// Returns the count of its tokens, at nothing, if they are limited.
    pub fn token_limit(&self) -> Option<TokenLimit> {
        self.tokens_max.map(|limit| TokenLimit::new(self.brief.path.clone(), limit))
    }

    /// Writes it down.
    pub(crate) fn text(&self, scribe: &Scribe) -> Text {
        let written = Written { form: SETUP_FORM, setup: self };
        scribe.text(TextKind::Prices, &serde_json::to_string(&written).expect("a setup is JSON"))
    }

    async fn read(journal: &Journal, of: TextRef) -> Result<Setup, HallError> {
        let text = stored_text(journal, of).await?;
        let damaged = |why| HallError::Damaged(format!("what a root was set up with: {why}"));
        let Form { form } = serde_json::from_str(&text).map_err(damaged)?;
        if form > SETUP_FORM {
            return Err(HallError::Newer { found: form });
        }
        serde_json::from_str(&text).map_err(damaged)
    }
}

/// A root of a session: what it was granted, and by whom it is worked on.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// Its path.
    pub path: Path,
    /// What it was granted.
    pub granted: Msat,
    /// What it was set up with.
    pub setup: Setup,
}

/// Reads a text that a fact names.
pub(crate) async fn stored_text(journal: &Journal, of: TextRef) -> Result<String, HallError> {
    let bytes = journal.text(of.hash).await?.ok_or(OfficeError::TextGone(of.hash))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A root that was asked for: its path, its grant and what it was set up with.
fn requested(fact: SessionFact) -> Option<(Path, Msat, TextRef)> {
    match fact {
        SessionFact::Requested { root, money, prices } => Some((root, money, prices)),
        SessionFact::Funded { .. } | SessionFact::Corrected { .. } | SessionFact::Ended { .. } => None,
    }
}

/// Reads the newest root that was asked for in a session.
pub(crate) async fn newest_root(journal: &Journal, id: &SessionId) -> Result<Root, HallError> {
    let requested = journal.account(id).await?.into_iter().rev().find_map(requested);
    let (path, granted, prices) = requested.ok_or_else(|| HallError::NothingToResume(id.clone()))?;
    Ok(Root { path, granted, setup: Setup::read(journal, prices).await? })
}

/// Reads who could come to work under each root that was asked for in a session.
pub(crate) async fn staffings(journal: &Journal, id: &SessionId) -> Result<BTreeMap<Path, Staffing>, HallError> {
    let mut staffings = BTreeMap::new();
    for (root, _, prices) in journal.account(id).await?.into_iter().filter_map(requested) {
        staffings.insert(root, Setup::read(journal, prices).await?.staffing);
    }
    Ok(staffings)
}
