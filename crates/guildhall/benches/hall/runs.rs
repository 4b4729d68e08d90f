//! The measured runs, each with its floors in the same process.

use std::path::Path as FilePath;
use std::time::{Duration, Instant};

use guildhall::kernel::Outcome;
use guildhall::local::{Counts, Journal, SessionId};
use guildhall::{Ended, Ending};
use tokio::runtime::Handle;

use crate::figures::{Figures, Unit};
use crate::floor::{Bare, Rows, tasks};
use crate::gauge::{resident, shares, worked};
use crate::kernel;
use crate::team::{Leaf, Shape, Team};

/// How long a task may take to end.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// The progress of a run.
struct Mark {
    took: Duration,
    facts: usize,
    counts: Counts,
}

impl Mark {
    async fn take(began: Instant, journal: &Journal, id: &SessionId) -> Mark {
        let took = began.elapsed();
        let facts = journal.head(id).await.expect("the session is there").facts;
        Mark { took, facts: usize::try_from(facts).expect("facts fit into memory"), counts: journal.counts() }
    }
}

/// All agents start and wait for a model that never answers. Then all are cancelled.
pub(crate) async fn wait_and_cancel(dir: &FilePath, shape: Shape) -> Figures {
    let mut figures = Figures::default();
    let empty = resident();
    let (task_took, task_bytes) = tasks(shape.agents()).await;

    let mut team = Team::open(&dir.join("hall"), shape, Leaf::Waits);
    let began = Instant::now();
    let mut running = team.begin().await;
    team.until_waiting(shape.leaves()).await;
    let (journal, id) = (team.hall.journal().clone(), running.id().clone());
    let waiting = Mark::take(began, &journal, &id).await;
    let bytes = empty.zip(resident()).map(|(before, after)| (after - before) / count(shape.agents()));

    let began = Instant::now();
    running.end(Ending::Cancel).await.expect("the order is stored");
    let ordered = began.elapsed();
    team.until_waiting(0).await;
    let hushed = began.elapsed();
    let ended = running.wait().await.expect("the engine does not fail");
    until_no_task_is_left().await;
    let silent = Mark::take(began, &journal, &id).await;
    assert_whole(&ended, shape, Outcome::Cancelled);
    let checking = Instant::now();
    team.hall.session(&id).await.expect("the session is there");
    let checked = checking.elapsed();
    drop((running, team));
    journal.close().await;

    let rows = Rows::read(&dir.join("hall/data"));
    let mut bare = Bare::open(&dir.join("bare"), &rows).await;
    let floor = bare.write(&rows, 0..waiting.facts, waiting.counts.commits);
    let cancel_commits = silent.counts.commits - waiting.counts.commits;
    let cancel_floor = bare.write(&rows, waiting.facts..silent.facts, cancel_commits);

    figures.add("until all wait", Unit::Seconds, waiting.took.as_secs_f64());
    figures.add("floor: their rows in SQLite alone", Unit::Seconds, floor.as_secs_f64());
    figures.add("ratio to that", Unit::Times, ratio(waiting.took, floor));
    figures.add("floor: as many tokio tasks", Unit::Seconds, task_took.as_secs_f64());
    figures.add("facts per second", Unit::Count, count(waiting.facts) / waiting.took.as_secs_f64());
    figures.add("agents per second", Unit::Count, count(shape.agents()) / waiting.took.as_secs_f64());
    figures.maybe("memory of each", Unit::Bytes, bytes);
    figures.maybe("floor: of a tokio task", Unit::Bytes, task_bytes);
    figures.add("from cancel until silent and billed", Unit::Seconds, silent.took.as_secs_f64());
    figures.add("  until the order lies in the inbox", Unit::Seconds, ordered.as_secs_f64());
    figures.add("  until no call is under way", Unit::Seconds, hushed.as_secs_f64());
    figures.add("  of it, about: the bill and a check of all laws", Unit::Seconds, checked.as_secs_f64());
    figures.add("floor: the rows since in SQLite alone", Unit::Seconds, cancel_floor.as_secs_f64());
    figures.add("ratio to that", Unit::Times, ratio(silent.took, cancel_floor));
    figures.add("facts", Unit::Count, count(silent.facts));
    figures
}

/// All agents hire, receive reports and report.
pub(crate) async fn work(dir: &FilePath, shape: Shape) -> Figures {
    let mut figures = Figures::default();
    let team = Team::open(&dir.join("hall"), shape, Leaf::Reports);
    let (before, began) = (worked(), Instant::now());
    let mut running = team.begin().await;
    let ended = running.wait().await.expect("the engine does not fail");
    until_no_task_is_left().await;
    let (journal, id) = (team.hall.journal().clone(), running.id().clone());
    let done = Mark::take(began, &journal, &id).await;
    let after = worked();
    assert_whole(&ended, shape, Outcome::Done);
    let checking = Instant::now();
    team.hall.session(&id).await.expect("the session is there");
    let checked = checking.elapsed();
    drop((running, team));
    journal.close().await;

    let rows = Rows::read(&dir.join("hall/data"));
    let mut bare = Bare::open(&dir.join("bare"), &rows).await;
    let floor = bare.write(&rows, 0..done.facts, done.counts.commits);
    let pure = kernel_alone(shape);

    figures.add("until all have reported and the bill is made", Unit::Seconds, done.took.as_secs_f64());
    figures.add("  of it, about: the bill and a check of all laws", Unit::Seconds, checked.as_secs_f64());
    figures.add("floor: their rows in SQLite alone", Unit::Seconds, floor.as_secs_f64());
    figures.add("ratio to that", Unit::Times, ratio(done.took, floor));
    figures.maybe("floor: the kernel alone, in memory", Unit::Seconds, pure.map(|pure| pure.as_secs_f64()));
    figures.add("agents per second", Unit::Count, count(shape.agents()) / done.took.as_secs_f64());
    figures.add("facts per second", Unit::Count, count(done.facts) / done.took.as_secs_f64());
    figures.add("steps per commit", Unit::Count, per(done.counts.jobs, done.counts.commits));
    figures.add("bytes of a fact, its texts included", Unit::Bytes, count(rows.bytes()) / count(done.facts));
    for (thread, share) in before.zip(after).map(|(before, after)| shares(&before, &after)).into_iter().flatten() {
        figures.add(&format!("share of the processor: {thread}"), Unit::Percent, share);
    }
    figures
}

/// Checks the measured run: all agents ended with this outcome, and no law is broken.
fn assert_whole(ended: &Ended, shape: Shape, outcome: Outcome) {
    let all = ended.bill.lines.iter().filter(|line| line.outcome == Some(outcome)).count();
    assert_eq!(
        (all, ended.bill.lines.len()),
        (shape.agents(), shape.agents()),
        "contracts with {outcome:?}, and all contracts"
    );
    assert!(ended.violations.is_empty(), "{:?}", ended.violations);
}

/// Waits until no task is alive. A task ends a moment after it has sent its result.
async fn until_no_task_is_left() {
    let metrics = Handle::current().metrics();
    let gone = async {
        while metrics.num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(GONE_WITHIN, gone).await.expect("no task outlives the session");
}

/// Runs the same tree only in the kernel, if the kernel's own benchmark supports this shape.
fn kernel_alone(shape: Shape) -> Option<Duration> {
    let Shape::Tree { fan_out, levels } = shape else { return None };
    let began = Instant::now();
    assert_eq!(kernel::tree(fan_out as u64, levels), shape.agents());
    Some(began.elapsed())
}

fn ratio(took: Duration, floor: Duration) -> f64 {
    took.as_secs_f64() / floor.as_secs_f64()
}

#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
fn count(count: usize) -> f64 {
    count as f64
}

#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
fn per(all: u64, parts: u64) -> f64 {
    all as f64 / parts.max(1) as f64
}
