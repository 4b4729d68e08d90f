//! `wallet`, `close` and `payments`: the wallet, and what leaves it.

use std::time::Duration;

use guildhall::kernel::{FailedBecause, Msat, PaymentEnd, PaymentHash, Quantity};
use guildhall::lightning::{PlainHttp, WalletUrl};
use guildhall::local::SessionId;
use guildhall::{DatedRate, Hall, HallError, PaymentView, Payouts, Resolution, WalletView};
use serde_json::{Value, json};

use crate::amount::{both, sats, sum};
use crate::args::Output;
use crate::args::money::{CloseArgs, PaymentsAction, PaymentsArgs, Switch, WalletAction, WalletArgs};
use crate::commands::fund::{Unpaid, unpaid, utc};
use crate::commands::out_json;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::prepare::warn_of_payees;
use crate::print::{WARN, count, note, out, say_in};
use crate::signals::Signals;
use crate::world::World;

/// How long `close` waits for its payment. A payment that takes longer continues with any later command.
const REFUND_WAIT: Duration = Duration::from_mins(1);

/// When `close` says that its payment takes longer than usual.
const SLOW: Duration = Duration::from_secs(3);

/// How long `payments` and `wallet` let the wallet work.
const SETTLE_WAIT: Duration = Duration::from_secs(5);

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
    let unpaid = unpaid(&hall, None).await?;
    match args.output.output {
        Output::Json => out_json(&wallet_json(&view, &unpaid))?,
        Output::Text => show_wallet(&view, &unpaid, hall.models().rate())?,
    }
    warn_of_payees(world);
    let is_well = view.frozen.is_empty() && view.trouble.is_none() && view.lacks() == Msat::ZERO;
    Ok(if is_well { Exit::Done } else { Exit::Wallet })
}

fn show_wallet(view: &WalletView, unpaid: &[Unpaid], rate: &DatedRate) -> Result<(), Failure> {
    out(&format!("wallet    {} at {}", view.wallet, view.url))?;
    let balance = view.balance.map_or_else(|| "not known now".to_owned(), |balance| both(balance, rate));
    out(&format!("has       {balance}"))?;
    let owed = view.owed_to_sessions.plus(view.owed_to_payees).unwrap_or(Msat::SUPPLY);
    let (sessions, payees) = (sats(view.owed_to_sessions), sats(view.owed_to_payees));
    out(&format!("owes      {} ({sessions} to sessions, {payees} to payees)", both(owed, rate)))?;
    out(&format!("payouts   {}", if view.payouts_allowed { "on" } else { "off: fees wait" }))?;
    for invoice in unpaid {
        out(&format!("invoice   for session {}: {invoice}", invoice.session()))?;
    }
    if view.lacks() > Msat::ZERO {
        let lacks = both(view.lacks(), rate);
        say_in(WARN, &format!("the wallet has {lacks} less than this hall owes. No new work starts until you add it"));
    }
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

fn wallet_json(view: &WalletView, unpaid: &[Unpaid]) -> Value {
    json!({
        "wallet": view.wallet, "url": view.url, "balance_msat": view.balance, "owed_to_sessions_msat": view.owed_to_sessions,
        "owed_to_payees_msat": view.owed_to_payees, "payouts": view.payouts_allowed, "frozen": view.frozen,
        "trouble": view.trouble, "unpaid_invoices": unpaid.iter().map(Unpaid::json).collect::<Vec<_>>(),
    })
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
    let (unpaid, held) = (unpaid(hall, Some(id)).await?, hall.journal().folded_account(id).await?.withdrawing());
    let rate = hall.models().rate();
    match output {
        Output::Json => out_json(&json!({
            "session": id, "money": "wallet", "free_msat": quote.free, "payable_msat": quote.payable,
            "fee_max_msat": quote.fee_max, "at_work_msat": quote.at_work, "payment": held.map(|(payment, _)| payment),
            "held_msat": held.map_or(Msat::ZERO, |(_, money)| money),
            "unpaid_invoices": unpaid.iter().map(Unpaid::json).collect::<Vec<_>>(),
        }))?,
        Output::Text => {
            out(&format!("session {id} has {} free, with the money of the wallet", both(quote.free, rate)))?;
            if quote.at_work > Msat::ZERO {
                out(&format!("{} more are granted to work that has not ended", both(quote.at_work, rate)))?;
            }
            if let Some(held) = held {
                out(&format!("{} more: see `guildhall payments`", under_way(held)))?;
            }
            for invoice in &unpaid {
                out(&format!("invoice for {invoice}"))?;
            }
            if let Some((payment, _)) = held {
                let until = utc(hall.payment(payment).await?.expires);
                note(&format!(
                    "until that payment has ended, no other payment can be made. It ends some minutes after {until} UTC, when its \
                     invoice expires, or earlier. If you know how it ended, run: guildhall payments resolve --help"
                ));
            } else if quote.payable > Msat::ZERO {
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

/// The money that is held for a payment that has not ended.
pub(crate) fn under_way((payment, money): (PaymentHash, Msat)) -> String {
    format!("payment {payment} is under way and holds {}", sats(money))
}

async fn refund(hall: &Hall, id: &SessionId, invoice: &str, output: Output) -> Result<Exit, Failure> {
    let refund = hall.refund(id, invoice).await.map_err(Failure::of_typed_invoice)?;
    let mut signals = Signals::listen()?;
    let amount = both(refund.money, hall.models().rate());
    note(&format!("paying {amount} of the wallet's money to the invoice; payment {}", refund.payment));
    let slow = async {
        tokio::time::sleep(SLOW).await;
        note("the payment has not ended yet: waiting for at most a minute");
        say_why_payments_wait(hall).await?;
        std::future::pending::<Result<Exit, Failure>>().await
    };
    let unfinished = tokio::select! {
        waited = hall.wait_for_payment(refund.payment, REFUND_WAIT) => waited.map(|_| Exit::Wallet)?,
        failed = slow => failed?,
        () = signals.any() => Exit::Interrupted,
    };
    let view = hall.payment(refund.payment).await?;
    if output == Output::Json {
        out_json(&payment_json(&view))?;
    } else {
        out(&payment_line(&view))?;
    }
    Ok(match view.end {
        Some(PaymentEnd::Settled { .. }) => {
            let free = hall.journal().folded_account(id).await?.free();
            note(&format!("session {id} has {} left", sats(free)));
            Exit::Done
        }
        Some(PaymentEnd::Failed(_)) => Exit::Wallet,
        None => {
            note("the payment has not ended. Its money stays held. To see it and to continue, run: guildhall payments");
            say_why_payments_wait(hall).await?;
            unfinished
        }
    })
}

/// Says why payments wait, as far as it is known.
async fn say_why_payments_wait(hall: &Hall) -> Result<(), Failure> {
    if hall.treasury().await?.frozen().next().is_some() {
        note(
            "nothing is paid now, because the wallet made a payment that this hall does not know. To see it, run: guildhall wallet",
        );
    }
    if let Some(holder) = hall.other_wallet_process().await? {
        note(&format!(
            "process {} asks the wallet now, and payments wait for it. If that process is stopped, continue it or end it",
            holder.pid
        ));
    }
    Ok(())
}

/// Lists the payments, or ends one.
pub(crate) async fn payments(world: &World, args: PaymentsArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    if let Some(PaymentsAction::Resolve { payment, paid, .. }) = &args.action {
        let how = match paid {
            Some(preimage) => Resolution::paid(preimage).map_err(HallError::from)?,
            None => Resolution::Failed,
        };
        hall.resolve_payment(*payment, how).await?;
        let ended = hall.payment(*payment).await?;
        match args.output.output {
            Output::Json => out_json(&payment_json(&ended))?,
            Output::Text => out(&payment_line(&ended))?,
        }
        return Ok(Exit::Done);
    }
    hall.settle_payments(SETTLE_WAIT).await?;
    let payments = hall.payments().await?;
    match args.output.output {
        Output::Json => out_json(&payments.iter().map(payment_json).collect::<Vec<_>>())?,
        Output::Text if payments.is_empty() => note("no money of the wallet was paid to anybody yet"),
        Output::Text => {
            note("payments with the money of the wallet, the newest first:");
            payments.iter().try_for_each(|payment| out(&payment_line(payment)))?;
        }
    }
    if payments.iter().all(|payment| payment.end.is_some()) {
        return Ok(Exit::Done);
    }
    say_why_payments_wait(&hall).await?;
    Ok(Exit::Wallet)
}

fn payment_line(view: &PaymentView) -> String {
    let state = match view.end {
        Some(PaymentEnd::Settled { fee, .. }) => format!("paid, fee {}", sats(fee)),
        Some(PaymentEnd::Failed(FailedBecause::Refused)) => "failed: the wallet refused it".to_owned(),
        Some(PaymentEnd::Failed(FailedBecause::Expired)) => "failed: its invoice expired".to_owned(),
        Some(PaymentEnd::Failed(FailedBecause::Person)) => "failed, as a person said".to_owned(),
        None if view.attempts == 0 => "waits".to_owned(),
        None => {
            let requests = count(usize::try_from(view.attempts).unwrap_or(usize::MAX), "request");
            format!("unknown after {requests}: {} stay held", sats(sum(view.money, view.fee_max)))
        }
    };
    format!("{}  {:>10}  {}  {state}", view.payment, sats(view.money), view.from)
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
