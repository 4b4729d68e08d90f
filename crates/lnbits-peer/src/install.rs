//! The version of LNbits that the tests are about, and its environment.

use std::path::PathBuf;
use std::sync::LazyLock;

use crate::python::{PythonProgram, Unavailable};

/// The version of LNbits that the tests are about.
pub const LNBITS_VERSION: &str = "1.6.2";

/// What is installed. `bolt11`, which LNbits needs, can't be imported with bitstring 5.
const LNBITS: PythonProgram = PythonProgram {
    name: "lnbits",
    version: LNBITS_VERSION,
    packages: &["lnbits==1.6.2", "bitstring<5"],
    tries: "against a real LNbits server",
};

/// A Python environment with LNbits.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) python: PathBuf,
    /// The folder of the package `lnbits`.
    pub(crate) package: PathBuf,
}

static ENVIRONMENT: LazyLock<Result<Environment, Unavailable>> = LazyLock::new(|| {
    let installed = LNBITS.install()?;
    Ok(Environment { python: installed.program("python"), package: installed.package("lnbits") })
});

/// Returns the environment. The first process of a user installs it, and the others wait.
pub(crate) fn environment() -> Result<Environment, Unavailable> {
    ENVIRONMENT.clone()
}
