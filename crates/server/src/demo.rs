//! The live demo: a model that is the rehearsal with pauses around each reply, so that people can watch a team at work, read and stop
//! it. It needs no key and costs nothing.

use std::ops::Range;
use std::time::Duration;

use guildhall::Rehearsal;
use guildhall::agent::{Attempt, Billing, Delta, Model, Prompt, Task, Watch};

/// How long the model seems to think before a reply, and to write it. Both differ from call to call, so that agents do not move in
/// step. A request of the demo's team has about twelve replies one after another.
const THINKS: Range<u64> = 1_000..2_000;
const WRITES: Range<u64> = 1_000..2_000;

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
            tokio::time::sleep(pause(prompt, THINKS, 7)).await;
            let attempt = Rehearsal.ask(prompt, watch).await;
            tokio::time::sleep(pause(prompt, WRITES, 11)).await;
            attempt
        })
    }
}

/// A pause in milliseconds within a range, from the name of the call alone: a repeated call takes as long as the first.
fn pause(prompt: &Prompt, range: Range<u64>, seed: u64) -> Duration {
    let spread = range.end - range.start;
    let mixed = prompt.key.to_string().bytes().fold(seed, |mixed: u64, byte| (mixed * 31 + u64::from(byte)) % spread);
    Duration::from_millis(range.start + mixed)
}
