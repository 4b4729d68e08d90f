//! Writes JSON by hand where a JSON library would refuse: lone surrogates, broken arguments, numbers out of range.

use crate::script::reply::Text;

/// More deltas than this would test patience, not clients.
const DELTAS_MAX: usize = 1000;
const DELTA_CHARS: usize = 24;

/// A text with all templates filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Literal {
    /// To be escaped.
    Plain(String),
    /// Escaped already, however badly.
    Escaped(String),
}

impl Literal {
    pub(crate) fn of(text: &Text, fill: impl Fn(&str) -> String) -> Self {
        match text {
            Text::Plain(text) => Self::Plain(fill(text)),
            Text::Escaped { escaped } => Self::Escaped(escaped.clone()),
            Text::Again { again, times } => Self::Plain(again.repeat(*times)),
            Text::Nested { nested } => Self::Plain(format!("{}1{}", r#"{"a":"#.repeat(*nested), "}".repeat(*nested))),
        }
    }

    /// The text as a JSON string, with its quotes.
    pub(crate) fn quoted(&self) -> String {
        match self {
            Self::Plain(text) => quote(text),
            Self::Escaped(text) => format!("\"{text}\""),
        }
    }

    /// The text as it is.
    pub(crate) fn verbatim(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Escaped(text) => text,
        }
    }

    /// The text in pieces, each a JSON string.
    pub(crate) fn deltas(&self, chunk_chars: Option<usize>) -> Vec<String> {
        match self {
            Self::Plain(text) => {
                let wanted = chunk_chars.unwrap_or(DELTA_CHARS);
                pieces(text, wanted.max(text.len().div_ceil(DELTAS_MAX))).into_iter().map(quote).collect()
            }
            Self::Escaped(_) => vec![self.quoted()],
        }
    }
}

fn pieces(text: &str, chars: usize) -> Vec<&str> {
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let end = rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at);
        let (piece, more) = rest.split_at(end);
        pieces.push(piece);
        rest = more;
    }
    pieces
}

/// A JSON string, with its quotes.
pub(crate) fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let text = Literal::Plain("aé\"世".into());
        assert_eq!(text.deltas(Some(1)), [r#""a""#, r#""é""#, r#""\"""#, r#""世""#]);
        assert_eq!(text.deltas(Some(3)), [r#""aé\"""#, r#""世""#]);
        assert_eq!(text.deltas(None), [r#""aé\"世""#]);
    }

    #[test]
    fn a_huge_text_comes_in_few_deltas() {
        let text = Literal::of(&Text::Again { again: "ab".into(), times: 1_000_000 }, str::to_string);
        let deltas = text.deltas(None);
        assert_eq!(deltas.len(), DELTAS_MAX);
        assert_eq!(deltas.iter().map(|delta| delta.len() - 2).sum::<usize>(), 2_000_000);
    }

    #[test]
    fn nested_json_is_as_deep_as_asked() {
        let text = Literal::of(&Text::Nested { nested: 3 }, str::to_string);
        assert_eq!(text.verbatim(), r#"{"a":{"a":{"a":1}}}"#);
    }
}
