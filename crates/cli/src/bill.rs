//! The bill: who cost what, in both currencies, at which rate, and the head of the chain by which a later look finds out whether
//! anything was cut.

use guildhall::kernel::{Msat, Tokens};
use guildhall::local::Head;
use guildhall::providers::Usd;
use guildhall::{Bill, DatedRate};
use serde_json::{Value, json};

use crate::amount::{at_rate, both, sats};
use crate::live::ended_as;
use crate::world::REHEARSAL;

/// Everything that a bill is made of.
pub(crate) struct Sheet<'a> {
    pub(crate) bill: &'a Bill,
    pub(crate) rate: &'a DatedRate,
    pub(crate) model: &'a str,
    /// The limit of tokens that ended the root, if one did.
    pub(crate) out_of_tokens: Option<u64>,
    pub(crate) granted: Msat,
    pub(crate) spent: Msat,
    pub(crate) head: &'a Head,
    pub(crate) violations: &'a [String],
}

impl Sheet<'_> {
    /// For people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let play = if self.model == REHEARSAL { "in play money, " } else { "" };
        let mut lines = vec![format!("bill, {play}{}:", at_rate(self.rate))];
        let models = self.bill.models();
        for line in &self.bill.lines {
            let tokens = tokens(line.tokens, if line.model.as_deref() == Some(REHEARSAL) { "bytes" } else { "tokens" });
            let model = line.model.as_ref().filter(|_| models.len() > 1);
            let model = model.map_or_else(String::new, |model| format!(" of {model}"));
            let calls = format!("{} {}", line.calls, if line.calls == 1 { "call" } else { "calls" });
            let (contract, agent) = (&line.contract, &line.agent);
            let out_of_tokens = self.out_of_tokens.filter(|_| contract.level() == 0);
            let how = line
                .outcome
                .map_or_else(|| "not ended".to_owned(), |outcome| ended_as(outcome, line.lack, out_of_tokens));
            lines.push(format!(
                "  {contract} {agent}: {} for {calls}{model}, {tokens}; {how}",
                both(line.own, self.rate)
            ));
            if line.lost > Msat::ZERO {
                lines.push(format!("    of that {} for calls whose answer was lost", both(line.lost, self.rate)));
            }
        }
        let left = Msat::capped(u128::from(self.granted.get().saturating_sub(self.spent.get())));
        lines.push(format!(
            "  in all {} of {}; {} not used; {}",
            both(self.spent, self.rate),
            sats(self.granted),
            sats(left),
            if models.len() > 1 { format!("{} models", models.len()) } else { format!("model {}", self.model) }
        ));
        lines.push(match self.violations {
            [] => "  laws: kept, by an independent check of every stored fact".to_owned(),
            broken => format!("  laws: BROKEN, please report this: {}", broken.join("; ")),
        });
        lines.push(format!("  journal head {}", self.head));
        lines
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let contracts: Vec<Value> = self.bill.lines.iter().map(|line| self.line(line)).collect();
        json!({
            "model": self.model,
            "granted": self.amount(self.granted),
            "spent": self.amount(self.spent),
            "lost": self.amount(self.bill.lost()),
            "rate": {"usd_per_btc": Usd::from(self.rate.usd_per_btc), "date": self.rate.date},
            "contracts": contracts,
            "head": self.head.to_string(),
            "violations": self.violations,
        })
    }

    fn line(&self, line: &guildhall::Line) -> Value {
        json!({
            "contract": line.contract,
            "agent": line.agent,
            "model": line.model,
            "granted": self.amount(line.granted),
            "own": self.amount(line.own),
            "lost": self.amount(line.lost),
            "calls": line.calls,
            "tokens": line.tokens,
            "outcome": line.outcome,
            "lack": line.lack,
        })
    }

    fn amount(&self, amount: Msat) -> Value {
        json!({"msat": amount, "usd": self.rate.usd_per_btc.to_usd(amount)})
    }
}

fn tokens(Tokens { input, cached, output }: Tokens, unit: &str) -> String {
    let cached = if cached == 0 { String::new() } else { format!(" ({cached} cached)") };
    format!("{input} in{cached} + {output} out {unit}")
}
