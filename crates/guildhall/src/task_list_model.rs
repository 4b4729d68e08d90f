//! A program that takes the place of a root's model and executes a list of tasks. It hires the agent of the next task, passes on
//! the reports of the tasks before it, waits, and combines the reports. It reads only a prompt's data and costs nothing. The same
//! prompt always gives the same reply, so a crash does not change the result.

use guildhall_agent::{
    Attempt, Heard, HeardReport, Model, Prompt, PromptData, RawCall, Reply, Reported, Stop, Task, Usage, Watch, Wire,
};
use guildhall_kernel::{Msat, Outcome, Path, Quantity, Refusal, Turn};
use serde_json::{Value, json};

use crate::tasks::{TaskSpec, Tasks, order};

/// The longest task including the reports of the tasks before it, in bytes. The rest of the brief is for terms.
const HANDED_BYTES_MAX: usize = 48 * 1024;

/// The longest combined report, in bytes.
const REPORT_BYTES_MAX: usize = 60 * 1024;

/// The answer to a hire that asks its hirer a question.
const NO_ANSWER: &str = "You were hired by a list of tasks, which can't answer questions: use your judgement.";

/// The text in place of the report of a hire that ended without a report.
const NO_REPORT: &str = "The agent ended before it reported anything.";

/// A program that executes a list of tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaskListModel;

impl Model for TaskListModel {
    fn reads_data(&self) -> bool {
        true
    }

    fn ask<'a>(&'a self, prompt: &'a Prompt, _watch: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(async move {
            let reply = reply(prompt);
            // The call costs nothing, but its size must be right: the size decides how much of the last request is cut.
            Attempt { usage: Reported::Whole(Usage::in_bytes(prompt, &reply)), outcome: Ok(reply) }
        })
    }
}

fn reply(prompt: &Prompt) -> Reply {
    let data = prompt.data.as_deref();
    let Some((data, state)) = data.and_then(|data| Some((data, ListState::read(data, &prompt.key.contract)?))) else {
        return Reply::words("This agent executes lists of tasks, but its task is not a list of tasks.");
    };
    let calls = match data.turn {
        Turn::Next => state.calls(prompt.messages.len()),
        Turn::Last => Vec::new(),
    };
    match calls.as_slice() {
        [] if data.asks_to_confirm() => Reply::words(PromptData::CONFIRMS_REPORT),
        [] => Reply::words(state.report()),
        [_, ..] => calling(calls),
    }
}

fn calling(calls: Vec<RawCall>) -> Reply {
    let one = |call: &RawCall| json!({"id": call.id, "name": call.name, "arguments": call.arguments.as_ref().ok()});
    let raw = json!({"calls": calls.iter().map(one).collect::<Vec<_>>()});
    Reply { wire: Wire::Inside, raw, words: None, calls, stop: Stop::Calls, part: None }
}

/// A task without a budget gets this many times the minimum of a hire, if there is enough money.
const LEAST_TIMES: u64 = 4;

/// The state of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Open,
    Refused(String),
    AtWork(Path),
    Ended { hire: Path, ending: Outcome, says: String },
}

/// The list, the state of each task, and everything else that arrived.
struct ListState {
    tasks: Tasks,
    /// For each task, the indexes of the tasks that come before it.
    before: Vec<Vec<usize>>,
    states: Vec<State>,
    /// Reports of hires that are not tasks of this list, for example hires that a person ordered.
    others: Vec<HeardReport>,
    /// The hires that asked a question since the last reply.
    asking: Vec<Path>,
    /// The money that no hold takes.
    free: Msat,
    /// The highest minimum of the hires that were refused because they had too little money.
    least: Msat,
    /// The root of the list. Its path is part of the call ids.
    root: Path,
}

impl ListState {
    /// Reads everything that arrived since the newest list.
    fn read(data: &PromptData, root: &Path) -> Option<ListState> {
        let list = |words: &str| Tasks::read(words).map(|tasks| ListState::new(tasks, root, data.status.money));
        let mut state = list(&data.task);
        for heard in &data.heard {
            match (heard, &mut state) {
                (Heard::Owner(words), state) => {
                    if let Some(newer) = list(words) {
                        *state = Some(newer);
                    }
                }
                (heard, Some(state)) => state.take(heard),
                (_, None) => {}
            }
        }
        state
    }

    fn new(tasks: Tasks, root: &Path, free: Msat) -> ListState {
        let states = vec![State::Open; tasks.specs().len()];
        let (before, others, asking) = (tasks.predecessors(), Vec::new(), Vec::new());
        ListState { tasks, before, states, others, asking, free, least: Msat::ZERO, root: root.clone() }
    }

    /// Applies one thing that arrived.
    fn take(&mut self, heard: &Heard) {
        match heard {
            Heard::Reply(_) => self.asking.clear(),
            Heard::Question { from, .. } => self.asking.push(from.clone()),
            Heard::Hired { call, hire, .. } => {
                if let Some(at) = self.task_of(call.as_deref()) {
                    self.states[at] = State::AtWork(hire.clone());
                }
            }
            Heard::Refused { call, why, .. } => self.refused(call.as_deref(), why),
            Heard::Report(report) => self.reported(report),
            Heard::Result { .. } | Heard::Message { .. } | Heard::Owner(_) | Heard::Nudged(_) => {}
        }
    }

    /// Applies a refusal.
    fn refused(&mut self, call: Option<&str>, why: &Refusal) {
        let Some(at) = self.task_of(call) else { return };
        let is_shared = self.tasks.specs()[at].budget.is_none();
        self.states[at] = if let Refusal::Money { minimum, .. } = why
            && is_shared
        {
            // The hire may be possible later, with a larger share or with the change of other hires.
            self.least = self.least.max(*minimum);
            State::Open
        } else {
            State::Refused(first_line(&format!("refused: {why}")))
        };
    }

    /// Applies a report.
    fn reported(&mut self, report: &HeardReport) {
        let is = |state: &State| matches!(state, State::AtWork(path) if *path == report.hire);
        match self.states.iter().position(is) {
            Some(at) => {
                let (hire, says) = (report.hire.clone(), said(report).to_owned());
                self.states[at] = State::Ended { hire, ending: report.outcome, says };
            }
            None => self.others.push(report.clone()),
        }
    }

    /// Whether a task has a report that can be passed on.
    fn has_report(&self, at: usize) -> bool {
        matches!(self.states[at], State::Ended { ending: Outcome::Done | Outcome::Exhausted(_), .. })
    }

    /// The tasks that can still start.
    fn open(&self) -> Vec<usize> {
        let mut can_report = vec![false; self.states.len()];
        let mut open = Vec::new();
        for at in order(&self.before) {
            can_report[at] = match self.states[at] {
                State::AtWork(_) => true,
                State::Refused(_) => false,
                State::Ended { .. } => self.has_report(at),
                State::Open => self.before[at].iter().all(|before| can_report[*before]),
            };
            if can_report[at] && self.states[at] == State::Open {
                open.push(at);
            }
        }
        open
    }

    /// The next calls. There are none if everything that can be done is done.
    fn calls(&self, turn: usize) -> Vec<RawCall> {
        let call =
            |id: String, name: &str, arguments: Value| RawCall { id, name: name.to_owned(), arguments: Ok(arguments) };
        let answers = self.asking.iter().enumerate().map(|(at, path)| {
            call(
                format!("answer-{}-{turn}-{at}", self.root),
                "message_agent",
                json!({"id": path.to_string(), "text": NO_ANSWER}),
            )
        });
        let mut calls: Vec<RawCall> = answers.collect();
        let at_work = self.states.iter().any(|state| matches!(state, State::AtWork(_)));
        for (at, money) in self.affordable(at_work) {
            calls.push(call(self.id_of(at, turn), "delegate_task", self.order(at, money)));
        }
        if at_work || !calls.is_empty() {
            calls.push(call(format!("wait-{}-{turn}", self.root), "wait_for_agents", json!({"any": true})));
        }
        calls
    }

    /// The tasks that can start now, each with its money. A task without enough money waits for the change of other tasks. If
    /// no other task is at work, the task starts anyway, and the refusal gives the reason.
    fn affordable(&self, at_work: bool) -> Vec<(usize, Option<Msat>)> {
        let open = self.open();
        let share = self.share(&open);
        let mut left = self.free;
        let mut chosen = Vec::new();
        for at in open.into_iter().filter(|at| self.before[*at].iter().all(|before| self.has_report(*before))) {
            let money = self.tasks.specs()[at].budget.or(share);
            let is_least = money.is_none_or(|money| money >= self.least || self.tasks.specs()[at].budget.is_some());
            match money.map_or(Some(left), |money| left.minus(money)) {
                Some(rest) if is_least => {
                    left = rest;
                    chosen.push((at, money));
                }
                None if !at_work && chosen.is_empty() && is_least => chosen.push((at, money)),
                Some(_) | None => {}
            }
        }
        chosen
    }

    /// The money for a task without a budget: an equal share for all tasks that can still start, but enough to work with.
    fn share(&self, open: &[usize]) -> Option<Msat> {
        let (mut left, mut without) = (self.free.get(), 0);
        for at in open {
            match self.tasks.specs()[*at].budget {
                Some(budget) => left = left.saturating_sub(budget.get()),
                None => without += 1,
            }
        }
        let enough = self.least.get().saturating_mul(LEAST_TIMES).min(left);
        let share = left.checked_div(without)?.max(enough);
        Msat::new(share).ok().filter(|share| *share > Msat::ZERO)
    }

    /// The arguments of the call that hires for a task, with the reports of the tasks before it.
    fn order(&self, at: usize, money: Option<Msat>) -> Value {
        let (task, before) = (&self.tasks.specs()[at], &self.before[at]);
        let mut words = task.task.clone();
        let room = HANDED_BYTES_MAX.saturating_sub(words.len()) / before.len().max(1);
        for before in before {
            if let State::Ended { hire, ending, says } = &self.states[*before] {
                let name = &self.tasks.specs()[*before].name;
                let ending = outcome_name(*ending);
                let head = format!("\n\nReport of the earlier task {name} ({hire}, {ending}):\n");
                let says = cut(says, room.saturating_sub(head.len()));
                words.push_str(&head);
                words.push_str(&says);
            }
        }
        let mut order = json!({"specialty": task.agent, "task": words, "background": true});
        if let Some(budget) = money {
            order["budget"] = json!(format!("{}msat", budget.get()));
        }
        order
    }

    /// The final report: the reports that were not passed on to another task, then one line for each other task.
    fn report(&self) -> String {
        let mut is_handed_on = vec![false; self.states.len()];
        // A task that did not finish may not have used the reports that it received, so they are repeated here.
        let is_done = |at: &usize| matches!(self.states[*at], State::Ended { ending: Outcome::Done, .. });
        for before in (0..self.before.len()).filter(is_done).flat_map(|at| &self.before[at]) {
            is_handed_on[*before] = true;
        }
        let (mut reports, mut done, mut undone) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (TaskSpec { name, agent, .. }, state)) in self.tasks.specs().iter().zip(&self.states).enumerate() {
            match state {
                State::Ended { hire, ending, says } if self.has_report(at) && !is_handed_on[at] => {
                    let how = if *ending == Outcome::Done { "" } else { ", ran out" };
                    reports.push((format!("{name} ({agent}, {hire}{how})"), says.as_str()));
                }
                State::Ended { hire, ending: Outcome::Done, .. } => {
                    done.push(format!("{name} ({agent}, {hire})"));
                }
                State::Ended { hire, .. } if self.has_report(at) => {
                    undone.push(format!("{name} ({agent}, {hire}): ran out; its findings so far were passed on"));
                }
                State::Ended { hire, ending, says } => {
                    undone.push(format!("{name} ({agent}, {hire}): {}: {}", outcome_name(*ending), first_line(says)));
                }
                State::AtWork(hire) => undone.push(format!("{name} ({agent}, {hire}): no report yet")),
                State::Refused(why) => undone.push(format!("{name} ({agent}): {why}")),
                State::Open => undone.push(format!("{name} ({agent}): not started{}", self.why_not_started(at))),
            }
        }
        for report in &self.others {
            reports.push((format!("another hire ({}, {})", report.agent, report.hire), said(report)));
        }
        let room = REPORT_BYTES_MAX / reports.len().max(1);
        let mut parts: Vec<String> = reports.iter().map(|(who, says)| format!("{who}:\n{}", cut(says, room))).collect();
        if !done.is_empty() {
            parts.push(format!("Done earlier: {}.", done.join(", ")));
        }
        if !undone.is_empty() {
            parts.push(format!("Not done:\n- {}", undone.join("\n- ")));
        }
        parts.join("\n\n")
    }

    /// The id of the call that hires for a task. It is unique in the session.
    fn id_of(&self, at: usize, turn: usize) -> String {
        format!("task-{}-{at}-{turn}", self.root)
    }

    fn task_of(&self, call: Option<&str>) -> Option<usize> {
        let at = call?.strip_prefix(&format!("task-{}-", self.root))?.split('-').next()?.parse().ok()?;
        (at < self.states.len()).then_some(at)
    }

    /// Why a task was not started.
    fn why_not_started(&self, at: usize) -> String {
        let missing = self.before[at].iter().filter(|before| !self.has_report(**before));
        let missing: Vec<&str> = missing.map(|before| self.tasks.specs()[*before].name.as_str()).collect();
        match missing.as_slice() {
            [] if self.least > Msat::ZERO => format!(": not enough money, a hire needs at least {}", self.least),
            [] => String::new(),
            missing => format!(": no report of {}", missing.join(", ")),
        }
    }
}

/// The text of a report.
fn said(report: &HeardReport) -> &str {
    let says = report.text.trim();
    if says.is_empty() { NO_REPORT } else { says }
}

/// The name of an outcome.
fn outcome_name(ending: Outcome) -> &'static str {
    match ending {
        Outcome::Done => "complete",
        Outcome::Exhausted(_) => "exhausted",
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
    }
}

fn first_line(text: &str) -> String {
    cut(text.trim().lines().next().unwrap_or_default(), 300)
}

/// As much of a text as fits, with a note about the rest.
fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes);
    format!("{} [{} bytes more]", &text[..end], text.len() - end)
}
