//! Money in and out of a session.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall::SessionId;
use guildhall::kernel::{Hash, Msat, PaymentHash, SessionKind};
use guildhall::local::{ServedError, UnixMs, unix_now};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::{Caller, LimitedOwner};
use crate::input::{Input, Key};
use crate::money::{InvoiceView, RefundView, invoice_amount};
use crate::problem::{Problem, WriteProblems};
use crate::replay::{at_the_same_time, earlier};
use crate::routes::offers::priced;

/// The most Lightning invoices of a session that can be paid: the wallet is asked about each of them again and again.
const OPEN_INVOICES_MAX: usize = 10;

/// An invoice to make.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewInvoice {
    /// The amount. The operator may allow less.
    #[schema(example = 500, minimum = 1, maximum = 1_000_000_000_000_u64)]
    amount_sats: u64,
}

/// Makes another invoice for the session.
#[utoipa::path(post, path = "/api/sessions/{id}/fund", tag = "money", security(("token" = [])),
    params(("id" = String, Path, description = "The session"), Key),
    request_body = NewInvoice, responses((status = 201, body = InvoiceView, description = "The invoice"), WriteProblems))]
pub(crate) async fn fund(
    State(app): State<App>,
    LimitedOwner { session, .. }: LimitedOwner,
    key: Key,
    Input(new): Input<NewInvoice>,
) -> Result<(StatusCode, Json<InvoiceView>), Problem> {
    let key = key.of("fund", &new);
    let made = |invoice| (StatusCode::CREATED, Json(invoice));
    if let Some(result) = earlier(&app, &session, key).await? {
        return invoice(&app, &session, &result).await.map(made);
    }
    let money = invoice_amount(&app, new.amount_sats)?;
    app.offer_of(&session).await?;
    match app.journal().folded_account(&session).await?.kind() {
        SessionKind::Play => {
            let valid = u64::try_from(app.limits().unpaid_for.as_millis()).unwrap_or(u64::MAX);
            let expires = UnixMs(unix_now().0.saturating_add(valid));
            let result = match app.journal().add_play_invoice(&session, money, expires, key).await {
                Ok(number) => number.to_string(),
                Err(why) => at_the_same_time(why, key)?,
            };
            invoice(&app, &session, &result).await.map(made)
        }
        SessionKind::Wallet(_) if app.hall().open_fundings(&session).await?.len() >= OPEN_INVOICES_MAX => {
            Err(ServedError::TooManyInvoices { session, most: OPEN_INVOICES_MAX }.into())
        }
        SessionKind::Wallet(_) => match app.hall().fund_once(&session, money, key).await {
            Ok(funding) => Ok(made(InvoiceView::of_wallet(&funding, false))),
            Err(why) => invoice(&app, &session, &at_the_same_time(why, key)?).await.map(made),
        },
    }
}

/// Finds an invoice of a session: by its number in play money, or by its payment.
pub(crate) async fn invoice(app: &App, session: &SessionId, id: &str) -> Result<InvoiceView, Problem> {
    let unknown = || Problem::not_found("The session has no such invoice.");
    match app.journal().folded_account(session).await?.kind() {
        SessionKind::Play => {
            let number: u64 = id.parse().map_err(|_| unknown())?;
            let invoices = app.journal().play_invoices(session).await?;
            let found = invoices.iter().find(|invoice| invoice.number == number).ok_or_else(unknown)?;
            Ok(InvoiceView::of_play(found))
        }
        SessionKind::Wallet(_) => {
            let payment = PaymentHash(Hash::try_from(id.to_owned()).map_err(|_| unknown())?);
            let funding = app.hall().funding(payment).await?;
            let funding = funding.filter(|funding| funding.session == *session).ok_or_else(unknown)?;
            let treasury = app.hall().treasury().await?;
            let is_paid = treasury.invoices().any(|(hash, invoiced)| hash == payment && invoiced.is_paid);
            Ok(InvoiceView::of_wallet(&funding, is_paid))
        }
    }
}

/// The invoice to settle.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settle {
    /// The number of an invoice in play money.
    #[schema(example = "1", max_length = 20)]
    invoice: String,
}

/// Settles an invoice in play money: the session has its money from now on.
#[utoipa::path(post, path = "/api/sessions/{id}/settle", tag = "money", security(("token" = [])),
    params(("id" = String, Path, description = "The session"), Key),
    request_body = Settle, responses((status = 200, body = InvoiceView, description = "The invoice"), WriteProblems))]
pub(crate) async fn settle(
    State(app): State<App>,
    LimitedOwner { session, caller }: LimitedOwner,
    key: Key,
    Input(settle): Input<Settle>,
) -> Result<Json<InvoiceView>, Problem> {
    let key = key.of("settle", &settle);
    if let Some(result) = earlier(&app, &session, key).await? {
        return invoice(&app, &session, &result).await.map(Json);
    }
    let account = app.journal().folded_account(&session).await?;
    if *account.kind() != SessionKind::Play {
        return Err(Problem::conflict(
            "real_money",
            "The session has real money: pay its invoice with a Lightning wallet.",
        ));
    }
    if app.offer_of(&session).await?.needs_operator_for(account.kind()) && caller != Caller::Operator {
        return Err(priced());
    }
    let is_number = settle.invoice.bytes().all(|byte| byte.is_ascii_digit()) && !settle.invoice.starts_with('0');
    let number = settle.invoice.parse().ok().filter(|_| is_number);
    let number = number.ok_or_else(|| Problem::not_found("The session has no such invoice."))?;
    match app.journal().settle_play_invoice(&session, number, unix_now(), key).await {
        Ok(settled) => Ok(Json(InvoiceView::of_play(&settled))),
        Err(why) => invoice(&app, &session, &at_the_same_time(why, key)?).await.map(Json),
    }
}

/// Where the free money goes.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRefund {
    /// A Lightning invoice, at most `payable_msat` of the session. Absent for play money, where all free money
    /// goes back.
    #[serde(default)]
    #[schema(max_length = 7_000)]
    invoice: Option<String>,
}

/// Pays free money of the session back.
#[utoipa::path(post, path = "/api/sessions/{id}/refund", tag = "money", security(("token" = [])),
    params(("id" = String, Path, description = "The session"), Key),
    request_body = NewRefund, responses((status = 202, body = RefundView, description = "The refund"), WriteProblems))]
pub(crate) async fn refund(
    State(app): State<App>,
    LimitedOwner { session, .. }: LimitedOwner,
    key: Key,
    Input(new): Input<NewRefund>,
) -> Result<(StatusCode, Json<RefundView>), Problem> {
    let key = key.of("refund", &new);
    let taken = |refund| (StatusCode::ACCEPTED, Json(refund));
    if let Some(result) = earlier(&app, &session, key).await? {
        return refunded(&app, &session, &result).await.map(taken);
    }
    let account = app.journal().folded_account(&session).await?;
    // This is checked again with the payment. This check is early, so that the wallet is not asked in vain.
    if account.at_work() > Msat::ZERO {
        return Err(ServedError::AtWork { session }.into());
    }
    if account.free() == Msat::ZERO {
        return Err(ServedError::NothingFree { session }.into());
    }
    let result = match (account.kind(), new.invoice) {
        (SessionKind::Play, None) => app
            .journal()
            .return_play_money(&session, key)
            .await
            .map_err(Into::into)
            .map(|money| money.get().to_string()),
        (SessionKind::Wallet(_), Some(invoice)) => {
            app.hall().refund_once(&session, &invoice, key).await.map(|refund| refund.payment.to_string())
        }
        (SessionKind::Play, Some(_)) => {
            return Err(Problem::conflict(
                "play_money",
                "The session has play money: it goes back without an invoice.",
            ));
        }
        (SessionKind::Wallet(_), None) => {
            return Err(Problem::unprocessable("invoice", "A Lightning invoice is needed: where should the money go?"));
        }
    };
    let result = result.or_else(|why: guildhall::HallError| at_the_same_time(why, key))?;
    refunded(&app, &session, &result).await.map(taken)
}

/// Returns what came of a refund.
async fn refunded(app: &App, session: &SessionId, result: &str) -> Result<RefundView, Problem> {
    match app.journal().folded_account(session).await?.kind() {
        SessionKind::Play => {
            let money: u64 = result.parse().map_err(Problem::internal)?;
            Ok(RefundView::of_play(Msat::capped(u128::from(money))))
        }
        SessionKind::Wallet(_) => {
            let payment = PaymentHash(Hash::try_from(result.to_owned()).map_err(Problem::internal)?);
            Ok(RefundView::of_wallet(&app.hall().payment(payment).await?))
        }
    }
}
