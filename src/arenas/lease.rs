//! Leases: readers that may outlast a frame.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::generation::Generation;
use super::misses::Outcome;
use crate::handles::{FrameHandle, HandleError, resolve_handles};
use crate::stamp::{self, Stamp};

/// Keeps one frame's shared data readable, in any world and on any thread, for as long as it lives.
///
/// While a lease is held, the swap sets its generation aside (it is *parked*) and uses a spare. It
/// never blocks, and nothing dangles; what a lease costs is memory. Holding one for about a frame
/// costs nothing.
///
/// If the arenas are gone when the last lease of a frame is dropped, the shared values of that
/// frame are dropped there, on that thread; if one of their destructors panics, the drop of the
/// lease does. Otherwise the next swap drops them.
///
/// Do not share a lease in an arena: it would keep its frame for as long as that other frame is
/// kept, and a chain of them keeps all frames for ever, or overflows the stack when it is dropped.
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

    /// Returns the data of a handle, and does not count it if there is none.
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

    /// Returns the number of the leased frame, as [`FrameArenas::frame`](crate::FrameArenas::frame)
    /// counts them.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// arenas.swap();
    /// let lease = arenas.lease();
    /// arenas.swap();
    /// assert_eq!((lease.frame(), arenas.frame()), (1, 2));
    /// ```
    pub fn frame(&self) -> u64 {
        stamp::frame(self.stamp())
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
            .field("frame", &self.frame())
            .field("stamp", &self.stamp())
            .finish()
    }
}

/// A lease on the data of one handle, which it derefs to.
///
/// Use it to move one value, list or string into a task. Like [`FrameLease`], it keeps the whole
/// frame of its handle, and the last one to go may run the destructors of that frame.
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
    /// Leases the data of a handle; `lease` is that of the frame it was made in.
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
