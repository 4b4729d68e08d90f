//! The text of a task, which says how much work it is.

/// What each line of a hire's list begins with in the list of its hirer.
const INDENTATION: &str = "  ";

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
#[derive(Clone)]
pub(super) struct Hire {
    pub(super) task: Work,
    pub(super) budget: Option<usize>,
}

#[derive(Clone)]
pub(super) enum Work {
    Even(Even),
    /// The lines of a list, without the indentation that they have in the hirer's list.
    List(Vec<String>),
}

/// The same work for each of so many leaves: `levels` levels of hires with `hires` hires each.
#[derive(Clone, Copy)]
pub(super) struct Even {
    levels: usize,
    hires: usize,
    turns: usize,
    tokens: usize,
}

impl Task {
    /// Finds the first task in a text: `WORK levels=1 hires=3 turns=2 tokens=300`, or `WORK list` and a line for each hire, such
    /// as `HIRE times=9 budget=200 turns=4 tokens=500`. After the line `HIRE list`, the lines that begin with two spaces are the
    /// list of that hire.
    pub(super) fn find(text: &str) -> Option<Self> {
        let (_, text) = text.split_once("WORK ")?;
        let mut lines = text.lines();
        let line = lines.next()?;
        if line.starts_with("list") {
            let lines: Vec<&str> = lines.take_while(|line| line.trim_start().starts_with("HIRE ")).collect();
            return Some(Self::Hirer(hires(&lines)));
        }
        let work = Even::read(line);
        if work.levels == 0 {
            return Some(Self::Leaf { turns: work.turns, tokens: work.tokens });
        }
        let task = Work::Even(Even { levels: work.levels - 1, ..work });
        Some(Self::Hirer(vec![Hire { task, budget: None }; work.hires]))
    }
}

/// Returns the hires of a list.
fn hires(lines: &[&str]) -> Vec<Hire> {
    let mut hires: Vec<Hire> = Vec::new();
    for line in lines {
        let above = hires.last_mut().map(|hire| &mut hire.task);
        if let (Some(below), Some(Work::List(list))) = (line.strip_prefix(INDENTATION), above) {
            list.push(below.to_owned());
            continue;
        }
        let task = if line.contains(" list") { Work::List(Vec::new()) } else { Work::Even(Even::read(line)) };
        let hire = Hire { task, budget: number(line, "budget=") };
        hires.extend(std::iter::repeat_n(hire, number(line, "times=").unwrap_or(1)));
    }
    hires
}

impl Work {
    pub(super) fn is_of_a_leaf(&self) -> bool {
        matches!(self, Work::Even(Even { levels: 0, .. }))
    }

    pub(super) fn text(&self) -> String {
        match self {
            Work::Even(Even { levels: 0, turns, tokens, .. }) => {
                format!("WORK levels=0 turns={turns} tokens={tokens}")
            }
            Work::Even(Even { levels, hires, turns, tokens }) => {
                format!("WORK levels={levels} hires={hires} turns={turns} tokens={tokens}")
            }
            Work::List(lines) => format!("WORK list\n{}", lines.join("\n")),
        }
    }
}

impl Even {
    fn read(line: &str) -> Self {
        let value = |name, usual| number(line, name).unwrap_or(usual);
        Self {
            levels: value("levels=", 0),
            hires: value("hires=", 0),
            turns: value("turns=", 1),
            tokens: value("tokens=", 0),
        }
    }
}

/// Returns the number after the first occurrence of a name.
pub(super) fn number(text: &str, name: &str) -> Option<usize> {
    let (_, after) = text.split_once(name)?;
    let digits = after.split(|char: char| !char.is_ascii_digit()).next()?;
    digits.parse().ok()
}
