//! Where the program stores its files: in the standard directories of the system, or all below `GUILDHALL_HOME`.

use std::path::PathBuf;

use etcetera::BaseStrategy;

use crate::exit::Failure;
use crate::print::tame;

/// The longest path in a message, in characters.
const PATH_CHARS_MAX: usize = 400;

/// The directories of one user.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Paths {
    /// The config file.
    pub(crate) config: PathBuf,
    /// The directory of the journal.
    pub(crate) data: PathBuf,
    /// The journal.
    pub(crate) journal: PathBuf,
    /// The directory with one directory for each session, which has the session's lock.
    pub(crate) sessions: PathBuf,
    /// The lines that were typed in conversations.
    pub(crate) history: PathBuf,
}

impl Paths {
    /// Finds the paths. `home` is the value of `GUILDHALL_HOME`.
    pub(crate) fn find(home: Option<PathBuf>) -> Result<Paths, Failure> {
        let (config, data) = if let Some(home) = home {
            (home.clone(), home)
        } else {
            let base = etcetera::choose_base_strategy().map_err(|_| {
                Failure::usage("there is no home directory: set HOME, or GUILDHALL_HOME to a directory of your choice")
            })?;
            let (config, data) = (base.config_dir().join("guildhall"), base.data_dir().join("guildhall"));
            // Otherwise each directory in which a command runs would get a journal of its own.
            if config.is_relative() || data.is_relative() {
                return Err(Failure::usage(
                    "HOME is not an absolute path, so guildhall does not know where its files are: set HOME or GUILDHALL_HOME to an absolute path",
                ));
            }
            (config, data)
        };
        for directory in [&config, &data] {
            if directory.to_str().is_none() {
                return Err(Failure::usage(format!(
                    "the path {} is not UTF-8, so guildhall can't store files there: set GUILDHALL_HOME to a path that is UTF-8",
                    tame(&directory.to_string_lossy(), PATH_CHARS_MAX)
                )));
            }
        }
        Ok(Paths {
            config: config.join("config.toml"),
            journal: data.join("journal.db"),
            sessions: data.join("sessions"),
            history: data.join("history"),
            data,
        })
    }
}
