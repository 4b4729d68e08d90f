//! Whom a promise is about: the names of a team as people write them, and words for somebody.

use super::prose::tokens;
use super::verbs::{AFTER_BARE, ARTICLES, BOUNDS, DETERMINERS, JOINS, OTHERS, OWN, PROGRAM, SOMEBODY, THINGS};

/// How many words that nobody knows may precede somebody: "the Rome flight agent".
const UNKNOWN_MAX: usize = 2;

/// The names of a team.
pub(super) struct Names(Vec<Name>);

struct Name {
    /// Its words, without "agent" at the end.
    words: Vec<String>,
    /// Whether it had that.
    is_agent: bool,
}

/// Whom a phrase means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    /// Those of the team.
    pub(super) named: Vec<usize>,
    /// The token after the phrase.
    pub(super) end: usize,
    /// Whether some name is only a word that may mean something else.
    pub(super) is_bare: bool,
    /// Whether it is somebody of the speaker's own: one of the team, "my agents", "a specialist"; not "the agents".
    pub(super) is_own: bool,
}

/// One of those whom a phrase means.
struct One {
    name: Option<usize>,
    end: usize,
    is_bare: bool,
    is_own: bool,
    is_plural: bool,
}

impl Names {
    pub(super) fn new(team: &[&str]) -> Names {
        let name = |name: &&str| {
            let mut words = tokens(name);
            let is_agent = words.len() > 1 && words.last().is_some_and(|last| last == "agent");
            words.truncate(words.len() - usize::from(is_agent));
            Name { words, is_agent }
        };
        Names(team.iter().map(name).collect())
    }

    /// Whether a text is nothing but a name of the team.
    pub(super) fn is_one(&self, text: &str) -> bool {
        let tokens = tokens(text);
        self.named(&tokens, 0).is_some_and(|one| one.end == tokens.len())
    }

    /// Reads whom the tokens begin with: "the flight agent and my food team".
    pub(super) fn target(&self, tokens: &[String]) -> Option<Target> {
        let mut target = Target::default();
        let mut at = 0;
        let mut found = false;
        while let Some(one) = self.one(tokens, at) {
            found = true;
            target.named.extend(one.name);
            // "Flight and food agents" are both agents.
            target.is_bare = (target.is_bare && !one.is_plural) || one.is_bare;
            target.is_own |= one.is_own;
            target.end = one.end;
            at = past(tokens, one.end, JOINS);
            if at == one.end {
                break;
            }
        }
        let next = tokens.get(target.end).map(String::as_str);
        let is_thing = next.is_some_and(|next| THINGS.contains(&next));
        let may_be_bare = next.is_none_or(|next| AFTER_BARE.contains(&next));
        (found && !is_thing && (!target.is_bare || may_be_bare)).then_some(target)
    }

    fn one(&self, tokens: &[String], at: usize) -> Option<One> {
        let start = past(tokens, at, DETERMINERS);
        // A name may begin with a word that is passed over elsewhere, such as "new".
        let named = (at..=start).find_map(|at| self.named(tokens, at));
        named.or_else(|| somebody(tokens, at, start)).or_else(|| self.after_unknown(tokens, at, start))
    }

    fn after_unknown(&self, tokens: &[String], from: usize, start: usize) -> Option<One> {
        for skipped in 1..=UNKNOWN_MAX {
            let word = tokens.get(start + skipped - 1)?;
            if [BOUNDS, OTHERS, PROGRAM, ARTICLES].iter().any(|words| words.contains(&word.as_str())) {
                return None;
            }
            let at = start + skipped;
            let named = self.named(tokens, at).filter(|one| !one.is_bare);
            if let Some(one) = named.or_else(|| somebody(tokens, from, at)) {
                return Some(one);
            }
        }
        None
    }

    /// The longest name that begins here.
    fn named(&self, tokens: &[String], at: usize) -> Option<One> {
        let rest = tokens.get(at..)?;
        let begins = |name: &Name| !name.words.is_empty() && begins_with(rest, name);
        let longest =
            self.0.iter().enumerate().filter(|(_, name)| begins(name)).max_by_key(|(_, name)| name.words.len());
        let (place, name) = longest?;
        let end = at + name.words.len();
        let after = past(tokens, end, &["sub"]);
        let title = tokens.get(after).filter(|word| SOMEBODY.contains(&word.as_str()));
        let is_plural = title.is_some_and(|title| title.ends_with('s'));
        let end = if title.is_some() { after + 1 } else { end };
        Some(One { name: Some(place), end, is_bare: name.is_agent && title.is_none(), is_own: true, is_plural })
    }
}

/// Whether tokens begin with a name. Only one that is somebody by itself has a plural.
fn begins_with(tokens: &[String], name: &Name) -> bool {
    let last = name.words.len() - 1;
    let is_same = |(place, word): (usize, &String)| {
        tokens.get(place).is_some_and(|token| {
            token == word || (place == last && !name.is_agent && token.strip_suffix('s') == Some(word.as_str()))
        })
    };
    name.words.iter().enumerate().all(is_same)
}

/// Somebody without a name, with what was said about it from `from` on.
fn somebody(tokens: &[String], from: usize, at: usize) -> Option<One> {
    let word = tokens.get(at).filter(|word| SOMEBODY.contains(&word.as_str()))?;
    let is_own = !matches!(word.as_str(), "agent" | "agents" | "team" | "teams")
        || tokens[from..at].iter().any(|before| OWN.contains(&before.as_str()));
    Some(One { name: None, end: at + 1, is_bare: false, is_own, is_plural: word.ends_with('s') })
}

/// The first place from `at` on that has none of these words.
pub(super) fn past(tokens: &[String], at: usize, words: &[&str]) -> usize {
    let rest = tokens.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|token| words.contains(&token.as_str())).count()
}
