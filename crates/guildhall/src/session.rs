//! A session, for those who look at it: how it stands, what was said, what it cost.

use std::collections::BTreeSet;

use guildhall_agent::TextError;
use guildhall_kernel::{
    Answer, Ask, AskKey, Fact, Msat, Origin, Outcome, Path, Report, Session, SessionFact, Stored, TextKind, TextRef,
    Wording,
};
use guildhall_laws::Checker;
use guildhall_local::{Contents, Head, Holder, Journal, SessionId, SessionRow};

use crate::bill::{Bill, Charges, Credits, sum};
use crate::failure::failure;
use crate::faults::Faults;
use crate::hall::HallError;
use crate::setup::{Request, Root, Setup};
use crate::stored::{UnreadableText, stored_text};
use crate::tasks::Tasks;
use crate::topup::late_money;

/// What work came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The session.
    pub session: SessionId,
    /// What it was set up with.
    pub setup: Setup,
    /// The answer, or what was found instead of one; empty if nothing was found. Why nothing was is the failure, never this.
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
    /// What corrections have returned to the session.
    pub credited: Msat,
    /// The limit of tokens that ended it, if one did.
    pub out_of_tokens: Option<u64>,
    /// How many tasks of a list were not done; none of what is no list.
    pub undone: usize,
    /// Every law that the stored facts break: none, or this program has a bug.
    pub violations: Vec<String>,
    /// The head of the journal's chain: whoever has it finds out if the journal is cut later.
    pub head: Head,
    /// What of this can't be read, and is empty or missing here.
    pub unreadable: Vec<UnreadableText>,
    /// The structured output, as JSON, if one was asked for and could be read.
    pub(crate) structured: Option<String>,
    /// What the last check that failed found.
    pub(crate) finding: Option<String>,
}

/// How a session stands.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its id, its project and its label.
    pub row: SessionRow,
    /// Who runs it now.
    pub holder: Option<Holder>,
    /// The newest request for work, if there was any.
    pub request: Option<Request>,
    /// The root of that request, if what it was set up with can be read.
    pub root: Option<Root>,
    /// How that root ended, if it has.
    pub report: Option<Report>,
    /// The limit of tokens that ended that root, if one did.
    pub out_of_tokens: Option<u64>,
    /// The root's answer, or what it found instead of one, if that can be read.
    pub text: Option<String>,
    /// Why its model failed or said nothing, if it did and that can be read. [`Hall::unreadable_texts`] has what can't.
    ///
    /// [`Hall::unreadable_texts`]: crate::Hall::unreadable_texts
    pub failure: Option<String>,
    /// What the root's contracts cost.
    pub bill: Bill,
    /// What the session has cost in all, less what corrections have returned.
    pub charges: Charges,
    /// All calls of the session that may or may not have been billed, with what is set aside for each.
    pub reserved: Vec<(AskKey, Msat)>,
    /// By how much calls of the session have exceeded their holds.
    pub overrun: Msat,
    /// What corrections have returned.
    pub credited: Msat,
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
    /// Reads a session. One of which anything is not what was stored is an error.
    pub(crate) async fn read(journal: &Journal, id: &SessionId) -> Result<View, HallError> {
        let Contents { row, facts, account, head } = journal.contents(id).await?;
        let request = Request::newest(&account);
        let root = match &request {
            // Without what it was set up with, a root can still be shown and billed.
            Some(request) => match request.read(journal).await {
                Ok(root) => root.ok(),
                Err(HallError::NoSetup { .. }) => None,
                Err(why) => return Err(why),
            },
            None => None,
        };
        let (late, credits) = (late_money(&account), credits(&account));
        let (checker, violations) = checked(&facts, &account);
        let account = Session::restore(account).map_err(|why| HallError::Damaged(why.to_string()))?;
        let path = request.as_ref().map_or_else(|| Path::root(1), |request| request.root.clone());
        let closed =
            |stored: &Stored| if let Fact::Closed(report) = &stored.fact { Some(Report::clone(report)) } else { None };
        let report = facts.iter().rev().filter(|stored| stored.contract == path).find_map(closed);
        let text = match &report {
            Some(report) => answer(journal, report).await.ok().flatten(),
            None => None,
        };
        let out_of_tokens = root.as_ref().and_then(|root| out_of_tokens(&root.setup, &facts));
        let bill = Bill::of(&facts, Some(&path), root.as_ref().map(|root| &root.setup.staffing), &checker, &credits);
        let all = Bill::of(&facts, None, None, &checker, &credits);
        Ok(View {
            holder: journal.running(id).await?,
            failure: failure(journal, &facts, &path, &Faults::default()).await.ok().flatten(),
            head,
            free: account.free(),
            late,
            row,
            request,
            root,
            report,
            out_of_tokens,
            text,
            charges: all.charges(),
            reserved: all.reserved(),
            // Nobody bills what the newest root was set up with: then nothing can be billed too high.
            overrun: if bill.is_nominal() { Msat::ZERO } else { all.overrun() },
            bill,
            credited: account.credited(),
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

/// What a person has said of calls whose bill became known later.
fn credits(account: &[SessionFact]) -> Credits {
    let corrected = account.iter().filter_map(|fact| match fact {
        SessionFact::Corrected { ask, credit } => Some((ask.clone(), *credit)),
        SessionFact::Funded { .. } | SessionFact::Requested { .. } | SessionFact::Ended { .. } => None,
    });
    corrected.collect()
}

/// Checks facts and an account that were read at the same moment against the laws.
fn checked(facts: &[Stored], account: &[SessionFact]) -> (Checker, Vec<String>) {
    let mut checker = Checker::new();
    let mut found: Vec<_> = facts.iter().flat_map(|stored| checker.observe(stored)).collect();
    found.extend(checker.at_rest());
    let (_, of_account) = checker.check_account(account);
    let all = found.iter().map(ToString::to_string).chain(of_account.iter().map(ToString::to_string)).collect();
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

/// What was found. A report that was assembled around a task or around an error has found nothing.
async fn answer(journal: &Journal, report: &Report) -> Result<Option<String>, TextError> {
    match report.text {
        Wording::Assembled(TextRef { kind: TextKind::Task | TextKind::Error, .. }) => Ok(None),
        Wording::Assembled(text) | Wording::Final(text) => stored_text(journal, text).await.map(Some),
    }
}

/// What the newest of a contract's failed checks found.
async fn finding(journal: &Journal, facts: &[Stored], contract: &Path) -> Result<Option<String>, TextError> {
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

/// Takes note of the texts of a root that can't be read.
struct Unread<'a> {
    root: &'a Path,
    texts: Vec<UnreadableText>,
}

impl Unread<'_> {
    fn note<T>(&mut self, read: Result<T, TextError>) -> Option<T> {
        let note = |why| UnreadableText { contract: self.root.clone(), why };
        read.map_err(|why| self.texts.push(note(why))).ok()
    }
}

impl Ended {
    pub(crate) async fn read(
        journal: &Journal,
        session: &SessionId,
        root: &Path,
        setup: Setup,
        report: Report,
        faults: &Faults,
    ) -> Result<Ended, HallError> {
        let Contents { facts, account, head, .. } = journal.contents(session).await?;
        let (checker, violations) = checked(&facts, &account);
        let credits = credits(&account);
        let granted = sum(report.spent, report.change);
        let mut unreadable = Unread { root, texts: Vec::new() };
        let structured = match report.output {
            Some(output) => unreadable.note(stored_text(journal, output).await),
            None => None,
        };
        let task = unreadable.note(stored_text(journal, setup.brief.task).await);
        let list = task.and_then(|task| Tasks::read(&task)).filter(|_| setup.staffing.is_list());
        let undone = list.map_or(0, |list| list.specs().len().saturating_sub(done_by_call(&facts, root)));
        Ok(Ended {
            undone,
            out_of_tokens: out_of_tokens(&setup, &facts),
            structured,
            finding: unreadable.note(finding(journal, &facts, root).await).flatten(),
            session: session.clone(),
            text: unreadable.note(answer(journal, &report).await).flatten().unwrap_or_default(),
            bill: Bill::of(&facts, Some(root), Some(&setup.staffing), &checker, &credits),
            credited: credits.values().copied().fold(Msat::ZERO, sum),
            setup,
            failure: unreadable.note(failure(journal, &facts, root, faults).await).flatten(),
            unreadable: unreadable.texts,
            granted,
            late: late_money(&account),
            report,
            violations,
            head,
        })
    }
}
