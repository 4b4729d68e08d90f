//! `demo`: a team at work on a small service with a fault, both of which come with the program, in a place of its own.
//! Nothing of the user's is read or written, and nobody is asked or paid.

mod crash;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use clap::Parser;
use tempfile::TempDir;

use crate::args::{Cli, Command, DemoArgs, DemoKind};
use crate::commands::run::run;
use crate::exit::{Exit, Failure};
use crate::print::note;
use crate::world::{REHEARSAL, World};

/// The files of the example, with what they say.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/example.rs"));

/// What the team is asked.
const QUESTION: &str = "Why is the payment API failing?";

/// What it may cost, in play money.
const BUDGET: &str = "500sat";

/// Shows a team at work.
pub(crate) async fn demo(args: DemoArgs) -> Result<Exit, Failure> {
    let stage = Stage::set().map_err(|why| Failure::failed(format!("the demo can't be set up: {why}")))?;
    note(&format!("a small service with a fault, and a team that looks for it, in {}", stage.project().display()));
    let shown = match args.kind {
        None => once(&stage).await,
        Some(DemoKind::Crash) => crash::crash(&stage).await,
    };
    if matches!(shown, Ok(Exit::Done)) {
        note("the demo's files and its session are removed. Next, in a project of yours: guildhall run \"…\"");
    } else {
        stage.keep();
    }
    shown
}

/// Runs it once, in this process.
async fn once(stage: &Stage) -> Result<Exit, Failure> {
    let typed = std::iter::once(OsString::from("guildhall")).chain(stage.run_args());
    let cli = Cli::try_parse_from(typed).map_err(|why| Failure::failed(why.to_string()))?;
    let Command::Run(args) = cli.command else { return Err(Failure::failed("a run is a run")) };
    run(&World::apart(stage.home())?, args).await
}

/// A directory with the example in it, and a home.
struct Stage {
    dir: TempDir,
}

impl Stage {
    fn set() -> io::Result<Stage> {
        let stage = Stage { dir: tempfile::Builder::new().prefix("guildhall-demo-").tempdir()? };
        fs::create_dir(stage.home())?;
        for (name, text) in FILES {
            let file = stage.project().join(name);
            if let Some(dir) = file.parent() {
                fs::create_dir_all(dir)?;
            }
            fs::write(file, text)?;
        }
        Ok(stage)
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// What a person would type.
    fn run_args(&self) -> Vec<OsString> {
        let project = self.project();
        let mut args: Vec<OsString> =
            ["run", QUESTION, "--model", REHEARSAL, "--budget", BUDGET, "--no-advice"].map(Into::into).into();
        args.extend(["--team".into(), project.clone().into(), "--project".into(), project.into()]);
        args
    }

    /// Leaves everything where it is, for whoever wants to know what happened.
    fn keep(self) {
        let dir = self.dir.keep();
        note(&format!("the demo is kept in {}; commands about it need GUILDHALL_HOME={0}/home", dir.display()));
    }
}
