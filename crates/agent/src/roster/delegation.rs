//! The keys `delegation` and `budget`: which agents an agent may hire, how, and for how much.

use guildhall_kernel::AgentName;
use serde::{Deserialize, Serialize};

use super::fields::{Fields, flag};
use super::problem::Flaw;
use super::tools::{items, members};
use super::yaml::{Content, Entry, Node};
use crate::checks::{Check, Hundredths, Schema, SchemaError, Sum};
use crate::money::Amount;

/// How an agent hires.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Delegation {
    pub team: Team,
    pub mode: DelegationMode,
    pub dialect: Dialect,
    /// Whether it may hire itself, or an agent above it, for another task.
    pub recursive: bool,
    /// Whether it may hire specialists that have no file.
    pub ad_hoc: bool,
    /// The terms that it adds to the brief of each of its hires.
    pub terms: Vec<String>,
    /// The checks that the reports of its hires must pass.
    pub accept: Vec<Check>,
    /// More checks for the reports of single agents.
    pub accept_of: Vec<AcceptOf>,
}

/// Checks for the reports of one agent.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct AcceptOf {
    pub agent: Listed,
    pub checks: Vec<Check>,
}

/// The agents that an agent may hire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Team {
    /// Every agent on the roster.
    Any,
    /// These agents.
    Named(Vec<Listed>),
}

impl Team {
    /// Whether an agent can be on the team.
    fn has(&self, name: &AgentName) -> bool {
        match self {
            Team::Any => true,
            Team::Named(names) => names.iter().any(|listed| listed.name == *name),
        }
    }
}

/// One name on a hiring list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Listed {
    pub name: AgentName,
    pub line: u32,
}

/// Whether an agent must hire, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegationMode {
    /// The model decides.
    #[default]
    Offered,
    /// The agent must hire before it reports.
    Required,
    /// The agent's first reply goes to its team as a task.
    Cascade,
}

/// The tool by which an agent hires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Dialect {
    #[default]
    DelegateTask,
    DelegateToAgent,
    Agent,
}

/// How much money an agent gets, and what it is paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// The grant if the hirer names no budget.
    pub default: Option<Amount>,
    /// The largest grant.
    pub max: Option<Amount>,
    /// The part of the grant that pays for a last report.
    pub severance: Option<Amount>,
    /// The payment for an accepted report.
    pub fee: Option<Amount>,
}

impl Delegation {
    /// Returns the delegation of an agent whose file only lists a team.
    pub(super) fn of(team: Team, dialect: Dialect) -> Delegation {
        let mode = DelegationMode::default();
        let (terms, accept, accept_of) = (Vec::new(), Vec::new(), Vec::new());
        Delegation { team, mode, dialect, recursive: false, ad_hoc: false, terms, accept, accept_of }
    }
}

/// Reads `delegation`. `listed` is the team in the agent's list of tools.
pub(super) fn delegation(node: &Node, listed: Option<Team>, flaws: &mut Vec<Flaw>) -> Option<Delegation> {
    let dialect = if listed.is_some() { Dialect::Agent } else { Dialect::default() };
    let mut delegation = Delegation::of(listed.clone().unwrap_or(Team::Any), dialect);
    let Content::Map(entries) = &node.content else {
        return match flag(node) {
            Some(true) => Some(delegation),
            Some(false) => None,
            None => {
                flaws.push(Flaw::bad_value(node.line, "delegation", "true, false, or a map with a team"));
                listed.map(|team| Delegation::of(team, Dialect::Agent))
            }
        };
    };
    let mut fields = Fields::new("delegation.", entries, flaws);
    if let Some(entry) = fields.take("team") {
        delegation.team = team(&entry.value, fields.flaws);
    }
    let modes = [
        ("offered", DelegationMode::Offered),
        ("required", DelegationMode::Required),
        ("cascade", DelegationMode::Cascade),
    ];
    delegation.mode = fields.one_of("mode", &modes, "offered, required or cascade").unwrap_or_default();
    let dialects = [
        ("delegate_task", Dialect::DelegateTask),
        ("delegate_to_agent", Dialect::DelegateToAgent),
        ("Agent", Dialect::Agent),
    ];
    let wanted = "delegate_task, delegate_to_agent or Agent";
    delegation.dialect = fields.one_of("dialect", &dialects, wanted).unwrap_or(dialect);
    delegation.recursive = fields.flag("recursive");
    delegation.ad_hoc = fields.flag("ad_hoc");
    delegation.terms = fields.texts("terms");
    if let Some(entry) = fields.take("accept") {
        delegation.accept = accept(&entry.value, "delegation.accept", fields.flaws);
    }
    if let Some(entry) = fields.take("accept_of") {
        delegation.accept_of = accept_of(&entry.value, &delegation.team, fields.flaws);
    }
    fields.finish();
    Some(delegation)
}

fn team(node: &Node, flaws: &mut Vec<Flaw>) -> Team {
    match node.text().map(str::trim) {
        Some("any" | "all" | "*") => Team::Any,
        Some(_) | None => Team::Named(members(items(node).into_iter(), flaws)),
    }
}

/// Reads `budget`. An amount that can't be read is an error.
pub(super) fn budget(entry: &Entry, flaws: &mut Vec<Flaw>) -> Budget {
    let Content::Map(entries) = &entry.value.content else {
        // A single amount is the default grant.
        return Budget { default: amount("budget", &entry.value, flaws), ..Budget::default() };
    };
    let mut fields = Fields::new("budget.", entries, flaws);
    let mut read = |key: &str| {
        let entry = fields.take(key)?;
        amount(&format!("budget.{key}"), &entry.value, fields.flaws)
    };
    let budget = Budget { default: read("default"), max: read("max"), severance: read("severance"), fee: read("fee") };
    fields.finish();
    budget
}

fn amount(key: &str, node: &Node, flaws: &mut Vec<Flaw>) -> Option<Amount> {
    let text = if node.is_nothing() { "" } else { node.text().unwrap_or("a list") };
    Amount::parse(text).map_err(|why| flaws.push(Flaw::error(node.line, format!("{key}: {why}")))).ok()
}

/// Reads the checks for the reports of single agents.
fn accept_of(node: &Node, team: &Team, flaws: &mut Vec<Flaw>) -> Vec<AcceptOf> {
    let Content::Map(entries) = &node.content else {
        let wanted = "it must be a map from the name of an agent to its checks";
        flaws.push(Flaw::error(node.line, format!("delegation.accept_of: {wanted}")));
        return Vec::new();
    };
    let mut all: Vec<AcceptOf> = Vec::new();
    for Entry { key, line, value, .. } in entries {
        let at = format!("delegation.accept_of.{key}");
        let checks = accept(value, &at, flaws);
        let flaw = match AgentName::parse(key) {
            Err(why) => Some(why.to_string()),
            Ok(name) if !team.has(&name) => Some(format!("{name} is not on the team, so nobody is checked")),
            Ok(name) if all.iter().any(|other| other.agent.name == name) => {
                Some("the agent appears twice; the first checks are used".to_owned())
            }
            Ok(name) => {
                all.push(AcceptOf { agent: Listed { name, line: *line }, checks });
                None
            }
        };
        flaws.extend(flaw.map(|why| Flaw::error(*line, format!("{at}: {why}"))));
    }
    all
}

/// Reads `accept`. A check that can't be read is an error. If it were left out, a report that fails it would be accepted and
/// paid.
fn accept(node: &Node, at: &str, flaws: &mut Vec<Flaw>) -> Vec<Check> {
    let Content::Map(entries) = &node.content else {
        let wanted = "it must be a map with one or more of the keys schema, sum, receipts and files";
        flaws.push(Flaw::error(node.line, format!("{at}: {wanted}")));
        return Vec::new();
    };
    let within = format!("{at}.");
    let mut fields = Fields::new(&within, entries, flaws);
    let schema = fields.entry("schema").and_then(|entry| schema(&entry.value, at, fields.flaws));
    let sum = fields.entry("sum").and_then(|entry| sum(&entry.value, at, fields.flaws));
    let (receipts, files) = (fields.flag("receipts"), fields.texts("files"));
    let command = entries.iter().find(|entry| entry.key == "command" && !entry.value.is_nothing());
    fields.text("command");
    if let Some(entry) = command {
        let message = format!("{at}.command is not supported yet, since it needs the sandbox: the command is not run");
        fields.flaws.push(Flaw::warning(entry.line, message));
    }
    fields.finish();
    let (schema, sum) = (schema.map(Check::Schema), sum.map(Check::Sum));
    let (receipts, files) = (receipts.then_some(Check::Receipts), (!files.is_empty()).then_some(Check::Files(files)));
    [schema, sum, receipts, files].into_iter().flatten().collect()
}

fn schema(node: &Node, at: &str, flaws: &mut Vec<Flaw>) -> Option<Schema> {
    let twice = |(key, line)| Flaw::error(line, format!("{at}.schema: the key {key} appears twice"));
    flaws.extend(repeated_keys(node).into_iter().map(twice));
    let wrong = |SchemaError { at: keys, why }: SchemaError| {
        let key = [at, "schema"].into_iter().chain(keys.iter().map(String::as_str)).collect::<Vec<_>>().join(".");
        Flaw::error(line_of(node, &keys), format!("{key}: {why}"))
    };
    Schema::new(node.json()).map_err(|errors| flaws.extend(errors.into_iter().map(wrong))).ok()
}

/// Returns the keys that appear twice within one map. The nesting of front matter is limited, so the recursion is, too.
fn repeated_keys(node: &Node) -> Vec<(&str, u32)> {
    match &node.content {
        Content::Plain(_) | Content::Quoted(_) => Vec::new(),
        Content::List(nodes) => nodes.iter().flat_map(repeated_keys).collect(),
        Content::Map(entries) => {
            let is_second = |(at, entry): &(usize, &Entry)| entries[..*at].iter().any(|before| before.key == entry.key);
            let second =
                entries.iter().enumerate().filter(is_second).map(|(_, entry)| (entry.key.as_str(), entry.line));
            second.chain(entries.iter().flat_map(|entry| repeated_keys(&entry.value))).collect()
        }
    }
}

/// Returns the line of the last of these keys, each of which is in the value of the one before.
fn line_of(node: &Node, keys: &[String]) -> u32 {
    let mut here = (node.line, node);
    for key in keys {
        let Content::Map(entries) = &here.1.content else { break };
        // Of two entries with the same key, the JSON contains the last.
        let Some(entry) = entries.iter().rfind(|entry| entry.key == *key) else { break };
        here = (entry.line, &entry.value);
    }
    here.0
}

fn sum(node: &Node, at: &str, flaws: &mut Vec<Flaw>) -> Option<Sum> {
    let mut bad = |line, key: &str, why: &str| flaws.push(Flaw::error(line, format!("{at}.sum{key}: {why}")));
    let Content::Map(entries) = &node.content else {
        bad(node.line, "", "it must be a map of `of` and `max`");
        return None;
    };
    for entry in entries.iter().filter(|entry| entry.key != "of" && entry.key != "max") {
        bad(entry.line, &format!(".{}", entry.key), "it is unknown: write `of` and `max`");
    }
    let value = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
    let (Some(of), Some(max)) = (value("of"), value("max")) else {
        bad(node.line, "", "it needs both `of` and `max`");
        return None;
    };
    let amount = Hundredths::parse(max.text().unwrap_or_default());
    let amount = amount.map_err(|why| bad(max.line, ".max", &why.to_string())).ok()?;
    Sum::new(of.text().unwrap_or_default(), amount).map_err(|why| bad(of.line, ".of", &why.to_string())).ok()
}
