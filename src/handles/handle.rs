//! A pointer into a generation that knows when it is stale.
#![expect(
    unsafe_code,
    reason = "a raw pointer is neither `Send` nor `Sync` by itself"
)]

use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr::NonNull;

use crate::stamp::Stamp;

/// Names a value, slice or `str` that was shared in a frame arena.
///
/// A handle is a pointer and the stamp of the frame it was made in. It is `Copy`, keeps nothing
/// alive and can be stored anywhere: in a component, a resource, a message, another world.
/// [`FrameArenas::get`](crate::FrameArenas::get) resolves it in its own frame and the next; after
/// that it is stale and resolves to nothing, never to other data.
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let mut arenas = FrameArenas::default();
/// let name = arenas.local().share_str("Ferris");
/// arenas.swap();
/// assert_eq!(arenas.get(name), Some("Ferris"));
/// arenas.swap();
/// assert_eq!(arenas.get(name), None);
/// ```
pub struct FrameHandle<T: ?Sized> {
    pointer: NonNull<T>,
    stamp: Stamp,
}

impl<T: ?Sized> FrameHandle<T> {
    /// Makes a handle for data of the generation, or the arena, with `stamp`.
    ///
    /// # Safety
    /// Until that generation is recycled, `pointer` points to a valid `T` that nobody mutates,
    /// moves or frees.
    pub(crate) unsafe fn new(pointer: NonNull<T>, stamp: Stamp) -> Self {
        Self { pointer, stamp }
    }

    /// Returns the data, if the handle was made in the generation, or the arena, with `stamp`.
    ///
    /// # Safety
    /// That generation is not recycled during `'a`.
    #[inline(always)]
    pub(crate) unsafe fn resolve<'a>(self, stamp: Stamp) -> Option<&'a T> {
        if self.stamp != stamp {
            return None;
        }
        // SAFETY:
        // - the stamps are equal, and `new` was promised valid data of that generation;
        // - the caller promises that it is not recycled.
        Some(unsafe { self.pointer.as_ref() })
    }

    pub(crate) fn stamp(self) -> Stamp {
        self.stamp
    }
}

impl<T: ?Sized> Clone for FrameHandle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for FrameHandle<T> {}

/// Two handles are equal if they name the same data of the same frame.
impl<T: ?Sized> PartialEq for FrameHandle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.stamp == other.stamp && std::ptr::eq(self.pointer.as_ptr(), other.pointer.as_ptr())
    }
}

impl<T: ?Sized> Eq for FrameHandle<T> {}

impl<T: ?Sized> Hash for FrameHandle<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.stamp.hash(state);
        self.pointer.hash(state);
    }
}

impl<T: ?Sized> fmt::Debug for FrameHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameHandle")
            .field("stamp", &self.stamp)
            .field("pointer", &self.pointer)
            .finish()
    }
}

// SAFETY: a handle gives no more than `&T`, on whatever thread it is resolved; that is what
// `T: Sync` allows. `T: Send` is asked for as well because shared values are dropped on the
// thread that recycles their generation.
unsafe impl<T: ?Sized + Send + Sync> Send for FrameHandle<T> {}

// SAFETY: a handle has no interior; sharing one is like copying it.
unsafe impl<T: ?Sized + Send + Sync> Sync for FrameHandle<T> {}

/// A handle that could not be resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleHandle {
    age_in_frames: Option<u64>,
}

impl StaleHandle {
    pub(crate) fn new(age_in_frames: Option<u64>) -> Self {
        Self { age_in_frames }
    }

    /// Returns how many frames ago the handle was made, or `None` if these arenas did not make it:
    /// it belongs to another `FrameArenas`, another world or another app.
    pub fn age_in_frames(&self) -> Option<u64> {
        self.age_in_frames
    }
}

impl fmt::Display for StaleHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.age_in_frames {
            Some(age) => write!(
                f,
                "stale frame handle: made {age} frames ago, and data lives for its own frame and \
                 the next; share it again each frame, or hold a `FrameLease`"
            ),
            None => write!(
                f,
                "foreign frame handle: it was not made by these `FrameArenas`; resolve it in the \
                 world that made it, or through a `FrameLease` of it"
            ),
        }
    }
}

impl Error for StaleHandle {}
