//! A pointer into a generation that knows when it is stale.
#![expect(
    unsafe_code,
    reason = "a raw pointer is neither `Send` nor `Sync` by itself"
)]

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::ptr::NonNull;

use crate::stamp::{Stamp, UNSET};

/// Names a value, slice or `str` that was shared in a frame arena.
///
/// Store it wherever a reference can't go: in a component, a resource, a message, another world.
/// It is `Copy` and keeps nothing alive. [`FrameArenas::get`](crate::FrameArenas::get) resolves it
/// in its own frame and the next; after that it is stale and resolves to nothing, never to other
/// data. This is checked at each lookup, in release builds too.
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
///
/// `FrameHandle::default()` is unset: it resolves to nothing, and its error says so. That lets you
/// derive `Default` for whatever holds handles:
///
/// ```
/// # use bevy_frame_arena::{FrameArenas, FrameHandle};
/// #[derive(Default)]
/// struct Visible {
///     meshes: FrameHandle<[u32]>,
///     label: FrameHandle<str>,
/// }
///
/// let arenas = FrameArenas::default();
/// let visible = Visible::default();
/// assert!(visible.meshes.is_unset());
/// assert_eq!(arenas.get(visible.label), None);
/// // For code that draws what is there:
/// assert_eq!(arenas.slice(visible.meshes), []);
/// ```
///
/// Handles are ordered by the frame they were made in, then by address: sorting a list of them
/// puts neighbours in memory side by side.
///
/// A handle has the size of its pointer and eight bytes more. In debug builds it also remembers
/// the line that made it, for the text of [`HandleError`](crate::HandleError).
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", reflect(opaque, Clone, Debug, Hash, PartialEq))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
pub struct FrameHandle<T: ?Sized> {
    pointer: NonNull<T>,
    stamp: Stamp,
    #[cfg(debug_assertions)]
    made_at: Option<&'static Location<'static>>,
}

impl<T: ?Sized> FrameHandle<T> {
    /// Makes a handle for data of the generation, or the standalone arena, with `stamp`.
    ///
    /// # Safety
    /// Until that generation is recycled or dropped, `pointer` points to a valid `T` that nobody
    /// mutates, moves or frees.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn new(pointer: NonNull<T>, stamp: Stamp) -> Self {
        debug_assert_ne!(stamp, UNSET, "no arena has the stamp of an unset handle");
        Self {
            pointer,
            stamp,
            #[cfg(debug_assertions)]
            made_at: Some(Location::caller()),
        }
    }

    /// Returns a handle to the same data, for the generation with `stamp`.
    ///
    /// # Safety
    /// The handle must resolve now. Until the generation with `stamp` is recycled or dropped, its data
    /// must stay valid, and nobody may mutate, move or free it.
    pub(crate) unsafe fn restamped(self, stamp: Stamp) -> Self {
        Self { stamp, ..self }
    }

    /// A handle that no stamp of a generation or an arena matches, so its pointer is never used.
    const fn unset(pointer: NonNull<T>) -> Self {
        Self {
            pointer,
            stamp: UNSET,
            #[cfg(debug_assertions)]
            made_at: None,
        }
    }

    /// Returns whether the handle is `FrameHandle::default()`, and so was never set.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameHandle};
    /// assert!(FrameHandle::<u32>::default().is_unset());
    /// assert!(!FrameArena::default().share(7).is_unset());
    /// ```
    pub const fn is_unset(self) -> bool {
        self.stamp == UNSET
    }

    /// Returns the data, if the handle was made in the generation, or the arena, with `stamp`.
    ///
    /// # Safety
    /// `stamp` is that of a generation or an arena, which is neither recycled nor dropped during
    /// `'a`.
    #[inline(always)]
    pub(crate) unsafe fn resolve<'a>(self, stamp: Stamp) -> Option<&'a T> {
        if self.stamp != stamp {
            return None;
        }
        // SAFETY: the stamps are equal, and the caller promises that its generation stays.
        Some(unsafe { self.data() })
    }

    /// Returns the data.
    ///
    /// # Safety
    /// The handle has the stamp of a generation, or an arena, that is neither recycled nor dropped
    /// during `'a`.
    #[inline(always)]
    pub(crate) unsafe fn data<'a>(self) -> &'a T {
        debug_assert_ne!(self.stamp, UNSET, "an unset handle is never resolved");
        // SAFETY:
        // - no generation and no arena has the stamp `UNSET`, so `new` made this handle;
        // - `new` was promised valid data, which nobody mutates until the generation with this
        //   stamp is recycled or dropped; stamps are never given twice, so that is the caller's;
        // - the caller promises that neither happens during `'a`.
        unsafe { self.pointer.as_ref() }
    }

    pub(crate) fn stamp(self) -> Stamp {
        self.stamp
    }

    /// Returns the line that made the handle: in debug builds, if it was set.
    pub(super) fn made_at(self) -> Option<&'static Location<'static>> {
        #[cfg(debug_assertions)]
        return self.made_at;
        #[cfg(not(debug_assertions))]
        None
    }
}

/// An unset handle: it resolves to nothing.
impl<T> Default for FrameHandle<T> {
    fn default() -> Self {
        Self::unset(NonNull::dangling())
    }
}

/// An unset handle: it resolves to nothing.
impl<T> Default for FrameHandle<[T]> {
    fn default() -> Self {
        Self::unset(NonNull::slice_from_raw_parts(NonNull::dangling(), 0))
    }
}

/// An unset handle: it resolves to nothing.
impl Default for FrameHandle<str> {
    fn default() -> Self {
        Self::unset(NonNull::from(""))
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

impl<T: ?Sized> PartialOrd for FrameHandle<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By the frame they were made in, then by address. What they name is not looked at.
impl<T: ?Sized> Ord for FrameHandle<T> {
    #[expect(
        ambiguous_wide_pointer_comparisons,
        reason = "slices of different lengths at one address are different data"
    )]
    fn cmp(&self, other: &Self) -> Ordering {
        let by_frame = self.stamp.cmp(&other.stamp);
        by_frame.then_with(|| self.pointer.cmp(&other.pointer))
    }
}

impl<T: ?Sized> Hash for FrameHandle<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.stamp.hash(state);
        self.pointer.hash(state);
    }
}

impl<T: ?Sized> fmt::Debug for FrameHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unset() {
            return f.write_str("FrameHandle(unset)");
        }
        let mut debug = f.debug_struct("FrameHandle");
        debug
            .field("stamp", &self.stamp)
            .field("pointer", &self.pointer);
        if let Some(line) = self.made_at() {
            debug.field("made_at", &format_args!("{line}"));
        }
        debug.finish()
    }
}

// SAFETY:
// - a handle gives no more than `&T`, on whatever thread it is resolved: that takes `T: Sync`;
// - whoever resolves it borrows the arenas, a lease, the arena or the memory of a task, which keep the
//   data in place on every thread alike;
// - the value itself is dropped on the thread that recycles or drops its generation, the last
//   lease's perhaps: that takes `T: Send`, which `share` asks for as well.
unsafe impl<T: ?Sized + Send + Sync> Send for FrameHandle<T> {}

// SAFETY: a handle is `Copy` and has no interior, so sharing one is no more than sending a copy,
// which the same bounds allow.
unsafe impl<T: ?Sized + Send + Sync> Sync for FrameHandle<T> {}
