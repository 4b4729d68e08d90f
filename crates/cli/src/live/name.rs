//! The names of contracts, as lines show them.

use guildhall::Hall;
use guildhall::kernel::{AgentName, Brief, TextRef};

use crate::print::tame;
use crate::screen::cut;

/// The most of a label that is shown, in columns.
const LABEL_COLUMNS_MAX: usize = 40;

/// Returns a contract's name: the label that its hirer gave it, if that can be read, or else its agent's name.
pub(crate) async fn name(hall: &Hall, brief: &Brief) -> String {
    name_of(hall, brief.label.as_deref(), &brief.agent).await
}

/// The same for a hire that has no contract yet.
pub(crate) async fn name_of(hall: &Hall, label: Option<&TextRef>, agent: &AgentName) -> String {
    let label = match label {
        Some(label) => hall.journal().text(label.hash).await.ok().flatten(),
        None => None,
    };
    let label = label.map(|bytes| label_in_a_line(&String::from_utf8_lossy(&bytes))).filter(|label| !label.is_empty());
    label.unwrap_or_else(|| agent.to_string())
}

fn label_in_a_line(label: &str) -> String {
    // More characters than columns, because some characters take no column.
    let label = tame(label, 20 * LABEL_COLUMNS_MAX);
    cut(&label.split_whitespace().collect::<Vec<_>>().join(" "), LABEL_COLUMNS_MAX)
}

#[cfg(test)]
mod tests {
    use super::label_in_a_line;

    #[test]
    fn a_label_is_one_short_line_whatever_is_in_it() {
        assert_eq!(label_in_a_line(" fares\n to\tRome "), "fares to Rome");
        assert_eq!(label_in_a_line("\u{1b}[31mred\u{1b}]0;x\u{7}\u{202e}"), "[31mred ]0;x");
        assert_eq!(label_in_a_line("--yes"), "--yes");
        assert_eq!(label_in_a_line(&"x".repeat(10_000)), format!("{}…", "x".repeat(39)));
    }
}
