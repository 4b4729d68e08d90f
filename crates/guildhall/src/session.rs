//! A session as it is shown: its state, its answer and its cost.

use std::collections::BTreeSet;

use guildhall_agent::TextError;
use guildhall_kernel::{
    Answer, Ask, AskKey, Fact, Msat, Origin, Outcome, Path, Report, Session, SessionFact, SessionKind, Stored,
    TextKind, TextRef, Wording,
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
use crate::undertaking::label;

/// The result of a request that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The session.
    pub session: SessionId,
    /// The settings of the work.
    pub setup: Setup,
    /// The answer, or the findings so far if there is no answer. It is empty if nothing was found. An error is never in this
    /// field, but in `failure`.
    pub text: String,
    /// The report.
    pub report: Report,
    /// Why the model failed or gave no reply, if it did.
    pub failure: Option<String>,
    /// The money that the root was granted.
    pub granted: Msat,
    /// The money that arrived after the root had closed. It stays in the session.
    pub late: Msat,
    /// The cost of each contract.
    pub bill: Bill,
    /// The money that corrections have returned to the session.
    pub credited: Msat,
    /// The token limit, if it ended the work.
    pub out_of_tokens: Option<u64>,
    /// How many tasks of a list were not done. Zero if the work was not a list of tasks.
    pub undone: usize,
    /// Every law that the stored facts break. If there is any, this program has a bug.
    pub violations: Vec<String>,
    /// The head of the journal's hash chain. A later `verify` with this head detects facts that were cut off.
    pub head: Head,
    /// The texts that can't be read. Their fields are empty here.
    pub unreadable: Vec<UnreadableText>,
    /// Why the transcripts of [`HallBuilder::transcripts`](crate::HallBuilder::transcripts) are not complete, if they are not.
    /// [`Hall::write_transcripts`](crate::Hall::write_transcripts) can write them later.
    pub transcript_failure: Option<String>,
    /// The structured output, as JSON, if the caller asked for it and it could be read.
    pub(crate) structured: Option<String>,
    /// The finding of the last failed check.
    pub(crate) finding: Option<String>,
}

/// The state of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its id, its project and its label.
    pub row: SessionRow,
    /// The process that runs the session now.
    pub holder: Option<Holder>,
    /// The newest request for work, if there is any.
    pub request: Option<Request>,
    /// The root of that request, if its settings can be read.
    pub root: Option<Root>,
    /// The report of that root, if it has ended.
    pub report: Option<Report>,
    /// The token limit, if it ended that root.
    pub out_of_tokens: Option<u64>,
    /// The root's answer, or its findings so far, if they can be read.
    pub text: Option<String>,
    /// Why the model failed or gave no reply, if that is known. [`Hall::unreadable_texts`] lists the texts that can't be read.
    ///
    /// [`Hall::unreadable_texts`]: crate::Hall::unreadable_texts
    pub failure: Option<String>,
    /// The cost of each of the root's contracts.
    pub bill: Bill,
    /// The cost of each contract of all roots, without their models.
    pub all: Bill,
    /// The cost of the whole session, minus the money that corrections have returned.
    pub charges: Charges,
    /// All calls of the session that may or may not have been billed, with the amount reserved for each.
    pub reserved: Vec<(AskKey, Msat)>,
    /// The sum by which calls of the session exceeded their holds.
    pub overrun: Msat,
    /// The money that corrections gave back: the money reserved for the corrected calls minus the cost of those calls.
    pub credited: Msat,
    /// The kind of money that the session has.
    pub kind: SessionKind,
    /// The money of the session that is neither used nor granted to running work.
    pub free: Msat,
    /// The part of the free money that arrived after the root had closed.
    pub late: Msat,
    /// Every law that the stored facts break.
    pub violations: Vec<String>,
    /// The head of the chain.
    pub head: Head,
}

impl View {
    /// Reads a session. A session that was changed after it was stored is an error.
    pub(crate) async fn read(journal: &Journal, id: &SessionId) -> Result<View, HallError> {
        let Contents { mut row, facts, account, head } = journal.contents(id).await?;
        if let Some(label) = funded_label(journal, &row, &account).await {
            row.label = label;
        }
        let request = Request::newest(&account);
        let root = match &request {
            // A root can be shown and billed without its settings.
            Some(request) => match request.read(journal, id).await {
                Ok(root) => root.ok(),
                Err(HallError::NoSetup { .. }) => None,
                Err(HallError::OtherForm { .. }) if has_ended(&account, &request.root) => None,
                Err(why) => return Err(why),
            },
            None => None,
        };
        let (late, credits) = (late_money(journal, id, &account).await?, credits(&account));
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
            kind: account.kind().clone(),
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
            // If nobody bills the models of the newest root, there is no overrun.
            overrun: if bill.is_nominal() { Msat::ZERO } else { all.overrun() },
            bill,
            all,
            credited: account.credited(),
            violations,
        })
    }

    /// Whether the newest work has ended.
    pub fn ended(&self) -> bool {
        self.report.is_some()
    }
}

/// Whether a root has been settled, according to the account.
fn has_ended(account: &[SessionFact], of: &Path) -> bool {
    account.iter().any(|fact| matches!(fact, SessionFact::Ended { root, .. } if root == of))
}

/// The label of a session that was funded before its first request: the task of that request. Its row was stored before anybody
/// knew the task, so a session with play money has an empty label there.
async fn funded_label(journal: &Journal, row: &SessionRow, account: &[SessionFact]) -> Option<String> {
    if !row.label.is_empty() && !matches!(account.first(), Some(SessionFact::Opened { .. })) {
        return None;
    }
    let root = Request::first(account)?.read(journal, &row.id).await.ok()?.ok()?;
    let task = stored_text(journal, root.setup.brief.task).await.ok()?;
    Some(Tasks::read(&task).map_or_else(|| label(&task), |tasks| label(&tasks.label())))
}

/// A session that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", row.id)]
pub struct Unreadable {
    /// Its id, its project and its label.
    pub row: SessionRow,
    /// Why the session can't be read.
    #[source]
    pub why: HallError,
}

/// The corrections of reserved calls, by call.
fn credits(account: &[SessionFact]) -> Credits {
    let corrected = account.iter().filter_map(|fact| match fact {
        SessionFact::Corrected { ask, credit } => Some((ask.clone(), *credit)),
        SessionFact::Opened { .. }
        | SessionFact::Funded { .. }
        | SessionFact::Granted { .. }
        | SessionFact::Withdrawing { .. }
        | SessionFact::Withdrawn { .. }
        | SessionFact::Returned { .. }
        | SessionFact::Requested { .. }
        | SessionFact::Ended { .. } => None,
    });
    corrected.collect()
}

/// Checks facts and an account against the laws. Both were read at the same moment.
fn checked(facts: &[Stored], account: &[SessionFact]) -> (Checker, Vec<String>) {
    let mut checker = Checker::new();
    let mut found: Vec<_> = facts.iter().flat_map(|stored| checker.observe(stored)).collect();
    found.extend(checker.at_rest());
    let (_, of_account) = checker.check_account(account);
    let all = found.iter().map(ToString::to_string).chain(of_account.iter().map(ToString::to_string)).collect();
    (checker, all)
}

/// The token limit, if it ended a root.
fn out_of_tokens(setup: &Setup, facts: &[Stored]) -> Option<u64> {
    let mut limit = setup.token_limit()?;
    for stored in facts {
        limit.note(stored);
    }
    limit.ended()
}

/// The findings of a report. A report that the runtime assembled from the task or from an error has none.
async fn answer(journal: &Journal, report: &Report) -> Result<Option<String>, TextError> {
    match report.text {
        Wording::Assembled(TextRef { kind: TextKind::Task | TextKind::Error, .. }) => Ok(None),
        Wording::Assembled(text) | Wording::Final(text) => stored_text(journal, text).await.map(Some),
    }
}

/// The finding of a contract's newest failed check.
async fn finding(journal: &Journal, facts: &[Stored], contract: &Path) -> Result<Option<String>, TextError> {
    let failed = |stored: &Stored| {
        if let Fact::Answered { answer: Answer::FailedCheck(finding), .. } = stored.fact { Some(finding) } else { None }
    };
    match facts.iter().rev().filter(|stored| stored.contract == *contract).find_map(failed) {
        Some(finding) => stored_text(journal, finding).await.map(Some),
        None => Ok(None),
    }
}

/// How many hires that a contract's model made have reported as done.
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

/// Collects the texts of a root that can't be read.
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
            transcript_failure: None,
            granted,
            late: late_money(journal, session, &account).await?,
            report,
            violations,
            head,
        })
    }
}
