//! Every change of the journal by another program is found by `verify` without a printed head, or changes no output. In both cases, no
//! forged data is ever shown or used.

mod cases;
mod home;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use cases::{Case, Expect};
use home::{Home, Shown};
use tempfile::tempdir;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// The first seed. Every case has its own seed, so that a failed case can be run again.
const SEED: u64 = 8;

/// The least number of cases.
const CASES_MIN: usize = 150;

/// The number of cases that run in parallel.
const AT_ONCE: usize = 8;

/// The result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// `verify` finds a problem.
    Found,
    /// `verify` finds no problem, and all output is the same as before.
    Unchanged,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tampering_is_found_or_changes_no_output() {
    let home = Arc::new(Home::new().await);
    let cases = cases::all(&home, SEED);
    let all = cases.len();
    assert!(all >= CASES_MIN, "{all}");
    // A case mostly waits for the disk.
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut judging = JoinSet::new();
    for case in cases {
        let (home, permits) = (Arc::clone(&home), Arc::clone(&permits));
        judging.spawn(async move {
            let _permit = permits.acquire().await.unwrap();
            judge(&home, &case).await.map_err(|why| format!("{}: {why}", case.name))
        });
    }
    let (mut failed, mut found) = (Vec::new(), 0);
    for judged in judging.join_all().await {
        match judged {
            Ok(verdict) => found += usize::from(verdict == Verdict::Found),
            Err(why) => failed.push(why),
        }
    }
    assert!(failed.is_empty(), "{} of {all} cases:\n{}", failed.len(), failed.join("\n"));
    // A flip in unused space changes nothing. Most cases must be of another kind.
    assert!(found > all / 2, "{found} of {all} were found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unchanged_journal_is_sound_and_gives_the_same_output_every_time() {
    let home = Home::new().await;
    for from in [home.closed(), home.crashed()] {
        let dir = tempdir().unwrap();
        home::copy(from, dir.path());
        let (wrong, shown) = home.look(dir.path()).await;
        assert_eq!(wrong, None);
        assert!(&shown == home.shown(), "a copy shows the same");
    }
    // The compared output contains all parts.
    for (part, least) in [("show ", 3), ("facts ", 3), ("text ", 10), ("inbox ", 3), ("account ", 3)] {
        let parts = home.shown().iter().filter(|(key, value)| key.starts_with(part) && value.is_ok());
        assert!(parts.count() >= least, "{part}");
    }
}

async fn judge(home: &Home, case: &Case) -> Result<Verdict, String> {
    let dir = tempdir().unwrap();
    home::copy(&case.from, dir.path());
    let before = files(dir.path());
    (case.tamper)(dir.path());
    assert!(files(dir.path()) != before, "{} changes something", case.name);
    let (wrong, shown) = home.look(dir.path()).await;
    match case.expect {
        // After a lost log, the remaining data is correct, but older.
        Expect::LogFound => {}
        Expect::Found | Expect::FoundOrUnchanged => forged(home.shown(), &shown)?,
    }
    match (wrong, case.expect) {
        (Some(_), _) => Ok(Verdict::Found),
        (None, Expect::Found | Expect::LogFound) => Err("was not found".into()),
        (None, Expect::FoundOrUnchanged) if shown == *home.shown() => Ok(Verdict::Unchanged),
        (None, Expect::FoundOrUnchanged) => {
            let changed = home.shown().iter().find(|(key, value)| shown.get(*key) != Some(value));
            let now = changed.and_then(|(key, _)| shown.get(key));
            Err(format!("was not found, and changed {:?} to {now:.300?}", changed.map(|(key, _)| key)))
        }
    }
}

/// Checks that everything except the list of sessions is unchanged or an error.
fn forged(before: &Shown, now: &Shown) -> Result<(), String> {
    let differs = now.iter().find(|(key, value)| {
        let listed = key.starts_with("ls ");
        !listed && value.is_ok() && before.get(*key) != Some(value)
    });
    match differs {
        None => Ok(()),
        Some((key, value)) => Err(format!("{key} was forged: {value:.200?}")),
    }
}

fn files(dir: &FilePath) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = dir.read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}
