//! `demo crash`: the same work twice, once without interruption and once killed half-way. A real process is killed with SIGKILL,
//! and another process resumes the work from the stored facts.

use std::env;
use std::ffi::OsString;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use guildhall::kernel::Msat;
use guildhall::local::SessionId;
use guildhall::{Hall, REHEARSAL_LABEL};
use serde::Deserialize;
use serde_json::Value;

use super::DemoDir;
use crate::amount::sats;
use crate::exit::{Exit, Failure};
use crate::print::{NotWritten, note, out, tame};
use crate::world::{VARIABLES, World};

/// How often to try again if the work ends before it is killed.
const TRIES_MAX: u32 = 5;

/// The pause between two looks at the number of facts.
const LOOK: Duration = Duration::from_millis(1);

/// The longest line of an answer that is shown, in characters.
const LINE_CHARS_MAX: usize = 160;

/// The JSON result of a process.
#[derive(Deserialize)]
struct RunResult {
    session: SessionId,
    answer: String,
    bill: Value,
}

/// Runs the work twice and compares the results.
pub(super) async fn crash(stage: &DemoDir) -> Result<Exit, Failure> {
    let hall = World::isolated(stage.home())?.hall(stage.project())?;
    note("1. the work, without interruption");
    let whole = finished(stage, stage.run_args())?;
    let facts = hall.journal().head(&whole.session).await?.facts;
    note(&format!("2. the same work, killed half-way: after about {} of {facts} facts", facts / 2));
    let killed = killed(stage, &hall, facts / 2).await?;
    note(&format!("3. guildhall resume {killed}"));
    let resumed = finished(stage, ["resume".into(), killed.to_string().into(), "--no-advice".into()].into())?;
    hall.journal().clone().close().await;
    Ok(compare(&whole, &resumed)?)
}

/// This program, with the home directory of the demo.
fn program(stage: &DemoDir, args: Vec<OsString>) -> Result<Command, Failure> {
    let own =
        env::current_exe().map_err(|why| Failure::failed(format!("can't find the path of this program: {why}")))?;
    let mut command = Command::new(own);
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.args(args).args(["--output", "json"]).env("GUILDHALL_HOME", stage.home());
    command.current_dir(stage.project()).stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(command)
}

fn not_started(why: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("can't run this program a second time: {why}"))
}

/// Runs a process to its end and reads its result.
fn finished(stage: &DemoDir, args: Vec<OsString>) -> Result<RunResult, Failure> {
    let ended = program(stage, args)?.stderr(Stdio::inherit()).output().map_err(not_started)?;
    if !ended.status.success() {
        return Err(Failure::failed(format!("a process of the demo failed: {}", ended.status)));
    }
    serde_json::from_slice(&ended.stdout).map_err(not_started)
}

/// Runs the work in a process and kills the process when about this many facts are stored.
async fn killed(stage: &DemoDir, hall: &Hall, facts: u64) -> Result<SessionId, Failure> {
    for _ in 0..TRIES_MAX {
        let before: Vec<SessionId> = ids(hall).await?;
        let mut child =
            KillOnDrop(program(stage, stage.run_args())?.stdout(Stdio::null()).spawn().map_err(not_started)?);
        while child.0.try_wait().map_err(not_started)?.is_none() {
            let id = ids(hall).await?.into_iter().find(|id| !before.contains(id));
            if let Some(id) = id
                && hall.journal().head(&id).await?.facts >= facts
            {
                child.kill();
                if !hall.session(&id).await?.ended() {
                    let stored = hall.journal().head(&id).await?.facts;
                    note(&format!("process {} was killed with SIGKILL; {stored} facts are stored", child.0.id()));
                    return Ok(id);
                }
            }
            tokio::time::sleep(LOOK).await;
        }
        note("the work ended before it could be killed: trying again");
    }
    Err(Failure::failed(format!("the work ended {TRIES_MAX} times before it could be killed")))
}

async fn ids(hall: &Hall) -> Result<Vec<SessionId>, Failure> {
    Ok(hall.journal().sessions().await?.into_iter().map(|row| row.id).collect())
}

/// A process that is killed when this value is dropped.
struct KillOnDrop(Child);

impl KillOnDrop {
    fn kill(&mut self) {
        // Killing fails only if the process has already ended.
        self.0.kill().and_then(|()| self.0.wait()).ok();
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Prints both results, and whether they are the same.
fn compare(whole: &RunResult, resumed: &RunResult) -> Result<Exit, NotWritten> {
    let both = [("not interrupted", whole), ("killed and resumed", resumed)];
    out(REHEARSAL_LABEL)?;
    for (how, shown) in both {
        let first = shown.answer.lines().find(|line| *line != REHEARSAL_LABEL && !line.is_empty()).unwrap_or_default();
        out(&format!("answer, {how:<19} {}", tame(first, LINE_CHARS_MAX)))?;
    }
    for (how, shown) in both {
        out(&format!("bill, {how:<21} {}", shown.total()))?;
    }
    let same = whole.answer == resumed.answer && whole.costs() == resumed.costs();
    out(if same { "the same answer and the same bill" } else { "NOT the same: please report this" })?;
    Ok(if same { Exit::Done } else { Exit::Failed })
}

impl RunResult {
    /// The cost of the whole tree.
    fn total(&self) -> String {
        let msat = self.bill["charged"]["msat"].as_u64().unwrap_or_default();
        let contracts = self.bill["contracts"].as_array().map_or(0, Vec::len);
        format!("{} for {contracts} contracts", sats(Msat::capped(u128::from(msat))))
    }

    /// The bill without the head of the hash chain, which is different for every session.
    fn costs(&self) -> Value {
        let mut bill = self.bill.clone();
        if let Some(bill) = bill.as_object_mut() {
            bill.remove("head");
        }
        bill
    }
}
