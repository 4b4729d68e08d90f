//! Short constructors for the tests: texts, briefs, calls and replies.
//!
//! A model call holds 10sat, and at least 1sat; its input is free unless a test sets a price.

use std::sync::Arc;

use guildhall_kernel::{
    AgentName, Brief, Call, Check, CloseWhen, Context, Cost, Effect, Grant, Hash, Heads, Hiring, Inherit, Lineage,
    Millis, Mode, Msat, Need, Offer, OwnSize, Path, Power, PowerSet, Powers, Reply, Standing, Tariff, TextKind,
    TextRef, ToolCall, ToolName, Undone, Unreadable, Verdict,
};

/// The cost of a reply if the test sets none.
pub(crate) const REPLY_COST: u64 = 4;

pub(crate) const TARIFF: Tariff = Tariff { input: Msat::ZERO, output: msat(3_906_250), max_tokens: 2560 };

/// A tariff whose input costs 10msat per token, so that the hold shows the size of the request.
pub(crate) const PRICED_INPUT: Tariff = Tariff { input: msat(10_000_000), ..TARIFF };

pub(crate) const fn msat(msat: u64) -> Msat {
    match Msat::new(msat) {
        Ok(amount) => amount,
        Err(_) => panic!("the tests use small amounts"),
    }
}

pub(crate) fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).expect("the tests use small amounts")
}

pub(crate) fn known(amount: u64) -> Cost {
    Cost::Known(sat(amount))
}

pub(crate) fn path(text: &str) -> Path {
    text.parse().expect("the tests use valid paths")
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::parse(name).expect("the tests use valid names")
}

pub(crate) fn agents(names: &[&str]) -> Arc<[AgentName]> {
    names.iter().map(|name| agent(name)).collect()
}

/// A text by reference. Its hash contains the first letters of the text, so that a drawing can show them.
pub(crate) fn text(kind: TextKind, words: &str) -> TextRef {
    TextRef { hash: key(words), bytes: u32::try_from(words.len()).expect("the tests use short texts"), kind }
}

pub(crate) fn message(words: &str) -> TextRef {
    text(TextKind::Message, words)
}

pub(crate) fn term(words: &str) -> TextRef {
    text(TextKind::Term, words)
}

pub(crate) fn key(words: &str) -> Hash {
    let mut hash = [0; 32];
    hash.iter_mut().zip(words.bytes()).for_each(|(byte, letter)| *byte = letter);
    Hash(hash)
}

pub(crate) fn powers(names: &[&str]) -> PowerSet {
    names.iter().map(|name| Power::parse(name).expect("the tests use valid names")).collect::<Vec<_>>().into()
}

pub(crate) fn hiring(names: &[&str]) -> Hiring {
    Hiring { team: agents(names), ad_hoc: false, recursive: false }
}

pub(crate) fn check(what: &str, price: u64) -> Check {
    Check { what: text(TextKind::Term, what), price: sat(price) }
}

/// A root that can hire a researcher, a coder and a tester.
pub(crate) fn root(name: &str, money: u64) -> Brief {
    Brief {
        money_max: None,
        same_model: false,
        model_slot: 0,
        path: Path::root(1),
        agent: agent(name),
        standing: Standing::Listed,
        label: None,
        task: text(TextKind::Task, "the whole task"),
        task_key: key("the whole task"),
        terms: [].into(),
        adds: [].into(),
        grant: Grant { money: sat(money), heads: Heads(10), depth: 5, deadline: None, margin: None },
        fee: Msat::ZERO,
        payee: None,
        severance: sat(2),
        tariff: TARIFF,
        turns_max: 20,
        context: Context::Fresh,
        opening_bytes: 100,
        opening: None,
        lineage: Lineage::default(),
        powers: Powers { usable: powers(&["read"]), grantable: powers(&["read", "write"]) },
        hiring: Some(hiring(&["researcher", "coder", "tester"])),
        checks: [].into(),
        close_when: CloseWhen::FinalText,
    }
}

/// A call of a reply, which the methods below change.
#[derive(Clone)]
pub(crate) struct Do(pub(crate) Call);

/// A blocking hire of an agent that can't hire, with a share of the available money.
pub(crate) fn offer(name: &str) -> Offer {
    let task = format!("work for {name}");
    Offer {
        same_model: false,
        model_slot: 0,
        share_max: None,
        agent: agent(name),
        standing: Standing::Listed,
        label: None,
        task: text(TextKind::Task, &task),
        task_key: key(&task),
        inherit: Inherit::Fresh,
        mode: Mode::Blocking,
        budget: None,
        heads: None,
        depth: None,
        deadline: None,
        terms: [].into(),
        adds: [].into(),
        fee: Msat::ZERO,
        payee: None,
        severance: sat(2),
        tariff: TARIFF,
        turns_max: 20,
        opening_bytes: 100,
        opening: None,
        powers: Powers::default(),
        hiring: None,
        checks: [].into(),
    }
}

pub(crate) fn hire(name: &str) -> Do {
    Do(Call::Hire(Box::new(offer(name))))
}

pub(crate) fn tool(name: &str) -> Do {
    let call = ToolCall {
        tool: ToolName::parse(name).expect("the tests use valid names"),
        arguments: text(TextKind::Arguments, "{}"),
        price: Msat::ZERO,
        effect: Effect::Pure,
        needs: PowerSet::default(),
        for_hires: false,
    };
    Do(Call::Tool { call, approval: None })
}

pub(crate) fn wait(on: &[&str], need: Need) -> Do {
    Do(Call::Wait { on: on.iter().map(|hire| path(hire)).collect(), need, until: None })
}

pub(crate) fn stop(hire: &str) -> Do {
    Do(Call::Stop(path(hire)))
}

pub(crate) fn tell(hire: &str, words: &str) -> Do {
    Do(Call::Message { to: path(hire), text: message(words) })
}

pub(crate) fn ask_hirer(words: &str, until: u64) -> Do {
    Do(Call::AskHirer { question: message(words), until: Millis(until) })
}

pub(crate) fn invalid(why: Unreadable) -> Do {
    Do(Call::Invalid(why))
}

impl Do {
    /// Changes the offer of this call.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Offer)) -> Do {
        let Call::Hire(offer) = &mut self.0 else { panic!("{:?} is not a hire", self.0) };
        change(offer);
        self
    }

    pub(crate) fn budget(self, money: u64) -> Do {
        self.with(|offer| offer.budget = Some(sat(money)))
    }

    pub(crate) fn background(self) -> Do {
        self.with(|offer| offer.mode = Mode::Background)
    }

    pub(crate) fn task(self, words: &str) -> Do {
        self.with(|offer| (offer.task, offer.task_key) = (text(TextKind::Task, words), key(words)))
    }

    pub(crate) fn team(self, names: &[&str]) -> Do {
        self.with(|offer| offer.hiring = Some(hiring(names)))
    }

    /// Changes the tool call.
    pub(crate) fn on_tool(mut self, change: impl FnOnce(&mut ToolCall)) -> Do {
        let Call::Tool { call, .. } = &mut self.0 else { panic!("{:?} is not a tool call", self.0) };
        change(call);
        self
    }

    pub(crate) fn price(self, money: u64) -> Do {
        self.on_tool(|call| call.price = sat(money))
    }

    /// Makes the tool call need the owner's approval.
    pub(crate) fn if_approved_by(mut self, until: u64) -> Do {
        let Call::Tool { approval, .. } = &mut self.0 else { panic!("{:?} is not a tool call", self.0) };
        *approval = Some(Millis(until));
        self
    }

    pub(crate) fn until(mut self, at: u64) -> Do {
        let Call::Wait { until, .. } = &mut self.0 else { panic!("{:?} is not a wait", self.0) };
        *until = Some(Millis(at));
        self
    }
}

/// A final text.
pub(crate) fn words(words: &str) -> Reply {
    Reply {
        reply: text(TextKind::Reply, words),
        words: Some(text(TextKind::Words, words)),
        output: None,
        input_tokens: None,
        used: None,
        size: own_size(words),
        cut: None,
        implausible: None,
        confirms: false,
        calls: Vec::new(),
        verdict: Verdict::default(),
    }
}

/// A text that a model wrote, without reported tokens.
fn own_size(words: &str) -> OwnSize {
    OwnSize { bytes: u32::try_from(words.len()).expect("the tests use short texts"), tokens: 0 }
}

/// A reply that makes calls.
pub(crate) fn calling(calls: &[Do]) -> Reply {
    Reply { calls: calls.iter().map(|call| call.0.clone()).collect(), ..words("at work") }
}

/// A reply that only says that the text before it is the report.
pub(crate) fn confirms() -> Reply {
    Reply { words: None, confirms: true, ..words("DONE") }
}

/// A final text that leaves something undone, and the hires to make if the agent ignores the nudge about it.
pub(crate) fn undone(undone: Undone, then_hire: &[Do]) -> Reply {
    let offer = |call: &Do| {
        let Call::Hire(offer) = &call.0 else { panic!("{:?} is not a hire", call.0) };
        (**offer).clone()
    };
    let then_hire = then_hire.iter().map(offer).collect();
    Reply { verdict: Verdict { undone: Some(undone), then_hire, compact: None }, ..words("I will have it done") }
}
