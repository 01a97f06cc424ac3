//! Leases: readers that may outlast a frame.

use std::fmt;
use std::ops::{Deref, Index};
use std::sync::Arc;

use super::generation::Generation;
use crate::handles::{FrameHandle, HandleError};
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

    /// Returns what a handle names, if it was made in the leased frame.
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
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        let found = self.find(handle);
        if found.is_none() {
            self.count_miss(handle, || HandleError::in_lease(handle, self.stamp()));
        }
        found
    }

    /// Returns what a handle names, and does not count it if there is nothing.
    #[inline]
    pub(crate) fn find<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        self.generation.get(handle)
    }

    /// Counts a lookup that failed, unless the handle is unset.
    #[cold]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub(crate) fn count_miss<T: ?Sized>(
        &self,
        handle: FrameHandle<T>,
        why: impl FnOnce() -> HandleError,
    ) {
        if !handle.is_unset() {
            self.generation.count_stale_lookup(why);
        }
    }

    pub(crate) fn stamp(&self) -> Stamp {
        self.generation.stamp()
    }

    /// Returns what a handle names, or why it does not resolve in this lease.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// let lease = arenas.lease();
    /// arenas.swap();
    /// let later = arenas.local().share(2);
    /// let error = lease.resolve(later).unwrap_err();
    /// assert!(error.to_string().starts_with("`FrameHandle<i32>` of another frame: made in frame 1"));
    /// ```
    ///
    /// # Errors
    /// If the handle was made in another frame or by other arenas, or was never set; see
    /// [`HandleError`].
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn resolve<T: ?Sized>(&self, handle: FrameHandle<T>) -> Result<&T, HandleError> {
        match self.get(handle) {
            Some(value) => Ok(value),
            None => Err(HandleError::in_lease(handle, self.stamp())),
        }
    }

    /// Returns the list that a handle names, or an empty one where the handle does not resolve.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArenas, FrameHandle};
    /// let arenas = FrameArenas::default();
    /// let list = arenas.local().share_slice_copy(&[1, 2]);
    /// let lease = arenas.lease();
    /// assert_eq!(lease.slice(list), [1, 2]);
    /// assert_eq!(lease.slice(FrameHandle::<[u32]>::default()), []);
    /// ```
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn slice<T>(&self, handle: FrameHandle<[T]>) -> &[T] {
        self.get(handle).unwrap_or_default()
    }

    /// Returns the text that a handle names, or `""` where the handle does not resolve.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArenas, FrameHandle};
    /// let arenas = FrameArenas::default();
    /// let name = arenas.local().share_str("Ferris");
    /// let lease = arenas.lease();
    /// assert_eq!(lease.text(name), "Ferris");
    /// assert_eq!(lease.text(FrameHandle::default()), "");
    /// ```
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn text(&self, handle: FrameHandle<str>) -> &str {
        self.get(handle).unwrap_or_default()
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

impl<T: ?Sized> Index<FrameHandle<T>> for FrameLease {
    type Output = T;

    /// # Panics
    /// If the handle was made in another frame or by other arenas, or was never set: with the text
    /// of [`HandleError`].
    #[inline]
    #[track_caller]
    fn index(&self, handle: FrameHandle<T>) -> &T {
        match self.resolve(handle) {
            Ok(value) => value,
            Err(error) => panic!("{error}"),
        }
    }
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
