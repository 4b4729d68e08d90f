//! `ledger`: the double-entry ledger of the wallet's money.

use guildhall::kernel::{Msat, SessionKind};
use guildhall::local::{SessionId, UnixMs};
use guildhall::{Entry, Hall, Ledger, PostedAt, Posting};
use serde_json::{Value, json};

use crate::amount::sats;
use crate::args::Output;
use crate::args::money::LedgerArgs;
use crate::commands::fund::utc;
use crate::commands::out_json;
use crate::commands::run::here;
use crate::exit::{Exit, Failure};
use crate::print::{note, out};
use crate::world::World;

/// Prints the ledger.
pub(crate) async fn ledger(world: &World, args: LedgerArgs) -> Result<Exit, Failure> {
    let hall = world.hall(here()?)?;
    let session = match &args.session {
        Some(typed) => Some(typed.find(&hall).await?),
        None => None,
    };
    let ledger = match &session {
        Some(session) => hall.ledger().await?.of_session(session),
        None => hall.ledger().await?,
    };
    match args.output.output {
        Output::Json => out_json(&ledger_json(&ledger))?,
        Output::Text if ledger.postings.is_empty() => note(&empty(&hall, session.as_ref()).await?),
        Output::Text => {
            note("the money of the wallet; times are in UTC");
            for posting in &ledger.postings {
                out(&line(posting))?;
            }
            out("")?;
            balances(&ledger, session.as_ref())?;
            if hall.treasury().await?.foreign().next().is_some() {
                note(
                    "payments that others made from the wallet are not in this ledger. To see what the wallet has, run: guildhall wallet",
                );
            }
        }
    }
    Ok(Exit::Done)
}

/// Why there is nothing to print, and what to type.
async fn empty(hall: &Hall, session: Option<&SessionId>) -> Result<String, Failure> {
    if let Some(id) = session {
        return Ok(match hall.journal().folded_account(id).await?.kind() {
            SessionKind::Play => format!(
                "the wallet does not pay for session {id}, and the ledger lists only the money of the wallet. To see its bill, run: guildhall show {id}"
            ),
            SessionKind::Wallet(_) => {
                format!(
                    "no money of the wallet has come into session {id} yet. To see its invoice, run: guildhall show {id}"
                )
            }
        });
    }
    Ok(if hall.treasury().await?.wallet().is_none() {
        "no wallet is connected, and the ledger lists only the money of the wallet. To connect a wallet, run: \
         guildhall wallet connect URL"
            .to_owned()
    } else {
        "no money of the wallet has moved yet. To fund a session, run: guildhall fund AMOUNT".to_owned()
    })
}

/// The width of the longest time: `after 2026-11-15 09:30`.
const TIME_COLUMNS: usize = 22;

fn line(Posting { at, from, to, money, what, .. }: &Posting) -> String {
    let at = match at {
        PostedAt::At(at) => utc(*at),
        PostedAt::After(at) => format!("after {}", utc(*at)),
    };
    format!("{at:>TIME_COLUMNS$}  {:>14}  {from} -> {to}: {what}", sats(*money))
}

/// Prints the balances: what is in the wallet, and whose it is.
fn balances(ledger: &Ledger, session: Option<&SessionId>) -> Result<(), Failure> {
    let because = session.map_or_else(|| " because of this hall".to_owned(), |id| format!(" because of session {id}"));
    out(&format!("{:>14}  in the wallet{because}", signed(ledger.in_wallet())))?;
    for (entry, balance) in ledger.balances.iter().filter(|(_, balance)| **balance != 0) {
        let owed = match entry {
            // It is the sum of the others.
            Entry::Wallet | Entry::Play => continue,
            Entry::House => "left for the house, which pays the providers".to_owned(),
            Entry::UnderWay(_) => format!("held for {entry}, which is under way"),
            // What was paid to the payee is not part of the session.
            Entry::Payee(_) if session.is_some() => format!("earned by {entry}"),
            Entry::Session(_) | Entry::Payee(_) => format!("owed to {entry}"),
        };
        out(&format!("{:>14}  {owed}", signed(*balance)))?;
    }
    note(&format!("what is in the wallet{because} is the sum of the lines below it"));
    Ok(())
}

fn signed(msat: i128) -> String {
    let amount = sats(Msat::capped(msat.unsigned_abs()));
    if msat < 0 { format!("-{amount}") } else { amount }
}

fn ledger_json(ledger: &Ledger) -> Value {
    let posting = |posting: &Posting| {
        let Posting { at, from, to, money, what, .. } = posting;
        let (at, after) = match at {
            PostedAt::At(UnixMs(at)) => (Some(at), None),
            PostedAt::After(UnixMs(after)) => (None, Some(after)),
        };
        let (from, to) = (from.to_string(), to.to_string());
        json!({"at": at, "after": after, "from": from, "to": to, "msat": money, "what": what})
    };
    let balances: Vec<Value> = ledger
        .balances
        .iter()
        .map(|(entry, balance)| json!({"account": entry.to_string(), "msat": i64::try_from(*balance).ok()}))
        .collect();
    json!({"postings": ledger.postings.iter().map(posting).collect::<Vec<_>>(), "balances": balances})
}
