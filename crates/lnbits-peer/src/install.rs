//! Installs LNbits once for each user and version of Python, into a virtual environment in the cache directory.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The version of LNbits that the tests are about.
pub const LNBITS_VERSION: &str = "1.6.2";

/// What is installed. `bolt11`, which LNbits needs, can't be imported with bitstring 5.
const PACKAGES: [&str; 2] = ["lnbits==1.6.2", "bitstring<5"];

/// The programs that may be a fitting Python.
const PYTHONS: [&str; 3] = ["python3.12", "python3.11", "python3"];

/// The file that says that the environment is complete.
const MARKER: &str = "guildhall-complete";

/// Why there is no LNbits server, and so what could not be tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing was tried against a real LNbits server: {0}")]
pub struct Unavailable(String);

/// A Python environment with LNbits.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) python: PathBuf,
    /// The folder of the package `lnbits`.
    pub(crate) package: PathBuf,
}

static ENVIRONMENT: LazyLock<Result<Environment, Unavailable>> = LazyLock::new(install);

/// Returns the environment. The first process of a user installs it, and the others wait.
pub(crate) fn environment() -> Result<Environment, Unavailable> {
    ENVIRONMENT.clone()
}

fn install() -> Result<Environment, Unavailable> {
    let (python, version) =
        find_python().ok_or_else(|| Unavailable(format!("none of {PYTHONS:?} is Python 3.11 or 3.12")))?;
    let failed = |what: &str, why: &dyn std::fmt::Display| Unavailable(format!("{what}: {why}"));
    let parent = cache_dir().ok_or_else(|| Unavailable("neither XDG_CACHE_HOME nor HOME is set".to_owned()))?;
    let parent = parent.join("guildhall-tests");
    fs::create_dir_all(&parent).map_err(|error| failed("the cache directory can't be made", &error))?;
    let home = parent.join(format!("lnbits-{LNBITS_VERSION}-python{version}"));
    let lock = File::create(home.with_added_extension("lock"));
    let lock = lock.and_then(|lock| lock.lock().map(|()| lock));
    let lock = lock.map_err(|error| failed("the cache directory can't be locked", &error))?;
    let marker = home.join(MARKER);
    if !marker.exists() {
        if home.exists() {
            fs::remove_dir_all(&home).map_err(|error| failed("an incomplete environment can't be removed", &error))?;
        }
        run(Command::new(&python).args(["-m", "venv"]).arg(&home))?;
        let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(home.join("bin/python")).args(options).args(PACKAGES))?;
        fs::write(&marker, PACKAGES.join("\n")).map_err(|error| failed("the environment can't be written", &error))?;
    }
    drop(lock);
    let package = home.join(format!("lib/python{version}/site-packages/lnbits"));
    Ok(Environment { python: home.join("bin/python"), package })
}

/// Finds Python 3.11 or 3.12, and returns the path of the program with its version.
fn find_python() -> Option<(PathBuf, String)> {
    let script = "import sys; print(sys.executable); print('%d.%d' % sys.version_info[:2])";
    PYTHONS.iter().find_map(|program| {
        let output =
            Command::new(program).args(["-c", script]).output().ok().filter(|output| output.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (path, version) = text.trim().split_once('\n')?;
        ["3.11", "3.12"].contains(&version).then(|| (PathBuf::from(path), version.to_owned()))
    })
}

fn cache_dir() -> Option<PathBuf> {
    let of_user = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    of_user.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")))
}

fn run(command: &mut Command) -> Result<(), Unavailable> {
    let output = command.output();
    let failed = |why: String| Unavailable(format!("{} failed: {why}", command.get_program().display()));
    let output = output.map_err(|error| failed(error.to_string()))?;
    let words = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(failed(words())) }
}
