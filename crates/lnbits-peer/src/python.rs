//! Installs programs from `PyPI` once for each user and version of Python, into virtual environments in the cache directory.

use std::env;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs that may be a fitting Python.
const PYTHONS: [&str; 3] = ["python3.12", "python3.11", "python3"];

/// The file that says that the environment is complete.
const MARKER: &str = "guildhall-complete";

/// A program from `PyPI` that tests need.
#[derive(Clone, Copy, Debug)]
pub struct PythonProgram {
    /// The name.
    pub name: &'static str,
    /// The version. Another version has an environment of its own.
    pub version: &'static str,
    /// The packages to install.
    pub packages: &'static [&'static str],
    /// What is tried with it, such as "against a real LNbits server".
    pub tries: &'static str,
}

/// A Python environment in which a program is installed.
#[derive(Clone, Debug)]
pub struct Installed {
    home: PathBuf,
    /// The version of Python.
    python: String,
}

/// Why a program is not there, and so what could not be tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing was tried {tries}: {why}")]
pub struct Unavailable {
    tries: &'static str,
    why: String,
}

impl PythonProgram {
    /// Returns the environment. The first process of a user installs it, which can take minutes, and the others wait.
    pub fn install(&self) -> Result<Installed, Unavailable> {
        self.installed().map_err(|why| Unavailable { tries: self.tries, why })
    }

    fn installed(&self) -> Result<Installed, String> {
        let (program, python) = find_python().ok_or_else(|| format!("none of {PYTHONS:?} is Python 3.11 or 3.12"))?;
        let parent = cache_dir().ok_or("neither XDG_CACHE_HOME nor HOME is set")?.join("guildhall-tests");
        fs::create_dir_all(&parent).map_err(failed("the cache directory can't be made"))?;
        let home = parent.join(format!("{}-{}-python{python}", self.name, self.version));
        let lock = File::create(home.with_added_extension("lock"));
        let lock = lock.and_then(|lock| lock.lock().map(|()| lock));
        let lock = lock.map_err(failed("the cache directory can't be locked"))?;
        let marker = home.join(MARKER);
        let installed = Installed { home, python };
        if !marker.exists() {
            let home = &installed.home;
            if home.exists() {
                fs::remove_dir_all(home).map_err(failed("an incomplete environment can't be removed"))?;
            }
            run(Command::new(&program).args(["-m", "venv"]).arg(home))?;
            let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
            run(Command::new(installed.program("python")).args(options).args(self.packages))?;
            fs::write(&marker, self.packages.join("\n")).map_err(failed("the environment can't be written"))?;
        }
        drop(lock);
        Ok(installed)
    }
}

impl Installed {
    /// Returns the path of a program of the environment.
    pub fn program(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }

    /// Returns the folder of a package.
    pub(crate) fn package(&self, name: &str) -> PathBuf {
        self.home.join(format!("lib/python{}/site-packages", self.python)).join(name)
    }
}

impl Unavailable {
    /// Says what could not be tried, so that a test can end without it.
    ///
    /// # Panics
    /// If the environment variable `CI` is set: there, nothing may stay untried.
    pub fn say(&self) {
        assert!(env::var_os("CI").is_none(), "{self}");
        // Unlike `eprintln!`, this is shown although the test passes. If it fails, there is nobody to tell.
        let _ = writeln!(io::stderr(), "{self}");
    }
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

fn failed<E: Display>(what: &str) -> impl FnOnce(E) -> String {
    move |why| format!("{what}: {why}")
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output();
    let failed = |why: String| format!("{} failed: {why}", command.get_program().display());
    let output = output.map_err(|error| failed(error.to_string()))?;
    let words = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(failed(words())) }
}
