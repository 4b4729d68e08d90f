//! Transcripts follow the journal, are written again when damaged, and never delay the journal.

use std::fs;
use std::path::{Path as FilePath, PathBuf};

use guildhall_kernel::{Fact, Path, Stored};
use guildhall_local::{Batch, INLINE_BYTES_MAX, Journal};
use serde_json::Value;
use tempfile::tempdir;

use crate::journal::{batch, begin, fact, heard, id, resume, text};

fn folder(dir: &FilePath) -> PathBuf {
    dir.join("sessions/quiet-heron/transcripts")
}

fn lines(dir: &FilePath, contract: &str) -> Vec<Value> {
    let file = folder(dir).join(format!("{contract}.jsonl"));
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn numbers(dir: &FilePath, contract: &str) -> Vec<u64> {
    lines(dir, contract).iter().map(|line| line["seq"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_transcript_has_each_fact_with_its_texts() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let (short, long) = ("two\nlines", "y".repeat(INLINE_BYTES_MAX + 9));
    let texts = vec![text(short), text(&long)];
    let facts = vec![fact(1), heard(short), heard(&long)];
    journal.append(&lease, Batch { texts, ..batch(&Path::root(1), facts) }).await.unwrap();
    journal.append(&lease, batch(&Path::root(1).hire(3), vec![fact(2)])).await.unwrap();
    let stored = journal.facts(&id(), 1).await.unwrap();
    drop(lease);
    journal.close().await;

    assert_eq!(numbers(dir.path(), "1.3"), [4]);
    let written = lines(dir.path(), "1");
    for (line, stored) in written.iter().zip(&stored) {
        assert_eq!(serde_json::from_value::<Stored>(line.clone()).unwrap(), *stored);
    }
    assert_eq!(written[1]["texts"][text(short).0.hash.to_string()], short);
    let shown = written[2]["texts"][text(&long).0.hash.to_string()].as_str().unwrap();
    assert!(shown.ends_with("y… (9 bytes more)") && shown.len() < INLINE_BYTES_MAX + 30);
    let meta: Value = serde_json::from_slice(&fs::read(folder(dir.path()).join("1.3.meta.json")).unwrap()).unwrap();
    assert_eq!((&meta["contract"], &meta["hirer"]), (&"1.3".into(), &"1".into()));
}

/// Returns a contract's first and last facts, which name one text.
fn opened_and_closed() -> (Fact, Fact) {
    let golden = include_str!("../../../../kernel/tests/golden/fact.jsonl");
    let stored = golden.lines().map(|line| serde_json::from_str::<Stored>(line).unwrap());
    let facts: Vec<Fact> = stored.map(|stored| stored.fact).collect();
    let opened = facts.iter().find(|fact| matches!(fact, Fact::Opened(_))).unwrap();
    let closed = facts.iter().find(|fact| matches!(fact, Fact::Closed(_))).unwrap();
    // The samples contain invented hashes: replace each with the hash of a real text.
    let known = |fact: &Fact| {
        let mut value = serde_json::to_value(fact).unwrap();
        let there = serde_json::to_value(text("book a flight").0).unwrap();
        replace_texts(&mut value, &there);
        serde_json::from_value::<Fact>(value).unwrap()
    };
    (known(opened), known(closed))
}

fn meta(dir: &FilePath, contract: &str) -> Value {
    serde_json::from_slice(&fs::read(folder(dir).join(format!("{contract}.meta.json"))).unwrap()).unwrap()
}

#[tokio::test]
async fn the_meta_file_names_the_agent_and_the_outcome() {
    let (opened, closed) = opened_and_closed();
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let texts = vec![text("book a flight")];
    journal.append(&lease, Batch { texts, ..batch(&Path::root(1), vec![opened, closed]) }).await.unwrap();
    drop(lease);
    journal.close().await;
    let meta = meta(dir.path(), "1");
    assert_eq!((&meta["agent"], &meta["task"]), (&"log-reader".into(), &"book a flight".into()));
    assert!(!meta["outcome"].is_null(), "{meta}");
}

#[tokio::test]
async fn the_meta_file_still_names_the_agent_when_the_contract_closes_much_later() {
    let (opened, closed) = opened_and_closed();
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let texts = vec![text("book a flight")];
    journal.append(&lease, Batch { texts, ..batch(&Path::root(1), vec![opened, fact(1)]) }).await.unwrap();
    while !folder(dir.path()).join("1.meta.json").exists() {
        tokio::task::yield_now().await;
    }
    let begun = meta(dir.path(), "1");
    assert_eq!((&begun["agent"], &begun["outcome"]), (&"log-reader".into(), &Value::Null));
    journal.append(&lease, batch(&Path::root(1), vec![fact(2), closed])).await.unwrap();
    drop(lease);
    journal.close().await;
    let ended = meta(dir.path(), "1");
    assert_eq!((&ended["agent"], &ended["task"]), (&"log-reader".into(), &"book a flight".into()));
    assert!(!ended["outcome"].is_null(), "{ended}");
    assert_eq!(numbers(dir.path(), "1"), [1, 2, 3, 4]);
}

fn replace_texts(value: &mut Value, there: &Value) {
    match value {
        Value::Object(fields) if fields.contains_key("kind") && fields.contains_key("hash") => *value = there.clone(),
        Value::Object(fields) => fields.values_mut().for_each(|value| replace_texts(value, there)),
        Value::Array(items) => items.iter_mut().for_each(|value| replace_texts(value, there)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn a_damaged_transcript_is_written_again() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    journal.append(&lease, batch(&Path::root(1), (1..=5).map(fact).collect())).await.unwrap();
    drop(lease);
    journal.close().await;
    let file = folder(dir.path()).join("1.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let swapped = {
        let mut lines: Vec<&str> = whole.lines().collect();
        lines.swap(0, 1);
        lines.join("\n") + "\n"
    };
    for damaged in [
        None,
        Some(""),
        Some(&whole[..whole.len() - 1]),
        Some(&whole[..whole.len() / 2]),
        Some(&swapped),
        Some(&(whole.clone() + "noise\n")),
    ] {
        match damaged {
            None => fs::remove_file(&file).unwrap(),
            Some(damaged) => fs::write(&file, damaged).unwrap(),
        }
        let (journal, lease) = resume(dir.path()).await;
        drop(lease);
        journal.close().await;
        assert_eq!(fs::read_to_string(&file).unwrap(), whole, "{damaged:?}");
    }
}

#[tokio::test]
async fn a_transcript_that_can_t_be_written_stops_nothing_and_is_completed_later() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    // A directory is in the place of the file.
    let file = folder(dir.path()).join("1.jsonl");
    fs::create_dir_all(&file).unwrap();
    journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    let failure = loop {
        if let Some(failure) = journal.transcript_failure() {
            break failure;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(failure.session, id());
    assert!(failure.why.to_string().contains("1.jsonl"), "{}", failure.why);
    assert_eq!(journal.facts(&id(), 1).await.unwrap().len(), 1);

    fs::remove_dir(&file).unwrap();
    journal.append(&lease, batch(&Path::root(1), vec![fact(2)])).await.unwrap();
    while journal.transcript_failure().is_some() {
        tokio::task::yield_now().await;
    }
    drop(lease);
    journal.close().await;
    assert_eq!(numbers(dir.path(), "1"), [1, 2]);
}

#[tokio::test]
async fn the_longest_path_has_a_transcript_too() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let deep = (0..64).fold(Path::root(u32::MAX), |path, _| path.hire(u32::MAX));
    let deeper = deep.hirer().unwrap().hire(7);
    for path in [&deep, &deeper] {
        journal.append(&lease, batch(path, vec![fact(1)])).await.unwrap();
    }
    drop(lease);
    journal.close().await;
    let written = folder(dir.path()).read_dir().unwrap().count();
    assert_eq!(written, 4, "two contracts, each with its meta file");
    assert!(Journal::open(dir.path()).unwrap().transcript_failure().is_none());
}
