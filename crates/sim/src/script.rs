//! Random answers from agents and the world: replies with right and wrong calls, tool results, check results.

use std::sync::Arc;

use guildhall_kernel::{
    AmountError, Answer, Ask, AskId, BRIEF_BYTES_MAX, CALLS_MAX, Call, Compaction, Contract, Cost, Cut, Effect,
    FieldName, Heads, Inherit, Input, MESSAGE_BYTES_MAX, Millis, Mode, Msat, NameError, Need, Offer, OwnSize, Path,
    Powers, Reply, Request, Standing, TextKind, TextRef, ToolCall, ToolName, Turn, Undone, Unreadable, Verdict,
    WRAP_UP_MARGIN_MAX, WrongField,
};

use crate::chance::Chance;
use crate::scenario::{
    AgentStyle, Faults, agent, draw_checks, draw_fee, draw_severance, draw_tariff, draw_terms, hash, hiring, msat,
    powers, sat, text,
};

/// Draws the answers of agents and the world.
pub(crate) struct Script {
    pub(crate) style: AgentStyle,
    pub(crate) faults: Faults,
    /// Numbers the texts, so that no two are the same.
    pub(crate) texts: u64,
}

/// Returns `true` once in `rate` times, or never if `rate` is 0.
pub(crate) fn happens(chance: &mut Chance, rate: u32) -> bool {
    rate > 0 && chance.one_in(rate)
}

/// The arguments of a call that some agents make again and again.
fn same_call() -> TextRef {
    text(900_000, 30, TextKind::Arguments)
}

impl Script {
    /// Answers a leaf ask: a model call, a tool call, a check.
    pub(crate) fn answer(&mut self, chance: &mut Chance, contract: &Contract, id: AskId, now: Millis) -> Input {
        let hold = contract.hold(id).expect("an open ask").money;
        let cost = self.cost(chance, hold);
        let answer = match contract.ask(id).expect("an open ask") {
            Ask::Model(_) if happens(chance, self.faults.provider) => match chance.below(3) {
                0 | 1 => Answer::Lost,
                _ => Answer::Failed(self.text(30, TextKind::Error)),
            },
            Ask::Model(request) => {
                let reply = Box::new(self.reply(chance, contract, request, now));
                return Input::Reply { id, reply, cost };
            }
            Ask::Tool(_) | Ask::Check(_) if happens(chance, self.faults.provider) => {
                Answer::Failed(self.text(20, TextKind::Error))
            }
            // Usually, the call that is always the same has the same result.
            Ask::Tool(call) if call.arguments == same_call() && !chance.one_in(12) => {
                Answer::Result(text(900_001, 50, TextKind::Result))
            }
            Ask::Tool(_) => Answer::Result(self.long_text(chance, TextKind::Result)),
            Ask::Check(_) if chance.one_in(2) => Answer::FailedCheck(self.text(30, TextKind::Finding)),
            Ask::Check(_) => Answer::Passed,
            Ask::Hire { .. } | Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. } => {
                unreachable!("not a leaf ask")
            }
        };
        Input::Answer { id, answer, cost }
    }

    fn cost(&self, chance: &mut Chance, hold: Msat) -> Cost {
        match chance.weighted(&[8, 2, 1, 1]) {
            0 => Cost::Known(msat(hold.get() / 4 * u64::from(chance.below(5)))),
            1 if happens(chance, self.faults.provider) => Cost::Known(Msat::capped(u128::from(hold.get() + 1) * 3)),
            1 => Cost::Known(hold),
            2 => Cost::Estimated(msat(hold.get() / 2 * u64::from(chance.below(4)))),
            _ => Cost::Unknown,
        }
    }

    fn text(&mut self, bytes: u32, kind: TextKind) -> TextRef {
        self.texts += 1;
        text(2_000_000 + self.texts, bytes, kind)
    }

    fn long_text(&mut self, chance: &mut Chance, kind: TextKind) -> TextRef {
        let bytes = chance.below(300) + if chance.one_in(200) { 50_000_000 } else { 0 };
        self.text(bytes, kind)
    }

    fn reply(&mut self, chance: &mut Chance, contract: &Contract, request: &Request, now: Millis) -> Reply {
        let calls = self.calls(chance, contract, request, now);
        // A reply that confirms a text about which nobody asked is an empty reply.
        let continues = contract.unfinished_text().is_some();
        let confirms =
            calls.is_empty() && !continues && chance.one_in(if contract.text_to_confirm().is_some() { 2 } else { 60 });
        let empty = confirms || chance.one_in(24);
        let words = (!empty && (calls.is_empty() || chance.one_in(2))).then(|| self.long_text(chance, TextKind::Words));
        // A reply that continues a cut one has the words of both.
        let before = contract.unfinished_text().filter(|_| calls.is_empty() && request.turn == Turn::Next);
        let words = match before {
            Some(before) => {
                let bytes = before.bytes.saturating_add(words.map_or(0, |words| words.bytes));
                Some(self.text(bytes, TextKind::Words))
            }
            None => words,
        }
        .filter(|_| !confirms);
        let reply = self.text(words.map_or(20, |words| words.bytes), TextKind::Reply);
        let input_tokens = match chance.weighted(&[6, 3, 1]) {
            0 => Some(request.tokens - request.tokens / 4),
            1 => None,
            _ => Some(chance.pick(&[0, request.tokens.saturating_mul(2), u64::MAX])),
        };
        let output = chance.one_in(8).then(|| self.text(9, TextKind::Output));
        let verdict = self.verdict(chance, contract, request, now);
        let tokens = if chance.one_in(3) { 0 } else { chance.below(reply.bytes + 1) };
        let size = OwnSize { bytes: reply.bytes, tokens };
        let cut = chance.one_in(6).then(|| chance.pick(&[Cut::MaxTokens, Cut::MaxTokens, Cut::Window]));
        let (used, implausible) = (None, None);
        Reply { reply, words, output, input_tokens, used, size, cut, implausible, confirms, calls, verdict }
    }

    fn verdict(&mut self, chance: &mut Chance, contract: &Contract, request: &Request, now: Millis) -> Verdict {
        let all = [Undone::RequiredHire, Undone::PromisedHire, Undone::Unclear, Undone::NoHire];
        let undone = chance.one_in(6).then(|| chance.pick(&all));
        let hires = if chance.one_in(8) { 1 + chance.below(2) } else { 0 };
        let then_hire = (0..hires).map(|_| self.offer(chance, contract, now)).collect();
        let compact = chance
            .one_in(10)
            .then(|| Compaction { upto: chance.below(request.upto + 2), bytes: u64::from(chance.below(400)) });
        Verdict { undone, then_hire, compact }
    }

    fn calls(&mut self, chance: &mut Chance, contract: &Contract, request: &Request, now: Millis) -> Vec<Call> {
        let first = request.hears.is_empty() && request.turn == Turn::Next;
        // Final text, tools, hires, steering, junk.
        let weights = match (self.style, first) {
            (AgentStyle::Mixed, true) => [3, 3, 5, 2, 1],
            (AgentStyle::Mixed, false) => [6, 3, 3, 2, 1],
            (AgentStyle::Managers, true) => [2, 1, 10, 1, 0],
            (AgentStyle::Managers, false) => [6, 1, 4, 3, 0],
            (AgentStyle::Talkers, true) => [2, 1, 6, 4, 1],
            (AgentStyle::Talkers, false) => [4, 1, 2, 8, 1],
            (AgentStyle::Workers, _) => [4, 8, 1, 0, 1],
            (AgentStyle::Deep | AgentStyle::Bomb | AgentStyle::Wide, _) => [0, 0, 1, 0, 0],
        };
        let hires = match self.style {
            AgentStyle::Deep => u32::from(first),
            AgentStyle::Bomb => 4,
            AgentStyle::Wide => {
                if first {
                    24
                } else {
                    0
                }
            }
            AgentStyle::Mixed | AgentStyle::Managers | AgentStyle::Workers | AgentStyle::Talkers => 1 + chance.below(3),
        };
        match chance.weighted(&weights) {
            0 => Vec::new(),
            1 => (0..=chance.below(3)).map(|_| self.tool(chance, now)).collect(),
            2 => {
                let mut calls: Vec<Call> = (0..hires).map(|_| self.hire(chance, contract, now)).collect();
                if matches!(self.style, AgentStyle::Mixed | AgentStyle::Talkers) && chance.one_in(3) {
                    calls.push(self.steering(chance, contract, now));
                }
                if chance.one_in(6) {
                    let at = chance.below(u32::try_from(calls.len()).unwrap_or(u32::MAX) + 1);
                    calls.insert(at as usize, self.tool(chance, now));
                }
                calls
            }
            3 => (0..=chance.below(2)).map(|_| self.steering(chance, contract, now)).collect(),
            _ if chance.one_in(60) => vec![Call::Invalid(Unreadable::Malformed); CALLS_MAX as usize + 2],
            _ => (0..=chance.below(3)).map(|_| Call::Invalid(junk(chance))).collect(),
        }
    }

    fn tool(&mut self, chance: &mut Chance, now: Millis) -> Call {
        if self.style == AgentStyle::Workers && !chance.one_in(10) {
            let tool = ToolName::parse("tool").expect("a name");
            let (price, needs) = (Msat::ZERO, powers(&["read"]));
            let call = ToolCall {
                tool,
                arguments: same_call(),
                price,
                effect: Effect::Pure,
                needs,
                for_hires: chance.one_in(20),
            };
            return Call::Tool { call, approval: None };
        }
        let call = ToolCall {
            tool: ToolName::parse("tool").expect("a name"),
            arguments: self.text(30, TextKind::Arguments),
            price: msat(chance.pick(&[0, 200, 3000, 400_000])),
            effect: chance.pick(&[Effect::Pure, Effect::Idempotent, Effect::Reconcilable, Effect::Once]),
            needs: if chance.one_in(10) { powers(&["shell"]) } else { powers(&["read"]) },
            for_hires: chance.one_in(10),
        };
        Call::Tool { call, approval: chance.one_in(5).then(|| now.after(Millis(10_000))) }
    }

    fn hire(&mut self, chance: &mut Chance, hirer: &Contract, now: Millis) -> Call {
        Call::Hire(Box::new(self.offer(chance, hirer, now)))
    }

    /// Draws an offer: usually one that can be admitted, sometimes one that must be refused.
    pub(crate) fn offer(&mut self, chance: &mut Chance, contract: &Contract, now: Millis) -> Offer {
        let hirer = contract.brief();
        let level = hirer.path.level();
        let plain = matches!(self.style, AgentStyle::Deep | AgentStyle::Bomb | AgentStyle::Wide);
        let odd = |chance: &mut Chance| !plain && chance.one_in(14);
        let who = match chance.below(3) {
            _ if odd(chance) => chance.pick(&[(level, 0), (level.saturating_sub(1), 0), (0, 0), (90, 0)]),
            which => (level + 1, which),
        };
        let inherit = if !plain && chance.one_in(6) { Inherit::Fork } else { Inherit::Fresh };
        let standing = if odd(chance) { Standing::AdHoc } else { Standing::Listed };
        self.texts += 1;
        let above = hirer.lineage.upward().last().map_or(hirer.task_key, |root| root.task_key);
        let task_key = if odd(chance) { chance.pick(&[hirer.task_key, above]) } else { hash(self.texts) };
        let task_bytes = if odd(chance) { u32::try_from(BRIEF_BYTES_MAX).expect("small") + 1 } else { 40 };
        let mode = if !plain && chance.one_in(2) { Mode::Background } else { Mode::Blocking };
        let leaf = !plain && chance.one_in(3);
        Offer {
            same_model: chance.one_in(2),
            model_slot: 0,
            share_max: None,
            agent: match (inherit, standing) {
                (Inherit::Fork, _) => hirer.agent.clone(),
                (Inherit::Fresh, Standing::Listed) => agent(who.0, who.1),
                // Some specialists have the name of a listed agent.
                (Inherit::Fresh, Standing::AdHoc) if self.texts.is_multiple_of(2) => agent(who.0, who.1),
                (Inherit::Fresh, Standing::AdHoc) => agent(99, who.1),
            },
            standing,
            label: None,
            task: self.text(task_bytes, TextKind::Task),
            task_key,
            inherit,
            mode,
            budget: if self.style == AgentStyle::Deep {
                Some(nearly_all(contract.purse().available()))
            } else {
                (!plain && chance.one_in(2)).then(|| sat(chance.pick(&[10, 4, 1, 25, 100_000])))
            },
            heads: if self.style == AgentStyle::Deep {
                Some(Heads(contract.heads().available().0.saturating_sub(1)))
            } else {
                odd(chance).then(|| Heads(chance.below(30)))
            },
            depth: odd(chance).then(|| chance.pick(&[0, 1, 5])),
            deadline: odd(chance).then(|| now.after(Millis(u64::from(chance.below(4)) * WRAP_UP_MARGIN_MAX.0))),
            terms: draw_terms(chance, self.texts),
            adds: draw_terms(chance, self.texts + 1),
            fee: draw_fee(chance),
            payee: None,
            severance: draw_severance(chance),
            tariff: if plain { hirer.tariff } else { draw_tariff(chance) },
            turns_max: if plain { hirer.turns_max } else { chance.pick(&[6, 4, 8, 2, 1]) },
            opening_bytes: 150,
            opening: None,
            powers: draw_powers(chance, plain),
            hiring: (!leaf).then(|| hiring(chance, level + 1)),
            checks: if plain { Arc::from([]) } else { draw_checks(chance) },
        }
    }

    fn steering(&mut self, chance: &mut Chance, contract: &Contract, now: Millis) -> Call {
        let own = &contract.brief().path;
        let some_hire = |chance: &mut Chance| own.hire(1 + chance.below(4));
        match chance.below(6) {
            0 => Call::Wait {
                on: (0..chance.below(3)).map(|_| some_hire(chance)).collect(),
                need: chance.pick(&[Need::All, Need::Any]),
                until: chance.one_in(2).then(|| now.after(Millis(5_000))),
            },
            1 => Call::Message { to: some_hire(chance), text: self.message(chance) },
            2 => Call::AskHirer { question: self.message(chance), until: now.after(Millis(20_000)) },
            3 => Call::Stop(some_hire(chance)),
            _ => Call::Message { to: Path::root(9), text: self.message(chance) },
        }
    }

    pub(crate) fn message(&mut self, chance: &mut Chance) -> TextRef {
        let bytes = if chance.one_in(12) { MESSAGE_BYTES_MAX + 1 } else { 40 };
        self.text(bytes, TextKind::Message)
    }
}

/// Returns the most money that a hirer can pass on so that a long chain of hirers still has enough for their turns.
fn nearly_all(money: Msat) -> Msat {
    msat(money.get() - money.get() / 64)
}

fn draw_powers(chance: &mut Chance, plain: bool) -> Powers {
    let all: &[&str] = &["read", "write", "shell"];
    let usable =
        if plain { all } else { [&["read"][..], &["read", "shell"], &["read", "root"]][chance.weighted(&[10, 4, 1])] };
    let grantable = if plain || !chance.one_in(8) { all } else { &["read"] };
    Powers { usable: powers(usable), grantable: powers(grantable) }
}

fn junk(chance: &mut Chance) -> Unreadable {
    match chance.below(8) {
        0 => Unreadable::Malformed,
        6 => Unreadable::Field(FieldName::parse("task").expect("a name"), WrongField::Missing),
        7 => Unreadable::Cut,
        1 => Unreadable::UnknownTool,
        2 => Unreadable::DuplicateCallId,
        3 => Unreadable::BadAmount(
            chance
                .pick(&[
                    &AmountError::Zero,
                    &AmountError::Negative,
                    &AmountError::Fractional,
                    &AmountError::NotANumber,
                    &AmountError::BeyondSupply,
                ])
                .clone(),
        ),
        4 => Unreadable::EmptyText,
        _ => Unreadable::BadName(NameError::Empty),
    }
}
