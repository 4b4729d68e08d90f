//! A terminal for the tests: its input, its screen and its settings.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

/// A terminal. It is not a controlling terminal, so keys send no signals.
pub(crate) struct Terminal {
    outer: File,
    path: PathBuf,
}

impl Terminal {
    pub(crate) fn open() -> Terminal {
        Terminal::sized(160, 50)
    }

    /// A terminal of this size.
    pub(crate) fn sized(columns: u16, rows: u16) -> Terminal {
        let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&outer).unwrap();
        unlockpt(&outer).unwrap();
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&outer, size).unwrap();
        let path = ptsname(&outer, Vec::new()).unwrap();
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(path.as_bytes()));
        Terminal { outer: outer.into(), path }
    }

    /// The end of the program.
    pub(crate) fn inner(&self) -> Stdio {
        let no_ctty = i32::try_from(OFlags::NOCTTY.bits()).unwrap();
        OpenOptions::new().read(true).write(true).custom_flags(no_ctty).open(&self.path).unwrap().into()
    }

    /// The end of the person.
    pub(crate) fn outer(&self) -> File {
        self.outer.try_clone().unwrap()
    }

    /// Presses keys.
    pub(crate) fn type_in(&self, keys: &str) {
        (&self.outer).write_all(keys.as_bytes()).unwrap();
    }

    /// The settings of the terminal, for comparison.
    pub(crate) fn settings(&self) -> String {
        format!("{:?}", tcgetattr(&self.outer).unwrap())
    }
}

/// The screen of a terminal of this width after an output, without colours, including the lines that have scrolled out at the top.
/// It supports only the terminal commands that the program uses.
pub(crate) fn seen(output: &str, columns: usize) -> String {
    let mut screen: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0_usize, 0_usize);
    let mut rest = output.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => {
                // A command: ESC [ numbers letter.
                let (mut number, mut letter) = (String::new(), 'm');
                if rest.next() == Some('[') {
                    for c in rest.by_ref() {
                        if c.is_ascii_alphabetic() {
                            letter = c;
                            break;
                        }
                        number.push(c);
                    }
                }
                let count: usize = number.parse().unwrap_or(1);
                match letter {
                    'A' => row = row.saturating_sub(count),
                    'B' => row += count,
                    'C' => column += count,
                    'D' => column = column.saturating_sub(count),
                    'J' | 'K' => {
                        screen[row].truncate(column);
                        if letter == 'J' {
                            screen.truncate(row + 1);
                        }
                    }
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => row += 1,
            c if c.is_control() => {}
            c => {
                if column == columns {
                    (row, column) = (row + 1, 0);
                }
                screen.resize(screen.len().max(row + 1), Vec::new());
                let line = &mut screen[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
        screen.resize(screen.len().max(row + 1), Vec::new());
    }
    let lines = screen.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}
