//! The newest text of a contract. A reply that its own `max_tokens` cut is continued and is no report; a text that stays cut
//! is marked in the report and never counts as done.

use guildhall_kernel::{Acceptance, Cut, Limit, Outcome, OwnSize, Report, Said, TextRef, Wording};

use crate::contract::{Contract, Phase};
use crate::violation::{Found, Law};

/// How often one reply is continued.
const CONTINUATIONS_MAX: u32 = 4;

/// The newest text for a reader.
#[derive(Default)]
pub(crate) struct Draft {
    /// The text; while its reply is continued, the parts so far.
    pub(crate) words: Option<TextRef>,
    end: End,
    /// The tokens that were reported for the text, all parts together; 0 if unknown.
    tokens: u32,
    /// The number of parts of a reply that waits for its continuation; 0 if no reply does.
    parts: u32,
    /// The size of these parts.
    size: OwnSize,
}

/// Whether a text is cut: its model could not finish it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    Whole,
    Cut,
    /// The facts don't tell: the reply was cut, but perhaps in a call after the text.
    Unknown,
}

impl Draft {
    /// Returns whether the newest reply waits for its continuation.
    pub(crate) fn is_continued(&self) -> bool {
        self.parts > 0
    }
}

/// Takes a reply. Returns whether it begins a new turn: a continuation belongs to the turn that it continues.
pub(crate) fn replied(contract: &mut Contract, said: &Said, is_last: bool, found: &mut Found<'_>) -> bool {
    let may_continue = matches!(contract.phase, Phase::Working) && !is_last;
    let draft = &mut contract.draft;
    let before = draft.parts;
    let is_part = before > 0 && !is_last;
    let size = if is_part { joined(draft.size, said.size) } else { said.size };
    if is_part && said.cut.is_some() && said.calls == 0 {
        let least = draft.words.map_or(0, |words| words.bytes);
        let whole = said.words.is_some_and(|words| words.bytes >= least);
        found.demand(whole, Law::Reports, format_args!("a continued reply has lost the text before it"));
    }
    let cut = said.cut == Some(Cut::MaxTokens) && said.calls == 0 && said.words.is_some();
    draft.parts = match said.words {
        // A last reply without words leaves what was to be continued.
        None if is_last => before,
        Some(_) if cut && may_continue && before < CONTINUATIONS_MAX => before + 1,
        Some(_) | None => 0,
    };
    draft.size = size;
    match said.words {
        Some(words) => {
            draft.words = Some(words);
            draft.tokens = size.tokens;
            draft.end = match (said.cut, said.calls) {
                (None, _) => End::Whole,
                (Some(_), 0) => End::Cut,
                (Some(_), _) => End::Unknown,
            };
        }
        // The rest of the reply is no text for a reader, for example a call.
        None if is_part => draft.end = End::Unknown,
        None => {}
    }
    !is_part
}

/// Returns the size of a text that two replies wrote. The sum is known only if both parts are.
fn joined(before: OwnSize, next: OwnSize) -> OwnSize {
    let known = before.tokens > 0 && next.tokens > 0;
    let tokens = if known { before.tokens.saturating_add(next.tokens) } else { 0 };
    OwnSize { bytes: before.bytes.saturating_add(next.bytes), tokens }
}

/// Returns whether a contract can begin to close because its reply was too long.
pub(crate) fn is_too_long(contract: &Contract) -> bool {
    let cut = contract.said.is_some_and(|said| said.cut.is_some() && said.calls == 0);
    cut && !contract.draft.is_continued()
}

/// Returns whether a contract that closes for this reason makes no last request, because a cut text is its report.
pub(crate) fn is_report(contract: &Contract, limit: Limit) -> bool {
    match limit {
        Limit::Purse => false,
        Limit::Turns | Limit::Deadline | Limit::Asked => contract.draft.is_continued(),
        Limit::Length => contract.said.is_some_and(|said| said.words.is_some()),
    }
}

/// Checks what a report says about its text.
pub(crate) fn check_report(contract: &Contract, report: &Report, found: &mut Found<'_>) {
    let cut = report.cut;
    if let Some(due) = is_cut(contract, report.text) {
        found.demand(cut == due, Law::Reports, format_args!("marks the text as cut: {cut}, but it must be {due}"));
    }
    let (done, outcome) = (report.outcome == Outcome::Done, report.outcome);
    found.demand(!cut || !done, Law::Reports, format_args!("ends as {outcome:?} with a text that is cut"));
    let accepted = report.acceptance == Acceptance::Accepted;
    found.demand(!cut || !accepted, Law::Reports, format_args!("is accepted with a text that is cut"));
    let (tokens, most) = (report.tokens, tokens_of(contract, report.text));
    found.demand(
        tokens == 0 || tokens == most,
        Law::Reports,
        format_args!("counts {tokens} tokens for its text, but {most} were reported"),
    );
}

/// Returns whether the text of a report is cut, if the facts tell.
fn is_cut(contract: &Contract, text: Wording) -> Option<bool> {
    let draft = &contract.draft;
    match text {
        Wording::Final(text) if is(draft.words, text) => match draft.end {
            End::Whole => Some(false),
            End::Cut => Some(true),
            End::Unknown => None,
        },
        Wording::Final(_) => {
            contract.said.filter(|said| said.calls == 0 || said.cut.is_none()).map(|said| said.cut.is_some())
        }
        Wording::Assembled(text) if is(draft.words, text) => match draft.end {
            End::Whole => Some(false),
            // Whether a text that can't be continued is cut is stated only by a final text.
            End::Cut if draft.is_continued() => Some(true),
            End::Cut | End::Unknown => None,
        },
        Wording::Assembled(_) => None,
    }
}

/// Returns the tokens that were reported for the text of a report; 0 if they are unknown.
fn tokens_of(contract: &Contract, text: Wording) -> u32 {
    let (Wording::Final(text) | Wording::Assembled(text)) = text;
    if is(contract.draft.words, text) {
        return contract.draft.tokens;
    }
    let newest = contract.said.filter(|said| said.reply.hash == text.hash || is(said.output, text));
    newest.map_or(0, |_| contract.draft.size.tokens)
}

fn is(text: Option<TextRef>, other: TextRef) -> bool {
    text.is_some_and(|text| text.hash == other.hash)
}
