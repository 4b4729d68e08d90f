//! What the agent layer makes of a reply without a call: whether a hire is missing, and who is hired on the agent's behalf. The
//! kernel tells the agent once before it acts on a verdict. Nobody is hired because of a guess about prose: only the modes
//! `required` and `cascade` hire on an agent's behalf.

use guildhall_kernel::{Ask, Brief, CloseWhen, Fact, Mode, Nudge, Offer, Origin, Sender, Stimulus, Verdict};

use super::choose::{Choice, is_about_name, words_of};
use super::offer::Order;
use super::{Team, Worker};
use crate::roster::DelegationMode;
use crate::text::{Redactor, Text};
use crate::wording;

/// A reply without a call, and what came before it.
pub(crate) struct FinalText<'a> {
    pub(crate) words: &'a str,
    pub(crate) brief: &'a Brief,
    pub(crate) task: &'a str,
    pub(crate) facts: &'a [Fact],
    pub(crate) tools: &'a [String],
}

/// Judges a reply. The texts that the offers name are added to `texts`.
pub(crate) fn verdict(
    team: Option<&Team>,
    spoken: &FinalText<'_>,
    redactor: &Redactor,
    texts: &mut Vec<Text>,
) -> Verdict {
    let before = HiringSoFar::of(spoken);
    if let Some(team) = team
        && before.hired == 0
    {
        let mut cascade = || -> Vec<Offer> {
            let audience = audience(team, spoken);
            audience.into_iter().map(|worker| handed_on(worker, team, spoken, redactor, texts)).collect()
        };
        match team.mode {
            DelegationMode::Required => {
                let then_hire = if before.cascaded { Vec::new() } else { cascade() };
                return Verdict { nudge: Some(Nudge::Required), then_hire, compact: None };
            }
            DelegationMode::Cascade if !before.cascaded => {
                return Verdict { then_hire: cascade(), ..Verdict::default() };
            }
            DelegationMode::Offered | DelegationMode::Cascade => {}
        }
    }
    let names_team = before.hired == 0 && team.is_some_and(|team| team.is_named_in(spoken.words, spoken.task));
    // An agent is told once. After that, its text is its report, whatever the text says.
    let nudge = (!before.nudged && (names_team || writes_a_call(spoken.words, spoken.tools))).then_some(Nudge::Promise);
    Verdict { nudge, ..Verdict::default() }
}

/// Whether a text writes a call of a tool in place of making it: the tool's name as a whole word, with arguments behind it.
fn writes_a_call(words: &str, tools: &[String]) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let calls = |tool: &String| {
        words.match_indices(tool.as_str()).any(|(at, _)| {
            let after = &words[at + tool.len()..];
            !words[..at].ends_with(is_letter) && !after.starts_with(is_letter) && begins_with_arguments(after)
        })
    };
    tools.iter().any(calls)
}

/// Whether what follows a tool's name reads as arguments: `{…}`, `(pattern="x")`, or the next field of a JSON object. A name
/// with parentheses alone is how people write of functions.
fn begins_with_arguments(after: &str) -> bool {
    if let Some((inside, _)) = after.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        return inside.contains(['=', ':', '"', '{']);
    }
    let rest = after.trim_start_matches(|mark: char| mark.is_whitespace() || "\"`':,".contains(mark));
    let is_field = ["arguments\"", "parameters\"", "input\""].iter().any(|field| rest.starts_with(field));
    rest.starts_with('{') || is_field && after.starts_with('"')
}

/// What was done about hiring so far: since the owner last spoke, where that begins anew.
struct HiringSoFar {
    hired: usize,
    cascaded: bool,
    nudged: bool,
}

impl HiringSoFar {
    fn of(spoken: &FinalText<'_>) -> HiringSoFar {
        let facts = match spoken.brief.close_when {
            CloseWhen::FinalText => spoken.facts,
            CloseWhen::Asked => since_owner_spoke(spoken.facts),
        };
        let is_cascade = |fact: &Fact| matches!(fact, Fact::Asked { origin, .. } | Fact::Refused { origin, .. } if *origin == Origin::Cascade);
        HiringSoFar {
            hired: facts.iter().filter_map(Fact::asked).filter(|(_, ask)| matches!(ask, Ask::Hire { .. })).count(),
            cascaded: facts.iter().any(is_cascade),
            nudged: facts.iter().any(|fact| matches!(fact, Fact::Nudged(Nudge::Promise))),
        }
    }
}

fn since_owner_spoke(facts: &[Fact]) -> &[Fact] {
    let spoke =
        |fact: &Fact| matches!(fact, Fact::Heard { from: Sender::Owner { .. }, stimulus: Stimulus::Message(_) });
    facts.iter().rposition(spoke).map_or(facts, |at| &facts[at..])
}

/// The agents that a first reply is handed to: those that it names, else those that the task is about, else all.
fn audience<'a>(team: &'a Team, spoken: &FinalText<'_>) -> Vec<&'a Worker> {
    let words = words_of(spoken.words);
    let all: Vec<&Worker> = team.others().collect();
    let named: Vec<&Worker> =
        all.iter().copied().filter(|worker| is_about_name(worker.name.as_str(), &words)).collect();
    if !named.is_empty() {
        return named;
    }
    let about: Vec<&Worker> = all.iter().copied().filter(|worker| worker.is_about(spoken.task)).collect();
    if about.is_empty() { all } else { about }
}

/// Hands the agent's words on, with what it works on.
fn handed_on(
    worker: &Worker,
    team: &Team,
    spoken: &FinalText<'_>,
    redactor: &Redactor,
    texts: &mut Vec<Text>,
) -> Offer {
    let task = wording::handed_on(spoken.words, spoken.task);
    // It goes on only with their reports.
    let order = Order::new(Choice::of(worker), &task, Mode::Blocking);
    order.offer(team, spoken.brief, redactor, texts)
}
