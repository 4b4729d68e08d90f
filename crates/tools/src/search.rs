//! `search`: the lines of the project that match a regular expression. For every pattern and file, a search stays within the
//! time limit of a call and within the memory limits in this module.

mod excerpt;
mod lines;
mod pattern;

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

use guildhall_agent::{Task, Tool, ToolResult, ToolSpec, ToolTerms};
use guildhall_kernel::AskKey;
use serde_json::Value;

use self::lines::{Enough, Finding, Line, Stop};
use self::pattern::{Case, Pattern};
use crate::answer;
use crate::arguments::{Arguments, Field, Kind, Need, schema};
use crate::glob::{self, GLOB_BYTES_MAX, Glob};
use crate::page::Page;
use crate::project::{Found, PATH_BYTES_MAX, Project, open_file};
use crate::suggest;
use crate::text::shown_name;
use crate::walk::{DEPTH_MAX, EntryKind, Tally, walk};
use crate::watch::{CallKind, Watch, Watched};

const PATTERN_BYTES_MAX: usize = 1024;
const MATCHES_MAX: usize = 200;
const CONTEXT_MAX: u64 = 10;
/// How many of the files or lines that were left out are named.
const NAMED_MAX: usize = 5;

const FIELDS: &[Field] = &[
    Field {
        name: "pattern",
        kind: Kind::Text { bytes_max: PATTERN_BYTES_MAX },
        need: Need::Required,
        about: "In Rust's syntax, without look-around and back-references.",
    },
    Field {
        name: "path",
        kind: Kind::Text { bytes_max: PATH_BYTES_MAX },
        need: Need::Optional,
        about: "A file or directory. Default: the project's root.",
    },
    Field { name: "glob", kind: Kind::Text { bytes_max: GLOB_BYTES_MAX }, need: Need::Optional, about: glob::ABOUT },
    Field {
        name: "context",
        kind: Kind::Count { min: 0, max: CONTEXT_MAX },
        need: Need::Optional,
        about: "How many lines to show around each match, up to 10. Default: 0.",
    },
    Field {
        name: "case",
        kind: Kind::OneOf(&["smart", "sensitive", "insensitive"]),
        need: Need::Optional,
        about: "Default: smart. Case then counts only if the pattern has a capital letter.",
    },
];

/// The tool `search`.
#[derive(Clone, Debug)]
pub struct Search {
    project: Project,
}

impl Search {
    /// Searches files of this project.
    pub fn new(project: Project) -> Search {
        Search { project }
    }
}

impl Tool for Search {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "search".to_owned(),
            description:
                "Searches the lines of the project's text files for a regular expression, without files that git \
                          ignores. Shows the matching lines with their numbers, by file."
                    .to_owned(),
            schema: schema(FIELDS),
        }
    }

    fn terms(&self) -> ToolTerms {
        crate::read_terms()
    }

    fn call<'a>(&'a self, _key: &'a AskKey, arguments: &'a Value) -> Task<'a, ToolResult> {
        answer(&self.project, CallKind::Walking, Arguments::check(FIELDS, arguments).and_then(Request::read), search)
    }
}

struct Request {
    path: String,
    pattern: String,
    case: Case,
    glob: Option<Glob>,
    context: usize,
}

impl Request {
    fn read(arguments: Arguments<'_>) -> Result<Request, String> {
        Ok(Request {
            path: arguments.text("path").unwrap_or_default().to_owned(),
            pattern: arguments.text("pattern").expect("a required argument is present").to_owned(),
            case: match arguments.text("case") {
                Some("sensitive") => Case::Sensitive,
                Some("insensitive") => Case::Insensitive,
                Some(_) | None => Case::Smart,
            },
            glob: arguments.text("glob").map(Glob::parse).transpose()?,
            context: arguments.count("context").unwrap_or(0),
        })
    }
}

fn search(project: &Project, request: &Request, watch: &Watch) -> Result<ToolResult, String> {
    let answer = |error| suggest::answer(project, &request.path, &error, watch);
    let pattern = Pattern::compile(&request.pattern, request.case)?;
    let mut search = Running { pattern, context: request.context, watch, findings: Findings::default() };
    let tally = match project.find(&request.path).map_err(answer)? {
        Found::File { real, file, .. } => {
            // The result is not needed: there are no further files.
            let _ = search.search(&real, file);
            Tally::default()
        }
        Found::Directory { real: start } => walk(project, &start, DEPTH_MAX, watch, &mut |entry| {
            if request.glob.as_ref().is_some_and(|glob| !glob.matches(entry.path, &start)) {
                return ControlFlow::Continue(());
            }
            match &entry.kind {
                EntryKind::File => match open_file(entry.directory, entry.name) {
                    Ok((file, _)) => return search.search(entry.path, file),
                    Err(_) => search.findings.unread.push(|| shown_name(entry.path)),
                },
                EntryKind::Refused { .. } => search.findings.refused.push(|| shown_name(entry.path)),
                EntryKind::Directory | EntryKind::Link { .. } | EntryKind::Special => {}
            }
            ControlFlow::Continue(())
        })
        .map_err(answer)?,
    };
    Ok(search.findings.into_result(&tally, watch))
}

/// A running search.
struct Running<'a> {
    pattern: Pattern,
    context: usize,
    watch: &'a Watch,
    findings: Findings,
}

impl Running<'_> {
    /// Searches a file. Returns whether to continue with the next file.
    fn search(&mut self, path: &Path, file: File) -> ControlFlow<()> {
        let findings = &mut self.findings;
        let mut is_first = true;
        let file = Watched { inner: file, watch: self.watch };
        let searched = lines::search(file, &mut self.pattern, self.context, self.watch, &mut |line| {
            findings.take(path, &mut is_first, &line)
        });
        findings.files_searched += 1;
        match searched {
            Ok(()) => return ControlFlow::Continue(()),
            Err(Stop::Unreadable) => {
                findings.unread.push(|| shown_name(path));
                return ControlFlow::Continue(());
            }
            Err(Stop::Enough) => findings.end = End::Full,
            Err(Stop::OutOfTime) => findings.end = End::OutOfTimeWithin(shown_name(path)),
        }
        ControlFlow::Break(())
    }
}

/// The findings so far.
#[derive(Default)]
struct Findings {
    page: Page,
    matches: usize,
    files_searched: usize,
    files_matched: usize,
    end: End,
    refused: Named,
    unread: Named,
    too_long: Named,
}

/// Why the search ended early.
#[derive(Default, PartialEq)]
enum End {
    #[default]
    NotYet,
    Full,
    /// The time was up inside this file.
    OutOfTimeWithin(String),
}

/// Files or lines that were left out: their number, and the names of the first ones.
#[derive(Default)]
struct Named {
    count: usize,
    first: Vec<String>,
}

impl Named {
    fn push(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < NAMED_MAX {
            self.first.push(name());
        }
    }

    fn note(&self, what: &str) -> Option<String> {
        let more = self.count - self.first.len();
        let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (self.count > 0).then(|| format!("{what}: {}{and_more}", self.first.join(", ")))
    }
}

impl Findings {
    fn take(&mut self, path: &Path, is_first: &mut bool, found: &Finding<'_>) -> Result<(), Enough> {
        match found {
            Finding::Match(_) if self.matches == MATCHES_MAX => return Err(Enough),
            Finding::Match(line) => {
                self.show(path, is_first, line, ':')?;
                self.matches += 1;
            }
            Finding::Context(line) => self.show(path, is_first, line, '-')?,
            Finding::Gap => self.push("--")?,
            Finding::TooLong(line) => self.too_long.push(|| format!("{}:{}", shown_name(path), line.number)),
        }
        Ok(())
    }

    /// Adds a line to the result, after the path of the file if it is the first line of the file.
    fn show(&mut self, path: &Path, is_first: &mut bool, line: &Line, mark: char) -> Result<(), Enough> {
        if std::mem::replace(is_first, false) {
            self.files_matched += 1;
            let apart = if self.page.is_empty() { "" } else { "\n" };
            self.push(&format!("{apart}{}", shown_name(path)))?;
        }
        self.push(&format!("{}{mark} {}", line.number, line.excerpt.shown()))
    }

    fn push(&mut self, line: &str) -> Result<(), Enough> {
        self.page.push(line).map_err(|_| Enough)
    }

    fn into_result(mut self, tally: &Tally, watch: &Watch) -> ToolResult {
        let counted = format!("{} matches in {} of {} files", self.matches, self.files_matched, self.files_searched);
        let stopped = format!("stopped after {} s", watch.time_max().as_secs());
        let narrow = "narrow it with `path`, `glob` or the pattern";
        self.page.note(match &self.end {
            End::OutOfTimeWithin(path) => {
                format!("{stopped}, before the end of {path}: {counted} searched so far; {narrow}")
            }
            End::NotYet if tally.out_of_time => format!("{stopped}: {counted} searched so far; {narrow}"),
            End::Full => format!("cut off after {counted}; {narrow}"),
            End::NotYet if self.matches == 0 => format!("no match in {} files", self.files_searched),
            End::NotYet => counted,
        });
        let left_out = [
            self.refused.note("not searched, because these files may contain secrets"),
            self.unread.note("could not be read"),
            self.too_long.note("lines that are too long for a pattern with word boundaries (\\b) were left out"),
        ];
        for note in tally.notes().into_iter().chain(left_out.into_iter().flatten()) {
            self.page.note(note);
        }
        self.page.done()
    }
}
