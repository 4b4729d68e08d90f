//! Wall time and the machine's boot. Only for people: who holds a session since when. Session time is the engine's.

use std::fmt;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment of wall time, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMs(pub u64);

impl UnixMs {
    /// Reads the clock. A clock that stands before 1970 reads as 1970.
    pub fn now() -> UnixMs {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for UnixMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// Returns what tells this boot of the machine from others, where the system says.
pub(crate) fn boot_id() -> String {
    // Elsewhere than on Linux a process id alone must do: the name is shown, and nothing rests on it.
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or_else(|_| "unknown".into(), |id| id.trim().into())
}
