//! The texts of a script as JSON, written by hand where a JSON library would refuse: lone surrogates, broken arguments.

use std::borrow::Cow;

use crate::script::reply::Text;

/// More deltas than this would test patience, not clients.
const DELTAS_MAX: usize = 1000;
const DELTA_CHARS: usize = 24;

impl Text {
    /// The text as it is.
    pub(crate) fn verbatim(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(text) | Self::Escaped { escaped: text } => text.into(),
            Self::Again { again, times } => again.repeat(*times).into(),
            Self::Nested { nested } => format!("{}1{}", r#"{"a":"#.repeat(*nested), "}".repeat(*nested)).into(),
        }
    }

    /// The text as a JSON string, with its quotes.
    pub(crate) fn quoted(&self) -> String {
        match self {
            Self::Escaped { escaped } => format!("\"{escaped}\""),
            Self::Plain(_) | Self::Again { .. } | Self::Nested { .. } => quote(&self.verbatim()),
        }
    }

    /// The text in pieces, each a JSON string.
    pub(crate) fn deltas(&self, chunk_chars: Option<usize>) -> Vec<String> {
        if matches!(self, Self::Escaped { .. }) {
            return vec![self.quoted()];
        }
        let text = self.verbatim();
        let chars = chunk_chars.unwrap_or(DELTA_CHARS).max(text.len().div_ceil(DELTAS_MAX));
        let mut rest = &*text;
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let end = rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at);
            pieces.push(quote(&rest[..end]));
            rest = &rest[end..];
        }
        pieces
    }
}

/// A JSON string, with its quotes.
pub(crate) fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}
