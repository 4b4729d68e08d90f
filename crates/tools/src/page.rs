//! Builds a result that is never longer than the limit for a model.

use guildhall_agent::{RESULT_BYTES_MAX, ToolResult};

use crate::text::cut;

/// The space that is reserved for the notes at the end.
const NOTES_BYTES_MAX: usize = 4 * 1024;
const BODY_BYTES_MAX: usize = RESULT_BYTES_MAX - NOTES_BYTES_MAX;

/// The lines of a result, and notes about what was left out.
#[derive(Default)]
pub(crate) struct Page {
    body: String,
    notes: Vec<String>,
}

impl Page {
    /// Adds a line, or returns `Full` if there is no space for it.
    pub(crate) fn push(&mut self, line: &str) -> Result<(), Full> {
        if self.body.len() + line.len() + 1 > BODY_BYTES_MAX {
            return Err(Full);
        }
        self.body.push_str(line);
        self.body.push('\n');
        Ok(())
    }

    /// Adds a note. Add the most important notes first.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    pub(crate) fn done(self) -> ToolResult {
        let notes: Vec<String> = self.notes.iter().map(|note| format!("({note})")).collect();
        let text = self.body + cut(&notes.join("\n"), NOTES_BYTES_MAX);
        ToolResult::done(text.trim_end_matches('\n'))
    }
}

/// The page has no space for the line.
#[derive(Debug)]
pub(crate) struct Full;

#[cfg(test)]
mod tests {
    use super::Page;
    use guildhall_agent::{RESULT_BYTES_MAX, ToolResult};

    #[test]
    fn a_page_is_never_longer_than_the_limit_of_a_result() {
        let mut page = Page::default();
        while page.push(&"ä".repeat(100)).is_ok() {}
        page.note("é".repeat(RESULT_BYTES_MAX));
        let text = page.done().text;
        assert!(text.len() <= RESULT_BYTES_MAX && text.len() > RESULT_BYTES_MAX - 300, "{}", text.len());
    }

    #[test]
    fn notes_come_after_the_lines() {
        let mut page = Page::default();
        page.push("one").unwrap();
        page.note("and no more");
        assert_eq!(page.done(), ToolResult::done("one\n(and no more)"));
    }
}
