//! Short names of models, as people write them in agent files.

/// The short names and their full names.
pub const ALIASES: [(&str, &str); 3] =
    [("opus", "claude-opus-5-5"), ("sonnet", "claude-sonnet-5-5"), ("haiku", "claude-haiku-5-5")];

/// A choice of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The model of the hirer.
    Inherit,
    /// The model with this full name.
    Model(String),
}

/// Reads the choice of a model: a short name, a full name, `inherit`, or an empty text, which also means `inherit`.
///
/// ```
/// use guildhall_models::{Chosen, choose};
/// assert_eq!(choose("Sonnet"), Chosen::Model("claude-sonnet-5-5".into()));
/// assert_eq!(choose("qwen3:8b"), Chosen::Model("qwen3:8b".into()));
/// assert_eq!(choose("inherit"), Chosen::Inherit);
/// ```
pub fn choose(name: &str) -> Chosen {
    let name = name.trim();
    let short = name.to_ascii_lowercase();
    if short.is_empty() || short == "inherit" {
        return Chosen::Inherit;
    }
    let full = ALIASES.iter().find(|(alias, _)| *alias == short).map_or(name, |(_, full)| full);
    Chosen::Model(full.to_owned())
}
