//! Which threads may use an arena, and which parts of it.
#![expect(unsafe_code, reason = "says that parts of an arena are `Sync`")]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A part of a `FrameArena` that only its owner uses, except for atomic figures.
pub(super) struct OwnerOnly<T>(pub(super) T);

// SAFETY: these are private fields of `FrameArena`, which is not `Sync` because of its `ThreadBound`. Only
// `Worker` and `TaskMemory` expose an arena to other threads, and only its figures, stamp and sites. Those
// are atomics, fields that change only under `&mut`, and a table that is `Sync`.
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

/// Makes its holder `!Sync`. Compiler errors then show the message of [`AskedForThere`].
pub(super) struct ThreadBound<T = ()>(PhantomData<T>);

/// Makes its holder `!Send` and `!Sync`, for any value. Compiler errors then show the message of
/// [`AskedForThere`] rather than the inside of the value.
pub(crate) struct OnOneThread<V, T = ()>(pub(crate) V, PhantomData<T>);

/// The bound for use on another thread. Nothing implements it: the compiler shows its message instead of naming
/// a cell or pointer inside.
#[diagnostic::on_unimplemented(
    message = "an arena belongs to the thread that asked for it",
    label = "this uses one thread's arena on another",
    note = "in a `par_iter` or a task, call `arenas.local()` or `arenas.scratch()` inside of the closure",
    note = "to pass data on, `share` it and pass the `FrameHandle`",
    note = "a `TaskArena` moves into its task; a component or resource holds the `TaskResult`"
)]
pub(crate) trait AskedForThere {}

// SAFETY: nothing implements the bound, so this makes nothing `Sync`.
unsafe impl<T: AskedForThere> Sync for ThreadBound<T> {}
// SAFETY: nothing implements the bound, so this makes nothing `Send`.
unsafe impl<V, T: AskedForThere> Send for OnOneThread<V, T> {}
// SAFETY: as for `ThreadBound`.
unsafe impl<V, T: AskedForThere> Sync for OnOneThread<V, T> {}

impl ThreadBound {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<V> OnOneThread<V> {
    #[inline(always)]
    pub(crate) const fn new(value: V) -> Self {
        Self(value, PhantomData)
    }
}
