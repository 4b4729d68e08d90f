//! Makes a failing schedule shorter: it tries fewer and simpler choices, as long as the schedule still fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::payments::History;
use crate::run::{Run, run};
use crate::subject::Subject;

/// The time limit for shrinking, because an endless schedule takes long to run.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Runs a schedule of contracts. A panic is returned as an error.
pub fn attempt(chance: Chance) -> Result<Run, String> {
    catch(|| run(chance))
}

/// Runs a schedule. A panic is returned as an error.
pub(crate) fn catch<T>(schedule: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(schedule)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_else(|| "panic".to_owned())
    })
}

/// Returns the first violation or panic of these choices, if there is one.
pub fn failure(subject: Subject, choices: &[u32]) -> Option<String> {
    match subject.play(Chance::replaying(choices.to_vec()), History::Dropped) {
        Ok(played) => played.violations.into_iter().next(),
        Err(panic) => Some(panic),
    }
}

/// Finds fewer and simpler choices that still break the same law.
pub fn shrink(subject: Subject, mut choices: Vec<u32>) -> Vec<u32> {
    let law = |failure: String| failure.split([',', ':']).next().map(str::to_owned);
    let broken = failure(subject, &choices).and_then(law);
    let start = Instant::now();
    let better = |candidate: Vec<u32>, choices: &mut Vec<u32>| {
        let fails = start.elapsed() < TIME_MAX && failure(subject, &candidate).and_then(law) == broken;
        if fails {
            *choices = candidate;
        }
        fails
    };
    let mut chunk = choices.len().next_power_of_two();
    while chunk > 0 {
        let mut at = 0;
        while at < choices.len() {
            let end = (at + chunk).min(choices.len());
            let shorter = [&choices[..at], &choices[end..]].concat();
            let mut simpler = choices.clone();
            simpler[at..end].fill(0);
            if better(shorter, &mut choices) {
                continue;
            }
            if simpler != choices {
                better(simpler, &mut choices);
            }
            at = end;
        }
        chunk /= 2;
    }
    while choices.last() == Some(&0) {
        choices.pop();
    }
    choices
}
