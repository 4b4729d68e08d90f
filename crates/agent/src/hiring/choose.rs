//! Finds the agent that a text means: by name, by specialty, or by subject. The kernel decides which agents may be hired.

use guildhall_kernel::{AgentName, NAME_BYTES_MAX, NameError, Standing};

use super::{Team, Worker};

/// Words that occur in the names of many agents.
const GENERIC: [&str; 4] = ["agent", "assistant", "expert", "specialist"];

/// The shortest word by which a description is matched with a task, in bytes.
const KEYWORD_BYTES_MIN: usize = 4;

/// Words that say nothing about the subject of a task.
const COMMON: [&str; 24] = [
    "about", "after", "agent", "also", "before", "could", "find", "from", "have", "into", "look", "make", "need",
    "please", "should", "that", "their", "them", "this", "what", "when", "which", "will", "with",
];

/// The agent that a call means, and its conditions.
pub(super) struct Choice<'a> {
    pub(super) worker: &'a Worker,
    pub(super) name: AgentName,
    pub(super) standing: Standing,
}

impl Choice<'_> {
    /// Chooses an agent by its own name.
    pub(super) fn of(worker: &Worker) -> Choice<'_> {
        Choice { worker, name: worker.name.clone(), standing: Standing::Listed }
    }
}

/// What a call can name an agent by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Name,
    Specialty,
}

impl Team {
    /// Finds the agent that a call asks for. An unknown name is passed on to the kernel, which refuses it with a list of the
    /// known names.
    pub(super) fn choose(&self, asked: &str, by: By) -> Result<Choice<'_>, NameError> {
        let asked = asked.trim();
        if let Some(worker) = self.named(asked).or_else(|| self.specialist(asked, by)) {
            return Ok(Choice::of(worker));
        }
        match &self.ad_hoc {
            Some(worker) => Ok(Choice { worker, name: ad_hoc(asked)?, standing: Standing::AdHoc }),
            None => Ok(Choice { worker: &self.own, name: AgentName::parse(asked)?, standing: Standing::Listed }),
        }
    }

    /// Finds an agent by name: first exactly as written, then ignoring case and dashes. The hirer itself is found, too, so that
    /// it can't hire an ad-hoc specialist of its own name. A hirer that is itself ad-hoc comes last: it can have the name of a
    /// member of its team, in another case or with other dashes.
    fn named(&self, asked: &str) -> Option<&Worker> {
        let normalized = normal(asked);
        let exactly = |worker: &&Worker| worker.name.as_str() == asked;
        let roughly = |worker: &&Worker| normal(worker.name.as_str()) == normalized;
        let members = || self.workers.iter().map(AsRef::as_ref);
        let own = || std::iter::once(self.own.as_ref());
        match self.standing {
            Standing::Listed => members().chain(own()).find(exactly).or_else(|| members().chain(own()).find(roughly)),
            Standing::AdHoc => members().find(exactly).or_else(|| members().chain(own()).find(roughly)),
        }
    }

    fn specialist(&self, asked: &str, by: By) -> Option<&Worker> {
        let asked = normal(asked);
        let fits = |worker: &&Worker| worker.specialties.iter().any(|specialty| normal(specialty) == asked);
        self.workers.iter().map(AsRef::as_ref).find(fits).filter(|_| by == By::Specialty)
    }

    /// Returns the agents of the team other than the agent itself.
    pub fn others(&self) -> impl Iterator<Item = &Worker> {
        let is_own = |worker: &Worker| self.standing == Standing::Listed && worker.name == self.own.name;
        self.workers.iter().map(AsRef::as_ref).filter(move |worker: &&Worker| !is_own(worker))
    }
}

impl Worker {
    /// Whether the agent's description and a text share a keyword.
    pub(super) fn is_about(&self, text: &str) -> bool {
        let is_keyword = |word: &String| word.len() >= KEYWORD_BYTES_MIN && !COMMON.contains(&word.as_str());
        let wanted: Vec<String> = words_of(text).into_iter().filter(is_keyword).collect();
        let texts = [self.name.as_str(), &self.description].into_iter();
        let texts = texts.chain(self.specialties.iter().map(String::as_str));
        texts.flat_map(words_of).any(|word| wanted.contains(&word))
    }
}

/// Returns a name or a specialty without differences in case, blanks and dashes.
fn normal(text: &str) -> String {
    let apart = |c: char| c.is_whitespace() || matches!(c, '-' | '_');
    text.split(apart).filter(|word| !word.is_empty()).map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

fn ad_hoc(specialty: &str) -> Result<AgentName, NameError> {
    AgentName::parse(specialty).or_else(|why| {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { ' ' };
        let plain: String = specialty.chars().map(plain).take(NAME_BYTES_MAX).collect();
        let name = plain.split_whitespace().collect::<Vec<_>>().join("-");
        AgentName::parse(&name).map_err(|_| why)
    })
}

/// Returns the words of a text, in lower case. A change between a script without blanks and one with blanks ends a word.
pub(super) fn words_of(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    let words = runs.flat_map(|run| {
        let chars: Vec<char> = run.chars().collect();
        chars.chunk_by(|one, next| is_unspaced(*one) == is_unspaced(*next)).map(String::from_iter).collect::<Vec<_>>()
    });
    words.filter(|word| !word.is_empty()).map(|word| word.to_lowercase()).collect()
}

/// Whether a letter belongs to a script without blanks between words, such as Chinese, Japanese or Thai.
fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..)
}

/// Whether a text contains a whole name, as whole words.
pub(super) fn mentions_name(name: &[String], text: &[String]) -> bool {
    !name.is_empty() && text.windows(name.len()).any(|words| words == name)
}

/// Whether a text mentions an agent: "my scheduling team" mentions a Scheduling Agent.
pub(super) fn mentions(name: &str, text: &[String]) -> bool {
    let whole = words_of(name);
    let special: Vec<String> = whole.iter().filter(|word| !GENERIC.contains(&word.as_str())).cloned().collect();
    let sought = if special.is_empty() { whole } else { special };
    mentions_name(&sought, text)
}
