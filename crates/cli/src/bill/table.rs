//! A table that drops its least important columns until it fits the terminal.

use guildhall::Line;

use crate::screen::{cut, width};

/// The space between two columns.
const GAP: &str = "  ";

/// The head, alignment and cells of a column.
pub(super) struct Column<'a> {
    head: String,
    side: Side,
    /// How important the column is. A column of weight `STAYS` is never dropped.
    weight: u8,
    cell: Box<dyn Fn(&Line) -> String + 'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Names are cut to no less than this, in columns.
const NAME_COLUMNS_MIN: usize = 8;

/// The weight of columns that are never dropped.
const STAYS: u8 = 3;

impl<'a> Column<'a> {
    /// Makes a column of words.
    pub(super) fn left(head: &str, weight: u8, cell: impl Fn(&Line) -> String + 'a) -> Column<'a> {
        Column { head: head.to_owned(), side: Side::Left, weight, cell: Box::new(cell) }
    }

    /// Makes a column of numbers.
    pub(super) fn right(head: &str, weight: u8, cell: impl Fn(&Line) -> String + 'a) -> Column<'a> {
        Column { head: head.to_owned(), side: Side::Right, weight, cell: Box::new(cell) }
    }
}

/// A table of contracts: the weight, alignment and cells of each column, the head first. The second column has the names.
pub(super) struct Table(Vec<(u8, Side, Vec<String>)>);

impl Table {
    pub(super) fn new(columns: &[Column<'_>], lines: &[&Line]) -> Table {
        let cells = |column: &Column<'_>| {
            let below = lines.iter().map(|line| (column.cell)(line));
            (column.weight, column.side, std::iter::once(column.head.clone()).chain(below).collect())
        };
        Table(columns.iter().map(cells).collect())
    }

    /// Returns the rows, each at most this wide if there is a limit.
    pub(super) fn lines(&self, columns_max: Option<usize>) -> Vec<String> {
        let fits = |weight: &u8| {
            let widest = self.rows(*weight).iter().map(|row| width(row)).max().unwrap_or_default();
            columns_max.is_none_or(|columns| widest <= columns)
        };
        let weight = (0..=STAYS).find(fits);
        match (weight, columns_max) {
            (Some(weight), _) => self.rows(weight),
            (None, columns) => self.narrowed(columns.unwrap_or_default()).rows(STAYS),
        }
    }

    /// Returns the table with shorter names, so that its most important columns fit.
    fn narrowed(&self, columns: usize) -> Table {
        let widest = self.rows(STAYS).iter().map(|row| width(row)).max().unwrap_or_default();
        let over = widest.saturating_sub(columns);
        let mut narrowed = self.0.clone();
        if let Some((_, _, names)) = narrowed.get_mut(1) {
            let wide = names.iter().map(|name| width(name)).max().unwrap_or_default();
            let room = wide.saturating_sub(over).max(NAME_COLUMNS_MIN);
            for name in names {
                *name = cut(name, room);
            }
        }
        Table(narrowed)
    }

    /// Returns the rows with all columns of at least this weight.
    fn rows(&self, weight: u8) -> Vec<String> {
        let columns: Vec<_> = self.0.iter().filter(|(own, _, _)| *own >= weight).collect();
        let widths: Vec<usize> = columns
            .iter()
            .map(|(_, _, cells)| cells.iter().map(|cell| width(cell)).max().unwrap_or_default())
            .collect();
        let row = |at: usize| {
            let cell = |((_, side, cells), widest): (&&(u8, Side, Vec<String>), &usize)| {
                let blank = " ".repeat(widest - width(&cells[at]));
                match side {
                    Side::Left => format!("{GAP}{}{blank}", cells[at]),
                    Side::Right => format!("{GAP}{blank}{}", cells[at]),
                }
            };
            columns.iter().zip(&widths).map(cell).collect::<String>().trim_end().to_owned()
        };
        (0..columns.first().map_or(0, |(_, _, cells)| cells.len())).map(row).collect()
    }
}
