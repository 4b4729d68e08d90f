//! What every engine must do alike: the same script gives the same facts, and shows the same prompts, whichever engine runs
//! it. A script says what models, tools and the owner do; the reference engine, in memory and in virtual time, says what
//! follows. When something happens, and how contracts take turns, is each engine's own.

mod crew;
mod delegation;
mod reference;
mod script;
mod scripts;
mod stage;

use std::collections::BTreeMap;

use guildhall_agent::Prompt;
use guildhall_kernel::{Ask, Cause, Fact, Millis, Path, Stored};

pub use self::reference::reference;
pub use self::script::Script;
pub use self::scripts::scripts;
pub use self::stage::{Stage, Tell};

/// What came of a script, as far as engines must agree on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Each contract's facts, with what they followed from.
    pub facts: BTreeMap<Path, Vec<(Cause, Fact)>>,
    /// What each model call was shown, by its key.
    pub shown: BTreeMap<String, Prompt>,
}

impl Played {
    /// Takes what was stored, and the stage on which it was played.
    pub fn new(stored: &[Stored], stage: &Stage) -> Played {
        let mut facts: BTreeMap<Path, Vec<(Cause, Fact)>> = BTreeMap::new();
        for Stored { contract, cause, fact, .. } in stored {
            facts.entry(contract.clone()).or_default().push((cause.clone(), timeless(fact)));
        }
        Played { facts, shown: stage.shown() }
    }
}

/// A fact without the time until which something waits: each engine has its own.
fn timeless(fact: &Fact) -> Fact {
    let mut fact = fact.clone();
    if let Fact::Asked { ask: Ask::Question { until, .. }, .. } | Fact::Waiting { until: Some(until), .. } = &mut fact {
        *until = Millis(0);
    }
    fact
}
