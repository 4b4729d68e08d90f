//! The cost of the whole runtime: the library, its engine and the journal on a disk. A program takes the place of the model, so that no
//! provider is measured. Every figure is printed with its floor from the same run. Run with `cargo xtask bench -- hall`; `--quick`
//! runs small cases, as `cargo test` does.
#![allow(clippy::print_stdout, reason = "a benchmark prints to stdout")]

mod figures;
mod floor;
mod gauge;
#[path = "../../../kernel/benches/driver.rs"]
mod kernel;
mod runs;
mod team;

use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use figures::{Figures, Table};
use team::Shape;

/// The number of runs of each case. Each run has its own process, because memory of an earlier run would falsify the figures.
const SAMPLES: usize = 3;

/// The flag for a single run of a case, which prints its figures as JSON.
const ONE: &str = "--one";

/// A case: its name, the shape of its tree, and what is measured.
struct Case {
    name: &'static str,
    shape: Shape,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    WaitAndCancel,
    Work,
}

const FULL: &[Case] = &[
    Case { name: "hall/wide/1000 hires of one", shape: Shape::Wide(1_000), what: What::WaitAndCancel },
    Case { name: "hall/wide/10000 hires of one", shape: Shape::Wide(10_000), what: What::WaitAndCancel },
    Case { name: "hall/cancel/tree of 1111", shape: Shape::Tree { fan_out: 10, levels: 3 }, what: What::WaitAndCancel },
    Case {
        name: "hall/cancel/tree of 11111",
        shape: Shape::Tree { fan_out: 10, levels: 4 },
        what: What::WaitAndCancel,
    },
    Case { name: "hall/work/tree of 1111", shape: Shape::Tree { fan_out: 10, levels: 3 }, what: What::Work },
    Case { name: "hall/work/tree of 11111", shape: Shape::Tree { fan_out: 10, levels: 4 }, what: What::Work },
];

const QUICK: &[Case] = &[
    Case { name: "hall/wide/100 hires of one", shape: Shape::Wide(100), what: What::WaitAndCancel },
    Case { name: "hall/cancel/tree of 111", shape: Shape::Tree { fan_out: 10, levels: 2 }, what: What::WaitAndCancel },
    Case { name: "hall/work/tree of 111", shape: Shape::Tree { fan_out: 10, levels: 2 }, what: What::Work },
];

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let is_flag = |flag: &str| args.iter().any(|arg| arg == flag);
    // A test runner that asks for a list of tests gets an empty list.
    if is_flag("--list") {
        return;
    }
    if let Some(env) = args.iter().position(|arg| arg == ONE) {
        let name = args.get(env + 1).expect("the name of a case follows");
        let case = FULL.iter().chain(QUICK).find(|case| case.name == name).expect("there is such a case");
        return println!("{}", serde_json::to_string(&case.run()).expect("figures are JSON"));
    }
    // As with criterion, only `cargo bench` runs the full cases.
    let quick = !is_flag("--bench") || is_flag("--quick") || is_flag("--test");
    let (cases, samples) = if quick { (QUICK, 1) } else { (FULL, SAMPLES) };
    let filters: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted =
        |case: &&Case| filters.is_empty() || filters.iter().any(|filter| case.name.contains(filter.as_str()));
    for case in cases.iter().filter(is_wanted) {
        println!("{}", case.name);
        println!("{}", Table((0..samples).map(|_| case.sample()).collect()));
    }
}

impl Case {
    /// Runs the case once, in a separate process.
    fn sample(&self) -> Figures {
        let mut command = Command::new(env::current_exe().expect("this program is a file"));
        let output = command.args([ONE, self.name]).output().expect("this program starts");
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {told}\n{}", self.name, String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&told).expect("a run prints figures")
    }

    /// Runs the case once.
    fn run(&self) -> Figures {
        // The directory is on the disk of the build, because a sync to a file system in memory would cost nothing.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        let runtime = runtime();
        runtime.block_on(async {
            match self.what {
                What::WaitAndCancel => runs::wait_and_cancel(dir.path(), self.shape).await,
                What::Work => runs::work(dir.path(), self.shape).await,
            }
        })
    }
}

/// A runtime like the one of the program, whose threads have different names. The threads that run tasks are started first.
fn runtime() -> tokio::runtime::Runtime {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let begun = AtomicUsize::new(0);
    let name = move || {
        let is_worker = begun.fetch_add(1, Ordering::Relaxed) < workers;
        if is_worker { gauge::DESKS.to_owned() } else { gauge::READS.to_owned() }
    };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(workers).thread_name_fn(name).enable_all().build().expect("a runtime starts")
}
