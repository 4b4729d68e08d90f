//! The smallest engine that can run a tree: no store, no faults, no time. The benchmarks and the memory test use it.
#![allow(dead_code, reason = "each benchmark and test uses a part of it")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock};

use guildhall_kernel::{
    AgentName, Answer, Ask, AskId, Brief, Call, CloseWhen, Context, Contract, Cost, Effect, Fact, Grant, Hash, Heads,
    Hiring, Inherit, Input, Lineage, Millis, Mode, Msat, Offer, OwnSize, Path, Powers, Reply, Standing, Tariff,
    TextKind, TextRef, ToolCall, ToolName, Verdict,
};

pub(crate) fn text(kind: TextKind) -> TextRef {
    TextRef { hash: Hash([1; 32]), bytes: 200, kind }
}

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).expect("a small amount")
}

fn name(level: usize) -> AgentName {
    AgentName::parse(&format!("agent-{level}")).expect("a name")
}

fn task_key(of: u64) -> Hash {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&of.to_le_bytes());
    Hash(key)
}

fn tariff() -> Tariff {
    Tariff { input: sat(10), output: sat(50), max_tokens: 1000 }
}

fn hiring(level: usize) -> Hiring {
    Hiring { team: Arc::from([name(level + 1)]), ad_hoc: false, recursive: false }
}

/// A root with enough money for all benchmarks.
/// The opening of all contracts: an engine makes it once for each agent.
static OPENING: LazyLock<Arc<TextRef>> = LazyLock::new(|| Arc::new(text(TextKind::Opening)));

pub(crate) fn root() -> Arc<Brief> {
    Arc::new(Brief {
        money_max: None,
        same_model: false,
        model_slot: 0,
        path: Path::root(1),
        agent: name(0),
        standing: Standing::Listed,
        label: None,
        task: text(TextKind::Task),
        task_key: task_key(0),
        terms: Arc::from([]),
        adds: Arc::from([]),
        grant: Grant { money: sat(1_000_000_000), heads: Heads(1_000_000), depth: 64, deadline: None, margin: None },
        fee: Msat::ZERO,
        payee: None,
        severance: sat(1),
        tariff: tariff(),
        turns_max: u32::MAX,
        context: Context::Fresh,
        opening_bytes: 500,
        opening: Some(Arc::clone(&OPENING)),
        lineage: Lineage::default(),
        powers: Powers::default(),
        hiring: Some(hiring(0)),
        checks: Arc::from([]),
        close_when: CloseWhen::FinalText,
    })
}

fn offer(contract: &Contract, inherit: Inherit, number: u64) -> Offer {
    let level = contract.brief().path.level() + 1;
    Offer {
        same_model: false,
        model_slot: 0,
        share_max: None,
        agent: name(level),
        standing: Standing::Listed,
        label: None,
        task: text(TextKind::Task),
        task_key: task_key(number),
        inherit,
        mode: Mode::Blocking,
        budget: None,
        heads: None,
        depth: None,
        deadline: None,
        terms: Arc::from([]),
        adds: Arc::from([]),
        fee: Msat::ZERO,
        payee: None,
        severance: sat(1),
        tariff: tariff(),
        turns_max: 100,
        opening_bytes: 500,
        opening: Some(Arc::clone(&OPENING)),
        powers: Powers::default(),
        hiring: Some(hiring(level)),
        checks: Arc::from([]),
    }
}

fn open_ask(contract: &Contract) -> AskId {
    contract.outstanding().next().expect("the contract has an open ask").0
}

fn says(contract: &Contract, calls: Vec<Call>) -> Input {
    let words = calls.is_empty().then(|| text(TextKind::Words));
    // A constant, so that the price does not grow with the conversation.
    let input_tokens = Some(1000);
    let reply = Reply {
        reply: text(TextKind::Reply),
        words,
        output: None,
        input_tokens,
        used: None,
        size: OwnSize { bytes: 200, tokens: 0 },
        cut: None,
        implausible: None,
        confirms: false,
        calls,
        verdict: Verdict::default(),
    };
    Input::Reply { id: open_ask(contract), reply: Box::new(reply), cost: Cost::Known(Msat::ZERO) }
}

pub(crate) fn final_text(contract: &Contract) -> Input {
    says(contract, Vec::new())
}

pub(crate) fn tool_turn(contract: &Contract) -> Input {
    let call = ToolCall {
        tool: ToolName::parse("read_file").expect("a name"),
        arguments: text(TextKind::Arguments),
        price: Msat::ZERO,
        effect: Effect::Pure,
        needs: vec![].into(),
        for_hires: false,
    };
    says(contract, vec![Call::Tool { call, approval: None }])
}

pub(crate) fn tool_result(contract: &Contract) -> Input {
    let answer = Answer::Result(text(TextKind::Result));
    Input::Answer { id: open_ask(contract), answer, cost: Cost::Known(Msat::ZERO) }
}

pub(crate) fn hires(contract: &Contract, count: u64) -> Input {
    let number = |n| u64::from(contract.brief().path.ordinal()) * 1000 + contract.brief().path.level() as u64 * 100 + n;
    says(contract, (1..=count).map(|n| Call::Hire(Box::new(offer(contract, Inherit::Fresh, number(n))))).collect())
}

pub(crate) fn fork(contract: &Contract) -> Input {
    says(contract, vec![Call::Hire(Box::new(offer(contract, Inherit::Fork, 7)))])
}

/// A contract that has had `turns` turns with a tool call each, and waits for a reply.
pub(crate) fn talk(turns: u32) -> Contract {
    let (mut contract, _) = Contract::open(root(), Millis(0)).expect("the brief breaks no law");
    for _ in 0..turns {
        contract.step(tool_turn(&contract), Millis(0));
        contract.step(tool_result(&contract), Millis(0));
    }
    contract
}

/// Runs a tree in which every contract hires `fan_out`, down to `depth`, level by level, so that all contracts are live
/// at the same time. Returns the number of contracts.
pub(crate) fn tree(fan_out: u64, depth: usize) -> usize {
    let mut contracts: BTreeMap<Path, Contract> = BTreeMap::new();
    let mut queue: VecDeque<(Path, Arc<Brief>)> = VecDeque::from([(Path::root(1), root())]);
    let mut closing: VecDeque<(Path, Input)> = VecDeque::new();
    while let Some((path, brief)) = queue.pop_front() {
        let (mut contract, _) = Contract::open(brief, Millis(0)).expect("the brief breaks no law");
        let reply = if path.level() < depth { hires(&contract, fan_out) } else { final_text(&contract) };
        for fact in contract.step(reply, Millis(0)) {
            if let Fact::Asked { ask: Ask::Hire { brief, .. }, .. } = fact {
                queue.push_back((brief.path.clone(), brief));
            } else if let Fact::Closed(report) = fact {
                closing.extend(report_to(&path, &report));
            }
        }
        contracts.insert(path, contract);
    }
    while let Some((path, input)) = closing.pop_front() {
        let contract = contracts.get_mut(&path).expect("the hirer is live");
        let mut facts = contract.step(input, Millis(0));
        if contract.outstanding().any(|(_, ask)| matches!(ask, Ask::Model(_))) {
            facts.extend(contract.step(final_text(contract), Millis(0)));
        }
        for fact in facts {
            if let Fact::Closed(report) = fact {
                closing.extend(report_to(&path, &report));
            }
        }
    }
    assert!(contracts.values().all(|contract| contract.report().is_some()), "every contract closed");
    contracts.len()
}

/// The answer that a hirer gets. Hires are asks 2, 3, …: the first was the request.
fn report_to(path: &Path, report: &guildhall_kernel::Report) -> Option<(Path, Input)> {
    let id = AskId(path.ordinal() + 1);
    let answer = Answer::Report(Box::new(report.clone()));
    Some((path.hirer()?, Input::Answer { id, answer, cost: Cost::Known(report.spent) }))
}
