//! Tests of the repository as a whole: its dependencies, its documents, the length of its files, and the mutant runner.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod dependencies;
mod docs;
mod licence;
mod mutants;
mod prices;
mod size;

use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace")
}
