//! A session, for those who look at it: how it stands, what was said, what it cost.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{
    Acceptance, AgentName, Answer, Ask, AskId, Cost, Fact, Hold, Msat, Nudge, Origin, Outcome, Path, Report, Session,
    Stored, Tokens, Wording,
};
use guildhall_laws::Checker;
use guildhall_local::{Head, Holder, Journal, SessionId, SessionRow};
use serde::Serialize;

use crate::failure::failure;
use crate::hall::HallError;
use crate::setup::{Root, Setup, Staffing, newest_root, stored_text};
use crate::tasks::Tasks;
use crate::topup::late_money;

/// What work came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The session.
    pub session: SessionId,
    /// What it was set up with.
    pub setup: Setup,
    /// The answer, or what was found instead of one.
    pub text: String,
    /// The report.
    pub report: Report,
    /// Why the model failed or said nothing, if it did.
    pub failure: Option<String>,
    /// What was put in.
    pub granted: Msat,
    /// What came for the root after it had closed: it stays in the session.
    pub late: Msat,
    /// What it cost, contract by contract.
    pub bill: Bill,
    /// The limit of tokens that ended it, if one did.
    pub out_of_tokens: Option<u64>,
    /// How many tasks of a list were not done; none of what is no list.
    pub undone: usize,
    /// Every law that the stored facts break: none, or this program has a bug.
    pub violations: Vec<String>,
    /// The head of the journal's chain: whoever has it finds out if the journal is cut later.
    pub head: Head,
    /// The structured output, as JSON, if one was asked for and could be read.
    pub(crate) structured: Option<String>,
    /// What the last check that failed found.
    pub(crate) finding: Option<String>,
}

/// What contracts cost, each its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// One line per contract, hires below their hirers.
    pub lines: Vec<Line>,
}

/// One contract's line of the bill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which contract.
    pub contract: Path,
    /// Who worked.
    pub agent: AgentName,
    /// The model that was asked, as `PROVIDER/NAME`. A clerk asks none.
    pub model: Option<String>,
    /// What it was granted, top-ups included.
    pub granted: Msat,
    /// What it cost itself, its fee included and its hires' cost not.
    pub own: Msat,
    /// The part of that which was paid for calls whose answer was lost.
    pub lost: Msat,
    /// How many model calls were answered.
    pub calls: u64,
    /// What they took, as reported.
    pub tokens: Tokens,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
    /// What its report lacks, although it is done.
    pub lack: Option<Lack>,
}

/// What a report lacks whose contract ended as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// It did not pass a check, or a check could not be paid for.
    Acceptance,
    /// Nobody was hired, and the agent's file demands it.
    Hire,
    /// A hire that was promised was not made.
    PromisedHire,
}

impl Lack {
    /// Returns what a report lacks.
    pub fn of(report: &Report) -> Option<Lack> {
        if report.outcome != Outcome::Done {
            return None;
        }
        match (report.acceptance, report.unheeded) {
            (Acceptance::NotAccepted, _) => Some(Lack::Acceptance),
            (Acceptance::Accepted, Some(Nudge::Required)) => Some(Lack::Hire),
            (Acceptance::Accepted, Some(Nudge::Promise)) => Some(Lack::PromisedHire),
            (Acceptance::Accepted, Some(Nudge::Mend | Nudge::Empty) | None) => None,
        }
    }
}

impl Bill {
    /// Returns what all contracts cost together.
    pub fn own(&self) -> Msat {
        self.lines.iter().fold(Msat::ZERO, |all, line| sum(all, line.own))
    }

    /// Adds the contracts of one root up.
    fn of(facts: &[Stored], root: &Path, staffing: Option<&Staffing>, checker: &Checker) -> Bill {
        let mut lines: Vec<Line> = Vec::new();
        let mut places: BTreeMap<Path, usize> = BTreeMap::new();
        let mut holds: BTreeMap<(Path, AskId), Hold> = BTreeMap::new();
        for stored in facts.iter().filter(|stored| stored.contract.top() == *root) {
            let contract = &stored.contract;
            if let Fact::Opened(brief) = &stored.fact {
                places.insert(contract.clone(), lines.len());
                let model = staffing.and_then(|staffing| staffing.model_of(brief));
                lines.push(Line::new(contract, &brief.agent, model, checker));
            }
            let Some(line) = places.get(contract).map(|place| &mut lines[*place]) else { continue };
            match &stored.fact {
                Fact::Asked { id, ask: Ask::Model(_) | Ask::Tool(_) | Ask::Check(_), hold, .. } => {
                    holds.insert((contract.clone(), *id), *hold);
                }
                Fact::Answered { id, answer, cost } => {
                    let hold = holds.remove(&(contract.clone(), *id)).unwrap_or_default();
                    line.answered(answer, *cost, hold);
                }
                Fact::Closed(report) => line.lack = Lack::of(report),
                Fact::Opened(_)
                | Fact::Asked { .. }
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
        lines.sort_by(|one, other| one.contract.cmp(&other.contract));
        Bill { lines }
    }

    /// What calls cost whose answer was lost.
    pub fn lost(&self) -> Msat {
        Msat::capped(self.lines.iter().map(|line| u128::from(line.lost.get())).sum())
    }

    /// The models that were asked, as `PROVIDER/NAME`.
    pub fn models(&self) -> BTreeSet<&str> {
        self.lines.iter().filter_map(|line| line.model.as_deref()).collect()
    }

    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.lines.iter().map(|line| line.tokens.input.saturating_add(line.tokens.output)).sum()
    }
}

impl Line {
    fn new(contract: &Path, agent: &AgentName, model: Option<&str>, checker: &Checker) -> Line {
        let msat = |amount: i128| Msat::capped(u128::try_from(amount).unwrap_or_default());
        let line = checker.line(contract);
        let (granted, own) = line.as_ref().map_or((0, 0), |line| (line.granted, line.own));
        Line {
            contract: contract.clone(),
            agent: agent.clone(),
            model: model.map(str::to_owned),
            granted: msat(granted),
            own: msat(own),
            lost: Msat::ZERO,
            calls: 0,
            tokens: Tokens::default(),
            outcome: line.and_then(|line| line.outcome),
            lack: None,
        }
    }

    fn answered(&mut self, answer: &Answer, cost: Cost, hold: Hold) {
        if let Answer::Said(said) = answer {
            self.calls += 1;
            let Tokens { input, cached, output } = said.used.unwrap_or_default();
            self.tokens.input += input;
            self.tokens.cached += cached;
            self.tokens.output += output;
        }
        let charged = match cost {
            Cost::Known(cost) => cost.min(hold.money),
            Cost::Unknown => hold.money,
        };
        if matches!(answer, Answer::Lost | Answer::Failed(_) | Answer::Aborted) {
            self.lost = sum(self.lost, charged);
        }
    }
}

/// How a session stands.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its id, its project and its label.
    pub row: SessionRow,
    /// Who runs it now.
    pub holder: Option<Holder>,
    /// Its newest root, if work was asked for.
    pub root: Option<Root>,
    /// How that root ended, if it has.
    pub report: Option<Report>,
    /// The limit of tokens that ended that root, if one did.
    pub out_of_tokens: Option<u64>,
    /// The root's last words.
    pub text: Option<String>,
    /// Why its model failed or said nothing, if it did.
    pub failure: Option<String>,
    /// What the root's contracts cost.
    pub bill: Bill,
    /// What the session has spent in all.
    pub spent: Msat,
    /// What is left of what was put in, and not granted to work under way.
    pub free: Msat,
    /// The part of that which came for the root after it had closed.
    pub late: Msat,
    /// Every law that the stored facts break.
    pub violations: Vec<String>,
    /// The head of the chain.
    pub head: Head,
}

impl View {
    pub(crate) async fn read(journal: &Journal, row: SessionRow) -> Result<View, HallError> {
        let id = row.id.clone();
        let account = journal.account(&id).await?;
        let late = late_money(&account);
        let account = Session::restore(account).map_err(|why| HallError::Damaged(why.to_string()))?;
        let root = match newest_root(journal, &id).await {
            Ok(root) => Some(root),
            Err(HallError::NothingToResume(_)) => None,
            Err(why) => return Err(why),
        };
        let facts = journal.facts(&id, 1).await?;
        let (checker, violations) = checked(&facts);
        let path = root.as_ref().map_or_else(|| Path::root(1), |root| root.path.clone());
        let closed =
            |stored: &Stored| if let Fact::Closed(report) = &stored.fact { Some(Report::clone(report)) } else { None };
        let report = facts.iter().rev().filter(|stored| stored.contract == path).find_map(closed);
        let text = match (&report, &root) {
            (Some(report), Some(root)) => Some(answer(journal, &root.setup, report).await?),
            (Some(_) | None, _) => None,
        };
        let out_of_tokens = root.as_ref().and_then(|root| out_of_tokens(&root.setup, &facts));
        let bill = Bill::of(&facts, &path, root.as_ref().map(|root| &root.setup.staffing), &checker);
        // What ended before is in the account; what is under way is on its bill.
        let spent = if report.is_some() { account.spent() } else { sum(account.spent(), bill.own()) };
        Ok(View {
            holder: journal.running(&id).await?,
            bill,
            failure: failure(journal, &facts, &path).await?,
            head: journal.head(&id).await?,
            free: account.free(),
            late,
            row,
            root,
            report,
            out_of_tokens,
            text,
            spent,
            violations,
        })
    }

    /// Whether its newest work has ended.
    pub fn ended(&self) -> bool {
        self.report.is_some()
    }
}

/// A session that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", row.id)]
pub struct Unreadable {
    /// Its id, its project and its label.
    pub row: SessionRow,
    /// Why it can't.
    #[source]
    pub why: HallError,
}

fn sum(one: Msat, other: Msat) -> Msat {
    Msat::capped(u128::from(one.get()) + u128::from(other.get()))
}

/// Checks the facts against the laws.
fn checked(facts: &[Stored]) -> (Checker, Vec<String>) {
    let mut checker = Checker::new();
    let found: Vec<_> = facts.iter().flat_map(|stored| checker.observe(stored)).collect();
    let all = found.iter().chain(&checker.at_rest()).map(ToString::to_string).collect();
    (checker, all)
}

/// The limit of tokens that ended a root, if one did.
fn out_of_tokens(setup: &Setup, facts: &[Stored]) -> Option<u64> {
    let mut limit = setup.token_limit()?;
    for stored in facts {
        limit.note(stored);
    }
    limit.ended()
}

/// What was found. A report that was assembled around nothing but the task has found nothing.
async fn answer(journal: &Journal, setup: &Setup, report: &Report) -> Result<String, HallError> {
    if report.text == Wording::Assembled(setup.brief.task) {
        return Ok(String::new());
    }
    stored_text(journal, report.text.text()).await
}

/// What the newest of a contract's failed checks found.
async fn finding(journal: &Journal, facts: &[Stored], contract: &Path) -> Result<Option<String>, HallError> {
    let failed = |stored: &Stored| {
        if let Fact::Answered { answer: Answer::FailedCheck(finding), .. } = stored.fact { Some(finding) } else { None }
    };
    match facts.iter().rev().filter(|stored| stored.contract == *contract).find_map(failed) {
        Some(finding) => stored_text(journal, finding).await.map(Some),
        None => Ok(None),
    }
}

/// How many hires that a contract called for have reported that they are done.
fn done_by_call(facts: &[Stored], contract: &Path) -> usize {
    let mut called = BTreeSet::new();
    let mut done = 0;
    for stored in facts.iter().filter(|stored| stored.contract == *contract) {
        if let Fact::Asked { id, ask: Ask::Hire { .. }, origin: Origin::Call(_), .. } = &stored.fact {
            called.insert(*id);
        }
        if let Fact::Answered { id, answer: Answer::Report(report), .. } = &stored.fact {
            done += usize::from(called.contains(id) && report.outcome == Outcome::Done);
        }
    }
    done
}

impl Ended {
    pub(crate) async fn read(
        journal: &Journal,
        session: &SessionId,
        root: &Path,
        setup: Setup,
        report: Report,
    ) -> Result<Ended, HallError> {
        let facts = journal.facts(session, 1).await?;
        let (checker, violations) = checked(&facts);
        let granted = sum(report.spent, report.change);
        let structured = match report.output {
            Some(output) => Some(stored_text(journal, output).await?),
            None => None,
        };
        let list = Tasks::read(&stored_text(journal, setup.brief.task).await?).filter(|_| setup.staffing.is_list());
        let undone = list.map_or(0, |list| list.specs().len().saturating_sub(done_by_call(&facts, root)));
        Ok(Ended {
            undone,
            out_of_tokens: out_of_tokens(&setup, &facts),
            structured,
            finding: finding(journal, &facts, root).await?,
            session: session.clone(),
            text: answer(journal, &setup, &report).await?,
            bill: Bill::of(&facts, root, Some(&setup.staffing), &checker),
            setup,
            failure: failure(journal, &facts, root).await?,
            granted,
            late: late_money(&journal.account(session).await?),
            report,
            violations,
            head: journal.head(session).await?,
        })
    }
}
