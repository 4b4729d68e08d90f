//! Decides what a JSON turn may be. A small model that may report reports at once, and one that may hire hires without an end.

use guildhall_kernel::{Brief, CloseWhen, Fact, Heads};

use super::past::Past;
use super::{Calls, Choice, SmallTools};
use crate::hiring::{Listing, Team};
use crate::model::ToolSpec;
use crate::roster::DelegationMode;
use crate::status::Status;

/// How often an agent may hire for one task: a second time if the first reports are not enough.
const ROUNDS_MAX: usize = 2;

/// A contract when it asks its model.
#[derive(Clone, Copy)]
pub(crate) struct Moment<'a> {
    brief: &'a Brief,
    team: Option<&'a Team>,
    status: &'a Status,
    past: Past<'a>,
    must_hire: bool,
}

impl<'a> Moment<'a> {
    /// `must_call` is the tool that the reply must call, if any: the one that hires.
    pub(crate) fn new(
        brief: &'a Brief,
        team: Option<&'a Team>,
        status: &'a Status,
        facts: &'a [Fact],
        must_call: Option<&str>,
    ) -> Moment<'a> {
        Moment { brief, team, status, past: Past::of(facts), must_hire: must_call.is_some() }
    }

    pub(super) fn brief(&self) -> &'a Brief {
        self.brief
    }

    pub(super) fn has_hires_at_work(&self) -> bool {
        self.past.has_hires_at_work()
    }

    /// Returns what the next reply may be.
    pub(super) fn choice(&self, tools: &SmallTools, max: usize) -> Choice {
        if self.must_hire
            && let Some(hire) = &tools.hire
        {
            return Choice::Calls(Calls { tools: vec![hire.clone()], max });
        }
        let useful = self.useful(tools);
        if useful.is_empty() {
            return Choice::Report;
        }
        let calls = Calls { tools: useful, max };
        if self.may_report(tools) { Choice::CallsOrReport(calls) } else { Choice::Calls(calls) }
    }

    /// Returns the tools that are of use now. When all hires have reported, that is only the one that hires, for a second round.
    fn useful(&self, tools: &SmallTools) -> Vec<ToolSpec> {
        let rounds_max = match self.team.map(|team| team.mode) {
            Some(DelegationMode::Cascade) => 1,
            Some(DelegationMode::Offered | DelegationMode::Required) | None => ROUNDS_MAX,
        };
        let can_hire = self.has_hires_left() && self.past.rounds() < rounds_max;
        let mut useful: Vec<ToolSpec> = tools.hire.iter().filter(|_| can_hire).cloned().collect();
        let is_at_work = self.has_hires_at_work();
        if is_at_work || !self.past.has_hired() {
            useful.extend(tools.own.iter().chain(&tools.hired).cloned());
        }
        if is_at_work {
            useful.extend(tools.managing.iter().cloned());
        }
        useful
    }

    /// Whether heads and levels for a hire are left.
    fn has_hires_left(&self) -> bool {
        self.status.hiring.is_some_and(|left| left.heads > Heads(0) && left.depth > 0)
    }

    /// Whether the reply may be a report. An agent whose file lists its team must try to hire first, and another agent with tools
    /// must call one. An agent with `team: any` and an ad-hoc specialist need not hire: each would make the next one hire, down to
    /// the deepest level.
    fn may_report(&self, tools: &SmallTools) -> bool {
        let is_conversation = match self.brief.close_when {
            CloseWhen::Asked => true,
            CloseWhen::FinalText => false,
        };
        if is_conversation || self.past.was_nudged() {
            return true;
        }
        match self.team.filter(|_| tools.hire.is_some()) {
            Some(_) if !self.has_hires_left() => true,
            Some(team) if team.listing == Listing::ByName => self.past.has_tried_to_hire(),
            Some(_) | None => tools.own.is_empty() || self.past.has_called(),
        }
    }
}
