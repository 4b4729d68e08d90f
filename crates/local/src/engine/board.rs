//! Boards: what the hires of one hirer posted for each other. Boards are not stored. They are rebuilt from the stored
//! calls to the board tool, in stored order, so that every process sees the same posts.

use std::collections::BTreeMap;

use guildhall_agent::{BOARD, POSTS_MAX, Post};
use guildhall_kernel::{AgentName, Ask, AskId, AskKey, Fact, Path, TextRef};

/// The boards of a session, by hirer.
#[derive(Default)]
pub(super) struct Boards {
    boards: BTreeMap<Path, Board>,
    /// The agent of each contract that has not closed.
    agents: BTreeMap<Path, AgentName>,
}

#[derive(Default)]
struct Board {
    posts: Vec<Post>,
    /// How many posts existed at each call, including the post of the call itself.
    seen: BTreeMap<AskKey, usize>,
}

/// Returns the id and the arguments of a call to the board, if the fact is one.
pub(super) fn call_to_board(fact: &Fact) -> Option<(AskId, TextRef)> {
    match fact {
        Fact::Asked { id, ask: Ask::Tool(call), .. } if call.tool.as_str() == BOARD => Some((*id, call.arguments)),
        Fact::Asked { .. }
        | Fact::Opened(_)
        | Fact::Answered { .. }
        | Fact::Queued { .. }
        | Fact::Refused { .. }
        | Fact::Raised { .. }
        | Fact::Heard { .. }
        | Fact::Waiting { .. }
        | Fact::Woke { .. }
        | Fact::Nudged(_)
        | Fact::Compacted { .. }
        | Fact::Closing(_)
        | Fact::Closed(_) => None,
    }
}

impl Boards {
    /// Records the agent of a contract that opens. Removes the board of a contract that closes: it has no hires left to
    /// read it.
    pub(super) fn apply(&mut self, contract: &Path, fact: &Fact) {
        if let Fact::Opened(brief) = fact {
            self.agents.insert(contract.clone(), brief.agent.clone());
        }
        if let Fact::Closed(_) = fact {
            self.agents.remove(contract);
            self.boards.remove(contract);
        }
    }

    /// Records a call to the board with its stored arguments. Calls must be passed in the order in which they are
    /// stored.
    pub(super) fn record_call(&mut self, contract: &Path, ask: AskId, arguments: &str) {
        let (Some(hirer), Some(agent)) = (contract.hirer(), self.agents.get(contract)) else { return };
        let board = self.boards.entry(hirer).or_default();
        board.posts.extend(Post::of(contract, agent, arguments));
        board.seen.insert(AskKey { contract: contract.clone(), ask }, board.posts.len());
    }

    /// Returns the newest posts up to this call. A call that is repeated after a crash sees the same posts.
    pub(super) fn posts(&self, call: &AskKey) -> Vec<Post> {
        let board = call.contract.hirer().and_then(|hirer| self.boards.get(&hirer));
        let Some((board, seen)) = board.and_then(|board| Some((board, *board.seen.get(call)?))) else {
            return Vec::new();
        };
        board.posts[seen.saturating_sub(POSTS_MAX)..seen].to_vec()
    }
}
