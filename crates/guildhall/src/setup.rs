//! The settings of a root, stored with its request. A resume uses the same agents, models and prices, even if agent files,
//! the config or the price table have changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use guildhall_agent::{Redactor, Text, TextError};
use guildhall_kernel::{AgentName, Brief, Msat, Path, PayeeName, SessionFact, Standing, TextKind, TextRef};
use guildhall_local::{Journal, SessionId};
use serde::{Deserialize, Serialize};

use crate::agents::Agent;
use crate::hall::HallError;
use crate::models::{DatedRate, Locked};
use crate::stored::stored_text;
use crate::token_limit::TokenLimit;

/// The agents that a root can use, with their models and prices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Staffing {
    /// The agents. The first one is the agent of the root.
    pub agents: Vec<Agent>,
    /// The model of each agent, as `PROVIDER/NAME`. The agent of a task list has none.
    pub model_of_agent: BTreeMap<AgentName, String>,
    /// The exchange rate at which amounts are shown.
    pub rate: DatedRate,
    /// The prices of those models.
    pub locked: BTreeMap<String, Locked>,
    /// The project's own instructions to all agents.
    pub guide: Option<String>,
    /// Who is paid which fees, in a session with the money of a wallet. `None` in play money, where the agents' own fees count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fees: Option<BTreeMap<AgentName, FeeTerms>>,
}

/// Who gets the fee of an agent, and at most how much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeeTerms {
    /// The payee.
    pub payee: PayeeName,
    /// The largest fee for one report.
    pub max: Msat,
}

impl Staffing {
    /// Returns the first agent's name.
    pub fn entry(&self) -> Option<&AgentName> {
        self.agents.first().map(|agent| &agent.name)
    }

    /// Returns the first agent's model. For a list of tasks, this is the model of the first agent that has one.
    pub fn model(&self) -> &str {
        self.agents.iter().find_map(|agent| self.model_of_agent.get(&agent.name)).map_or("", String::as_str)
    }

    /// Whether the session pays with the money of a wallet.
    pub fn is_of_wallet(&self) -> bool {
        self.fees.is_some()
    }

    /// Returns the fee of an agent, and who gets it. Real money is only paid to payees of the operator.
    pub(crate) fn fee_of(&self, agent: &Agent) -> (Msat, Option<&PayeeName>) {
        let fee = agent.budget.fee.unwrap_or(Msat::ZERO);
        match &self.fees {
            None => (fee, None),
            Some(fees) => fees
                .get(&agent.name)
                .filter(|_| fee > Msat::ZERO)
                .map_or((Msat::ZERO, None), |terms| (fee.min(terms.max), Some(&terms.payee))),
        }
    }

    /// Whether this is a list of tasks.
    pub fn is_list(&self) -> bool {
        self.entry().is_some_and(|entry| !self.model_of_agent.contains_key(entry))
    }

    /// Returns the model of the agent that works under this brief. A task list has none.
    pub fn model_of(&self, brief: &Brief) -> Option<&str> {
        match (usize::from(brief.model_slot).checked_sub(1), brief.standing) {
            (Some(slot), _) => self.models().into_iter().nth(slot),
            (None, Standing::Listed) => self.model_of_agent.get(&brief.agent).map(String::as_str),
            (None, Standing::AdHoc) => self.model_of_agent.get(listed_hirer(brief)?).map(String::as_str),
        }
    }

    /// Whether nobody bills a model.
    pub fn is_nominal(&self, model: &str) -> bool {
        self.locked.get(model).is_some_and(|locked| locked.nominal)
    }

    fn clean(&self, redactor: &Redactor) -> Staffing {
        let Staffing { agents, model_of_agent, rate, locked, guide, fees } = self;
        Staffing {
            agents: agents.iter().map(|agent| agent.clean(redactor)).collect(),
            model_of_agent: model_of_agent.clone(),
            rate: rate.clone(),
            locked: locked.clone(),
            guide: guide.as_ref().map(|guide| redactor.clean(guide).into_owned()),
            fees: fees.clone(),
        }
    }

    /// Returns all models that agents use, in the order in which `Brief::model_slot` counts them.
    pub fn models(&self) -> BTreeSet<&str> {
        self.model_of_agent.values().map(String::as_str).collect()
    }
}

/// Returns the agent of the roster that an ad-hoc specialist has its environment from: the nearest hirer that is not itself an
/// ad-hoc specialist. A name is not enough to find that hirer, because an ad-hoc specialist may have the name of a listed agent.
pub(crate) fn listed_hirer(brief: &Brief) -> Option<&AgentName> {
    brief.lineage.upward().find(|link| link.standing == Standing::Listed).map(|link| &link.agent)
}

/// The version of the stored form of a setup. This program reads no other form.
pub(crate) const SETUP_FORM: u32 = 2;

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
    form: u32,
}

/// The settings that are fixed when a root is requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The agents, with their models and prices.
    pub staffing: Staffing,
    /// The number of tokens in the whole tree at which the root wraps up.
    pub tokens_max: Option<u64>,
    /// Whether calls continue to a provider that billed more than was held for a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_overrun: bool,
    /// The brief of the root. It is stored here because the process may end before the contract is opened.
    pub brief: Arc<Brief>,
}

impl Setup {
    /// Returns a token counter that starts at zero, if the tokens are limited.
    pub fn token_limit(&self) -> Option<TokenLimit> {
        self.tokens_max.map(|limit| TokenLimit::new(self.brief.path.clone(), limit))
    }

    /// Returns the stored form. Secrets are removed from the texts that people wrote for agents. Names and numbers stay as they
    /// are, because a resume has to find the same agents and models.
    pub(crate) fn text(&self, redactor: &Redactor) -> Text {
        let clean = Setup { staffing: self.staffing.clean(redactor), ..self.clone() };
        let written = Written { form: SETUP_FORM, setup: &clean };
        Text::of_clean(TextKind::Prices, serde_json::to_string(&written).expect("a setup is JSON"))
    }

    fn read(session: &SessionId, text: &str) -> Result<Setup, HallError> {
        let Form { form } = serde_json::from_str(text).map_err(unreadable)?;
        if form != SETUP_FORM {
            return Err(HallError::OtherForm { session: session.clone(), found: form });
        }
        serde_json::from_str(text).map_err(unreadable)
    }
}

fn unreadable(why: impl Display) -> HallError {
    HallError::NoSetup { why: why.to_string() }
}

/// A request for work, from a session's account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The path of the root.
    pub root: Path,
    /// The money that the root was granted.
    pub granted: Msat,
    /// The stored settings.
    pub(crate) setup: TextRef,
}

impl Request {
    /// Returns the first request of an account, if there is any.
    pub(crate) fn first(account: &[SessionFact]) -> Option<Request> {
        account.iter().find_map(Request::of)
    }

    /// Returns the newest request of an account, if there is any.
    pub(crate) fn newest(account: &[SessionFact]) -> Option<Request> {
        account.iter().rev().find_map(Request::of)
    }

    fn of(fact: &SessionFact) -> Option<Request> {
        match fact {
            SessionFact::Requested { root, money, prices } => {
                Some(Request { root: root.clone(), granted: *money, setup: *prices })
            }
            SessionFact::Opened { .. }
            | SessionFact::Funded { .. }
            | SessionFact::Granted { .. }
            | SessionFact::Withdrawing { .. }
            | SessionFact::Withdrawn { .. }
            | SessionFact::Returned { .. }
            | SessionFact::Corrected { .. }
            | SessionFact::Ended { .. } => None,
        }
    }

    /// Reads the root of a session. The inner error means that the text of its settings can't be read.
    pub(crate) async fn read(&self, journal: &Journal, id: &SessionId) -> Result<Result<Root, TextError>, HallError> {
        let text = match stored_text(journal, self.setup).await {
            Ok(text) => text,
            Err(why) => return Ok(Err(why)),
        };
        Ok(Ok(Root { path: self.root.clone(), granted: self.granted, setup: Setup::read(id, &text)? }))
    }
}

/// A root of a session, with its grant and its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// Its path.
    pub path: Path,
    /// The money that the root was granted.
    pub granted: Msat,
    /// The settings of the root.
    pub setup: Setup,
}

/// Reads the newest root of a session.
pub(crate) async fn newest_root(journal: &Journal, id: &SessionId) -> Result<Root, HallError> {
    newest_request(journal, id).await?.read(journal, id).await?.map_err(unreadable)
}

/// Reads the newest request of a session.
pub(crate) async fn newest_request(journal: &Journal, id: &SessionId) -> Result<Request, HallError> {
    let account = journal.account(id).await?;
    // Unless a session is funded first, its money is stored together with its first request.
    let is_funded = !account.is_empty();
    Request::newest(&account).ok_or_else(|| {
        let id = id.clone();
        if is_funded { HallError::NoWorkYet(id) } else { HallError::NothingToResume(id) }
    })
}

/// Reads the agents of each root of a session, or why the settings of a root can't be read.
pub(crate) async fn readable_staffings(
    journal: &Journal,
    id: &SessionId,
) -> Result<BTreeMap<Path, Result<Staffing, TextError>>, HallError> {
    let mut staffings = BTreeMap::new();
    for request in journal.account(id).await?.iter().filter_map(Request::of) {
        let invalid = |why: HallError| TextError::Invalid { of: request.setup, why: why.to_string() };
        let root = request.read(journal, id).await.map_err(invalid).flatten();
        staffings.insert(request.root, root.map(|root| root.setup.staffing));
    }
    Ok(staffings)
}

/// Reads the agents of each root of a session.
pub(crate) async fn staffings(journal: &Journal, id: &SessionId) -> Result<BTreeMap<Path, Staffing>, HallError> {
    let mut staffings = BTreeMap::new();
    for request in journal.account(id).await?.iter().filter_map(Request::of) {
        match request.read(journal, id).await {
            Ok(Ok(root)) => drop(staffings.insert(root.path, root.setup.staffing)),
            // A root whose settings can't be read makes no more calls, so its agents are not needed.
            Ok(Err(_)) | Err(HallError::NoSetup { .. } | HallError::OtherForm { .. }) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(staffings)
}
