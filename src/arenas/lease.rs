//! Leases: readers that may outlast a frame.

use std::fmt;
use std::ops::{Deref, Index};
use std::sync::Arc;

use super::generation::Generation;
use crate::handles::FrameHandle;

/// Keeps one frame's shared data readable, in any world and on any thread, for as long as it lives.
///
/// While a lease lives, its generation is not recycled: the swap takes a spare one instead and
/// counts the leased one as *parked*. Nobody waits, and nothing dangles; what it costs is memory.
/// Holding a lease for about a frame costs nothing.
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
    #[inline]
    pub fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        let found = self.generation.get(handle);
        if found.is_none() {
            self.generation.count_stale_lookup();
        }
        found
    }
}

impl<T: ?Sized> Index<FrameHandle<T>> for FrameLease {
    type Output = T;

    /// # Panics
    /// If the handle was not made in the leased frame.
    #[track_caller]
    fn index(&self, handle: FrameHandle<T>) -> &T {
        self.get(handle)
            .expect("a `FrameLease` resolves the handles of the frame it was taken in")
    }
}

impl fmt::Debug for FrameLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameLease")
            .field("stamp", &self.generation.stamp())
            .finish()
    }
}

/// A lease on the data of one handle, which it derefs to.
///
/// It can move into a task. Like [`FrameLease`], it keeps the whole frame of its handle.
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
    handle: FrameHandle<T>,
    generation: Arc<Generation>,
}

impl<T: ?Sized> LeasedHandle<T> {
    /// Leases the data of a handle, if it was made in `generation`.
    pub(crate) fn new(handle: FrameHandle<T>, generation: &Arc<Generation>) -> Option<Self> {
        generation.get(handle)?;
        Some(Self {
            handle,
            generation: Arc::clone(generation),
        })
    }

    /// Returns the handle.
    pub fn handle(&self) -> FrameHandle<T> {
        self.handle
    }
}

impl<T: ?Sized> Deref for LeasedHandle<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.generation
            .get(self.handle)
            .expect("a leased generation keeps its stamp")
    }
}

impl<T: ?Sized> Clone for LeasedHandle<T> {
    fn clone(&self) -> Self {
        Self {
            handle: self.handle,
            generation: Arc::clone(&self.generation),
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for LeasedHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
