//! A file of tasks, for `run --tasks FILE`. Whatever is wrong with it is said with the file and the line.

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

/// The longest file that is read, in bytes: more than a list may have, since a file has comments.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What a file of tasks may say.
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

/// Reads a file of tasks, each for one of those who were found. Those that name no agent are for `usual`, or for the one who
/// takes the work on.
pub(crate) fn read(file: &Path, found: &Found, usual: Option<&str>, rate: &DatedRate) -> Result<Tasks, Failure> {
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
            None => found.entry(usual)?,
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
        // A number is sats, as in agent files.
        Value::Integer(sats) => format!("{sats}sat").parse(),
        Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
            Err("that is no budget: write it like \"50sat\" or \"0.05usd\"".to_owned())
        }
    }
}

fn text(file: &Path) -> Result<String, Failure> {
    let unreadable = |why: io::Error| Failure::usage(format!("the tasks {}: {why}", file.display()));
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
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("the tasks {}: that is no text", file.display())))
}
