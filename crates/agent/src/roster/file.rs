//! One agent file: Markdown with front matter, in the form that other programs use, too. A key or a value that is not
//! understood gives a warning and is left out. Only wrong money, names and checks are errors.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall_kernel::{AgentName, ToolName};

use super::delegation::{Budget, Delegation, Dialect, budget, delegation};
use super::fields::Fields;
use super::problem::{Flaw, Location, Problem, Severity};
use super::repair::{REPAIR_DEPTH_MAX, read_leniently};
use super::tools::{Purpose, ToolList};
use super::yaml::{Content, Entry};
use super::{FILE_BYTES_MAX, FRONT_BYTES_MAX};

const MARK: &str = "---";

/// An agent, as its file describes it.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct AgentFile {
    /// The file, and the line on which its front matter begins.
    pub place: Location,
    pub name: AgentName,
    /// When to hire it.
    pub description: String,
    /// The tools it may use; `None` means all tools.
    pub tools: Option<Vec<ToolName>>,
    /// The tools that it must not use, even if `tools` has them.
    pub disallowed: Vec<ToolName>,
    /// The alias or the name of its model; `None` means that of its hirer, or of the hall.
    pub model: Option<String>,
    pub turns_max: Option<u32>,
    /// Whether its hirer continues while it works.
    pub background: bool,
    /// What it is hired for, besides its name.
    pub specialties: Vec<String>,
    /// How it hires; `None` if it must not hire.
    pub delegation: Option<Delegation>,
    pub budget: Budget,
    /// The instructions for its model: the body of the file.
    pub instructions: String,
}

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadAgent {
    /// The agent, unless there is an error.
    pub agent: Option<AgentFile>,
    /// The problems, in the order of lines.
    pub problems: Vec<Problem>,
}

impl AgentFile {
    /// Reads an agent from the bytes of a file. `file` is used only for its name, and is not opened.
    pub fn read(file: &Path, bytes: &[u8]) -> ReadAgent {
        let file = Arc::new(file.to_owned());
        let mut flaws = Vec::new();
        let agent = match read(&file, bytes, &mut flaws) {
            Ok(agent) => Some(agent),
            Err(flaw) => {
                flaws.push(flaw);
                None
            }
        };
        flaws.sort_by_key(|flaw| flaw.line);
        let problems: Vec<Problem> = flaws.into_iter().map(|flaw| flaw.within(&file)).collect();
        let usable = problems.iter().all(|problem| problem.severity == Severity::Warning);
        ReadAgent { agent: agent.filter(|_| usable), problems }
    }

    /// Returns whether the agent comes with the program.
    pub fn is_built_in(&self) -> bool {
        self.place.file.starts_with(super::BUILT_IN_DIR)
    }

    /// Returns whether the agent may use a tool.
    pub fn may_use(&self, tool: &ToolName) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.contains(tool)) && !self.disallowed.contains(tool)
    }
}

fn read(file: &Arc<PathBuf>, bytes: &[u8], flaws: &mut Vec<Flaw>) -> Result<AgentFile, Flaw> {
    let (front, line, body) = split(text(bytes)?)?;
    let (front, repaired) = read_leniently(front, line, REPAIR_DEPTH_MAX)?;
    let is_cut =
        |entry: &&Entry| matches!(entry.value.content, Content::Plain(_)) && front.cuts.contains(&entry.value.line);
    let quote = |key: &str| format!("{key} is not valid YAML and was read as text: put it in quotes");
    let cut = |key: &str| format!("the value of {key} ends at a #, which starts a comment: put the value in quotes");
    flaws.extend(repaired.iter().map(|(key, line)| Flaw::warning(*line, quote(key))));
    flaws.extend(front.entries.iter().filter(is_cut).map(|entry| Flaw::warning(entry.line, cut(&entry.key))));
    let mut fields = Fields::new("", &front.entries, flaws);
    let name = name(&mut fields, file, line)?;
    let description = description(&mut fields, line);
    let tools = fields.entry("tools").map(|entry| ToolList::read(&entry.value, Purpose::Allow, fields.flaws));
    let not = fields.entry("disallowedTools");
    let not = not.map(|entry| ToolList::read(&entry.value, Purpose::Disallow, fields.flaws));
    let may_hire = not.as_ref().is_none_or(|not| not.team.is_none() && not.tools.is_some());
    let listed = tools.as_ref().and_then(|tools| tools.team.clone()).filter(|_| may_hire);
    // If every tool is disallowed, none is left.
    let none = not.as_ref().is_some_and(|not| not.tools.is_none());
    let memories = [("user", ()), ("project", ()), ("local", ())];
    let memory = front.entries.iter().find(|entry| entry.key == "memory");
    if fields.one_of("memory", &memories, "user, project or local").is_some() {
        let message = "memory is not supported yet: the agent works without it";
        fields.flaws.extend(memory.map(|entry| Flaw::unsupported(entry.line, "memory", message)));
    }
    // The key is accepted and has no effect: the terminal has its own colours.
    fields.text("color");
    let agent = AgentFile {
        place: Location { file: Arc::clone(file), line },
        name,
        description,
        tools: if none { Some(Vec::new()) } else { tools.and_then(|tools| tools.tools) },
        disallowed: not.and_then(|not| not.tools).unwrap_or_default(),
        model: fields.text("model").filter(|model| !model.eq_ignore_ascii_case("inherit")),
        turns_max: fields.count("maxTurns").or_else(|| fields.count("max_turns")),
        background: fields.flag("background"),
        specialties: fields.words("specialties"),
        delegation: match fields.entry("delegation") {
            Some(entry) => delegation(&entry.value, listed, fields.flaws),
            None => listed.map(|team| Delegation::of(team, Dialect::Agent)),
        },
        budget: fields.entry("budget").map(|entry| budget(entry, fields.flaws)).unwrap_or_default(),
        instructions: body.to_owned(),
    };
    fields.finish();
    Ok(agent)
}

fn name(fields: &mut Fields<'_, '_>, file: &Path, line: u32) -> Result<AgentName, Flaw> {
    let entry = fields.entry("name");
    let line = entry.map_or(line, |entry| entry.line);
    let given = entry.and_then(|entry| entry.value.text());
    let name = given.map_or_else(
        || file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
        |name| name.trim().to_owned(),
    );
    let parsed = AgentName::parse(&name).map_err(|why| Flaw::error(line, why.to_string()))?;
    if given.is_none() {
        fields.flaws.push(Flaw::warning(line, format!("there is no name: {name} is used, from the name of the file")));
    }
    Ok(parsed)
}

/// Reads the description. Some generators write `\n` for a new line.
fn description(fields: &mut Fields<'_, '_>, line: u32) -> String {
    let description = fields.text("description").unwrap_or_default().replace("\\n", "\n");
    if description.is_empty() {
        fields.flaws.push(Flaw::warning(line, "there is no description: say when to hire this agent"));
    }
    description
}

/// Reads bytes as text. The error has the line on which they are not text.
fn text(bytes: &[u8]) -> Result<&str, Flaw> {
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Flaw::error(1, format!("an agent file has at most {FILE_BYTES_MAX} bytes")));
    }
    let binary =
        |at: usize| Flaw::error(line_of(&bytes[..at]), "it is not a text file: an agent file is Markdown in UTF-8");
    let text = std::str::from_utf8(bytes).map_err(|error| binary(error.valid_up_to()))?;
    if let Some(at) = text.find('\0') {
        return Err(binary(at));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Flaw::error(1, "the file is empty: begin it with front matter, as in ---, name: x, ---"));
    }
    Ok(text)
}

fn line_of(before: &[u8]) -> u32 {
    u32::try_from(before.split(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

/// Splits a file at its marks. Returns the front matter, the line on which it begins, and the body. Blank lines may come first.
fn split(text: &str) -> Result<(&str, u32, &str), Flaw> {
    let blank = text.len() - text.trim_start_matches(['\n', '\r', ' ', '\t']).len();
    let start = text[..blank].rfind('\n').map_or(0, |at| at + 1);
    let opening = line_of(&text.as_bytes()[..start]);
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != MARK {
        return Err(Flaw::error(opening, "there is no front matter: begin the file with a line ---"));
    }
    let front = start + first.len();
    let mut end = front;
    for line in lines {
        if line.trim_end() == MARK {
            let body = text[end + line.len()..].trim();
            return Ok((&text[front..end], opening + 1, body));
        }
        end += line.len();
        if end - front > FRONT_BYTES_MAX {
            return Err(Flaw::error(opening, format!("front matter has at most {FRONT_BYTES_MAX} bytes")));
        }
    }
    Err(Flaw::error(opening, "the front matter does not end: close it with a line ---"))
}
