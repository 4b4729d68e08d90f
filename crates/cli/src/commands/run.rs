//! `run` and `resume`: they start or continue work and watch it until it ends or is interrupted.

use std::env;
use std::io::{self, IsTerminal};
use std::path::{Path as FilePath, PathBuf};

use guildhall::kernel::CloseWhen;
use guildhall::local::SessionId;
use guildhall::{Hall, HallError, Running};

use crate::amount::paid_in_words;
use crate::args::{Output, ResumeArgs, RunArgs};
use crate::commands::pick;
use crate::consent::Consent;
use crate::exit::{Exit, Failure};
use crate::failed;
use crate::local_server;
use crate::prepare::Prepared;
use crate::print::{count, note, tame};
use crate::signals::Signals;
use crate::stdin::{self, Purpose};
use crate::switch::Permissions;
use crate::talk::{Lines, Talk};
use crate::team::Found;
use crate::watch::Watch;
use crate::world::World;

/// The longest task, in bytes: as long as the longest brief.
pub(crate) const TASK_BYTES_MAX: u64 = 64 * 1024;

/// The longest path that is printed, in characters.
const PATH_CHARS_MAX: usize = 4096;

/// The task of `run --continue` without a task.
const CONTINUE_TASK: &str = "Continue where you stopped.";

/// The line in a task above the text that came from stdin.
const STDIN_LINE: &str = "The text from stdin:";

/// Runs a task.
pub(crate) async fn run(world: &World, args: RunArgs) -> Result<Exit, Failure> {
    let task = if args.tasks.is_some() { String::new() } else { task(&args)? };
    let watch = args.work.watch;
    let prepared = Prepared::new(world, args.work, args.tasks.as_deref()).await?;
    let mut signals = Signals::listen()?;
    let (id, undertaking) = prepared.undertaking(task).with_session();
    let running = start(&prepared.hall, &id, Box::pin(undertaking.start()), &mut signals).await?;
    let Some(running) = running else {
        return Ok(stopped_early(&prepared.hall, &id, watch.output.output).await);
    };
    note(&format!("session {}", running.id()));
    note_transcripts(&running);
    Watch::new(prepared.hall, running, watch, signals).await?.until_the_end().await
}

/// Resumes interrupted work.
pub(crate) async fn resume(world: &World, args: ResumeArgs) -> Result<Exit, Failure> {
    let id = match &args.id {
        Some(typed) => typed.find(&world.hall(here()?)?).await?,
        None => pick::interrupted(world).await?,
    };
    resume_session(world, args, &id).await.map_err(|why| why.of_session(&id))
}

async fn resume_session(world: &World, args: ResumeArgs, id: &SessionId) -> Result<Exit, Failure> {
    let Before { project, model } = before(world, id).await?;
    let world = local_server::learn(world, &model).await;
    // The agents are stored with the request, so no roster is needed.
    let mut builder = args.transcripts.apply(world.hall_with(project, Found::nobody(), args.max_concurrency));
    if args.allow_overrun {
        builder = builder.allow_overrun();
    }
    let hall = builder.build()?;
    let mut signals = Signals::listen()?;
    let before = hall.journal().facts(id, 1).await?;
    let Some(running) = start(&hall, id, Box::pin(hall.resume(id)), &mut signals).await? else {
        return Ok(stopped_early(&hall, id, args.watch.output.output).await);
    };
    let staffing = hall.staffing_of(running.id()).await?;
    note(&format!("session {} continues, {}", running.id(), paid_in_words(&staffing)));
    note_transcripts(&running);
    let talk = match running.root().close_when {
        CloseWhen::FinalText => None,
        CloseWhen::Asked => {
            let permissions = Permissions { world: world.clone(), given: Consent::NotAsked };
            Some(Talk::new(Lines::read(&world.paths.history)?, permissions))
        }
    };
    Watch::new(hall, running, args.watch, signals).await?.with(talk).after(before).until_the_end().await
}

/// Starts or resumes the work of a session. `None` if a signal came before the work began: the wallet may let the person wait.
pub(crate) async fn start(
    hall: &Hall,
    id: &SessionId,
    starting: impl Future<Output = Result<Running, HallError>>,
    signals: &mut Signals,
) -> Result<Option<Running>, Failure> {
    let started = tokio::select! {
        started = starting => started,
        () = signals.any() => return Ok(None),
    };
    match started {
        Ok(running) => Ok(Some(running)),
        Err(why) if failed::exists(hall, id).await => Err(Failure::from(why).of_session(id)),
        Err(why) => Err(why.into()),
    }
}

/// Tells the person, and the program that reads the result, that a signal came before the work began.
pub(crate) async fn stopped_early(hall: &Hall, id: &SessionId, output: Output) -> Exit {
    let is_requested = failed::view(hall, id).await.is_some_and(|view| view.request.is_some() && !view.ended());
    let why = if is_requested {
        format!("stopped. Everything so far is saved. To continue, run: guildhall resume {id}")
    } else {
        "stopped before the work began".to_owned()
    };
    note(&why);
    if output == Output::Json {
        if failed::exists(hall, id).await {
            failed::print_session(hall, id, &why, Exit::Interrupted).await;
        } else {
            failed::print_alone(&why, Exit::Interrupted);
        }
    }
    // The last handle would wait for the journal's thread, which a disk that is stuck can stop. Nothing has to be stored any more.
    std::mem::forget(hall.clone());
    Exit::Interrupted
}

/// Prints where the transcripts of the work are, if they are written while it runs.
pub(crate) fn note_transcripts(running: &Running) {
    if let Some(directory) = running.transcript_directory() {
        note(&format!("transcripts are written to {}", tame(&directory.display().to_string(), PATH_CHARS_MAX)));
    }
}

/// The settings of a session that already exists.
pub(crate) struct Before {
    /// The directory that the session works on.
    pub(crate) project: PathBuf,
    /// The model of the first agent of its newest work.
    pub(crate) model: String,
}

/// Reads the settings of a session.
pub(crate) async fn before(world: &World, id: &SessionId) -> Result<Before, Failure> {
    let hall = world.hall(here()?)?;
    let view = hall.session(id).await?;
    let project = PathBuf::from(&view.row.project);
    if let Some(root) = &view.root {
        world.need_keys(&root.setup.staffing.models())?;
    }
    let model = view.root.map_or_else(String::new, |root| root.setup.staffing.model().to_owned());
    if project.is_dir() {
        Ok(Before { project, model })
    } else {
        Err(Failure::usage(format!(
            "the project of session {id} no longer exists: put the directory {} back, then run this command again",
            project.display()
        )))
    }
}

/// The directory to work on, as an absolute path.
pub(crate) fn project(wanted: Option<&FilePath>) -> Result<PathBuf, Failure> {
    let Some(wanted) = wanted else { return here() };
    wanted.canonicalize().map_err(|why| Failure::usage(format!("can't open the project {}: {why}", wanted.display())))
}

pub(crate) fn here() -> Result<PathBuf, Failure> {
    env::current_dir().map_err(|why| Failure::usage(format!("can't find the current directory: {why}")))
}

/// The task: from the command line, from stdin, or from both. A text on stdin that nobody asked for is never dropped.
fn task(args: &RunArgs) -> Result<String, Failure> {
    let read = |purpose| stdin::read(purpose, args.work.timeout);
    let typed = args.task.as_deref().filter(|task| *task != "-").map(str::trim);
    let task = match typed {
        Some("") => String::new(),
        Some(task) if stdin::has_text() => with_stdin(task, &read(Purpose::Addition)?)?,
        Some(task) => task.to_owned(),
        None if args.task.is_none() && args.work.continues() => {
            let text = if stdin::has_text() { read(Purpose::Task)? } else { String::new() };
            if text.trim().is_empty() { CONTINUE_TASK.to_owned() } else { text.trim().to_owned() }
        }
        None if args.task.is_none() && io::stdin().is_terminal() => {
            return Err(Failure::usage("no task given. Try: guildhall run \"When is the meeting?\""));
        }
        None => read(Purpose::Task)?.trim().to_owned(),
    };
    match task.len() as u64 {
        0 => Err(Failure::usage("the task is empty. Try: guildhall run \"When is the meeting?\"")),
        bytes if bytes > TASK_BYTES_MAX => Err(Failure::usage(format!(
            "the task has {bytes} bytes, and at most {TASK_BYTES_MAX} are possible: put it into a file and name the file"
        ))),
        _ => Ok(task),
    }
}

/// Adds the text on stdin to a task. An empty text adds nothing.
fn with_stdin(task: &str, text: &str) -> Result<String, Failure> {
    let text = text.trim_end().trim_start_matches(['\r', '\n']);
    if text.is_empty() {
        return Ok(task.to_owned());
    }
    let whole = format!("{task}\n\n{STDIN_LINE}\n\n{text}");
    if whole.len() as u64 > TASK_BYTES_MAX {
        return Err(Failure::usage(format!(
            "the task has {} bytes and the text on stdin has {}: together, at most {TASK_BYTES_MAX} are possible. Put \
             the text into a file and name the file",
            task.len(),
            text.len()
        )));
    }
    note(&format!("{} from stdin are added to the task", count(text.len(), "byte")));
    Ok(whole)
}
