//! Single values in an arena.
#![expect(unsafe_code, reason = "writes values into raw memory")]
#![expect(
    clippy::mut_from_ref,
    reason = "each call returns memory that no other reference reaches"
)]

use std::alloc::Layout;
use std::mem::{ManuallyDrop, needs_drop};
use std::ptr::NonNull;

use super::{FrameArena, bump::beyond_cursor, dangling};
use crate::error::{ArenaError, or_fail};

/// # Values that this system reads and writes
///
/// Each method panics with the text of the [`ArenaError`] if memory is refused, and has a `try_` twin that
/// returns the error.
impl FrameArena {
    /// Allocates uninitialised memory, e.g. for types that are built in place.
    ///
    /// A zero-sized request returns an aligned dangling pointer and never fails. Alignments above 8 may
    /// advance the cursor.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// use std::alloc::Layout;
    ///
    /// let arena = FrameArena::new(4096);
    /// let page = arena.alloc_layout(Layout::from_size_align(100, 4096).unwrap());
    /// assert_eq!(page.addr().get() % 4096, 0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
        match self.take(layout.size(), layout.align()) {
            Some(memory) => memory,
            None => self.alloc_layout_slow(layout),
        }
    }

    /// Allocates as [`alloc_layout`](Self::alloc_layout) does, or returns an error.
    #[inline]
    pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, ArenaError> {
        match self.take(layout.size(), layout.align()) {
            Some(memory) => Ok(memory),
            None => self.take_slow(layout),
        }
    }

    /// Allocates a value, which lives as long as the arena is borrowed.
    ///
    /// `alloc` rejects types with a destructor at compile time, because the destructor would never run. Put
    /// such values into a [`FrameBox`](crate::FrameBox), or [`share`](Self::share) them.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let position = arena.alloc([1.0, 2.0, 3.0]);
    /// position[1] += 0.5;
    /// assert_eq!(position, &[1.0, 2.5, 3.0]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc<T>(&self, value: T) -> &mut T {
        const { refuse_destructors::<T>() };
        self.alloc_undropped(value)
    }

    /// Allocates as [`alloc`](Self::alloc) does, or returns an error.
    #[inline]
    pub fn try_alloc<T>(&self, value: T) -> Result<&mut T, ArenaError> {
        const { refuse_destructors::<T>() };
        let memory = self.try_take_for::<T>()?;
        // SAFETY: `try_take_for` returns memory for a `T`.
        Ok(unsafe { put(memory, value) })
    }

    /// Allocates the value that `make` returns, built in place if the compiler can.
    ///
    /// Useful for large values, which `alloc` may first build on the stack and then copy. `make` may use the
    /// arena. If it panics, the space stays in use until the next reset.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(64 * 1024);
    /// let grid = arena.alloc_with(|| [[0_u32; 64]; 64]);
    /// grid[3][5] = 1;
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_with<T>(&self, make: impl FnOnce() -> T) -> &mut T {
        const { refuse_destructors::<T>() };
        let memory = self.memory_for::<T>();
        // SAFETY: the memory was taken for a `T`.
        unsafe { put(memory, make()) }
    }

    /// Allocates as [`alloc_with`](Self::alloc_with) does, or returns an error
    /// without calling `make`.
    #[inline(always)]
    pub fn try_alloc_with<T>(&self, make: impl FnOnce() -> T) -> Result<&mut T, ArenaError> {
        const { refuse_destructors::<T>() };
        let memory = self.try_take_for::<T>()?;
        // SAFETY: `try_take_for` returns memory for a `T`.
        Ok(unsafe { put(memory, make()) })
    }

    /// Allocates a value that nothing drops.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn alloc_undropped<T>(&self, value: T) -> &mut T {
        match self.take_for::<T>() {
            // SAFETY: `take_for` returns memory for a `T`.
            Some(memory) => unsafe { put(memory, value) },
            None if fits_register::<T>() => self.alloc_slow(value),
            // Only this path copies the value. If `value` itself were passed in memory, the fast path would
            // have to write it there first.
            // SAFETY: the original is not used again, and `ManuallyDrop` keeps it from being dropped.
            None => unsafe { self.alloc_copy_slow(&ManuallyDrop::new(value)) },
        }
    }

    /// Takes memory for a `T` from the active block.
    #[inline(always)]
    fn take_for<T>(&self) -> Option<NonNull<u8>> {
        if size_of::<T>() == 0 {
            return Some(dangling(Layout::new::<T>()));
        }
        self.take(size_of::<T>(), beyond_cursor(align_of::<T>()))
    }

    /// Takes memory for a `T` from the active block, if the arena is marked as shared.
    #[inline(always)]
    pub(crate) fn take_shared_for<T>(&self) -> Option<NonNull<u8>> {
        if size_of::<T>() == 0 {
            return None;
        }
        self.cursor
            .take_shared(size_of::<T>(), beyond_cursor(align_of::<T>()))
    }

    /// Takes memory for a `T`, from another block if necessary.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn memory_for<T>(&self) -> NonNull<u8> {
        match self.take_for::<T>() {
            Some(memory) => memory,
            None => self.alloc_layout_slow(Layout::new::<T>()),
        }
    }

    /// Takes memory for a `T`, from another block if necessary.
    #[inline(always)]
    pub(crate) fn try_take_for<T>(&self) -> Result<NonNull<u8>, ArenaError> {
        match self.take_for::<T>() {
            Some(memory) => Ok(memory),
            None => self.take_slow(Layout::new::<T>()),
        }
    }

    // The slow paths take the value in a register and return to the caller's caller. Nothing has to be saved
    // across them, which keeps pushes and pops out of the fast paths.

    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) fn alloc_layout_slow(&self, layout: Layout) -> NonNull<u8> {
        or_fail(self.take_slow(layout))
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn alloc_slow<T>(&self, value: T) -> &mut T {
        let memory = self.alloc_layout_slow(Layout::new::<T>());
        // SAFETY: the memory was taken for a `T`.
        unsafe { put(memory, value) }
    }

    /// # Safety
    /// The value is moved: the caller must neither use nor drop the original again.
    #[cold]
    #[inline(never)]
    #[track_caller]
    unsafe fn alloc_copy_slow<T>(&self, value: &ManuallyDrop<T>) -> &mut T {
        let mut place = self
            .alloc_layout_slow(Layout::new::<T>())
            .cast::<ManuallyDrop<T>>();
        // SAFETY:
        // - the memory was just taken for a `T`, so it is writable and does not overlap `value`;
        // - the caller promises to give up the original.
        unsafe { place.copy_from_nonoverlapping(NonNull::from(value), 1) };
        // SAFETY: the value was just written, and no other reference reaches the memory.
        unsafe { place.as_mut() }
    }
}

/// Writes a value into fresh memory.
///
/// # Safety
/// `memory` must have been taken for this call, with the size and alignment of a `T`.
#[inline(always)]
pub(crate) unsafe fn put<'a, T>(memory: NonNull<u8>, value: T) -> &'a mut T {
    let mut place = memory.cast::<T>();
    // SAFETY: the memory has the size and alignment of a `T`.
    unsafe { place.write(value) };
    // SAFETY: the value was just written, and no other reference reaches the memory.
    unsafe { place.as_mut() }
}

/// Returns whether a function takes a `T` in a register rather than in memory.
const fn fits_register<T>() -> bool {
    size_of::<T>() <= size_of::<usize>()
}

/// Refuses types with a destructor at compile time, because the destructor would never run.
pub(crate) const fn refuse_destructors<T>() {
    assert!(
        !needs_drop::<T>(),
        "this type has a destructor, which `alloc` would never run: use a `FrameBox` or `FrameVec` \
         to drop it at the end of the scope, or `share` it to drop it when the frame is recycled"
    );
}
