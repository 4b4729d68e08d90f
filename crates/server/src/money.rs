//! Invoices and payments as callers see them.

use guildhall::kernel::{Msat, PaymentEnd, UnixMs};
use guildhall::local::{PlayInvoice, unix_now};
use guildhall::{Funding, PaymentView};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::problem::Problem;
use crate::routes::offers::amount;

/// The state of an invoice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InvoiceState {
    /// It can be paid.
    Open,
    /// The session has its money.
    Paid,
    /// It has expired. A Lightning payment that comes too late still counts.
    Expired,
}

/// An invoice.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct InvoiceView {
    /// Its id: a number for play money, a payment hash for real money.
    #[schema(example = "1")]
    pub(crate) invoice: String,
    /// The amount.
    pub(crate) amount_msat: u64,
    /// What a Lightning wallet pays. Absent for play money, which is settled with `POST settle`.
    pub(crate) payment_request: Option<String>,
    /// When it expires, in milliseconds since 1970.
    pub(crate) expires_at: u64,
    /// Its state.
    pub(crate) state: InvoiceState,
}

impl InvoiceView {
    pub(crate) fn of_play(invoice: &PlayInvoice) -> InvoiceView {
        InvoiceView {
            invoice: invoice.number.to_string(),
            amount_msat: invoice.money.get(),
            payment_request: None,
            expires_at: invoice.expires.0,
            state: state(invoice.paid_at.is_some(), invoice.expires),
        }
    }

    pub(crate) fn of_wallet(funding: &Funding, is_paid: bool) -> InvoiceView {
        InvoiceView {
            invoice: funding.payment.to_string(),
            amount_msat: funding.money.get(),
            payment_request: Some(funding.invoice.clone()),
            expires_at: funding.expires.0,
            state: state(is_paid, funding.expires),
        }
    }
}

fn state(is_paid: bool, expires: UnixMs) -> InvoiceState {
    if is_paid {
        InvoiceState::Paid
    } else if unix_now() > expires {
        InvoiceState::Expired
    } else {
        InvoiceState::Open
    }
}

/// The amount of an invoice, within the limits of this server.
pub(crate) fn invoice_amount(app: &App, sats: u64) -> Result<Msat, Problem> {
    let most = app.limits().invoice_sats_max;
    if sats > most {
        return Err(Problem::unprocessable("amount", format!("An invoice may be at most {most} sat.")));
    }
    amount(sats)
}

/// Money that goes back to a person.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RefundView {
    /// The payment. Absent for play money.
    pub(crate) payment: Option<String>,
    /// The amount.
    pub(crate) amount_msat: u64,
    /// The state.
    pub(crate) state: RefundState,
}

/// The state of money that goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefundState {
    /// It is on its way.
    UnderWay,
    /// It was paid.
    Paid,
    /// It failed, and the session has the money again.
    Failed,
}

impl RefundView {
    pub(crate) fn of_play(money: Msat) -> RefundView {
        RefundView { payment: None, amount_msat: money.get(), state: RefundState::Paid }
    }

    pub(crate) fn of_wallet(payment: &PaymentView) -> RefundView {
        let state = match &payment.end {
            None => RefundState::UnderWay,
            Some(PaymentEnd::Settled { .. }) => RefundState::Paid,
            Some(PaymentEnd::Failed { .. }) => RefundState::Failed,
        };
        RefundView { payment: Some(payment.payment.to_string()), amount_msat: payment.money.get(), state }
    }
}
