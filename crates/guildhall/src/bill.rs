//! The bill: the cost of each contract, and which part of the cost is certain. It is computed only from stored facts.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{
    Acceptance, AgentName, Answer, Ask, AskId, AskKey, Brief, Certainty, Cost, Fact, ImplausibleUsage, Msat, Outcome,
    Path, PayeeName, Report, Stored, Tokens, Undone,
};
use guildhall_laws::Checker;
use serde::Serialize;

use crate::setup::Staffing;
use crate::usage_warnings::{InputAboveHold, UsageWarning};

/// The costs of contracts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// One line per contract, hires below their hirers.
    pub lines: Vec<Line>,
}

/// A cost, split by how certain it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    /// The cost that providers reported.
    pub used: Msat,
    /// An upper bound for calls whose usage was not reported, only in part, or can't be right.
    pub estimated: Msat,
    /// The amount that is reserved for calls that may or may not have been billed.
    pub reserved: Msat,
}

impl Charges {
    /// Returns everything that counts against the budget.
    pub fn total(&self) -> Msat {
        sum(sum(self.used, self.estimated), self.reserved)
    }

    /// Adds two costs, part by part.
    #[must_use]
    pub fn and(self, other: Charges) -> Charges {
        Charges {
            used: sum(self.used, other.used),
            estimated: sum(self.estimated, other.estimated),
            reserved: sum(self.reserved, other.reserved),
        }
    }
}

/// One contract's line of the bill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The contract.
    pub contract: Path,
    /// The agent of the contract.
    pub agent: AgentName,
    /// The model of the contract, as `PROVIDER/NAME`. A task list has none.
    pub model: Option<String>,
    /// Whether nobody bills the model. Its price is then nominal.
    pub nominal: bool,
    /// The money that the contract was granted, top-ups included.
    pub granted: Msat,
    /// The cost of the contract alone, its fee included.
    pub own: Charges,
    /// The part of `own` that is the fee of an accepted report.
    pub fee: Msat,
    /// Who gets the fee. `None` in play money, and where no fee can be earned.
    pub payee: Option<PayeeName>,
    /// The cost of the contract and all its hires.
    pub all: Charges,
    /// How many model calls were answered.
    pub calls: u64,
    /// The tokens of its own calls, as reported.
    pub tokens: Tokens,
    /// The tokens of its calls and those of all its hires.
    pub all_tokens: Tokens,
    /// Its own calls that may or may not have been billed, with the amount reserved for each.
    pub reserved: Vec<(AskId, Msat)>,
    /// Its own calls that have no answer yet, with the amount held for each.
    pub under_way: Vec<(AskId, Msat)>,
    /// Its own calls that cost more than was held for them.
    pub overruns: Vec<Overrun>,
    /// The first usage report of its calls that can't be right. Such calls are charged by size.
    pub implausible: Option<ImplausibleUsage>,
    /// The first of its requests that had more input than it held.
    pub above_hold: Option<InputAboveHold>,
    /// The outcome of the contract, if it has ended.
    pub outcome: Option<Outcome>,
    /// What the report of a contract that is done lacks.
    pub lack: Option<Lack>,
    /// Whether the report is cut: its model could not finish it.
    pub cut: bool,
}

/// What an agent has earned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarnedFee {
    /// The agent.
    pub agent: AgentName,
    /// Who gets the money. `None` in play money.
    pub payee: Option<PayeeName>,
    /// How many of its reports were accepted.
    pub reports: u64,
    /// The fees of these reports together.
    pub money: Msat,
}

/// A call that cost more than was held for it. The budget covers only the hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// The call.
    pub ask: AskId,
    /// The amount that was held.
    pub held: Msat,
    /// The cost above the hold.
    pub excess: Msat,
}

/// What the report of a contract with the outcome `Done` lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// The report did not pass a check, or there was no money for a check.
    Acceptance,
    /// The agent hired no agent, although its file requires a hire.
    Hire,
    /// The report promises a hire that was not made, although the agent was asked about it.
    PromisedHire,
    /// The agent has a team of its own, but it hired nobody and gave a short report, although it was asked about it.
    NoHire,
}

impl Lack {
    /// Returns what a report lacks.
    pub fn of(report: &Report) -> Option<Lack> {
        if report.outcome != Outcome::Done {
            return None;
        }
        match (report.acceptance, report.undone) {
            (Acceptance::NotAccepted, _) => Some(Lack::Acceptance),
            (Acceptance::Accepted, Some(Undone::RequiredHire)) => Some(Lack::Hire),
            (Acceptance::Accepted, Some(Undone::PromisedHire)) => Some(Lack::PromisedHire),
            (Acceptance::Accepted, Some(Undone::NoHire)) => Some(Lack::NoHire),
            (Acceptance::Accepted, Some(Undone::Unclear) | None) => None,
        }
    }

    /// Whether the work is only partly done. A short report of an agent that hired nobody may be all there is to say.
    pub fn is_partial(self) -> bool {
        match self {
            Lack::Acceptance | Lack::Hire | Lack::PromisedHire => true,
            Lack::NoHire => false,
        }
    }
}

/// The corrections of reserved calls: for each call, the reserved amount minus the billed amount.
pub(crate) type Credits = BTreeMap<AskKey, Msat>;

impl Bill {
    /// Computes the bill of one root, or of all roots.
    pub(crate) fn of(
        facts: &[Stored],
        root: Option<&Path>,
        staffing: Option<&Staffing>,
        checker: &Checker,
        credits: &Credits,
    ) -> Bill {
        let mut lines: BTreeMap<&Path, Line> = BTreeMap::new();
        let mut holds: BTreeMap<(&Path, AskId), (Msat, &Ask)> = BTreeMap::new();
        for Stored { contract, fact, .. } in
            facts.iter().filter(|stored| root.is_none_or(|root| stored.contract.top() == *root))
        {
            if let Fact::Opened(brief) = fact {
                let model = staffing.and_then(|staffing| staffing.model_of(brief));
                let nominal = staffing.zip(model).is_some_and(|(staffing, model)| staffing.is_nominal(model));
                lines.insert(contract, Line::new(contract, brief, model, nominal, checker));
            }
            let Some(line) = lines.get_mut(contract) else { continue };
            match fact {
                Fact::Asked { id, ask: ask @ (Ask::Model(_) | Ask::Tool(_) | Ask::Check(_)), hold, .. } => {
                    holds.insert((contract, *id), (hold.money, ask));
                }
                Fact::Answered { id, answer, cost } => {
                    if let Some((hold, ask)) = holds.remove(&(contract, *id)) {
                        line.note_input(ask, answer);
                        let key = AskKey { contract: contract.clone(), ask: *id };
                        line.answered(*id, answer, *cost, hold, credits.get(&key).copied());
                    }
                }
                Fact::Closed(report) => line.closed(report),
                Fact::Opened(_)
                | Fact::Asked { .. }
                | Fact::Queued { .. }
                | Fact::Refused { .. }
                | Fact::Raised { .. }
                | Fact::Heard { .. }
                | Fact::Waiting { .. }
                | Fact::Woke { .. }
                | Fact::Nudged(_)
                | Fact::Compacted { .. }
                | Fact::Closing(_) => {}
            }
        }
        for ((contract, ask), (held, _)) in holds {
            if let Some(line) = lines.get_mut(contract).filter(|_| held > Msat::ZERO) {
                line.under_way.push((ask, held));
            }
        }
        Bill { lines: rolled_up(lines) }
    }

    /// Returns the cost of all contracts together.
    pub fn charges(&self) -> Charges {
        self.lines.iter().fold(Charges::default(), |all, line| all.and(line.own))
    }

    /// Returns what each agent has earned, in the order of the agents' names.
    pub fn fees(&self) -> Vec<EarnedFee> {
        let mut fees: BTreeMap<(&AgentName, Option<&PayeeName>), (u64, Msat)> = BTreeMap::new();
        for line in self.lines.iter().filter(|line| line.fee > Msat::ZERO) {
            let (reports, money) = fees.entry((&line.agent, line.payee.as_ref())).or_default();
            (*reports, *money) = (*reports + 1, sum(*money, line.fee));
        }
        let earned = |((agent, payee), (reports, money)): ((&AgentName, Option<&PayeeName>), (u64, Msat))| EarnedFee {
            agent: agent.clone(),
            payee: payee.cloned(),
            reports,
            money,
        };
        fees.into_iter().map(earned).collect()
    }

    /// Returns the sum of all fees.
    pub fn fee_total(&self) -> Msat {
        self.lines.iter().fold(Msat::ZERO, |all, line| sum(all, line.fee))
    }

    /// Returns the sum by which calls exceeded their holds.
    pub fn overrun(&self) -> Msat {
        self.lines.iter().flat_map(|line| &line.overruns).fold(Msat::ZERO, |all, overrun| sum(all, overrun.excess))
    }

    /// Returns a warning about each provider whose usage reports can't be right, and about each model with more input than was
    /// held.
    pub fn usage_warnings(&self) -> Vec<UsageWarning> {
        let warnings = |line: &Line| {
            let model = line.model.clone();
            let too_few =
                line.implausible.zip(model.as_deref()).map(|(usage, model)| UsageWarning::too_few(model, usage));
            let above =
                line.above_hold.zip(model.as_deref()).map(|(input, model)| UsageWarning::above_hold(model, input));
            [too_few, above].into_iter().flatten()
        };
        let mut named = BTreeSet::new();
        let all = self.lines.iter().flat_map(warnings);
        all.filter(|warning| named.insert(warning.subject())).collect()
    }

    /// Returns the calls that may or may not have been billed, with the amount reserved for each.
    pub fn reserved(&self) -> Vec<(AskKey, Msat)> {
        let of_line = |line: &Line| {
            let key = |(ask, held): &(AskId, Msat)| (AskKey { contract: line.contract.clone(), ask: *ask }, *held);
            line.reserved.iter().map(key).collect::<Vec<_>>()
        };
        self.lines.iter().flat_map(of_line).collect()
    }

    /// Whether nobody bills any of the models.
    pub fn is_nominal(&self) -> bool {
        let mut asking = self.lines.iter().filter(|line| line.model.is_some()).peekable();
        asking.peek().is_some() && asking.all(|line| line.nominal)
    }

    /// Returns the models of all contracts, as `PROVIDER/NAME`.
    pub fn models(&self) -> BTreeSet<&str> {
        self.lines.iter().filter_map(|line| line.model.as_deref()).collect()
    }

    /// Returns the number of tokens of all contracts.
    pub fn tokens(&self) -> u64 {
        let tokens = |line: &Line| line.tokens.input.saturating_add(line.tokens.output);
        self.lines.iter().map(tokens).fold(0, u64::saturating_add)
    }
}

/// Adds the cost of hires to the lines of their hirers. A hirer's path is sorted before the paths of its hires.
fn rolled_up(lines: BTreeMap<&Path, Line>) -> Vec<Line> {
    let mut lines: Vec<Line> = lines.into_values().collect();
    for at in (0..lines.len()).rev() {
        let (above, below) = lines.split_at_mut(at);
        let line = &below[0];
        let hirer = line.contract.hirer();
        let place = hirer.and_then(|hirer| above.binary_search_by(|above| above.contract.cmp(&hirer)).ok());
        if let Some(place) = place {
            let hirer = &mut above[place];
            hirer.all = hirer.all.and(line.all);
            add_tokens(&mut hirer.all_tokens, line.all_tokens);
        }
    }
    lines
}

impl Line {
    fn new(contract: &Path, brief: &Brief, model: Option<&str>, nominal: bool, checker: &Checker) -> Line {
        let granted = checker.line(contract).map_or(0, |line| line.granted);
        Line {
            contract: contract.clone(),
            agent: brief.agent.clone(),
            model: model.map(str::to_owned),
            nominal,
            granted: Msat::capped(u128::try_from(granted).unwrap_or_default()),
            own: Charges::default(),
            fee: Msat::ZERO,
            payee: brief.payee.as_deref().cloned(),
            all: Charges::default(),
            calls: 0,
            tokens: Tokens::default(),
            all_tokens: Tokens::default(),
            reserved: Vec::new(),
            under_way: Vec::new(),
            overruns: Vec::new(),
            implausible: None,
            above_hold: None,
            outcome: None,
            lack: None,
            cut: false,
        }
    }

    fn note_input(&mut self, ask: &Ask, answer: &Answer) {
        if let (Ask::Model(request), Answer::Said(said)) = (ask, answer) {
            self.above_hold = self.above_hold.or_else(|| InputAboveHold::of(said, request));
        }
    }

    fn answered(&mut self, id: AskId, answer: &Answer, cost: Cost, hold: Msat, credit: Option<Msat>) {
        if let Answer::Said(said) = answer {
            self.calls += 1;
            self.implausible = self.implausible.or(said.implausible);
            // A task list makes no provider calls, so its tokens do not count.
            let tokens = said.used.filter(|_| self.model.is_some()).unwrap_or_default();
            add_tokens(&mut self.tokens, tokens);
            add_tokens(&mut self.all_tokens, tokens);
        }
        let charge = cost.within(hold);
        let charges = match (cost.certainty(answer), credit) {
            (Certainty::Used, _) => Charges { used: charge, ..Charges::default() },
            (Certainty::Estimated, _) => Charges { estimated: charge, ..Charges::default() },
            (Certainty::Reserved, None) => {
                if charge > Msat::ZERO {
                    self.reserved.push((id, charge));
                }
                Charges { reserved: charge, ..Charges::default() }
            }
            // A correction recorded the real cost.
            (Certainty::Reserved, Some(credit)) => {
                let billed = Msat::capped(u128::from(charge.get().saturating_sub(credit.get())));
                Charges { used: billed, ..Charges::default() }
            }
        };
        // A model that nobody bills has no overruns.
        if let Some(excess) = cost.overrun(hold).filter(|_| !self.nominal) {
            self.overruns.push(Overrun { ask: id, held: hold, excess });
        }
        self.charge(charges);
    }

    fn closed(&mut self, report: &Report) {
        self.charge(Charges { used: report.fee, ..Charges::default() });
        self.fee = report.fee;
        self.outcome = Some(report.outcome);
        self.lack = Lack::of(report);
        self.cut = report.cut;
    }

    fn charge(&mut self, charges: Charges) {
        self.own = self.own.and(charges);
        self.all = self.all.and(charges);
    }
}

fn add_tokens(to: &mut Tokens, more: Tokens) {
    to.input = to.input.saturating_add(more.input);
    to.cached = to.cached.saturating_add(more.cached);
    to.output = to.output.saturating_add(more.output);
}

/// Adds two amounts. The sum is at most all money there is.
pub(crate) fn sum(one: Msat, other: Msat) -> Msat {
    Msat::capped(u128::from(one.get()) + u128::from(other.get()))
}
