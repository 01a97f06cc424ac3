//! Lists as a whole: giving the elements away; cloned, extended, written to, compared and shown.
#![expect(unsafe_code, reason = "passes on who owns the elements")]

use std::borrow::{Borrow, BorrowMut};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::slice;

use super::FrameVec;
use crate::arena::FrameArena;
use crate::containers::boxed::FrameBox;
use crate::containers::or_fail;
use crate::containers::raw::RawBuffer;
use crate::error::ArenaError;

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

impl<'a, T, const N: usize> FrameVec<'a, [T; N]> {
    /// Turns a list of arrays into a list of their elements, without copying them.
    ///
    /// # Panics
    /// If there are more than `usize::MAX` elements, which only types of no size reach.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let corners = arena.collect([[0.0, 1.0], [2.0, 3.0]]).into_flattened();
    /// assert_eq!(corners, [0.0, 1.0, 2.0, 3.0]);
    /// ```
    #[track_caller]
    pub fn into_flattened(self) -> FrameVec<'a, T> {
        let len = self.len.checked_mul(N).expect("too many elements");
        let list = ManuallyDrop::new(self);
        // Arrays of no size have no block. In any other block there are `N` elements for each.
        let capacity = if size_of::<[T; N]>() == 0 {
            0
        } else {
            list.capacity() * N
        };
        let elements = NonNull::slice_from_raw_parts(list.buffer.start().cast(), capacity);
        // SAFETY: the list gave up its block, whose size and alignment are the same for the elements.
        let buffer = unsafe { RawBuffer::from_raw(elements, list.arena()) };
        FrameVec { buffer, len }
    }
}

/// Clones into the same arena.
impl<T: Clone> Clone for FrameVec<'_, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let mut clone = Self::with_capacity_in(self.len, self.arena());
        clone.extend_from_slice(self);
        clone
    }

    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        self.truncate(source.len);
        let (overwritten, appended) = source.split_at(self.len);
        self.clone_from_slice(overwritten);
        self.extend_from_slice(appended);
    }
}

/// If the iterator panics, the elements yielded before that stay. Unlike them, those of
/// [`extend_from_slice`](FrameVec::extend_from_slice) are appended all together, or not at all.
impl<T> Extend<T> for FrameVec<'_, T> {
    #[inline]
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, iter: I) {
        or_fail(self.try_extend(iter));
    }
}

/// With one `memcpy` from a slice. An iterator that says how much it yields is taken at its word, and
/// what it yields beyond that is left.
impl<'e, T: Copy> Extend<&'e T> for FrameVec<'_, T> {
    #[inline]
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'e T>>(&mut self, iter: I) {
        let iter = iter.into_iter().copied();
        let (least, most) = iter.size_hint();
        if most == Some(least) {
            self.reserve(least);
            // SAFETY: there is room for as many.
            unsafe { self.fill_from(iter, least) };
        } else {
            or_fail(self.try_extend(iter));
        }
    }
}

/// Appends bytes. A refusal is an error of kind `OutOfMemory`, with the [`ArenaError`] inside.
impl io::Write for FrameVec<'_, u8> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        let lengths = slices.iter().map(|slice| slice.len());
        let written = lengths.fold(0, usize::saturating_add);
        self.try_reserve(written).map_err(out_of_memory)?;
        slices
            .iter()
            .for_each(|slice| self.extend_from_slice(slice));
        Ok(written)
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.try_extend_from_slice(bytes).map_err(out_of_memory)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cold]
fn out_of_memory(error: ArenaError) -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, error)
}

/// Each side is compared as a slice.
macro_rules! compared_as_slices {
    ($([$($generics:tt)*] $left:ty, $right:ty;)*) => {$(
        impl<T: PartialEq<U>, U, $($generics)*> PartialEq<$right> for $left {
            #[inline]
            fn eq(&self, other: &$right) -> bool {
                self[..] == other[..]
            }
        }
    )*};
}

compared_as_slices! {
    [] FrameVec<'_, T>, FrameVec<'_, U>;
    [] FrameVec<'_, T>, [U];
    [] FrameVec<'_, T>, &[U];
    [] FrameVec<'_, T>, &mut [U];
    [] FrameVec<'_, T>, Vec<U>;
    [const N: usize] FrameVec<'_, T>, [U; N];
    [const N: usize] FrameVec<'_, T>, &[U; N];
    [] [T], FrameVec<'_, U>;
    [] &[T], FrameVec<'_, U>;
    [] &mut [T], FrameVec<'_, U>;
    [] Vec<T>, FrameVec<'_, U>;
    [const N: usize] [T; N], FrameVec<'_, U>;
}

impl<T: Eq> Eq for FrameVec<'_, T> {}

impl<'b, T: PartialOrd> PartialOrd<FrameVec<'b, T>> for FrameVec<'_, T> {
    fn partial_cmp(&self, other: &FrameVec<'b, T>) -> Option<Ordering> {
        self[..].partial_cmp(&other[..])
    }
}

impl<T: Ord> Ord for FrameVec<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self[..].cmp(&other[..])
    }
}

impl<T: Hash> Hash for FrameVec<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self[..].hash(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for FrameVec<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

impl<T> AsRef<[T]> for FrameVec<'_, T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> AsMut<[T]> for FrameVec<'_, T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T> Borrow<[T]> for FrameVec<'_, T> {
    fn borrow(&self) -> &[T] {
        self
    }
}

impl<T> BorrowMut<[T]> for FrameVec<'_, T> {
    fn borrow_mut(&mut self) -> &mut [T] {
        self
    }
}
