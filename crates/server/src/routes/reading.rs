//! What viewers, owners and the operator may read of a session.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use guildhall::kernel::{self, Hash, Msat, Outcome, TextRef, payable};
use guildhall::{
    AccountKind, ContractState, HallError, PostedAt, RootState, SessionId, Transcript, Tree, TreeContract, TreeRoot,
    Waits, WorkState,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::spawn_blocking;
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::body::made_by;
use crate::caller::{Caller, Reader};
use crate::events::excerpt;
use crate::money::{InvoiceState, InvoiceView};
use crate::offer::{CastMember, MoneyKind, cast};
use crate::problem::{Problem, ReadProblems};
use crate::routes::events::parse_cursor;
use crate::routes::tree_schema::TreeView;

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionState {
    /// No money has come yet.
    Unpaid,
    /// It works on no request, and can be asked.
    Ready,
    /// Agents work.
    Works,
    /// The work waits for a message of its owner.
    AwaitsPerson,
    /// The work has stopped because of an error, and everything so far is kept.
    Stopped,
}

/// What the token of the caller allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallerRole {
    /// Everything.
    Operator,
    /// Everything in this session.
    Owner,
    /// To read this session.
    Viewer,
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionView {
    /// The session.
    session: String,
    /// Who asks.
    role: CallerRole,
    /// Its team. Absent if the session was not made by this server.
    team: Option<String>,
    /// Play or real money.
    money: MoneyKind,
    /// Its state.
    state: SessionState,
    /// The money that no request has.
    free_msat: u64,
    /// The part of the free money that can be paid back. Real money keeps a limit for the routing fee.
    payable_msat: u64,
    /// The money of the request that is at work.
    at_work_msat: u64,
    /// The money that requests have cost.
    spent_msat: u64,
    /// The money that was paid back.
    withdrawn_msat: u64,
    /// The invoices that can be paid.
    invoices: Vec<InvoiceView>,
    /// The requests, in order.
    requests: Vec<RequestView>,
    /// The id of the newest event.
    #[schema(example = "12.3")]
    newest_event: String,
    /// The agents.
    agents: Vec<CastMember>,
}

/// A request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RequestView {
    /// Its root contract.
    #[schema(example = "1")]
    root: String,
    /// The task.
    task: Option<TextView>,
    /// `works`, `waits`, `done`, `ran_dry`, `failed`, `cancelled`, or `starts` before its first fact.
    #[schema(example = "done")]
    state: String,
    /// Why it stopped early, if its state is `ran_dry`: `purse`, `turns`, `deadline`, or `asked` if it was told to wrap up.
    limit: Option<String>,
    /// The most that it may cost.
    granted_msat: u64,
    /// What it has cost so far, everything below it included.
    spent_msat: u64,
    /// Its answer, or its findings so far.
    answer: Option<TextView>,
}

/// A text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TextView {
    /// The hash, to read the whole text.
    hash: String,
    /// Its length.
    bytes: u32,
    /// Its first 280 characters.
    excerpt: Option<String>,
}

impl TextView {
    async fn of(app: &App, text: TextRef) -> Result<TextView, Problem> {
        let excerpt = excerpt(app.journal(), text.hash).await?;
        Ok(TextView { hash: text.hash.to_string(), bytes: text.bytes, excerpt })
    }
}

/// The state of a session: its money, its invoices and its requests.
#[utoipa::path(get, path = "/api/sessions/{id}", tag = "session", security(("token" = [])),
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, body = SessionView, description = "The session"), ReadProblems))]
pub(crate) async fn session(
    State(app): State<App>,
    Reader { session, caller }: Reader,
) -> Result<Json<SessionView>, Problem> {
    let (app, session) = (&app, &session);
    let tree = app.tree(session).await?;
    let account = &tree.account;
    let mut requests = Vec::new();
    for root in &account.roots {
        requests.push(request(app, &tree, root).await?);
    }
    let view = SessionView {
        session: session.to_string(),
        role: match caller {
            Caller::Operator => CallerRole::Operator,
            Caller::Owner(_) => CallerRole::Owner,
            Caller::Viewer(..) => CallerRole::Viewer,
        },
        team: app.journal().team_of(session).await?,
        money: match account.kind {
            AccountKind::Play => MoneyKind::Play,
            AccountKind::Wallet => MoneyKind::Real,
        },
        state: state(app, session, &tree).await?,
        free_msat: account.free.get(),
        payable_msat: match account.kind {
            AccountKind::Play => account.free,
            AccountKind::Wallet => payable(account.free),
        }
        .get(),
        at_work_msat: account.at_work.get(),
        spent_msat: account.spent.get(),
        withdrawn_msat: account.withdrawn.get(),
        invoices: open_invoices(app, session).await?,
        requests,
        newest_event: tree.at.to_string(),
        agents: cast_of(app, session).await?,
    };
    Ok(Json(view))
}

async fn state(app: &App, session: &SessionId, tree: &Tree) -> Result<SessionState, Problem> {
    let is_at_work = tree.newest_root().is_some_and(|root| root.state == RootState::AtWork);
    if !is_at_work {
        let is_unpaid = tree.account.funded == Msat::ZERO;
        return Ok(if is_unpaid { SessionState::Unpaid } else { SessionState::Ready });
    }
    Ok(match app.keeper().state(session) {
        WorkState::Works => SessionState::Works,
        WorkState::AwaitsPerson => SessionState::AwaitsPerson,
        // A session that only waits for a person is not kept in memory.
        WorkState::NotLoaded if awaits_person(tree) => SessionState::AwaitsPerson,
        // The server has just started, or somebody at a terminal runs the session.
        WorkState::NotLoaded if app.is_resuming() || app.journal().running(session).await?.is_some() => {
            SessionState::Works
        }
        WorkState::NotLoaded | WorkState::Failed(_) => SessionState::Stopped,
    })
}

/// Whether every contract that is at work waits, and one of them for a person.
fn awaits_person(tree: &Tree) -> bool {
    let mut open = tree.contracts.values().filter(|contract| contract.report.is_none());
    let is_for_person = |contract: &TreeContract| contract.waits_for().any(|waits| *waits == Waits::Person);
    open.clone().all(|contract| contract.state() == ContractState::Waits) && open.any(is_for_person)
}

async fn request(app: &App, tree: &Tree, root: &TreeRoot) -> Result<RequestView, Problem> {
    let contract = tree.contracts.get(&root.path);
    let task = match contract {
        Some(contract) => Some(TextView::of(app, contract.task).await?),
        None => None,
    };
    let report = contract.and_then(|contract| contract.report.as_ref());
    let answer = match report {
        Some(report) => Some(TextView::of(app, report.text).await?),
        None => None,
    };
    let state = contract.map(TreeContract::state);
    Ok(RequestView {
        root: root.path.to_string(),
        task,
        state: state.map_or_else(|| "starts".to_owned(), name_of),
        limit: report.and_then(|report| match report.outcome {
            Outcome::Exhausted(limit) => Some(name_of(limit)),
            Outcome::Done | Outcome::Failed | Outcome::Cancelled => None,
        }),
        granted_msat: root.granted.get(),
        spent_msat: contract.map_or(root.spent, |contract| contract.money.spent).get(),
        answer,
    })
}

/// The name of a variant in JSON.
fn name_of(variant: impl Serialize) -> String {
    let name = serde_json::to_value(variant).ok().and_then(|name| name.as_str().map(str::to_owned));
    name.expect("a variant without data is a string")
}

/// The invoices that can be paid.
async fn open_invoices(app: &App, session: &SessionId) -> Result<Vec<InvoiceView>, Problem> {
    let play = app.journal().play_invoices(session).await?;
    let mut invoices: Vec<InvoiceView> = play.iter().map(InvoiceView::of_play).collect();
    if play.is_empty() {
        for funding in app.hall().open_fundings(session).await? {
            invoices.push(InvoiceView::of_wallet(&funding, false));
        }
    }
    invoices.retain(|invoice| invoice.state == InvoiceState::Open);
    Ok(invoices)
}

/// The agents of a session: those of its newest request, or, before the first one, those of its team. The operator may have changed
/// the team since the request.
pub(crate) async fn cast_of(app: &App, session: &SessionId) -> Result<Vec<CastMember>, Problem> {
    match app.hall().staffing_of(session).await {
        Ok(staffing) => return Ok(cast(&staffing)),
        Err(HallError::NothingToResume(_) | HallError::NoWorkYet(_) | HallError::NoSetup { .. }) => {}
        Err(why) => return Err(why.into()),
    }
    let offer = app.journal().team_of(session).await?.and_then(|team| app.offer(&team));
    Ok(offer.map(|offer| cast(&offer.staffing)).unwrap_or_default())
}

/// A place in the events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct At {
    /// The id of an event, such as `5.2`. Without it, the newest.
    #[param(example = "5.2", pattern = r"^(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})$")]
    at: Option<String>,
}

/// The contracts of a session with their state and money, and its account, after an event.
#[utoipa::path(get, path = "/api/sessions/{id}/tree", tag = "session", security(("token" = [])),
    params(("id" = String, Path, description = "The session"), At),
    responses((status = 200, body = TreeView, description = "The contracts and the account"), ReadProblems))]
pub(crate) async fn tree(
    State(app): State<App>,
    Reader { session, .. }: Reader,
    query: Result<Query<At>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let Query(At { at }) =
        query.map_err(|_| Problem::bad_request("The only parameter is `at`, the id of an event."))?;
    let at = at.as_deref().map(parse_cursor).transpose()?;
    let tree = match at {
        None => app.tree(&session).await?,
        Some(at) => Arc::new(app.hall().tree(&session, Some(at)).await?),
    };
    // A large tree takes a while, which must not hold up others.
    let made = spawn_blocking(move || serde_json::to_vec(&*tree));
    let json = made.await.map_err(Problem::internal)?.map_err(Problem::internal)?;
    Ok(with_type(Body::from(json), "application/json"))
}

/// Money that moved.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PostingView {
    /// When, in milliseconds since 1970. Absent if only `after` is known.
    at: Option<u64>,
    /// The last moment before it that is known.
    after: Option<u64>,
    /// The account that has less.
    from: String,
    /// The account that has more.
    to: String,
    /// The amount.
    amount_msat: u64,
    /// What happened.
    what: String,
}

/// The balance of an account.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BalanceView {
    /// The account.
    account: String,
    /// The balance. All balances add up to zero.
    balance_msat: i64,
}

/// What a contract has cost.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BillLine {
    /// The contract.
    contract: String,
    /// Its agent.
    agent: String,
    /// What it was granted.
    granted_msat: u64,
    /// Its own cost that providers reported.
    used_msat: u64,
    /// Its own cost that is an upper bound.
    estimated_msat: u64,
    /// Its own cost that may not have been billed.
    reserved_msat: u64,
    /// The part of its own cost that is a fee.
    fee_msat: u64,
    /// The cost of the contract and everyone it hired.
    all_msat: u64,
    /// How many model calls were answered.
    calls: u64,
}

/// The ledger and the bill of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerView {
    /// Every movement of money.
    postings: Vec<PostingView>,
    /// What follows from them.
    balances: Vec<BalanceView>,
    /// The cost of each contract.
    bill: Vec<BillLine>,
    /// Every law that the stored facts break. It is always empty, unless the program has a bug.
    violations: Vec<String>,
}

/// The ledger of a session, and what each contract has cost.
#[utoipa::path(get, path = "/api/sessions/{id}/ledger", tag = "session", security(("token" = [])),
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, body = LedgerView, description = "The ledger and the bill"), ReadProblems))]
pub(crate) async fn ledger(
    State(app): State<App>,
    Reader { session, .. }: Reader,
) -> Result<Json<LedgerView>, Problem> {
    let ledger = app.hall().session_ledger(&session).await?;
    let stored = app.hall().session(&session).await?;
    let posting = |posting: &guildhall::Posting| {
        let (at, after) = match posting.at {
            PostedAt::At(at) => (Some(at.0), None),
            PostedAt::After(after) => (None, Some(after.0)),
        };
        let (from, to) = (posting.from.to_string(), posting.to.to_string());
        PostingView { at, after, from, to, amount_msat: posting.money.get(), what: posting.what.to_owned() }
    };
    let balance = |(account, balance): (&guildhall::Entry, &i128)| {
        Some(BalanceView { account: account.to_string(), balance_msat: i64::try_from(*balance).ok()? })
    };
    Ok(Json(LedgerView {
        postings: ledger.postings.iter().map(posting).collect(),
        balances: ledger.balances.iter().filter_map(balance).collect(),
        bill: stored.all.lines.iter().map(bill_line).collect(),
        violations: stored.violations,
    }))
}

fn bill_line(line: &guildhall::Line) -> BillLine {
    BillLine {
        contract: line.contract.to_string(),
        agent: line.agent.to_string(),
        granted_msat: line.granted.get(),
        used_msat: line.own.used.get(),
        estimated_msat: line.own.estimated.get(),
        reserved_msat: line.own.reserved.get(),
        fee_msat: line.fee.get(),
        all_msat: line.all.total().get(),
        calls: line.calls,
    }
}

/// What an agent was shown and what it replied, as JSON lines, without its system prompt.
#[utoipa::path(get, path = "/api/sessions/{id}/transcript/{contract}", tag = "session", security(("token" = [])),
    params(("id" = String, Path, description = "The session"),
           ("contract" = String, Path, description = "The contract", example = "1.2")),
    responses((status = 200, content_type = "application/jsonl", body = String, description = "One message per line"), ReadProblems))]
pub(crate) async fn transcript(
    State(app): State<App>,
    Reader { session, .. }: Reader,
    Path((_, contract)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let contract: kernel::Path = contract.parse().map_err(|_| Problem::not_found("There is no such contract."))?;
    let transcript = app.hall().transcript(&session, &contract).await?;
    Ok(with_type(made_by(move |parts| lines(transcript, parts)), "application/jsonl"))
}

async fn lines(mut transcript: Transcript, parts: crate::body::Parts) {
    while let Some(line) = transcript.next().await {
        let Some(line) = public_line(&line) else { continue };
        if parts.send(Bytes::from(line)).await.is_err() {
            break;
        }
    }
}

/// A line of a transcript without the directory of the project. `None` for the system prompt.
fn public_line(line: &str) -> Option<String> {
    let mut line: Value = serde_json::from_str(line).ok()?;
    if line["subtype"] == "opening" {
        return None;
    }
    line.as_object_mut()?.remove("cwd");
    Some(format!("{line}\n"))
}

/// A text that a fact of the session names. System prompts and settings can't be read.
#[utoipa::path(get, path = "/api/sessions/{id}/texts/{hash}", tag = "session", security(("token" = [])),
    params(("id" = String, Path, description = "The session"), ("hash" = String, Path, description = "The hash of the text")),
    responses((status = 200, content_type = "text/plain", body = String, description = "The text"), ReadProblems))]
pub(crate) async fn text(
    State(app): State<App>,
    Reader { session, .. }: Reader,
    Path((_, hash)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let unknown = || Problem::not_found("The session has no such text.");
    let hash = Hash::try_from(hash).map_err(|_| unknown())?;
    let named = app.journal().named_text(&session, hash).await?.ok_or_else(unknown)?;
    let bytes = app.journal().text(named.hash).await?.ok_or_else(unknown)?;
    Ok(with_type(Body::from(bytes), "text/plain; charset=utf-8"))
}

fn with_type(body: Body, kind: &'static str) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::public_line;

    #[test]
    fn a_public_line_has_no_directory_and_no_system_prompt() {
        assert_eq!(public_line(r#"{"type":"system","subtype":"opening","content":"secret"}"#), None);
        let line = public_line(r#"{"type":"user","cwd":"/home/ada","message":{"content":"hi"}}"#).unwrap();
        assert_eq!(line, "{\"type\":\"user\",\"message\":{\"content\":\"hi\"}}\n");
    }
}
