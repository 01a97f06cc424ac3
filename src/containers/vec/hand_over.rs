//! Lists that give their elements away as a whole, or take such elements over.
#![expect(unsafe_code, reason = "passes on who owns the elements")]

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::slice;

use super::FrameVec;
use crate::arena::FrameArena;
use crate::containers::boxed::FrameBox;
use crate::containers::raw::RawBuffer;

/// # Giving it away
impl<'a, T> FrameVec<'a, T> {
    /// Gives up the list and returns its elements, which live as long as the arena is borrowed and
    /// are never dropped.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let numbers: &mut [u32] = arena.collect([1, 2]).leak();
    /// numbers[0] = 7;
    /// ```
    #[inline]
    pub fn leak(self) -> &'a mut [T] {
        let (start, len) = (self.buffer.start(), self.len);
        let _not_dropped = ManuallyDrop::new(self);
        // SAFETY:
        // - the first `len` elements are there, in memory that is not given back;
        // - the list that owned them is gone, so no other reference reaches them.
        unsafe { slice::from_raw_parts_mut(start.as_ptr(), len) }
    }

    /// Turns the list into a box of its elements.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let boxed = arena.collect([1, 2]).into_boxed_slice();
    /// assert_eq!(boxed.len(), 2);
    /// ```
    pub fn into_boxed_slice(mut self) -> FrameBox<'a, [T]> {
        self.shrink_to_fit();
        let (arena, start, len) = (self.arena(), self.buffer.start(), self.len);
        let _not_dropped = ManuallyDrop::new(self);
        let elements = NonNull::slice_from_raw_parts(start, len);
        // SAFETY: the list gave up its elements, which lie at the start of a block of its arena.
        unsafe { FrameBox::from_raw(elements, arena) }
    }

    /// Makes a list of elements that fill a block.
    ///
    /// # Safety
    /// `elements` are there, and owned by nobody else; they start a block of `arena`.
    #[inline]
    pub(in crate::containers) unsafe fn from_raw(
        elements: NonNull<[T]>,
        arena: &'a FrameArena,
    ) -> Self {
        let len = elements.len();
        Self {
            // SAFETY: the caller's promise.
            buffer: unsafe { RawBuffer::from_raw(elements, arena) },
            len,
        }
    }
}
