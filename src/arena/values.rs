//! Single values in an arena.
#![expect(unsafe_code, reason = "writes values into raw memory")]

use std::alloc::Layout;
use std::mem::{ManuallyDrop, needs_drop};
use std::ptr::NonNull;

use super::{FrameArena, bump::beyond_cursor, dangling};
use crate::containers::FrameBox;
use crate::error::{ArenaError, fail};

#[expect(
    clippy::mut_from_ref,
    reason = "each call returns memory that no other reference reaches"
)]
impl FrameArena {
    /// Allocates raw memory, not initialised. A pointer to zero bytes is aligned, and no more.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
        match self.take(layout.size(), layout.align()) {
            Some(memory) => memory,
            None => self.alloc_layout_elsewhere(layout),
        }
    }

    /// Allocates raw memory, not initialised. A pointer to zero bytes is aligned, and no more.
    ///
    /// # Errors
    /// If the memory can't be provided.
    #[inline]
    pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, ArenaError> {
        match self.take(layout.size(), layout.align()) {
            Some(memory) => Ok(memory),
            None => self.take_slow(layout),
        }
    }

    /// Allocates a value.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline(always)]
    pub fn alloc<T>(&self, value: T) -> &mut T {
        const { refuse_destructors::<T>() };
        self.alloc_undropped(value)
    }

    /// Allocates a value.
    ///
    /// # Errors
    /// If the memory can't be provided.
    #[inline]
    pub fn try_alloc<T>(&self, value: T) -> Result<&mut T, ArenaError> {
        const { refuse_destructors::<T>() };
        let memory = self.try_take_for::<T>()?;
        // SAFETY: `try_take_for` gives memory for a `T`.
        Ok(unsafe { put(memory, value) })
    }

    /// Allocates the value that `make` returns, made in place where the compiler can.
    ///
    /// `make` may use the arena. If it panics, the space is used up until the next reset.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline(always)]
    pub fn alloc_with<T>(&self, make: impl FnOnce() -> T) -> &mut T {
        const { refuse_destructors::<T>() };
        let memory = match self.take_for::<T>() {
            Some(memory) => memory,
            None => self.alloc_layout_elsewhere(Layout::new::<T>()),
        };
        // SAFETY: the memory was taken for a `T`.
        unsafe { put(memory, make()) }
    }

    /// Allocates the value that `make` returns, made in place where the compiler can.
    ///
    /// `make` may use the arena. If it panics, the space is used up until the next reset.
    ///
    /// # Errors
    /// If the memory can't be provided; `make` is not called then.
    #[inline(always)]
    pub fn try_alloc_with<T>(&self, make: impl FnOnce() -> T) -> Result<&mut T, ArenaError> {
        const { refuse_destructors::<T>() };
        let memory = self.try_take_for::<T>()?;
        // SAFETY: `try_take_for` gives memory for a `T`.
        Ok(unsafe { put(memory, make()) })
    }

    /// Moves a value into a box. Unlike [`alloc`](Self::alloc), this takes types with a destructor.
    ///
    /// # Errors
    /// If the memory can't be provided; the value is dropped then.
    #[inline]
    pub fn try_boxed<T>(&self, value: T) -> Result<FrameBox<'_, T>, ArenaError> {
        let memory = self.try_take_for::<T>()?;
        // SAFETY: `try_take_for` gives memory for a `T`.
        let value = unsafe { put(memory, value) };
        // SAFETY: the value lies in memory of this arena that was taken with its layout.
        Ok(unsafe { FrameBox::from_raw_in(value, self) })
    }

    /// Allocates a value that nothing drops.
    #[inline(always)]
    pub(crate) fn alloc_undropped<T>(&self, value: T) -> &mut T {
        match self.take_for::<T>() {
            // SAFETY: `take_for` gives memory for a `T`.
            Some(memory) => unsafe { put(memory, value) },
            None if fits_register::<T>() => self.alloc_elsewhere(value),
            // A copy that only this path needs: where `value` itself is passed in memory, the
            // fast path would have to write it there first.
            // SAFETY: the original is not used again, and `ManuallyDrop` keeps it from being dropped.
            None => unsafe { self.alloc_copy_elsewhere(&ManuallyDrop::new(value)) },
        }
    }

    /// Takes memory for a `T` from the active chunk.
    #[inline(always)]
    fn take_for<T>(&self) -> Option<NonNull<u8>> {
        if size_of::<T>() == 0 {
            return Some(dangling(Layout::new::<T>()));
        }
        self.take(size_of::<T>(), beyond_cursor(align_of::<T>()))
    }

    #[inline(always)]
    fn try_take_for<T>(&self) -> Result<NonNull<u8>, ArenaError> {
        match self.take_for::<T>() {
            Some(memory) => Ok(memory),
            None => self.take_slow(Layout::new::<T>()),
        }
    }

    // The slow paths carry a value in a register along and return to the caller's caller: nothing
    // has to be saved across them, which keeps the fast paths free of pushes and pops.

    #[cold]
    #[inline(never)]
    pub(super) fn alloc_layout_elsewhere(&self, layout: Layout) -> NonNull<u8> {
        self.take_slow(layout).unwrap_or_else(|error| fail(error))
    }

    #[cold]
    #[inline(never)]
    fn alloc_elsewhere<T>(&self, value: T) -> &mut T {
        let memory = self.alloc_layout_elsewhere(Layout::new::<T>());
        // SAFETY: the memory was taken for a `T`.
        unsafe { put(memory, value) }
    }

    /// # Safety
    /// The value moves: the caller neither uses nor drops the original again.
    #[cold]
    #[inline(never)]
    unsafe fn alloc_copy_elsewhere<T>(&self, value: &ManuallyDrop<T>) -> &mut T {
        let mut place = self
            .alloc_layout_elsewhere(Layout::new::<T>())
            .cast::<ManuallyDrop<T>>();
        // SAFETY:
        // - the memory was just taken for a `T`, so it is writable and does not overlap `value`;
        // - the caller gives up the original.
        unsafe { place.copy_from_nonoverlapping(NonNull::from(value), 1) };
        // SAFETY: the value was just written, and no other reference reaches the memory.
        unsafe { place.as_mut() }
    }
}

/// # Safety
/// `memory` was taken for a `T`, and for this call.
#[inline(always)]
unsafe fn put<'a, T>(memory: NonNull<u8>, value: T) -> &'a mut T {
    let mut place = memory.cast::<T>();
    // SAFETY: the memory has the size and alignment of a `T`.
    unsafe { place.write(value) };
    // SAFETY: the value was just written, and no other reference reaches the memory.
    unsafe { place.as_mut() }
}

/// Whether a function takes a `T` in a register rather than in memory.
const fn fits_register<T>() -> bool {
    size_of::<T>() <= size_of::<usize>()
}

/// Refuses types whose destructor would be forgotten, when the caller is compiled.
pub(super) const fn refuse_destructors<T>() {
    assert!(
        !needs_drop::<T>(),
        "this type has a destructor, which `alloc` would never run: use a `FrameBox` or `FrameVec` \
         to drop it at the end of the scope, or `share` it to drop it when the frame is recycled"
    );
}
