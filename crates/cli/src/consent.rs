//! Consent: the first run on a machine that spends real money asks first.

use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use guildhall::Paid;

use crate::exit::Failure;
use crate::print::{BOLD, say};

/// The file that says that the user was asked and agreed.
const AGREED: &str = "paid-runs-agreed";

/// Makes sure that the user agrees to spend real money.
pub(crate) fn to_pay(data: &Path, paid: Paid, said_yes: bool, most: &str, who: &str) -> Result<(), Failure> {
    let file = data.join(AGREED);
    if paid == Paid::Nobody || file.exists() {
        return Ok(());
    }
    if !said_yes {
        if !io::stdin().is_terminal() {
            return Err(Failure::refused(format!(
                "this is the first run here that spends real money (at most {most}, paid to {who}): agree with --yes. Nothing was spent"
            )));
        }
        say(&format!(
            "{BOLD}This is the first run here that spends real money: at most {most}, paid to {who}. Go on? [y/N]{BOLD:#}"
        ));
        let mut reply = String::new();
        io::stdin()
            .lock()
            .read_line(&mut reply)
            .map_err(|why| Failure::failed(format!("no reply could be read: {why}")))?;
        if !matches!(reply.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
            return Err(Failure::refused("not agreed to: nothing was spent"));
        }
    }
    let agreed = fs::create_dir_all(data).and_then(|()| fs::write(&file, "The user agreed to runs that cost money.\n"));
    agreed.map_err(|why| Failure::failed(format!("{} can't be written: {why}", file.display())))
}
