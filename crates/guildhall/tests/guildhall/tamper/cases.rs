//! The changes to a journal: rows are deleted, changed, swapped and moved, bits are flipped in every table and in the file itself,
//! and the log is removed or cut. Every case comes from a seed.

use std::fs;
use std::path::{Path as FilePath, PathBuf};

use fastrand::Rng;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::tamper::home::Home;

/// The expected result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    Found,
    /// Found, and the remaining data is an older state.
    LogFound,
    FoundOrUnchanged,
}

type Tamper = Box<dyn Fn(&FilePath) + Send + Sync>;

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) from: PathBuf,
    pub(crate) expect: Expect,
    pub(crate) tamper: Tamper,
}

/// A table: its name, its key columns, and the other columns.
struct Table {
    name: &'static str,
    key: &'static [&'static str],
    rest: &'static [&'static str],
}

static TABLES: [Table; 9] = [
    Table { name: "session", key: &["id"], rest: &["created_at", "project", "label"] },
    Table { name: "text", key: &["hash"], rest: &["bytes", "kind"] },
    Table { name: "fact", key: &["session", "seq"], rest: &["v", "contract", "at", "cause", "body", "hash"] },
    Table { name: "session_fact", key: &["session", "n"], rest: &["v", "after", "at", "body", "hash"] },
    Table { name: "inbox", key: &["session", "number"], rest: &["command", "at", "done"] },
    Table { name: "lease", key: &["session"], rest: &["epoch", "pid", "boot", "since"] },
    Table { name: "in_line", key: &["session", "contract", "ask"], rest: &[] },
    Table {
        name: "session_head",
        key: &["session"],
        rest: &[
            "about",
            "facts",
            "facts_hash",
            "account",
            "account_hash",
            "commands",
            "commands_open",
            "in_line",
            "lease",
            "hash",
        ],
    },
    Table { name: "hall_head", key: &["one"], rest: &["commits", "sessions", "heads", "hash"] },
];

/// The number of flips of each column, of lost rows of each table, and of flips of the files.
const FLIPS: u64 = 2;
const DELETIONS: u64 = 2;
const PAGE_FLIPS: u64 = 4;
const FILE_FLIPS: u64 = 40;
const LOG_FLIPS: u64 = 12;
const LOG_CUTS: u64 = 8;

/// The columns that are swapped between two rows.
const SWAPPED: [(&str, &str); 12] = [
    ("fact", "body"),
    ("fact", "contract"),
    ("fact", "cause"),
    ("fact", "hash"),
    ("session_fact", "body"),
    ("session_fact", "hash"),
    ("session", "label"),
    ("session", "created_at"),
    ("text", "bytes"),
    ("inbox", "command"),
    ("lease", "since"),
    ("session_head", "hash"),
];

/// Changes in SQL without new hashes. `verify` finds each of them.
const TYPED: [&str; 33] = [
    "DELETE FROM fact WHERE session = 'calm-otter' AND seq = (SELECT max(seq) FROM fact WHERE session = 'calm-otter')",
    "DELETE FROM fact WHERE session = 'calm-otter' AND seq > 3",
    "DELETE FROM fact WHERE session = 'calm-otter'",
    "DELETE FROM fact WHERE session = 'lost-heron' AND contract = '1.2'",
    "DELETE FROM fact",
    "DELETE FROM session_fact WHERE session = 'calm-otter' AND n > 2",
    "DELETE FROM session_fact WHERE session = 'bold-finch'",
    "DELETE FROM session_fact",
    "DELETE FROM session WHERE id = 'calm-otter'",
    "DELETE FROM session WHERE id = 'calm-otter'; DELETE FROM session_head WHERE session = 'calm-otter'",
    "DELETE FROM session WHERE id = 'calm-otter'; DELETE FROM session_head WHERE session = 'calm-otter';
     DELETE FROM fact WHERE session = 'calm-otter'; DELETE FROM session_fact WHERE session = 'calm-otter';
     DELETE FROM lease WHERE session = 'calm-otter'",
    "DELETE FROM session; DELETE FROM session_head; DELETE FROM fact; DELETE FROM session_fact; DELETE FROM lease;
     DELETE FROM inbox; DELETE FROM in_line",
    "DELETE FROM session_head",
    "DELETE FROM hall_head",
    "DELETE FROM hall_head; DELETE FROM session_head",
    "UPDATE session SET label = 'When is the party?' WHERE id = 'calm-otter'",
    "UPDATE session SET project = '/tmp'",
    "UPDATE session SET id = 'calm-stoat' WHERE id = 'calm-otter'",
    "INSERT INTO session VALUES ('calm-stoat', 7, '/tmp', 'I was never asked')",
    "UPDATE session_fact SET body = replace(body, '\"money\":', '\"money\":9') WHERE session = 'lost-heron'",
    "UPDATE fact SET body = replace(body, 'answered', 'refused')",
    "UPDATE fact SET session = 'bold-finch', seq = 500 WHERE session = 'lost-heron' AND seq = 5",
    "UPDATE session_fact SET session = 'bold-finch', n = n + 10 WHERE session = 'calm-otter' AND n > 2",
    "UPDATE fact SET session = 'bold-finch', seq = seq + 500 WHERE session = 'calm-otter'",
    "UPDATE inbox SET session = 'bold-finch' WHERE done = 0",
    "UPDATE in_line SET session = 'bold-finch'",
    "UPDATE lease SET session = 'bold-heron' WHERE session = 'bold-finch'",
    "UPDATE session_head SET session = 'other' WHERE session = 'calm-otter'",
    "INSERT INTO fact SELECT session, seq + 1, v, contract, at, cause, body, hash FROM fact WHERE session = 'calm-otter'
     ORDER BY seq DESC LIMIT 1",
    "INSERT INTO session_fact (session, n, after, at, body, hash, v) SELECT session, n + 1, after, at, body, hash, v
     FROM session_fact WHERE session = 'calm-otter' ORDER BY n DESC LIMIT 1",
    "INSERT INTO inbox (session, number, command, at) SELECT 'lost-heron', 99, command, at FROM inbox LIMIT 1",
    "UPDATE inbox SET done = 0",
    "UPDATE inbox SET done = 1",
];

/// Generates all cases.
pub(crate) fn all(home: &Home, seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, from: &FilePath, expect, tamper: Tamper| {
        cases.push(Case { name, from: from.to_owned(), expect, tamper });
    };
    for sql in TYPED {
        add(
            sql.split_whitespace().collect::<Vec<_>>().join(" "),
            home.closed(),
            Expect::Found,
            Box::new(|dir| typed(dir, sql)),
        );
    }
    for table in &TABLES {
        for column in table.key.iter().chain(table.rest) {
            for n in seed..seed + FLIPS {
                let flip = Box::new(move |dir: &FilePath| flip(dir, table, column, n));
                add(format!("flip {n} of {}.{column}", table.name), home.closed(), flipped(table.name, column), flip);
            }
        }
        for n in seed..seed + DELETIONS {
            // A command that was executed is never shown again.
            let expect = if table.name == "inbox" { Expect::FoundOrUnchanged } else { Expect::Found };
            add(
                format!("deletion {n} of {}", table.name),
                home.closed(),
                expect,
                Box::new(move |dir| delete(dir, table, n)),
            );
        }
    }
    for (table, column) in SWAPPED {
        let swap = Box::new(move |dir: &FilePath| swap(dir, table, column));
        add(format!("swap of {table}.{column}"), home.closed(), Expect::Found, swap);
    }
    for (name, page) in pages(home.closed()) {
        for n in seed..seed + PAGE_FLIPS {
            let flip = Box::new(move |dir: &FilePath| flip_page(dir, page, n));
            add(format!("flip {n} of the page of {name}"), home.closed(), Expect::FoundOrUnchanged, flip);
        }
    }
    for n in seed..seed + FILE_FLIPS {
        let flip = Box::new(move |dir: &FilePath| flip_file(dir, "journal.db", n));
        add(format!("flip {n} of the database file"), home.closed(), Expect::FoundOrUnchanged, flip);
    }
    for n in seed..seed + LOG_FLIPS {
        let flip = Box::new(move |dir: &FilePath| flip_file(dir, "journal.db-wal", n));
        add(format!("flip {n} of the log"), home.crashed(), Expect::LogFound, flip);
    }
    for n in 0..LOG_CUTS {
        let cut = Box::new(move |dir: &FilePath| cut(dir, n));
        add(format!("the log, cut to {n} of {LOG_CUTS}"), home.crashed(), Expect::LogFound, cut);
    }
    let gone = Box::new(|dir: &FilePath| fs::remove_file(dir.join("journal.db-wal")).unwrap());
    add("the log deleted".into(), home.crashed(), Expect::LogFound, gone);
    cases
}

/// The expected result of a flip in a column. A flip in a column that is never read changes nothing.
fn flipped(table: &str, column: &str) -> Expect {
    match (table, column) {
        ("text", "kind") | ("inbox", _) => Expect::FoundOrUnchanged,
        _ => Expect::Found,
    }
}

/// Changes the database with SQL. The triggers are removed before and restored after.
fn typed(dir: &FilePath, sql: &str) {
    with_database(dir, |db| db.execute_batch(sql));
}

fn with_database(dir: &FilePath, change: impl FnOnce(&Connection) -> rusqlite::Result<()>) {
    let db = Connection::open(dir.join("journal.db")).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").unwrap();
    let mut triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").unwrap();
    let triggers: Vec<(String, String)> =
        triggers.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    for (name, _) in &triggers {
        db.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    let before = db.total_changes();
    change(&db).unwrap();
    assert!(db.total_changes() > before, "a case changes something");
    for (_, sql) in &triggers {
        db.execute_batch(sql).unwrap();
    }
}

/// Finds a row of a table: the values of its key.
fn row(db: &Connection, table: &Table, rng: &mut Rng) -> Vec<Value> {
    let count: u32 = db.query_row(&format!("SELECT count(*) FROM {}", table.name), [], |row| row.get(0)).unwrap();
    let sql = format!("SELECT {} FROM {} LIMIT 1 OFFSET {}", table.key.join(", "), table.name, rng.u32(0..count));
    db.query_row(&sql, [], |row| (0..table.key.len()).map(|column| row.get(column)).collect()).unwrap()
}

fn by_key(table: &Table, first: usize) -> String {
    let parts = table.key.iter().enumerate().map(|(n, column)| format!("{column} = ?{}", first + n));
    parts.collect::<Vec<_>>().join(" AND ")
}

/// Flips a bit of a column. If the table refuses the change, another flip is tried.
fn flip(dir: &FilePath, table: &Table, column: &str, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    with_database(dir, |db| {
        loop {
            let key = row(db, table, &mut rng);
            let select = format!("SELECT {column} FROM {} WHERE {}", table.name, by_key(table, 1));
            let value: Value = db.query_row(&select, params_from_iter(&key), |row| row.get(0))?;
            let (value, cast) = match value {
                Value::Integer(number) => (Value::Integer(number ^ (1 << rng.u32(0..63))), "?1"),
                Value::Text(text) => (Value::Blob(flip_bytes(text.into_bytes(), &mut rng)), "CAST(?1 AS TEXT)"),
                Value::Blob(bytes) => (Value::Blob(flip_bytes(bytes, &mut rng)), "?1"),
                Value::Null | Value::Real(_) => panic!("no column has such a value"),
            };
            let update = format!("UPDATE OR IGNORE {} SET {column} = {cast} WHERE {}", table.name, by_key(table, 2));
            if db.execute(&update, params_from_iter([value].iter().chain(&key)))? > 0 {
                return Ok(());
            }
        }
    });
}

fn flip_bytes(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    if bytes.is_empty() {
        return vec![1];
    }
    let place = rng.usize(0..bytes.len());
    bytes[place] ^= 1 << rng.u32(0..8);
    bytes
}

fn delete(dir: &FilePath, table: &Table, seed: u64) {
    with_database(dir, |db| {
        let key = row(db, table, &mut Rng::with_seed(seed));
        let sql = format!("DELETE FROM {} WHERE {}", table.name, by_key(table, 1));
        db.execute(&sql, params_from_iter(&key)).map(|_| ())
    });
}

/// Swaps a column of the first row with the first different value.
fn swap(dir: &FilePath, table: &str, column: &str) {
    let first = format!("(SELECT rowid FROM {table} ORDER BY rowid LIMIT 1)");
    let is_first = format!("{column} = (SELECT {column} FROM {table} WHERE rowid = {first})");
    with_database(dir, |db| {
        // A table without row ids has one row per session.
        if table == "session_head" {
            return db.execute_batch(
                "CREATE TEMP TABLE kept AS SELECT session, hash FROM session_head ORDER BY session LIMIT 2;
                 UPDATE session_head SET hash = (SELECT hash FROM kept WHERE kept.session != session_head.session LIMIT 1)
                 WHERE session IN (SELECT session FROM kept)",
            );
        }
        db.execute_batch(&format!(
            "CREATE TEMP TABLE kept AS SELECT {first} AS one, (SELECT rowid FROM {table} WHERE NOT {is_first} LIMIT 1) AS two;
             CREATE TEMP TABLE was AS SELECT rowid AS id, {column} AS value FROM {table};
             UPDATE {table} SET {column} = (SELECT value FROM was, kept WHERE id = two) WHERE rowid = (SELECT one FROM kept);
             UPDATE {table} SET {column} = (SELECT value FROM was, kept WHERE id = one) WHERE rowid = (SELECT two FROM kept)"
        ))
    });
}

/// The size of a page of the database.
const PAGE: usize = 4096;

/// The first page of each table and index.
fn pages(dir: &FilePath) -> Vec<(String, usize)> {
    let db = Connection::open(dir.join("journal.db")).unwrap();
    let mut all = db.prepare("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0").unwrap();
    let pages = all.query_map([], |row| Ok((row.get(0)?, usize::from(row.get::<_, u16>(1)?)))).unwrap();
    pages.map(Result::unwrap).collect()
}

/// Flips a bit of the stored data in a page.
fn flip_page(dir: &FilePath, page: usize, seed: u64) {
    let file = dir.join("journal.db");
    let mut bytes = fs::read(&file).unwrap();
    let page = &mut bytes[(page - 1) * PAGE..page * PAGE];
    let cells = usize::from(u16::from_be_bytes([page[5], page[6]])).min(PAGE - 1);
    let changed = flip_bytes(page[cells..].to_vec(), &mut Rng::with_seed(seed));
    page[cells..].copy_from_slice(&changed);
    fs::write(file, bytes).unwrap();
}

/// Flips a bit of a file.
fn flip_file(dir: &FilePath, name: &str, seed: u64) {
    let file = dir.join(name);
    let bytes = flip_bytes(fs::read(&file).unwrap(), &mut Rng::with_seed(seed));
    fs::write(file, bytes).unwrap();
}

/// Cuts the log to a part of its length.
fn cut(dir: &FilePath, part: u64) {
    let file = dir.join("journal.db-wal");
    let bytes = fs::read(&file).unwrap();
    let left = bytes.len() / usize::try_from(LOG_CUTS).unwrap() * usize::try_from(part).unwrap();
    fs::write(file, &bytes[..left]).unwrap();
}
