//! How many files a process may have open: a thousand agents at work have a thousand connections.

/// Raises the limit of this process to what the system allows it, and returns it. A system that won't is left as it is.
#[cfg(unix)]
pub fn raise_open_files() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if raised.is_ok() { maximum } else { current }
}

/// There is no such limit here.
#[cfg(not(unix))]
pub fn raise_open_files() -> Option<u64> {
    None
}
