//! The work and the budget of each case, and what must come of it.

use super::runs::Usage;

/// The part of the budget that unequal work needs, in percent, and how many of a hundred teams must finish wholly.
pub(super) const UNEQUAL_PARTS: [(u64, u64); 2] = [(50, 95), (75, 80)];

/// One kind of work with one budget.
pub(super) struct Case {
    pub(super) what: String,
    /// The task of the root, as the model server reads it.
    pub(super) task: String,
    pub(super) money: Money,
    pub(super) usage: Usage,
    /// Whether all agents have the file tools.
    pub(super) file_tools: bool,
    /// A hire that wants far more than the others. Its leaves are not counted.
    pub(super) greedy: Option<&'static str>,
    pub(super) goal: Goal,
    /// Whether the case is part of a small run.
    pub(super) small: bool,
}

/// Where the budget comes from.
#[derive(Clone, Copy)]
pub(super) enum Money {
    /// The work needs this part of the budget, in percent.
    Part(u64),
    /// Each leaf needs a fifth of the budget.
    FiveLeaves {
        turns: u32,
        tokens: u32,
    },
    Msat(u64),
    /// Nobody names a budget, and the model has its real price.
    Default {
        model: &'static str,
    },
}

/// What must come of the work.
#[derive(Clone, Copy)]
pub(super) struct Goal {
    /// How many leaves must finish uncut.
    pub(super) leaves: usize,
    /// Whether all hirers must be done, or their reports only be whole.
    pub(super) hirers: Hirers,
    /// The smallest part of the budget that must be used, in percent.
    pub(super) used: u64,
    /// How many times as long as without a limit the work may take.
    pub(super) times: Option<f64>,
    /// Whether the true bill must be within the budget.
    pub(super) bill: Bill,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hirers {
    Done,
    Whole,
    /// Nothing is promised: nobody knows what the agents' budget is worth.
    Any,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bill {
    Within,
    /// The provider reports less than it bills, and its numbers are plausible.
    Believed,
}

const ALL: Goal = Goal { leaves: 0, hirers: Hirers::Done, used: 0, times: Some(3.0), bill: Bill::Within };

/// The same work for every leaf: levels, hires of each hirer, turns and tokens of each turn.
type Even = (usize, usize, u32, u32);

fn task((levels, hires, turns, tokens): Even) -> String {
    format!("WORK levels={levels} hires={hires} turns={turns} tokens={tokens}")
}

fn leaves((levels, hires, _, _): Even) -> usize {
    (0..levels).fold(1, |leaves, _| leaves * hires)
}

fn name((levels, hires, turns, tokens): Even) -> String {
    let hires = if levels == 1 { format!("{hires} hires") } else { format!("{levels} levels of {hires} hires") };
    format!("{hires}, {turns} × {tokens} tokens")
}

fn even(work: Even, money: Money, goal: Goal) -> Case {
    let goal = Goal { leaves: if goal.leaves == 0 { leaves(work) } else { goal.leaves }, ..goal };
    Case {
        what: name(work),
        task: task(work),
        money,
        usage: Usage::Real,
        file_tools: false,
        greedy: None,
        goal,
        small: false,
    }
}

pub(super) fn cases() -> Vec<Case> {
    [fitting(), scarce(), greedy(), hundred(), reported()].into_iter().flatten().collect()
}

/// Work that fits, and work that just fits.
fn fitting() -> Vec<Case> {
    let all: [(Even, u64); 10] = [
        ((1, 20, 3, 500), 46),
        ((1, 20, 4, 500), 66),
        ((1, 20, 1, 1_500), 39),
        ((1, 20, 1, 2_500), 63),
        ((1, 20, 2, 1_200), 63),
        ((1, 5, 4, 1_500), 44),
        ((1, 5, 6, 1_500), 74),
        ((2, 4, 3, 500), 39),
        ((3, 4, 1, 500), 58),
        ((3, 4, 2, 300), 73),
    ];
    let most: [(Even, u64, usize); 3] =
        [((1, 20, 5, 500), 88, 15), ((1, 20, 1, 3_500), 87, 15), ((1, 5, 4, 3_000), 84, 4)];
    let all = all.map(|(work, percent)| {
        let small = matches!(work, (1, 20, 4 | 1, 500 | 2_500) | (3, 4, 1, 500));
        Case { small, ..even(work, Money::Part(percent), ALL) }
    });
    let most = most
        .map(|(work, percent, leaves)| even(work, Money::Part(percent), Goal { leaves, hirers: Hirers::Whole, ..ALL }));
    all.into_iter().chain(most).collect()
}

/// Work of which each leaf needs a fifth of the budget.
fn scarce() -> Vec<Case> {
    let goal = Goal { leaves: 2, hirers: Hirers::Whole, used: 85, times: None, ..ALL };
    let works: [Even; 4] = [(1, 20, 4, 3_500), (1, 20, 15, 500), (3, 4, 4, 3_500), (3, 4, 15, 500)];
    let case = |work: Even| Case {
        what: format!("{}, each a fifth of the budget", name(work)),
        small: work == (1, 20, 4, 3_500),
        ..even(work, Money::FiveLeaves { turns: work.2, tokens: work.3 }, goal)
    };
    works.map(case).into()
}

/// One hire wants far more than the nine beside it.
fn greedy() -> Vec<Case> {
    let nine = "HIRE times=9 turns=4 tokens=500";
    let cases = [
        ("50 turns", "HIRE turns=50 tokens=500"),
        ("50 turns and a budget of 10^9 sat", "HIRE budget=1000000000 turns=50 tokens=500"),
        ("ten hires", "HIRE levels=1 hires=10 turns=4 tokens=500"),
    ];
    let cases = cases.into_iter().flat_map(|(what, greedy)| {
        [("first", [greedy, nine], "1.1"), ("last", [nine, greedy], "1.10")].map(|(place, lines, path)| {
            let work = (1, 9, 4, 500);
            Case {
                what: format!("nine hires of 4 × 500 tokens, and {place} one of {what}"),
                task: format!("WORK list\n{}", lines.join("\n")),
                greedy: Some(path),
                small: place == "first" && what == "50 turns",
                ..even(work, Money::Msat(500_000), Goal { hirers: Hirers::Any, times: None, ..ALL })
            }
        })
    });
    cases.collect()
}

/// Ten times ten agents, with the default budget and the real prices of two models.
fn hundred() -> Vec<Case> {
    let models = ["haiku", "sonnet"];
    let plain = models.map(|model| Case {
        what: format!("10 × 10 hires without tools, reports of 300 bytes, {model}, the default $1"),
        small: model == "sonnet",
        ..even((2, 10, 1, 75), Money::Default { model }, Goal { times: Some(2.0), ..ALL })
    });
    // At sonnet, 40 of the 100 leaves finished before hires could wait.
    let with_tools = models.map(|model| Case {
        what: format!("10 × 10 hires with file tools, reports of 1,200 bytes, {model}, the default $1"),
        file_tools: true,
        ..even(
            (2, 10, 1, 300),
            Money::Default { model },
            Goal { leaves: if model == "haiku" { 100 } else { 80 }, times: None, ..ALL },
        )
    });
    plain.into_iter().chain(with_tools).collect()
}

/// A provider whose usage reports are not the truth.
fn reported() -> Vec<Case> {
    let none = Goal { leaves: 1, hirers: Hirers::Any, times: None, ..ALL };
    let believed = Goal { bill: Bill::Believed, ..none };
    let cases = [
        ("zero", Usage::Part(0, 1), none, true),
        ("missing", Usage::Absent, none, true),
        ("a sixteenth", Usage::Part(1, 16), none, false),
        ("half", Usage::Part(1, 2), believed, true),
    ];
    let case = |(what, usage, goal, small)| {
        let work = (1, 20, 4, 500);
        Case {
            what: format!("{}, reported usage: {what}", name(work)),
            usage,
            small,
            ..even(work, Money::Part(66), goal)
        }
    };
    cases.map(case).into()
}

/// Returns a random tree: 1 to 3 levels, 2 to 12 hires for each hirer, and leaves of 1 to 20 turns of 60 to 4,000 tokens, most of
/// them few. Its trees are like those of the simulator's test of unequal work.
pub(super) fn unequal(seed: u64) -> String {
    let mut chance = Chance(seed);
    let levels = [1, 1, 2, 3][usize::try_from(chance.below(4)).unwrap_or(0)];
    format!("WORK list\n{}", hires(&mut chance, levels, 0).join("\n"))
}

/// Returns the lines of a hirer's list, with this many levels of hires.
fn hires(chance: &mut Chance, levels: u32, indentation: usize) -> Vec<String> {
    let hires = 2 + chance.below(if levels == 1 { 11 } else { 4 });
    let mut lines = Vec::new();
    for _ in 0..hires {
        let below = if levels > 1 && chance.below(10) < 3 { 0 } else { levels - 1 };
        if below == 0 {
            let (turns, tokens) = (chance.log_normal(1.2, (1, 20)), chance.log_normal(6.2, (60, 4_000)));
            lines.push(format!("{:indentation$}HIRE turns={turns} tokens={tokens}", ""));
        } else {
            lines.push(format!("{:indentation$}HIRE list", ""));
            lines.extend(self::hires(chance, below, indentation + 2));
        }
    }
    lines
}

/// Random numbers that are the same in every run (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Returns a number of this range. Most are small, and a few are large.
    fn log_normal(&mut self, mean: f64, (least, most): (u32, u32)) -> u32 {
        let sum: f64 = (0..12).map(|_| self.uniform()).sum();
        let number = (mean + 0.8 * (sum - 6.0)).exp();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is within the range")]
        let whole = number.clamp(f64::from(least), f64::from(most)) as u32;
        whole
    }

    fn uniform(&mut self) -> f64 {
        f64::from(u32::try_from(self.below(1_000_000)).unwrap_or(0)) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_tree_is_the_same_every_time_and_has_work() {
        assert_eq!(unequal(7), unequal(7));
        assert_ne!(unequal(7), unequal(8));
        assert!((0..100).all(|seed| unequal(seed).lines().filter(|line| line.contains("turns=")).count() >= 2));
        assert!((0..100).any(|seed| unequal(seed).contains("\n  HIRE list\n    HIRE turns=")));
    }

    #[test]
    fn a_small_run_has_work_that_fits_work_that_does_not_and_false_reports() {
        let small: Vec<String> = cases().into_iter().filter(|case| case.small).map(|case| case.what).collect();
        assert!(small.len() >= 8, "{small:#?}");
    }
}
