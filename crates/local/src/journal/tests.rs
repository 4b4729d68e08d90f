//! A test that needs access to the inside of the journal: a commit that fails.

use tempfile::tempdir;

use super::{Journal, JournalError, NewSession};
use guildhall_kernel::UnixMs;

#[tokio::test]
async fn nothing_more_is_stored_after_a_failed_commit() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    let new = |id: &str| {
        let id = id.parse().unwrap();
        journal.create(NewSession { id, created_at: UnixMs(1), project: "/".into(), label: String::new() })
    };
    new("before").await.unwrap();
    // A foreign key violation that SQLite reports only at the commit.
    let work = |change: &mut super::known::Change<'_>| {
        change.db.execute_batch(
            "PRAGMA defer_foreign_keys = ON;
             INSERT INTO inbox (session, number, command, at) VALUES ('nobody', 1, '1', 1)",
        )?;
        Ok(())
    };
    let (failed, shared) = tokio::join!(journal.writer().unwrap().run(0, work, |()| {}), new("beside"));
    let failed = failed.unwrap_err();
    assert!(matches!(failed, JournalError::NotDurable { .. }), "{failed}");
    assert!(failed.to_string().contains("guildhall resume"), "{failed}");
    assert!(shared.is_err());
    for _ in 0..3 {
        let later = new("after").await.unwrap_err();
        let JournalError::Stopped { why } = &later else { panic!("{later}") };
        assert!(matches!(**why, JournalError::NotDurable { .. }), "{later}");
    }
    let sessions = journal.sessions().await.unwrap();
    assert_eq!(sessions.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["before"]);
    journal.close().await;
    let journal = Journal::open(dir.path()).unwrap();
    assert_eq!(journal.sessions().await.unwrap(), sessions);
}

#[tokio::test]
async fn a_job_that_refuses_after_a_change_stops_the_writer_and_nothing_of_it_is_stored() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    let work = |change: &mut super::known::Change<'_>| -> Result<(), JournalError> {
        change.db.execute_batch("INSERT INTO text (hash, bytes, kind) VALUES (x'00', x'00', 'task')")?;
        Err(JournalError::Busy)
    };
    let refused = journal.writer().unwrap().run(0, work, |()| {}).await.unwrap_err();
    assert!(matches!(refused, JournalError::Stopped { .. }), "{refused}");
    let count =
        |db: &rusqlite::Connection| Ok(db.query_row("SELECT count(*) FROM text", [], |row| row.get::<_, i64>(0))?);
    assert_eq!(journal.readers().read(count).await.unwrap(), 0);
}
