//! `demo`: a team at work on a small service with a fault. Both are part of the program and are copied to a temporary directory.
//! The demo reads and writes none of the user's files, and calls and pays no provider.

mod crash;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Parser;
use tempfile::TempDir;

use crate::args::{Cli, Command, DemoArgs, DemoKind};
use crate::commands::run::run;
use crate::exit::{Exit, Failure};
use crate::print::note;
use crate::world::{REHEARSAL, World};

/// The files of the example: name and text.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/example.rs"));

/// The task of the team.
pub(crate) const QUESTION: &str = "Why is the payment API failing?";

/// The budget.
const BUDGET: &str = "500sat";

/// Shows a team at work.
pub(crate) async fn demo(args: DemoArgs) -> Result<Exit, Failure> {
    let stage =
        DemoDir::create().map_err(|why| Failure::failed(format!("can't create the files of the demo: {why}")))?;
    note(&format!("a team searches for the fault of a small service, in {}", stage.project().display()));
    let shown = match args.kind {
        None => once(&stage).await,
        Some(DemoKind::Crash) => crash::crash(&stage).await,
    };
    if matches!(shown, Ok(Exit::Done)) {
        note("the files of the demo were removed. Next, in a project of your own, run: guildhall run \"…\"");
    } else {
        stage.keep();
    }
    shown
}

/// Writes the files of the example to a directory.
pub(crate) fn write_example(directory: &Path) -> io::Result<()> {
    for (name, text) in FILES {
        let file = directory.join(name);
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(file, text)?;
    }
    Ok(())
}

/// Runs the demo once, in this process.
async fn once(stage: &DemoDir) -> Result<Exit, Failure> {
    let typed = std::iter::once(OsString::from("guildhall")).chain(stage.run_args());
    let cli = Cli::try_parse_from(typed).map_err(|why| Failure::failed(why.to_string()))?;
    let Command::Run(args) = cli.command else { return Err(Failure::failed("a run is a run")) };
    run(&World::isolated(stage.home())?, args).await
}

/// A directory with the example and a home directory.
struct DemoDir {
    dir: TempDir,
}

impl DemoDir {
    fn create() -> io::Result<DemoDir> {
        let stage = DemoDir { dir: tempfile::Builder::new().prefix("guildhall-demo-").tempdir()? };
        fs::create_dir(stage.home())?;
        write_example(&stage.project())?;
        Ok(stage)
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// The arguments that a person would type.
    fn run_args(&self) -> Vec<OsString> {
        let project = self.project();
        let mut args: Vec<OsString> =
            ["run", QUESTION, "--model", REHEARSAL, "--budget", BUDGET, "--no-advice"].map(Into::into).into();
        args.extend(["--team".into(), project.clone().into(), "--project".into(), project.into()]);
        args
    }

    /// Keeps the directory, so that the user can find out what happened.
    fn keep(self) {
        let dir = self.dir.keep();
        note(&format!(
            "the files of the demo are in {0}. To see its session, run: GUILDHALL_HOME={0}/home guildhall show last",
            dir.display()
        ));
    }
}
