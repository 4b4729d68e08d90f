//! Consent: the first run on a machine that spends real money asks first, and so does one that would use a model server which
//! was found.

use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use guildhall::Paid;

use crate::exit::Failure;
use crate::print::{BOLD, say};

/// The file that says that the user was asked and agreed.
const AGREED: &str = "paid-runs-agreed";

/// What a user said to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    Refused,
    /// There was nobody to ask, or nobody answered.
    NotAsked,
}

/// Makes sure that the user agrees to spend real money, unless that was said.
pub(crate) fn to_pay(data: &Path, paid: Paid, said: Consent, most: &str, who: &str) -> Result<(), Failure> {
    let file = data.join(AGREED);
    if paid == Paid::Nobody || file.exists() {
        return Ok(());
    }
    if said != Consent::Given {
        if !io::stdin().is_terminal() {
            return Err(Failure::refused(format!(
                "this is the first run here that spends real money (at most {most}, paid to {who}): agree with --yes. Nothing was spent"
            )));
        }
        let question =
            format!("This is the first run here that spends real money: at most {most}, paid to {who}. Go on?");
        match ask(&question)? {
            Consent::Given => {}
            Consent::Refused | Consent::NotAsked => return Err(Failure::refused("not agreed to: nothing was spent")),
        }
    }
    let agreed = fs::create_dir_all(data).and_then(|()| fs::write(&file, "The user agreed to runs that cost money.\n"));
    agreed.map_err(|why| Failure::failed(format!("{} can't be written: {why}", file.display())))
}

/// Finds out whether the user agrees to use a server, unless that was said. Only somebody who sees the question can be asked.
pub(crate) fn to_use(question: &str, said: Consent) -> Result<Consent, Failure> {
    if said != Consent::NotAsked {
        return Ok(said);
    }
    let sees = io::stdin().is_terminal() && io::stderr().is_terminal();
    if sees { ask(question) } else { Ok(Consent::NotAsked) }
}

/// Asks somebody at a terminal. Everything but a yes is a no; the end of input is no answer.
fn ask(question: &str) -> Result<Consent, Failure> {
    say(&format!("{BOLD}{question} [y/N]{BOLD:#}"));
    let mut reply = String::new();
    let read = io::stdin().lock().read_line(&mut reply);
    let bytes = read.map_err(|why| Failure::failed(format!("no reply could be read: {why}")))?;
    Ok(match reply.trim().to_ascii_lowercase().as_str() {
        _ if bytes == 0 => Consent::NotAsked,
        "y" | "yes" => Consent::Given,
        _ => Consent::Refused,
    })
}
