//! What only the operator sees, and what machines ask.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::caller::Operator;
use crate::problem::{Problem, ReadProblems};
use crate::routes::reading::{SessionView, view};

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
    responses((status = 200, body = Vec<SessionView>), ReadProblems))]
pub(crate) async fn sessions(
    State(app): State<App>,
    _: Operator,
    query: Result<Query<Part>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Vec<SessionView>>, Problem> {
    let Query(Part { skip }) = query.map_err(|_| Problem::bad_request("The only parameter is `skip`, a number."))?;
    let skip = usize::try_from(skip.unwrap_or(0)).unwrap_or(usize::MAX);
    let mut views = Vec::new();
    for (id, _) in app.journal().served_sessions().await?.into_iter().skip(skip).take(SESSIONS_MAX) {
        views.push(view(&app, &id).await?);
    }
    Ok(Json(views))
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
    responses((status = 200, body = Health), (status = 403, body = Problem, content_type = "application/problem+json"),
              (status = 429, body = Problem, content_type = "application/problem+json"), (status = 503, body = Health)))]
pub(crate) async fn health(State(app): State<App>) -> Response {
    match app.journal().stopped() {
        None => Json(Health { status: "ok" }).into_response(),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "journal stopped" })).into_response(),
    }
}

/// The metrics, in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operator", security(("token" = [])),
    responses((status = 200, content_type = "text/plain", body = String), ReadProblems))]
pub(crate) async fn metrics(State(app): State<App>, _: Operator) -> Response {
    let mut response = app.metrics().text(app.gauges()).into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
