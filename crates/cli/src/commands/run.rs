//! `run` and `resume`: work that is watched until it ends or is interrupted.

use std::env;
use std::io::{self, IsTerminal, Read};
use std::path::{Path as FilePath, PathBuf};

use guildhall::kernel::Outcome;
use guildhall::local::{SessionId, raise_open_files};
use guildhall::providers::{REHEARSAL_LABEL, Rate};
use guildhall::{Agent, Ended, Ending, Hall, Running};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::agent_file;
use crate::amount::{BUDGET, at_rate, both};
use crate::args::{Output, ResumeArgs, RunArgs};
use crate::bill::Sheet;
use crate::commands::out_json;
use crate::consent;
use crate::exit::{self, Exit, Failure, Interrupted};
use crate::live::{Live, ending, note};
use crate::print::{BAD, WARN, out, say, say_in, tame, tame_lines};
use crate::team::{self, Found};
use crate::world::{REHEARSAL, World};

/// The longest task, in bytes: the longest brief.
const TASK_BYTES_MAX: u64 = 64 * 1024;

/// What a session is asked to do that is continued without words.
const GO_ON: &str = "Go on from where you stopped.";

/// Does a task.
pub(crate) async fn run(world: &World, args: RunArgs) -> Result<Exit, Failure> {
    let about = match (&args.project, &args.team) {
        (None, Some(team)) => team::project_of(team, &here()?),
        (_, _) => None,
    };
    let project = about.map_or_else(|| project(args.project.as_deref()), Ok)?;
    let rate = world.models.rate().clone();
    let found = team::find(world, &project, args.team.as_deref())?;
    let entry = entry(&args, &found, rate.usd_per_btc)?;
    let task = task(&args)?;
    let hall = world.hall_with(project, found.roster, args.max_concurrency)?;
    let wanted = args.model.clone().or_else(|| entry.model());
    let name = hall.models().find(wanted.as_deref()).map_err(guildhall::HallError::from)?;

    let mut work = hall.run(task).heads_max(args.max_hires).depth_max(args.max_depth);
    if args.model.is_some() {
        work = work.model(name.to_string());
    }
    let budget = match (args.budget, &args.after) {
        (Some(budget), _) => Some(budget.msat(&rate)),
        (None, None) => Some(BUDGET.msat(&rate)),
        (None, Some(_)) => None,
    };
    let most = match (budget, &args.after) {
        (Some(budget), _) => budget,
        (None, Some(id)) => hall.session(id).await?.free,
        (None, None) => BUDGET.msat(&rate),
    };
    if let Some(budget) = budget {
        work = work.budget(budget);
    }
    if let Some(turns) = args.max_turns {
        work = work.turns_max(turns);
    }
    if let Some(time) = args.timeout {
        work = work.time_max(time);
    }
    if let Some(tokens) = args.max_tokens_total {
        work = work.tokens_max(tokens);
    }
    if let Some(id) = args.after.clone() {
        work = work.after(id);
    }
    work = match entry {
        EntryAgent::Listed(agent) => work.entry(agent.name),
        EntryAgent::Given(agent) => work.agent(agent),
    };
    let most = both(most, &rate);
    note(&format!("{name}, at most {most}, {}", at_rate(&rate)));
    if name.source == REHEARSAL {
        note(&format!("{REHEARSAL_LABEL}; the money is play money, counted in bytes that are read and written"));
    }
    consent::to_pay(&world.paths.data, hall.models().paid(&name), args.yes, &most, &name.source)?;
    let signals = Signals::listen()?;
    let running = work.start().await?;
    note(&format!("session {}", running.id()));
    Watch::new(hall, running, args.output.output, signals).until_the_end().await
}

/// Who takes the work on.
enum EntryAgent {
    /// Somebody on the roster.
    Listed(Agent),
    /// Somebody out of a file of its own.
    Given(Agent),
}

impl EntryAgent {
    fn model(&self) -> Option<String> {
        let (EntryAgent::Listed(agent) | EntryAgent::Given(agent)) = self;
        agent.model.clone()
    }
}

/// Finds out who takes the work on. What looks like a file is one.
fn entry(args: &RunArgs, found: &Found, rate: Rate) -> Result<EntryAgent, Failure> {
    let named = args.agent.as_deref();
    if let Some(file) = named.filter(|named| named.contains(['/', '.'])) {
        return Ok(EntryAgent::Given(agent_file::read(FilePath::new(file), rate)?));
    }
    let name = found.entry(named)?;
    let file = found.roster.get(&name).ok_or_else(|| Failure::usage(format!("there is no agent {name}")))?;
    Ok(EntryAgent::Listed(Agent::of_file(file, rate)))
}

/// Takes up what was interrupted.
pub(crate) async fn resume(world: &World, args: ResumeArgs) -> Result<Exit, Failure> {
    let project = project_of(world, &args.id).await?;
    let hall = world.hall(project)?;
    let signals = Signals::listen()?;
    let running = hall.resume(&args.id).await?;
    note(&format!("session {} goes on", running.id()));
    Watch::new(hall, running, args.output.output, signals).until_the_end().await
}

/// The directory that a session was begun in.
async fn project_of(world: &World, id: &SessionId) -> Result<PathBuf, Failure> {
    let hall = world.hall(here()?)?;
    let project = PathBuf::from(&hall.session(id).await?.row.project);
    if project.is_dir() {
        Ok(project)
    } else {
        Err(Failure::usage(format!("{} is gone, which {id} works on", project.display())))
    }
}

/// The directory to work on, as every other directory names it.
pub(crate) fn project(wanted: Option<&FilePath>) -> Result<PathBuf, Failure> {
    let Some(wanted) = wanted else { return here() };
    wanted.canonicalize().map_err(|why| Failure::usage(format!("the project {}: {why}", wanted.display())))
}

pub(crate) fn here() -> Result<PathBuf, Failure> {
    env::current_dir().map_err(|why| Failure::usage(format!("the current directory: {why}")))
}

/// The task: as it was typed, or as it comes in.
fn task(args: &RunArgs) -> Result<String, Failure> {
    let piped = || -> Result<String, Failure> {
        let mut text = String::new();
        let read = io::stdin().lock().take(TASK_BYTES_MAX + 1).read_to_string(&mut text);
        read.map_err(|why| Failure::usage(format!("the task can't be read from stdin: {why}")))?;
        Ok(text)
    };
    let task = match args.task.as_deref() {
        Some("-") => piped()?,
        Some(task) => task.to_owned(),
        None if args.after.is_some() => GO_ON.to_owned(),
        None if io::stdin().is_terminal() => {
            return Err(Failure::usage("what is to be done? Try: guildhall run \"When is the meeting?\""));
        }
        None => piped()?,
    };
    match task.trim() {
        "" => Err(Failure::usage("the task is empty")),
        trimmed if trimmed.len() as u64 > TASK_BYTES_MAX => Err(Failure::usage(format!(
            "the task is longer than {TASK_BYTES_MAX} bytes: put it into a file and name the file"
        ))),
        trimmed => Ok(trimmed.to_owned()),
    }
}

/// What a person or the system asks of this process. It listens before work begins: until then, a signal ends the process
/// without a word about how to go on.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Signals, Failure> {
        let listen = |kind| signal(kind).map_err(|why| Failure::failed(format!("signals can't be heard: {why}")));
        Ok(Signals { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }
}

/// Watches work that is under way.
struct Watch {
    hall: Hall,
    running: Running,
    live: Live,
    output: Output,
    signals: Signals,
}

impl Watch {
    fn new(hall: Hall, running: Running, output: Output, signals: Signals) -> Watch {
        raise_open_files();
        Watch { live: Live::new(hall.clone()), hall, running, output, signals }
    }

    async fn until_the_end(mut self) -> Result<Exit, Failure> {
        let mut facts = self.running.facts();
        let mut interrupted = Interrupted::No;
        let ended = loop {
            tokio::select! {
                biased;
                _ = self.signals.interrupt.recv() => match interrupted {
                    Interrupted::No => {
                        interrupted = Interrupted::Yes;
                        say_in(WARN, "wrapping up: one last report. Ctrl-C again stops at once");
                        self.running.end(Ending::WrapUp).await?;
                    }
                    Interrupted::Yes => return Ok(self.leave().await),
                },
                _ = self.signals.terminate.recv() => return Ok(self.leave().await),
                fact = facts.next() => self.live.tell(&fact?).await,
                ended = self.running.wait() => break ended,
            }
        };
        let ended = match ended {
            Ok(ended) => ended,
            Err(why) => {
                say_in(WARN, &format!("session {} is kept; go on with: guildhall resume {0}", self.running.id()));
                return Err(why.into());
            }
        };
        while let Some(fact) = facts.try_next().await? {
            self.live.tell(&fact).await;
        }
        let exit = exit::of(&ended, interrupted);
        self.print(&ended, exit);
        // What has queued up for the transcripts is written before the process ends.
        drop(facts);
        close(self.hall, self.running, self.live).await;
        Ok(exit)
    }

    /// Stops where it is. Nothing closes; everything that was stored is there for the resume.
    async fn leave(self) -> Exit {
        let id = self.running.id().clone();
        close(self.hall, self.running, self.live).await;
        say_in(WARN, &format!("stopped; nothing is lost. Go on with: guildhall resume {id}"));
        Exit::Interrupted
    }

    fn print(&self, ended: &Ended, exit: Exit) {
        let sheet = sheet(ended);
        match self.output {
            Output::Json => out_json(&json!({
                "session": ended.session,
                "outcome": ended.report.outcome,
                "answer": ended.text,
                "failure": ended.failure,
                "exit_code": exit.code(),
                "bill": sheet.json(),
            })),
            Output::Text => {
                match ended.text.trim() {
                    "" => {}
                    _ if ended.report.outcome == Outcome::Failed => {}
                    answer => out(&tame_lines(answer)),
                }
                for line in sheet.lines() {
                    say(&line);
                }
            }
        }
        advise(ended);
    }
}

async fn close(hall: Hall, running: Running, live: Live) {
    drop((running, live));
    let journal = hall.journal().clone();
    drop(hall);
    journal.close().await;
}

fn sheet(ended: &Ended) -> Sheet<'_> {
    Sheet {
        bill: &ended.bill,
        rate: &ended.setup.staffing.rate,
        model: ended.setup.staffing.model(),
        granted: ended.granted,
        spent: ended.report.spent,
        head: &ended.head,
        violations: &ended.violations,
    }
}

/// Says what happened and what to type next, where it is not simply done.
fn advise(ended: &Ended) {
    let id = &ended.session;
    let what = ending(ended.report.outcome);
    match ended.report.outcome {
        Outcome::Done => {}
        Outcome::Exhausted(_) => {
            let found =
                if ended.text.trim().is_empty() { "nothing was found" } else { "this is what was found so far" };
            say_in(WARN, &format!("{what}: {found}. Go on with: guildhall run --continue {id}"));
        }
        Outcome::Failed => {
            let why = ended.failure.as_deref().unwrap_or(&ended.text);
            say_in(BAD, &format!("failed: {}", tame(why, 1000)));
            say_in(WARN, &format!("session {id} is kept. When that is mended: guildhall run --continue {id}"));
        }
        Outcome::Cancelled => say_in(WARN, &format!("{what}. Go on with: guildhall run --continue {id}")),
    }
}
