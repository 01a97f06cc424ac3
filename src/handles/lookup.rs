//! Resolving handles in the arena that made them.
#![expect(unsafe_code, reason = "resolves handles")]

use super::FrameHandle;
use crate::arena::{ArenaScope, FrameArena};

/// # Reading what was shared
impl FrameArena {
    /// Returns what a handle names, if this arena made it since its last reset.
    ///
    /// This is for standalone arenas; [`FrameArenas::get`](crate::FrameArenas::get) resolves the
    /// handles of all workers, and of the previous frame.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let mut arena = FrameArena::new(4096);
    /// let handle = arena.share(7);
    /// assert_eq!(arena.get(handle), Some(&7));
    /// arena.reset();
    /// assert_eq!(arena.get(handle), None);
    /// ```
    #[inline]
    pub fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        // SAFETY:
        // - an arena's stamp is given once, or is that of its whole generation, whose handles live
        //   as long; it is never `UNSET`, so an unset handle does not match;
        // - neither the arena nor its generation is recycled or dropped while the arena is borrowed.
        unsafe { handle.resolve(self.stamp()) }
    }
}

impl ArenaScope<'_> {
    /// Returns what a handle names, if it was made in this scope, or before it in the same arena.
    ///
    /// That is more than [`FrameArena::get`] finds: for it, a scope is an arena of its own.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let mut arena = FrameArena::new(4096);
    /// let outer = arena.share(1);
    /// let inner = arena.scope(|scope| {
    ///     let inner = scope.share(2);
    ///     assert_eq!(scope.get(outer), Some(&1));
    ///     assert_eq!(scope.get(inner), Some(&2));
    ///     inner
    /// });
    /// assert_eq!(arena.get(inner), None);
    /// ```
    #[inline]
    pub fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        if !self.is_open(handle.stamp()) {
            return None;
        }
        // SAFETY:
        // - the stamp is that of a scope that is open, or of the arena around them: what was shared
        //   under it is dropped and freed when that scope ends, or the arena is reset;
        // - neither happens while this scope is borrowed, which lies in them.
        Some(unsafe { handle.data() })
    }
}
