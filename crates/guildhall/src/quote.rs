//! Quotes: the fees that agents can earn, before the work starts, and the least that rehearsed work would cost with a real model.
//! The second is an estimate: a real model reads the same files, but it also writes more, and it may hire other agents.

use std::time::SystemTime;

use guildhall_agent::Usage;
use guildhall_kernel::{AgentName, Msat, PayeeName};
use guildhall_models::{Chosen, Seller, choose};

use crate::agents::{Agent, Hires};
use crate::bill::{Bill, Line};
use crate::models::{ANTHROPIC, Models, OPENAI};
use crate::setup::Staffing;

/// The approximate number of bytes per token.
pub const TOKEN_BYTES: u64 = 4;

/// The estimated cost of rehearsed work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The full name of the model.
    pub model: String,
    /// The least that the work would cost.
    pub cost: Msat,
}

impl Models {
    /// Estimates the cost of a bill's rehearsed work with a model, at its list price: one token for every [`TOKEN_BYTES`] bytes
    /// that were read and written, and the cache price for cached bytes. `None` if the model or its price is not known.
    pub fn quote(&self, bill: &Bill, model: &str, now: SystemTime) -> Option<Quote> {
        let Chosen::Model(model) = choose(self.unalias(model)) else { return None };
        let seller = Seller::Provider(if model.starts_with("claude-") { ANTHROPIC } else { OPENAI }.to_owned());
        let at_s = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let book = self.book(at_s);
        // Use the price of prompts of usual length: the sum of all prompts is not one long prompt.
        let price = book.price(&seller, &model).ok()?;
        let cost = book.with_price(&model, price).cost(&seller, &model, &usage(bill)).ok()?;
        Some(Quote { model, cost })
    }
}

/// The fee that each accepted report of an agent earns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeeQuote {
    /// The agent.
    pub agent: AgentName,
    /// The fee for one report.
    pub fee: Msat,
    /// Who gets the fee. `None` in play money.
    pub payee: Option<PayeeName>,
}

impl Staffing {
    /// Returns the fees of the agents that can be hired.
    pub fn fee_quotes(&self) -> Vec<FeeQuote> {
        self.agents.iter().filter_map(|agent| self.fee_quote(agent)).collect()
    }

    /// Returns the agents that can be hired and have a fee in their files, but can't earn it in this session.
    pub fn agents_without_fee(&self) -> Vec<&AgentName> {
        let has_fee = |agent: &&Agent| agent.budget.fee.is_some_and(|fee| fee > Msat::ZERO);
        let is_hired = |agent: &&Agent| self.hirers(agent).next().is_some();
        let unpaid =
            self.agents.iter().filter(has_fee).filter(is_hired).filter(|agent| self.fee_quote(agent).is_none());
        unpaid.map(|agent| &agent.name).collect()
    }

    fn fee_quote(&self, agent: &Agent) -> Option<FeeQuote> {
        let (fee, payee) = self.fee_of(agent);
        // As in the hire itself: real money is only paid for a report that was checked.
        let own_checks = |hirer: &Hires| hirer.accept_of.get(&agent.name).is_some_and(|checks| !checks.is_empty());
        let can_earn = |hirer: &Hires| payee.is_none() || !hirer.accept.is_empty() || own_checks(hirer);
        let is_earned = fee > Msat::ZERO && self.hirers(agent).any(can_earn);
        is_earned.then(|| FeeQuote { agent: agent.name.clone(), fee, payee: payee.cloned() })
    }

    /// How those agents hire that can hire this agent.
    fn hirers<'a>(&'a self, agent: &'a Agent) -> impl Iterator<Item = &'a Hires> {
        let other =
            |hirer: &&Agent| hirer.name != agent.name || hirer.hires.as_ref().is_some_and(|hires| hires.recursive);
        let hires = self.agents.iter().filter(other).filter_map(|hirer| hirer.hires.as_ref());
        hires.filter(|hires| hires.team.as_ref().is_none_or(|team| team.contains(&agent.name)))
    }
}

/// The tokens of all model calls, estimated from their bytes. A task list makes no model calls.
fn usage(bill: &Bill) -> Usage {
    let asking = || bill.lines.iter().filter(|line| line.model.is_some());
    let sum = |of: fn(&Line) -> u64| asking().map(of).fold(0, u64::saturating_add) / TOKEN_BYTES;
    Usage {
        input: sum(|line| line.tokens.input),
        cache_read: sum(|line| line.tokens.cached),
        output: sum(|line| line.tokens.output),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::agents::AgentBudget;
    use crate::bill::Charges;
    use crate::models::DatedRate;
    use crate::setup::FeeTerms;
    use guildhall_agent::checks::Check;
    use guildhall_agent::roster::{DelegationMode, Dialect};
    use guildhall_kernel::{Path, Tokens};

    #[test]
    fn the_bytes_of_a_task_list_are_not_quoted() {
        let line = |model: Option<&str>| Line {
            contract: Path::root(1),
            agent: AgentName::parse("ada").unwrap(),
            model: model.map(str::to_owned),
            nominal: true,
            granted: Msat::ZERO,
            own: Charges::default(),
            fee: Msat::ZERO,
            payee: None,
            all: Charges::default(),
            calls: 1,
            tokens: Tokens { input: 400, cached: 0, output: 40 },
            all_tokens: Tokens::default(),
            reserved: Vec::new(),
            under_way: Vec::new(),
            overruns: Vec::new(),
            implausible: None,
            above_hold: None,
            outcome: None,
            lack: None,
            cut: false,
        };
        let lines = vec![line(None), line(Some("rehearsal")), line(Some("rehearsal"))];
        let Usage { input, output, .. } = usage(&Bill { lines });
        assert_eq!((input, output), (200, 20));
    }

    fn hirer(accept: Vec<Check>) -> Hires {
        Hires {
            team: None,
            mode: DelegationMode::Offered,
            dialect: Dialect::DelegateTask,
            recursive: false,
            ad_hoc: false,
            terms: Vec::new(),
            accept,
            accept_of: std::collections::BTreeMap::new(),
        }
    }

    fn staffing(lead: Hires, fees: Option<&[(&str, u64)]>) -> Staffing {
        let name = |name: &str| AgentName::parse(name).unwrap();
        let agent = |named: &str, fee| Agent {
            budget: AgentBudget { fee, ..AgentBudget::default() },
            ..Agent::new(name(named), "")
        };
        let sat = |sat| Msat::from_sat(sat).unwrap();
        let lead = Agent { hires: Some(lead), ..agent("lead", Some(sat(500))) };
        let terms = |(named, max): &(&str, u64)| {
            (name(named), FeeTerms { payee: PayeeName::parse(named).unwrap(), max: sat(*max) })
        };
        Staffing {
            agents: vec![lead, agent("ada", Some(sat(150))), agent("bob", Some(sat(80))), agent("eve", None)],
            model_of_agent: BTreeMap::new(),
            rate: DatedRate::default(),
            locked: BTreeMap::new(),
            guide: None,
            fees: fees.map(|fees| fees.iter().map(terms).collect()),
        }
    }

    /// Each quote as `AGENT SATS PAYEE`, and the agents that earn nothing.
    fn quoted(staffing: &Staffing) -> (Vec<String>, Vec<String>) {
        let quote = |FeeQuote { agent, fee, payee }: FeeQuote| {
            format!("{agent} {fee} {}", payee.map_or_else(|| "-".to_owned(), |payee| payee.to_string()))
        };
        let unpaid = staffing.agents_without_fee().into_iter().map(ToString::to_string);
        (staffing.fee_quotes().into_iter().map(quote).collect(), unpaid.collect())
    }

    #[test]
    fn a_fee_is_quoted_only_if_it_can_be_earned() {
        let files = || vec![Check::Files(vec!["notes.txt".to_owned()])];
        let check = |staffing: &Staffing, quotes: &[&str], unpaid: &[&str]| {
            let owned = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(quoted(staffing), (owned(quotes), owned(unpaid)));
        };
        // Nobody hires the lead, so the lead earns no fee. In play money, no payee and no check is needed.
        check(&staffing(hirer(vec![]), None), &["ada 150sat -", "bob 80sat -"], &[]);
        // The payee's limit counts, and an agent without a payee earns nothing.
        check(&staffing(hirer(files()), Some(&[("ada", 120)])), &["ada 120sat ada"], &["bob"]);
        // Real money is not paid for reports that nobody checks.
        check(&staffing(hirer(vec![]), Some(&[("ada", 120)])), &[], &["ada", "bob"]);
        // An agent that can't be hired earns nothing, whatever its file says.
        let only_eve = Hires { team: Some(vec![AgentName::parse("eve").unwrap()]), ..hirer(files()) };
        check(&staffing(only_eve, Some(&[("ada", 120)])), &[], &[]);
    }
}
