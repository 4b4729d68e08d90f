//! Sessions with changed settings: those of another version of the program, or of another state of a hall.

use guildhall::kernel::{Millis, SessionFact, Stored, TextKind, TextRef};
use guildhall::local::{Batch, Journal, NewSession, SessionBatch, SessionId, UnixMs, hash_text};
use serde_json::Value;

/// Stores a session with the account of another one, with its first facts, and with these settings.
pub(crate) async fn with_settings(
    journal: &Journal,
    like: &SessionId,
    settings: &[u8],
    takes: impl Fn(&Stored) -> bool,
) -> SessionId {
    let bytes = u32::try_from(settings.len()).unwrap();
    let new = TextRef { hash: hash_text(settings), bytes, kind: TextKind::Prices };
    let mut account = journal.account(like).await.unwrap();
    for fact in &mut account {
        if let SessionFact::Requested { prices, .. } = fact {
            *prices = new;
        }
    }
    let id: SessionId = "newer-newt".parse().unwrap();
    let session = NewSession { id: id.clone(), created_at: UnixMs(9), project: "/".into(), label: "Go on.".into() };
    journal.create(session).await.unwrap();
    let lease = journal.lease(&id, UnixMs(9)).await.unwrap();
    let batch = SessionBatch { at: Millis(0), facts: account, texts: vec![(new, settings.to_vec())], done: None };
    journal.append_session(&lease, batch).await.unwrap();
    let facts = journal.facts(like, 1).await.unwrap();
    let steps: Vec<&Stored> = facts.iter().take_while(|stored| takes(stored)).collect();
    // All facts of one step are stored together.
    for step in steps.chunk_by(|one, next| (&one.contract, &one.cause) == (&next.contract, &next.cause)) {
        let Stored { contract, at, cause, .. } = step[0].clone();
        let facts = step.iter().map(|stored| stored.fact.clone()).collect();
        let (texts, account) = (Vec::new(), Vec::new());
        let batch = Batch { contract, at, cause, facts, texts, done: None, account, treasury: None };
        journal.append(&lease, batch).await.unwrap();
    }
    id
}

/// Reads the settings of the first request of a session.
pub(crate) async fn settings_of(journal: &Journal, id: &SessionId) -> Value {
    let account = journal.account(id).await.unwrap();
    let prices =
        |fact: &SessionFact| if let SessionFact::Requested { prices, .. } = fact { Some(*prices) } else { None };
    let prices = account.iter().find_map(prices).unwrap();
    serde_json::from_slice(&journal.text(prices.hash).await.unwrap().unwrap()).unwrap()
}
