//! A lock with a bug: it takes turns, but all its accesses are relaxed.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;

use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::Relaxed;
pub(super) use loom::sync::atomic::{AtomicU32, AtomicUsize};

pub(super) struct Mutex<T> {
    is_locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: loom runs one thread at a time, and the flag lets one of them in.
unsafe impl<T: Send> Sync for Mutex<T> {}

pub(super) struct MutexGuard<'a, T>(&'a Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Self {
        Self {
            is_locked: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    pub(super) fn lock(&self) -> Result<MutexGuard<'_, T>, PoisonError<MutexGuard<'_, T>>> {
        while self.is_locked.swap(true, Relaxed) {
            loom::thread::yield_now();
        }
        Ok(MutexGuard(self))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the flag lets one guard live at a time.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed exclusively.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.0.is_locked.store(false, Relaxed);
    }
}
