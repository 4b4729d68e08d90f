//! Measures the real binary over HTTP: trees of agents against a fake model, next to a bare client (the floor) and to rig.
//! Run it as `cargo xtask bench -- wire`, which builds the programs. docs/benchmarks.md explains the figures.
#![allow(clippy::print_stdout, reason = "a benchmark prints to stdout")]

mod fake;
mod floor;
mod measure;
mod program;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use program::{Bench, Program, Run, Sample};

#[derive(Parser)]
#[command(name = "wire", about = "Measures the real binary over HTTP against a bare client and against rig.")]
struct Cli {
    #[command(subcommand)]
    part: Option<Part>,
    /// The binary to measure.
    #[arg(long)]
    guildhall: Option<PathBuf>,
    /// The program that runs the trees with rig.
    #[arg(long)]
    rig: Option<PathBuf>,
    /// The number of runs of each program; each figure is the median.
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

/// The programs that the benchmark starts as processes of their own.
#[derive(Subcommand)]
enum Part {
    #[command(hide = true)]
    Fake(fake::Manner),
    #[command(hide = true)]
    Floor(floor::Work),
    #[command(hide = true)]
    Measure {
        #[arg(last = true)]
        program: Vec<String>,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.part {
        Some(Part::Fake(manner)) => fake::run(manner),
        Some(Part::Floor(work)) => floor::run(work),
        Some(Part::Measure { program }) => measure::run(&program),
        None => bench(cli),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn bench(cli: Cli) -> Result<(), String> {
    let guildhall = cli.guildhall.ok_or("no binary to measure: run `cargo xtask bench -- wire`")?;
    let guildhall = guildhall.canonicalize().map_err(|e| format!("{}: {e}", guildhall.display()))?;
    let mut bench = Bench { guildhall, rig: cli.rig, scratch: program::scratch()?, request_bytes: 0 };
    bench.request_bytes = bench.sample(Program::Guildhall, &Run::of(10, 0))?.leaf_bytes;
    println!("request: {} bytes", bench.request_bytes);
    let programs = bench.programs();
    let (one, all) = (Run::of(10, 0), Run::of(10, 3));
    let mut rows: Vec<(Program, Vec<(Sample, Sample)>)> = programs.iter().map(|p| (*p, Vec::new())).collect();
    for _ in 0..cli.runs {
        for (program, samples) in &mut rows {
            samples.push((bench.sample(*program, &one)?, bench.sample(*program, &all)?));
        }
    }
    println!("| program | µs/agent | × floor | span ms | peak MB | start to first request ms | at once |");
    println!("|---|---|---|---|---|---|---|");
    let mut floor = 0.0;
    for (program, samples) in rows {
        let of = |figure: &dyn Fn(&(Sample, Sample)) -> f64| median(samples.iter().map(figure).collect());
        let agents = program::float(all.tree.agents() - 1);
        let cpu = of(&|(one, all)| (all.cpu_us - one.cpu_us) / agents);
        if program == Program::Floor {
            floor = cpu;
        }
        println!(
            "| {} | {cpu:.0} | {:.1} | {:.0} | {:.0} | {:.1} | {} |",
            program.name(),
            cpu / floor,
            of(&|(_, all)| all.span_us / 1000.0),
            of(&|(_, all)| all.peak_kib / 1024.0),
            of(&|(one, _)| one.start_us / 1000.0),
            of(&|(_, all)| program::float(all.open_max)),
        );
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
