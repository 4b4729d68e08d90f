//! Random damage to the stored form. The generator has a fixed seed, so a failure can be repeated.

use std::sync::Arc;

use guildhall_kernel::{
    Acceptance, Answer, Ask, AskId, Contract, Cost, Fact, Heads, Input, Millis, Msat, Outcome, Report, Sender,
    Stimulus, Wording,
};
use serde_json::Value;

use crate::say::{known, message, words};

/// A random number generator: xorshift64*.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).expect("small")).expect("small")
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The results of reading damaged journals. All three results must happen, otherwise the damage has too little variety.
#[derive(Debug, Default)]
struct Seen {
    unreadable: u32,
    corrupt: u32,
    restored: u32,
}

pub(crate) fn damage(facts: &[Fact], times: u32) {
    let stored: Vec<Value> =
        facts.iter().map(|fact| serde_json::to_value(fact).expect("facts can be stored")).collect();
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let mut seen = Seen::default();
    for _ in 0..times {
        let mut journal = stored.clone();
        // Half of the journals are cut off somewhere, so that the contract still has work to do.
        if chance.below(2) == 0 {
            journal.truncate(1 + chance.below(stored.len()));
        }
        for _ in 0..=chance.below(2) {
            let at = chance.below(journal.len());
            damage_value(&mut journal[at], &mut chance);
        }
        match read(journal) {
            None => seen.unreadable += 1,
            Some(facts) => match Contract::restore(facts) {
                Err(_) => seen.corrupt += 1,
                Ok(contract) => {
                    seen.restored += 1;
                    continue_contract(contract, &mut chance);
                }
            },
        }
    }
    assert!(seen.unreadable > 100 && seen.corrupt > 100 && seen.restored > 100, "{seen:?}");
}

fn read(journal: Vec<Value>) -> Option<Vec<Fact>> {
    journal.into_iter().map(|fact| serde_json::from_value(fact).ok()).collect()
}

/// Changes one place in a value.
fn damage_value(value: &mut Value, chance: &mut Chance) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = chance.pick(&names).clone();
            match chance.below(12) {
                0 => drop(fields.remove(&name)),
                1 => drop(fields.insert(name, Value::Null)),
                _ => damage_value(&mut fields[&name], chance),
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = chance.below(items.len());
            match chance.below(6) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => damage_value(&mut items[at], chance),
            }
        }
        Value::Number(number) => {
            let old = number.as_u64().expect("facts hold whole numbers");
            *value = Value::from(*chance.pick(&[
                old.wrapping_add(1),
                old.wrapping_sub(1),
                0,
                u64::from(u32::MAX),
                Msat::SUPPLY.get(),
                u64::MAX,
            ]));
        }
        Value::String(text) => damage_text(text, chance),
        Value::Bool(flag) => *flag = !*flag,
        Value::Null => *value = Value::from(chance.next() % 100),
        Value::Object(_) => *value = Value::from("cancelled"),
        Value::Array(_) => *value = Value::from(vec![1]),
    }
}

fn damage_text(text: &mut String, chance: &mut Chance) {
    let other = [
        "",
        "1",
        "1.1.1",
        "1.1.1.1.1",
        "1#1",
        "reader",
        "course",
        "outside",
        "cancel",
        "cancelled",
        "failed",
        "lost",
        "delivered",
        "passed",
        "approved",
        "unknown",
        "done",
        "open",
        "last",
        "next",
        "any",
        "all",
        "accepted",
    ];
    match chance.below(3) {
        0 => (*chance.pick(&other)).clone_into(text),
        1 => text.push('0'),
        _ => drop(text.pop()),
    }
}

/// A restored contract must work: it accepts every input, and it ends after a cancel.
fn continue_contract(mut contract: Contract, chance: &mut Chance) {
    contract.step(Input::Tick, contract.wake_at().unwrap_or_default());
    for turn in 0..20 {
        if turn == 8 {
            let from = Sender::Owner { command: u64::MAX };
            contract.step(Input::Stimulus { from, what: Stimulus::Cancel }, Millis(0));
        }
        let owed: Vec<(AskId, Ask)> = contract.outstanding().map(|(id, ask)| (id, ask.clone())).collect();
        for (id, ask) in owed {
            contract.step(answer(id, &ask), Millis(chance.next() % 1_000_000));
        }
    }
    assert!(contract.report().is_some(), "a cancelled contract closes");
}

fn answer(id: AskId, ask: &Ask) -> Input {
    let answer = match ask {
        Ask::Model(_) => return Input::Reply { id, reply: Box::new(words("continue")), cost: known(1) },
        Ask::Tool(_) => Answer::Result(message("read")),
        Ask::Hire { brief, .. } => Answer::Report(Box::new(Report {
            outcome: Outcome::Done,
            text: Wording::Final(Arc::clone(brief).task),
            output: None,
            acceptance: Acceptance::Accepted,
            undone: None,
            unheard: Vec::new(),
            spent: Msat::ZERO,
            change: brief.grant.money,
            fee: Msat::ZERO,
            reserved: Msat::ZERO,
            estimated: Msat::ZERO,
            heads: Heads(0),
            cut: false,
            tokens: 0,
        })),
        Ask::Draw { .. } => Answer::Met,
        Ask::Check(_) => Answer::Passed,
        Ask::Question { .. } => Answer::NoReply,
        Ask::Tell { .. } => Answer::Delivered,
    };
    Input::Answer { id, answer, cost: Cost::Unknown }
}
