//! One schedule from its first choice to its last check.

use std::collections::BTreeMap;

use guildhall_kernel::{Cause, Contract, Fact, Millis, Path, SessionFact, Stimulus, Stored};

use crate::chance::Chance;
use crate::reach::Reach;
use crate::scenario::{Scenario, msat};
use crate::script::happens;
use crate::world::{Event, Logged, World};

/// A schedule with more actions than this counts as endless.
const ACTIONS_MAX: u32 = 100_000;
const CRASHES_MAX: u32 = 4;

/// The result of a schedule.
#[derive(Debug)]
pub struct Run {
    /// The laws that were broken.
    pub violations: Vec<String>,
    /// The counts of the variants that were reached.
    pub reach: Reach,
    /// All stored facts.
    pub journal: Vec<Stored>,
}

/// Draws a scenario and runs it.
pub fn run(mut chance: Chance) -> Run {
    let scenario = Scenario::draw(&mut chance);
    run_scenario(scenario, chance)
}

/// Runs a scenario to its end, or to the first broken law.
pub fn run_scenario(scenario: Scenario, chance: Chance) -> Run {
    let mut world = World::new(scenario, chance);
    let faults = world.scenario.faults;
    if faults.crash == 0 && faults.store == 0 && world.chance.one_in(6) {
        world.log = Some(Vec::new());
    }
    for root in world.scenario.roots.clone() {
        world.open(&root);
    }
    let (mut actions, mut crashes) = (0, 0);
    while world.violations.is_empty() && act(&mut world, &mut crashes) {
        actions += 1;
        if actions > ACTIONS_MAX {
            world.violate("law 6: the tree does not end".to_owned());
        }
    }
    if world.violations.is_empty() {
        world.check_end();
        if world.chance.one_in(3) {
            world.check_restored();
        }
        check_replay(&mut world);
    }
    Run { violations: world.violations, reach: world.reach, journal: world.store.all().to_vec() }
}

/// Does one of the possible next actions. Returns whether there was one.
fn act(world: &mut World, crashes: &mut u32) -> bool {
    let [call, other, delivery, sync] = world.to_do();
    let weight = |possible: bool, weight: u32| if possible { weight } else { 0 };
    let weights = [weight(call, 8), weight(other, 8), weight(delivery, 8), weight(sync, 5)];
    if weights.iter().sum::<u32>() == 0 {
        return rest(world);
    }
    match world.chance.weighted(&weights) {
        0 => world.call(),
        1 => world.perform_other(),
        2 => world.deliver_answer(),
        _ if happens(&mut world.chance, world.scenario.faults.store) => crash(world, crashes, "fault store"),
        _ => world.sync(),
    }
    if happens(&mut world.chance, world.scenario.faults.crash) {
        crash(world, crashes, "fault crash");
    }
    if happens(&mut world.chance, world.scenario.faults.clock) {
        world.reach.count("fault clock jump");
        let jump = world.chance.pick(&[Millis(0), world.now.after(Millis(20_000)), world.now.after(Millis(5_000_000))]);
        world.pass_time(jump);
    }
    if world.scenario.commands > 0 && world.chance.one_in(10) {
        world.scenario.commands -= 1;
        command(world);
    }
    true
}

fn crash(world: &mut World, crashes: &mut u32, name: &'static str) {
    if *crashes < CRASHES_MAX {
        *crashes += 1;
        world.reach.count(name);
        world.crash();
    }
}

/// Continues when no other action is possible: time passes, or the owner sends a command to an idle conversation.
fn rest(world: &mut World) -> bool {
    world.check_rest();
    let open = world
        .contracts
        .iter()
        .find(|(_, contract)| contract.report().is_none() && contract.outstanding().next().is_none());
    if let Some(root) = open.map(|(path, _)| path.clone()) {
        match world.chance.below(4) {
            0 | 1 => world.command(root, Stimulus::WrapUp),
            2 => {
                let words = world.script.message(&mut world.chance);
                world.command(root, Stimulus::Message(words));
            }
            _ => world.command(root, Stimulus::Cancel),
        }
        return true;
    }
    match world.wake_at() {
        Some(wake) => {
            world.pass_time(wake);
            true
        }
        None => false,
    }
}

/// The owner sends a random command to a random contract.
fn command(world: &mut World) {
    let paths: Vec<Path> = world.contracts.keys().cloned().collect();
    let count = u32::try_from(paths.len()).expect("few contracts");
    if count == 0 {
        return;
    }
    let to = paths[world.chance.below(count) as usize].clone();
    let money = msat(u64::from(world.chance.pick(&[5_000_u32, 40_000])));
    match world.chance.below(9) {
        0 | 1 => {
            let words = world.script.message(&mut world.chance);
            world.command(to, Stimulus::Message(words));
        }
        2 | 3 => {
            let root = to.top();
            if world.add_to_account(SessionFact::Funded { money, root: Some(root.clone()), payment: None }) {
                world.command(root, Stimulus::TopUp { to, money, draw: None });
            }
        }
        4 => {
            let offer = world.script.offer(&mut world.chance, &world.contracts[&to], world.now);
            world.command(to, Stimulus::Hire(Box::new(offer)));
        }
        5 if world.chance.one_in(4) => {
            let left = u64::from(world.chance.pick(&[0_u32, 700, 1_500, 100_000]));
            world.command(to.top(), Stimulus::OutOfTokens { left });
        }
        5 => world.command(to, Stimulus::WrapUp),
        6 => world.command(to, Stimulus::Cancel),
        7 => {
            let ordinal = 1 + world.chance.below(4);
            world.command(to, Stimulus::DropHire { ordinal });
        }
        // A top-up that does not come from the hirer: the contract must ignore it.
        _ if to.level() > 0 => {
            world.reach.count("fault money from a wrong sender");
            world.command(to.clone(), Stimulus::TopUp { to, money, draw: None });
        }
        _ => {}
    }
}

/// Law 10: the same inputs in the same order give the same facts, also with crashes in between. After each crash, every
/// contract is restored from its stored facts, and the lost inputs come again.
fn check_replay(world: &mut World) {
    let Some(log) = world.log.take() else { return };
    world.reach.count("replay with crashes");
    let faults = world.scenario.faults;
    if faults.lost == 0 && faults.doubled == 0 {
        world.reach.count("engine replay with crashes");
        let chance = std::mem::replace(&mut world.chance, Chance::replaying(Vec::new()));
        let (outcome, chance) = world.replay(&log, chance);
        world.chance = chance;
        if let Err(why) = outcome {
            world.violate(format!("law 10: the replay with crashes and attached effects differs: {why}"));
        }
    }
    let mut contracts: BTreeMap<Path, Contract> = BTreeMap::new();
    // The facts of each input, so that a crash can happen between any two inputs.
    let mut batches: Vec<(Path, Vec<Fact>)> = Vec::new();
    let (mut at, mut crashes) = (0, 0);
    while at < log.len() {
        if crashes < CRASHES_MAX && world.chance.one_in(12) {
            crashes += 1;
            let lost = world.chance.below(u32::try_from(batches.len().min(20) + 1).expect("few"));
            at -= lost as usize;
            batches.truncate(at);
            contracts = rebuild(&batches);
        }
        let Logged { contract, what, now } = &log[at];
        let facts = match what {
            Event::Opened(brief) => {
                let (opened, facts) = Contract::open(brief.clone(), *now).expect("the brief was accepted before");
                contracts.insert(contract.clone(), opened);
                facts
            }
            Event::Input(input) => match contracts.get_mut(contract) {
                Some(contract) => contract.step(input.clone(), *now),
                None => Vec::new(),
            },
        };
        batches.push((contract.clone(), facts));
        at += 1;
    }
    let again = batches.iter().flat_map(|(path, facts)| facts.iter().map(move |fact| (path, fact)));
    let before = world.store.all().iter().map(|stored| (&stored.contract, &stored.fact));
    if !again.eq(before) {
        world.violate("law 10: with crashes in between, the same inputs gave different facts".to_owned());
    }
}

fn rebuild(batches: &[(Path, Vec<Fact>)]) -> BTreeMap<Path, Contract> {
    let mut facts: BTreeMap<Path, Vec<Fact>> = BTreeMap::new();
    for (path, batch) in batches {
        facts.entry(path.clone()).or_default().extend(batch.iter().cloned());
    }
    facts.retain(|_, facts| !facts.is_empty());
    facts.into_iter().map(|(path, facts)| (path, Contract::restore(facts).expect("the facts break no law"))).collect()
}

/// Returns the name of a cause for a history.
pub(crate) fn cause_name(cause: &Cause) -> String {
    match cause {
        Cause::Opening => "opening".to_owned(),
        Cause::Answer(id) => format!("answer {id}"),
        Cause::Stimulus(from) => format!("stimulus from {from:?}"),
        Cause::Tick => "time".to_owned(),
    }
}
