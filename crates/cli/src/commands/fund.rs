//! `fund`: makes an invoice for a session and waits until it is paid. Also lists the invoices that are not paid yet.

use std::fmt;

use guildhall::kernel::{Invoiced, Msat, PaymentHash};
use guildhall::local::{SessionId, UnixMs, unix_now};
use guildhall::{DatedRate, Funding, FundingEnd, Hall, HallError, WalletError, timestamp};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::{Value, json};

use crate::amount::{both, sats};
use crate::args::Output;
use crate::args::money::FundArgs;
use crate::commands::out_json_line;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{QR, note, out};
use crate::screen::{stdout_columns, stdout_has_colours};
use crate::signals::Signals;
use crate::world::World;

/// The empty margin of a QR code on each side, which scanners need.
const QUIET_ZONE: usize = 4;

const MINUTE_MS: u64 = 60_000;

/// Makes an invoice for a session and waits until it is paid.
pub(crate) async fn fund(world: &World, args: FundArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let session = match &args.session {
        Some(typed) => Some(typed.find(&hall).await?),
        None => None,
    };
    let money = whole_sats(args.amount.msat(hall.models().rate()))?;
    let funding = hall.fund(session.as_ref(), money).await.map_err(|why| not_funded(why, money))?;
    // From now on, Ctrl-C ends the waiting: a person who has read the invoice can press it.
    let mut signals = Signals::listen()?;
    let id = &funding.session;
    match args.output.output {
        Output::Json => out_json_line(&json!({
            "session": id, "invoice": funding.invoice, "payment": funding.payment, "amount_msat": funding.money,
            "expires": funding.expires,
        }))?,
        Output::Text => show_invoice(&funding, hall.models().rate())?,
    }
    if args.no_wait {
        return Ok(Exit::Done);
    }
    note("waiting for the payment; press Ctrl-C to stop waiting, the invoice stays payable");
    let end = tokio::select! {
        end = hall.wait_for_funding(&funding) => Some(end?),
        () = signals.any() => None,
    };
    if args.output.output == Output::Json {
        let free = hall.journal().folded_account(id).await?.free();
        let paid = matches!(end, Some(FundingEnd::Paid { .. }));
        out_json_line(&json!({"session": id, "paid": paid, "free_msat": free}))?;
    }
    Ok(match end {
        Some(FundingEnd::Paid { free }) => {
            note(&format!("paid: session {id} has {} of the wallet's money", both(free, hall.models().rate())));
            note(&format!("to use it, run: guildhall run --session {id} --budget {}sat \"…\"", free.get() / 1000));
            Exit::Done
        }
        Some(FundingEnd::Expired) => {
            note(&format!(
                "the invoice has expired and was not paid. A late payment still counts. For a new invoice, run: \
                 guildhall fund {}sat --session {id}",
                money.get() / 1000
            ));
            Exit::Wallet
        }
        None => {
            note(&format!("the invoice stays payable. To see whether it was paid, run: guildhall close {id}"));
            Exit::Interrupted
        }
    })
}

/// Lightning servers make invoices for whole sats.
fn whole_sats(money: Msat) -> Result<Msat, Failure> {
    if money.get().is_multiple_of(1000) && money > Msat::ZERO {
        return Ok(money);
    }
    Err(Failure::usage(format!(
        "an invoice is for a whole number of sats, and {} is not: give one, such as 2000sat",
        sats(money)
    )))
}

/// An amount above the limit can never work. If only the sum is above it, the session is the reason.
fn not_funded(why: HallError, money: Msat) -> Failure {
    if let HallError::Wallet(WalletError::SessionLimit { most, .. }) = &why
        && money > *most
    {
        return Failure::usage(format!(
            "a session can have at most {}, and {} is more: give less, or set `session_max` in [wallet] of the config",
            sats(*most),
            sats(money)
        ));
    }
    why.into()
}

fn show_invoice(funding: &Funding, rate: &DatedRate) -> Result<(), Failure> {
    let minutes = minutes_until(funding.expires, unix_now());
    out(&format!("session {}, with the money of the wallet", funding.session))?;
    out(&format!("pay {} within {minutes} minutes:", both(funding.money, rate)))?;
    // A QR code is for a person at a terminal. Without colours nobody knows whether the terminal is dark, and an inverted code
    // can't be scanned by many wallets, so there is none: the invoice below it suffices.
    if let Some(code) = stdout_columns().filter(|_| stdout_has_colours()).and_then(|most| qr(&funding.invoice, most)) {
        out(&code)?;
    }
    out(&funding.invoice)?;
    Ok(())
}

/// The minutes until a moment, rounded up.
fn minutes_until(then: UnixMs, now: UnixMs) -> u64 {
    then.0.saturating_sub(now.0).div_ceil(MINUTE_MS)
}

/// The QR code of an invoice, if it fits into this many columns.
fn qr(invoice: &str, columns_max: usize) -> Option<String> {
    // Upper case makes the code smaller.
    let code = QrCode::new(invoice.to_ascii_uppercase()).ok()?;
    if code.width() + 2 * QUIET_ZONE > columns_max {
        return None;
    }
    let rows = code.render::<Dense1x2>().quiet_zone(true).build();
    Some(rows.lines().map(|row| format!("{QR}{row}{QR:#}")).collect::<Vec<_>>().join("\n"))
}

/// An invoice that is not paid, and may be.
pub(crate) struct Unpaid {
    payment: PaymentHash,
    invoiced: Invoiced,
}

/// Returns the unpaid invoices of a session, or of all sessions, the first to expire first.
pub(crate) async fn unpaid(hall: &Hall, session: Option<&SessionId>) -> Result<Vec<Unpaid>, Failure> {
    let (treasury, now) = (hall.treasury().await?, unix_now());
    let is_of = |invoiced: &Invoiced| session.is_none_or(|session| invoiced.session == *session);
    let open = treasury.invoices().filter(|(_, invoiced)| is_of(invoiced) && invoiced.is_open(now));
    let mut open: Vec<Unpaid> =
        open.map(|(payment, invoiced)| Unpaid { payment, invoiced: invoiced.clone() }).collect();
    open.sort_by_key(|unpaid| unpaid.invoiced.expires);
    Ok(open)
}

impl Unpaid {
    pub(crate) fn session(&self) -> &SessionId {
        &self.invoiced.session
    }

    pub(crate) fn json(&self) -> Value {
        let Invoiced { session, money, expires, .. } = &self.invoiced;
        json!({"session": session, "payment": self.payment, "amount_msat": money, "expires": expires})
    }
}

impl fmt::Display for Unpaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (amount, until) = (sats(self.invoiced.money), utc(self.invoiced.expires));
        if self.invoiced.is_payable(unix_now()) {
            write!(f, "{amount}, not paid yet, expires at {until} UTC")
        } else {
            write!(f, "{amount}, not paid, expired at {until} UTC; a late payment still counts")
        }
    }
}

/// A moment, to the minute, in UTC: `2026-11-15 09:30`.
pub(crate) fn utc(at: UnixMs) -> String {
    timestamp(at).chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use guildhall::local::UnixMs;
    use qrcode::{Color, QrCode};

    use super::{QUIET_ZONE, minutes_until, qr, utc};

    const INVOICE: &str =
        "lnbc20u1p3y0x3hpp5743k2g0fsqqxj7n8qzuhns5gmkk4djeejk3wkp64ppevgekvc0jsdqcve5kzar2v9nr5gpqd4hkuetesp5";

    #[test]
    fn a_qr_code_is_black_on_white_whatever_the_terminal_has() {
        let shown = qr(INVOICE, 200).unwrap();
        let code = QrCode::new(INVOICE.to_ascii_uppercase()).unwrap();
        let (width, colors) = (code.width(), code.to_colors());
        let is_dark = |x: usize, y: usize| {
            let (Some(x), Some(y)) = (x.checked_sub(QUIET_ZONE), y.checked_sub(QUIET_ZONE)) else { return false };
            x < width && y < width && colors[y * width + x] == Color::Dark
        };
        for (row, line) in shown.lines().enumerate() {
            let blocks = line.strip_prefix("\u{1b}[38;5;16m\u{1b}[48;5;231m").expect("black on white");
            let blocks = blocks.strip_suffix("\u{1b}[0m").expect("the colours end with the row");
            assert_eq!(blocks.chars().count(), width + 2 * QUIET_ZONE);
            for (x, block) in blocks.chars().enumerate() {
                // A block is drawn in the foreground's colour.
                let drawn = (matches!(block, '█' | '▀'), matches!(block, '█' | '▄'));
                assert_eq!(drawn, (is_dark(x, 2 * row), is_dark(x, 2 * row + 1)), "column {x}, row {row}");
            }
        }
        assert_eq!(qr(INVOICE, 40), None, "a terminal that is too narrow gets none");
    }

    #[test]
    fn the_time_to_pay_is_rounded_up() {
        assert_eq!(minutes_until(UnixMs(3_600_000), UnixMs(400)), 60);
        assert_eq!(minutes_until(UnixMs(60_000), UnixMs(60_000)), 0);
        assert_eq!(utc(UnixMs(1_794_735_059_999)), "2026-11-15 09:30");
    }
}
