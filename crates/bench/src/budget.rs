//! Measures how much work a budget finishes, and whether it holds: the real binary, with agents whose work is known, beside a
//! model server that counts the real tokens whatever it reports.

mod cases;
mod runs;
mod table;

use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;

use self::cases::{Case, Money, UNEQUAL_PARTS, cases, unequal};
use self::runs::{Programs, Ran, Run, Usage};
use self::table::{Row, Share, table};
use crate::program;
use crate::report::{self, Page};

/// How many calls run at once. Times are compared with five at once.
const AT_ONCE: [usize; 3] = [1, 5, 32];
const TIMED: usize = 5;

/// More than any of the work costs, in millisatoshis.
const PLENTY: u64 = 100_000_000_000;

/// How many random teams a full and a small run has for each part of the budget.
const UNEQUAL: u64 = 40;
const UNEQUAL_SMALL: u64 = 4;

/// Measures how much work a budget finishes, and whether it holds.
#[derive(Args)]
pub(crate) struct Budget {
    /// Measure this binary and build none.
    #[arg(long, value_name = "PATH")]
    guildhall: Option<PathBuf>,
    /// Use this model server and build none.
    #[arg(long, value_name = "PATH")]
    model_server: Option<PathBuf>,
    /// A short run for CI with some of the cases and five calls at once.
    #[arg(long)]
    small: bool,
    /// Write the table into docs.
    #[arg(long, conflicts_with = "small")]
    write: bool,
}

pub(crate) fn run(budget: Budget) -> Result<(), String> {
    let page = budget.write.then(|| Page::open("budget")).transpose()?;
    let found = |program: Option<PathBuf>, what: &str| {
        let program = program.ok_or(format!("no {what}: run `cargo xtask bench -- budget`"))?;
        program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))
    };
    let guildhall = found(budget.guildhall, "binary to measure")?;
    let model_server = found(budget.model_server, "model server")?;
    let scratch = program::scratch()?;
    let bench = Bench {
        programs: Programs { guildhall, model_server, scratch: &scratch },
        at_once: if budget.small { &[TIMED] } else { &AT_ONCE },
    };
    let load = report::load();
    let mut rows = Vec::new();
    for case in cases().into_iter().filter(|case| case.small || !budget.small) {
        eprintln!("{}", case.what);
        rows.push(bench.row(&case).map_err(|why| format!("{}: {why}", case.what))?);
    }
    for (percent, least) in UNEQUAL_PARTS {
        eprintln!("unequal work at {percent} %");
        rows.push(bench.unequal(if budget.small { UNEQUAL_SMALL } else { UNEQUAL }, percent, least)?);
    }
    let results = format!("{}\n\n{}", report::machine(&load, report::Figures::Single), table(&rows));
    println!("{results}");
    if let Some(page) = page {
        page.write(&results)?;
    }
    let faults: Vec<&str> = rows.iter().flat_map(|row| row.faults.iter().map(String::as_str)).collect();
    if faults.is_empty() { Ok(()) } else { Err(format!("missed:\n{}", faults.join("\n"))) }
}

struct Bench<'a> {
    programs: Programs<'a>,
    at_once: &'a [usize],
}

impl Bench<'_> {
    /// Runs a case without a limit, and then with its budget.
    fn row(&self, case: &Case) -> Result<Row, String> {
        let model = match case.money {
            Money::Default { model } => Some(model),
            Money::Part(_) | Money::FiveLeaves { .. } | Money::Msat(_) => None,
        };
        let run = Run {
            task: &case.task,
            budget: Some(PLENTY),
            at_once: TIMED,
            usage: Usage::Real,
            model,
            file_tools: case.file_tools,
        };
        let free = self.programs.run(&run)?;
        let budget = match case.money {
            Money::Part(percent) => free.bill * 100 / percent,
            Money::FiveLeaves { turns, tokens } => 5 * self.leaf(turns, tokens)?,
            Money::Msat(amount) => amount,
            Money::Default { .. } => 1_000_000,
        };
        let limit = if model.is_some() { None } else { Some(budget) };
        let mut row = Row::new(case, &free, budget);
        for at_once in self.at_once {
            let ran = self.programs.run(&Run { budget: limit, at_once: *at_once, usage: case.usage, ..run })?;
            row.add(case, *at_once, &ran, budget, (*at_once == TIMED).then_some(&free));
        }
        Ok(row)
    }

    /// Returns what one leaf costs.
    fn leaf(&self, turns: u32, tokens: u32) -> Result<u64, String> {
        let ran = self.plain(&format!("WORK levels=1 hires=1 turns={turns} tokens={tokens}"), PLENTY, TIMED)?;
        ran.contracts.iter().find(|contract| contract.path == "1.1").map(|leaf| leaf.charged).ok_or("no leaf".into())
    }

    fn plain(&self, task: &str, budget: u64, at_once: usize) -> Result<Ran, String> {
        let usage = Usage::Real;
        self.programs.run(&Run { task, budget: Some(budget), at_once, usage, model: None, file_tools: false })
    }

    /// Runs random teams, two at a time, whose work needs this part of the budget.
    fn unequal(&self, teams: u64, percent: u64, least: u64) -> Result<Row, String> {
        let shares = |first: u64| -> Result<Vec<Share>, String> {
            let seeds = (first..teams).step_by(2);
            seeds.map(|seed| self.share(seed, percent).map_err(|why| format!("unequal work {seed}: {why}"))).collect()
        };
        let (mut all, other) = thread::scope(|scope| {
            let other = scope.spawn(|| shares(1));
            (shares(0), other.join())
        });
        let other = other.map_err(|_| "a run of unequal work panicked")??;
        if let Ok(all) = &mut all {
            all.extend(other);
        }
        Ok(Row::unequal(&all?, percent, least))
    }

    fn share(&self, seed: u64, percent: u64) -> Result<Share, String> {
        let task = unequal(seed);
        let free = self.plain(&task, PLENTY, TIMED)?;
        let budget = free.bill * 100 / percent;
        let ran = self.plain(&task, budget, AT_ONCE[usize::try_from(seed).unwrap_or(0) % AT_ONCE.len()])?;
        Ok(Share { whole: ran.is_whole_like(&free), bill: ran.bill, budget })
    }
}

/// The files that a run needs: a home directory and a project with its team.
pub(crate) fn directory(scratch: &Path) -> Result<tempfile::TempDir, String> {
    tempfile::tempdir_in(scratch).map_err(|e| format!("{}: {e}", scratch.display()))
}
