//! `demo crash`: the same work twice, undisturbed and killed half-way. What is killed is a real process, by a signal that it
//! can't hear; another takes the work up from what was stored.

use std::env;
use std::ffi::OsString;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use guildhall::kernel::Msat;
use guildhall::local::SessionId;
use guildhall::{Hall, REHEARSAL_LABEL};
use serde::Deserialize;
use serde_json::Value;

use super::Stage;
use crate::amount::sats;
use crate::exit::{Exit, Failure};
use crate::print::{Unwritten, note, out, tame};
use crate::world::{VARIABLES, World};

/// How often work may be done before it could be killed.
const TRIES_MAX: u32 = 5;

/// How often to look how far it is.
const LOOK: Duration = Duration::from_millis(1);

/// The most of an answer's line that is shown, in characters.
const LINE_CHARS_MAX: usize = 160;

/// What work came to, as its process said it.
#[derive(Deserialize)]
struct Shown {
    session: SessionId,
    answer: String,
    bill: Value,
}

/// Does the work twice, and compares.
pub(super) async fn crash(stage: &Stage) -> Result<Exit, Failure> {
    let hall = World::apart(stage.home())?.hall(stage.project())?;
    note("1. the work, undisturbed");
    let whole = finished(stage, stage.run_args())?;
    let facts = hall.journal().head(&whole.session).await?.facts;
    note(&format!("2. the same work, to be killed half-way: after about {} of {facts} facts", facts / 2));
    let killed = killed(stage, &hall, facts / 2).await?;
    note(&format!("3. guildhall resume {killed}"));
    let resumed = finished(stage, ["resume".into(), killed.to_string().into(), "--no-advice".into()].into())?;
    hall.journal().clone().close().await;
    Ok(compare(&whole, &resumed)?)
}

/// This program, in the demo's home.
fn program(stage: &Stage, args: Vec<OsString>) -> Result<Command, Failure> {
    let own = env::current_exe().map_err(|why| Failure::failed(format!("this program can't be found: {why}")))?;
    let mut command = Command::new(own);
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.args(args).args(["--output", "json"]).env("GUILDHALL_HOME", stage.home());
    command.current_dir(stage.project()).stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(command)
}

fn not_started(why: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("a process of this program can't be run: {why}"))
}

/// Runs a process to its end, and reads what it says.
fn finished(stage: &Stage, args: Vec<OsString>) -> Result<Shown, Failure> {
    let ended = program(stage, args)?.stderr(Stdio::inherit()).output().map_err(not_started)?;
    if !ended.status.success() {
        return Err(Failure::failed(format!("a process of the demo failed: {}", ended.status)));
    }
    serde_json::from_slice(&ended.stdout).map_err(not_started)
}

/// Runs the work in a process and kills it when about so many facts are stored.
async fn killed(stage: &Stage, hall: &Hall, facts: u64) -> Result<SessionId, Failure> {
    for _ in 0..TRIES_MAX {
        let before: Vec<SessionId> = ids(hall).await?;
        let mut child = Doomed(program(stage, stage.run_args())?.stdout(Stdio::null()).spawn().map_err(not_started)?);
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
        note("it was done before it could be killed: once more");
    }
    Err(Failure::failed(format!("the work was done {TRIES_MAX} times before it could be killed")))
}

async fn ids(hall: &Hall) -> Result<Vec<SessionId>, Failure> {
    Ok(hall.journal().sessions().await?.into_iter().map(|row| row.id).collect())
}

/// A process that does not outlive its watcher.
struct Doomed(Child);

impl Doomed {
    fn kill(&mut self) {
        // One that has ended can't be killed, and needs not.
        self.0.kill().and_then(|()| self.0.wait()).ok();
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Shows both, and whether they are the same.
fn compare(whole: &Shown, resumed: &Shown) -> Result<Exit, Unwritten> {
    let both = [("undisturbed", whole), ("killed and resumed", resumed)];
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

impl Shown {
    /// What the whole tree cost.
    fn total(&self) -> String {
        let msat = self.bill["charged"]["msat"].as_u64().unwrap_or_default();
        let contracts = self.bill["contracts"].as_array().map_or(0, Vec::len);
        format!("{} for {contracts} contracts", sats(Msat::capped(u128::from(msat))))
    }

    /// The bill without the head of its session's chain, which is every session's own.
    fn costs(&self) -> Value {
        let mut bill = self.bill.clone();
        if let Some(bill) = bill.as_object_mut() {
            bill.remove("head");
        }
        bill
    }
}
