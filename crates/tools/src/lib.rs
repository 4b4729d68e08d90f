//! The tools that agents call on this machine.
//!
//! They see one project, and of it only what lies beneath its root: see [`Project`]. Everything here only reads; nothing
//! a tool returns has been through the [`SecretPatterns`] yet, which is the journal's funnel and not the tools' business.
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

use watch::{Lane, Watch, blocking};

pub use list_files::ListFiles;
pub use project::{Project, ProjectError};
pub use read_file::ReadFile;
pub use redact::SecretPatterns;
pub use search::Search;

/// The name of the power that reading the project's files needs.
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

/// Does with a call's arguments, once they are read, what only reads; or says to the model what is wrong with them.
fn answer<'a, W: Send + 'static>(
    project: &Project,
    lane: Lane,
    wish: Result<W, String>,
    work: fn(&Project, &W, &Watch) -> Result<ToolResult, String>,
) -> Task<'a, ToolResult> {
    match wish {
        Ok(wish) => {
            let project = project.clone();
            blocking(lane, project.time_max(), move |watch| {
                work(&project, &wish, watch).unwrap_or_else(ToolResult::failed)
            })
        }
        Err(why) => Box::pin(async { ToolResult::failed(why) }),
    }
}

/// What every tool declares that only reads.
fn reading() -> ToolTerms {
    let read = Power::parse(READ).expect("the power's name is one");
    ToolTerms { price: Msat::ZERO, effect: Effect::Pure, needs: PowerSet::from(vec![read]) }
}
