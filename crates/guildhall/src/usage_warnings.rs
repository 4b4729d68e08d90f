//! Warnings about usage reports: far too few tokens for the bytes that were sent or received, so that the call is charged by size, or
//! more input than the request held. The warnings are computed from stored facts, so that a resume does not repeat or forget any.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use guildhall_kernel::{Answer, Ask, AskId, Brief, Fact, ImplausibleUsage, Path, Request, Said, Stored};
use guildhall_local::{Journal, SessionId};
use serde::Serialize;

use crate::hall::HallError;
use crate::setup::{Staffing, staffings};

/// What is wrong with a usage report of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum UsageWarning {
    /// The numbers can't be right.
    TooFew {
        /// The provider.
        provider: String,
        /// The tokens that it reported.
        tokens: u64,
        /// The bytes that it reported them for.
        bytes: u64,
    },
    /// A request had more input than it held, so the model's texts count by their bytes from then on.
    AboveHold {
        /// The model, as `PROVIDER/NAME`.
        model: String,
        /// The input tokens that its provider reported.
        tokens: u64,
        /// The input tokens that the request held.
        held: u64,
    },
}

/// The input of a request that was more than the request held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputAboveHold {
    /// The input tokens that the provider reported.
    pub tokens: u64,
    /// The input tokens that the request held.
    pub held: u64,
}

impl InputAboveHold {
    /// Compares the report of a reply with its request.
    pub(crate) fn of(said: &Said, request: &Request) -> Option<InputAboveHold> {
        let used = said.used.filter(|used| request.is_exceeded_by(*used))?;
        Some(InputAboveHold { tokens: used.input, held: request.tokens })
    }
}

impl UsageWarning {
    pub(crate) fn too_few(model: &str, ImplausibleUsage { tokens, bytes }: ImplausibleUsage) -> UsageWarning {
        UsageWarning::TooFew { provider: provider(model).to_owned(), tokens, bytes }
    }

    pub(crate) fn above_hold(model: &str, InputAboveHold { tokens, held }: InputAboveHold) -> UsageWarning {
        UsageWarning::AboveHold { model: model.to_owned(), tokens, held }
    }

    /// Returns what the warning is about. There is one warning for each subject.
    pub(crate) fn subject(&self) -> Subject {
        match self {
            UsageWarning::TooFew { provider, .. } => Subject::Provider(provider.clone()),
            UsageWarning::AboveHold { model, .. } => Subject::Model(model.clone()),
        }
    }
}

/// What a warning is about. Each kind of warning has subjects of its own: a model of a program can have the name of a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// A provider that reports too few tokens.
    Provider(String),
    /// A model with more input than its request held.
    Model(String),
}

impl fmt::Display for UsageWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UsageWarning::TooFew { provider, tokens, bytes } => {
                let s = if *tokens == 1 { "" } else { "s" };
                write!(f, "{provider} reports {tokens} token{s} for {}: charged by size", size(*bytes))
            }
            UsageWarning::AboveHold { model, tokens, held } => write!(
                f,
                "{model} reports {tokens} input tokens for a request that held {held}: in this session, its texts are now held at one token per byte"
            ),
        }
    }
}

/// Formats a size: 640 bytes, 12 KB, 3 MB.
fn size(bytes: u64) -> String {
    const KB: u64 = 1000;
    const MB: u64 = 1000 * KB;
    match bytes {
        0..KB => format!("{bytes} bytes"),
        KB..MB => format!("{} KB", bytes.div_ceil(KB)),
        MB.. => format!("{} MB", bytes.div_ceil(MB)),
    }
}

/// Returns the provider of a model that is named `PROVIDER/NAME`.
fn provider(model: &str) -> &str {
    model.split_once('/').map_or(model, |(provider, _)| provider)
}

/// Finds the usage reports of a session that can't be right. Each provider and each model is named once.
#[derive(Clone, Debug, Default)]
pub struct UsageWarnings {
    /// The agents of each root.
    staffings: BTreeMap<Path, Staffing>,
    /// The model of each contract that has not closed.
    models: BTreeMap<Path, String>,
    /// The requests without an answer.
    requests: BTreeMap<(Path, AskId), Request>,
    named: BTreeSet<Subject>,
}

impl UsageWarnings {
    /// Makes the warnings of a session. No fact was taken.
    pub(crate) async fn of(journal: &Journal, id: &SessionId) -> Result<UsageWarnings, HallError> {
        Ok(UsageWarnings { staffings: staffings(journal, id).await?, ..UsageWarnings::default() })
    }

    /// Takes a fact. Returns a warning about a provider or a model that was not named before.
    pub fn note(&mut self, stored: &Stored) -> Option<UsageWarning> {
        let Stored { contract, fact, .. } = stored;
        match fact {
            Fact::Opened(brief) => {
                if let Some(model) = self.model_of(brief) {
                    self.models.insert(contract.clone(), model);
                }
            }
            Fact::Closed(_) => {
                self.models.remove(contract);
            }
            Fact::Asked { id, ask: Ask::Model(request), .. } => {
                self.requests.insert((contract.clone(), *id), request.clone());
            }
            Fact::Answered { id, answer, .. } => return self.answered(contract, *id, answer),
            Fact::Asked { .. }
            | Fact::Queued { .. }
            | Fact::Refused { .. }
            | Fact::Raised { .. }
            | Fact::Heard { .. }
            | Fact::Waiting { .. }
            | Fact::Woke { .. }
            | Fact::Nudged(_)
            | Fact::Compacted { .. }
            | Fact::Closing(_) => {}
        }
        None
    }

    fn answered(&mut self, contract: &Path, id: AskId, answer: &Answer) -> Option<UsageWarning> {
        let request = self.requests.remove(&(contract.clone(), id))?;
        let (Answer::Said(said), Some(model)) = (answer, self.models.get(contract)) else { return None };
        let too_few = || said.implausible.map(|usage| UsageWarning::too_few(model, usage));
        let above_hold = || InputAboveHold::of(said, &request).map(|input| UsageWarning::above_hold(model, input));
        let warning = too_few().or_else(above_hold)?;
        self.named.insert(warning.subject()).then_some(warning)
    }

    fn model_of(&self, brief: &Brief) -> Option<String> {
        self.staffings.get(&brief.path.top())?.model_of(brief).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::{
        Answer, AskId, ImplausibleUsage, OwnSize, Path, Request, Said, TextKind, TextRef, Tokens, Turn,
    };
    use guildhall_local::hash_text;

    use super::{UsageWarning, UsageWarnings};

    #[test]
    fn a_warning_names_the_provider_the_tokens_and_the_size() {
        let said = |tokens, bytes| UsageWarning::too_few("acme/m/1", ImplausibleUsage { tokens, bytes }).to_string();
        assert_eq!(said(0, 12_000), "acme reports 0 tokens for 12 KB: charged by size");
        assert_eq!(said(1, 999), "acme reports 1 token for 999 bytes: charged by size");
        assert_eq!(said(40_000, 1_000_001), "acme reports 40000 tokens for 2 MB: charged by size");
    }

    /// A reply whose usage report has these numbers.
    fn reported(implausible: Option<ImplausibleUsage>, input: Option<u64>) -> Answer {
        let used = input.map(|input| Tokens { input, ..Tokens::default() });
        Answer::Said(Said {
            reply: TextRef { hash: hash_text(b""), bytes: 0, kind: TextKind::Reply },
            words: None,
            output: None,
            input_tokens: input,
            used,
            size: OwnSize::default(),
            cut: None,
            implausible,
            calls: 0,
            confirms: false,
            undone: None,
        })
    }

    #[test]
    fn each_kind_of_warning_is_told_once_also_if_their_subjects_have_the_same_name() {
        let (mut warnings, root) = (UsageWarnings::default(), Path::root(1));
        // A model inside the process has its own name as its provider.
        warnings.models.insert(root.clone(), "clerk".to_owned());
        let too_few = reported(Some(ImplausibleUsage { tokens: 0, bytes: 12_000 }), None);
        let above = reported(None, Some(900));
        let mut told = Vec::new();
        for (ask, answer) in [&too_few, &above, &too_few, &above].into_iter().enumerate() {
            let ask = AskId(u32::try_from(ask).unwrap());
            let request =
                Request { upto: 1, hears: Vec::new(), tokens: 800, max_tokens: 9, turn: Turn::Next, cut: false };
            warnings.requests.insert((root.clone(), ask), request);
            told.extend(warnings.answered(&root, ask, answer).map(|warning| warning.to_string()));
        }
        assert_eq!(
            told,
            [
                "clerk reports 0 tokens for 12 KB: charged by size",
                "clerk reports 900 input tokens for a request that held 800: in this session, its texts are now held at one token per byte",
            ]
        );
    }
}
