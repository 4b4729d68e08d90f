//! Makes a failing schedule shorter: fewer choices, plainer ones, as long as it still fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::run::{Run, run};

/// A schedule that does not end takes long to run: a history that is less short is better than waiting for it.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Runs a schedule; a panic is a violation like any other.
pub fn attempt(chance: Chance) -> Result<Run, String> {
    catch_unwind(AssertUnwindSafe(|| run(chance))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_else(|| "panic".to_owned())
    })
}

/// Returns the first thing that is wrong with these choices, if any.
pub fn failure(choices: &[u32]) -> Option<String> {
    match attempt(Chance::replaying(choices.to_vec())) {
        Ok(run) => run.violations.into_iter().next(),
        Err(panic) => Some(panic),
    }
}

/// Finds shorter and plainer choices that still break the same law.
pub fn shrink(mut choices: Vec<u32>) -> Vec<u32> {
    let law = |failure: String| failure.split([',', ':']).next().map(str::to_owned);
    let broken = failure(&choices).and_then(law);
    let start = Instant::now();
    let better = |candidate: Vec<u32>, choices: &mut Vec<u32>| {
        let fails = start.elapsed() < TIME_MAX && failure(&candidate).and_then(law) == broken;
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
            let mut plainer = choices.clone();
            plainer[at..end].fill(0);
            if better(shorter, &mut choices) {
                continue;
            }
            if plainer != choices {
                better(plainer, &mut choices);
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
