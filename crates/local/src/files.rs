//! Raises the limit on open files: a thousand working agents have a thousand connections.

/// Raises this process's limit on open files to the maximum that the system allows, and returns the new limit. If the system
/// refuses, the limit stays as it was.
#[cfg(unix)]
pub fn raise_open_files() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if raised.is_ok() { maximum } else { current }
}

/// This system has no such limit.
#[cfg(not(unix))]
pub fn raise_open_files() -> Option<u64> {
    None
}
