//! Problems: what a caller is told when a request is refused or fails, as `application/problem+json` (RFC 9457). A problem never has
//! a path of the host, the id of a process, a token or a text of a session in it.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use guildhall::kernel::{Msat, Refusal, SessionError, TreasuryError};
use guildhall::local::{JournalError, ServedError};
use guildhall::{HallError, WalletError};
use serde::Serialize;
use utoipa::openapi::{self, ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// What went wrong.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The HTTP status.
    #[schema(example = 409)]
    pub(crate) status: u16,
    /// A word for programs. It does not change between versions.
    #[schema(example = "busy")]
    pub(crate) code: &'static str,
    /// What the status means.
    #[schema(example = "Conflict")]
    pub(crate) title: String,
    /// What happened, and what to do.
    #[schema(example = "The session works on a request. Wait until it ends, or stop it.")]
    pub(crate) detail: String,
    /// How long to wait before trying again.
    #[serde(skip)]
    retry_after_s: Option<u64>,
    /// The reason for the log of the operator, which may have paths in it.
    #[serde(skip)]
    for_log: Option<String>,
}

/// Marks the response to a request that came too soon after others.
#[derive(Clone, Copy)]
pub(crate) struct OverRate;

/// The code of such a problem.
pub(crate) const TOO_MANY_REQUESTS: &str = "too_many_requests";

/// The reason of a failed request, for the log.
#[derive(Clone)]
pub(crate) struct ForLog(pub(crate) String);

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Problem {
        Problem {
            status: status.as_u16(),
            code,
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            detail: detail.into(),
            retry_after_s: None,
            for_log: None,
        }
    }

    pub(crate) fn retry_after(self, seconds: u64) -> Problem {
        Problem { retry_after_s: Some(seconds), ..self }
    }

    /// A failure of this server. The caller learns nothing about its inside; the operator finds the reason in the log.
    #[expect(clippy::needless_pass_by_value, reason = "`map_err` hands over the error")]
    pub(crate) fn internal(why: impl ToString) -> Problem {
        let detail = "Something failed inside the server, and its operator finds the reason in the server's log. Everything that \
                      was stored before is kept.";
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Problem { for_log: Some(why.to_string()), ..Problem::new(status, "internal", detail) }
    }

    fn unavailable(code: &'static str, detail: &str, why: &impl ToString) -> Problem {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail);
        Problem { for_log: Some(why.to_string()), retry_after_s: Some(10), ..problem }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    pub(crate) fn unauthorized() -> Problem {
        let detail = "This needs a valid token, in the header `Authorization: Bearer TOKEN`.";
        Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    pub(crate) fn forbidden(detail: &str) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub(crate) fn conflict(code: &'static str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, code, detail)
    }

    pub(crate) fn unprocessable(code: &'static str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
    }

    pub(crate) fn busy() -> Problem {
        Problem::conflict("busy", "The session works on a request. Wait until it ends, or stop it.")
    }
}

/// The problems of every route that reads.
pub(crate) struct ReadProblems;

/// The problems of every route that changes something.
pub(crate) struct WriteProblems;

const READ: &[StatusCode] = &[
    StatusCode::BAD_REQUEST,
    StatusCode::UNAUTHORIZED,
    StatusCode::FORBIDDEN,
    StatusCode::NOT_FOUND,
    StatusCode::CONFLICT,
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::SERVICE_UNAVAILABLE,
];

const WRITE: &[StatusCode] = &[
    StatusCode::PAYMENT_REQUIRED,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    StatusCode::UNPROCESSABLE_ENTITY,
];

fn documented(statuses: impl Iterator<Item = StatusCode>) -> BTreeMap<String, RefOr<openapi::Response>> {
    let problem = |status: StatusCode| {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        let description = status.canonical_reason().unwrap_or_default();
        let response = ResponseBuilder::new().description(description).content(PROBLEM_JSON, content).build();
        (status.as_str().to_owned(), RefOr::T(response))
    };
    statuses.map(problem).collect()
}

impl IntoResponses for ReadProblems {
    fn responses() -> BTreeMap<String, RefOr<openapi::Response>> {
        documented(READ.iter().copied())
    }
}

impl IntoResponses for WriteProblems {
    fn responses() -> BTreeMap<String, RefOr<openapi::Response>> {
        documented(READ.iter().chain(WRITE).copied())
    }
}

const PROBLEM_JSON: &str = "application/problem+json";

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).expect("a problem is JSON");
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(self.status).expect("a problem is made from a status");
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == TOO_MANY_REQUESTS {
            response.extensions_mut().insert(OverRate);
        }
        if let Some(why) = self.for_log {
            response.extensions_mut().insert(ForLog(why));
        }
        response
    }
}

/// An amount as people read it.
pub(crate) fn sats(money: Msat) -> String {
    match (money.get() / 1000, money.get() % 1000) {
        (sat, 0) => format!("{sat} sat"),
        (sat, msat) => format!("{sat}.{msat:03} sat"),
    }
}

/// An amount that can be written in whole satoshis, not below this one.
fn whole_sats(money: Msat) -> String {
    format!("{} sat", money.get().div_ceil(1000))
}

/// The problem of a session whose free money is less than what the smallest request needs.
pub(crate) fn too_little_for_request(free: Msat, minimum: Msat) -> Problem {
    let detail = format!(
        "Only {} is free in the session, and a request needs at least {}. Fund the session.",
        sats(free),
        whole_sats(minimum)
    );
    Problem::new(StatusCode::PAYMENT_REQUIRED, "balance_too_low", detail)
}

impl From<HallError> for Problem {
    fn from(why: HallError) -> Problem {
        match why {
            HallError::Journal(why) => why.into(),
            HallError::Account(why) => why.into(),
            HallError::Wallet(why) => why.into(),
            HallError::Refused(Refusal::Money { asked, minimum, .. }) => Problem::unprocessable(
                "budget_too_small",
                format!("A budget of {} is too small: a request needs at least {}.", sats(asked), whole_sats(minimum)),
            ),
            HallError::Refused(why) => Problem::unprocessable("refused", why.to_string()),
            HallError::NotEnded(_) | HallError::ContinuedElsewhere(_) => Problem::busy(),
            HallError::HasEnded(_) | HallError::NothingToResume(_) | HallError::NoWorkYet(_) => {
                Problem::conflict("not_at_work", "The session works on no request. Ask for work with `POST requests`.")
            }
            HallError::NotAtWork { contract, .. } => Problem::conflict(
                "not_at_work",
                format!("Contract {contract} is not at work: it has ended, or it does not exist."),
            ),
            HallError::NoContract { contract, .. } => Problem::not_found(format!("There is no contract {contract}.")),
            HallError::TooMuchMoney { .. } => {
                Problem::unprocessable("too_much", "The sum would exceed 21 million bitcoin.")
            }
            why @ (HallError::Models(_) | HallError::Project(_)) => {
                Problem::unavailable("team_unavailable", "The team can't work at the moment.", &why)
            }
            why @ HallError::Stopping => {
                Problem::unavailable("stopping", "The server is stopping. Try again in a moment.", &why)
            }
            why @ (HallError::SessionEngine(_)
            | HallError::Crashed(_)
            | HallError::Damaged(_)
            | HallError::NoSetup { .. }
            | HallError::OtherForm { .. }
            | HallError::WasTaskList(_)
            | HallError::TooFewHeads { .. }
            | HallError::NotReserved { .. }
            | HallError::BilledBeyondReserve { .. }
            | HallError::TranscriptsNotStarted(_)
            | HallError::TranscriptsNotWritten { .. }
            | HallError::NotInTeam { .. }
            | HallError::NoAgent { .. }
            | HallError::Schema(_)
            | HallError::NoEntry { .. }
            | HallError::ToolName { .. }
            | HallError::NoTool { .. }) => Problem::internal(why),
        }
    }
}

impl From<SessionError> for Problem {
    fn from(why: SessionError) -> Problem {
        match why {
            SessionError::Overdrawn { asked, free } => Problem::new(
                StatusCode::PAYMENT_REQUIRED,
                "balance_too_low",
                format!(
                    "{} was asked for, but only {} is free in the session. Fund the session.",
                    sats(asked),
                    sats(free)
                ),
            ),
            SessionError::BeyondSupply => {
                Problem::unprocessable("too_much", "The sum would exceed 21 million bitcoin.")
            }
            SessionError::StillPaying { .. } => {
                Problem::conflict("still_paying", "A payment of this session is still under way. Wait until it ends.")
            }
            SessionError::NotThisRoot { .. } => Problem::busy(),
            why @ (SessionError::Impossible { .. }
            | SessionError::HasBegun
            | SessionError::OtherKind { .. }
            | SessionError::NotThisPayment { .. }
            | SessionError::Contradicted { .. }) => Problem::internal(why),
        }
    }
}

impl From<JournalError> for Problem {
    fn from(why: JournalError) -> Problem {
        match why {
            JournalError::UnknownSession { .. } => Problem::not_found("There is no such session."),
            JournalError::Held { .. } | JournalError::Busy => Problem::busy(),
            JournalError::Account { source, .. } => source.into(),
            JournalError::Served(why) => why.into(),
            JournalError::Treasury(TreasuryError::KnownPayment { .. }) => {
                Problem::conflict("known_invoice", "This invoice is known already.")
            }
            JournalError::UnknownEvent { id, .. } => Problem::not_found(format!("The session has no event {id}.")),
            JournalError::CommandTooLong { .. } | JournalError::TextTooLong { .. } => {
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", "The text is too long.")
            }
            JournalError::SessionLimit { most, .. } => {
                Problem::unprocessable("too_much", format!("A session can have at most {}.", sats(most)))
            }
            why @ (JournalError::DiskFull { .. }
            | JournalError::Unwritable { .. }
            | JournalError::NotDurable { .. }
            | JournalError::Stopped { .. }
            | JournalError::ReadOnly { .. }
            | JournalError::LogMissing { .. }) => Problem::unavailable(
                "journal_stopped",
                "The server can't store anything at the moment. Everything that was stored before is kept.",
                &why,
            ),
            why @ (JournalError::Treasury(_)
            | JournalError::Damaged { .. }
            | JournalError::Foreign { .. }
            | JournalError::OtherForm { .. }
            | JournalError::UnsafeSqlite { .. }
            | JournalError::Sqlite { .. }
            | JournalError::File { .. }
            | JournalError::Corrupt { .. }
            | JournalError::SessionExists { .. }
            | JournalError::LeaseLost { .. }
            | JournalError::TextMismatch { .. }
            | JournalError::TextMissing { .. }
            | JournalError::TextDamaged { .. }
            | JournalError::TreasuryNotLeased
            | JournalError::TreasuryDamaged { .. }
            | JournalError::NotJson { .. }) => Problem::internal(why),
        }
    }
}

impl From<ServedError> for Problem {
    fn from(why: ServedError) -> Problem {
        match why {
            ServedError::KeyUsed { .. } => Problem::unprocessable(
                "key_used",
                "This idempotency key was used before in this session, for another request. Use a new key.",
            ),
            ServedError::TooManyUnpaid { .. } => Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_unpaid",
                "Too many sessions wait for their first payment. Try again later.",
            )
            .retry_after(60),
            ServedError::NoInvoice { number, .. } => {
                Problem::not_found(format!("The session has no invoice {number}."))
            }
            ServedError::InvoiceExpired { number, .. } => {
                Problem::conflict("expired", format!("Invoice {number} has expired. Make another one."))
            }
            ServedError::AtWork { .. } => Problem::conflict(
                "busy",
                "Free money goes back when the request that is at work has ended, or was stopped.",
            ),
            ServedError::NothingFree { .. } => {
                Problem::conflict("nothing_free", "The session has no free money that could go back.")
            }
            ServedError::TooManyInvoices { most, .. } => Problem::conflict(
                "too_many_invoices",
                format!("The session has {most} open invoices, the most that a session can have. Settle one first."),
            ),
            ServedError::TooManyTokens { most, .. } => Problem::conflict(
                "too_many_tokens",
                format!("The session has {most} tokens, the most that a session can have. Revoke one first."),
            ),
        }
    }
}

impl From<WalletError> for Problem {
    fn from(why: WalletError) -> Problem {
        match why {
            WalletError::PlaySession(_) => Problem::conflict("play_money", "The session has play money."),
            WalletError::Decode(why) => {
                Problem::unprocessable("invoice", format!("This is not a Lightning invoice: {why}."))
            }
            WalletError::Invoice(why) => {
                Problem::unprocessable("invoice", format!("This invoice can't be paid: {why}."))
            }
            WalletError::SessionLimit { most, .. } => {
                Problem::unprocessable("too_much", format!("A session can have at most {}.", sats(most)))
            }
            WalletError::Exists(_) => Problem::conflict("known_invoice", "This invoice is known already."),
            why @ (WalletError::NotConnected
            | WalletError::NoKey
            | WalletError::NoAdminKey
            | WalletError::Server(_)
            | WalletError::Frozen
            | WalletError::Insolvent { .. }
            | WalletError::OldRate { .. }
            | WalletError::Busy(_)) => Problem::unavailable(
                "wallet_unavailable",
                "The wallet of this hall can't be used at the moment. No money was moved.",
                &why,
            ),
            why @ (WalletError::NoPayment(_) | WalletError::WasPaid(_) | WalletError::WrongPreimage) => {
                Problem::internal(why)
            }
        }
    }
}
