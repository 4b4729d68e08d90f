//! `search`: the lines of the project that a regular expression matches.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use guildhall_agent::{Task, Tool, ToolResult, ToolSpec, ToolTerms};
use guildhall_kernel::AskKey;
use serde_json::Value;

use crate::answer;
use crate::arguments::{Arguments, Field, Kind, Need, schema};
use crate::glob::{self, GLOB_BYTES_MAX, Glob};
use crate::page::Page;
use crate::project::{Found, PATH_BYTES_MAX, Project, open_file};
use crate::suggest;
use crate::text::{shown, shown_name};
use crate::walk::{DEPTH_MAX, EntryKind, Tally, walk};
use crate::watch::{Watch, Watched};

const PATTERN_BYTES_MAX: usize = 1024;
/// How big a pattern may grow when it is compiled, and the longest line that one of that size is matched against. A line is
/// matched in one go that can't be cut off, and takes as long as the two multiplied in the worst case.
const REACHES: [Reach; 3] = [
    Reach { compiled_bytes_max: 8 * 1024, line_bytes_max: 16 * 1024 * 1024 },
    Reach { compiled_bytes_max: 64 * 1024, line_bytes_max: 1024 * 1024 },
    Reach { compiled_bytes_max: 1024 * 1024, line_bytes_max: 64 * 1024 },
];
const MATCHES_MAX: usize = 200;
const CONTEXT_MAX: u64 = 10;
/// How much of a line is shown, in bytes, and how much of it before the match.
const LINE_BYTES_MAX: usize = 400;
const BEFORE_MATCH_BYTES: usize = 100;
/// How many files that were left out are named.
const NAMED_MAX: usize = 5;

const FIELDS: &[Field] = &[
    Field {
        name: "pattern",
        kind: Kind::Text { bytes_max: PATTERN_BYTES_MAX },
        need: Need::Required,
        about: "The regular expression, in Rust's syntax: no look-around, no back-references. It is matched line by line.",
    },
    Field {
        name: "path",
        kind: Kind::Text { bytes_max: PATH_BYTES_MAX },
        need: Need::Optional,
        about: "The file or directory to search, relative to the project's root. By default the root.",
    },
    Field { name: "glob", kind: Kind::Text { bytes_max: GLOB_BYTES_MAX }, need: Need::Optional, about: glob::ABOUT },
    Field {
        name: "context",
        kind: Kind::Count { min: 0, max: CONTEXT_MAX },
        need: Need::Optional,
        about: "How many lines to show before and after each match. By default 0.",
    },
    Field {
        name: "case",
        kind: Kind::OneOf(&["smart", "sensitive", "insensitive"]),
        need: Need::Optional,
        about: "Whether capitals matter. By default smart: they do if the pattern has one.",
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
                "Searches the text files of the project for a regular expression. The matching lines come with their \
                          numbers, below the path of their file. What git ignores is left out."
                    .to_owned(),
            schema: schema(FIELDS),
        }
    }

    fn terms(&self) -> ToolTerms {
        crate::reading()
    }

    fn call<'a>(&'a self, _key: &'a AskKey, arguments: &'a Value) -> Task<'a, ToolResult> {
        answer(&self.project, Arguments::check(FIELDS, arguments).and_then(Wish::read), search)
    }
}

#[derive(Clone, Copy)]
struct Reach {
    compiled_bytes_max: usize,
    line_bytes_max: usize,
}

struct Wish {
    path: String,
    matcher: RegexMatcher,
    line_bytes_max: usize,
    glob: Option<Glob>,
    context: usize,
}

impl Wish {
    fn read(arguments: Arguments<'_>) -> Result<Wish, String> {
        let pattern = arguments.text("pattern").expect("a required argument is there");
        let (matcher, line_bytes_max) = matcher(pattern, arguments.text("case").unwrap_or("smart"))?;
        Ok(Wish {
            path: arguments.text("path").unwrap_or_default().to_owned(),
            matcher,
            line_bytes_max,
            glob: arguments.text("glob").map(Glob::parse).transpose()?,
            context: arguments.count("context").unwrap_or(0),
        })
    }
}

/// Compiles a pattern, and says how long the lines may be that it is matched against.
fn matcher(pattern: &str, case: &str) -> Result<(RegexMatcher, usize), String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_smart(case == "smart").case_insensitive(case == "insensitive").line_terminator(Some(b'\n'));
    let mut compile = |reach: Reach| {
        let compiled = builder.size_limit(reach.compiled_bytes_max).build(pattern);
        compiled.map(|matcher| (matcher, reach.line_bytes_max))
    };
    let [small, middle, large] = REACHES;
    let compiled = compile(small).or_else(|_| compile(middle)).or_else(|_| compile(large));
    compiled.map_err(|error| {
        let pattern = shown(pattern.as_bytes());
        let why: Vec<String> = error.to_string().lines().map(|line| shown(line.as_bytes())).collect();
        format!(
            "The pattern `{pattern}` can't be used:\n{}\nPatterns have no look-around and no back-references, and match within one \
             line. Put a backslash before . * + ? ( ) [ ] {{ }} | ^ $ \\ to find the character itself.",
            why.join("\n")
        )
    })
}

fn search(project: &Project, wish: &Wish, watch: &Watch) -> Result<ToolResult, String> {
    let answer = |trouble| suggest::answer(project, &wish.path, &trouble, watch);
    let mut hits = Hits::default();
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(wish.context)
        .after_context(wish.context)
        .heap_limit(Some(wish.line_bytes_max))
        .binary_detection(BinaryDetection::quit(0))
        .build();
    let tally = match project.find(&wish.path).map_err(answer)? {
        Found::File { real, file, .. } => {
            // There is nothing after it that could be left out.
            let _ = hits.search(&mut searcher, wish, watch, &real, file);
            Tally::default()
        }
        Found::Directory { real: start } => walk(project, &start, DEPTH_MAX, watch, &mut |entry| {
            if wish.glob.as_ref().is_some_and(|glob| !glob.matches(entry.path, &start)) {
                return ControlFlow::Continue(());
            }
            match &entry.kind {
                EntryKind::File => match open_file(entry.directory, entry.name) {
                    Ok((file, _)) => return hits.search(&mut searcher, wish, watch, entry.path, file),
                    Err(_) => hits.unread.push(shown_name(entry.path)),
                },
                EntryKind::Refused { .. } => hits.refused.push(shown_name(entry.path)),
                EntryKind::Directory | EntryKind::Link { .. } | EntryKind::Special => {}
            }
            ControlFlow::Continue(())
        })
        .map_err(answer)?,
    };
    Ok(hits.into_result(&tally))
}

/// What was found so far.
#[derive(Default)]
struct Hits {
    page: Page,
    matches: usize,
    files_searched: usize,
    files_matched: usize,
    end: End,
    refused: Vec<String>,
    unread: Vec<String>,
}

/// Why no more is looked for.
#[derive(Clone, Copy, Default, PartialEq)]
enum End {
    #[default]
    NotYet,
    Full,
    Time,
}

impl Hits {
    fn search(
        &mut self,
        searcher: &mut Searcher,
        wish: &Wish,
        watch: &Watch,
        path: &Path,
        file: File,
    ) -> ControlFlow<()> {
        self.files_searched += 1;
        let mut found = FileHits { hits: self, matcher: &wish.matcher, path, is_first: true };
        let outcome = searcher.search_reader(&wish.matcher, Watched { inner: file, watch }, &mut found);
        if watch.is_over() {
            self.end = End::Time;
        } else if outcome.is_err() {
            self.unread.push(shown_name(path));
        }
        if self.end == End::NotYet { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn into_result(mut self, tally: &Tally) -> ToolResult {
        let counted = format!("{} matches in {} of {} files", self.matches, self.files_matched, self.files_searched);
        match self.end {
            End::NotYet if self.matches == 0 => self.page.note(format!("no match in {} files", self.files_searched)),
            End::NotYet => self.page.note(counted),
            End::Full => {
                self.page.note(format!("cut off after {counted}; narrow it with `path`, `glob` or the pattern"));
            }
            End::Time => {
                let narrow = "narrow it with `path`, `glob` or a simpler pattern";
                self.page.note(format!("the search took too long and was cut off after {counted}; {narrow}"));
            }
        }
        let refused = named("not searched, since such files hold secrets", &self.refused);
        let unread = named(
            "could not be searched (unreadable, or lines too long for this pattern: try a simpler one)",
            &self.unread,
        );
        for note in tally.notes().into_iter().chain(refused).chain(unread) {
            self.page.note(note);
        }
        self.page.done()
    }
}

fn named(what: &str, paths: &[String]) -> Option<String> {
    let more = paths.len().saturating_sub(NAMED_MAX);
    let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = &paths[..paths.len().min(NAMED_MAX)];
    (!paths.is_empty()).then(|| format!("{what}: {}{and_more}", shown.join(", ")))
}

/// Takes the matches of one file.
struct FileHits<'a> {
    hits: &'a mut Hits,
    matcher: &'a RegexMatcher,
    path: &'a Path,
    is_first: bool,
}

impl FileHits<'_> {
    /// Adds a line to the page. `false`: it is full.
    fn push(&mut self, line: &str) -> bool {
        let is_full = self.hits.page.push(line).is_err();
        if is_full {
            self.hits.end = End::Full;
        }
        !is_full
    }

    fn begin_file(&mut self) -> bool {
        if !self.is_first {
            return true;
        }
        self.is_first = false;
        self.hits.files_matched += 1;
        let path = shown_name(self.path);
        let apart = if self.hits.page.is_empty() { "" } else { "\n" };
        self.push(&format!("{apart}{path}"))
    }
}

impl Sink for FileHits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.hits.matches == MATCHES_MAX {
            self.hits.end = End::Full;
            return Ok(false);
        }
        let line = without_end(found.bytes());
        let at = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        let room = self.begin_file() && self.push(&numbered(found.line_number(), ':', line, at));
        if room {
            self.hits.matches += 1;
        }
        Ok(room)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.begin_file() && self.push(&numbered(context.line_number(), '-', without_end(context.bytes()), 0)))
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        Ok(self.push("--"))
    }

    fn finish(&mut self, _searcher: &Searcher, _finish: &SinkFinish) -> io::Result<()> {
        Ok(())
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line with its number, cut around where the match begins if it is long.
fn numbered(number: Option<u64>, mark: char, line: &[u8], at: usize) -> String {
    let number = number.unwrap_or(0);
    if line.len() <= LINE_BYTES_MAX {
        return format!("{number}{mark} {}", shown(line));
    }
    let begin = between_characters(line, at.saturating_sub(BEFORE_MATCH_BYTES));
    let end = between_characters(line, begin + LINE_BYTES_MAX);
    let (before, after) = (if begin > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    let part = shown(&line[begin..end]);
    format!("{number}{mark} {before}{part}{after} [part of a line of {} bytes]", line.len())
}

/// The place at or before this one that is not within a character.
fn between_characters(line: &[u8], at: usize) -> usize {
    let at = at.min(line.len());
    (at.saturating_sub(3)..=at)
        .rev()
        .find(|place| line.get(*place).is_none_or(|byte| byte & 0xc0 != 0x80))
        .unwrap_or(at)
}
