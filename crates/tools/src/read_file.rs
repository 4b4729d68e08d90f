//! `read_file`: the lines of a file with their numbers, one part at a time.

use std::io::{self, BufRead, BufReader};

use guildhall_agent::{Task, Tool, ToolResult, ToolSpec, ToolTerms};
use guildhall_kernel::AskKey;
use serde_json::Value;

use crate::answer;
use crate::arguments::{Arguments, Field, Kind, Need, schema};
use crate::page::{Full, Page};
use crate::project::{Found, PATH_BYTES_MAX, Project};
use crate::suggest;
use crate::text::shown;
use crate::watch::{CallKind, Watch, Watched};

/// How many bytes of a line are shown.
const LINE_BYTES_MAX: usize = 2000;
const LINES_DEFAULT: usize = 1000;
const LINES_MAX: u64 = 10_000;
/// How many bytes at the start of a file are checked for a NUL byte. A file with a NUL byte is not text.
const CHECKED_BYTES: usize = 8 * 1024;

const FIELDS: &[Field] = &[
    Field {
        name: "path",
        kind: Kind::Text { bytes_max: PATH_BYTES_MAX },
        need: Need::Required,
        about: "Relative to the project's root.",
    },
    Field {
        name: "offset",
        kind: Kind::Count { min: 1, max: u32::MAX as u64 },
        need: Need::Optional,
        about: "The first line. Default: 1.",
    },
    Field {
        name: "limit",
        kind: Kind::Count { min: 1, max: LINES_MAX },
        need: Need::Optional,
        about: "The most lines. Default: 1000.",
    },
];

/// The tool `read_file`.
#[derive(Clone, Debug)]
pub struct ReadFile {
    project: Project,
}

impl ReadFile {
    /// Reads files of this project.
    pub fn new(project: Project) -> ReadFile {
        ReadFile { project }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_file".to_owned(),
            description: "Reads a text file of the project, with line numbers. A long file comes in parts: the end of the result \
                          says at which offset to continue."
                .to_owned(),
            schema: schema(FIELDS),
        }
    }

    fn terms(&self) -> ToolTerms {
        crate::read_terms()
    }

    fn call<'a>(&'a self, _key: &'a AskKey, arguments: &'a Value) -> Task<'a, ToolResult> {
        answer(&self.project, CallKind::Reading, Arguments::check(FIELDS, arguments).map(Request::read), read)
    }
}

struct Request {
    path: String,
    first: u64,
    lines_max: usize,
}

impl Request {
    fn read(arguments: Arguments<'_>) -> Request {
        Request {
            path: arguments.text("path").expect("a required argument is present").to_owned(),
            first: arguments.count("offset").unwrap_or(1) as u64,
            lines_max: arguments.count("limit").unwrap_or(LINES_DEFAULT),
        }
    }
}

fn read(project: &Project, request: &Request, watch: &Watch) -> Result<ToolResult, String> {
    let shown_path = crate::text::shown_name(&request.path);
    let (file, bytes) = match project.find(&request.path) {
        Ok(Found::File { file, bytes, .. }) => (file, bytes),
        Ok(Found::Directory { .. }) => {
            return Err(format!("`{shown_path}` is a directory. Use list_files to see what is in it."));
        }
        Err(error) => return Err(suggest::answer(project, &request.path, &error, watch)),
    };
    let mut reader = BufReader::with_capacity(64 * 1024, Watched { inner: file, watch });
    let failed = |error: io::Error| {
        if error.kind() == io::ErrorKind::TimedOut {
            format!("Reading `{shown_path}` took too long and was stopped; the file has {bytes} bytes.")
        } else {
            format!("`{shown_path}` can't be read: {error}.")
        }
    };
    let beginning = reader.fill_buf().map_err(failed)?;
    if beginning[..beginning.len().min(CHECKED_BYTES)].contains(&0) {
        return Err(format!("`{shown_path}` is not a text file ({bytes} bytes); it can't be shown."));
    }
    let part = Part::read(&mut reader, request).map_err(failed)?;
    part.into_result(request, &shown_path, watch)
}

/// The requested lines, and the number of lines in the file.
struct Part {
    page: Page,
    /// The number of the line after the last line that is shown.
    next: u64,
    /// How many lines were read.
    lines: u64,
    rest: Rest,
}

/// Whether the file was read to its end.
#[derive(PartialEq)]
enum Rest {
    None,
    /// The time was up before the end.
    Unread,
}

impl Part {
    fn read(reader: &mut impl BufRead, request: &Request) -> io::Result<Part> {
        let mut part = Part { page: Page::default(), next: request.first, lines: 0, rest: Rest::None };
        let mut line = Vec::new();
        let mut room = Ok(());
        loop {
            let length = match next_line(reader, &mut line) {
                Ok(Some(length)) => length,
                Ok(None) => break,
                // The requested lines were read; only the total number of lines is unknown.
                Err(error) if error.kind() == io::ErrorKind::TimedOut && part.next > request.first => {
                    part.rest = Rest::Unread;
                    break;
                }
                Err(error) => return Err(error),
            };
            part.lines += 1;
            let wanted = part.lines >= request.first && part.lines - request.first < request.lines_max as u64;
            if wanted && room.is_ok() {
                room = part.take(&line, length);
            }
        }
        Ok(part)
    }

    fn take(&mut self, line: &[u8], length: u64) -> Result<(), Full> {
        let rest = length - line.len() as u64;
        let cut =
            if rest > 0 { format!(" [line cut: {rest} bytes more; search shows parts of it]") } else { String::new() };
        self.page.push(&format!("{}\t{}{cut}", self.lines, shown(line)))?;
        self.next = self.lines + 1;
        Ok(())
    }

    fn into_result(mut self, request: &Request, path: &str, watch: &Watch) -> Result<ToolResult, String> {
        if self.rest == Rest::Unread {
            let (first, last, next, seconds) = (request.first, self.next - 1, self.next, watch.time_max().as_secs());
            self.page.note(format!(
                "lines {first} to {last}; the rest could not be counted within {seconds} s; continue with offset {next}"
            ));
        } else if self.lines == 0 && request.first == 1 {
            self.page.note("the file is empty");
        } else if request.first > self.lines {
            return Err(format!("`{path}` has {} lines: there is no line at offset {}.", self.lines, request.first));
        } else if self.next <= self.lines {
            let (first, last, next) = (request.first, self.next - 1, self.next);
            self.page.note(format!("lines {first} to {last} of {}; continue with offset {next}", self.lines));
        }
        Ok(self.page.done())
    }
}

/// Reads the next line without its line break. Stores the start of the line in `line` and returns the length of the whole
/// line, or `None` at the end of the file.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<u64>> {
    line.clear();
    let mut length = 0;
    let mut last = None;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() && last.is_none() {
            return Ok(None);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        line.extend_from_slice(&piece[..piece.len().min(LINE_BYTES_MAX - line.len())]);
        length += piece.len() as u64;
        last = piece.last().copied().or(last);
        let is_over = end.is_some() || buffer.is_empty();
        let used = end.map_or(buffer.len(), |end| end + 1);
        last = last.or(Some(b'\n'));
        reader.consume(used);
        if is_over {
            break;
        }
    }
    if last == Some(b'\r') {
        length -= 1;
        line.truncate(usize::try_from(length).unwrap_or(usize::MAX));
    }
    Ok(Some(length))
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES_MAX, next_line};
    use std::io::BufReader;

    fn lines(text: &[u8], capacity: usize) -> Vec<(Vec<u8>, u64)> {
        let mut reader = BufReader::with_capacity(capacity, text);
        let mut line = Vec::new();
        let mut lines = Vec::new();
        while let Some(length) = next_line(&mut reader, &mut line).unwrap() {
            lines.push((line.clone(), length));
        }
        lines
    }

    #[test]
    fn lines_are_split_the_same_for_every_size_of_the_buffer() {
        for capacity in [1, 2, 3, 64] {
            let expected: &[(&[u8], u64)] = &[(b"a", 1), (b"", 0), (b"bc", 2), (b"", 0), (b"d\re", 3), (b"f", 1)];
            let expected: Vec<_> = expected.iter().map(|(line, length)| (line.to_vec(), *length)).collect();
            assert_eq!(lines(b"a\n\nbc\r\n\r\nd\re\nf", capacity), expected, "{capacity}");
            assert_eq!(lines(b"", capacity), []);
            assert_eq!(lines(b"\n", capacity), [(b"".to_vec(), 0)]);
            assert_eq!(lines(b"a\n", capacity), [(b"a".to_vec(), 1)]);
        }
    }

    #[test]
    fn only_the_start_of_a_long_line_is_stored() {
        let text = vec![b'x'; LINE_BYTES_MAX + 5];
        assert_eq!(lines(&text, 7), [(vec![b'x'; LINE_BYTES_MAX], LINE_BYTES_MAX as u64 + 5)]);
    }
}
