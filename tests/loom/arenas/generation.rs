//! A generation with one shared value, which loom watches.

use loom::cell::UnsafeCell;

use super::sync::Arc;
use crate::stamp;

pub(super) struct Common;

pub(super) struct Generation {
    stamp: u64,
    /// What leases read, and a recycle drops.
    data: UnsafeCell<u64>,
}

// SAFETY: loom watches the cell.
unsafe impl Sync for Generation {}

impl Generation {
    pub(super) fn new(_: &Arc<Common>, stamp: u64) -> Arc<Self> {
        let data = UnsafeCell::new(stamp);
        Arc::new(Self { stamp, data })
    }

    pub(super) fn is_spare(&self) -> bool {
        self.stamp == stamp::SPARE
    }

    pub(super) fn recycle(&mut self, stamp: u64) {
        self.stamp = stamp;
        // SAFETY: loom finds whoever reads it meanwhile.
        self.data.with_mut(|data| unsafe { *data = stamp });
    }

    /// Reads as a lease does, and returns whether it is the data of the stamp.
    pub(super) fn is_whole(&self) -> bool {
        // SAFETY: loom finds whoever writes it meanwhile.
        self.data.with(|data| unsafe { *data }) == self.stamp
    }
}
