//! What a root was asked for with, stored with the request: a resume goes on with the same agent, model and prices,
//! whatever has changed outside since.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use guildhall_agent::{Redactor, Text, TextError};
use guildhall_kernel::{AgentName, Brief, Msat, Path, SessionFact, Standing, TextKind, TextRef};
use guildhall_local::{Journal, SessionId};
use serde::{Deserialize, Serialize};

use crate::agents::Agent;
use crate::hall::HallError;
use crate::meter::TokenLimit;
use crate::models::{DatedRate, Locked};
use crate::stored::stored_text;

/// Who can come to work, with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Staffing {
    /// The agents; the first takes the work on.
    pub agents: Vec<Agent>,
    /// The model of each, as `PROVIDER/NAME`. The agent of a task list has none.
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

    /// Whether this is a list of tasks.
    pub fn is_list(&self) -> bool {
        self.entry().is_some_and(|entry| !self.seated.contains_key(entry))
    }

    /// Returns the model that is asked for whoever works under this brief. A task list asks none.
    pub fn model_of(&self, brief: &Brief) -> Option<&str> {
        match (usize::from(brief.model_slot).checked_sub(1), brief.standing) {
            (Some(slot), _) => self.models().into_iter().nth(slot),
            (None, Standing::Listed) => self.seated.get(&brief.agent).map(String::as_str),
            (None, Standing::AdHoc) => {
                brief.lineage.upward().find_map(|link| self.seated.get(&link.agent)).map(String::as_str)
            }
        }
    }

    /// Whether nobody bills a model.
    pub fn is_nominal(&self, model: &str) -> bool {
        self.locked.get(model).is_some_and(|locked| locked.nominal)
    }

    fn clean(&self, redactor: &Redactor) -> Staffing {
        let Staffing { agents, seated, rate, locked, guide } = self;
        Staffing {
            agents: agents.iter().map(|agent| agent.clean(redactor)).collect(),
            seated: seated.clone(),
            rate: rate.clone(),
            locked: locked.clone(),
            guide: guide.as_ref().map(|guide| redactor.clean(guide).into_owned()),
        }
    }

    /// Returns the models that can come to be asked, in the order in which `Brief::model_slot` counts them.
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

    /// Writes it down, without the secrets in what people wrote for agents to read. Names and numbers stay as they are: a
    /// resume has to find the same agents and models.
    pub(crate) fn text(&self, redactor: &Redactor) -> Text {
        let clean = Setup { staffing: self.staffing.clean(redactor), ..self.clone() };
        let written = Written { form: SETUP_FORM, setup: &clean };
        Text::of_clean(TextKind::Prices, serde_json::to_string(&written).expect("a setup is JSON"))
    }

    fn read(text: &str) -> Result<Setup, HallError> {
        let Form { form } = serde_json::from_str(text).map_err(unreadable)?;
        if form > SETUP_FORM {
            return Err(HallError::Newer { found: form });
        }
        serde_json::from_str(text).map_err(unreadable)
    }
}

fn unreadable(why: impl Display) -> HallError {
    HallError::NoSetup { why: why.to_string() }
}

/// A request for work, as a session's account has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The path of its root.
    pub root: Path,
    /// What the root was granted.
    pub granted: Msat,
    /// What it was set up with.
    pub(crate) setup: TextRef,
}

impl Request {
    /// Returns the newest request of an account, if there is any.
    pub(crate) fn newest(account: &[SessionFact]) -> Option<Request> {
        account.iter().rev().find_map(Request::of)
    }

    fn of(fact: &SessionFact) -> Option<Request> {
        match fact {
            SessionFact::Requested { root, money, prices } => {
                Some(Request { root: root.clone(), granted: *money, setup: *prices })
            }
            SessionFact::Funded { .. } | SessionFact::Corrected { .. } | SessionFact::Ended { .. } => None,
        }
    }

    /// Reads the root. The inner error is that the text of its setup can't be read.
    pub(crate) async fn read(&self, journal: &Journal) -> Result<Result<Root, TextError>, HallError> {
        let text = match stored_text(journal, self.setup).await {
            Ok(text) => text,
            Err(why) => return Ok(Err(why)),
        };
        Ok(Ok(Root { path: self.root.clone(), granted: self.granted, setup: Setup::read(&text)? }))
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

/// Reads the newest root that was asked for in a session.
pub(crate) async fn newest_root(journal: &Journal, id: &SessionId) -> Result<Root, HallError> {
    let request = Request::newest(&journal.account(id).await?);
    let request = request.ok_or_else(|| HallError::NothingToResume(id.clone()))?;
    request.read(journal).await?.map_err(unreadable)
}

/// Reads who could come to work under each root that was asked for in a session.
pub(crate) async fn staffings(journal: &Journal, id: &SessionId) -> Result<BTreeMap<Path, Staffing>, HallError> {
    let mut staffings = BTreeMap::new();
    for request in journal.account(id).await?.iter().filter_map(Request::of) {
        // A root whose setup can't be read can't be asked for more work, so that nothing hangs on who worked under it.
        if let Ok(root) = request.read(journal).await? {
            staffings.insert(root.path, root.setup.staffing);
        }
    }
    Ok(staffings)
}
