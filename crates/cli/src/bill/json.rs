//! The bill for programs. It is written without a tree of values: the bill of a large tree has thousands of lines.

use std::collections::BTreeSet;

use guildhall::kernel::{AgentName, AskId, AskKey, Msat, Outcome, Path, PayeeName, Tokens};
use guildhall::providers::Usd;
use guildhall::{Charges, EarnedFee, Lack, Line, Overrun, UsageWarning};
use serde::Serialize;

use super::Sheet;

/// A bill as JSON.
#[derive(Serialize)]
pub(crate) struct BillJson<'a> {
    model: &'a str,
    nominal: bool,
    /// `play` or `wallet`.
    money: &'static str,
    paid_by: BTreeSet<String>,
    granted: Amount,
    charged: Amount,
    used: Amount,
    estimated: Amount,
    reserved: Amount,
    overrun: Amount,
    /// Providers whose usage reports can't be right (their calls are part of `estimated`), and models with more input than was held.
    usage_warnings: Vec<UsageWarning>,
    credited: Amount,
    /// The part of `used` that is fees, and who earned it.
    fees: Amount,
    earned: Vec<EarnedJson>,
    tokens: Option<Tokens>,
    rate: RateJson<'a>,
    contracts: Vec<LineJson<'a>>,
    head: String,
    violations: &'a [String],
}

#[derive(Serialize)]
struct RateJson<'a> {
    usd_per_btc: Usd,
    date: &'a str,
}

#[derive(Serialize)]
struct LineJson<'a> {
    contract: &'a Path,
    agent: &'a str,
    name: &'a str,
    model: Option<&'a str>,
    nominal: bool,
    granted: Amount,
    own: ChargesJson,
    fee: Amount,
    payee: Option<&'a PayeeName>,
    all: ChargesJson,
    calls: u64,
    tokens: Tokens,
    all_tokens: Tokens,
    reserved: Vec<ReservedJson>,
    under_way: Vec<HeldJson>,
    overruns: Vec<OverrunJson>,
    outcome: Option<Outcome>,
    lack: Option<Lack>,
    /// Whether the report is cut: its model could not finish it.
    cut: bool,
}

#[derive(Serialize)]
struct ChargesJson {
    charged: Amount,
    used: Amount,
    estimated: Amount,
    reserved: Amount,
}

#[derive(Serialize)]
struct EarnedJson {
    agent: AgentName,
    payee: Option<PayeeName>,
    reports: u64,
    fees: Amount,
}

#[derive(Serialize)]
struct ReservedJson {
    ask: AskKey,
    reserved: Amount,
}

#[derive(Serialize)]
struct HeldJson {
    ask: AskKey,
    held: Amount,
}

#[derive(Serialize)]
struct OverrunJson {
    ask: AskKey,
    held: Amount,
    excess: Amount,
}

#[derive(Serialize)]
struct Amount {
    msat: Msat,
    usd: Usd,
}

impl Sheet<'_> {
    /// Returns the bill for programs.
    pub(crate) fn json(&self) -> BillJson<'_> {
        let all = self.bill.charges();
        BillJson {
            model: self.model,
            nominal: self.is_nominal(),
            money: self.money.in_a_word(),
            paid_by: self.paid_by(),
            granted: self.amount(self.granted),
            charged: self.amount(all.total()),
            used: self.amount(all.used),
            estimated: self.amount(all.estimated),
            reserved: self.amount(all.reserved),
            overrun: self.amount(self.bill.overrun()),
            usage_warnings: self.bill.usage_warnings(),
            credited: self.amount(self.credited),
            fees: self.amount(self.bill.fee_total()),
            earned: self.bill.fees().into_iter().map(|fee| self.earned(fee)).collect(),
            tokens: self.bill.lines.first().map(|line| line.all_tokens),
            rate: RateJson { usd_per_btc: Usd::from(self.rate.usd_per_btc), date: &self.rate.date },
            contracts: self.bill.lines.iter().map(|line| self.line(line)).collect(),
            head: self.head.to_string(),
            violations: self.violations,
        }
    }

    fn line<'a>(&'a self, line: &'a Line) -> LineJson<'a> {
        let ask = |ask: AskId| AskKey { contract: line.contract.clone(), ask };
        let reserved = line.reserved.iter();
        let under_way = line.under_way.iter();
        let overruns = line.overruns.iter().map(|overrun: &Overrun| OverrunJson {
            ask: ask(overrun.ask),
            held: self.amount(overrun.held),
            excess: self.amount(overrun.excess),
        });
        LineJson {
            contract: &line.contract,
            agent: line.agent.as_str(),
            name: self.name(line),
            model: line.model.as_deref(),
            nominal: line.nominal,
            granted: self.amount(line.granted),
            own: self.charges(line.own),
            fee: self.amount(line.fee),
            payee: line.payee.as_ref(),
            all: self.charges(line.all),
            calls: line.calls,
            tokens: line.tokens,
            all_tokens: line.all_tokens,
            reserved: reserved.map(|(id, held)| ReservedJson { ask: ask(*id), reserved: self.amount(*held) }).collect(),
            under_way: under_way.map(|(id, held)| HeldJson { ask: ask(*id), held: self.amount(*held) }).collect(),
            overruns: overruns.collect(),
            outcome: line.outcome,
            lack: line.lack,
            cut: line.cut,
        }
    }

    fn earned(&self, EarnedFee { agent, payee, reports, money }: EarnedFee) -> EarnedJson {
        EarnedJson { agent, payee, reports, fees: self.amount(money) }
    }

    fn charges(&self, of: Charges) -> ChargesJson {
        ChargesJson {
            charged: self.amount(of.total()),
            used: self.amount(of.used),
            estimated: self.amount(of.estimated),
            reserved: self.amount(of.reserved),
        }
    }

    fn amount(&self, amount: Msat) -> Amount {
        Amount { msat: amount, usd: self.rate.usd_per_btc.to_usd(amount) }
    }
}
