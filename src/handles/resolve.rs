//! Reading what a handle names.
#![expect(unsafe_code, reason = "resolves handles")]

use super::FrameHandle;
use crate::arena::{ArenaScope, FrameArena};

/// Gives a type its ways to read handles: `get`, `resolve`, `slice`, `text` and indexing.
///
/// The type has `find`, which returns the data or `None`, `why_not`, which returns the error, and
/// `count_stale`, which counts it; its module imports `Outcome`. The docs are those of `get`. A macro, because an inherent method
/// needs no import, and `Index` cannot be implemented for all types of a trait.
macro_rules! resolve_handles {
    ($(#[$get_docs:meta])* $type:ident) => {
        /// # Reading what was shared
        impl $type {
            $(#[$get_docs])*
            ///
            /// A lookup that fails is counted in [`FrameUsage`](crate::FrameUsage), unless the handle
            /// is unset; the first of each frame is recorded with its line and its error. It is no
            /// mistake, and nobody is warned: only lookups that panic, `arenas[handle]`, are.
            #[inline]
            #[track_caller]
            pub fn get<T: ?Sized>(&self, handle: $crate::handles::FrameHandle<T>) -> Option<&T> {
                let found = self.find(handle);
                if found.is_none() {
                    self.count_miss(Outcome::Handled, handle);
                }
                found
            }

            /// Returns the data of a handle, or why it does not resolve.
            ///
            /// ```
            /// # use bevy_frame_arena::FrameArenas;
            /// let mut arenas = FrameArenas::default();
            /// let score = arenas.local().share(7);
            /// assert_eq!(arenas.resolve(score), Ok(&7));
            /// for _ in 0..10 {
            ///     arenas.swap();
            /// }
            /// let error = arenas.resolve(score).unwrap_err();
            /// assert!(error.to_string().starts_with("stale `FrameHandle<i32>`: made 10 frames ago"));
            /// ```
            ///
            /// # Errors
            /// Where [`get`](Self::get) returns `None`; see [`HandleError`](crate::HandleError).
            #[inline]
            #[track_caller]
            pub fn resolve<T: ?Sized>(
                &self,
                handle: $crate::handles::FrameHandle<T>,
            ) -> Result<&T, $crate::handles::HandleError> {
                match self.get(handle) {
                    Some(value) => Ok(value),
                    None => Err(self.why_not(handle)),
                }
            }

            /// Returns the list of a handle, or an empty one if the handle does not resolve.
            ///
            /// For systems that draw the list if there is one: before the first was made, or while
            /// its maker pauses, it is empty.
            ///
            /// ```
            /// # use bevy_frame_arena::{FrameArenas, FrameHandle};
            /// let arenas = FrameArenas::default();
            /// let mut visible = FrameHandle::default();
            /// assert_eq!(arenas.slice(visible), []);
            /// visible = arenas.local().share_slice_copy(&[3, 5]);
            /// assert_eq!(arenas.slice(visible), [3, 5]);
            /// ```
            #[inline]
            #[track_caller]
            pub fn slice<T>(&self, handle: $crate::handles::FrameHandle<[T]>) -> &[T] {
                self.get(handle).unwrap_or_default()
            }

            /// Returns the text of a handle, or `""` if the handle does not resolve.
            ///
            /// ```
            /// # use bevy_frame_arena::{FrameArenas, FrameHandle};
            /// let arenas = FrameArenas::default();
            /// let name = arenas.local().share_str("Ferris");
            /// assert_eq!(arenas.text(name), "Ferris");
            /// assert_eq!(arenas.text(FrameHandle::default()), "");
            /// ```
            #[inline]
            #[track_caller]
            pub fn text(&self, handle: $crate::handles::FrameHandle<str>) -> &str {
                self.get(handle).unwrap_or_default()
            }

            #[cold]
            #[inline(never)]
            #[track_caller]
            fn count_miss<T: ?Sized>(
                &self,
                outcome: Outcome,
                handle: $crate::handles::FrameHandle<T>,
            ) {
                // A handle that was never set is no sign of a reader that comes too late.
                if !handle.is_unset() {
                    self.count_stale(outcome, || self.why_not(handle));
                }
            }
        }

        impl<T: ?Sized> std::ops::Index<$crate::handles::FrameHandle<T>> for $type {
            type Output = T;

            /// # Panics
            /// If the handle does not resolve: with the text of
            /// [`HandleError`](crate::HandleError).
            #[inline]
            #[track_caller]
            fn index(&self, handle: $crate::handles::FrameHandle<T>) -> &T {
                match self.find(handle) {
                    Some(value) => value,
                    None => {
                        self.count_miss(Outcome::Panic, handle);
                        panic!("{}", self.why_not(handle))
                    }
                }
            }
        }
    };
}

pub(crate) use resolve_handles;

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
