//! What claims, lists and generations are made of, on loom's atomics, with bugs to plant.

use std::cell::{Cell, UnsafeCell};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use loom::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicUsize, fence};

/// A bug in an ordering.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// What was written is not published.
    NoRelease,
    /// What was published is not looked at.
    NoAcquire,
    /// Two threads may see the same place free.
    NotAtomic,
}

thread_local! {
    /// All threads of a model are one of the system's.
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

pub(super) fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

fn planted(order: Ordering) -> Ordering {
    match (PLANTED.get(), order) {
        (Some(Bug::NoRelease), Release) | (Some(Bug::NoAcquire), Acquire) => Relaxed,
        _ => order,
    }
}

pub(super) struct AtomicPtr<T>(loom::sync::atomic::AtomicPtr<T>);

impl<T> AtomicPtr<T> {
    pub(super) fn new(pointer: *mut T) -> Self {
        Self(loom::sync::atomic::AtomicPtr::new(pointer))
    }

    pub(super) fn load(&self, order: Ordering) -> *mut T {
        self.0.load(planted(order))
    }

    pub(super) fn store(&self, pointer: *mut T, order: Ordering) {
        self.0.store(pointer, planted(order));
    }

    pub(super) fn compare_exchange_weak(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.0
            .compare_exchange_weak(current, new, planted(success), failure)
    }

    pub(super) fn get_mut(&mut self) -> Exclusive<'_, T> {
        let pointer = self.0.with_mut(|pointer| *pointer);
        Exclusive(self, pointer)
    }
}

/// What `get_mut` of std's lends: loom keeps the pointer elsewhere.
pub(super) struct Exclusive<'a, T>(&'a mut AtomicPtr<T>, *mut T);

impl<T> Deref for Exclusive<'_, T> {
    type Target = *mut T;

    fn deref(&self) -> &*mut T {
        &self.1
    }
}

impl<T> DerefMut for Exclusive<'_, T> {
    fn deref_mut(&mut self) -> &mut *mut T {
        &mut self.1
    }
}

impl<T> Drop for Exclusive<'_, T> {
    fn drop(&mut self) {
        self.0.0.with_mut(|pointer| *pointer = self.1);
    }
}

pub(super) struct AtomicU64(loom::sync::atomic::AtomicU64);

impl AtomicU64 {
    pub(super) fn new(value: u64) -> Self {
        Self(loom::sync::atomic::AtomicU64::new(value))
    }

    pub(super) fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    pub(super) fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }

    pub(super) fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        if PLANTED.get() != Some(Bug::NotAtomic) {
            return self.0.compare_exchange(current, new, success, failure);
        }
        match self.0.load(failure) {
            value if value == current => {
                self.0.store(new, success);
                Ok(value)
            }
            value => Err(value),
        }
    }
}

/// A value that is set once, as std's.
pub(super) struct OnceLock<T> {
    /// 0, or 1 while the value is written, or 2.
    state: AtomicUsize,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: loom runs one thread at a time, and the value is read after it was set.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicUsize::new(0),
            value: UnsafeCell::new(None),
        }
    }

    pub(super) fn get(&self) -> Option<&T> {
        if self.state.load(Acquire) != 2 {
            return None;
        }
        // SAFETY: it is set, and not changed again while it is borrowed.
        unsafe { &*self.value.get() }.as_ref()
    }

    pub(super) fn set(&self, value: T) -> Result<(), T> {
        if self.state.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            while self.state.load(Acquire) != 2 {
                loom::thread::yield_now();
            }
            return Err(value);
        }
        // SAFETY: one thread comes here, and nobody reads it before the store below.
        unsafe { *self.value.get() = Some(value) };
        self.state.store(2, Release);
        Ok(())
    }

    pub(super) fn take(&mut self) -> Option<T> {
        self.value.get_mut().take()
    }
}

/// One place for all threads, as if each had the number of one that has just ended: the hardest case.
pub(super) struct ThreadLocal<T>(OnceLock<Box<T>>);

impl<T: Send> ThreadLocal<T> {
    pub(super) fn new() -> Self {
        Self(OnceLock::new())
    }

    pub(super) fn get(&self) -> Option<&T> {
        self.0.get().map(|place| &**place)
    }

    pub(super) fn get_or(&self, make: impl FnOnce() -> T) -> &T {
        if self.get().is_none() {
            drop(self.0.set(Box::new(make())));
        }
        self.get().expect("it was just set")
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.get().into_iter()
    }
}

/// As std's, without weak references.
pub(super) struct Arc<T>(NonNull<Counted<T>>);

struct Counted<T> {
    count: AtomicUsize,
    value: T,
}

// SAFETY: as for std's.
unsafe impl<T: Send + Sync> Send for Arc<T> {}
// SAFETY: as for std's.
unsafe impl<T: Send + Sync> Sync for Arc<T> {}

impl<T> Arc<T> {
    pub(super) fn new(value: T) -> Self {
        let count = AtomicUsize::new(1);
        Self(NonNull::from(Box::leak(Box::new(Counted { count, value }))))
    }

    fn counted(&self) -> &Counted<T> {
        // SAFETY: it is freed with the last of them.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn strong_count(this: &Self) -> usize {
        this.counted().count.load(Relaxed)
    }

    pub(super) fn get_mut(this: &mut Self) -> Option<&mut T> {
        if this.counted().count.load(planted(Acquire)) != 1 {
            return None;
        }
        // SAFETY: this is the only one, and it is borrowed exclusively.
        Some(unsafe { &mut this.0.as_mut().value })
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Self {
        self.counted().count.fetch_add(1, Relaxed);
        Self(self.0)
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> Drop for Arc<T> {
    fn drop(&mut self) {
        if self.counted().count.fetch_sub(1, planted(Release)) == 1 {
            fence(Acquire);
            // SAFETY: it was leaked from a box, and this was the last of them.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}
