//! The names of tools in agent files: Guildhall's, and those of other programs, so that agents written for them work unchanged.

use guildhall_kernel::{AgentName, ToolName};

use super::delegation::{Listed, Team};
use super::problem::Flaw;
use super::yaml::{Content, Node};

/// The tools of Guildhall, by their own names and by the names of the same tools in other programs.
const HERE: &[(&str, &str)] = &[
    ("Glob", "list_files"),
    ("Grep", "search"),
    ("LS", "list_files"),
    ("Read", "read_file"),
    ("list_files", "list_files"),
    ("read_file", "read_file"),
    ("search", "search"),
];

/// Tools of other programs that Guildhall does not have.
const ELSEWHERE: &str = "AskUserQuestion Bash BashOutput Edit EnterPlanMode ExitPlanMode KillBash KillShell \
    ListMcpResourcesTool Monitor MultiEdit NotebookEdit NotebookRead ReadMcpResourceTool SendMessage Skill SlashCommand \
    TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoRead TodoWrite ToolSearch WebFetch WebSearch Write";

/// A list of tools.
#[derive(Debug, PartialEq)]
pub(super) struct ToolList {
    /// The tools; `None` means all of them.
    pub(super) tools: Option<Vec<ToolName>>,
    /// The agents that `Agent` or `Task` on the list lets the agent hire.
    pub(super) team: Option<Team>,
}

/// What a list of tools is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Allow,
    /// A tool that Guildhall does not have gives no warning.
    Disallow,
}

impl ToolList {
    /// Reads a list of tools, or a text with commas.
    pub(super) fn read(node: &Node, purpose: Purpose, flaws: &mut Vec<Flaw>) -> ToolList {
        let mut tools = Vec::new();
        let mut every = false;
        let mut team = None;
        for (name, line) in items(node) {
            let (head, within) = name.split_once('(').map_or((name.as_str(), None), |(head, rest)| (head, Some(rest)));
            let head = head.trim();
            let here = HERE.iter().find(|(theirs, _)| *theirs == head).and_then(|(_, ours)| ToolName::parse(ours).ok());
            let elsewhere = ELSEWHERE.split(' ').any(|name| name == head) || head.starts_with("mcp__");
            match (head, here) {
                ("*", _) => every = true,
                ("Agent" | "Task", _) => team = Some(joined(team, within, line, flaws)),
                (_, Some(tool)) if tools.contains(&tool) => {}
                (_, Some(tool)) => tools.push(tool),
                (_, None) if !elsewhere => flaws.push(Flaw::warning(line, format!("there is no tool named {head}"))),
                (_, None) if purpose == Purpose::Disallow => {}
                (_, None) => flaws.push(Flaw::unsupported(line, head, format!("{head} isn't supported; ignored"))),
            }
        }
        ToolList { tools: (!every).then_some(tools), team }
    }
}

/// Adds `Agent` or `Agent(a, b)` to a team. If any entry names agents, the team is only the named agents.
fn joined(before: Option<Team>, within: Option<&str>, line: u32, flaws: &mut Vec<Flaw>) -> Team {
    let names = within.map(|names| names.trim_end().trim_end_matches(')')).unwrap_or_default();
    let mut listed = members(names.split(',').map(|name| (name.trim().to_owned(), line)), flaws);
    match before {
        _ if listed.is_empty() => before.unwrap_or(Team::Any),
        Some(Team::Named(mut team)) => {
            listed.retain(|new| team.iter().all(|before| before.name != new.name));
            team.extend(listed);
            Team::Named(team)
        }
        Some(Team::Any) | None => Team::Named(listed),
    }
}

/// Reads names of agents. A text that is not a name is left out.
pub(super) fn members(names: impl Iterator<Item = (String, u32)>, flaws: &mut Vec<Flaw>) -> Vec<Listed> {
    let mut listed: Vec<Listed> = Vec::new();
    for (name, line) in names.filter(|(name, _)| !name.is_empty()) {
        match AgentName::parse(&name) {
            Ok(name) if listed.iter().any(|before| before.name == name) => {}
            Ok(name) => listed.push(Listed { name, line }),
            Err(_) => flaws.push(Flaw::bad_value(line, &name, "the name of an agent")),
        }
    }
    listed
}

/// Returns the items of a list, or of a text with commas, each with its line. A text in parentheses is not divided.
pub(super) fn items(node: &Node) -> Vec<(String, u32)> {
    match &node.content {
        Content::Plain(_) if node.is_nothing() => Vec::new(),
        Content::Plain(says) | Content::Quoted(says) => {
            let says = says.trim().trim_start_matches('[').trim_end_matches(']');
            divided(says).into_iter().map(|item| (item, node.line)).collect()
        }
        // An item of a list can be several names: `- Read, Grep`.
        Content::List(nodes) => nodes.iter().filter(|node| node.text().is_some()).flat_map(items).collect(),
        Content::Map(_) => Vec::new(),
    }
}

fn divided(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0_u32;
    for letter in text.chars() {
        depth = match letter {
            '(' => depth.saturating_add(1),
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        match items.last_mut() {
            Some(item) if !matches!(letter, ',' | '\n') || depth > 0 => item.push(letter),
            Some(_) | None => items.push(String::new()),
        }
    }
    let bare = |item: String| item.trim().trim_start_matches("- ").trim_matches(['"', '\'']).trim().to_owned();
    items.into_iter().map(bare).filter(|item| !item.is_empty()).collect()
}
