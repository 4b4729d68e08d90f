//! Conformance scripts: every engine that runs a script must store the same facts and show the same prompts. A script
//! says what models, tools and the owner do. The reference engine, in memory and in virtual time, gives the expected
//! result. Times and the order between contracts may differ between engines.

mod delegation;
mod reference;
mod script;
mod scripted_world;
mod scripts;
mod teams;

use std::collections::BTreeMap;

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
}

/// Returns a fact without its time limit, which differs between engines.
fn timeless(fact: &Fact) -> Fact {
    let mut fact = fact.clone();
    if let Fact::Asked { ask: Ask::Question { until, .. }, .. } | Fact::Waiting { until: Some(until), .. } = &mut fact {
        *until = Millis(0);
    }
    fact
}
