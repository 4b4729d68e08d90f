//! Overruns: a provider bills more than was held for a call. The contract pays no more than its hold, so nobody pays
//! the rest. The session sends no more requests to this provider, unless the owner allows overruns.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guildhall_kernel::{Answer, Ask, AskId, Brief, Cost, Fact, Msat, Path, Request, Stored};

/// What the session does about a provider that bills more than was held for a call.
#[derive(Clone)]
pub enum Overruns {
    /// The session sends no more requests to the provider.
    Stop(ProviderOf),
    /// Requests continue: the owner pays whatever the provider bills.
    Allow,
}

/// Returns the provider that is paid for the agent of a brief, if there is one. Also works for briefs of earlier roots.
pub type ProviderOf = Arc<dyn Fn(&Brief) -> Option<String> + Send + Sync>;

/// One bill that is higher than the hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Overrun {
    held: Msat,
    excess: Msat,
}

impl Overrun {
    fn of(held: Msat, cost: Cost) -> Option<Overrun> {
        cost.overrun(held).map(|excess| Overrun { held, excess })
    }
}

/// The providers of a session to which no more requests are sent.
pub(super) struct Providers {
    overruns: Overruns,
    stopped: Mutex<BTreeMap<String, Overrun>>,
}

impl Providers {
    /// Starts from the stored facts: a provider that overran in an earlier process stays stopped in this process.
    pub(super) fn new(overruns: Overruns, past: Billed) -> Providers {
        let mut stopped = BTreeMap::new();
        for (brief, overrun) in past.overruns {
            if let Some(provider) = overruns.provider_of(&brief) {
                stopped.entry(provider).or_insert(overrun);
            }
        }
        Providers { overruns, stopped: Mutex::new(stopped) }
    }

    /// Returns the provider whose bills are checked for the agent of a brief.
    pub(super) fn of(&self, brief: &Brief) -> Option<String> {
        self.overruns.provider_of(brief)
    }

    /// Records what a provider billed for a call.
    pub(super) fn billed(&self, provider: &str, held: Msat, cost: Cost) {
        if let Some(overrun) = Overrun::of(held, cost) {
            self.stopped().entry(provider.to_owned()).or_insert(overrun);
        }
    }

    /// Returns why no more requests are sent to a provider, if it is stopped.
    pub(super) fn refusal(&self, provider: &str) -> Option<String> {
        let Overrun { held, excess } = *self.stopped().get(provider)?;
        Some(format!(
            "{provider} billed {excess} more than the {held} held for a call: no more calls are sent to it; \
             to continue, use `--allow-overrun`"
        ))
    }

    fn stopped(&self) -> MutexGuard<'_, BTreeMap<String, Overrun>> {
        // A panic while the lock was held leaves the map valid: each change is one insert.
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Overruns {
    fn provider_of(&self, brief: &Brief) -> Option<String> {
        match self {
            Overruns::Stop(provider_of) => provider_of(brief),
            Overruns::Allow => None,
        }
    }
}

/// Collects the overruns in a session's facts. Everything else about a contract is dropped when it closes.
#[derive(Default)]
pub(super) struct Billed {
    briefs: BTreeMap<Path, Arc<Brief>>,
    requests: BTreeMap<(Path, AskId), (Msat, Request)>,
    overruns: Vec<(Arc<Brief>, Overrun)>,
    /// The briefs of contracts with a request whose reported input was more than it held.
    pub(super) undercounted: Vec<Arc<Brief>>,
}

impl Billed {
    pub(super) fn apply(&mut self, Stored { contract, fact, .. }: &Stored) {
        match fact {
            Fact::Opened(brief) => {
                self.briefs.insert(contract.clone(), Arc::clone(brief));
            }
            Fact::Asked { id, ask: Ask::Model(request), hold, .. } => {
                self.requests.insert((contract.clone(), *id), (hold.money, request.clone()));
            }
            Fact::Answered { id, cost, answer } => {
                let Some((held, request)) = self.requests.remove(&(contract.clone(), *id)) else { return };
                let brief = self.briefs.get(contract).cloned();
                if let Answer::Said(said) = answer
                    && said.used.is_some_and(|used| request.is_exceeded_by(used))
                {
                    self.undercounted.extend(brief.clone());
                }
                self.overruns.extend(brief.zip(Overrun::of(held, *cost)));
            }
            Fact::Closed(_) => {
                self.briefs.remove(contract);
            }
            Fact::Asked { .. }
            | Fact::Queued { .. }
            | Fact::Refused { .. }
            | Fact::Raised { .. }
            | Fact::Heard { .. }
            | Fact::Waiting { .. }
            | Fact::Woke { .. }
            | Fact::Nudged(_)
            | Fact::Compacted { .. }
            | Fact::Closing(_) => {}
        }
    }
}
