//! One run of the real binary beside a model server, and what came of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use guildhall_model_server::{Entry, Peer};
use serde_json::{Value, json};

use super::directory;

/// The model of most cases: its prices are those of the cases, and its cache costs what caches cost.
const MODEL: &str = "work";

/// A dollar is a million millisatoshis at this rate, so a price of $1 per million tokens is one millisatoshi per token.
const CONFIG: &str = "\
rate = { usd_per_btc = 100000, date = \"2026-11-15\" }
[prices.work]
input = 1
output = 5
cache_read = 0.1
cache_write = 1.25
";

/// How long the model takes for each reply: long enough that calls run beside each other where time is measured.
const REPLY_MS: u64 = 50;
const REPLY_MS_UNTIMED: u64 = 2;

/// The programs, and the directory for their homes.
pub(super) struct Programs<'a> {
    pub(super) guildhall: PathBuf,
    pub(super) model_server: PathBuf,
    pub(super) scratch: &'a Path,
}

/// How a run is started.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) task: &'a str,
    /// The budget in millisatoshis; `None` is the default budget.
    pub(super) budget: Option<u64>,
    pub(super) at_once: usize,
    pub(super) usage: Usage,
    /// A model with its real price.
    pub(super) model: Option<&'static str>,
    pub(super) file_tools: bool,
}

/// What the provider reports of the tokens that it counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    Real,
    Part(u32, u32),
    Absent,
}

impl Usage {
    /// Whether the run must say that these numbers can't be right. A token has four bytes here, and fewer than one token for
    /// sixteen bytes is not believed.
    pub(super) fn is_told(self) -> bool {
        matches!(self, Usage::Part(part, of) if 4 * part < of)
    }
}

/// What came of a run.
#[derive(Debug)]
pub(super) struct Ran {
    /// What the provider bills, in millisatoshis: $1 per million tokens of input, and $5 of output.
    pub(super) bill: u64,
    pub(super) contracts: Vec<Ended>,
    /// The hirers that have not seen every report whole, as they say.
    pub(super) poor: usize,
    /// From the first request to the end of the last answer.
    pub(super) span_us: u64,
    /// The providers whose usage reports can't be right, as the run says.
    pub(super) warnings: usize,
}

/// How a contract ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) path: String,
    pub(super) is_leaf: bool,
    pub(super) is_done: bool,
    pub(super) is_cut: bool,
    /// In millisatoshis, without its hires.
    pub(super) charged: u64,
}

impl Ran {
    /// The leaves that finished their own turns uncut, but not those of one hire.
    pub(super) fn leaves(&self, without: Option<&str>) -> usize {
        let below = |path: &str, hire: &str| {
            path.strip_prefix(hire).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let counts = |ended: &&Ended| ended.is_leaf && ended.is_done && !ended.is_cut;
        let leaves = self.contracts.iter().filter(counts);
        leaves.filter(|ended| without.is_none_or(|hire| !below(&ended.path, hire))).count()
    }

    pub(super) fn hirers(&self) -> impl Iterator<Item = &Ended> {
        self.contracts.iter().filter(|ended| !ended.is_leaf)
    }

    /// How many hirers have not reported whole, or have not seen every report whole.
    pub(super) fn poor_hirers(&self) -> usize {
        self.hirers().filter(|hirer| hirer.is_cut).count().max(self.poor).min(self.hirers().count())
    }

    /// Whether all hirers are done and have seen every report whole.
    pub(super) fn hirers_are_done(&self) -> bool {
        self.hirers_are_whole() && self.hirers().all(|hirer| hirer.is_done)
    }

    /// Whether the reports of all hirers are whole, and show that they have seen every report whole.
    pub(super) fn hirers_are_whole(&self) -> bool {
        self.poor_hirers() == 0
    }

    /// Whether all the work is finished that is finished without a limit.
    pub(super) fn is_whole_like(&self, free: &Ran) -> bool {
        self.hirers_are_done() && self.leaves(None) == free.leaves(None) && self.contracts.len() == free.contracts.len()
    }
}

impl Programs<'_> {
    /// Runs the work and reads the result.
    pub(super) fn run(&self, run: &Run<'_>) -> Result<Ran, String> {
        let ms = if run.at_once == super::TIMED { REPLY_MS } else { REPLY_MS_UNTIMED };
        let usage = match run.usage {
            Usage::Real => json!({"fraction": [1, 1]}),
            Usage::Part(part, of) => json!({"fraction": [part, of]}),
            Usage::Absent => json!("absent"),
        };
        let pace = json!({"headers_ms": ms, "chunk_chars": 400});
        let peer = Peer::start_program(
            &self.model_server,
            &json!({"usage": usage, "rules": [{"then": {"work": {"pace": pace}}}]}),
        );
        let (home, project) = (directory(self.scratch)?, directory(self.scratch)?);
        files(home.path(), project.path(), run.file_tools).map_err(|e| format!("{}: {e}", project.path().display()))?;
        let mut command = Command::new(&self.guildhall);
        command.args(["run", run.task, "--yes", "--output", "json", "--team", "crew", "--agent", "lead"]);
        command.args(["--model", run.model.unwrap_or(MODEL), "--max-concurrency", &run.at_once.to_string()]);
        command.args(run.budget.iter().flat_map(|budget| ["--budget".to_owned(), format!("{budget}msat")]));
        command.env_clear().env("GUILDHALL_HOME", home.path()).env("HOME", home.path());
        command.env("ANTHROPIC_BASE_URL", peer.url()).env("ANTHROPIC_API_KEY", "none");
        let output = command.current_dir(project.path()).stdin(Stdio::null()).output();
        let output = output.map_err(|e| format!("{}: {e}", self.guildhall.display()))?;
        let result: Value = serde_json::from_slice(&output.stdout)
            .map_err(|e| format!("no result: {e}: {}", String::from_utf8_lossy(&output.stderr)))?;
        let mut ran = read(&result, &peer.log())?;
        if run.model.is_some() {
            // The server does not know the prices of this model. It reports the truth, so the run's own bill is true.
            ran.bill = result["bill"]["charged"]["msat"].as_u64().ok_or("the bill has no sum")?;
        }
        Ok(ran)
    }
}

fn files(home: &Path, project: &Path, file_tools: bool) -> std::io::Result<()> {
    fs::write(home.join("config.toml"), CONFIG)?;
    fs::write(project.join("notes.txt"), "the meeting is on Tuesday\n".repeat(6))?;
    let crew = project.join("crew");
    fs::create_dir(&crew)?;
    let tools = |tools: &'static str| if file_tools { "" } else { tools };
    let team = "delegation:\n  team: [manager, worker]\n  recursive: true\n";
    let agents = [
        ("lead", tools("tools: []\n"), team),
        ("manager", tools("tools: []\n"), team),
        ("worker", tools("tools: [read_file]\n"), ""),
    ];
    for (name, tools, team) in agents {
        let text =
            format!("---\nname: {name}\ndescription: Does a part of the work.\n{tools}{team}---\nYou are {name}.\n");
        fs::write(crew.join(format!("{name}.md")), text)?;
    }
    Ok(())
}

fn read(result: &Value, log: &[Entry]) -> Result<Ran, String> {
    let wrong = |what: &str| format!("{what} is missing in the result: {result:#}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let contract = |line: &Value| {
        Some(Ended {
            path: text(&line["contract"]),
            is_leaf: line["agent"].as_str()? == "worker",
            is_done: line["outcome"] == "done",
            is_cut: line["cut"] == true,
            charged: line["own"]["charged"]["msat"].as_u64()?,
        })
    };
    let contracts = result["bill"]["contracts"].as_array().ok_or_else(|| wrong("the bill"))?;
    let contracts: Option<Vec<Ended>> = contracts.iter().map(contract).collect();
    let answer = text(&result["answer"]);
    // A root without a report of ours has seen nothing whole.
    let poor = answer.split_once("poor=").and_then(|(_, rest)| rest.split(':').next()?.parse().ok());
    let bills = log.iter().filter_map(|entry| match entry {
        Entry::Answer { tokens: Some(tokens), .. } => Some(tokens.input + 5 * tokens.output),
        Entry::Answer { tokens: None, .. } | Entry::Request { .. } | Entry::End { .. } | Entry::Mark { .. } => None,
    });
    let times = log.iter().filter_map(|entry| match entry {
        Entry::Request { at_us, .. } | Entry::End { at_us, .. } => Some(*at_us),
        Entry::Answer { .. } | Entry::Mark { .. } => None,
    });
    let times: Vec<u64> = times.collect();
    let (first, last) = times.iter().min().zip(times.iter().max()).ok_or("no request arrived")?;
    let warnings = result["bill"]["usage_warnings"].as_array().map_or(0, Vec::len);
    Ok(Ran {
        bill: bills.sum(),
        contracts: contracts.ok_or_else(|| wrong("a part of the bill"))?,
        poor: poor.unwrap_or(1),
        span_us: last - first,
        warnings,
    })
}
