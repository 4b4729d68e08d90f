//! Prints the bill: the cost of each contract in both currencies, and how much of it is known. Only the JSON form has the chain's
//! head, which shows later whether facts are missing. People get the head from `verify`.

mod json;
mod table;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use guildhall::kernel::{AskKey, Msat, Outcome, Path, Quantity, Tokens};
use guildhall::local::{Head, SessionId};
use guildhall::{Bill, Charges, DatedRate, EarnedFee, Line, Overrun};

pub(crate) use self::json::BillJson;
use self::table::{Column, Table};
use crate::amount::{Money, at_rate, both, dollars, payer, sats, sum};
use crate::live::HowEnded;
use crate::print::tame;
use crate::screen::cut;
use crate::world::REHEARSAL;

/// How many reserved calls of a contract are named.
const NAMED_MAX: usize = 3;

/// How many agents the line about fees names.
const EARNERS_MAX: usize = 10;

/// How much of a warning is shown, in characters.
const WARNING_CHARS_MAX: usize = 200;

/// How many contracts a short bill lists.
const ROWS_MAX: usize = 10;

/// The widest name that the table shows, in columns.
const NAME_COLUMNS_MAX: usize = 24;

/// How much of a bill is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The most important contracts, and one line for the others.
    Short,
    /// Every contract, and the cost of each with its hires.
    Whole,
}

/// The contents of a bill.
pub(crate) struct Sheet<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) bill: Cow<'a, Bill>,
    /// The names of contracts whose name is not the agent's.
    pub(crate) names: BTreeMap<Path, String>,
    pub(crate) rate: &'a DatedRate,
    pub(crate) model: &'a str,
    /// Whether the money of a wallet pays.
    pub(crate) money: Money,
    /// The token limit that ended the root, if one did.
    pub(crate) out_of_tokens: Option<u64>,
    pub(crate) granted: Msat,
    /// How much corrections have returned to the session.
    pub(crate) credited: Msat,
    pub(crate) head: &'a Head,
    pub(crate) violations: &'a [String],
}

impl Sheet<'_> {
    /// Returns the bill for people, in rows of at most this many columns if it goes to a terminal.
    pub(crate) fn lines(&self, extent: Extent, columns: Option<usize>) -> Vec<String> {
        let kind: Vec<String> =
            ["bill".to_owned()].into_iter().chain(self.paid_by()).chain([at_rate(self.rate)]).collect();
        let mut lines = vec![format!("{}:", kind.join(", "))];
        let (listed, others) = self.split(extent);
        lines.extend(self.table(&listed).lines(columns));
        lines.extend(self.unlisted(&others));
        for line in &listed {
            self.notes(line, extent, &mut lines);
        }
        lines.push(self.total());
        lines.extend(self.fees());
        let overrun = self.bill.overrun();
        if overrun > Msat::ZERO {
            let overrun = both(overrun, self.rate);
            lines.push(format!(
                "  OVERRUN: providers charged {overrun} more than was held. The budget does not cover it"
            ));
        }
        lines.extend(
            self.bill
                .usage_warnings()
                .iter()
                .map(|warning| format!("  {}", tame(&warning.to_string(), WARNING_CHARS_MAX))),
        );
        if self.credited > Msat::ZERO {
            lines.push(format!("  corrections have returned {} to the session", sats(self.credited)));
        }
        lines.push(match self.violations {
            [] => "  checked: every balance adds up".to_owned(),
            broken => format!("  ERROR: the balances don't add up, please report this: {}", broken.join("; ")),
        });
        lines
    }

    /// Who pays for the listed models. Empty if no model is known and the wallet does not pay.
    fn paid_by(&self) -> BTreeSet<String> {
        match self.money {
            Money::Wallet => BTreeSet::from(["wallet".to_owned()]),
            Money::Play => {
                let models = self.bill.lines.iter().filter_map(|line| Some((line.model.as_deref()?, line.nominal)));
                models.collect::<BTreeSet<_>>().into_iter().map(|(model, nominal)| payer(model, nominal)).collect()
            }
        }
    }

    /// Returns the contracts that are listed: the root, contracts with notes, and the most expensive; then the others. Both are in
    /// the order of the tree.
    fn split(&self, extent: Extent) -> (Vec<&Line>, Vec<&Line>) {
        let all = &self.bill.lines;
        if extent == Extent::Whole || all.len() <= ROWS_MAX {
            return (all.iter().collect(), Vec::new());
        }
        let mut by_weight: Vec<&Line> = all.iter().collect();
        by_weight.sort_by_key(|line| {
            let is_noted = !line.overruns.is_empty() || line.own.total() > line.own.used || !line.under_way.is_empty();
            (line.contract.level() > 0, !is_noted, std::cmp::Reverse(line.own.total()))
        });
        let listed: BTreeSet<&Path> = by_weight.iter().take(ROWS_MAX).map(|line| &line.contract).collect();
        all.iter().partition(|line| listed.contains(&line.contract))
    }

    /// Returns one line for the contracts that are not listed.
    fn unlisted(&self, others: &[&Line]) -> Option<String> {
        let cost = charges(others.iter().fold(Charges::default(), |sum, line| sum.and(line.own)), sats);
        let list = format!("guildhall show {}", self.session);
        (!others.is_empty()).then(|| format!("  … and {} more: {cost}; all of them: {list}", others.len()))
    }

    fn table(&self, listed: &[&Line]) -> Table {
        let unit = listed.first().map_or("tokens", |line| unit(line));
        let several = self.bill.models().len() > 1;
        let is_nominal = self.is_nominal();
        let mut columns = vec![
            Column::left("contract", 3, |line| line.contract.to_string()),
            Column::left("agent", 3, |line| cut(self.name(line), NAME_COLUMNS_MAX)),
        ];
        if several {
            columns.push(Column::left("model", 0, |line| model(line, is_nominal)));
        }
        columns.push(Column::right("used", 3, |line| sats(line.own.used)));
        columns.push(Column::right("", 2, |line| self.rate.usd_per_btc.to_usd(line.own.used).to_string()));
        if listed.iter().any(|line| line.all != line.own) {
            columns.push(Column::right("with hires", 1, |line| sats(line.all.used)));
        }
        columns.push(Column::right("calls", 2, |line| line.calls.to_string()));
        columns.push(Column::right(&format!("{unit} in"), 1, |line| line.tokens.input.to_string()));
        if listed.iter().any(|line| line.tokens.cached > 0) {
            columns.push(Column::right("cached", 0, |line| line.tokens.cached.to_string()));
        }
        columns.push(Column::right("out", 1, |line| line.tokens.output.to_string()));
        let all_done = listed.iter().all(|line| line.outcome == Some(Outcome::Done) && line.lack.is_none());
        columns.push(Column::left("state", if all_done { 2 } else { 3 }, |line| self.state(line)));
        Table::new(&columns, listed)
    }

    fn name<'a>(&'a self, line: &'a Line) -> &'a str {
        self.names.get(&line.contract).map_or(line.agent.as_str(), String::as_str)
    }

    fn state(&self, line: &Line) -> String {
        let out_of_tokens = self.out_of_tokens.filter(|_| line.contract.level() == 0);
        let ended = |outcome| HowEnded { outcome, lack: line.lack, cut: line.cut, out_of_tokens }.to_string();
        line.outcome.map_or_else(|| "not ended".to_owned(), ended)
    }

    /// Adds the lines about a contract that its row has no room for.
    fn notes(&self, line: &Line, extent: Extent, lines: &mut Vec<String>) {
        let contract = &line.contract;
        let who = format!("  {contract} {}:", self.name(line));
        if line.own.estimated > Msat::ZERO {
            let estimated = both(line.own.estimated, self.rate);
            lines.push(format!(
                "{who} estimated {estimated}: usage was not reported in full, or can't be right: this is an upper bound"
            ));
        }
        if line.own.reserved > Msat::ZERO {
            lines.push(format!("{who} {}", self.reserved(line)));
        }
        for (ask, held) in &line.under_way {
            let held = both(*held, self.rate);
            lines
                .push(format!("{who} {held} held for call {contract}{ask}, which has no answer yet and may be billed"));
        }
        for Overrun { ask, held, excess } in &line.overruns {
            let (held, excess) = (sats(*held), both(*excess, self.rate));
            lines.push(format!("{who} OVERRUN: call {contract}{ask} cost {excess} more than the {held} held for it"));
        }
        if extent == Extent::Whole && (line.all != line.own || line.all_tokens != line.tokens) {
            let (all, tokens) = (charges(line.all, sats), tokens(line.all_tokens, unit(line)));
            lines.push(format!("{who} with its hires: {all}, {tokens}"));
        }
    }

    /// Describes which calls money is reserved for, and what to type once their cost is known.
    fn reserved(&self, line: &Line) -> String {
        let key = |ask| AskKey { contract: line.contract.clone(), ask }.to_string();
        let named: Vec<String> = line.reserved.iter().take(NAMED_MAX).map(|(ask, _)| key(*ask)).collect();
        let more = match line.reserved.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reserved = both(line.own.reserved, self.rate);
        let first = named.first().map_or("CALL", String::as_str);
        let all = if line.reserved.len() > 1 { ", or with --all AMOUNT for every reserved call" } else { "" };
        let correct = format!("guildhall correct {} {first} AMOUNT{all}", self.session);
        let named = named.join(", ");
        if line.nominal {
            return format!(
                "reserved {reserved} for call {named}{more} (not finished); no provider charges for this model"
            );
        }
        format!(
            "reserved {reserved} for call {named}{more}, which may have been billed; once you know the cost, type: {correct}"
        )
    }

    fn total(&self) -> String {
        let all = self.bill.charges();
        let models = self.bill.models();
        let under_way = self.bill.lines.iter().flat_map(|line| &line.under_way);
        let held = under_way.fold(Msat::ZERO, |all, (_, held)| sum(all, *held));
        let left = self.granted.get().saturating_sub(all.total().get()).saturating_sub(held.get());
        let left = Msat::capped(u128::from(left));
        let held = if held == Msat::ZERO { String::new() } else { format!(", held {}", both(held, self.rate)) };
        let dollars = |amount| dollars(self.rate.usd_per_btc.to_usd(amount));
        let total = match self.money {
            Money::Wallet => String::new(),
            Money::Play => format!(" {} of {}:", dollars(all.total()), dollars(self.granted)),
        };
        format!(
            "  total{total} {}{held} of {}; {} left; {}",
            charges(all, |amount| match self.money {
                Money::Wallet => both(amount, self.rate),
                Money::Play => sats(amount),
            }),
            sats(self.granted),
            sats(left),
            if models.len() > 1 { format!("{} models", models.len()) } else { format!("model {}", self.model) }
        )
    }

    /// Returns the part of the cost that is fees, if there is any.
    fn fees(&self) -> Option<String> {
        let mut earned = self.bill.fees();
        let (fees, all) = (self.bill.fee_total(), self.bill.charges().total());
        if earned.is_empty() {
            return None;
        }
        earned.sort_by_key(|fee| std::cmp::Reverse(fee.money));
        let named: Vec<String> = earned.iter().take(EARNERS_MAX).map(earner).collect();
        let more = match earned.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let rest = all.minus(fees).unwrap_or(Msat::ZERO);
        let (fees, rest) = (both(fees, self.rate), both(rest, self.rate));
        Some(format!("  of it fees {fees}: {}{more}; models and tools {rest}", named.join(", ")))
    }

    fn is_nominal(&self) -> bool {
        self.bill.is_nominal()
    }
}

/// The model of a contract. If nobody bills any model, the heading of the bill says so.
fn model(line: &Line, is_nominal: bool) -> String {
    let nominal = if line.nominal && !is_nominal { ", nominal" } else { "" };
    line.model.as_ref().map_or_else(String::new, |model| format!("{model}{nominal}"))
}

/// Describes what an agent has earned. A payee is named if it has another name than the agent.
fn earner(EarnedFee { agent, payee, reports, money }: &EarnedFee) -> String {
    let payee = payee.as_ref().filter(|payee| payee.as_str() != agent.as_str());
    let to = payee.map_or_else(String::new, |payee| format!(" to {payee}"));
    let reports = if *reports == 1 { String::new() } else { format!(" for {reports} reports") };
    format!("{agent} {}{to}{reports}", sats(*money))
}

/// Describes charges by how much is known about them. Parts that are zero are left out, except for `used`.
pub(crate) fn charges(Charges { used, estimated, reserved }: Charges, amount: impl Fn(Msat) -> String) -> String {
    let also = [("estimated", estimated), ("reserved", reserved)];
    let also = also.into_iter().filter(|(_, part)| *part > Msat::ZERO);
    also.fold(format!("used {}", amount(used)), |said, (what, part)| format!("{said}, {what} {}", amount(part)))
}

fn unit(line: &Line) -> &'static str {
    if line.model.as_deref() == Some(REHEARSAL) { "bytes" } else { "tokens" }
}

fn tokens(Tokens { input, cached, output }: Tokens, unit: &str) -> String {
    let cached = if cached == 0 { String::new() } else { format!(" ({cached} cached)") };
    format!("{input} in{cached} + {output} out {unit}")
}
