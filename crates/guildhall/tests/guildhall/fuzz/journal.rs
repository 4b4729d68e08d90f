//! The same replies with a whole hall and its journal on disk.

use std::fs;
use std::sync::{Arc, Mutex};

use guildhall::{Attempt, Hall, Msat, Price, Reply, Reported, Usage, model_fn};
use guildhall_laws::Checker;

use crate::fuzz::replies::{KNOWN, Replies, secrets};
use crate::fuzz::seeds;

/// One of this many cases runs with a disk.
const ONE_IN: u64 = 50;

#[tokio::test(flavor = "multi_thread")]
async fn any_reply_is_stored_without_its_secrets_and_stays_readable() {
    let project = tempfile::tempdir().unwrap();
    let data = project.path().join("data");
    let hall = |attempts: Vec<Attempt>| {
        let attempts = Arc::new(Mutex::new(attempts));
        let model = model_fn(move |_| {
            let attempt = attempts.lock().unwrap().pop();
            let last = || Attempt { outcome: Ok(Reply::words("Done.")), usage: Reported::Whole(Usage::default()) };
            async move { attempt.unwrap_or_else(last) }
        });
        let hall = Hall::builder().data(&data).project(project.path()).model("any", model, Price::FREE);
        hall.secrets(KNOWN.map(str::to_owned)).build().unwrap()
    };
    for seed in seeds(ONE_IN) {
        let mut replies = Replies::new(seed);
        let (hall, id) = (hall(replies.attempts()), format!("s{seed}").parse().unwrap());
        let ended = hall.run(replies.said()).id(id).budget(Msat::from_sat(1000).unwrap()).await;
        let ended = ended.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert!(ended.violations.is_empty() && ended.unreadable.is_empty(), "seed {seed}: {ended:?}");
        let unreadable = hall.unreadable_texts(&ended.session).await.unwrap();
        assert_eq!(unreadable, [], "seed {seed}");
        let view = hall.session(&ended.session).await.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        // Work that failed has no answer.
        let text = view.text.as_deref().unwrap_or_default();
        assert_eq!((text, &view.bill), (ended.text.as_str(), &ended.bill), "seed {seed}");
        let facts = hall.journal().facts(&ended.session, 1).await.unwrap();
        let mut checker = Checker::new();
        let broken: Vec<_> = facts.iter().flat_map(|stored| checker.observe(stored)).collect();
        assert!(broken.is_empty(), "seed {seed}: {broken:?}");
        hall.journal().clone().close().await;
    }
    for entry in fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        for secret in secrets() {
            let found = bytes.windows(secret.len()).position(|window| window == secret.as_bytes());
            let around = found.map(|at| String::from_utf8_lossy(&bytes[at.saturating_sub(200)..at]));
            assert_eq!(around, None, "{secret:?} is in {}", path.display());
        }
    }
}
