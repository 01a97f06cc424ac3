//! Values that count how often they are dropped.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// How often each tracked value was dropped, by its number.
#[derive(Default)]
pub(crate) struct Log {
    drops: Mutex<Vec<u32>>,
}

/// A value with a destructor.
pub(crate) struct Tracked {
    pub(crate) id: usize,
    is_bomb: AtomicBool,
    log: Arc<Log>,
}

impl Log {
    pub(crate) fn track(self: &Arc<Self>) -> Tracked {
        let mut drops = self.drops.lock().unwrap_or_else(PoisonError::into_inner);
        drops.push(0);
        Tracked {
            id: drops.len() - 1,
            is_bomb: AtomicBool::new(false),
            log: Arc::clone(self),
        }
    }

    pub(crate) fn drops_of(&self, id: usize) -> u32 {
        self.drops.lock().unwrap_or_else(PoisonError::into_inner)[id]
    }

    /// Returns how many values were made.
    pub(crate) fn len(&self) -> usize {
        let drops = self.drops.lock().unwrap_or_else(PoisonError::into_inner);
        drops.len()
    }
}

impl Tracked {
    /// Has it panic when it is dropped.
    pub(crate) fn arm(&self) {
        self.is_bomb.store(true, Relaxed);
    }

    pub(crate) fn is_bomb(&self) -> bool {
        self.is_bomb.load(Relaxed)
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        {
            let mut drops = self
                .log
                .drops
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            drops[self.id] += 1;
        }
        if self.is_bomb() {
            // Like `panic!`, but without the message.
            std::panic::resume_unwind(Box::new("a bomb"));
        }
    }
}
