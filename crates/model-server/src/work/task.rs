//! The text of a task, which says how much work it is.

/// What an agent must do.
pub(super) enum Task {
    /// Write this many tokens in each of this many turns.
    Leaf {
        turns: usize,
        tokens: usize,
    },
    Hirer(Vec<Hire>),
}

/// The task of a hire, and the budget that its hirer names.
#[derive(Clone, Copy)]
pub(super) struct Hire {
    pub(super) task: Work,
    pub(super) budget: Option<usize>,
}

/// The same work for each of so many leaves: `levels` levels of hires with `hires` hires each.
#[derive(Clone, Copy)]
pub(super) struct Work {
    pub(super) levels: usize,
    hires: usize,
    turns: usize,
    tokens: usize,
}

impl Task {
    /// Finds the first task in a text: `WORK levels=1 hires=3 turns=2 tokens=300`, or `WORK list` and a line for each hire, such
    /// as `HIRE times=9 budget=200 turns=4 tokens=500`.
    pub(super) fn find(text: &str) -> Option<Self> {
        let (_, text) = text.split_once("WORK ")?;
        let mut lines = text.lines();
        let line = lines.next()?;
        if line.starts_with("list") {
            let hires = lines.map_while(|line| line.strip_prefix("HIRE ")).flat_map(|line| {
                let hire = Hire { task: Work::read(line), budget: number(line, "budget=") };
                std::iter::repeat_n(hire, number(line, "times=").unwrap_or(1))
            });
            return Some(Self::Hirer(hires.collect()));
        }
        let work = Work::read(line);
        if work.levels == 0 {
            return Some(Self::Leaf { turns: work.turns, tokens: work.tokens });
        }
        let task = Work { levels: work.levels - 1, ..work };
        Some(Self::Hirer(vec![Hire { task, budget: None }; work.hires]))
    }
}

impl Work {
    fn read(line: &str) -> Self {
        let value = |name, usual| number(line, name).unwrap_or(usual);
        Self {
            levels: value("levels=", 0),
            hires: value("hires=", 0),
            turns: value("turns=", 1),
            tokens: value("tokens=", 0),
        }
    }

    pub(super) fn text(self) -> String {
        let Self { levels, hires, turns, tokens } = self;
        match levels {
            0 => format!("WORK levels=0 turns={turns} tokens={tokens}"),
            _ => format!("WORK levels={levels} hires={hires} turns={turns} tokens={tokens}"),
        }
    }
}

/// Returns the number after the first occurrence of a name.
pub(super) fn number(text: &str, name: &str) -> Option<usize> {
    let (_, after) = text.split_once(name)?;
    let digits = after.split(|char: char| !char.is_ascii_digit()).next()?;
    digits.parse().ok()
}
