//! JSON turns: one JSON object per turn in place of tool calls, `{"calls": [{"tool": …, "arguments": {…}}]}` or
//! `{"report": "…"}`, for servers that can force a reply to follow a schema. Small local models often make valid calls only in
//! this way. They are shown less than other models, and their reply can be only what is useful now. Both follow from the facts
//! of the contract, so that a repeated request is the same.

mod choice;
mod past;

use std::sync::Arc;

use guildhall_kernel::Brief;
use serde_json::Value;

use crate::hiring::{DelegationTool, Hired, Listing, Team, spec, spec_of_two_fields};
use crate::model::{Opening, ToolSpec};
use crate::wording::count;

pub(crate) use choice::Moment;

/// The most calls of one turn, for an agent whose file does not list its team.
const CALLS_MAX: usize = 4;

/// The most calls of one turn for an agent whose file lists its team, however many members the team has.
const CALLS_OF_TEAM_MAX: usize = 8;

/// The most tokens of a turn that can only be a report: of a hire, and of a root. Small models repeat themselves until they are
/// stopped.
const REPORT_OF_HIRE_TOKENS_MAX: u32 = 1024;
const REPORT_OF_ROOT_TOKENS_MAX: u32 = 2048;

/// What the request for a JSON turn shows in place of the prompt's opening and status, and what the reply may be.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTurn {
    /// The instructions, with a list of tools in them.
    pub opening: Arc<Opening>,
    /// What the reply may be.
    pub choice: Choice,
    /// The status line. While hires work in the background, a list of the tools for them follows it.
    pub status: Option<String>,
    /// The highest number of tokens of the reply.
    pub max_tokens: u32,
}

impl JsonTurn {
    /// Makes the turn of a contract whose reply may have so many tokens, or fewer if it can only be a report.
    fn new(opening: &Arc<Opening>, choice: Choice, status: Option<String>, brief: &Brief, max_tokens: u32) -> JsonTurn {
        let max_tokens = choice.tokens_max(brief).map_or(max_tokens, |most| most.min(max_tokens));
        JsonTurn { opening: Arc::clone(opening), choice, status, max_tokens }
    }

    /// Whether a reply that reaches the highest number of tokens is long enough, and is not continued.
    pub(crate) fn is_limited(&self, brief: &Brief) -> bool {
        self.choice.tokens_max(brief) == Some(self.max_tokens)
    }
}

/// What a JSON turn may be.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Choice {
    Report,
    Calls(Calls),
    CallsOrReport(Calls),
}

/// The calls that a JSON turn may make.
#[derive(Clone, Debug, PartialEq)]
pub struct Calls {
    /// The tools.
    pub tools: Vec<ToolSpec>,
    /// The most calls of the turn.
    pub max: usize,
}

impl Choice {
    /// Returns the calls that the turn may make, if it may make any.
    pub fn calls(&self) -> Option<&Calls> {
        match self {
            Choice::Calls(calls) | Choice::CallsOrReport(calls) => Some(calls),
            Choice::Report => None,
        }
    }

    /// Returns whether the turn may be a report.
    pub fn may_report(&self) -> bool {
        match self {
            Choice::Report | Choice::CallsOrReport(_) => true,
            Choice::Calls(_) => false,
        }
    }

    /// Returns the most tokens of a turn that can only be a report.
    fn tokens_max(&self, brief: &Brief) -> Option<u32> {
        match self {
            Choice::Report if brief.path.level() > 0 => Some(REPORT_OF_HIRE_TOKENS_MAX),
            Choice::Report => Some(REPORT_OF_ROOT_TOKENS_MAX),
            Choice::Calls(_) | Choice::CallsOrReport(_) => None,
        }
    }
}

/// What the JSON turns of an agent have in common.
#[derive(Clone, Debug)]
pub(crate) struct JsonTurns {
    opening: Arc<Opening>,
    last_opening: Arc<Opening>,
    bare_opening: Arc<Opening>,
    tools: SmallTools,
    /// What follows the status while hires work in the background.
    managing: Option<String>,
    calls_max: usize,
}

/// The tools of an agent, by when it can use them.
#[derive(Clone, Debug, Default)]
struct SmallTools {
    /// Hires an agent, with two fields. `None` if there is nobody to hire.
    hire: Option<ToolSpec>,
    /// The tools that have nothing to do with hires.
    own: Vec<ToolSpec>,
    /// The tools for being hired.
    hired: Vec<ToolSpec>,
    /// The tools for hires in the background.
    managing: Vec<ToolSpec>,
}

impl JsonTurns {
    /// Makes the JSON turns of an agent with these instructions. `own` are its tools that have nothing to do with hires.
    pub(crate) fn new(system: &str, own: Vec<ToolSpec>, team: Option<&Team>, hired: Hired) -> JsonTurns {
        let tools = SmallTools::new(own, team, hired);
        let calls_max = match team {
            Some(team) if team.listing == Listing::ByName => team.workers.len().clamp(1, CALLS_OF_TEAM_MAX),
            Some(_) | None => CALLS_MAX,
        };
        let always = tools.always();
        let opening = |text: String| Arc::new(Opening::new(text, Vec::new()));
        let managing = (!tools.managing.is_empty()).then(|| {
            let usages: Vec<String> = tools.managing.iter().map(usage).collect();
            format!("Hires work in the background. Tools for them: {}.", usages.join(", "))
        });
        JsonTurns {
            opening: opening(format!("{}\n\n{}", system.trim_end(), rules(&always, calls_max))),
            last_opening: opening(format!("{}\n\n{ONLY_REPORT}", system.trim_end())),
            bare_opening: opening(ONLY_REPORT.to_owned()),
            tools,
            managing,
            calls_max,
        }
    }

    /// Returns what an ordinary request begins with.
    pub(crate) fn opening(&self) -> &Arc<Opening> {
        &self.opening
    }

    /// Returns the size of the list of tools that follows the status while hires work in the background.
    pub(crate) fn managing_bytes(&self) -> u64 {
        self.managing.as_ref().map_or(0, |line| line.len() as u64 + 1)
    }

    /// Returns the JSON turn of an ordinary request.
    pub(crate) fn next(&self, status: &str, moment: &Moment<'_>, max_tokens: u32) -> JsonTurn {
        let managing = self.managing.as_ref().filter(|_| moment.has_hires_at_work());
        let status = managing.map_or_else(|| status.to_owned(), |line| format!("{status}\n{line}"));
        let choice = moment.choice(&self.tools, self.calls_max);
        JsonTurn::new(&self.opening, choice, Some(status), moment.brief(), max_tokens)
    }

    /// Returns the JSON turn of a last request.
    pub(crate) fn last(&self, instructed: bool, brief: &Brief, max_tokens: u32) -> JsonTurn {
        let opening = if instructed { &self.last_opening } else { &self.bare_opening };
        JsonTurn::new(opening, Choice::Report, None, brief, max_tokens)
    }
}

impl SmallTools {
    fn new(own: Vec<ToolSpec>, team: Option<&Team>, hired: Hired) -> SmallTools {
        let mut tools = SmallTools { own, ..SmallTools::default() };
        for tool in DelegationTool::all(team, hired) {
            match tool {
                DelegationTool::Hire => tools.hire = team.and_then(spec_of_two_fields),
                DelegationTool::List | DelegationTool::Stop | DelegationTool::Message | DelegationTool::Wait => {
                    tools.managing.extend(spec(tool, team));
                }
                DelegationTool::AskHirer | DelegationTool::Board => tools.hired.extend(spec(tool, team)),
            }
        }
        tools
    }

    /// Returns the tools that the instructions list.
    fn always(&self) -> Vec<&ToolSpec> {
        self.hire.iter().chain(&self.own).chain(&self.hired).collect()
    }
}

const ONLY_REPORT: &str = "Answer with one JSON object and nothing else: {\"report\": \"…\"}.";

/// Returns the instructions for JSON turns.
fn rules(tools: &[&ToolSpec], calls_max: usize) -> String {
    if tools.is_empty() {
        return ONLY_REPORT.to_owned();
    }
    let listed: Vec<String> = tools.iter().map(|tool| format!("- {}: {}", usage(tool), tool.description)).collect();
    format!(
        "# Your turns\n\nAnswer with one JSON object and nothing else. To use tools: {{\"calls\": [{{\"tool\": \"…\", \
         \"arguments\": {{…}}}}]}}, at most {}. When you are done: {{\"report\": \"…\"}}.\n\nTools:\n{}",
        count(calls_max, "call"),
        listed.join("\n")
    )
}

/// Returns a tool's name and fields: `read_file {path: string, offset?: integer}`.
fn usage(tool: &ToolSpec) -> String {
    let required = tool.schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|required| required.iter().any(|other| other == name));
    let fields = tool.schema["properties"].as_object().into_iter().flatten().map(|(name, field)| {
        let optional = if is_required(name) { "" } else { "?" };
        let kind = match field["enum"].as_array() {
            Some(values) => values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | "),
            None => field["type"].as_str().unwrap_or("any").to_owned(),
        };
        format!("{name}{optional}: {kind}")
    });
    format!("{} {{{}}}", tool.name, fields.collect::<Vec<_>>().join(", "))
}
