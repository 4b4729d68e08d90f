//! Quotes: before the work, which agents earn which fees; after a rehearsal, the least that the same tree would cost with
//! well-known models.

use std::time::SystemTime;

use guildhall::kernel::{AgentName, Msat};
use guildhall::{Bill, Ended, FeeQuote, Models, Quote, Staffing, TOKEN_BYTES};
use serde_json::{Value, json};

use crate::amount::{Money, both, sats};
use crate::world::REHEARSAL;

/// The models that are quoted.
const QUOTED: [&str; 2] = ["haiku", "sonnet"];

/// How many agents a line about fees names.
const NAMED_MAX: usize = 10;

/// Describes which agents earn which fees, before the work starts. Nothing is said where no agent has a fee.
pub(crate) fn fees(staffing: &Staffing) -> Vec<String> {
    let quotes = staffing.fee_quotes();
    let unpaid: Vec<String> = staffing.agents_without_fee().into_iter().map(AgentName::to_string).collect();
    let money = match Money::of(staffing) {
        Money::Wallet => "from the wallet",
        Money::Play => "counted against the budget",
    };
    let mut lines = Vec::new();
    if !quotes.is_empty() {
        let fees = named(&quotes.iter().map(fee).collect::<Vec<_>>());
        lines.push(format!("fee for each accepted report, {money}: {fees}"));
    }
    if !unpaid.is_empty() {
        let unpaid = named(&unpaid);
        lines.push(format!(
            "no fee for {unpaid}: a fee needs a payee in your config, an agent file outside the project, and a hirer with `accept:`"
        ));
    }
    lines
}

fn fee(FeeQuote { agent, fee, payee }: &FeeQuote) -> String {
    let to = payee.as_ref().map_or_else(String::new, |payee| format!(" to payee {payee}"));
    format!("{agent} {}{to}", sats(*fee))
}

fn named(all: &[String]) -> String {
    let shown = all[..all.len().min(NAMED_MAX)].join(", ");
    match all.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns quotes for work in which every agent used the rehearsal. Other work gets none.
pub(crate) fn quotes(models: &Models, ended: &Ended) -> Vec<Quote> {
    if !ended.setup.staffing.models().into_iter().all(|model| model == REHEARSAL) {
        return Vec::new();
    }
    let now = SystemTime::now();
    QUOTED.iter().filter_map(|model| models.quote(&ended.bill, model, now)).collect()
}

/// The quotes as lines of text.
pub(crate) fn lines(quotes: &[Quote], bill: &Bill, models: &Models) -> Vec<String> {
    if quotes.is_empty() {
        return Vec::new();
    }
    let head = format!(
        "quote, an estimate with {TOKEN_BYTES} bytes per token: with a real model, the same tree would cost at least"
    );
    let line = |quote: &Quote| format!("  {} with {}", both(quote.cost, models.rate()), quote.model);
    // A quote is about the models alone.
    let fees = Some(bill.fee_total()).filter(|fees| *fees > Msat::ZERO);
    let fees = fees.map(|fees| format!("  and {} of fees", both(fees, models.rate())));
    std::iter::once(head).chain(quotes.iter().map(line)).chain(fees).collect()
}

/// The quotes as JSON.
pub(crate) fn json(quotes: &[Quote], models: &Models) -> Value {
    let one = |quote: &Quote| {
        let usd = models.rate().usd_per_btc.to_usd(quote.cost);
        json!({"model": quote.model, "estimate": true, "at_least": {"msat": quote.cost, "usd": usd}})
    };
    quotes.iter().map(one).collect()
}
