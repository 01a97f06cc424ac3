//! Leases, which keep data readable beyond its usual lifetime.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::generation::Generation;
use super::misses::Outcome;
use crate::handles::{FrameHandle, HandleError, resolve_handles};
use crate::stamp::{self, Stamp};

/// Keeps the shared data of one frame readable for as long as the lease lives, in any world and on any
/// thread.
///
/// While a lease is held, its generation is not recycled: when its turn comes, the swap *parks* it and uses a
/// spare. The swap never waits for a lease, and no reference dangles. A parked generation costs memory. A lease
/// held for about a frame costs nothing.
///
/// Once the last lease of a parked frame is dropped, the next swap drops its shared values. If the arenas no
/// longer exist, the values are dropped with that lease, on its thread. If one of their destructors panics,
/// so does the drop of the lease.
///
/// Do not share a lease in an arena: it would keep its frame for as long as the frame in which it is shared.
/// A chain of such leases keeps all frames forever, or overflows the stack when it is dropped.
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let mut arenas = FrameArenas::default();
/// let path = arenas.local().share_slice_copy(&[1, 2, 3]);
/// let lease = arenas.lease();
/// let task = std::thread::spawn(move || lease[path].iter().sum::<i32>());
/// for _ in 0..10 {
///     arenas.swap();
/// }
/// assert_eq!(task.join().unwrap(), 6);
/// ```
#[derive(Clone)]
pub struct FrameLease {
    generation: Arc<Generation>,
}

impl FrameLease {
    pub(crate) fn new(generation: &Arc<Generation>) -> Self {
        Self {
            generation: Arc::clone(generation),
        }
    }

    /// Returns the data of a handle, without counting a failed look-up.
    #[inline]
    pub(crate) fn find<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        self.generation.get(handle)
    }

    #[track_caller]
    pub(crate) fn count_stale(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        self.generation.count_stale_lookup(outcome, why);
    }

    fn why_not<T: ?Sized>(&self, handle: FrameHandle<T>) -> HandleError {
        HandleError::in_lease(handle, self.stamp())
    }

    pub(crate) fn stamp(&self) -> Stamp {
        self.generation.stamp()
    }

    /// Returns the number of the leased frame, as [`FrameArenas::period`](crate::FrameArenas::period)
    /// counts them.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// arenas.swap();
    /// let lease = arenas.lease();
    /// arenas.swap();
    /// assert_eq!((lease.period(), arenas.period()), (1, 2));
    /// ```
    pub fn period(&self) -> u64 {
        stamp::period(self.stamp())
    }
}

resolve_handles! {
    /// Returns the data of a handle, if it was made in the leased frame.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// let lease = arenas.lease();
    /// let leased = arenas.local().share(1);
    /// arenas.swap();
    /// let later = arenas.local().share(2);
    /// assert_eq!((lease.get(leased), lease.get(later)), (Some(&1), None));
    /// ```
    FrameLease
}

impl fmt::Debug for FrameLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameLease")
            .field("period", &self.period())
            .field("stamp", &self.stamp())
            .finish()
    }
}

/// A lease on the data of one handle. It derefs to the data.
///
/// Use it to move one value, list or string into a task. Like [`FrameLease`], it keeps the whole frame of its
/// handle, and dropping the last lease may run the destructors of that frame.
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let arenas = FrameArenas::default();
/// let name = arenas.local().share_str("Ferris");
/// let name = arenas.lease_handle(name).unwrap();
/// drop(arenas);
/// assert_eq!(name.len(), 6);
/// ```
pub struct LeasedHandle<T: ?Sized> {
    /// Made in the frame of `lease`.
    handle: FrameHandle<T>,
    lease: FrameLease,
}

impl<T: ?Sized> LeasedHandle<T> {
    /// Leases the data of a handle. `lease` must be of the frame in which the handle was made.
    pub(crate) fn new(handle: FrameHandle<T>, lease: FrameLease) -> Self {
        Self { handle, lease }
    }

    /// Returns the handle.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let name = arenas.local().share_str("Ferris");
    /// assert_eq!(arenas.lease_handle(name).unwrap().handle(), name);
    /// ```
    pub fn handle(&self) -> FrameHandle<T> {
        self.handle
    }

    /// Returns the lease, which resolves the other handles of the frame.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let arena = arenas.local();
    /// let words = [arena.share_str("to"), arena.share_str("you")];
    /// let words = arena.share_slice_copy(&words);
    ///
    /// let words = arenas.lease_handle(words).unwrap();
    /// drop(arenas);
    /// assert_eq!(&words.lease()[words[1]], "you");
    /// ```
    pub fn lease(&self) -> &FrameLease {
        &self.lease
    }
}

impl<T: ?Sized> Deref for LeasedHandle<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.lease
            .generation
            .get(self.handle)
            .expect("a leased generation keeps its stamp")
    }
}

impl<T: ?Sized> Clone for LeasedHandle<T> {
    fn clone(&self) -> Self {
        Self {
            handle: self.handle,
            lease: self.lease.clone(),
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for LeasedHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
