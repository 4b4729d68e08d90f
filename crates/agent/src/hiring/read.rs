//! Reads the calls of hiring tools. The kernel decides whether a call is admitted.

use guildhall_kernel::{
    Brief, Call, Effect, Inherit, Millis, Mode, Msat, Need, PowerSet, Tariff, TextKind, TextRef, ToolCall, ToolName,
    Unreadable, WrongField,
};
use serde_json::{Map, Value};

use super::arguments::{Arguments, wrong};
use super::choose::{By, Choice};
use super::offer::Order;
use super::{DelegationTool, KnownModel, Team};
use crate::roster::Dialect;
use crate::runtime::add_text;
use crate::text::{Redactor, Text};

/// How long a hire waits for its hirer's answer. After that, the hire uses its judgement.
const ANSWER_WITHIN: Millis = Millis(3 * 60 * 1000);

/// Reads the hiring calls of one reply.
pub(crate) struct Reader<'a> {
    pub(crate) team: Option<&'a Team>,
    pub(crate) brief: &'a Brief,
    pub(crate) redactor: &'a Redactor,
    pub(crate) now: Millis,
    /// The texts that the calls name.
    pub(crate) texts: &'a mut Vec<Text>,
}

impl Reader<'_> {
    pub(crate) fn read(&mut self, tool: DelegationTool, name: &str, arguments: &Map<String, Value>) -> Call {
        self.call(tool, name, Arguments(arguments)).unwrap_or_else(Call::Invalid)
    }

    fn call(&mut self, tool: DelegationTool, name: &str, arguments: Arguments<'_>) -> Result<Call, Unreadable> {
        match tool {
            DelegationTool::Hire => self.hire(arguments),
            DelegationTool::Stop => Ok(Call::Stop(arguments.path("id")?)),
            DelegationTool::Message => {
                let (to, text) = (arguments.path("id")?, arguments.words("text")?);
                Ok(Call::Message { to, text: self.add_text(TextKind::Message, text) })
            }
            DelegationTool::Wait => self.wait(arguments),
            DelegationTool::AskHirer => {
                let question = self.add_text(TextKind::Message, arguments.words("question")?);
                Ok(Call::AskHirer { question, until: self.now.after(ANSWER_WITHIN) })
            }
            DelegationTool::List => self.tool(name, Effect::Pure, arguments),
            DelegationTool::Board => {
                arguments.text("post")?;
                self.tool(name, Effect::Idempotent, arguments)
            }
        }
    }

    fn wait(&self, arguments: Arguments<'_>) -> Result<Call, Unreadable> {
        let need = if arguments.flag("any")? == Some(true) { Need::Any } else { Need::All };
        let until = arguments.seconds("timeout_s")?.map(|wait| self.now.after(wait));
        Ok(Call::Wait { on: arguments.paths("ids")?, need, until })
    }

    /// Reads a call of a tool that the runtime serves itself, from facts.
    fn tool(&mut self, name: &str, effect: Effect, arguments: Arguments<'_>) -> Result<Call, Unreadable> {
        let tool = ToolName::parse(name).map_err(Unreadable::BadName)?;
        let arguments = self.add_text(TextKind::Arguments, &Value::Object(arguments.0.clone()).to_string());
        let (price, needs) = (Msat::ZERO, PowerSet::default());
        let call = ToolCall { tool, arguments, price, effect, needs, for_hires: true };
        Ok(Call::Tool { call, approval: None })
    }

    fn hire(&mut self, arguments: Arguments<'_>) -> Result<Call, Unreadable> {
        let team = self.team.ok_or(Unreadable::UnknownTool)?;
        let order = match team.dialect {
            Dialect::DelegateTask => delegate_task(team, arguments),
            Dialect::DelegateToAgent => delegate_to_agent(team, arguments),
            Dialect::Agent => agent(team, arguments),
        }?;
        Ok(Call::Hire(Box::new(order.offer(team, self.brief, self.redactor, self.texts))))
    }

    fn add_text(&mut self, kind: TextKind, says: &str) -> TextRef {
        add_text(self.texts, self.redactor.text(kind, says))
    }
}

fn delegate_task<'a>(team: &'a Team, arguments: Arguments<'a>) -> Result<Order<'a>, Unreadable> {
    let task = arguments.words("task")?;
    let (inherit, choice) = match arguments.text("context")? {
        None | Some("fresh") => {
            let specialty = arguments.required("specialty")?;
            (Inherit::Fresh, team.choose(specialty, By::Specialty).map_err(Unreadable::BadName)?)
        }
        // The kernel replaces these conditions: a fork has its hirer's.
        Some("fork") => (Inherit::Fork, Choice::of(&team.own)),
        Some(_) => return Err(wrong("context", WrongField::UnknownValue)),
    };
    let mode = mode(arguments.flag("background")?, inherit, &choice);
    let budget = arguments.money("budget")?;
    Ok(Order { inherit, budget, label: label(arguments), ..Order::new(choice, task, mode) })
}

fn delegate_to_agent<'a>(team: &'a Team, arguments: Arguments<'a>) -> Result<Order<'a>, Unreadable> {
    let task = arguments.words("prompt")?;
    let target = arguments.required("target_agent")?;
    let choice = team.choose(target, By::Name).map_err(Unreadable::BadName)?;
    // The tool promises to wait and to return the final output.
    Ok(Order::new(choice, task, Mode::Blocking))
}

fn agent<'a>(team: &'a Team, arguments: Arguments<'a>) -> Result<Order<'a>, Unreadable> {
    let task = arguments.words("prompt")?;
    let (inherit, choice) = match arguments.text("subagent_type")? {
        Some(kind) => (Inherit::Fresh, team.choose(kind, By::Name).map_err(Unreadable::BadName)?),
        None => (Inherit::Fork, Choice::of(&team.own)),
    };
    let mode = mode(arguments.flag("run_in_background")?, inherit, &choice);
    let model_slot = arguments.text("model")?.and_then(|model| team.model_slot(model));
    Ok(Order { inherit, model_slot, label: label(arguments), ..Order::new(choice, task, mode) })
}

impl Team {
    /// Finds a model by any of its names. Returns its number, counted from 1, and its prices.
    fn model_slot(&self, model: &str) -> Option<(u16, Tariff)> {
        let has_name = |known: &KnownModel| known.names.iter().any(|name| name.eq_ignore_ascii_case(model.trim()));
        let at = self.models.iter().position(has_name)?;
        Some((u16::try_from(at + 1).ok()?, self.models[at].tariff))
    }
}

/// Returns the hirer's name for the work. A name that is not a text is ignored: it is not a reason to refuse the work.
fn label(arguments: Arguments<'_>) -> Option<&str> {
    arguments.text("name").ok().flatten()
}

/// Returns the mode of a hire. The key `background` of an agent file applies to hires of its agent, not to forks.
fn mode(background: Option<bool>, inherit: Inherit, choice: &Choice<'_>) -> Mode {
    let usual = inherit == Inherit::Fresh && choice.worker.background;
    if background.unwrap_or(usual) { Mode::Background } else { Mode::Blocking }
}
