//! The tools for hiring and for being hired: which agents have them, and how a model sees them. The same team always gives the
//! same bytes.

use guildhall_kernel::{AgentName, Brief};
use serde_json::{Map, Value, json};

use super::{BOARD, Hired, LIST, Team, Worker};
use crate::model::ToolSpec;
use crate::roster::Dialect;

/// A tool for hiring or for being hired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelegationTool {
    /// Hires an agent. The dialect decides the tool's name and arguments.
    Hire,
    List,
    Stop,
    Message,
    Wait,
    AskHirer,
    /// Shares notes with the hirer's other hires.
    Board,
}

const OF_HIRERS: [DelegationTool; 5] =
    [DelegationTool::Hire, DelegationTool::List, DelegationTool::Stop, DelegationTool::Message, DelegationTool::Wait];

const OF_HIRES: [DelegationTool; 2] = [DelegationTool::AskHirer, DelegationTool::Board];

/// Another name by which models know the tool `Agent`.
const ALIAS_OF_AGENT: &str = "Task";

impl DelegationTool {
    /// Returns the tools of an agent, in an order that does not change.
    pub(crate) fn all(team: Option<&Team>, hired: Hired) -> impl Iterator<Item = DelegationTool> {
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
            DelegationTool::List => LIST,
            DelegationTool::Stop => "stop_agent",
            DelegationTool::Message => "message_agent",
            DelegationTool::Wait => "wait_for_agents",
            DelegationTool::AskHirer => "ask_hirer",
            DelegationTool::Board => BOARD,
        }
    }
}

/// Returns the tools for hiring and for being hired that an agent has, in an order that does not change.
pub(crate) fn specs(team: Option<&Team>, hired: Hired) -> Vec<ToolSpec> {
    DelegationTool::all(team, hired).filter_map(|tool| spec(tool, team)).collect()
}

/// Returns a tool as a model sees it.
pub(crate) fn spec(tool: DelegationTool, team: Option<&Team>) -> Option<ToolSpec> {
    let dialect = team.map(|team| team.dialect).unwrap_or_default();
    let (description, schema) = usage(tool, team)?;
    Some(ToolSpec { name: tool.name(dialect).to_owned(), description: description.to_owned(), schema })
}

/// Returns the tool that hires with only two fields: which agent, and its task. `None` if there is nobody to hire.
pub(crate) fn spec_of_two_fields(team: &Team) -> Option<ToolSpec> {
    if team.workers.is_empty() && team.ad_hoc.is_none() {
        return None;
    }
    let (agent, what) = match team.dialect {
        Dialect::DelegateTask => ("specialty", "task"),
        Dialect::DelegateToAgent => ("target_agent", "prompt"),
        Dialect::Agent => ("subagent_type", "prompt"),
    };
    let schema = object(&[(agent, agents(team, "Who does it.")), (what, task())], &[agent, what]);
    let description = "Gives a task to another agent and returns its report.".to_owned();
    Some(ToolSpec { name: DelegationTool::Hire.name(team.dialect).to_owned(), description, schema })
}

/// Returns the description of a tool and the schema of its arguments. Only a hirer can be shown the tool that hires. Every request
/// pays for every byte, so an argument is described only where its name and the tool's description are not enough.
fn usage(tool: DelegationTool, team: Option<&Team>) -> Option<(&'static str, Value)> {
    let id = ("id", text("Such as 1.2."));
    Some(match tool {
        DelegationTool::Hire => return team.map(hiring),
        DelegationTool::List => ("Lists your hires: id, name, task, state, and what each has used.", object(&[], &[])),
        DelegationTool::Stop => ("Stops one of your hires immediately.", object(&[id], &["id"])),
        DelegationTool::Message => (
            "Sends a message to one of your hires, or answers its question.",
            object(&[id, ("text", plain("string"))], &["id", "text"]),
        ),
        DelegationTool::Wait => {
            let ids = json!({"type": "array", "items": {"type": "string"}, "description": "Default: all."});
            let timeout = json!({"type": "number", "description": "The most seconds to wait."});
            let any = json!({"type": "boolean", "description": "One report is enough."});
            (
                "Waits for hires in the background. Their reports come by themselves: wait only if you have nothing else to do.",
                object(&[("ids", ids), ("any", any), ("timeout_s", timeout)], &[]),
            )
        }
        DelegationTool::AskHirer => (
            "Asks the agent that hired you, and waits for the answer. Ask only what you can't find out or decide yourself. If no \
             answer comes in time, use your judgement.",
            object(&[("question", text("It must be clear without more context."))], &["question"]),
        ),
        DelegationTool::Board => (
            "Shows the notes of your hirer's other hires, and adds yours.",
            object(&[("post", text("Your note. Without it, the board is only shown."))], &[]),
        ),
    })
}

fn hiring(team: &Team) -> (&'static str, Value) {
    match team.dialect {
        Dialect::DelegateTask => {
            let properties = [
                ("specialty", agents(team, "A member of your team, or a specialty.")),
                ("task", task()),
                ("budget", plain("number")),
                ("name", text(LABEL)),
                ("context", json!({"type": "string", "enum": ["fresh", "fork"]})),
                ("background", plain("boolean")),
            ];
            let does = "Hires a specialist for a task and returns its report. `budget`: the most it may use, in whole sats; \
                        without it, a share of your money. `context: \"fork\"`: a copy of you that knows this conversation. \
                        `background: true`: you continue immediately, and the report comes later.";
            (does, object(&properties, &["specialty", "task"]))
        }
        Dialect::DelegateToAgent => (
            "Hands a prompt to a member of your team, waits, and returns its final output. It gets a share of your money.",
            object(&[("target_agent", agents(team, "Who does it.")), ("prompt", task())], &["target_agent", "prompt"]),
        ),
        Dialect::Agent => {
            let properties = [
                ("prompt", task()),
                ("name", text(LABEL)),
                ("description", text("The work in three to five words.")),
                ("subagent_type", agents(team, "A specialist.")),
                ("model", model(team)),
                ("run_in_background", plain("boolean")),
            ];
            let does = "Gives a piece of work to another agent and returns its report. With `subagent_type`: a specialist that \
                        knows only the prompt. Without it: a copy of you that knows this conversation. Each gets a share of \
                        your money. `run_in_background: true`: you continue immediately, and the report comes later.";
            (does, object(&properties, &["prompt"]))
        }
    }
}

const LABEL: &str = "A short name for this work.";

/// Describes the choice of a model for a specialist.
fn model(team: &Team) -> Value {
    let names: Vec<&str> = team.models.iter().filter_map(|model| model.names.first()).map(String::as_str).collect();
    match names.as_slice() {
        [] | [_] => text("Has no effect: there is one model."),
        several => {
            let several = several.join(", ");
            text(&format!("The model for a specialist: {several}. Without it, the specialist's own."))
        }
    }
}

pub(super) fn members(team: &Team) -> String {
    let ad_hoc = "- any other specialty that you name, in your own words: a specialist for the one task".to_owned();
    let ad_hoc = team.ad_hoc.as_ref().map(|_| ad_hoc);
    let lines: Vec<String> = team.workers.iter().map(|worker| member(worker)).chain(ad_hoc).collect();
    if lines.is_empty() { "- nobody".to_owned() } else { lines.join("\n") }
}

fn member(worker: &Worker) -> String {
    let description = worker.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let what = if description.is_empty() { String::new() } else { format!(": {description}") };
    let specialties = worker.specialties.join(", ");
    let also = if specialties.is_empty() { String::new() } else { format!(" (specialties: {specialties})") };
    format!("- {}{what}{also}", worker.name)
}

/// Describes the agents that can be hired: the members of the team, or any specialty where ad-hoc specialists are allowed.
fn agents(team: &Team, description: &str) -> Value {
    let names: Vec<&str> = team.workers.iter().map(|worker| worker.name.as_str()).collect();
    let are = if team.ad_hoc.is_some() { "examples" } else { "enum" };
    json!({"type": "string", are: names, "description": description})
}

fn task() -> Value {
    json!({"type": "string", "minLength": 1, "description": "What to do, with everything needed to do it."})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// Describes an argument whose name says everything.
fn plain(kind: &str) -> Value {
    json!({"type": kind})
}

fn object(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let mut object = json!({"type": "object", "properties": properties});
    // Some strict readers of JSON Schema refuse an empty list.
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

impl Team {
    /// Returns the name of the tool that hires, and the arguments that hire an agent for a task.
    pub fn hire(&self, agent: &str, task: &str) -> (&'static str, Value) {
        let arguments = match self.dialect {
            Dialect::DelegateTask => json!({"specialty": agent, "task": task}),
            Dialect::DelegateToAgent => json!({"target_agent": agent, "prompt": task}),
            Dialect::Agent => json!({"subagent_type": agent, "description": "A part of the task", "prompt": task}),
        };
        (DelegationTool::Hire.name(self.dialect), arguments)
    }
}

/// Returns a right call of a hiring tool, to show with a refusal.
pub(crate) fn example(name: &str, brief: &Brief) -> Option<String> {
    let team = brief.hiring.iter().flat_map(|hiring| hiring.team.iter());
    let who = team.map(AgentName::as_str).find(|name| *name != brief.agent.as_str()).unwrap_or("coder");
    let arguments = match name {
        "delegate_task" => json!({"specialty": who, "task": "…", "budget": 200}),
        "delegate_to_agent" => json!({"target_agent": who, "prompt": "…"}),
        "Agent" | "Task" => json!({"subagent_type": who, "prompt": "…"}),
        "stop_agent" => json!({"id": "1.2"}),
        "message_agent" => json!({"id": "1.2", "text": "…"}),
        "wait_for_agents" => json!({"ids": ["1.2"], "timeout_s": 60}),
        "ask_hirer" => json!({"question": "…"}),
        BOARD => json!({"post": "…"}),
        _ => return None,
    };
    Some(format!(" A right call: {name} {arguments}"))
}
