//! The opening of a contract as it is stored: the system prompt and the tools of its agent. It is stored once for each agent, and
//! the briefs of the agent's contracts name it. Only transcripts read it.

use guildhall_agent::{AgentRuntime, Redactor, Text, ToolSpec};
use guildhall_kernel::{AgentName, Brief, Context, Heads, Quantity, TextKind};
use serde::{Deserialize, Serialize};

/// A system prompt and tools.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredOpening {
    /// The system prompt. The name of the agent belongs between two parts: ad-hoc specialists of one hirer have the same opening
    /// except for their names.
    system: Vec<String>,
    tools: Vec<ToolSpec>,
    /// The opening of an ad-hoc specialist that can't hire. Whether it can is known only when it is hired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    without_hires: Option<Box<StoredOpening>>,
}

impl StoredOpening {
    /// The opening of an agent.
    pub(crate) fn of(runtime: &AgentRuntime) -> StoredOpening {
        let opening = runtime.profile.opening();
        let (system, tools) = (vec![opening.system().to_owned()], opening.tools().to_vec());
        StoredOpening { system, tools, without_hires: None }
    }

    /// The opening of all ad-hoc specialists of an agent, from the runtimes of a specialist of this name that can hire and one
    /// that can't.
    pub(crate) fn of_ad_hoc(name: &AgentName, hirer: &AgentRuntime, leaf: &AgentRuntime) -> StoredOpening {
        let split = |runtime: &AgentRuntime| StoredOpening {
            system: runtime.profile.opening().system().split(name.as_str()).map(str::to_owned).collect(),
            ..StoredOpening::of(runtime)
        };
        StoredOpening { without_hires: Some(Box::new(split(leaf))), ..split(hirer) }
    }

    /// Returns the stored form, without secrets.
    pub(crate) fn text(&self, redactor: &Redactor) -> Text {
        redactor.text(TextKind::Opening, &serde_json::to_string(self).expect("an opening is JSON"))
    }

    /// Reads the stored form.
    pub(crate) fn read(text: &str) -> Result<StoredOpening, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the system prompt and the tools of the contract of a brief.
    pub(crate) fn shown_to(self, brief: &Brief) -> (String, Vec<ToolSpec>) {
        let own = match self.without_hires {
            Some(leaf) if !ad_hoc_can_hire(brief) => *leaf,
            Some(_) | None => StoredOpening { without_hires: None, ..self },
        };
        (own.system.join(brief.agent.as_str()), own.tools)
    }
}

/// Whether an ad-hoc specialist gets the tools for hiring: its grant has hires left. A fork gets the tools of its hirer, which has
/// just hired, because the prompt of a fork begins with its hirer's request.
pub(crate) fn ad_hoc_can_hire(brief: &Brief) -> bool {
    let has_hires = brief.hiring.is_some() && brief.grant.depth > 0 && brief.grant.heads > Heads::ZERO;
    has_hires || matches!(brief.context, Context::Fork { .. })
}
