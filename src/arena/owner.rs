//! Which threads may touch what of an arena.
#![expect(unsafe_code, reason = "says that parts of an arena are `Sync`")]

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A part of a `FrameArena` that its owner alone uses, but for figures that are atomic.
pub(super) struct OwnerOnly<T>(pub(super) T);

// SAFETY: these are private fields of `FrameArena`, which is not `Sync` because of its
// `ThreadBound`. Only `Worker` lets other threads see an arena, and it lends them no more than the
// figures, which read atomics and what changes under `&mut` alone.
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

/// Binds what holds it, or borrows it, to one thread at a time.
///
/// If the compiler names it in an error, something that borrows a `FrameArena` was put where other
/// threads could reach it: a component, a resource, a command or a task. Call `share` and store the
/// `FrameHandle` instead.
#[derive(Default)]
pub(super) struct ThreadBound(PhantomData<Cell<()>>);
