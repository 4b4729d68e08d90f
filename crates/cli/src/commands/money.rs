//! `wallet`, `fund`, `close`, `payments` and `ledger`: the money of a wallet.

use std::time::Duration;

use guildhall::kernel::{FailedBecause, Msat, PaymentEnd, Quantity};
use guildhall::lightning::{PlainHttp, WalletUrl};
use guildhall::local::{SessionId, UnixMs, unix_now};
use guildhall::{
    DatedRate, Entry, Funding, FundingEnd, Hall, Ledger, PaymentView, Payouts, Posting, Resolution, WalletView,
};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::{Value, json};

use crate::amount::{both, sats};
use crate::args::Output;
use crate::args::money::{
    CloseArgs, FundArgs, LedgerArgs, PaymentsAction, PaymentsArgs, Switch, WalletAction, WalletArgs,
};
use crate::commands::out_json;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{WARN, note, out, say_in};
use crate::screen::stdout_columns;
use crate::world::World;

/// How long `close` waits for its payment. A payment that takes longer continues with any later command.
const REFUND_WAIT: Duration = Duration::from_mins(1);

/// How long `payments` and `wallet` let the wallet work.
const SETTLE_WAIT: Duration = Duration::from_secs(5);

/// The empty margin of a QR code, which scanners need.
const QUIET_ZONE: u32 = 4;

/// Shows, connects or changes the wallet.
pub(crate) async fn wallet(world: &World, args: WalletArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let view = match args.action {
        None => {
            hall.settle_payments(SETTLE_WAIT).await?;
            hall.wallet().await?
        }
        Some(WalletAction::Connect { url, plain_http }) => {
            let plain_http = if plain_http { PlainHttp::Anywhere } else { PlainHttp::Loopback };
            let url = WalletUrl::parse(&url, plain_http).map_err(|why| Failure::usage(why.to_string()))?;
            hall.connect_wallet(url).await?
        }
        Some(WalletAction::Payouts { switch }) => {
            let payouts = match switch {
                Switch::On => Payouts::On,
                Switch::Off => Payouts::Off,
            };
            hall.set_payouts(payouts).await?;
            hall.settle_payments(SETTLE_WAIT).await?;
            hall.wallet().await?
        }
        Some(WalletAction::Accept { payments }) => {
            hall.accept_payments(&payments).await?;
            hall.settle_payments(SETTLE_WAIT).await?;
            hall.wallet().await?
        }
    };
    match args.output.output {
        Output::Json => out_json(&wallet_json(&view))?,
        Output::Text => show_wallet(&view, hall.models().rate())?,
    }
    for (payee, variable) in world.keyless_payees() {
        say_in(WARN, &format!("the variable {variable} is not set, so the fees of payee {payee} wait"));
    }
    Ok(if view.frozen.is_empty() && view.trouble.is_none() { Exit::Done } else { Exit::Wallet })
}

fn show_wallet(view: &WalletView, rate: &DatedRate) -> Result<(), Failure> {
    out(&format!("wallet    {} at {}", view.wallet, view.url))?;
    let balance = view.balance.map_or_else(|| "not known now".to_owned(), |balance| both(balance, rate));
    out(&format!("has       {balance}"))?;
    let owed = view.owed_to_sessions.plus(view.owed_to_payees).unwrap_or(Msat::SUPPLY);
    let (sessions, payees) = (sats(view.owed_to_sessions), sats(view.owed_to_payees));
    out(&format!("owes      {} ({sessions} to sessions, {payees} to payees)", both(owed, rate)))?;
    out(&format!("payouts   {}", if view.payouts_allowed { "on" } else { "off: fees wait" }))?;
    if !view.frozen.is_empty() {
        let payments = view.frozen.join(" ");
        say_in(
            WARN,
            &format!(
                "the wallet made payments that this hall does not know: {payments}. Somebody else uses the wallet, or the journal is \
                 an old backup. Nothing is paid until you accept these payments. Look at them in the wallet first: if one of \
                 them is a refund or a fee of this hall, the hall still owes that money, and would pay it a second time. To \
                 accept them, run: guildhall wallet accept {payments}"
            ),
        );
    }
    if let Some(trouble) = &view.trouble {
        say_in(WARN, trouble);
    }
    Ok(())
}

fn wallet_json(view: &WalletView) -> Value {
    json!({
        "wallet": view.wallet, "url": view.url, "balance_msat": view.balance, "owed_to_sessions_msat": view.owed_to_sessions,
        "owed_to_payees_msat": view.owed_to_payees, "payouts": view.payouts_allowed, "frozen": view.frozen,
        "trouble": view.trouble,
    })
}

/// Makes an invoice for a session and waits until it is paid.
pub(crate) async fn fund(world: &World, args: FundArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let session = match &args.session {
        Some(typed) => Some(typed.find(&hall).await?),
        None => None,
    };
    let money = whole_sats(args.amount.msat(hall.models().rate()))?;
    let funding = hall.fund(session.as_ref(), money).await?;
    let is_text = args.output.output == Output::Text;
    if is_text {
        show_invoice(&funding, hall.models().rate())?;
    }
    let id = &funding.session;
    let end = if args.no_wait {
        None
    } else {
        tokio::select! {
            end = hall.wait_for_funding(&funding) => Some(end?),
            _ = tokio::signal::ctrl_c() => None,
        }
    };
    if !is_text {
        let paid = matches!(end, Some(FundingEnd::Paid { .. }));
        out_json(&json!({
            "session": id, "invoice": funding.invoice, "payment": funding.payment, "amount_msat": funding.money,
            "expires": funding.expires, "paid": paid,
        }))?;
    }
    Ok(match end {
        Some(FundingEnd::Paid { free }) => {
            note(&format!("paid: session {id} has {} of the wallet's money", both(free, hall.models().rate())));
            note(&format!("to use it, run: guildhall run --session {id} --budget {}sat \"…\"", free.get() / 1000));
            Exit::Done
        }
        Some(FundingEnd::Expired) => {
            note(
                "the invoice has expired and was not paid. A late payment still counts. For a new invoice, run the command again",
            );
            Exit::Wallet
        }
        None if args.no_wait => Exit::Done,
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

fn show_invoice(funding: &Funding, rate: &DatedRate) -> Result<(), Failure> {
    let minutes = funding.expires.0.saturating_sub(unix_now().0) / 60_000;
    out(&format!("session {}, with the money of the wallet", funding.session))?;
    out(&format!("pay {} within {minutes} minutes:", both(funding.money, rate)))?;
    // A QR code is for a person at a terminal. Upper case makes it smaller.
    if let (Some(columns), Ok(code)) = (stdout_columns(), QrCode::new(funding.invoice.to_ascii_uppercase())) {
        let size = code.width() + 2 * QUIET_ZONE as usize;
        if size <= columns {
            out(&code.render::<Dense1x2>().quiet_zone(true).build())?;
        }
    }
    out(&funding.invoice)?;
    Ok(())
}

/// Quotes or makes the refund of a session.
pub(crate) async fn close(world: &World, args: CloseArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let id = args.session.find(&hall).await?;
    match args.to {
        None => quote(&hall, &id, args.output.output).await,
        Some(invoice) => refund(&hall, &id, &invoice, args.output.output).await,
    }
}

async fn quote(hall: &Hall, id: &SessionId, output: Output) -> Result<Exit, Failure> {
    let quote = hall.refund_quote(id).await?;
    let rate = hall.models().rate();
    match output {
        Output::Json => out_json(&json!({
            "session": id, "free_msat": quote.free, "payable_msat": quote.payable, "fee_max_msat": quote.fee_max,
            "at_work_msat": quote.at_work,
        }))?,
        Output::Text => {
            out(&format!("session {id} has {} free, with the money of the wallet", both(quote.free, rate)))?;
            if quote.at_work > Msat::ZERO {
                out(&format!("{} more are granted to work that has not ended", both(quote.at_work, rate)))?;
            }
            if quote.payable > Msat::ZERO {
                let fee = sats(quote.fee_max);
                out(&format!("at most {} can be paid back, with a fee of up to {fee}", both(quote.payable, rate)))?;
                let amount = quote.payable.get() / 1000;
                note(&format!("make an invoice for at most {amount} sat, and run: guildhall close {id} --to INVOICE"));
            } else {
                note("this is too little to pay back: a payment needs 1 sat and a fee of up to 2 sat");
            }
        }
    }
    Ok(Exit::Done)
}

async fn refund(hall: &Hall, id: &SessionId, invoice: &str, output: Output) -> Result<Exit, Failure> {
    let refund = hall.refund(id, invoice).await?;
    note(&format!("paying {} to the invoice; payment {}", both(refund.money, hall.models().rate()), refund.payment));
    let (view, unfinished) = tokio::select! {
        view = hall.wait_for_payment(refund.payment, REFUND_WAIT) => (view?, Exit::Wallet),
        _ = tokio::signal::ctrl_c() => (hall.payment(refund.payment).await?, Exit::Interrupted),
    };
    if output == Output::Json {
        out_json(&payment_json(&view))?;
    } else {
        out(&payment_line(&view))?;
    }
    Ok(match view.end {
        Some(PaymentEnd::Settled { .. }) => Exit::Done,
        Some(PaymentEnd::Failed(_)) => Exit::Wallet,
        None => {
            note("the payment has not ended. Its money stays held. To see it and to continue, run: guildhall payments");
            unfinished
        }
    })
}

/// Lists the payments, or ends one.
pub(crate) async fn payments(world: &World, args: PaymentsArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    if let Some(PaymentsAction::Resolve { payment, paid, .. }) = &args.action {
        let how = match paid {
            Some(preimage) => Resolution::paid(preimage).map_err(guildhall::HallError::from)?,
            None => Resolution::Failed,
        };
        hall.resolve_payment(*payment, how).await?;
    }
    hall.settle_payments(SETTLE_WAIT).await?;
    let payments = hall.payments().await?;
    match args.output.output {
        Output::Json => out_json(&payments.iter().map(payment_json).collect::<Vec<_>>())?,
        Output::Text if payments.is_empty() => note("no payments yet"),
        Output::Text => payments.iter().try_for_each(|payment| out(&payment_line(payment)))?,
    }
    Ok(if payments.iter().any(|payment| payment.end.is_none()) { Exit::Wallet } else { Exit::Done })
}

fn payment_line(view: &PaymentView) -> String {
    let state = match view.end {
        Some(PaymentEnd::Settled { fee, .. }) => format!("paid, fee {}", sats(fee)),
        Some(PaymentEnd::Failed(FailedBecause::Refused)) => "failed: the wallet refused it".to_owned(),
        Some(PaymentEnd::Failed(FailedBecause::Expired)) => "failed: its invoice expired".to_owned(),
        Some(PaymentEnd::Failed(FailedBecause::Person)) => "failed: a person said so".to_owned(),
        None if view.attempts == 0 => "waits".to_owned(),
        None => format!("unknown after {} requests: {} stay held", view.attempts, sats(held(view))),
    };
    format!("{}  {:>10}  {}  {state}", view.payment, sats(view.money), view.from)
}

fn held(view: &PaymentView) -> Msat {
    view.money.plus(view.fee_max).unwrap_or(Msat::SUPPLY)
}

fn payment_json(view: &PaymentView) -> Value {
    let (state, fee, preimage) = match view.end {
        Some(PaymentEnd::Settled { fee, preimage }) => ("paid", Some(fee), Some(preimage)),
        Some(PaymentEnd::Failed(_)) => ("failed", None, None),
        None if view.attempts == 0 => ("waits", None, None),
        None => ("unknown", None, None),
    };
    json!({
        "payment": view.payment, "from": view.from, "amount_msat": view.money, "fee_max_msat": view.fee_max, "state": state,
        "fee_msat": fee, "preimage": preimage, "attempts": view.attempts, "at": view.at, "expires": view.expires,
    })
}

/// Prints the ledger.
pub(crate) async fn ledger(world: &World, args: LedgerArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let session = match &args.session {
        Some(typed) => Some(typed.find(&hall).await?),
        None => None,
    };
    let ledger = hall.ledger().await?;
    let postings: Vec<&Posting> = match &session {
        Some(session) => ledger.of_session(session).collect(),
        None => ledger.postings.iter().collect(),
    };
    match args.output.output {
        Output::Json => out_json(&ledger_json(&ledger, &postings))?,
        Output::Text if postings.is_empty() => note("no money of a wallet has moved yet"),
        Output::Text => {
            for posting in postings {
                let Posting { from, to, money, what, .. } = posting;
                out(&format!("{:>14}  {from} -> {to}: {what}", sats(*money)))?;
            }
            out("")?;
            out(&format!("{:>14}  in the wallet", signed(ledger.in_wallet())))?;
            for (entry, balance) in ledger.balances.iter().filter(|(entry, _)| **entry != Entry::Wallet) {
                let owed = match entry {
                    Entry::House => "left for the house, which pays the providers".to_owned(),
                    Entry::Wallet | Entry::Session(_) | Entry::Payee(_) | Entry::UnderWay(_) => {
                        format!("owed to {entry}")
                    }
                };
                out(&format!("{:>14}  {owed}", signed(*balance)))?;
            }
            note("what is in the wallet because of this hall is the sum of the lines below it");
        }
    }
    Ok(Exit::Done)
}

fn signed(msat: i128) -> String {
    let amount = sats(Msat::capped(msat.unsigned_abs()));
    if msat < 0 { format!("-{amount}") } else { amount }
}

fn ledger_json(ledger: &Ledger, postings: &[&Posting]) -> Value {
    let posting = |posting: &&Posting| {
        let Posting { at, from, to, money, what } = posting;
        json!({"at": at.map(|UnixMs(at)| at), "from": from.to_string(), "to": to.to_string(), "msat": money, "what": what})
    };
    let balances: Vec<Value> = ledger
        .balances
        .iter()
        .map(|(entry, balance)| json!({"account": entry.to_string(), "msat": i64::try_from(*balance).ok()}))
        .collect();
    json!({"postings": postings.iter().map(posting).collect::<Vec<_>>(), "balances": balances})
}
