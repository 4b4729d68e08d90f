//! The tools of hiring and being hired: which there are, and who has them.

use super::{BOARD, Hired, Team};
use crate::roster::Dialect;

/// What a tool of hiring is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelegationTool {
    /// To hire, in the words of the dialect.
    Hire,
    List,
    Stop,
    Message,
    Wait,
    AskHirer,
    /// To share notes with those whom one's hirer hired as well.
    Board,
}

const OF_HIRERS: [DelegationTool; 5] =
    [DelegationTool::Hire, DelegationTool::List, DelegationTool::Stop, DelegationTool::Message, DelegationTool::Wait];

const OF_HIRES: [DelegationTool; 2] = [DelegationTool::AskHirer, DelegationTool::Board];

/// Another name by which models know the tool `Agent`.
const ALIAS_OF_AGENT: &str = "Task";

impl DelegationTool {
    /// Goes through the tools of an agent, in an order that does not change.
    pub(super) fn all(team: Option<&Team>, hired: Hired) -> impl Iterator<Item = DelegationTool> {
        let down = team.is_some().then_some(OF_HIRERS);
        let up = match hired {
            Hired::ByOwner => None,
            Hired::ByAgent => Some(OF_HIRES),
        };
        down.into_iter().flatten().chain(up.into_iter().flatten())
    }

    /// Finds the tool of an agent that a call names.
    pub(crate) fn named(name: &str, team: Option<&Team>, hired: Hired) -> Option<DelegationTool> {
        let dialect = team.map(|team| team.dialect).unwrap_or_default();
        let is_alias = name == ALIAS_OF_AGENT && dialect == Dialect::Agent;
        DelegationTool::all(team, hired)
            .find(|tool| tool.name(dialect) == name || *tool == DelegationTool::Hire && is_alias)
    }

    pub(crate) fn name(self, dialect: Dialect) -> &'static str {
        match self {
            DelegationTool::Hire => match dialect {
                Dialect::DelegateTask => "delegate_task",
                Dialect::DelegateToAgent => "delegate_to_agent",
                Dialect::Agent => "Agent",
            },
            DelegationTool::List => "list_agents",
            DelegationTool::Stop => "stop_agent",
            DelegationTool::Message => "message_agent",
            DelegationTool::Wait => "wait_for_agents",
            DelegationTool::AskHirer => "ask_hirer",
            DelegationTool::Board => BOARD,
        }
    }
}
