//! Consent: the first run on a machine that spends real money asks the user, and so does the first use of a model server that was
//! found.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::Path;

use guildhall::Paid;
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use crate::exit::Failure;
use crate::print::{BOLD, say};
use crate::stdin;

/// The file that records the user's consent to paid runs.
const AGREED: &str = "paid-runs-agreed";

/// The user's answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    Refused,
    /// There was no terminal to ask at, or no answer.
    NotAsked,
}

/// Whether the user has agreed to spend real money, now or earlier.
pub(crate) fn is_given(data: &Path, given: Consent) -> bool {
    given == Consent::Given || data.join(AGREED).exists()
}

/// Makes sure that the user agrees to spend real money. `--yes` and an earlier consent count.
pub(crate) fn to_pay(data: &Path, paid: Paid, given: Consent, most: &str, who: &str) -> Result<(), Failure> {
    let file = data.join(AGREED);
    if paid == Paid::Nobody || file.exists() {
        return Ok(());
    }
    if given != Consent::Given {
        let Some(place) = Place::find() else {
            return Err(Failure::refused(format!(
                "this is the first run here that spends real money (at most {most}, paid to {who}): to agree, add --yes. Nothing was spent"
            )));
        };
        let question =
            format!("This is the first run here that spends real money: at most {most}, paid to {who}. Continue?");
        match ask(&question, &place)? {
            Consent::Given => {}
            Consent::Refused | Consent::NotAsked => {
                return Err(Failure::refused("you did not agree, so the work was not started. Nothing was spent"));
            }
        }
    }
    let agreed = fs::create_dir_all(data).and_then(|()| fs::write(&file, "The user agreed to runs that cost money.\n"));
    agreed.map_err(|why| Failure::failed(format!("can't store your consent in {}: {why}", file.display())))
}

/// Asks whether the user agrees, unless the answer is known. Only a user who can see the question is asked.
pub(crate) fn to_use(question: &str, given: Consent) -> Result<Consent, Failure> {
    if given != Consent::NotAsked {
        return Ok(given);
    }
    match Place::find() {
        Some(place) if io::stderr().is_terminal() => ask(question, &place),
        Some(_) | None => Ok(Consent::NotAsked),
    }
}

/// Where the user answers.
enum Place {
    /// Stdin is a terminal.
    Stdin,
    /// The terminal itself: stdin has a text for the agents.
    Terminal(File),
}

impl Place {
    /// Finds the place. There is none for a script: nobody sees the question, or stdin is closed on purpose, or another program
    /// uses the terminal at the moment.
    fn find() -> Option<Place> {
        if io::stdin().is_terminal() {
            return Some(Place::Stdin);
        }
        if !io::stderr().is_terminal() || !stdin::has_text() {
            return None;
        }
        let terminal = File::open("/dev/tty").ok()?;
        let is_ours = tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp());
        is_ours.then_some(Place::Terminal(terminal))
    }

    fn read_line(&self, line: &mut String) -> io::Result<usize> {
        match self {
            Place::Stdin => io::stdin().lock().read_line(line),
            Place::Terminal(terminal) => BufReader::new(terminal).read_line(line),
        }
    }
}

/// Asks the user at a terminal. Every answer except yes means no; the end of input means no answer.
fn ask(question: &str, place: &Place) -> Result<Consent, Failure> {
    say(&format!("{BOLD}{question} [y/N]{BOLD:#}"));
    let mut reply = String::new();
    let bytes = place.read_line(&mut reply).map_err(|why| Failure::failed(format!("can't read the answer: {why}")))?;
    Ok(match reply.trim().to_ascii_lowercase().as_str() {
        _ if bytes == 0 => Consent::NotAsked,
        "y" | "yes" => Consent::Given,
        _ => Consent::Refused,
    })
}
