//! Figures: the measurements of one run, and of several runs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unit {
    Seconds,
    Times,
    Count,
    Bytes,
    Percent,
}

/// One figure of one run.
#[derive(Debug, Serialize, Deserialize)]
struct Figure {
    what: String,
    unit: Unit,
    is: f64,
}

/// The figures of one run, in the order in which they are printed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Figures(Vec<Figure>);

impl Figures {
    pub(crate) fn add(&mut self, what: &str, unit: Unit, is: f64) {
        self.0.push(Figure { what: what.to_owned(), unit, is });
    }

    /// Adds a figure that not every system provides.
    pub(crate) fn maybe(&mut self, what: &str, unit: Unit, is: Option<f64>) {
        if let Some(is) = is {
            self.add(what, unit, is);
        }
    }
}

/// Several runs of the same case: the median, the lowest and the highest value of each figure.
pub(crate) struct Table(pub(crate) Vec<Figures>);

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, others)) = self.0.split_first() else { return Ok(()) };
        for (env, Figure { what, unit, is }) in first.0.iter().enumerate() {
            // Not every run has the same threads, so a run may lack a figure. Figures of the same name are matched by their order.
            let same = |figures: &Figures| figures.0.iter().skip(env).find(|other| other.what == *what).map(|f| f.is);
            let mut all: Vec<f64> = std::iter::once(*is).chain(others.iter().filter_map(same)).collect();
            all.sort_by(f64::total_cmp);
            let [low, middle, high] = [0, all.len() / 2, all.len() - 1].map(|at| unit.show(all[at]));
            writeln!(f, "  {what:<50} {middle:>12}   ({low} to {high})")?;
        }
        Ok(())
    }
}

impl Unit {
    fn show(self, figure: f64) -> String {
        match self {
            Unit::Seconds if figure < 1.0 => format!("{:.1} ms", figure * 1000.0),
            Unit::Seconds => format!("{figure:.2} s"),
            Unit::Times => format!("{figure:.1} x"),
            Unit::Count => format!("{figure:.0}"),
            Unit::Bytes if figure >= 10_240.0 => format!("{:.1} KiB", figure / 1024.0),
            Unit::Bytes => format!("{figure:.0} B"),
            Unit::Percent => format!("{figure:.0} %"),
        }
    }
}
