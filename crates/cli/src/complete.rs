//! Completion in the shell: clap completes commands and flags; this module completes sessions, contracts and agents. Completion
//! changes nothing and prints no errors: what can't be read is not offered.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::CompleteEnv;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::Shells;
use guildhall::Hall;
use guildhall::kernel::Fact;

use crate::args::Cli;
use crate::exit::Failure;
use crate::live::name;
use crate::print::tame;
use crate::session_ref::{LAST, SessionRef};
use crate::world::World;
use crate::{runtime, team};

/// The variable that the shell script sets to ask for candidates.
const VARIABLE: &str = "GUILDHALL_COMPLETE";

/// The longest description of a candidate, in characters.
const HELP_CHARS_MAX: usize = 60;

/// The most sessions that are offered. The newest come first.
const SESSIONS_MAX: usize = 100;

/// Answers a shell that asks for candidates, and ends the process if one did.
pub(crate) fn answer_shell() {
    CompleteEnv::with_factory(Cli::command).var(VARIABLE).complete();
}

/// The names of the shells that have a script.
pub(crate) fn shells() -> Vec<&'static str> {
    Shells::builtins().names().collect()
}

/// The script with which a shell asks this program for candidates.
pub(crate) fn script(shell: &str) -> Result<String, Failure> {
    let shells = Shells::builtins();
    let completer = shells.completer(shell).ok_or_else(|| {
        Failure::usage(format!(
            "there is no script for the shell {shell:?}: choose one of {}",
            self::shells().join(", ")
        ))
    })?;
    let mut script = Vec::new();
    let written = completer.write_registration(VARIABLE, "guildhall", "guildhall", "guildhall", &mut script);
    written.map_err(|why| Failure::failed(format!("can't generate the script: {why}")))?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Offers sessions, and `last`.
pub(crate) fn sessions(typed: &OsStr) -> Vec<CompletionCandidate> {
    from_hall(typed, async |hall| {
        let mut rows = hall.journal().sessions().await.ok()?;
        rows.sort_by_key(|row| std::cmp::Reverse(row.created_at.0));
        let last = rows.first().map(|_| candidate(LAST, "the newest session"));
        let rows = rows.iter().take(SESSIONS_MAX).map(|row| candidate(row.id.as_str(), &row.label));
        Some(last.into_iter().chain(rows).collect())
    })
}

/// Offers sessions and, after a slash, the contracts of one.
pub(crate) fn targets(typed: &OsStr) -> Vec<CompletionCandidate> {
    let text = typed.to_string_lossy();
    let Some((session, _)) = text.split_once('/') else { return sessions(typed) };
    let Ok(named) = session.parse::<SessionRef>() else { return Vec::new() };
    from_hall(typed, async |hall| {
        let id = named.find(&hall).await.ok()?;
        let mut contracts = Vec::new();
        for stored in hall.journal().facts(&id, 1).await.ok()? {
            if let Fact::Opened(brief) = &stored.fact {
                contracts.push(candidate(&format!("{session}/{}", brief.path), &name(&hall, brief).await));
            }
        }
        Some(contracts)
    })
}

/// Offers agents: of the team on the command line, of the project, and the built-in ones.
pub(crate) fn agents(typed: &OsStr) -> Vec<CompletionCandidate> {
    let find = || {
        let world = World::load().ok()?;
        let found = team::find(&world, &env::current_dir().ok()?, typed_team().as_deref()).ok()?;
        let agents = found.roster.agents().map(|agent| candidate(agent.name.as_str(), &agent.description));
        Some(agents.collect())
    };
    that_begin(typed, find().unwrap_or_default())
}

/// The directory after `--team`. The shell passes the whole command line.
fn typed_team() -> Option<PathBuf> {
    let mut typed = env::args().skip_while(|word| word != "--team" && !word.starts_with("--team="));
    let first = typed.next()?;
    first.strip_prefix("--team=").map(PathBuf::from).or_else(|| typed.next().map(PathBuf::from))
}

fn candidate(value: &str, about: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(tame(about, HELP_CHARS_MAX).into()))
}

/// Looks for candidates in the journal. Completion never creates a journal.
fn from_hall(
    typed: &OsStr,
    look: impl AsyncFnOnce(Hall) -> Option<Vec<CompletionCandidate>>,
) -> Vec<CompletionCandidate> {
    let find = || {
        let world = World::load().ok().filter(|world| world.paths.journal.exists())?;
        let runtime = runtime().ok()?;
        runtime.block_on(async { look(world.hall(env::current_dir().ok()?).ok()?).await })
    };
    that_begin(typed, find().unwrap_or_default())
}

/// Keeps the candidates that begin with what was typed.
fn that_begin(typed: &OsStr, mut candidates: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    candidates.retain(|candidate| candidate.get_value().to_string_lossy().starts_with(&*typed));
    candidates
}
