//! The programs that are measured: how each is started for a tree, and how its answer is read. Each run has a fresh fake
//! model and, for guildhall, a home of its own, unless the case needs an existing journal.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::fake::{FakeBehaviour, Seen, WORKER};
use crate::measure::Ended;
use crate::tree::Tree;

const CONFIG: &str = "model = \"fake\"\n[prices.fake]\ninput = 1\noutput = 5\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    Floor,
    Guildhall,
    Rig,
}

/// The programs on this machine, and what they have in common.
pub(crate) struct Bench {
    pub(crate) guildhall: PathBuf,
    /// None: rig could not be built.
    pub(crate) rig: Option<PathBuf>,
    /// The directory for homes. It is on the disk of the checkout: a temporary directory is often in memory.
    pub(crate) scratch: PathBuf,
    /// The size of an agent's first request from guildhall. The floor's requests have the same size.
    pub(crate) request_bytes: u64,
}

/// One run of a program.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) tree: Tree,
    pub(crate) behaviour: FakeBehaviour,
    /// The highest number of calls at the same time; none: guildhall's default, which is 32.
    pub(crate) at_once: Option<usize>,
}

const DEFAULT_AT_ONCE: usize = 32;

/// The agent that a worker hires in the teams for the size of a request.
pub(crate) const HIRE: &str = "hire";

/// How often, and how many times, to look whether the memory of a process still grows.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS_MAX: u32 = 200;

/// What was measured in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) cpu_us: f64,
    /// From the arrival of the first request to the last answer.
    pub(crate) span_us: f64,
    /// From the start of the program to the arrival of the first request.
    pub(crate) start_us: f64,
    pub(crate) peak_kib: f64,
    pub(crate) open_max: u64,
    pub(crate) leaf_bytes: u64,
}

/// The agents in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Team {
    /// Workers that hire workers.
    Workers,
    /// A worker that hires an agent without tools.
    Bare,
    /// A worker that hires an agent with the file tools.
    FileTools,
}

/// A running fake model.
pub(crate) struct Fake {
    child: Guard,
    output: BufReader<ChildStdout>,
    pub(crate) url: String,
}

/// The directories of guildhall: its home and a project with a team.
pub(crate) struct Directories {
    home: TempDir,
    project: TempDir,
}

impl Run {
    pub(crate) fn of(fanout: u64, depth: u32) -> Run {
        Run { tree: Tree { fanout, depth }, behaviour: FakeBehaviour::default(), at_once: None }
    }
}

impl Program {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Program::Floor => "floor",
            Program::Guildhall => "guildhall",
            Program::Rig => "rig",
        }
    }
}

impl Bench {
    /// The programs that can be run, in the order of each round.
    pub(crate) fn programs(&self) -> Vec<Program> {
        let rig = self.rig.as_ref().map(|_| Program::Rig);
        [Program::Floor, Program::Guildhall].into_iter().chain(rig).collect()
    }

    pub(crate) fn directories(&self, team: Team) -> Result<Directories, String> {
        let directory = || tempfile::tempdir_in(&self.scratch).map_err(|e| format!("{}: {e}", self.scratch.display()));
        let directories = Directories { home: directory()?, project: directory()? };
        let crew = directories.project.path().join("crew");
        fs::create_dir(&crew)
            .and_then(|()| team.files().iter().try_for_each(|(name, text)| fs::write(crew.join(name), text)))
            .and_then(|()| fs::write(directories.home.path().join("config.toml"), CONFIG))
            .map_err(|e| format!("{}: {e}", crew.display()))?;
        Ok(directories)
    }

    /// Starts a program whose agents without hires never get an answer. When all of them wait, returns its memory in bytes and
    /// ends it.
    pub(crate) fn waiting(&self, directories: &Directories, program: Program, tree: Tree) -> Result<f64, String> {
        let at_once = Some(usize::try_from(tree.leaves()).unwrap_or(usize::MAX));
        let behaviour = FakeBehaviour { stall: Some(tree.leaves()), ..FakeBehaviour::default() };
        let run = Run { tree, behaviour, at_once };
        let mut fake = Fake::start(&run.behaviour)?;
        let mut command = self.command(directories, program, &run, &fake.url)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("{}: {e}", program.name()))?;
        let child = Guard(child);
        let resident = fake.line().and_then(|_| settled(&child.0));
        resident.map_err(|why| format!("{}, {} agents that wait: {why}", program.name(), tree.leaves()))
    }

    /// Runs a program once, checks its answer and the number of its requests, and returns what was measured.
    pub(crate) fn sample(&self, program: Program, run: &Run) -> Result<Sample, String> {
        self.sample_in(&self.directories(Team::Workers)?, program, run)
    }

    /// The same, in an existing home.
    pub(crate) fn sample_in(&self, directories: &Directories, program: Program, run: &Run) -> Result<Sample, String> {
        let what = format!("{}, {} agents", program.name(), run.tree.agents());
        let fake = Fake::start(&run.behaviour)?;
        let bare = self.command(directories, program, run, &fake.url)?;
        let mut command = ours("measure")?;
        command.arg("--").arg(bare.get_program()).args(bare.get_args()).env_clear();
        command.envs(bare.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(directories.project.path());
        let output = command.stderr(Stdio::inherit()).output().map_err(|e| format!("{what}: {e}"))?;
        let ended: Ended = serde_json::from_slice(&output.stdout).map_err(|e| format!("{what}: not measured: {e}"))?;
        let seen = fake.end()?;
        let answer = answer(program, &ended.stdout);
        if !ended.success || answer != run.tree.answer() {
            let tail = &ended.stderr[ended.stderr.floor_char_boundary(ended.stderr.len().saturating_sub(2000))..];
            let wanted = run.tree.answer();
            return Err(format!(
                "{what}: the answer is `{answer}` instead of `{wanted}`. The end of its stderr:\n{tail}"
            ));
        }
        if seen.requests != run.tree.requests() {
            return Err(format!("{what}: {} requests instead of {}", seen.requests, run.tree.requests()));
        }
        Ok(Sample {
            cpu_us: float(ended.cpu_us),
            span_us: float(seen.last_us.saturating_sub(seen.first_us)),
            start_us: float(seen.first_us.saturating_sub(ended.start_us)),
            peak_kib: float(ended.peak_kib),
            open_max: seen.open_max,
            leaf_bytes: seen.leaf_bytes,
        })
    }

    /// The command of a run, in the project and with only the variables that it needs.
    fn command(&self, directories: &Directories, program: Program, run: &Run, url: &str) -> Result<Command, String> {
        let (task, at_once) = (run.tree.task(), run.at_once.unwrap_or(DEFAULT_AT_ONCE).to_string());
        let mut command = match program {
            Program::Floor => {
                let mut floor = ours("floor")?;
                floor.args(["--url", url, "--task", &task, "--at-once", &at_once]);
                floor.args(["--request-bytes", &self.request_bytes.to_string()]);
                floor
            }
            Program::Rig => {
                let mut rig = Command::new(self.rig.as_ref().ok_or("rig was not built")?);
                rig.args([url, &task]);
                rig
            }
            Program::Guildhall => Command::new(&self.guildhall),
        };
        command.env_clear().current_dir(directories.project.path());
        if program == Program::Guildhall {
            configure(&mut command, directories, run, url);
        }
        Ok(command)
    }
}

/// Adds the arguments and variables of guildhall.
fn configure(command: &mut Command, directories: &Directories, run: &Run, url: &str) {
    command.args(["run", &run.tree.task(), "--yes", "--output", "json", "--team", "crew", "--agent", WORKER]);
    command.args(["--budget", "100000000sat"]);
    // Each hirer keeps a share of its hires for itself, so the limit must be higher than the number of hires. Trees within the
    // default limit run with the default.
    if run.tree.agents() > 500 {
        command.args(["--max-hires", &(2 * run.tree.agents()).to_string()]);
    }
    if let Some(at_once) = run.at_once {
        command.args(["--max-concurrency", &at_once.to_string()]);
    }
    let home = directories.home.path();
    command.env("GUILDHALL_HOME", home).env("HOME", home);
    command.env("OPENAI_BASE_URL", url).env("OPENAI_API_KEY", "none");
}

impl Team {
    /// The name and the text of each agent file.
    fn files(self) -> Vec<(String, String)> {
        let recursive = "delegation:\n  team: [worker]\n  recursive: true";
        let hires = format!("delegation:\n  team: [{HIRE}]");
        let agents = match self {
            Team::Workers => vec![(WORKER, recursive)],
            Team::Bare => vec![(WORKER, hires.as_str()), (HIRE, "tools: []")],
            Team::FileTools => vec![(WORKER, hires.as_str()), (HIRE, "tools: [read_file, list_files, search]")],
        };
        let file = |(name, front)| {
            let text =
                format!("---\nname: {name}\ndescription: Does a part of the work.\n{front}\n---\nYou are {name}.\n");
            (format!("{name}.md"), text)
        };
        agents.into_iter().map(file).collect()
    }
}

/// Waits until the memory of a process stops growing, and returns it in bytes.
pub(crate) fn settled(child: &Child) -> Result<f64, String> {
    let mut before = 0.0;
    for _ in 0..LOOKS_MAX {
        let resident = resident(child.id())?;
        if resident <= before * 1.001 {
            return Ok(resident);
        }
        before = resident;
        thread::sleep(LOOK);
    }
    Err("its memory does not stop growing".into())
}

/// The resident memory of a process in bytes.
fn resident(process: u32) -> Result<f64, String> {
    let file = format!("/proc/{process}/status");
    let status = fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("it has ended")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().map_err(|e| format!("{file}: {e}"))?;
    Ok(float(kib * 1024))
}

/// A process that ends with its owner.
pub(crate) struct Guard(pub(crate) Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // A process that has ended already can't be killed, which is all right.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A hidden command of this program.
fn ours(command: &str) -> Result<Command, String> {
    let program = env::current_exe().map_err(|e| format!("the path of this program: {e}"))?;
    let mut ours = Command::new(program);
    ours.arg(command);
    Ok(ours)
}

/// The answer of the root in the output of a program.
fn answer(program: Program, stdout: &str) -> String {
    match program {
        Program::Floor | Program::Rig => stdout.trim().to_owned(),
        Program::Guildhall => {
            let result: Value = serde_json::from_str(stdout).unwrap_or_default();
            result["answer"].as_str().unwrap_or_default().to_owned()
        }
    }
}

impl Fake {
    pub(crate) fn start(behaviour: &FakeBehaviour) -> Result<Fake, String> {
        let mut command = ours("fake")?;
        command.args(["--latency-ms", &behaviour.latency_ms.to_string()]);
        command.args(["--hires", &behaviour.hires]);
        command.args(behaviour.stall.iter().flat_map(|count| ["--stall".to_owned(), count.to_string()]));
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = Guard(child.map_err(|e| format!("the fake model: {e}"))?);
        let output = BufReader::new(child.0.stdout.take().ok_or("the fake model has no output")?);
        let mut fake = Fake { child, output, url: String::new() };
        fake.url = format!("http://127.0.0.1:{}/v1", fake.line()?);
        Ok(fake)
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err("the fake model ended".into()),
            Ok(_) => Ok(line.trim().to_owned()),
            Err(e) => Err(format!("the fake model: {e}")),
        }
    }

    /// Ends the fake model and returns what it saw.
    pub(crate) fn end(mut self) -> Result<Seen, String> {
        drop(self.child.0.stdin.take());
        let seen = self.line()?;
        serde_json::from_str(&seen).map_err(|e| format!("the fake model: {e}: {seen}"))
    }
}

#[expect(clippy::cast_precision_loss, reason = "measured values are far below 2^52")]
pub(crate) fn float(value: u64) -> f64 {
    value as f64
}

/// The directory for homes below the build directory of this program.
pub(crate) fn scratch() -> Result<PathBuf, String> {
    let program = env::current_exe().map_err(|e| format!("the path of this program: {e}"))?;
    let scratch = program.parent().unwrap_or(Path::new(".")).join("wire");
    fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    Ok(scratch)
}
