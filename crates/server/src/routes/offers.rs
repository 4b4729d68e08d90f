//! The offers, and new sessions with them.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, request::Parts};
use guildhall::Serving;
use guildhall::kernel::Msat;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::{Caller, take_public, too_many};
use crate::input::Input;
use crate::money::{self, InvoiceView};
use crate::offer::{MoneyKind, OfferView};
use crate::peer::Peer;
use crate::problem::{Problem, ReadProblems, WriteProblems};
use crate::token::Token;

/// The teams that this server offers.
#[utoipa::path(get, path = "/api/offers", tag = "public", security(()),
    responses((status = 200, body = Vec<OfferView>, description = "The offers"), ReadProblems))]
pub(crate) async fn offers(State(app): State<App>, parts: Parts) -> Result<Json<Vec<OfferView>>, Problem> {
    take_public(&parts, &app)?;
    Ok(Json(app.offers().map(|offer| offer.view(app.costs())).collect()))
}

/// A session to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSession {
    /// The name of an offer.
    #[schema(example = "demo", max_length = 100)]
    team: String,
    /// The amount of the first invoice. The operator may allow less.
    #[schema(example = 500, minimum = 1, maximum = 1_000_000_000_000_u64)]
    amount_sats: u64,
}

/// A session that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionMade {
    /// The session.
    session: String,
    /// The team.
    team: String,
    /// Play or real money.
    money: MoneyKind,
    /// The owner's token. It is shown only here: keep it.
    owner_token: String,
    /// The invoice to pay or to settle.
    invoice: InvoiceView,
}

/// Makes a session, with its owner's token and an invoice. Nothing can be asked before the invoice is paid or settled.
#[utoipa::path(post, path = "/api/sessions", tag = "public", security((), ("token" = [])), request_body = NewSession,
    responses((status = 201, body = SessionMade, description = "The session"), WriteProblems))]
pub(crate) async fn make_session(
    State(app): State<App>,
    parts: Parts,
    Input(new): Input<NewSession>,
) -> Result<(StatusCode, Json<SessionMade>), Problem> {
    let is_operator = Caller::known(&parts, &app).await? == Some(Caller::Operator);
    // Everybody can get the token of a session, so only the operator's makes a difference.
    if !is_operator {
        take_public(&parts, &app)?;
        app.take_session(parts.extensions.get::<Peer>().copied()).map_err(too_many)?;
    }
    let money = money::invoice_amount(&app, new.amount_sats)?;
    let offer = app
        .offer(&new.team)
        .ok_or_else(|| Problem::not_found("There is no such offer. `GET /api/offers` lists the offers."))?;
    if offer.needs_operator() && !is_operator {
        return Err(priced());
    }
    let token = Token::random().map_err(Problem::internal)?;
    let serving = Serving {
        team: offer.offer.name.clone(),
        owner: token.hash(),
        unpaid_max: if is_operator { u32::MAX } else { app.limits().unpaid_max },
        unpaid_for: app.limits().unpaid_for,
    };
    let hall = &offer.offer.hall;
    let (session, invoice) = match offer.offer.money {
        MoneyKind::Play => {
            let (session, invoice) = hall.serve_play(serving, money).await?;
            (session, InvoiceView::of_play(&invoice))
        }
        MoneyKind::Real => {
            let funding = hall.serve_wallet(serving, money).await?;
            (funding.session.clone(), InvoiceView::of_wallet(&funding, false))
        }
    };
    let made = SessionMade {
        session: session.to_string(),
        team: offer.offer.name.clone(),
        money: offer.offer.money,
        owner_token: token.reveal().to_owned(),
        invoice,
    };
    Ok((StatusCode::CREATED, Json(made)))
}

/// Play money must not reach a model that somebody bills, unless the operator says so.
pub(crate) fn priced() -> Problem {
    let detail = "The team works with a model that costs real money, and the session has play money, so this needs the token of \
                  the operator of this server.";
    Problem::forbidden(detail)
}

/// Returns an amount in satoshis, if a person can mean it.
pub(crate) fn amount(sats: u64) -> Result<Msat, Problem> {
    let money = Msat::from_sat(sats).ok().filter(|_| (1..=SATS_MAX).contains(&sats));
    money.ok_or_else(|| {
        Problem::unprocessable("amount", format!("An amount is at least 1 sat, and at most {SATS_MAX} sat."))
    })
}

/// The largest amount: ten thousand bitcoin. Programs that know only floating-point numbers can still write it exactly.
const SATS_MAX: u64 = 1_000_000_000_000;
