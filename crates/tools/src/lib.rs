//! The file tools that agents call on this machine.
//!
//! The tools see only the files beneath the root of one project: see [`Project`]. They only read. Their results still contain
//! secrets: the journal's text funnel removes them with [`SecretPatterns`].
#![deny(missing_docs)]

mod arguments;
mod glob;
mod ignored;
mod list_files;
mod page;
mod project;
mod read_file;
mod redact;
mod search;
mod secrecy;
mod suggest;
mod text;
mod walk;
mod watch;

use std::sync::Arc;

use guildhall_agent::{Task, Tool, ToolResult, ToolTerms};
use guildhall_kernel::{Effect, Msat, Power, PowerSet};

use watch::{CallKind, Watch, blocking};

pub use list_files::ListFiles;
pub use project::{Project, ProjectError};
pub use read_file::ReadFile;
pub use redact::SecretPatterns;
pub use search::Search;

/// The name of the power that is needed to read the project's files.
pub const READ: &str = "read";

/// The tools that only read: `read_file`, `list_files`, `search`.
///
/// ```
/// use guildhall_tools::{Project, read_only};
///
/// let project = Project::open(".")?;
/// let names: Vec<String> = read_only(&project).iter().map(|tool| tool.spec().name).collect();
/// assert_eq!(names, ["read_file", "list_files", "search"]);
/// # Ok::<(), guildhall_tools::ProjectError>(())
/// ```
pub fn read_only(project: &Project) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadFile::new(project.clone())),
        Arc::new(ListFiles::new(project.clone())),
        Arc::new(Search::new(project.clone())),
    ]
}

/// Runs a call on a blocking thread. If its arguments are wrong, returns the message for the model.
fn answer<'a, W: Send + 'static>(
    project: &Project,
    kind: CallKind,
    request: Result<W, String>,
    work: fn(&Project, &W, &Watch) -> Result<ToolResult, String>,
) -> Task<'a, ToolResult> {
    match request {
        Ok(request) => {
            let project = project.clone();
            blocking(kind, project.time_max(), move |watch| {
                work(&project, &request, watch).unwrap_or_else(ToolResult::failed)
            })
        }
        Err(why) => Box::pin(async { ToolResult::failed(why) }),
    }
}

/// Returns the terms of a tool that only reads.
fn read_terms() -> ToolTerms {
    let read = Power::parse(READ).expect("the name of the power is valid");
    ToolTerms { price: Msat::ZERO, effect: Effect::Pure, needs: PowerSet::from(vec![read]) }
}
