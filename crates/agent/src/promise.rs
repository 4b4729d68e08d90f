//! Empty promises: final words that say somebody will be hired although nobody was. Rules over English text, no model; in
//! doubt nothing was promised, since a promise that is found here may end up being kept with money.

mod commitment;
mod prose;
mod target;
mod verbs;

use std::collections::BTreeSet;

use commitment::commitments;
use prose::{Sentence, sentences};
use target::{Names, Target};

/// How much of a reply is looked at, from its end: there it says what comes next.
const WORDS_BYTES_MAX: usize = 64 * 1024;

/// What a reply promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promise {
    /// No hire.
    None,
    /// A hire, without a name of the team.
    Someone,
    /// Hires of these: places in the team, ascending, each once.
    Named(Vec<usize>),
}

/// Tells whom a final reply that made no hire says it will hire. `team` is whom its agent may hire.
///
/// Reports of what was done, advice, offers, questions, conditions, denials, quotations and code promise nothing. Names are
/// recognised whatever their case and dashes, with or without "agent" at their end.
///
/// ```
/// use guildhall_agent::promise::{Promise, promised};
/// let team = ["scheduling-agent", "flight-agent"];
/// assert_eq!(promised("I'm delegating to Scheduling Agent...", &team), Promise::Named(vec![0]));
/// assert_eq!(promised("I'll hand this to a specialist.", &team), Promise::Someone);
/// assert_eq!(promised("I asked the flight agent, and it found two.", &team), Promise::None);
/// ```
pub fn promised(words: &str, team: &[&str]) -> Promise {
    let names = Names::new(team);
    let from = words.len().saturating_sub(WORDS_BYTES_MAX);
    let words = (from..=words.len()).find_map(|at| words.get(at..)).unwrap_or_default();
    let mut found = Found::default();
    for sentence in sentences(words, &|span| names.is_one(span)) {
        found.take(&sentence, &names);
    }
    match found {
        Found { promises: false, .. } => Promise::None,
        Found { named, .. } if named.is_empty() => Promise::Someone,
        Found { named, .. } => Promise::Named(named.into_iter().collect()),
    }
}

/// What was found so far.
#[derive(Default)]
struct Found {
    promises: bool,
    named: BTreeSet<usize>,
    /// Whether a promise ended with a colon, so that the items after it say whom.
    lists: bool,
}

impl Found {
    fn take(&mut self, sentence: &Sentence, names: &Names) {
        if self.lists && sentence.is_item {
            self.named.extend(names.target(&sentence.tokens).map(|target| target.named).unwrap_or_default());
            return;
        }
        let promises: Vec<Target> = commitments(sentence, names);
        self.lists = !promises.is_empty() && sentence.opens_list;
        self.promises |= !promises.is_empty();
        self.named.extend(promises.into_iter().flat_map(|target| target.named));
    }
}
