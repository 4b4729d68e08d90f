//! Whom an agent may hire, how, and for how much: the keys `delegation` and `budget`.

use guildhall_kernel::AgentName;
use serde::{Deserialize, Serialize};

use super::accept::{Accept, accept};
use super::amount::Amount;
use super::fields::{Fields, flag};
use super::problem::Flaw;
use super::tools::{items, members};
use super::yaml::{Entry, Is, Node};

/// How an agent hires.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Delegation {
    pub team: Team,
    pub mode: DelegationMode,
    pub dialect: Dialect,
    /// Whether it may hire itself, or somebody above it, for another task.
    pub recursive: bool,
    /// Whether it may hire specialists that have no file.
    pub ad_hoc: bool,
    /// What it adds to the terms of every brief that it hands down.
    pub terms: Vec<String>,
    /// What the reports of its hires must pass.
    pub accept: Accept,
}

/// Whom an agent may hire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Team {
    /// Everybody on the roster.
    Any,
    /// These.
    Named(Vec<Listed>),
}

/// One name on a hiring list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Listed {
    pub name: AgentName,
    pub line: u32,
}

/// Who decides whether an agent hires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegationMode {
    /// The model.
    #[default]
    Offered,
    /// It must hire before it reports.
    Required,
    /// Its first reply is handed to its team.
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

/// What an agent costs and gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// What it gets if its hirer names no budget.
    pub default: Option<Amount>,
    /// The most it may get.
    pub max: Option<Amount>,
    /// What of it pays for a last report.
    pub severance: Option<Amount>,
    /// What it is paid for an accepted report.
    pub fee: Option<Amount>,
}

impl Delegation {
    /// How an agent hires whose file says no more than whom.
    pub(super) fn of(team: Team, dialect: Dialect) -> Delegation {
        let (mode, accept) = (DelegationMode::default(), Accept::default());
        Delegation { team, mode, dialect, recursive: false, ad_hoc: false, terms: Vec::new(), accept }
    }
}

/// Reads `delegation`. `listed` is whom the agent's tools let it hire.
pub(super) fn delegation(node: &Node, listed: Option<Team>, flaws: &mut Vec<Flaw>) -> Option<Delegation> {
    let dialect = if listed.is_some() { Dialect::Agent } else { Dialect::default() };
    let mut delegation = Delegation::of(listed.clone().unwrap_or(Team::Any), dialect);
    let Is::Map(entries) = &node.is else {
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
        delegation.accept = accept(&entry.value, fields.flaws);
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

/// Reads `budget`. Money that can't be read is an error: nothing is made of it.
pub(super) fn budget(entry: &Entry, flaws: &mut Vec<Flaw>) -> Budget {
    let Is::Map(entries) = &entry.value.is else {
        // One amount alone is what the agent gets.
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
