//! What is shown: the figures of the table with their targets, and the values that the rounds gave.

use std::collections::BTreeMap;

use crate::program::Program;

/// A small run passes if each figure is within this many times its target: other work on the machine disturbs a few short runs.
pub(crate) const SLACK: f64 = 1.5;

/// A figure of the table.
pub(crate) struct Figure {
    pub(crate) key: Key,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    TreeCpu,
    TreeCpu32,
    TreeSpan,
    TreePeak,
    WideCpu,
    WideSpan,
    WideOpen,
    Waiting,
    GrowthFrom,
    GrowthTo,
    Growth,
    Latency32,
    Latency1000,
    BareRequest,
    FilesRequest,
    Start,
    IdleMemory,
    Size,
    Build,
    Test,
}

/// What the value of guildhall must be.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Target {
    None,
    /// At most this many times the floor of the same round.
    Floor(f64),
    /// At most this value.
    Value(f64),
    /// At most this value; a small run does not check it, because it depends on the machine.
    Time(f64),
}

#[rustfmt::skip]
pub(crate) const FIGURES: &[Figure] = &[
    Figure { key: Key::TreeCpu, what: "1,111 agents (fan-out 10, depth 3), 1,000 calls at once: processor time per agent", unit: "µs", target: Target::Floor(3.5) },
    Figure { key: Key::TreeSpan, what: "… from the first request to the last answer", unit: "ms", target: Target::None },
    Figure { key: Key::TreePeak, what: "… highest memory", unit: "MB", target: Target::None },
    Figure { key: Key::TreeCpu32, what: "… processor time per agent with 32 calls at once (the default)", unit: "µs", target: Target::None },
    Figure { key: Key::WideCpu, what: "1,000 parallel hires of one agent: processor time per agent", unit: "µs", target: Target::Floor(3.5) },
    Figure { key: Key::WideSpan, what: "… from the first request to the last answer, with a model that takes 50 ms", unit: "ms", target: Target::None },
    Figure { key: Key::WideOpen, what: "… most calls at the same time", unit: "", target: Target::None },
    Figure { key: Key::Waiting, what: "memory per hire that waits for a model", unit: "KiB", target: Target::Value(60.0) },
    Figure { key: Key::GrowthFrom, what: "85 agents (fan-out 4, depth 3): processor time per agent", unit: "µs", target: Target::None },
    Figure { key: Key::GrowthTo, what: "11,111 agents (fan-out 10, depth 4): processor time per agent", unit: "µs", target: Target::None },
    Figure { key: Key::Growth, what: "growth of processor time per agent from 85 to 11,111 agents", unit: "×", target: Target::Floor(1.3) },
    Figure { key: Key::Latency32, what: "111 agents (fan-out 10, depth 2), a model that takes 50 ms, 32 calls at once (the default): from the first request to the last answer", unit: "ms", target: Target::Floor(1.25) },
    Figure { key: Key::Latency1000, what: "111 agents (fan-out 10, depth 2), a model that takes 50 ms, 1,000 calls at once: from the first request to the last answer", unit: "ms", target: Target::Floor(1.3) },
    Figure { key: Key::BareRequest, what: "request of a hire without tools, beyond its task", unit: "KB", target: Target::Value(1.5) },
    Figure { key: Key::FilesRequest, what: "request of a hire with the file tools, beyond its task", unit: "KB", target: Target::Value(4.0) },
    Figure { key: Key::Start, what: "from start to the first request, with an existing journal", unit: "ms", target: Target::Time(30.0) },
    Figure { key: Key::IdleMemory, what: "memory while one call waits", unit: "MB", target: Target::Value(18.0) },
    Figure { key: Key::Size, what: "the binary", unit: "MB", target: Target::Value(25.0) },
    Figure { key: Key::Build, what: "a fresh release build (measured by hand)", unit: "min", target: Target::Time(4.0) },
    Figure { key: Key::Test, what: "`cargo xtask test` (measured by hand)", unit: "min", target: Target::Time(15.0) },
];

/// The values of all rounds.
#[derive(Default)]
pub(crate) struct Values(BTreeMap<(Key, Program), Vec<f64>>);

/// The median of some values, with the lowest and the highest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
}

impl Values {
    pub(crate) fn add(&mut self, key: Key, program: Program, value: f64) {
        self.0.entry((key, program)).or_default().push(value);
    }

    fn of(&self, key: Key, program: Program) -> &[f64] {
        self.0.get(&(key, program)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn spread(&self, key: Key, program: Program) -> Option<Spread> {
        Spread::of(self.of(key, program).to_vec())
    }

    /// How many times the floor's value of the same round a program's value is.
    pub(crate) fn times_floor(&self, key: Key, program: Program) -> Option<Spread> {
        let floors = self.of(key, Program::Floor);
        Spread::of(self.of(key, program).iter().zip(floors).map(|(value, floor)| value / floor).collect())
    }
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let (lowest, highest) = (*values.first()?, *values.last()?);
        Some(Spread { median: values[values.len() / 2], lowest, highest })
    }
}

impl Figure {
    /// The value that the target is about, if it was measured.
    pub(crate) fn judged(&self, values: &Values) -> Option<f64> {
        let spread = match self.target {
            Target::Floor(_) => values.times_floor(self.key, Program::Guildhall),
            Target::None | Target::Value(_) | Target::Time(_) => values.spread(self.key, Program::Guildhall),
        };
        spread.map(|spread| spread.median)
    }

    /// What is wrong with a small run, if the value is above the target and its slack.
    pub(crate) fn fault(&self, values: &Values) -> Option<String> {
        let (limit, unit) = match self.target {
            Target::None | Target::Time(_) => return None,
            Target::Floor(times) => (times * SLACK, "× floor"),
            Target::Value(value) => (value * SLACK, self.unit),
        };
        let value = self.judged(values).filter(|value| value.is_nan() || *value > limit)?;
        Some(format!("{}: {value:.2} {unit}, the limit of a small run is {limit:.2} {unit}", self.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_and_not_of_the_medians() {
        let mut values = Values::default();
        for (floor, guildhall) in [(100.0, 200.0), (1000.0, 2000.0), (10.0, 50.0)] {
            values.add(Key::TreeCpu, Program::Floor, floor);
            values.add(Key::TreeCpu, Program::Guildhall, guildhall);
        }
        let expect = Spread { median: 2.0, lowest: 2.0, highest: 5.0 };
        assert_eq!(values.times_floor(Key::TreeCpu, Program::Guildhall), Some(expect));
        assert_eq!(values.times_floor(Key::WideCpu, Program::Guildhall), None);
    }

    #[test]
    fn a_small_run_fails_only_above_the_slack() {
        let faults = |guildhall: f64| {
            let mut values = Values::default();
            values.add(Key::TreeCpu, Program::Floor, 100.0);
            values.add(Key::TreeCpu, Program::Guildhall, guildhall);
            FIGURES.iter().filter_map(|figure| figure.fault(&values)).collect::<Vec<_>>()
        };
        assert_eq!(faults(520.0), Vec::<String>::new());
        let fault = "1,111 agents (fan-out 10, depth 3), 1,000 calls at once: processor time per agent: 5.30 × floor, the limit of a small run is 5.25 × floor";
        assert_eq!(faults(530.0), [fault]);
        assert_eq!(faults(f64::NAN).len(), 1, "a value that can't be compared is a fault");
    }

    #[test]
    fn a_figure_with_a_target_can_be_understood_without_the_table() {
        let unclear = FIGURES.iter().filter(|figure| figure.target != Target::None && figure.what.starts_with('…'));
        assert_eq!(unclear.map(|figure| figure.what).collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
