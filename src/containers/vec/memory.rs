//! The capacity of a list.
#![forbid(unsafe_code)]

use super::FrameVec;
use crate::containers::or_fail;
use crate::error::ArenaError;

/// # Room
impl<T> FrameVec<'_, T> {
    /// Makes room for at least `additional` more elements.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1]);
    /// list.reserve(100);
    /// assert!(list.capacity() > 100);
    /// ```
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if additional > self.capacity() - self.len {
            self.buffer.grow(self.len, additional);
        }
    }

    /// Makes room for at least `additional` more elements.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing changes then.
    #[inline]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), ArenaError> {
        if additional > self.capacity() - self.len {
            self.buffer.try_grow(self.len, additional)?;
        }
        Ok(())
    }

    /// Makes room for `additional` more elements, and no more than that.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1]);
    /// list.reserve_exact(100);
    /// assert_eq!(list.capacity(), 101);
    /// ```
    #[inline]
    #[track_caller]
    pub fn reserve_exact(&mut self, additional: usize) {
        or_fail(self.try_reserve_exact(additional));
    }

    /// Makes room for `additional` more elements, and no more than that.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing changes then.
    #[inline]
    pub fn try_reserve_exact(&mut self, additional: usize) -> Result<(), ArenaError> {
        if additional > self.capacity() - self.len {
            self.buffer.try_grow_exact(self.len, additional)?;
        }
        Ok(())
    }

    /// Gives unused capacity back, if this is the newest thing in the arena. Else nothing would be
    /// gained, and the capacity stays.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.vec_with_capacity(100);
    /// list.push(1_u64);
    /// list.shrink_to_fit();
    /// assert_eq!(arena.used_bytes(), 8);
    /// ```
    #[inline]
    pub fn shrink_to_fit(&mut self) {
        self.buffer.shrink_to(self.len);
    }

    /// Gives capacity beyond `min_capacity` back, as [`shrink_to_fit`](Self::shrink_to_fit) does.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.vec_with_capacity(100);
    /// list.push(1_u64);
    /// list.shrink_to(10);
    /// assert_eq!(list.capacity(), 10);
    /// ```
    #[inline]
    pub fn shrink_to(&mut self, min_capacity: usize) {
        self.buffer.shrink_to(self.len.max(min_capacity));
    }
}
