//! The status line of a conversation in a terminal, below the line that is typed. For the line editor it is a hint with a fixed
//! width, so that the editor clears and redraws its row. The text comes from another thread.

use std::borrow::Cow;

use rustyline::Helper;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::{Hint, Hinter};
use rustyline::validate::Validator;

use crate::screen;

/// Adds the row of the status line to the line that is typed.
pub(super) struct StatusRow;

/// An empty row. Nothing of it can be taken into the line.
pub(super) struct EmptyRow(String);

impl Hint for EmptyRow {
    fn display(&self) -> &str {
        &self.0
    }

    fn completion(&self) -> Option<&str> {
        None
    }
}

impl Hinter for StatusRow {
    type Hint = EmptyRow;

    fn hint(&self, _line: &str, _pos: usize, _ctx: &rustyline::Context<'_>) -> Option<EmptyRow> {
        Some(EmptyRow(format!("\n{}", " ".repeat(screen::below_columns()))))
    }
}

impl Highlighter for StatusRow {
    /// Puts the newest status into the row, in exactly its width.
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        let columns = hint.chars().count().saturating_sub(1);
        let status = screen::cut(&screen::below(), columns);
        let rest = columns.saturating_sub(screen::width(&status));
        Cow::Owned(format!("\n{status}{}", " ".repeat(rest)))
    }
}

impl Completer for StatusRow {
    type Candidate = String;
}

impl Validator for StatusRow {}

impl Helper for StatusRow {}
