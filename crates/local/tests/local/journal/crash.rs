//! A process is killed while it writes: everything that was acknowledged is stored.

use std::io::{BufRead, BufReader, Write};
use std::path::Path as FilePath;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use guildhall_kernel::{Fact, Path};
use guildhall_local::{Batch, Journal, Lease};
use tempfile::tempdir;

use crate::journal::{batch, begin, fact, heard, id, resume, text};

/// The environment variable that tells a child process which journal to write to.
const CHILD_DIR: &str = "GUILDHALL_TEST_CHILD_DIR";

/// The default number of kills: a tenth of the kills of a soak, which sets `GUILDHALL_ROUNDS`.
const ROUNDS: usize = 20;
const WRITERS: u32 = 4;

/// Starts this test program again, to run one of the tests below as a separate process.
pub(crate) fn start(test: &str, dir: &FilePath) -> Child {
    child(&std::env::current_exe().unwrap(), test, dir).spawn().unwrap()
}

/// Returns a command that runs one of the journal's tests, in this program or in a copy of it.
pub(crate) fn child(program: &FilePath, test: &str, dir: &FilePath) -> Command {
    let mut child = Command::new(program);
    child.args(["--exact", &format!("journal::{test}"), "--nocapture"]).env(CHILD_DIR, dir);
    child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    child
}

/// Returns the journal's directory in a child process. Returns `None` in the test program that people start.
pub(crate) fn child_dir() -> Option<std::path::PathBuf> {
    std::env::var_os(CHILD_DIR).map(Into::into)
}

pub(crate) fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
}

/// Not a test, but the process that is killed: four contracts append for ever, each batch with its own text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_appends() {
    let Some(dir) = child_dir() else { return };
    let (journal, lease) = resume(&dir).await;
    let lease = Arc::new(lease);
    let mut writers = tokio::task::JoinSet::new();
    for contract in 1..=WRITERS {
        writers.spawn(append_for_ever(journal.clone(), Arc::clone(&lease), Path::root(contract)));
    }
    writers.join_all().await;
}

async fn append_for_ever(journal: Journal, lease: Arc<Lease>, path: Path) {
    let stored = journal.contract_facts(&id(), &path).await.unwrap().len();
    for n in u32::try_from(stored / 3).unwrap().. {
        let words = format!("{path} says {n}");
        let facts = vec![fact(n), heard(&words), fact(n)];
        let appended =
            journal.append(&lease, Batch { texts: vec![text(&words)], ..batch(&path, facts) }).await.unwrap();
        print_line(&format!("ack {path} {n} {} {}", appended.seqs.end - 1, appended.hash));
    }
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    drop(lease);
    journal.close().await;
    let rounds =
        std::env::var("GUILDHALL_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("GUILDHALL_ROUNDS is a number"));
    let mut acked = 0;
    for round in 0..rounds {
        let mut child = start("crash::child_that_appends", dir.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Each round kills the process at another moment. Acknowledgements that it printed before its end count as well.
        let acks = lines.by_ref().map(Result::unwrap).filter(|line| line.starts_with("ack "));
        let mut acks: Vec<String> = acks.take(1 + round % 7 * 5).collect();
        child.kill().unwrap();
        let rest = lines.map(Result::unwrap).filter(|line| line.starts_with("ack "));
        acks.extend(rest);
        child.wait().unwrap();
        acked += acks.len();
        check(dir.path(), &acks).await;
    }
    assert!(acked > rounds * 10, "only {acked} batches were acknowledged: the children hardly wrote");
}

async fn check(dir: &FilePath, acks: &[String]) {
    let (journal, _lease) = resume(dir).await;
    let head = journal.verify_chain(&id(), None).await.unwrap().expect("the chain is complete");
    let facts = journal.facts(&id(), 1).await.unwrap();
    assert_eq!(facts.len() as u64, head.facts);
    for ack in acks {
        let [_, path, n, seq, _hash] = ack.split(' ').collect::<Vec<_>>()[..] else { panic!("{ack:?}") };
        let (path, n, seq): (Path, u32, usize) = (path.parse().unwrap(), n.parse().unwrap(), seq.parse().unwrap());
        let batch: Vec<&Fact> = facts[seq - 3..seq].iter().map(|stored| &stored.fact).collect();
        assert_eq!(batch, [&fact(n), &heard(&format!("{path} says {n}")), &fact(n)]);
        assert!(facts[seq - 3..seq].iter().all(|stored| stored.contract == path));
    }
    for contract in 1..=WRITERS {
        let facts = journal.contract_facts(&id(), &Path::root(contract)).await.unwrap();
        assert_eq!(facts.len() % 3, 0, "every batch is complete");
        let is_complete =
            facts.chunks(3).zip(0..).all(|(batch, n)| batch[0].fact == fact(n) && batch[2].fact == fact(n));
        assert!(is_complete, "no batch is missing or duplicated");
    }
}
