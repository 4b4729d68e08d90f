//! The figures of `serve` with their targets, and their table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Size;
use crate::figures::Spread;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    OneRate,
    OneMedian,
    OneP99,
    OneHighest,
    OneMemory,
    IdleReads,
    ManyRate,
    ManyMedian,
    ManyP99,
    ManyHighest,
    ManyMemory,
    Alone,
    Watched,
    Times,
    WatchedP99,
    WatchedMemory,
    AloneAtOnce,
    WatchedAtOnce,
}

/// A row of the table.
struct Row {
    key: Key,
    what: String,
    unit: &'static str,
    /// The value must be at most this.
    target: Option<f64>,
}

/// The values of all rounds.
#[derive(Default)]
pub(crate) struct Values(BTreeMap<Key, Vec<f64>>);

impl Values {
    pub(crate) fn add(&mut self, key: Key, value: f64) {
        self.0.entry(key).or_default().push(value);
    }

    /// The table of all figures that were measured.
    pub(crate) fn table(&self, size: &Size) -> String {
        let mut table =
            String::from("| figure | median of the rounds | lowest–highest | target |\n|---|---|---|---|\n");
        for Row { key, what, unit, target } in rows(size) {
            let Some(Spread { median, lowest, highest }) = self.0.get(&key).and_then(|all| Spread::of(all.clone()))
            else {
                continue;
            };
            let target = target.map_or(String::new(), |limit| {
                format!("≤ {limit} {unit}: {}", if median <= limit { "met" } else { "**missed**" })
            });
            let [median, lowest, highest] = [median, lowest, highest].map(short);
            writeln!(table, "| {what} | {median} {unit} | {lowest}–{highest} | {target} |")
                .expect("writing to a string can't fail");
        }
        table
    }
}

/// Two or three digits are enough.
fn short(value: f64) -> String {
    if value == 0.0 || value.abs() >= 20.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn rows(size: &Size) -> Vec<Row> {
    let Size { viewers, sessions, each, agents, never_read, .. } = size;
    let row = |key, what: String, unit, target| Row { key, what, unit, target };
    let more = |key, what: &str, unit| Row { key, what: format!("… {what}"), unit, target: None };
    let p99 = "from durable to received, 99th percentile";
    vec![
        row(Key::OneP99, format!("{viewers} viewers of one session: {p99}"), "ms", Some(1000.0)),
        more(Key::OneMedian, "median", "ms"),
        more(Key::OneHighest, "highest", "ms"),
        more(Key::OneRate, "facts of the session per second", "/s"),
        row(Key::OneMemory, format!("{viewers} viewers of one session: memory per viewer"), "KiB", Some(64.0)),
        row(
            Key::IdleReads,
            format!("{viewers} viewers of a session at rest: reads of the database"),
            "reads",
            Some(0.0),
        ),
        row(Key::ManyP99, format!("{sessions} sessions with {each} viewers each: {p99}"), "ms", Some(1000.0)),
        more(Key::ManyMedian, "median", "ms"),
        more(Key::ManyHighest, "highest", "ms"),
        more(Key::ManyRate, "facts of each session per second, on average", "/s"),
        row(
            Key::ManyMemory,
            format!("{sessions} sessions with {each} viewers each: memory per viewer"),
            "KiB",
            Some(64.0),
        ),
        row(
            Key::Times,
            format!(
                "{agents} agents with {viewers} viewers, of whom {never_read} never read: the time of the work, compared with no viewers"
            ),
            "×",
            Some(1.5),
        ),
        more(Key::Alone, "the time of the work with no viewers", "ms"),
        more(Key::Watched, "the time of the work with the viewers", "ms"),
        more(Key::AloneAtOnce, "the same with a model that answers at once, with no viewers", "ms"),
        more(Key::WatchedAtOnce, "the same with a model that answers at once, with the viewers", "ms"),
        more(Key::WatchedP99, "from durable to received by those who read, 99th percentile", "ms"),
        row(
            Key::WatchedMemory,
            format!("{agents} agents with {viewers} viewers, of whom {never_read} never read: memory per viewer"),
            "KiB",
            Some(64.0),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::FULL;

    #[test]
    fn a_row_shows_the_spread_and_whether_the_target_is_met() {
        let mut values = Values::default();
        for times in [0.5, 2.0, 1.6] {
            values.add(Key::Times, times);
        }
        values.add(Key::IdleReads, 0.0);
        let table = values.table(&FULL);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| 500 viewers of a session at rest: reads of the database | 0 reads | 0–0 | ≤ 0 reads: met |",
                "| 100 agents with 500 viewers, of whom 50 never read: the time of the work, compared with no viewers | 1.60 × | 0.50–2.00 | ≤ 1.5 ×: **missed** |",
            ]
        );
    }
}
