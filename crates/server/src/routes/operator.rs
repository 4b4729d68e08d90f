//! What only the operator sees, and what machines ask.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use guildhall::WorkState;
use guildhall::kernel::{Msat, Session, SessionKind};
use guildhall::local::JournalError;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::caller::Operator;
use crate::offer::MoneyKind;
use crate::problem::{Problem, ReadProblems};

/// The most sessions in one answer.
const SESSIONS_MAX: usize = 100;

/// A part of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Part {
    /// How many sessions to skip.
    #[serde(default)]
    #[param(minimum = 0, maximum = 4_294_967_295_u64, value_type = Option<u64>)]
    skip: Option<u32>,
}

/// The sessions that this server made, the newest first, at most 100.
#[utoipa::path(get, path = "/api/sessions", tag = "operator", security(("token" = [])), params(Part),
    responses((status = 200, body = Vec<SessionLine>, description = "The sessions"), ReadProblems))]
pub(crate) async fn sessions(
    State(app): State<App>,
    _: Operator,
    query: Result<Query<Part>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Vec<SessionLine>>, Problem> {
    let Query(Part { skip }) = query.map_err(|_| Problem::bad_request("The only parameter is `skip`, a number."))?;
    let skip = usize::try_from(skip.unwrap_or(0)).unwrap_or(usize::MAX);
    let mut lines = Vec::new();
    for (id, team) in app.journal().served_sessions().await?.into_iter().skip(skip).take(SESSIONS_MAX) {
        let is_loaded = !matches!(app.keeper().state(&id), WorkState::NotLoaded);
        let account = match app.journal().folded_account(&id).await {
            Ok(account) => Some(AccountLine::of(&account)),
            // The other sessions can be listed all the same.
            Err(JournalError::Damaged { .. } | JournalError::Corrupt { .. }) => None,
            Err(why) => return Err(why.into()),
        };
        lines.push(SessionLine { session: id.to_string(), team, is_loaded, account });
    }
    Ok(Json(lines))
}

/// A session in the list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionLine {
    /// The session.
    session: String,
    /// Its team.
    team: String,
    /// Whether the session is in memory.
    is_loaded: bool,
    /// Its account. Absent if the stored account was damaged: `guildhall verify` on the server says how.
    account: Option<AccountLine>,
}

/// The account of a session in the list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AccountLine {
    /// Play or real money.
    money: MoneyKind,
    /// How many requests the session has had.
    requests: u32,
    /// Whether a request has money and has not ended.
    is_at_work: bool,
    /// The money that no request has.
    free_msat: u64,
    /// The money that requests have cost.
    spent_msat: u64,
}

impl AccountLine {
    fn of(account: &Session) -> AccountLine {
        AccountLine {
            money: match account.kind() {
                SessionKind::Play => MoneyKind::Play,
                SessionKind::Wallet(_) => MoneyKind::Real,
            },
            requests: account.next_root().ordinal() - 1,
            is_at_work: account.at_work() > Msat::ZERO,
            free_msat: account.free().get(),
            spent_msat: account.spent().get(),
        }
    }
}

/// Whether the server works.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`, or `journal stopped`.
    #[schema(example = "ok")]
    status: &'static str,
}

/// Whether the server works. It does not once its journal can't be written.
#[utoipa::path(get, path = "/healthz", tag = "public", security(()),
    responses((status = 200, body = Health, description = "The server works"),
              (status = 403, body = Problem, content_type = "application/problem+json", description = "Forbidden"),
              (status = 429, body = Problem, content_type = "application/problem+json", description = "Too Many Requests"),
              (status = 503, body = Health, description = "The journal can't be written")))]
pub(crate) async fn health(State(app): State<App>) -> Response {
    match app.journal().stopped() {
        None => Json(Health { status: "ok" }).into_response(),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "journal stopped" })).into_response(),
    }
}

/// The metrics, in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operator", security(("token" = [])),
    responses((status = 200, content_type = "text/plain", body = String, description = "The metrics"), ReadProblems))]
pub(crate) async fn metrics(State(app): State<App>, _: Operator) -> Response {
    let mut response = app.metrics().text(app.gauges()).into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
