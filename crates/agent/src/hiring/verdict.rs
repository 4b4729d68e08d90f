//! Judges a reply without a call: whether a hire is missing, and which agents the runtime hires on the agent's behalf. The
//! kernel nudges the agent once before it acts on a verdict. Only the modes `required` and `cascade` hire on an agent's behalf:
//! no agent is hired because of a guess about prose.

use guildhall_kernel::{Ask, Brief, CloseWhen, Fact, Mode, Nudge, Offer, Origin, Sender, Stimulus, Verdict};

use super::choose::{Choice, mentions, words_of};
use super::offer::Order;
use super::{Team, Worker};
use crate::model::ToolSpec;
use crate::roster::DelegationMode;
use crate::text::{Redactor, Text};
use crate::wording;

/// A reply without a call, and what preceded it.
pub(crate) struct FinalText<'a> {
    pub(crate) words: &'a str,
    pub(crate) brief: &'a Brief,
    pub(crate) task: &'a str,
    pub(crate) facts: &'a [Fact],
    pub(crate) tools: &'a [ToolSpec],
}

/// Judges a reply. The texts that the offers name are added to `texts`.
pub(crate) fn verdict(
    team: Option<&Team>,
    reply: &FinalText<'_>,
    redactor: &Redactor,
    texts: &mut Vec<Text>,
) -> Verdict {
    // In a conversation, only the facts since the owner's newest message count.
    let is_message =
        |fact: &Fact| matches!(fact, Fact::Heard { from: Sender::Owner { .. }, stimulus: Stimulus::Message(_) });
    let start = match reply.brief.close_when {
        CloseWhen::FinalText => None,
        CloseWhen::Asked => reply.facts.iter().rposition(is_message),
    };
    let facts = &reply.facts[start.unwrap_or(0)..];
    let is_cascade = |fact: &Fact| matches!(fact, Fact::Asked { origin, .. } | Fact::Queued { origin, .. } | Fact::Refused { origin, .. } if *origin == Origin::Cascade);
    let has_cascaded = facts.iter().any(is_cascade);
    let team = team.filter(|_| !has_hired(facts));
    if let Some(team) = team {
        let mut cascade = || {
            let task = wording::cascade_task(reply.words, reply.task);
            let offers = audience(team, reply).into_iter().map(|worker| {
                // The agent continues only when the reports have arrived.
                let order = Order::new(Choice::of(worker), &task, Mode::Blocking);
                order.offer(team, reply.brief, redactor, texts)
            });
            offers.collect::<Vec<Offer>>()
        };
        match team.mode {
            DelegationMode::Required => {
                let then_hire = if has_cascaded { Vec::new() } else { cascade() };
                return Verdict { nudge: Some(Nudge::Required), then_hire, compact: None };
            }
            DelegationMode::Cascade if !has_cascaded => {
                return Verdict { then_hire: cascade(), ..Verdict::default() };
            }
            DelegationMode::Offered | DelegationMode::Cascade => {}
        }
    }
    let names_team = team.is_some_and(|team| team.is_named_in(reply.words, reply.task));
    let is_promise = names_team || writes_a_call(reply.words, reply.tools);
    // An agent is nudged once. After that, its text is its report, whatever the text says.
    let was_nudged = facts.iter().any(|fact| matches!(fact, Fact::Nudged(Nudge::Promise)));
    Verdict { nudge: (is_promise && !was_nudged).then_some(Nudge::Promise), ..Verdict::default() }
}

/// Whether somebody was hired or waits for money.
fn has_hired(facts: &[Fact]) -> bool {
    let is_refused = |waiting: u32| {
        facts.iter().any(|fact| matches!(fact, Fact::Refused { ordinal: Some(ordinal), .. } if *ordinal == waiting))
    };
    let asked = facts.iter().filter_map(Fact::asked).any(|(_, ask)| matches!(ask, Ask::Hire { .. }));
    asked || facts.iter().any(|fact| matches!(fact, Fact::Queued { ordinal, .. } if !is_refused(*ordinal)))
}

/// Whether a text writes a call of a tool instead of making it: the tool's name as a whole word, followed by arguments.
fn writes_a_call(words: &str, tools: &[ToolSpec]) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let calls = |tool: &ToolSpec| {
        words.match_indices(tool.name.as_str()).any(|(at, name)| {
            let after = &words[at + name.len()..];
            !words[..at].ends_with(is_letter) && !after.starts_with(is_letter) && begins_with_arguments(after)
        })
    };
    tools.iter().any(calls)
}

/// Whether the text after a tool's name looks like arguments: `{…}`, `(pattern="x")`, or the next field of a JSON object. A name
/// followed by empty parentheses does not count, since people write function names like that.
fn begins_with_arguments(after: &str) -> bool {
    if let Some((inside, _)) = after.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        return inside.contains(['=', ':', '"', '{']);
    }
    let rest = after.trim_start_matches(|mark: char| mark.is_whitespace() || "\"`':,".contains(mark));
    let is_field = ["arguments\"", "parameters\"", "input\""].iter().any(|field| rest.starts_with(field));
    rest.starts_with('{') || is_field && after.starts_with('"')
}

/// Returns the agents that a first reply goes to: those that it names, else those that the task is about, else all.
fn audience<'a>(team: &'a Team, reply: &FinalText<'_>) -> Vec<&'a Worker> {
    let words = words_of(reply.words);
    let all: Vec<&Worker> = team.others().collect();
    let named: Vec<&Worker> = all.iter().copied().filter(|worker| mentions(worker.name.as_str(), &words)).collect();
    if !named.is_empty() {
        return named;
    }
    let about: Vec<&Worker> = all.iter().copied().filter(|worker| worker.is_about(reply.task)).collect();
    if about.is_empty() { all } else { about }
}
