//! Two processes continue one session at the same time: at whatever point one of them is overtaken, no money is spent twice.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use guildhall_local::{JournalError, SessionId};

use super::*;

/// The last step at which a process is overtaken, and the number of tries. Answers that are ready immediately join several steps into
/// one.
const STEPS_MAX: usize = 24;
const ROUNDS_MAX: usize = 20 * STEPS_MAX;

/// The result of an attempt to continue.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    Done,
    /// The other process runs the session.
    Refused,
    /// The other process has continued the session meanwhile.
    Overtaken,
}

/// Polls a future for this many steps. Each step ends where the future waits.
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

async fn attempt(started: Result<Running, HallError>) -> Attempt {
    match started {
        Ok(mut running) => {
            assert_eq!(running.wait().await.unwrap().report.outcome, Outcome::Done);
            Attempt::Done
        }
        Err(HallError::Journal(JournalError::Held { .. }) | HallError::NotEnded(_)) => Attempt::Refused,
        Err(HallError::ContinuedElsewhere(_)) => Attempt::Overtaken,
        Err(why) => panic!("{why}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_overtaken_gets_an_error_and_spends_nothing() {
    let peer = Peer::start(&script(&json!([{"then": {"reply": {"text": "On Tuesday."}}}])));
    let (data, project) = (tempfile::tempdir().unwrap(), project());
    let [slow, fast] = [(); 2].map(|()| hall(Wire::Anthropic, &peer, KEY, data.path(), project.path()));
    let budget = Msat::from_sat(1000).unwrap();
    let mut missing =
        vec![(Attempt::Done, Attempt::Done), (Attempt::Done, Attempt::Overtaken), (Attempt::Refused, Attempt::Done)];
    for round in 0..ROUNDS_MAX {
        let id: SessionId = format!("s{round}").parse().unwrap();
        let before = peer.executions();
        let work = fast.run("When is the meeting?").budget(budget).id(id.clone());
        assert_eq!(attempt(work.start().await).await, Attempt::Done);
        let go_on = |hall: &Hall| hall.run("And where?").after(id.clone()).start();
        let mut late = Box::pin(go_on(&slow));
        if let Some(started) = within(late.as_mut(), 1 + round % STEPS_MAX).await {
            assert_eq!(attempt(started).await, Attempt::Done);
            continue;
        }
        let both = (attempt(go_on(&fast).await).await, attempt(late.await).await);
        let view = fast.session(&id).await.unwrap();
        let done = 1 + [&both.0, &both.1].into_iter().filter(|result| **result == Attempt::Done).count();
        assert_eq!((peer.executions() - before, view.violations.as_slice()), (done, [].as_slice()), "{both:?}");
        assert_eq!(view.free.get(), budget.get() - view.charges.total().get(), "no money is created or lost: {both:?}");
        missing.retain(|wanted| *wanted != both);
        if missing.is_empty() {
            return;
        }
    }
    panic!("{missing:?} did not happen");
}
