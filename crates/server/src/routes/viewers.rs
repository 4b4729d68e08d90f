//! Tokens that allow to read a session.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use guildhall::local::unix_now;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::{LimitedOwner, Owner};
use crate::input::Input;
use crate::problem::{Problem, ReadProblems, WriteProblems};
use crate::token::Token;

/// A viewer to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewViewer {}

/// A viewer that was added.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ViewerAdded {
    /// Its number, to revoke its token.
    viewer: u64,
    /// Its token. It is shown only here.
    token: String,
    /// The part of a link that carries the token. Browsers do not send what is behind `#` to a server.
    #[schema(example = "/#session=brave-otter-17&token=gh_…")]
    link: String,
}

/// The viewers whose tokens are valid.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ViewerList {
    viewers: Vec<Viewer>,
}

/// Somebody who may read the session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Viewer {
    /// Its number, to revoke its token.
    viewer: u64,
    /// When the token was made, in milliseconds since 1970.
    made_at: u64,
}

/// Lists the viewers of the session whose tokens are valid. The tokens themselves are not stored.
#[utoipa::path(get, path = "/api/sessions/{id}/viewers", operation_id = "viewers", tag = "viewers", security(("token" = [])),
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, body = ViewerList, description = "The viewers"), ReadProblems))]
pub(crate) async fn list(State(app): State<App>, Owner { session, .. }: Owner) -> Result<Json<ViewerList>, Problem> {
    let viewers = app.journal().viewers(&session).await?;
    let viewers = viewers.into_iter().map(|(viewer, made)| Viewer { viewer, made_at: made.0 }).collect();
    Ok(Json(ViewerList { viewers }))
}

/// Makes a token that allows to read the session, and nothing else.
#[utoipa::path(post, path = "/api/sessions/{id}/viewers", tag = "viewers", security(("token" = [])),
    params(("id" = String, Path, description = "The session")),
    request_body = NewViewer, responses((status = 201, body = ViewerAdded, description = "The token, which is shown only here"), WriteProblems))]
pub(crate) async fn add(
    State(app): State<App>,
    LimitedOwner { session, .. }: LimitedOwner,
    Input(NewViewer {}): Input<NewViewer>,
) -> Result<(StatusCode, Json<ViewerAdded>), Problem> {
    let token = Token::random().map_err(Problem::internal)?;
    let viewer = app.journal().add_viewer(&session, token.hash(), unix_now()).await?;
    let link = format!("/#session={session}&token={}", token.reveal());
    Ok((StatusCode::CREATED, Json(ViewerAdded { viewer, token: token.reveal().to_owned(), link })))
}

/// Revokes a viewer's token, and ends its streams.
#[utoipa::path(delete, path = "/api/sessions/{id}/viewers/{viewer}", tag = "viewers", security(("token" = [])),
    params(("id" = String, Path, description = "The session"), ("viewer" = u64, Path, description = "The viewer's number")),
    responses((status = 204, description = "The token is not valid any more"), ReadProblems))]
pub(crate) async fn revoke(
    State(app): State<App>,
    Owner { session, .. }: Owner,
    Path((_, viewer)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let unknown = || Problem::not_found("The session has no such viewer.");
    let viewer: u64 = viewer.parse().map_err(|_| unknown())?;
    if !app.journal().revoke_viewer(&session, viewer, unix_now()).await? {
        return Err(unknown());
    }
    app.revoke(session, viewer);
    Ok(StatusCode::NO_CONTENT)
}
