//! `wallet`, `close` and `payments`: the wallet, and what leaves it.

use std::time::Duration;

use guildhall::kernel::{FailedBecause, Msat, PaymentEnd, PaymentHash, Quantity};
use guildhall::lightning::{LightningError, PlainHttp, WalletUrl};
use guildhall::local::SessionId;
use guildhall::{DatedRate, Hall, HallError, PaymentView, Resolution, WalletError, WalletView};
use serde_json::{Value, json};

use crate::amount::{both, sats};
use crate::args::Output;
use crate::args::money::{CloseArgs, PaymentsAction, PaymentsArgs, Switch, WalletAction, WalletArgs};
use crate::commands::fund::{Unpaid, unpaid};
use crate::commands::out_json;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{WARN, count, note, out, say_in};
use crate::watch::Signals;
use crate::world::World;

/// How long `close` waits for its payment. A payment that takes longer continues with any later command.
const REFUND_WAIT: Duration = Duration::from_mins(1);

/// How long `close` waits before it checks the keys. Most payments end earlier, and need no more requests.
const KEYS_CHECKED_AFTER: Duration = Duration::from_secs(1);

/// How long `payments` and `wallet payouts on` let the wallet work.
const SETTLE_WAIT: Duration = Duration::from_secs(5);

/// Shows, connects or changes the wallet.
pub(crate) async fn wallet(world: &World, args: WalletArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let view = match args.action {
        None => hall.wallet().await?,
        Some(WalletAction::Connect { url, plain_http }) => {
            let plain_http = if plain_http { PlainHttp::Anywhere } else { PlainHttp::Loopback };
            let url = WalletUrl::parse(&url, plain_http).map_err(|why| Failure::usage(why.to_string()))?;
            hall.connect_wallet(url).await?
        }
        Some(WalletAction::Payouts { switch }) => {
            hall.allow_payouts(switch == Switch::On).await?;
            hall.settle_payments(SETTLE_WAIT).await?;
            hall.wallet().await?
        }
    };
    let unpaid = unpaid(&hall, None).await?;
    match args.output.output {
        Output::Json => out_json(&wallet_json(&view, &unpaid))?,
        Output::Text => show_wallet(&view, &unpaid, hall.models().rate())?,
    }
    for (payee, variable) in world.keyless_payees() {
        say_in(WARN, &format!("the variable {variable} is not set, so the fees of payee {payee} wait"));
    }
    Ok(if view.frozen.is_empty() && view.trouble.is_none() { Exit::Done } else { Exit::Wallet })
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
    if !unpaid.is_empty() {
        note("to see whether an invoice was paid, run: guildhall close ID");
    }
    for payment in &view.frozen {
        say_in(
            WARN,
            &format!(
                "the wallet made payment {payment}, which this hall does not know: the journal is an old backup, or somebody else \
                 uses the wallet. Nothing is paid. If the payment is all right, run: guildhall wallet payouts on"
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

/// The money that is held for a payment that has not ended.
pub(crate) fn under_way((payment, money): (PaymentHash, Msat)) -> String {
    format!("payment {payment} is under way and holds {}", sats(money))
}

async fn refund(hall: &Hall, id: &SessionId, invoice: &str, output: Output) -> Result<Exit, Failure> {
    let refund = hall.refund(id, invoice).await.map_err(Failure::of_typed_invoice)?;
    let mut signals = Signals::listen()?;
    let amount = both(refund.money, hall.models().rate());
    note(&format!("paying {amount} of the wallet's money to the invoice; payment {}", refund.payment));
    let (unfinished, why) = tokio::select! {
        waited = hall.wait_for_payment(refund.payment, REFUND_WAIT) => waited.map(|_| (Exit::Wallet, None))?,
        why = wrong_keys(hall, refund.payment) => (Exit::Wallet, Some(why)),
        () = signals.any() => (Exit::Interrupted, None),
    };
    let view = hall.payment(refund.payment).await?;
    if output == Output::Json {
        out_json(&payment_json(&view))?;
    } else {
        out(&payment_line(&view))?;
    }
    Ok(match (view.end, why) {
        (Some(PaymentEnd::Settled { .. }), _) => Exit::Done,
        (Some(PaymentEnd::Failed(_)), _) => Exit::Wallet,
        (None, Some(why)) => {
            say_in(
                WARN,
                &format!(
                    "{why}. The payment waits, and its money stays held. With the right keys, run: guildhall payments"
                ),
            );
            unfinished
        }
        (None, None) => {
            note("the payment has not ended. Its money stays held. To see it and to continue, run: guildhall payments");
            unfinished
        }
    })
}

/// Returns when it is clear that a payment can't be made with the keys of this hall, and that no request for it has left. Any other
/// problem can pass, so this waits for ever.
async fn wrong_keys(hall: &Hall, payment: PaymentHash) -> HallError {
    tokio::time::sleep(KEYS_CHECKED_AFTER).await;
    match (hall.check_wallet_keys().await, hall.payment(payment).await) {
        (Err(HallError::Wallet(WalletError::Server(why))), Ok(view)) if is_about_keys(&why) && view.attempts == 0 => {
            WalletError::Server(why).into()
        }
        (Ok(()) | Err(_), _) => std::future::pending().await,
    }
}

fn is_about_keys(why: &LightningError) -> bool {
    match why {
        LightningError::WrongKey { .. }
        | LightningError::AdminKeyAsInvoiceKey
        | LightningError::InvoiceKeyAsAdminKey
        | LightningError::OtherWallet { .. }
        | LightningError::NotThisWallet { .. }
        | LightningError::HiddenPayments { .. }
        | LightningError::NoAdminKey => true,
        LightningError::Tls { .. }
        | LightningError::Unreachable { .. }
        | LightningError::NoReply { .. }
        | LightningError::NotLnbits { .. }
        | LightningError::TooManyRequests { .. }
        | LightningError::Server { .. }
        | LightningError::NotWholeSats { .. }
        | LightningError::LongMemo { .. }
        | LightningError::Expiry
        | LightningError::OtherAmount { .. }
        | LightningError::Invoice(_)
        | LightningError::ListChanged
        | LightningError::LongList { .. } => false,
    }
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
    Ok(if payments.iter().any(|payment| payment.end.is_none()) { Exit::Wallet } else { Exit::Done })
}

fn payment_line(view: &PaymentView) -> String {
    let state = match view.end {
        Some(PaymentEnd::Settled { fee, .. }) => format!("paid, fee {}", sats(fee)),
        Some(PaymentEnd::Failed(FailedBecause::Refused)) => "failed: the wallet refused it".to_owned(),
        Some(PaymentEnd::Failed(FailedBecause::Expired)) => "failed: its invoice expired".to_owned(),
        Some(PaymentEnd::Failed(FailedBecause::Person)) => "failed: a person said so".to_owned(),
        None if view.attempts == 0 => "waits".to_owned(),
        None => {
            let requests = count(usize::try_from(view.attempts).unwrap_or(usize::MAX), "request");
            format!("unknown after {requests}: {} stay held", sats(held(view)))
        }
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
