//! Conformance scripts: every engine that runs a script must store the same facts and show the same prompts. A script
//! says what models, tools and the owner do. The reference engine, in memory and in virtual time, gives the expected
//! result. Times and the order between contracts may differ between engines.

mod cut;
mod delegation;
mod draws;
mod events;
mod reference;
mod script;
mod scripted_world;
mod scripts;
mod teams;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_agent::Prompt;
use guildhall_kernel::{Ask, Cause, Fact, Millis, Path, Stored};

pub use self::reference::reference;
pub use self::script::Script;
pub use self::scripted_world::{ScriptedWorld, SendStimulus};
pub use self::scripts::scripts;

/// The part of a script's result that must be the same for every engine.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptResult {
    /// Each contract's facts, with their causes.
    pub facts: BTreeMap<Path, Vec<(Cause, Fact)>>,
    /// The prompt of each model call, by its key.
    pub shown: BTreeMap<String, Prompt>,
}

impl ScriptResult {
    /// Makes the result from the stored facts and the world of the script.
    pub fn new(stored: &[Stored], world: &ScriptedWorld) -> ScriptResult {
        let mut facts: BTreeMap<Path, Vec<(Cause, Fact)>> = BTreeMap::new();
        for Stored { contract, cause, fact, .. } in stored {
            facts.entry(contract.clone()).or_default().push((cause.clone(), timeless(fact)));
        }
        ScriptResult { facts, shown: world.shown() }
    }

    /// Returns what happened to the money and the replies of a contract, in short.
    pub fn events(&self, contract: &Path) -> Vec<String> {
        let facts = self.facts.get(contract).map(Vec::as_slice).unwrap_or_default();
        events::events(contract, facts.iter().map(|(_, fact)| fact))
    }
}

/// Returns a fact without the times that differ between engines: time limits, and how long before its deadline a hire begins to
/// wrap up.
fn timeless(fact: &Fact) -> Fact {
    let mut fact = fact.clone();
    if let Fact::Asked { ask: Ask::Question { until, .. }, .. } | Fact::Waiting { until: Some(until), .. } = &mut fact {
        *until = Millis(0);
    }
    if let Fact::Opened(brief) | Fact::Asked { ask: Ask::Hire { brief, .. }, .. } = &mut fact
        && brief.grant.margin.is_some()
    {
        Arc::make_mut(brief).grant.margin = Some(Millis(0));
    }
    fact
}
