//! Which threads may touch what of an arena.
#![expect(unsafe_code, reason = "says that parts of an arena are `Sync`")]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A part of a `FrameArena` that its owner alone uses, but for figures that are atomic.
pub(super) struct OwnerOnly<T>(pub(super) T);

// SAFETY: these are private fields of `FrameArena`, which is not `Sync` because of its
// `ThreadBound`. Only `Worker` and `TaskMemory` let other threads see an arena, and lend them no more
// than the figures and the stamp, which read atomics and what changes under `&mut` alone.
unsafe impl<T> Sync for OwnerOnly<T> {}

impl<T> Deref for OwnerOnly<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for OwnerOnly<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Binds what borrows it to one thread at a time: it is not `Sync`. First of its fields, so that the
/// compiler comes to it first.
pub(super) struct ThreadBound<T = ()>(PhantomData<T>);

/// Keeps what holds it on its thread: it is neither `Send` nor `Sync`.
pub(crate) struct OnOneThread<T = ()>(PhantomData<T>);

/// What an arena would have to be for other threads to use it. Nothing is: it exists for its message,
/// which the compiler shows in place of a cell or pointer inside.
#[diagnostic::on_unimplemented(
    message = "an arena belongs to the thread that asked for it",
    label = "this uses one thread's arena on another",
    note = "in a `par_iter` or a task, call `arenas.local()` or `arenas.scratch()` inside of the closure",
    note = "to pass data on, `share` it and pass the `FrameHandle`"
)]
pub(crate) trait AskedForThere {}

// SAFETY: nothing implements the bound, so nothing becomes `Sync` by this.
unsafe impl<T: AskedForThere> Sync for ThreadBound<T> {}
// SAFETY: nothing implements the bound, so nothing becomes `Send` by this.
unsafe impl<T: AskedForThere> Send for OnOneThread<T> {}
// SAFETY: as for `ThreadBound`.
unsafe impl<T: AskedForThere> Sync for OnOneThread<T> {}

impl ThreadBound {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl OnOneThread {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}
