//! Two who go on in one session at once: wherever one of them is overtaken by the other, nothing is spent twice.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use guildhall_local::{JournalError, SessionId};

use super::*;

/// After how many steps somebody is overtaken at the latest, and how often that is tried: answers that are there at once make
/// of several steps one.
const STEPS_MAX: usize = 24;
const ROUNDS_MAX: usize = 20 * STEPS_MAX;

/// What became of a wish to go on.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Done,
    /// Somebody else has the session.
    Kept,
    /// Somebody else went on in it meanwhile.
    Overtaken,
}

/// Lets something go on by so many steps, each up to where it must wait for an answer.
async fn within<F: Future>(mut future: Pin<&mut F>, steps: usize) -> Option<F::Output> {
    let mut taken = 0;
    poll_fn(|context| {
        if taken == steps {
            return Poll::Ready(None);
        }
        taken += 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

async fn fate(begun: Result<Running, HallError>) -> Fate {
    match begun {
        Ok(mut running) => {
            assert_eq!(running.wait().await.unwrap().report.outcome, Outcome::Done);
            Fate::Done
        }
        Err(HallError::Journal(JournalError::Held { .. }) | HallError::NotEnded(_)) => Fate::Kept,
        Err(HallError::ContinuedElsewhere(_)) => Fate::Overtaken,
        Err(why) => panic!("{why}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_overtaken_on_the_way_into_a_session_is_told_and_spends_nothing() {
    let peer = Peer::start(&script(&json!([{"then": {"reply": {"text": "On Tuesday."}}}])));
    let (data, project) = (tempfile::tempdir().unwrap(), project());
    let [slow, fast] = [(); 2].map(|()| hall(Wire::Anthropic, &peer, KEY, data.path(), project.path()));
    let budget = Msat::from_sat(1000).unwrap();
    let mut missing = vec![(Fate::Done, Fate::Done), (Fate::Done, Fate::Overtaken), (Fate::Kept, Fate::Done)];
    for round in 0..ROUNDS_MAX {
        let id: SessionId = format!("s{round}").parse().unwrap();
        let before = peer.executions();
        let work = fast.run("When is the meeting?").budget(budget).id(id.clone());
        assert_eq!(fate(work.start().await).await, Fate::Done);
        let go_on = |hall: &Hall| hall.run("And where?").after(id.clone()).start();
        let mut late = Box::pin(go_on(&slow));
        if let Some(begun) = within(late.as_mut(), 1 + round % STEPS_MAX).await {
            assert_eq!(fate(begun).await, Fate::Done);
            continue;
        }
        let both = (fate(go_on(&fast).await).await, fate(late.await).await);
        let view = fast.session(&id).await.unwrap();
        let done = 1 + [&both.0, &both.1].into_iter().filter(|fate| **fate == Fate::Done).count();
        assert_eq!((peer.executions() - before, view.violations.as_slice()), (done, [].as_slice()), "{both:?}");
        assert_eq!(view.free.get(), budget.get() - view.charges.total().get(), "nothing is made or lost: {both:?}");
        missing.retain(|wanted| *wanted != both);
        if missing.is_empty() {
            return;
        }
    }
    panic!("{missing:?} did not happen");
}
