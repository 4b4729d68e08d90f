//! The board of one hirer's hires: what they posted, as the journal tells it. Nothing else keeps it.

use guildhall_agent::{BOARD, POSTS_MAX, Post, TextError};
use guildhall_kernel::{AgentName, Ask, AskId, AskKey, Fact, Path, Stored, TextRef};

use super::{Office, OfficeError};

/// A call to the board.
struct Visit {
    seq: u64,
    contract: Path,
    agent: AgentName,
    ask: AskId,
    arguments: TextRef,
}

/// Returns what was posted up to a call to the board, so that a call which is made again after a crash sees the same.
pub(super) async fn posts(office: &Office, call: &AskKey) -> Result<Vec<Post>, OfficeError> {
    let mut visits = visits(office, call).await?;
    visits.sort_unstable_by_key(|visit| visit.seq);
    let own = visits.iter().position(|visit| (&visit.contract, visit.ask) == (&call.contract, call.ask));
    let mut posts = Vec::new();
    for visit in visits[..own.map_or(0, |own| own + 1)].iter().rev() {
        let arguments = office.inner.journal.text(visit.arguments.hash).await?.ok_or_else(|| OfficeError::Text {
            contract: visit.contract.clone(),
            why: TextError::Missing(visit.arguments),
        })?;
        posts.extend(Post::of(&visit.contract, &visit.agent, &String::from_utf8_lossy(&arguments)));
        if posts.len() == POSTS_MAX {
            break;
        }
    }
    posts.reverse();
    Ok(posts)
}

/// Returns the calls to the board of all whom one hirer has hired.
async fn visits(office: &Office, call: &AskKey) -> Result<Vec<Visit>, OfficeError> {
    let Some(hirer) = call.contract.hirer() else { return Ok(Vec::new()) };
    let inner = &office.inner;
    let mut visits = Vec::new();
    for Stored { fact, .. } in inner.journal.contract_facts(inner.lease.session(), &hirer).await? {
        let Fact::Asked { ask: Ask::Hire { brief, .. }, .. } = fact else { continue };
        let facts = inner.journal.contract_facts(inner.lease.session(), &brief.path).await?;
        visits.extend(facts.into_iter().filter_map(|stored| visit(stored, &brief.agent)));
    }
    Ok(visits)
}

fn visit(Stored { seq, contract, fact, .. }: Stored, agent: &AgentName) -> Option<Visit> {
    let Fact::Asked { id, ask: Ask::Tool(call), .. } = fact else { return None };
    let to_board = call.tool.as_str() == BOARD;
    to_board.then(|| Visit { seq, contract, agent: agent.clone(), ask: id, arguments: call.arguments })
}
