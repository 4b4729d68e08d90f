//! Whether an agent says that it will hand something on. It looks at words alone; what was called is somebody else's to know.

use crate::hiring::{is_named, words_of};

/// What a text promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// Nothing.
    None,
    /// To hand on, but not to whom.
    Someone,
    /// To hand on to these, by their places in the team.
    Named(Vec<usize>),
}

/// How a sentence speaks of what is about to be done by its speaker.
const ABOUT_TO: [&[&str]; 8] = [
    &["i", "will"],
    &["i", "ll"],
    &["i", "m", "going", "to"],
    &["i", "am", "going", "to"],
    &["let", "me"],
    &["i", "m", "delegating"],
    &["i", "am", "delegating"],
    &["delegating", "to"],
];

/// How handing on is called, whoever it is to.
const HANDS_ON: [&str; 5] = ["delegate", "delegating", "hire", "assign", "outsource"];

/// How else it is called where somebody of the team is named.
const HANDS_ON_TO: [&str; 8] = ["ask", "consult", "coordinate", "engage", "forward", "have", "involve", "pass"];

/// Tells whether an agent promises to hand something on, and to whom of its team.
pub(crate) fn promised(words: &str, team: &[&str]) -> Promise {
    let mut named = Vec::new();
    let mut someone = false;
    for sentence in words.split(['.', '!', '?', '\n', ';']) {
        let said = words_of(sentence);
        if !ABOUT_TO.iter().any(|sought| said.windows(sought.len()).any(|window| window == *sought)) {
            continue;
        }
        let hands_on = |verbs: &[&str]| said.iter().any(|word| verbs.contains(&word.as_str()));
        someone |= hands_on(&HANDS_ON);
        if hands_on(&HANDS_ON) || hands_on(&HANDS_ON_TO) {
            named.extend((0..team.len()).filter(|at| is_named(team[*at], &said)));
        }
    }
    named.sort_unstable();
    named.dedup();
    match (named.is_empty(), someone) {
        (false, _) => Promise::Named(named),
        (true, true) => Promise::Someone,
        (true, false) => Promise::None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Promise, promised};

    #[test]
    fn who_is_promised_work_is_known_from_who_is_only_spoken_of() {
        let team = ["Scheduling Agent", "Financial Agent"];
        let check = |words: &str, want: Promise| assert_eq!(promised(words, &team), want, "{words}");
        check("I'm delegating to Scheduling Agent...", Promise::Named(vec![0]));
        check("I'll coordinate with my scheduling and financial teams...", Promise::Named(vec![0, 1]));
        check("I'm delegating to my child agent...", Promise::Someone);
        check("The Financial Agent found flights for 850.", Promise::None);
        check("I will book the flight.", Promise::None);
    }
}
