//! The live demo: a model that is the rehearsal with a pause before each reply, so that people can watch a team at work, read and
//! stop it. It needs no key and costs nothing.

use std::time::Duration;

use guildhall::Rehearsal;
use guildhall::agent::{Attempt, Billing, Delta, Model, Prompt, Task, Watch};

/// The pause before each reply. It differs from call to call, so that agents do not move in step.
const PAUSE_MIN: Duration = Duration::from_millis(1_000);
const PAUSE_MAX: Duration = Duration::from_millis(2_000);

/// How long the model seems to read before it thinks.
const READS: Duration = Duration::from_millis(200);

/// The rehearsal, at the pace of a person who watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveDemo;

impl Model for LiveDemo {
    fn billing(&self) -> Billing {
        Rehearsal.billing()
    }

    fn reads_data(&self) -> bool {
        Rehearsal.reads_data()
    }

    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(async move {
            watch(Delta::Asking);
            tokio::time::sleep(READS).await;
            watch(Delta::Thinking);
            tokio::time::sleep(pause(prompt) - READS).await;
            Rehearsal.ask(prompt, watch).await
        })
    }
}

/// The pause before a reply, from the name of the call alone: a repeated call takes as long as the first.
fn pause(prompt: &Prompt) -> Duration {
    let spread = u64::try_from((PAUSE_MAX - PAUSE_MIN).as_millis()).expect("a short time");
    let mixed = prompt.key.to_string().bytes().fold(7, |mixed: u64, byte| (mixed * 31 + u64::from(byte)) % spread);
    PAUSE_MIN + Duration::from_millis(mixed)
}
