//! Wall-clock time and the id of the machine's boot. Session time is separate: see `engine/time.rs`.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use guildhall_kernel::UnixMs;

/// Reads the clock. A time before 1970 is returned as 1970.
pub fn unix_now() -> UnixMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Returns an id that differs between boots of the machine, or "unknown" on a system that has none.
pub(crate) fn boot_id() -> String {
    // Only Linux has this file. The id is only shown to people, so "unknown" is good enough elsewhere.
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or_else(|_| "unknown".into(), |id| id.trim().into())
}
