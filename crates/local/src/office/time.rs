//! Session time: it goes on from where it was left, as fast as this process runs, and never back.

use std::time::{Duration, Instant};

use guildhall_kernel::Millis;

/// The clock of one session in one process.
pub(super) struct SessionTime {
    left: Millis,
    since: Instant,
}

impl SessionTime {
    pub(super) fn from(left: Millis) -> SessionTime {
        SessionTime { left, since: Instant::now() }
    }

    pub(super) fn now(&self) -> Millis {
        self.left.after(Millis(u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)))
    }

    /// How long it is until a moment.
    pub(super) fn until(&self, moment: Millis) -> Duration {
        Duration::from_millis(moment.0.saturating_sub(self.now().0))
    }
}
