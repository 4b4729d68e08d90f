//! Where everything is kept: in the directories that the system provides for it, or all beneath `GUILDHALL_HOME`.

use std::path::PathBuf;

use etcetera::BaseStrategy;

use crate::exit::Failure;
use crate::print::tame;

/// The most of a path that is shown, in characters.
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
    /// The directory with a directory for each session, in which its transcripts are.
    pub(crate) sessions: PathBuf,
    /// The lines that were typed in conversations.
    pub(crate) history: PathBuf,
}

impl Paths {
    /// Finds them out; `home` is what `GUILDHALL_HOME` says.
    pub(crate) fn find(home: Option<PathBuf>) -> Result<Paths, Failure> {
        let (config, data) = if let Some(home) = home {
            (home.clone(), home)
        } else {
            let base = etcetera::choose_base_strategy().map_err(|_| {
                Failure::usage("there is no home directory: set HOME, or GUILDHALL_HOME to a directory of your choice")
            })?;
            (base.config_dir().join("guildhall"), base.data_dir().join("guildhall"))
        };
        for directory in [&config, &data] {
            if directory.to_str().is_none() {
                return Err(Failure::usage(format!(
                    "the directory {} is not UTF-8, so that nothing can be kept in it: set GUILDHALL_HOME to one that is",
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
