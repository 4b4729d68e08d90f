//! The board that the hires of one hirer share. The board itself is not stored: it consists of the posts in their calls, in the
//! order of the journal.

use guildhall_kernel::{AgentName, Path};
use serde_json::Value;

use crate::tool::ToolResult;
use crate::wording;

/// The name of the tool by which hires post and read.
pub const BOARD: &str = "board";

/// How many of the newest posts a board shows.
pub const POSTS_MAX: usize = 50;

/// The longest post, in bytes.
pub const POST_BYTES_MAX: usize = 2 * 1024;

/// A post, with the hire that posted it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Post {
    pub contract: Path,
    pub agent: AgentName,
    pub text: String,
}

impl Post {
    /// Reads the post in a call to the board. `None` if there is none, or if it is too long.
    pub fn of(contract: &Path, agent: &AgentName, arguments: &str) -> Option<Post> {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let text = posted(&arguments).filter(|text| text.len() <= POST_BYTES_MAX)?;
        Some(Post { contract: contract.clone(), agent: agent.clone(), text: text.to_owned() })
    }
}

fn posted(arguments: &Value) -> Option<&str> {
    arguments["post"].as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// Answers a call to the board. `posts` are all posts so far, including the call's own.
pub(crate) fn board(arguments: &Value, posts: &[Post]) -> ToolResult {
    if let Some(bytes) = posted(arguments).map(str::len).filter(|bytes| *bytes > POST_BYTES_MAX) {
        let why =
            format!("not posted: the note has {bytes} bytes, and at most {POST_BYTES_MAX} are allowed: shorten it");
        return ToolResult::failed(why);
    }
    let newest = &posts[posts.len().saturating_sub(POSTS_MAX)..];
    if newest.is_empty() {
        return ToolResult::done("There are no notes yet.");
    }
    let drawn = |Post { contract, agent, text }: &Post| wording::post(contract, agent.as_str(), text);
    ToolResult::done(newest.iter().map(drawn).collect::<Vec<_>>().join("\n"))
}
