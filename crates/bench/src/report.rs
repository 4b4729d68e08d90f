//! The table and the plot, on the screen and in the documentation.

use std::env::consts::ARCH;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::thread;

use crate::figures::{FIGURES, Figure, Spread, Target, Values};
use crate::plot;
use crate::program::Program;

const PAGE: &str = "docs/benchmarks.md";
const PLOT: &str = "docs/benchmarks.svg";
const END: &str = "<!-- End of the lines that the benchmark writes. -->";

/// The documentation, around the part that a benchmark writes.
pub(crate) struct Page {
    begin: String,
    before: String,
    after: String,
}

impl Page {
    /// Reads the page. Fails before anything is measured if the page has no place for the results.
    pub(crate) fn open(benchmark: &str) -> Result<Page, String> {
        let text =
            fs::read_to_string(PAGE).map_err(|e| format!("{PAGE}: {e}. Run this in the root of the checkout"))?;
        Page::split(&text, benchmark)
            .ok_or_else(|| format!("{PAGE} must have the line `{}` and after it the line `{END}`", begin(benchmark)))
    }

    fn split(text: &str, benchmark: &str) -> Option<Page> {
        let begin = begin(benchmark);
        let (before, rest) = text.split_once(&begin)?;
        let (_, after) = rest.split_once(END)?;
        Some(Page { before: before.into(), after: after.into(), begin })
    }

    fn with(&self, results: &str) -> String {
        format!("{}{}\n\n{results}\n{END}{}", self.before, self.begin, self.after)
    }

    pub(crate) fn write(&self, results: &str) -> Result<(), String> {
        fs::write(PAGE, self.with(results)).map_err(|e| format!("{PAGE}: {e}"))
    }

    pub(crate) fn write_with_plot(&self, results: &str, values: &Values) -> Result<(), String> {
        self.write(&format!("{results}\n![How many times the floor each figure is](benchmarks.svg)\n"))?;
        fs::write(PLOT, plot::svg(values)).map_err(|e| format!("{PLOT}: {e}"))
    }
}

/// The line before the part that a benchmark writes.
fn begin(benchmark: &str) -> String {
    format!("<!-- The next lines are written by `cargo xtask bench -- {benchmark} --write`. -->")
}

/// What the figures of a table are.
#[derive(Clone, Copy)]
pub(crate) enum Figures {
    /// The median of this many runs.
    Medians(usize),
    /// That of one run.
    Single,
}

/// The machine, its load and the day, without its name.
pub(crate) fn machine(load_before: &str, figures: Figures) -> String {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let of = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let model = match of(&read("/proc/cpuinfo"), "model name") {
        name if name.is_empty() => ARCH.to_owned(),
        name => name,
    };
    let kib: u64 = of(&read("/proc/meminfo"), "MemTotal").trim_end_matches(" kB").parse().unwrap_or_default();
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let release = read("/proc/sys/kernel/osrelease");
    // What follows the version number may name a machine.
    let kernel = release.split('-').next().unwrap_or_default();
    let figures = match figures {
        Figures::Medians(runs) => format!("Each figure is the median of {runs} runs."),
        Figures::Single => "Each figure is that of one run.".to_owned(),
    };
    let day = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().map(|output| output.stdout).unwrap_or_default();
    format!(
        "On {}, with {cores} cores ({model}), {} GiB of memory and Linux {}. The load average of the last minute was {load_before} before \
         the runs and {} after them. {figures}",
        String::from_utf8_lossy(&day).trim(),
        kib.div_ceil(1024 * 1024),
        kernel.trim(),
        load()
    )
}

/// The load average of the last minute.
pub(crate) fn load() -> String {
    let loads = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    loads.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// The table of all figures that were measured.
pub(crate) fn table(values: &Values, rig: &str) -> String {
    let mut table = String::from(
        "| figure | floor | guildhall | × floor | target | rig | rig × floor |\n|---|---|---|---|---|---|---|\n",
    );
    for figure in FIGURES {
        if let Some(guildhall) = values.spread(figure.key, Program::Guildhall) {
            table.push_str(&row(figure, guildhall, values));
        }
    }
    writeln!(table, "\n{rig}").expect("writing to a string can't fail");
    table
}

fn row(figure: &Figure, guildhall: Spread, values: &Values) -> String {
    let unit = figure.unit;
    let value =
        |program| values.spread(figure.key, program).map_or(String::new(), |spread| amount(spread.median, unit));
    // A count has no floor.
    let has_floor = !unit.is_empty();
    let times = |program| values.times_floor(figure.key, program).filter(|_| has_floor).map_or(String::new(), between);
    let target = match figure.target {
        Target::None => String::new(),
        Target::Floor(limit) => format!("≤ {limit} × floor{}", verdict(figure, values, limit)),
        Target::Value(limit) | Target::Time(limit) => format!("≤ {limit} {unit}{}", verdict(figure, values, limit)),
    };
    format!(
        "| {} | {} | {} | {} | {target} | {} | {} |\n",
        figure.what,
        value(Program::Floor),
        amount(guildhall.median, unit),
        times(Program::Guildhall),
        value(Program::Rig),
        times(Program::Rig),
    )
}

fn verdict(figure: &Figure, values: &Values, limit: f64) -> &'static str {
    match figure.judged(values) {
        Some(value) if value <= limit => ": met",
        Some(_) => ": **missed**",
        None => "",
    }
}

/// The median, and in brackets the lowest and the highest value.
fn between(spread: Spread) -> String {
    format!("{:.2} ({:.2}–{:.2})", spread.median, spread.lowest, spread.highest)
}

/// Three digits are enough.
fn amount(value: f64, unit: &str) -> String {
    if unit.is_empty() {
        format!("{value:.0}")
    } else if value >= 100.0 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Key;

    #[test]
    fn new_results_replace_only_the_old_ones_of_their_benchmark() {
        let (wire, serve) = (begin("wire"), begin("serve"));
        let text = |one: &str, two: &str| format!("# Title\n{wire}\n{one}\n{END}\nrest\n{serve}\n{two}\n{END}\nend\n");
        let page = |benchmark| Page::split(&text("old", "old"), benchmark).unwrap();
        assert_eq!(page("wire").with("new"), text("\nnew", "old"));
        assert_eq!(page("serve").with("new"), text("old", "\nnew"));
        assert!(Page::split(&format!("{END}\n{wire}\n"), "wire").is_none());
    }

    #[test]
    fn the_documentation_has_a_place_for_the_results() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/benchmarks.md");
        let text = fs::read_to_string(page).unwrap();
        assert!(["wire", "serve", "budget"].iter().all(|benchmark| Page::split(&text, benchmark).is_some()));
    }

    #[test]
    fn a_row_shows_the_ratio_and_whether_the_target_is_met() {
        let mut values = Values::default();
        values.add(Key::TreeCpu, Program::Floor, 100.0);
        values.add(Key::TreeCpu, Program::Guildhall, 250.0);
        values.add(Key::IdleMemory, Program::Guildhall, 20.25);
        let table = table(&values, "no rig");
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| 1,111 agents (fan-out 10, depth 3), 1,000 calls at once: processor time per agent | 100 µs | 250 µs | 2.50 (2.50–2.50) | ≤ 3.5 × floor: met |  |  |",
                "| memory while one call waits |  | 20.2 MB |  | ≤ 18 MB: **missed** |  |  |",
                "",
                "no rig",
            ]
        );
    }
}
