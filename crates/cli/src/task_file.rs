//! Reading the task file of `run --tasks FILE`. Every error names the file and the line.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use guildhall::{DatedRate, TaskSpec, Tasks, TasksError};
use serde::Deserialize;
use toml::{Spanned, Value};

use crate::amount::Budget;
use crate::exit::Failure;
use crate::team::Found;

/// The longest file, in bytes. This is more than a list may have, because a file has comments.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The contents of a task file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    #[serde(default)]
    task: Vec<Spanned<Entry>>,
}

/// One `[[task]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    task: String,
    name: Option<String>,
    agent: Option<Spanned<String>>,
    #[serde(default)]
    after: After,
    budget: Option<Value>,
}

/// One name, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum After {
    One(String),
    Several(Vec<String>),
}

impl Default for After {
    fn default() -> After {
        After::Several(Vec::new())
    }
}

/// Reads a task file. A task that names no agent is for `default_agent`, or for the first agent of the team.
pub(crate) fn read(
    file: &Path,
    found: &Found,
    default_agent: Option<&str>,
    rate: &DatedRate,
) -> Result<Tasks, Failure> {
    let text = text(file)?;
    let place = |at: Range<usize>| {
        let line = text[..at.start].matches('\n').count() + 1;
        format!("{}:{line}", file.display())
    };
    let wrong = |at: Range<usize>, why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", place(at)));
    let read: TaskFile =
        toml::from_str(&text).map_err(|why| wrong(why.span().unwrap_or_default(), &why.message().to_owned()))?;
    let (mut specs, mut spans) = (Vec::new(), Vec::new());
    for (number, entry) in (1..).zip(read.task) {
        let span = entry.span();
        let entry = entry.into_inner();
        let agent = match &entry.agent {
            Some(agent) => found.named(agent.get_ref()).map_err(|why| wrong(agent.span(), &why))?,
            None => found.entry(default_agent)?,
        };
        specs.push(TaskSpec {
            name: entry.name.unwrap_or_else(|| number.to_string()),
            agent,
            task: entry.task.trim().to_owned(),
            after: match entry.after {
                After::One(name) => vec![name],
                After::Several(names) => names,
            },
            budget: match entry.budget {
                None => None,
                Some(amount) => Some(budget(&amount).map_err(|why| wrong(span.clone(), &why))?.msat(rate)),
            },
        });
        spans.push(span);
    }
    Tasks::new(specs).map_err(|why| match why {
        TasksError::Task { index, why } => wrong(spans[index].clone(), &why),
        TasksError::Empty => Failure::usage(format!(
            "{}: {why}. Write a task like this:\n\n  [[task]]\n  agent = \"writer\"\n  task = \"Describe what the program does.\"\n",
            file.display()
        )),
        TasksError::TooMany { .. } | TasksError::TooLong { .. } => Failure::usage(format!("{}: {why}", file.display())),
    })
}

fn budget(amount: &Value) -> Result<Budget, String> {
    match amount {
        Value::String(text) => text.parse(),
        // A number means sats, as in agent files.
        Value::Integer(sats) => format!("{sats}sat").parse(),
        Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
            Err("`budget` is not an amount: write it like \"50sat\" or \"0.05usd\"".to_owned())
        }
    }
}

fn text(file: &Path) -> Result<String, Failure> {
    let unreadable = |why: io::Error| Failure::usage(format!("can't read the task file {}: {why}", file.display()));
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let opened = File::open(file).map_err(unreadable)?;
        opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::usage(format!(
            "the task file {} has more than {FILE_BYTES_MAX} bytes: split the tasks into several files",
            file.display()
        )));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("the task file {} is not UTF-8 text", file.display())))
}
