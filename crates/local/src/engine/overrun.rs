//! Overruns: a provider that bills more than was held for a call. The contract pays its hold and no more, so that the rest is
//! nobody's money: such a provider is asked nothing more in the session, unless its owner allows it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guildhall_kernel::{Ask, AskId, Brief, Cost, Fact, Msat, Path, Stored};

/// What becomes of a provider that bills more than was held for a call.
#[derive(Clone)]
pub enum Overruns {
    /// It is asked nothing more in the session.
    Stop(ProviderOf),
    /// It is asked on: the owner pays whatever it bills.
    Allow,
}

/// Tells which provider is paid for whoever works under a brief, if any is: also under a brief of an earlier root.
pub type ProviderOf = Arc<dyn Fn(&Brief) -> Option<String> + Send + Sync>;

/// One bill above what was held.
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

/// The providers of a session, as far as they are asked nothing more.
pub(super) struct Providers {
    overruns: Overruns,
    stopped: Mutex<BTreeMap<String, Overrun>>,
}

impl Providers {
    /// Looks through what is stored: whoever overran in an earlier process is stopped in this one, too.
    pub(super) fn new(overruns: Overruns, past: Billed) -> Providers {
        let mut stopped = BTreeMap::new();
        for (brief, overrun) in past.overruns {
            if let Some(provider) = overruns.provider_of(&brief) {
                stopped.entry(provider).or_insert(overrun);
            }
        }
        Providers { overruns, stopped: Mutex::new(stopped) }
    }

    /// Returns the provider whose bills are to be watched for whoever works under a brief.
    pub(super) fn of(&self, brief: &Brief) -> Option<String> {
        self.overruns.provider_of(brief)
    }

    /// Notes what a provider billed for a call.
    pub(super) fn billed(&self, provider: &str, held: Msat, cost: Cost) {
        if let Some(overrun) = Overrun::of(held, cost) {
            self.stopped().entry(provider.to_owned()).or_insert(overrun);
        }
    }

    /// Returns why a provider is asked nothing more, if so.
    pub(super) fn refusal(&self, provider: &str) -> Option<String> {
        let Overrun { held, excess } = *self.stopped().get(provider)?;
        Some(format!(
            "{provider} billed {excess} more than the {held} held for a call: no further calls to it; \
             `--allow-overrun` goes on"
        ))
    }

    fn stopped(&self) -> MutexGuard<'_, BTreeMap<String, Overrun>> {
        // A panic while it was held left it whole: each change is one insert.
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

/// What models were paid, by a session's facts: a fold that keeps nothing but overruns once a contract has closed.
#[derive(Default)]
pub(super) struct Billed {
    briefs: BTreeMap<Path, Arc<Brief>>,
    holds: BTreeMap<(Path, AskId), Msat>,
    overruns: Vec<(Arc<Brief>, Overrun)>,
}

impl Billed {
    pub(super) fn note(&mut self, Stored { contract, fact, .. }: &Stored) {
        match fact {
            Fact::Opened(brief) => {
                self.briefs.insert(contract.clone(), Arc::clone(brief));
            }
            Fact::Asked { id, ask: Ask::Model(_), hold, .. } => {
                self.holds.insert((contract.clone(), *id), hold.money);
            }
            Fact::Answered { id, cost, .. } => {
                let held = self.holds.remove(&(contract.clone(), *id));
                let overrun = held.and_then(|held| Overrun::of(held, *cost));
                self.overruns.extend(self.briefs.get(contract).cloned().zip(overrun));
            }
            Fact::Closed(_) => {
                self.briefs.remove(contract);
            }
            Fact::Asked { .. }
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
