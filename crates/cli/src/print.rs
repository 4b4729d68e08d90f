//! Printing: the result on stdout, everything else on stderr. A closed pipe does not end the program.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anstyle::{Ansi256Color, AnsiColor, Color, Style};
use guildhall::agent::is_unseen;

use crate::markdown;
use crate::screen::{self, Level, stdout_columns};
use crate::world::REHEARSAL;

pub(crate) use crate::screen::{prompt, say};
pub(crate) use guildhall::agent::escape_unseen as tame_json;

pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

/// Black on white. Themes change the first 16 colours, and not these.
pub(crate) const QR: Style =
    Style::new().fg_color(Some(Color::Ansi256(Ansi256Color(16)))).bg_color(Some(Color::Ansi256(Ansi256Color(231))));

/// The longest rule, in columns.
const RULE_COLUMNS_MAX: usize = 80;

/// A part of the result could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the result could not be written to standard output: {0}")]
pub(crate) struct NotWritten(#[from] io::Error);

/// Prints a line of the result.
pub(crate) fn out(line: &str) -> Result<(), NotWritten> {
    Ok(screen::write_out(line)?)
}

/// Prints a path as a line of the result: exact bytes, but on a terminal with escapes for characters that it would not show.
pub(crate) fn out_path(path: &Path) -> Result<(), NotWritten> {
    if stdout_columns().is_none() {
        return Ok(screen::write_out_bytes(path.as_os_str().as_bytes())?);
    }
    let escape = |c: char| if is_unseen(c) { c.escape_unicode().to_string() } else { c.to_string() };
    out(&path.to_string_lossy().chars().map(escape).collect::<String>())
}

/// Prints an agent's text. A terminal gets rendered Markdown, any other output the text as it is.
pub(crate) fn out_words(words: &str) -> Result<(), NotWritten> {
    let words = tame_lines(words.trim());
    out(&stdout_columns().map_or_else(|| words.clone(), |columns| markdown::render(&words, columns)))
}

/// Prints an agent's answer. A rehearsal quotes lines of files, which are not Markdown.
pub(crate) fn out_answer(text: &str, model: &str) -> Result<(), NotWritten> {
    if model == REHEARSAL { out_wrapped(&tame_lines(text.trim())) } else { out_words(text) }
}

/// Prints lines. A terminal gets them wrapped at words.
pub(crate) fn out_wrapped(lines: &str) -> Result<(), NotWritten> {
    let wrapped = |columns| lines.split('\n').map(|line| screen::wrap(line, columns)).collect::<Vec<_>>().join("\n");
    out(&stdout_columns().map_or_else(|| lines.to_owned(), wrapped))
}

/// Prints a reply in a conversation. A terminal gets an empty row before and after, and only the part that was not printed while
/// the reply arrived.
pub(crate) fn out_reply(reply: &str) -> Result<(), NotWritten> {
    match stdout_columns() {
        None => out_words(reply),
        Some(columns) => {
            let reply = tame_lines(reply.trim());
            out(&format!("\n{}\n", markdown::render(screen::unprinted(&reply), columns)))
        }
    }
}

/// Prints a line in a style, also with `--quiet`.
pub(crate) fn say_in(style: Style, line: &str) {
    say(&format!("{style}{line}{style:#}"));
}

/// Prints a line that is not about one contract.
pub(crate) fn note(line: &str) {
    if screen::level() > Level::Quiet {
        say_in(DIM, line);
    }
}

/// Prints a separator: a rule on a terminal, an empty line elsewhere.
pub(crate) fn rule(title: &str) {
    if screen::level() == Level::Quiet {
        return;
    }
    match screen::stderr_columns() {
        None => say(""),
        Some(columns) => {
            let title = if title.is_empty() { String::new() } else { format!("── {title} ") };
            let rest = columns.min(RULE_COLUMNS_MAX).saturating_sub(screen::width(&title));
            say_in(DIM, &format!("{title}{}", "─".repeat(rest)));
        }
    }
}

/// Prints a warning about a problem that does not stop the work.
pub(crate) fn warn(line: &str) {
    if screen::level() > Level::Quiet {
        say_in(WARN, line);
    }
}

/// A number of things, with the plural where it belongs: `1 request`, `2 requests`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Makes text from outside safe for a terminal: one line without invisible characters, cut to this length.
pub(crate) fn tame(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == chars_max {
            line.push('…');
            break;
        }
        line.push(if is_unseen(c) { ' ' } else { c });
    }
    line
}

/// Makes an answer safe for a terminal: of the invisible characters, only line breaks and tabs are kept.
pub(crate) fn tame_lines(text: &str) -> String {
    text.chars().filter(|c| !is_unseen(*c) || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::{tame, tame_json, tame_lines};
    use guildhall::agent::is_unseen;
    use serde_json::{Value, json};

    #[test]
    fn text_from_outside_contains_no_terminal_commands() {
        assert_eq!(tame("a\u{1b}[31mb\nc\u{7}", 80), "a [31mb c ");
        assert_eq!(tame("abcdef", 3), "abc…");
        assert_eq!(tame_lines("a\u{1b}]0;x\u{7}\n\tb\r\u{9b}2J"), "a]0;x\n\tb2J");
    }

    #[test]
    fn text_from_outside_contains_no_hidden_or_reordering_characters() {
        let unseen =
            "\u{202a}\u{202e}\u{2066}\u{2069}\u{200b}\u{200f}\u{2060}\u{2064}\u{feff}\u{2028}\u{2029}\u{e0041}";
        assert_eq!(tame_lines(&format!("pay {unseen}alice")), "pay alice");
        assert_eq!(tame(unseen, 80).trim(), "");
        assert_eq!(tame_lines("naïve — „日本語“ 🏛"), "naïve — „日本語“ 🏛");
    }

    #[test]
    fn json_escapes_every_invisible_character_and_keeps_its_meaning() {
        let every: String = (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| is_unseen(*c)).collect();
        let value = json!({ every.clone(): [every, "naïve — „日本語“ 🏛 \\ \" \\u202e"], "n": 1.5 });
        let tamed = tame_json(serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(tamed.chars().find(|c| is_unseen(*c) && *c != '\n'), None);
        assert!(tamed.contains("\\u202e") && tamed.contains("\\udb40\\udc41") && tamed.contains("日本語"), "{tamed}");
        assert_eq!(serde_json::from_str::<Value>(&tamed).unwrap(), value);
    }
}
