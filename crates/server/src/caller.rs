//! Who calls, and what they may do: the operator everything, an owner everything in one session, a viewer to read one session. A token
//! comes in the header `Authorization` alone, never in an address.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use guildhall::SessionId;
use guildhall::local::{Access, Role};

use crate::app::App;
use crate::peer::Peer;
use crate::problem::{Problem, TOO_MANY_REQUESTS};
use crate::token::{Token, is_same};

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The operator of this server.
    Operator,
    /// The owner of a session.
    Owner(SessionId),
    /// Somebody who may read a session, with this token of it.
    Viewer(SessionId, u64),
}

impl Caller {
    /// Finds out who calls. An unknown or revoked token is the same as none.
    pub(crate) async fn of(parts: &Parts, app: &App) -> Result<Caller, Problem> {
        let Some(caller) = Caller::known(parts, app).await? else {
            take_public(parts, app)?;
            return Err(Problem::unauthorized());
        };
        Ok(caller)
    }

    /// Finds out who calls. `None` if nobody is known by the token, or there is none.
    pub(crate) async fn known(parts: &Parts, app: &App) -> Result<Option<Caller>, Problem> {
        let Some(hash) = token(parts).map(|token| token.hash()) else { return Ok(None) };
        if is_same(hash, app.operator()) {
            return Ok(Some(Caller::Operator));
        }
        let access = app.journal().access(hash).await?;
        Ok(access.and_then(|Access { session, number, role, revoked_at }| match (revoked_at, role) {
            (Some(_), Role::Owner | Role::Viewer) => None,
            (None, Role::Owner) => Some(Caller::Owner(session)),
            (None, Role::Viewer) => Some(Caller::Viewer(session, number)),
        }))
    }
}

/// Takes from the rate of those who have no token.
pub(crate) fn take_public(parts: &Parts, app: &App) -> Result<(), Problem> {
    app.take_public(parts.extensions.get::<Peer>().copied()).map_err(too_many)
}

pub(crate) fn too_many(wait: std::time::Duration) -> Problem {
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, TOO_MANY_REQUESTS, "Too many requests. Try again later.");
    problem.retry_after(wait.as_secs() + 1)
}

fn token(parts: &Parts) -> Option<Token> {
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") { Token::parse(token.trim()) } else { None }
}

/// The operator.
pub(crate) struct Operator;

impl FromRequestParts<App> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Operator, Problem> {
        match Caller::of(parts, app).await? {
            Caller::Operator => Ok(Operator),
            Caller::Owner(_) | Caller::Viewer(..) => {
                Err(Problem::forbidden("Only the operator of this server may do this."))
            }
        }
    }
}

/// Somebody who may read the session of the address.
pub(crate) struct Reader {
    pub(crate) session: SessionId,
    pub(crate) caller: Caller,
}

impl FromRequestParts<App> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Reader, Problem> {
        let caller = Caller::of(parts, app).await?;
        let named = session(parts, app).await;
        let foreign = || Problem::forbidden("This token is for another session.");
        let session = match (&caller, named) {
            (Caller::Operator, Some(session)) => {
                // The head of a session that does not exist is an error.
                app.journal().head(&session).await?;
                session
            }
            (Caller::Operator, None) => return Err(Problem::not_found("There is no such session.")),
            (Caller::Owner(own) | Caller::Viewer(own, _), Some(session)) if *own == session => session,
            (Caller::Owner(_) | Caller::Viewer(..), _) => return Err(foreign()),
        };
        Ok(Reader { session, caller })
    }
}

async fn session(parts: &mut Parts, app: &App) -> Option<SessionId> {
    let params = RawPathParams::from_request_parts(parts, app).await.ok()?;
    params.iter().find(|(name, _)| *name == "id")?.1.parse().ok()
}

/// Somebody who may do everything in the session of the address.
pub(crate) struct Owner {
    pub(crate) session: SessionId,
    pub(crate) caller: Caller,
}

impl FromRequestParts<App> for Owner {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Owner, Problem> {
        let Reader { session, caller } = Reader::from_request_parts(parts, app).await?;
        match caller {
            Caller::Operator | Caller::Owner(_) => Ok(Owner { session, caller }),
            Caller::Viewer(..) => Err(Problem::forbidden("This token allows only to read the session.")),
        }
    }
}

/// An owner, for a change that is stored for ever: each session may make only so many in a time. The operator has no limit.
pub(crate) struct LimitedOwner {
    pub(crate) session: SessionId,
    pub(crate) caller: Caller,
}

impl FromRequestParts<App> for LimitedOwner {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<LimitedOwner, Problem> {
        let Owner { session, caller } = Owner::from_request_parts(parts, app).await?;
        if caller != Caller::Operator {
            app.take_change(&session).map_err(too_many)?;
        }
        Ok(LimitedOwner { session, caller })
    }
}
