//! The boards: what the hires of one hirer posted for each other. The journal alone is durable: a board is a fold of the calls to
//! it, in the order in which they were stored, and the same in every process.

use std::collections::BTreeMap;

use guildhall_agent::{BOARD, POSTS_MAX, Post};
use guildhall_kernel::{AgentName, Ask, AskId, AskKey, Fact, Path, TextRef};

/// The boards of a session, by hirer.
#[derive(Default)]
pub(super) struct Boards {
    boards: BTreeMap<Path, Board>,
    /// Who works under each contract that has not closed.
    agents: BTreeMap<Path, AgentName>,
}

#[derive(Default)]
struct Board {
    posts: Vec<Post>,
    /// How many posts there were at each call, its own included.
    seen: BTreeMap<AskKey, usize>,
}

/// Returns the call to the board that a fact makes, with its arguments.
pub(super) fn call_to_board(fact: &Fact) -> Option<(AskId, TextRef)> {
    match fact {
        Fact::Asked { id, ask: Ask::Tool(call), .. } if call.tool.as_str() == BOARD => Some((*id, call.arguments)),
        Fact::Asked { .. }
        | Fact::Opened(_)
        | Fact::Answered { .. }
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
    /// Notes who works under a contract. A contract that has closed has no hires, so that nobody reads their board any more.
    pub(super) fn note(&mut self, contract: &Path, fact: &Fact) {
        if let Fact::Opened(brief) = fact {
            self.agents.insert(contract.clone(), brief.agent.clone());
        }
        if let Fact::Closed(_) = fact {
            self.agents.remove(contract);
            self.boards.remove(contract);
        }
    }

    /// Notes a call to the board, with its arguments as they are stored. Calls come in the order in which they are stored.
    pub(super) fn visit(&mut self, contract: &Path, ask: AskId, arguments: &str) {
        let (Some(hirer), Some(agent)) = (contract.hirer(), self.agents.get(contract)) else { return };
        let board = self.boards.entry(hirer).or_default();
        board.posts.extend(Post::of(contract, agent, arguments));
        board.seen.insert(AskKey { contract: contract.clone(), ask }, board.posts.len());
    }

    /// Returns the newest posts up to a call, so that one which is made again after a crash sees the same.
    pub(super) fn posts(&self, call: &AskKey) -> Vec<Post> {
        let board = call.contract.hirer().and_then(|hirer| self.boards.get(&hirer));
        let Some((board, seen)) = board.and_then(|board| Some((board, *board.seen.get(call)?))) else {
            return Vec::new();
        };
        board.posts[seen.saturating_sub(POSTS_MAX)..seen].to_vec()
    }
}
