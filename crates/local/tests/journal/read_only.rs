//! A journal that can't be written can be read, and is not touched. Root could write everything, so a process of its own
//! looks at it, which is not root.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path as FilePath, PathBuf};
use std::process::Stdio;

use guildhall_kernel::{Hash, Path};
use guildhall_local::{Journal, JournalError, hash_text};
use tempfile::{TempDir, tempdir};

use crate::crash::{child, child_dir, say, start};
use crate::{batch, begin, fact, id, new};

/// A user who owns nothing.
const NOBODY: u32 = 65534;

/// Not a test but the process that looks: says how many facts there are, and what storing something says.
#[tokio::test]
async fn child_that_looks() {
    let Some(dir) = child_dir() else { return };
    let journal = Journal::open(&dir).unwrap();
    let listed = journal.sessions().await.unwrap();
    let contents = journal.contents(&id()).await.unwrap();
    assert_eq!(listed, std::slice::from_ref(&contents.row));
    assert_eq!(journal.verify_chain(&id(), None).await.unwrap(), Ok(contents.head));
    assert_eq!(journal.verify_hall().await.unwrap(), []);
    assert!(journal.running(&id()).await.unwrap().is_none());
    let refused = match journal.create(new("later".parse().unwrap())).await {
        Ok(()) => "stored".to_owned(),
        Err(JournalError::ReadOnly { path, .. }) => format!("read-only {}", path.file_name().unwrap().display()),
        Err(JournalError::LogMissing { .. }) => "log missing".to_owned(),
        Err(other) => other.to_string(),
    };
    let leased = journal.lease(&id(), guildhall_local::UnixMs(1)).await;
    assert_eq!(leased.is_err(), refused != "stored");
    say(&format!("saw {} facts, {refused}", contents.facts.len()));
}

/// What somebody sees who may read everything below a directory, and may not write what is named.
fn seen(dir: &FilePath, unwritable: &[PathBuf]) -> String {
    let everything = [vec![dir.to_owned()], files(dir)].concat();
    for path in &everything {
        let mode = match (path.is_dir(), unwritable.contains(path)) {
            (true, true) => 0o555,
            (true, false) => 0o777,
            (false, true) => 0o444,
            (false, false) => 0o666,
        };
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let before = touchable(dir);
    // The program may lie where only its owner can go.
    let env = tempdir().unwrap();
    fs::set_permissions(env.path(), Permissions::from_mode(0o755)).unwrap();
    let program = env.path().join("look");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = child(&program, "read_only::child_that_looks", dir);
    if dir.metadata().unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let child = command.current_dir("/").stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let told = told.lines().find_map(|line| line.strip_prefix("saw "));
    let told = told.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr))).to_owned();
    if told.contains("read-only") {
        assert_eq!(touchable(dir), before, "nothing was touched");
    }
    fs::set_permissions(dir, Permissions::from_mode(0o755)).unwrap();
    told
}

/// All files and directories below a directory.
fn files(dir: &FilePath) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in dir.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path));
        }
        found.push(path);
    }
    found
}

/// What the journal consists of, each file with the hash of what it contains. The index of the log is none of it: readers
/// leave notes for each other there.
fn touchable(dir: &FilePath) -> BTreeMap<PathBuf, Hash> {
    let files = dir.read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let files = files.filter(|path| !path.ends_with("journal.db-shm"));
    files.map(|path| (path.clone(), hash_text(&fs::read(path).unwrap()))).collect()
}

/// Sees a directory in which nothing may be written.
fn seen_read_only(dir: &FilePath) -> String {
    seen(dir, &[vec![dir.to_owned()], files(dir)].concat())
}

/// A directory that others can get to.
fn open_dir() -> (TempDir, PathBuf) {
    let parent = tempdir().unwrap();
    fs::set_permissions(parent.path(), Permissions::from_mode(0o755)).unwrap();
    let dir = parent.path().join("hall #1?");
    (parent, dir)
}

async fn closed() -> (TempDir, PathBuf) {
    let (parent, dir) = open_dir();
    let (journal, lease) = begin(&dir).await;
    journal.append(&lease, batch(&Path::root(1), vec![fact(1), fact(2)])).await.unwrap();
    drop(lease);
    journal.close().await;
    (parent, dir)
}

/// What a process leaves that was killed: most of it is in the log.
async fn killed() -> (TempDir, PathBuf, String) {
    let (parent, dir) = closed().await;
    let mut child = start("crash::child_that_appends", &dir);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.filter(|line| line.starts_with("ack ")).take(20).count(), 20);
    child.kill().unwrap();
    child.wait().unwrap();
    let copy = tempdir().unwrap();
    for name in ["journal.db", "journal.db-wal"] {
        fs::copy(dir.join(name), copy.path().join(name)).unwrap();
    }
    let facts = Journal::open(copy.path()).unwrap().facts(&id(), 1).await.unwrap().len();
    assert!(facts > 22);
    (parent, dir, format!("{facts} facts"))
}

#[tokio::test]
async fn what_may_be_written_is_written() {
    let (_parent, dir) = closed().await;
    assert_eq!(seen(&dir, &[]), "2 facts, stored", "the one who looks can write what it may");
}

#[tokio::test]
async fn a_journal_that_was_closed_can_be_read() {
    let (_parent, dir) = closed().await;
    assert_eq!(seen_read_only(&dir), "2 facts, read-only hall #1?");
    let (database, index) = (dir.join("journal.db"), dir.join("journal.db-shm"));
    assert_eq!(seen(&dir, std::slice::from_ref(&dir)), "2 facts, read-only hall #1?");
    assert_eq!(seen(&dir, &[database]), "2 facts, read-only journal.db");
    for beside in [index, dir.join("journal.db-wal"), dir.join("opening.lock")] {
        fs::remove_file(beside).ok();
    }
    assert_eq!(seen_read_only(&dir), "2 facts, read-only hall #1?");
}

#[tokio::test]
async fn a_journal_whose_process_was_killed_can_be_read_with_its_log() {
    let (_parent, dir, facts) = killed().await;
    assert_eq!(seen_read_only(&dir), format!("{facts}, read-only hall #1?"));
    fs::remove_file(dir.join("journal.db-shm")).unwrap();
    assert_eq!(seen_read_only(&dir), format!("{facts}, read-only hall #1?"), "as it is in a copy");
    fs::remove_file(dir.join("journal.db-wal")).unwrap();
    assert_eq!(seen_read_only(&dir), "2 facts, log missing");
}

#[tokio::test]
async fn a_journal_of_an_older_format_can_be_read() {
    let (_parent, dir) = open_dir();
    fs::create_dir(&dir).unwrap();
    let fixture = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1.db");
    fs::copy(fixture, dir.join("journal.db")).unwrap();
    assert_eq!(seen_read_only(&dir), "3 facts, read-only hall #1?");
}

#[tokio::test]
async fn a_journal_that_somebody_else_writes_can_be_read() {
    let (_parent, dir) = closed().await;
    let (journal, lease) = crate::go_on(&dir).await;
    journal.append(&lease, batch(&Path::root(1), vec![fact(3)])).await.unwrap();
    drop(lease);
    assert_eq!(seen_read_only(&dir), "3 facts, read-only hall #1?");
}
