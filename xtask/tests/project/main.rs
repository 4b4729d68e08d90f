//! What must hold for the repository as a whole: what it depends on, how long its files are, and that the mutant runner
//! can tell a caught bug from a survivor.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod dependencies;
mod licence;
mod mutants;
mod size;

use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}
