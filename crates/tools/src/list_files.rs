//! `list_files`: the files and directories in a directory, sorted by name.

use std::ops::ControlFlow;

use guildhall_agent::{Task, Tool, ToolResult, ToolSpec, ToolTerms};
use guildhall_kernel::AskKey;
use serde_json::Value;

use crate::answer;
use crate::arguments::{Arguments, Field, Kind, Need, schema};
use crate::glob::{self, GLOB_BYTES_MAX, Glob};
use crate::page::Page;
use crate::project::{Found, PATH_BYTES_MAX, Project};
use crate::suggest;
use crate::text::shown_name;
use crate::walk::{DEPTH_MAX, Entry, EntryKind, walk};
use crate::watch::{CallKind, Watch};

/// How many entries are shown at most.
const SHOWN_MAX: usize = 1000;
const DEPTH_DEFAULT: usize = 2;

const FIELDS: &[Field] = &[
    Field {
        name: "path",
        kind: Kind::Text { bytes_max: PATH_BYTES_MAX },
        need: Need::Optional,
        about: "The directory. Default: the project's root.",
    },
    Field { name: "pattern", kind: Kind::Text { bytes_max: GLOB_BYTES_MAX }, need: Need::Optional, about: glob::ABOUT },
    Field {
        name: "depth",
        kind: Kind::Count { min: 1, max: DEPTH_MAX as u64 },
        need: Need::Optional,
        about: "How many levels to show. Default: 2, or all with a pattern.",
    },
];

/// The tool `list_files`.
#[derive(Clone, Debug)]
pub struct ListFiles {
    project: Project,
}

impl ListFiles {
    /// Lists files of this project.
    pub fn new(project: Project) -> ListFiles {
        ListFiles { project }
    }
}

impl Tool for ListFiles {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_files".to_owned(),
            description:
                "Lists files and directories of the project, without those that git ignores. Directories end in `/`."
                    .to_owned(),
            schema: schema(FIELDS),
        }
    }

    fn terms(&self) -> ToolTerms {
        crate::read_terms()
    }

    fn call<'a>(&'a self, _key: &'a AskKey, arguments: &'a Value) -> Task<'a, ToolResult> {
        answer(&self.project, CallKind::Walking, Arguments::check(FIELDS, arguments).and_then(Request::read), list)
    }
}

struct Request {
    path: String,
    pattern: Option<Glob>,
    depth: usize,
}

impl Request {
    fn read(arguments: Arguments<'_>) -> Result<Request, String> {
        let pattern = arguments.text("pattern").map(Glob::parse).transpose()?;
        let depth_default = if pattern.is_some() { DEPTH_MAX } else { DEPTH_DEFAULT };
        Ok(Request {
            path: arguments.text("path").unwrap_or_default().to_owned(),
            pattern,
            depth: arguments.count("depth").unwrap_or(depth_default),
        })
    }
}

fn list(project: &Project, request: &Request, watch: &Watch) -> Result<ToolResult, String> {
    let answer = |error| suggest::answer(project, &request.path, &error, watch);
    let start = match project.find(&request.path).map_err(answer)? {
        Found::Directory { real } => real,
        Found::File { bytes, .. } => {
            let path = shown_name(&request.path);
            return Err(format!("`{path}` is a file of {bytes} bytes. Use read_file to read it."));
        }
    };
    let mut page = Page::default();
    let (mut shown, mut more) = (0, 0);
    let tally = walk(project, &start, request.depth, watch, &mut |entry| {
        if request.pattern.as_ref().is_some_and(|pattern| !pattern.matches(entry.path, &start)) {
            return ControlFlow::Continue(());
        }
        if more == 0 && shown < SHOWN_MAX && page.push(&line(entry)).is_ok() {
            shown += 1;
        } else {
            more += 1;
        }
        ControlFlow::Continue(())
    })
    .map_err(answer)?;
    let narrow = "narrow it with `path`, `pattern` or `depth`";
    if tally.out_of_time {
        let (seconds, seen) = (watch.time_max().as_secs(), shown + more);
        page.note(format!("stopped after {seconds} s: {shown} of the {seen} found so far are shown; {narrow}"));
    } else if more > 0 {
        page.note(format!("and {more} more; {narrow}"));
    } else if shown == 0 {
        page.note(if request.pattern.is_some() {
            "no path matches"
        } else {
            "no files; files that git ignores are not listed"
        });
    }
    for note in tally.notes() {
        page.note(note);
    }
    Ok(page.done())
}

fn line(entry: &Entry<'_>) -> String {
    let path = shown_name(entry.path);
    match &entry.kind {
        EntryKind::Directory => format!("{path}/"),
        EntryKind::File => path,
        EntryKind::Link { target } => format!("{path} -> {}", shown_name(target)),
        EntryKind::Special => format!("{path} [not a regular file: can't be read]"),
        EntryKind::Refused { why } => format!("{path} [refused: {why}]"),
    }
}
