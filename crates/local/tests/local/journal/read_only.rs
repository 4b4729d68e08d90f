//! A journal that can't be written can be read and is not changed. Root can write everything, so a separate process reads the
//! journal as another user.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path as FilePath, PathBuf};
use std::process::{Command, Stdio};

use guildhall_kernel::{Hash, Path};
use guildhall_local::{Cursor, Journal, JournalError, hash_text};
use tempfile::{TempDir, tempdir};

use crate::journal::crash::{child, child_dir, print_line, start};
use crate::journal::formats::set_version;
use crate::journal::{batch, begin, fact, id, new, raw};

/// The id of a user who owns nothing.
const NOBODY: u32 = 65534;

/// Not a test, but the process that reads: prints how many facts there are, and the result of storing something.
#[tokio::test]
async fn child_that_reads() {
    let Some(dir) = child_dir() else { return };
    let journal = match Journal::open(&dir) {
        Err(refused @ JournalError::OtherForm { .. }) => return print_line(&format!("read nothing: {refused}")),
        opened => opened.unwrap(),
    };
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
    let mut events = journal.follow(&id(), Cursor::START);
    for _ in 0..contents.facts.len() + contents.account.len() {
        events.next().await.unwrap();
    }
    assert!(events.try_next().await.unwrap().is_none());
    let leased = journal.lease(&id(), guildhall_local::UnixMs(1)).await;
    assert_eq!(leased.is_err(), refused != "stored");
    print_line(&format!("read {} facts, {refused}", contents.facts.len()));
}

/// Returns the output of a process that may read everything in a directory but must not write the named paths.
fn read_as_other_user(dir: &FilePath, unwritable: &[PathBuf]) -> String {
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
    let before = file_hashes(dir);
    // The directory of the test program may be closed to other users.
    let env = tempdir().unwrap();
    fs::set_permissions(env.path(), Permissions::from_mode(0o755)).unwrap();
    let program = env.path().join("look");
    // Another process makes the copy: a child that another test starts must not have the program open for writing.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    let mut command = child(&program, "read_only::child_that_reads", dir);
    if dir.metadata().unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let child = command.current_dir("/").stderr(Stdio::piped()).spawn().unwrap();
    let ended = child.wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&ended.stdout);
    let output = output.lines().find_map(|line| line.strip_prefix("read "));
    let output = output.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&ended.stderr))).to_owned();
    if output.contains("read-only") || output.contains("Nothing was changed") {
        assert_eq!(file_hashes(dir), before, "nothing was changed");
    }
    fs::set_permissions(dir, Permissions::from_mode(0o755)).unwrap();
    output
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

/// Returns the journal's files with the hash of each file's contents, except the log's index, which readers write to.
fn file_hashes(dir: &FilePath) -> BTreeMap<PathBuf, Hash> {
    let files = dir.read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let files = files.filter(|path| !path.ends_with("journal.db-shm"));
    files.map(|path| (path.clone(), hash_text(&fs::read(path).unwrap()))).collect()
}

/// Reads a directory in which nothing can be written.
fn read_without_write_access(dir: &FilePath) -> String {
    read_as_other_user(dir, &[vec![dir.to_owned()], files(dir)].concat())
}

/// Returns a directory that other users can reach.
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

/// Returns a directory whose process was killed: most facts are in the log.
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
async fn a_writable_journal_is_written() {
    let (_parent, dir) = closed().await;
    assert_eq!(read_as_other_user(&dir, &[]), "2 facts, stored", "the other user can write");
}

#[tokio::test]
async fn a_closed_journal_can_be_read() {
    let (_parent, dir) = closed().await;
    assert_eq!(read_without_write_access(&dir), "2 facts, read-only hall #1?");
    let (database, index) = (dir.join("journal.db"), dir.join("journal.db-shm"));
    assert_eq!(read_as_other_user(&dir, std::slice::from_ref(&dir)), "2 facts, read-only hall #1?");
    assert_eq!(read_as_other_user(&dir, &[database]), "2 facts, read-only journal.db");
    for beside in [index, dir.join("journal.db-wal"), dir.join("opening.lock")] {
        fs::remove_file(beside).ok();
    }
    assert_eq!(read_without_write_access(&dir), "2 facts, read-only hall #1?");
}

#[tokio::test]
async fn a_journal_whose_process_was_killed_can_be_read_with_its_log() {
    let (_parent, dir, facts) = killed().await;
    assert_eq!(read_without_write_access(&dir), format!("{facts}, read-only hall #1?"));
    fs::remove_file(dir.join("journal.db-shm")).unwrap();
    assert_eq!(read_without_write_access(&dir), format!("{facts}, read-only hall #1?"), "read from a copy");
    fs::remove_file(dir.join("journal.db-wal")).unwrap();
    assert_eq!(read_without_write_access(&dir), "2 facts, log missing");
}

#[tokio::test]
async fn a_journal_of_another_form_that_can_t_be_written_is_refused_by_its_own_name() {
    let refused = |dir: &FilePath| format!("nothing: {} has journal format 5, but", dir.join("journal.db").display());
    let (_parent, dir) = closed().await;
    set_version(&dir, 5);
    let output = read_without_write_access(&dir);
    assert!(output.starts_with(&refused(&dir)), "{output}");
    // A copy is read, because the log has no index.
    let (_parent, dir, _) = killed().await;
    let other = raw(&dir);
    other.execute_batch("PRAGMA user_version = 5").unwrap();
    std::mem::forget(other);
    fs::remove_file(dir.join("journal.db-shm")).unwrap();
    let output = read_without_write_access(&dir);
    assert!(output.starts_with(&refused(&dir)), "{output}");
}

#[tokio::test]
async fn a_journal_that_another_process_writes_can_be_read() {
    let (_parent, dir) = closed().await;
    let (journal, lease) = crate::journal::resume(&dir).await;
    journal.append(&lease, batch(&Path::root(1), vec![fact(3)])).await.unwrap();
    drop(lease);
    assert_eq!(read_without_write_access(&dir), "3 facts, read-only hall #1?");
}
