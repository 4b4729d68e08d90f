//! Divides a file into front matter and instructions, and refuses what is no agent file before anything reads it closely.

use super::problem::Flaw;
use super::{FILE_BYTES_MAX, FRONT_BYTES_MAX};

/// The mark before and after front matter.
const MARK: &str = "---";

/// A file in its two parts.
pub(super) struct Parts<'a> {
    pub(super) front: &'a str,
    /// The line on which the front matter begins.
    pub(super) line: u32,
    pub(super) body: &'a str,
}

/// Takes bytes as text, or says on which line they are none.
pub(super) fn text(bytes: &[u8]) -> Result<&str, Flaw> {
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Flaw::error(1, format!("an agent file has at most {FILE_BYTES_MAX} bytes")));
    }
    let binary = |at: usize| Flaw::error(line_of(&bytes[..at]), "it is no text: an agent file is Markdown in UTF-8");
    let text = std::str::from_utf8(bytes).map_err(|error| binary(error.valid_up_to()))?;
    if let Some(at) = text.find('\0') {
        return Err(binary(at));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Flaw::error(1, "the file is empty: begin it with front matter, as in ---, name: x, ---"));
    }
    Ok(text)
}

fn line_of(before: &[u8]) -> u32 {
    u32::try_from(before.split(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

/// Divides a text at its marks. Blank lines may come first.
pub(super) fn split(text: &str) -> Result<Parts<'_>, Flaw> {
    let blank = text.len() - text.trim_start_matches(['\n', '\r', ' ', '\t']).len();
    let start = text[..blank].rfind('\n').map_or(0, |at| at + 1);
    let opening = line_of(&text.as_bytes()[..start]);
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != MARK {
        return Err(Flaw::error(opening, "there is no front matter: begin the file with a line ---"));
    }
    let front = start + first.len();
    let mut end = front;
    for line in lines {
        if line.trim_end() == MARK {
            let body = text[end + line.len()..].trim();
            return Ok(Parts { front: &text[front..end], line: opening + 1, body });
        }
        end += line.len();
        if end - front > FRONT_BYTES_MAX {
            return Err(Flaw::error(opening, format!("front matter has at most {FRONT_BYTES_MAX} bytes")));
        }
    }
    Err(Flaw::error(opening, "the front matter does not end: close it with a line ---"))
}
