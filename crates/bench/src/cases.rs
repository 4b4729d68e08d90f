//! The cases: what each program does in a round, and which figures come of it.

use std::fs;

use crate::fake::{FakeBehaviour, WORKER};
use crate::figures::{Key, Values};
use crate::program::{Bench, HIRE, Program, Run, Team, float};
use crate::tree::Tree;

/// The tree of one agent: its cost is that of the program itself.
const ONE: Tree = Tree { fanout: 10, depth: 0 };

/// Short runs are repeated until a round has about this many agents: the system's own work disturbs each of them.
const AGENTS_PER_ROUND: u64 = 4_000;
const REPEATS_MAX: u64 = 40;

/// The limit of parallel calls in most cases. Rig has no limit, and fewer parallel calls need fewer connections: the programs
/// are compared with as many.
const MANY: Option<usize> = Some(1000);

/// How long the fake model takes in the cases with latency.
const LATENCY_MS: u64 = 50;

const KIB: f64 = 1024.0;
const KB: f64 = 1000.0;
const MB: f64 = 1_000_000.0;

/// A case that can be chosen by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Case {
    /// 1,111 agents.
    Tree,
    /// 1,000 parallel hires of one agent.
    Wide,
    /// Memory per hire that waits for a model.
    Memory,
    /// Cost per agent from 85 to 11,111 agents.
    Growth,
    /// 111 agents and a model that takes 50 ms.
    Latency,
    /// The size of a request.
    Request,
    /// The time until the first request, and memory at rest.
    Start,
    /// The size of the binary.
    Size,
}

impl Case {
    /// Measures a program once and adds the values.
    pub(crate) fn measure(self, bench: &Bench, program: Program, values: &mut Values) -> Result<(), String> {
        match self {
            Case::Tree => tree(bench, program, values),
            Case::Wide => wide(bench, program, values),
            Case::Memory => memory(bench, program, values),
            Case::Growth => growth(bench, program, values),
            Case::Latency => latency(bench, program, values),
            Case::Request if program == Program::Guildhall => request(bench, values),
            Case::Start => start(bench, program, values),
            Case::Size if program == Program::Guildhall => size(bench, values),
            Case::Request | Case::Size => Ok(()),
        }
    }
}

fn tree(bench: &Bench, program: Program, values: &mut Values) -> Result<(), String> {
    let one = cpu_us(bench, program, &one())?;
    let sample = bench.sample(program, &Run { at_once: MANY, ..Run::of(10, 3) })?;
    values.add(Key::TreeCpu, program, (sample.cpu_us - one) / 1110.0);
    values.add(Key::TreeSpan, program, sample.span_us / 1000.0);
    values.add(Key::TreePeak, program, sample.peak_kib * KIB / MB);
    // Rig has no limit for parallel calls.
    if program != Program::Rig {
        let sample = bench.sample(program, &Run::of(10, 3))?;
        values.add(Key::TreeCpu32, program, (sample.cpu_us - one) / 1110.0);
    }
    Ok(())
}

fn wide(bench: &Bench, program: Program, values: &mut Values) -> Result<(), String> {
    let behaviour = FakeBehaviour { latency_ms: LATENCY_MS, ..FakeBehaviour::default() };
    let sample = bench.sample(program, &Run { behaviour, at_once: MANY, ..Run::of(1000, 1) })?;
    let cpu_us = sample.cpu_us - cpu_us(bench, program, &one())?;
    values.add(Key::WideCpu, program, cpu_us / 1000.0);
    values.add(Key::WideSpan, program, sample.span_us / 1000.0);
    values.add(Key::WideOpen, program, float(sample.open_max));
    Ok(())
}

/// The memory with 1,000 hires that wait, less that with ten.
fn memory(bench: &Bench, program: Program, values: &mut Values) -> Result<(), String> {
    let waiting = |fanout| bench.waiting(&bench.directories(Team::Workers)?, program, Tree { fanout, depth: 1 });
    values.add(Key::Waiting, program, (waiting(1000)? - waiting(10)?) / 990.0 / KIB);
    Ok(())
}

fn growth(bench: &Bench, program: Program, values: &mut Values) -> Result<(), String> {
    let one = cpu_us(bench, program, &one())?;
    let mut per_agent = |key, run: Run| {
        let value = (cpu_us(bench, program, &run)? - one) / float(run.tree.agents() - 1);
        values.add(key, program, value);
        Ok::<f64, String>(value)
    };
    let from = per_agent(Key::GrowthFrom, Run { at_once: MANY, ..Run::of(4, 3) })?;
    let to = per_agent(Key::GrowthTo, Run { at_once: MANY, ..Run::of(10, 4) })?;
    values.add(Key::Growth, program, to / from);
    Ok(())
}

fn latency(bench: &Bench, program: Program, values: &mut Values) -> Result<(), String> {
    let behaviour = FakeBehaviour { latency_ms: LATENCY_MS, ..FakeBehaviour::default() };
    let run = Run { behaviour, ..Run::of(10, 2) };
    // Rig has no limit for parallel calls.
    if program != Program::Rig {
        values.add(Key::Latency32, program, bench.sample(program, &run)?.span_us / 1000.0);
    }
    let run = Run { at_once: MANY, ..run };
    values.add(Key::Latency1000, program, bench.sample(program, &run)?.span_us / 1000.0);
    Ok(())
}

fn request(bench: &Bench, values: &mut Values) -> Result<(), String> {
    for (key, team) in [(Key::BareRequest, Team::Bare), (Key::FilesRequest, Team::FileTools)] {
        let behaviour = FakeBehaviour { hires: HIRE.into(), ..FakeBehaviour::default() };
        let run = Run { behaviour, ..Run::of(1, 1) };
        let sample = bench.sample_in(&bench.directories(team)?, Program::Guildhall, &run)?;
        let task = Tree { depth: 0, ..run.tree }.task();
        values.add(key, Program::Guildhall, float(sample.leaf_bytes - task.len() as u64) / KB);
    }
    Ok(())
}

fn start(bench: &Bench, program: Program, values: &mut Values) -> Result<(), String> {
    let directories = bench.directories(Team::Workers)?;
    bench.sample_in(&directories, program, &Run::of(4, 3))?;
    values.add(Key::Start, program, bench.sample_in(&directories, program, &one())?.start_us / 1000.0);
    values.add(Key::IdleMemory, program, bench.waiting(&directories, program, ONE)? / MB);
    Ok(())
}

fn size(bench: &Bench, values: &mut Values) -> Result<(), String> {
    let bytes = fs::metadata(&bench.guildhall).map_err(|e| format!("{}: {e}", bench.guildhall.display()))?.len();
    values.add(Key::Size, Program::Guildhall, float(bytes) / MB);
    Ok(())
}

fn one() -> Run {
    Run { tree: ONE, behaviour: FakeBehaviour::default(), at_once: None }
}

/// The processor time of a run, on average over enough runs.
fn cpu_us(bench: &Bench, program: Program, run: &Run) -> Result<f64, String> {
    let repeats = (AGENTS_PER_ROUND / run.tree.agents()).clamp(1, REPEATS_MAX);
    let times = (0..repeats).map(|_| Ok(bench.sample(program, run)?.cpu_us)).collect::<Result<Vec<f64>, String>>()?;
    Ok(times.iter().sum::<f64>() / float(repeats))
}

/// The size of the first request of a hire of guildhall. The floor's requests have the same size.
pub(crate) fn request_bytes(bench: &Bench) -> Result<u64, String> {
    let run = Run { behaviour: FakeBehaviour { hires: WORKER.into(), ..FakeBehaviour::default() }, ..Run::of(1, 1) };
    Ok(bench.sample(Program::Guildhall, &run)?.leaf_bytes)
}
