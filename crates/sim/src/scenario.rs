//! The scenario of a schedule: its money, the style of its agents, and its faults.

use std::sync::Arc;

use guildhall_kernel::{
    AgentName, Brief, Check, CloseWhen, Context, DEPTH_MAX, Grant, Hash, Heads, Hiring, Lineage, Millis, Msat, Path,
    Power, PowerSet, Powers, Standing, Tariff, TextKind, TextRef,
};

use crate::chance::Chance;

/// The parameters of one schedule.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The maximum number of leaf calls at the same time.
    pub permits: usize,
    /// The style of the agents.
    pub style: AgentStyle,
    /// Whether a call can be attached to again by its key after a crash.
    pub reattach: bool,
    /// The faults.
    pub faults: Faults,
    /// The number of commands that the owner sends while the tree is at work.
    pub commands: u32,
    /// The root contracts.
    pub roots: Vec<Arc<Brief>>,
}

/// The rate of each fault: once in this many cases, or never if 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The process dies.
    pub crash: u32,
    /// The store fails to commit; the process stops.
    pub store: u32,
    /// An answer is lost, or comes too late.
    pub lost: u32,
    /// An answer or a stimulus comes twice.
    pub doubled: u32,
    /// The provider fails, or bills more than the hold.
    pub provider: u32,
    /// The clock jumps.
    pub clock: u32,
}

/// What the agents mostly do in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentStyle {
    /// A mix of everything.
    Mixed,
    /// Mostly hires, a few at a time.
    Managers,
    /// Each agent hires one agent, down to the maximum depth.
    Deep,
    /// Every agent hires as many agents as possible in every turn.
    Bomb,
    /// One agent hires many.
    Wide,
    /// Mostly tools.
    Workers,
    /// Mostly messages, questions, waits and stops.
    Talkers,
}

impl Scenario {
    /// Draws a scenario.
    pub fn draw(chance: &mut Chance) -> Scenario {
        let style = [
            AgentStyle::Mixed,
            AgentStyle::Managers,
            AgentStyle::Workers,
            AgentStyle::Talkers,
            AgentStyle::Wide,
            AgentStyle::Deep,
            AgentStyle::Bomb,
        ][chance.weighted(&[24, 30, 10, 20, 1, 1, 1])];
        let rate = |chance: &mut Chance, rate: u32| if chance.one_in(3) { rate } else { 0 };
        let faults = Faults {
            crash: rate(chance, 30),
            store: rate(chance, 60),
            lost: rate(chance, 12),
            doubled: rate(chance, 6),
            provider: rate(chance, 12),
            clock: rate(chance, 40),
        };
        let permits = chance.pick(&[1, 2, 4, 16]);
        let reattach = !chance.one_in(2);
        let commands = chance.pick(&[0, 0, 1, 3, 6]);
        let count = 1 + u32::from(chance.one_in(8));
        let roots = (1..=count).map(|root| Arc::new(draw_root(chance, style, root))).collect();
        Scenario { permits, style, reattach, faults, commands, roots }
    }

    /// A chain of hires down to the maximum depth, on one permit.
    pub fn deepest_chain() -> Scenario {
        Scenario::plain(
            AgentStyle::Deep,
            1,
            Grant { money: sat(500_000), heads: Heads(80), depth: DEPTH_MAX, deadline: None, margin: None },
        )
    }

    /// Every agent hires as many agents as possible in every turn.
    pub fn fork_bomb(permits: usize, heads: u32, depth: u8) -> Scenario {
        Scenario::plain(
            AgentStyle::Bomb,
            permits,
            Grant { money: sat(50_000), heads: Heads(heads), depth, deadline: None, margin: None },
        )
    }

    fn plain(style: AgentStyle, permits: usize, grant: Grant) -> Scenario {
        let chance = &mut Chance::replaying(Vec::new());
        let root = Brief { grant, turns_max: 6, fee: Msat::ZERO, ..draw_root(chance, style, 1) };
        Scenario { permits, style, reattach: true, faults: Faults::default(), commands: 0, roots: vec![Arc::new(root)] }
    }
}

fn draw_root(chance: &mut Chance, style: AgentStyle, ordinal: u32) -> Brief {
    let (money, heads, depth) = match style {
        AgentStyle::Mixed | AgentStyle::Talkers => (chance.pick(&[300, 60, 20, 8, 2000]), chance.pick(&[9, 3, 20]), 4),
        AgentStyle::Managers => {
            (chance.pick(&[600, 200, 60, 3000]), chance.pick(&[14, 5, 40]), chance.pick(&[4, 2, 6]))
        }
        AgentStyle::Workers => (chance.pick(&[40, 10, 200]), chance.pick(&[2, 0]), 1),
        AgentStyle::Wide => (chance.pick(&[2000, 300]), chance.pick(&[60, 25]), 2),
        AgentStyle::Deep => (20_000, chance.pick(&[20, 70]), chance.pick(&[12, 64])),
        AgentStyle::Bomb => (chance.pick(&[400, 3000]), chance.pick(&[40, 20]), chance.pick(&[4, 8])),
    };
    let tariff = draw_tariff(chance);
    let due = chance.pick(&[
        None,
        None,
        None,
        None,
        None,
        None,
        Some(Millis(400_000)),
        Some(Millis(90_000)),
        Some(Millis(20_000)),
    ]);
    let grant = Grant { money: sat(money), heads: Heads(heads), depth, deadline: None, margin: None };
    Brief {
        money_max: None,
        same_model: false,
        model_slot: 0,
        path: Path::root(ordinal),
        agent: agent(0, 0),
        standing: Standing::Listed,
        label: None,
        task: text(u64::from(ordinal), 40, TextKind::Task),
        task_key: hash(u64::from(ordinal)),
        terms: Arc::from([]),
        adds: draw_terms(chance, 1),
        grant: grant.due(due, Millis(0)),
        fee: draw_fee(chance),
        payee: None,
        severance: draw_severance(chance).max(tariff.last_min()),
        tariff,
        turns_max: chance.pick(&[8, 6, 12, 3, 1]),
        context: Context::Fresh,
        opening_bytes: u64::from(100 + chance.below(200)),
        opening: None,
        lineage: Lineage::default(),
        powers: Powers { usable: powers(&["read", "write"]), grantable: powers(&["read", "write", "shell"]) },
        hiring: (!chance.one_in(16)).then(|| hiring(chance, 0)),
        checks: draw_checks(chance),
        close_when: if chance.one_in(5) { CloseWhen::Asked } else { CloseWhen::FinalText },
    }
}

/// Returns an agent's name, which contains the level at which it is usually hired.
pub(crate) fn agent(level: usize, which: u32) -> AgentName {
    AgentName::parse(&format!("{}{level}", char::from(b'a' + u8::try_from(which).expect("few per level"))))
        .expect("a name")
}

pub(crate) fn hiring(chance: &mut Chance, level: usize) -> Hiring {
    let below = (0..3).map(|which| agent(level + 1, which));
    let around = [agent(level, 0), agent(level.saturating_sub(1), 0), agent(0, 0)];
    Hiring { team: below.chain(around).collect(), ad_hoc: chance.one_in(3), recursive: chance.one_in(8) }
}

pub(crate) fn draw_fee(chance: &mut Chance) -> Msat {
    msat(chance.pick(&[0, 0, 300, 900]))
}

pub(crate) fn draw_severance(chance: &mut Chance) -> Msat {
    msat(chance.pick(&[1600, 2400, 0, 900, 5000]))
}

pub(crate) fn draw_tariff(chance: &mut Chance) -> Tariff {
    let (input, output) = chance.pick(&[(1000, 4000), (1000, 4000), (300, 1500), (0, 0), (7, 13)]);
    Tariff { input: sat(input), output: sat(output), max_tokens: chance.pick(&[512, 2048, 100]) }
}

pub(crate) fn draw_checks(chance: &mut Chance) -> Arc<[Check]> {
    let prices: &[u64] = [&[][..], &[][..], &[0], &[0, 700], &[2_000_000]][chance.below(5) as usize];
    let check = |price: &u64| Check { what: text(77, 30, TextKind::Arguments), price: msat(*price) };
    prices.iter().map(check).collect()
}

pub(crate) fn draw_terms(chance: &mut Chance, mark: u64) -> Arc<[TextRef]> {
    (0..chance.pick(&[0, 0, 1, 2])).map(|n| text(1_000_000 + mark * 8 + n, 25, TextKind::Term)).collect()
}

pub(crate) fn powers(names: &[&str]) -> PowerSet {
    names.iter().map(|name| Power::parse(name).expect("a name")).collect::<Vec<_>>().into()
}

pub(crate) fn hash(of: u64) -> Hash {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&of.to_le_bytes());
    Hash(bytes)
}

pub(crate) fn text(of: u64, bytes: u32, kind: TextKind) -> TextRef {
    TextRef { hash: hash(of), bytes, kind }
}

pub(crate) fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).expect("a small amount")
}

pub(crate) fn msat(msat: u64) -> Msat {
    Msat::new(msat).expect("a small amount")
}
