//! Resolving handles in the arena that made them.
#![expect(unsafe_code, reason = "resolves handles")]

use super::FrameHandle;
use crate::arena::FrameArena;

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
        //   as long;
        // - neither the arena nor its generation is recycled or dropped while the arena is borrowed.
        unsafe { handle.resolve(self.stamp()) }
    }
}
