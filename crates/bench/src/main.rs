//! Measures the real binary over HTTP: trees of agents against a fake model, next to a bare client (the floor) and to rig.
//! Run it as `cargo xtask bench -- wire`, which builds the programs, as `cargo xtask bench -- serve` for the server, or as
//! `cargo xtask bench -- budget` for how much work a budget finishes. docs/benchmarks.md explains the figures.
#![allow(clippy::print_stdout, reason = "a benchmark prints to stdout")]

mod budget;
mod cases;
mod fake;
mod figures;
mod floor;
mod measure;
mod pace;
mod plot;
mod program;
mod report;
mod serve;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use cases::Case;
use figures::{FIGURES, Key, Values};
use program::{Bench, Program};
use report::Page;

/// The rounds of a full and of a small run.
const RUNS: usize = 5;
const SMALL_RUNS: usize = 3;

/// Measures the real binary over HTTP, next to a bare HTTP client (the floor) and to rig.
#[derive(Parser)]
#[command(name = "cargo xtask bench -- wire", args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    part: Option<Part>,
    /// The cases to measure; without names, all.
    cases: Vec<Case>,
    /// Measure this binary and build none.
    #[arg(long, value_name = "PATH")]
    guildhall: Option<PathBuf>,
    /// The program in crates/bench/rig, built.
    #[arg(long, value_name = "PATH")]
    rig: Option<PathBuf>,
    /// Measure without rig, for this reason.
    #[arg(long, value_name = "WHY", conflicts_with = "rig")]
    no_rig: Option<String>,
    /// How often each program runs; the figures are medians [default: 5, or 3 if small].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    runs: Option<u16>,
    /// A short run for CI, without rig: fail if a figure is more than 1.5 times its target.
    #[arg(long)]
    small: bool,
    /// Write the table and the plot into docs.
    #[arg(long, conflicts_with_all = ["small", "cases"])]
    write: bool,
    /// The minutes of a fresh release build, for the table.
    #[arg(long, value_name = "MINUTES")]
    build_minutes: Option<f64>,
    /// The minutes of `cargo xtask test`, for the table.
    #[arg(long, value_name = "MINUTES")]
    test_minutes: Option<f64>,
}

/// The benchmarks of the server and of budgets, and the programs that the benchmarks start as processes of their own.
#[derive(Subcommand)]
enum Part {
    #[command(bin_name = "cargo xtask bench -- serve")]
    Serve(serve::Serve),
    #[command(bin_name = "cargo xtask bench -- budget")]
    Budget(budget::Budget),
    #[command(hide = true)]
    Fake(fake::FakeBehaviour),
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
        Some(Part::Serve(serve)) => serve::run(serve),
        Some(Part::Budget(budget)) => budget::run(budget),
        Some(Part::Fake(behaviour)) => fake::run(behaviour),
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
    let page = cli.write.then(|| Page::open("wire")).transpose()?;
    let guildhall = cli.guildhall.ok_or("no binary to measure: run `cargo xtask bench -- wire`")?;
    let guildhall = guildhall.canonicalize().map_err(|e| format!("{}: {e}", guildhall.display()))?;
    let rig = cli.rig.map(|rig| rig.canonicalize().map_err(|e| format!("{}: {e}", rig.display()))).transpose()?;
    raise_limit()?;
    let mut bench = Bench { guildhall, rig, scratch: program::scratch()?, request_bytes: 0 };
    bench.request_bytes = cases::request_bytes(&bench)?;

    let runs = cli.runs.map_or(if cli.small { SMALL_RUNS } else { RUNS }, usize::from);
    let cases = if cli.cases.is_empty() { Case::value_variants() } else { &cli.cases };
    let load = report::load();
    let mut values = measure(&bench, cases, runs, cli.small)?;
    if cli.small && !faults(&values).is_empty() {
        // Other work on the machine may have disturbed one program more than the other. That does not happen twice.
        eprintln!("measured once more, because of:\n{}", faults(&values).join("\n"));
        values = measure(&bench, cases, runs, cli.small)?;
    }
    for (key, minutes) in [(Key::Build, cli.build_minutes), (Key::Test, cli.test_minutes)] {
        if let Some(minutes) = minutes {
            values.add(key, Program::Guildhall, minutes);
        }
    }

    let rig = if bench.rig.is_some() {
        "Rig was built from `crates/bench/rig`. It has no limit for parallel calls.".to_owned()
    } else {
        format!("Rig was not measured: {}.", cli.no_rig.as_deref().unwrap_or("its program was not given"))
    };
    let results =
        format!("{}\n\n{}", report::machine(&load, report::Figures::Medians(runs)), report::table(&values, &rig));
    println!("{results}");
    if let Some(page) = page {
        page.write_with_plot(&results, &values)?;
    }
    let faults = faults(&values);
    if cli.small && !faults.is_empty() {
        return Err(format!("too slow or too large:\n{}", faults.join("\n")));
    }
    Ok(())
}

fn measure(bench: &Bench, cases: &[Case], runs: usize, small: bool) -> Result<Values, String> {
    let mut values = Values::default();
    for round in 1..=runs {
        // The largest tree takes longer than all the rest.
        let once = |case: &&Case| round == 1 || !small || **case != Case::Growth;
        for case in cases.iter().filter(once) {
            eprintln!("round {round} of {runs}: {case:?}");
            bench.programs().into_iter().try_for_each(|program| case.measure(bench, program, &mut values))?;
        }
    }
    Ok(values)
}

fn faults(values: &Values) -> Vec<String> {
    FIGURES.iter().filter_map(|figure| figure.fault(values)).collect()
}

/// Allows this process and those that it starts as many open files as the system permits: 1,000 parallel calls need 1,000
/// connections.
fn raise_limit() -> Result<(), String> {
    let raise = || {
        let (_, highest) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, highest, highest)
    };
    raise().map_err(|e| format!("the limit of open files can't be raised: {e}"))
}
