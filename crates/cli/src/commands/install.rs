//! `completions` and `man`: files that a person installs in addition to the program.

use std::fs;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::complete;
use crate::exit::{Exit, Failure};
use crate::print::out;

/// Prints the completion script, which a shell runs when it starts.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    out(complete::script(&args.shell)?.trim_end())?;
    Ok(Exit::Done)
}

/// Writes a manual page for each command into a directory, or prints the page of the program.
pub(crate) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let failed = |why: std::io::Error| Failure::failed(format!("can't write the manual page: {why}"));
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        Man::new(Cli::command()).render(&mut page).map_err(failed)?;
        out(String::from_utf8_lossy(&page).trim_end())?;
        return Ok(Exit::Done);
    };
    let failed =
        |why: std::io::Error| Failure::failed(format!("can't write manual pages to {}: {why}", directory.display()));
    fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), directory).map_err(failed)?;
    out(&format!("{}", directory.display()))?;
    Ok(Exit::Done)
}
