//! Handles: references to shared data that can be stored anywhere, and the ways to read them.
#![expect(
    unsafe_code,
    reason = "resolves raw pointers, which are neither `Send` nor `Sync` by themselves"
)]

mod error;
mod share;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::ptr::NonNull;

pub use self::error::HandleError;
pub use self::share::Shareable;
use crate::arena::FrameArena;
use crate::stamp::{Stamp, UNSET};

/// Identifies a value, slice or `str` that was shared in a frame arena.
///
/// Store it where a reference can't go: in a component, a resource, a message, another world. It is
/// `Copy` and keeps nothing alive. [`FrameArenas::get`](crate::FrameArenas::get) resolves it in its own
/// frame and the next. After that it is stale: it resolves to nothing, never to other data. Each look-up
/// checks this, in all builds.
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
/// `FrameHandle::default()` is unset: it resolves to nothing, with an error text of its own. Types that hold
/// handles can derive `Default`:
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
/// // For code that draws the list if there is one:
/// assert_eq!(arenas.slice(visible.meshes), []);
/// ```
///
/// A handle is eight bytes larger than its pointer. In debug builds it also stores the line that made it, for
/// the text of [`HandleError`](crate::HandleError).
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
    /// Until that generation is recycled or dropped, `pointer` must point to a valid `T` that is not
    /// mutated, moved or freed.
    #[inline(always)]
    #[track_caller]
    unsafe fn new(pointer: NonNull<T>, stamp: Stamp) -> Self {
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
    /// must stay valid, and must not be mutated, moved or freed.
    pub(crate) unsafe fn restamped(self, stamp: Stamp) -> Self {
        Self { stamp, ..self }
    }

    /// Returns a handle that matches no generation and no arena, so that its pointer is never used.
    const fn unset(pointer: NonNull<T>) -> Self {
        Self {
            pointer,
            stamp: UNSET,
            #[cfg(debug_assertions)]
            made_at: None,
        }
    }

    /// Returns whether the handle is `FrameHandle::default()`, and so was never set.
    pub const fn is_unset(self) -> bool {
        self.stamp == UNSET
    }

    /// Returns the data, if the handle was made in the generation, or the arena, with `stamp`.
    ///
    /// # Safety
    /// `stamp` must be that of a generation or an arena that is neither recycled nor dropped during `'a`.
    #[inline(always)]
    pub(crate) unsafe fn resolve<'a>(self, stamp: Stamp) -> Option<&'a T> {
        if self.stamp != stamp {
            return None;
        }
        // SAFETY: the stamps are equal, and the caller promises that the generation is neither recycled nor
        // dropped.
        Some(unsafe { self.data() })
    }

    /// Returns the data.
    ///
    /// # Safety
    /// The handle must have the stamp of a generation, or an arena, that is neither recycled nor dropped
    /// during `'a`.
    #[inline(always)]
    pub(crate) unsafe fn data<'a>(self) -> &'a T {
        debug_assert_ne!(self.stamp, UNSET, "an unset handle is never resolved");
        // SAFETY:
        // - no generation and no arena has the stamp `UNSET`, so `new` or `restamped` made this handle;
        // - the caller of either promised valid data, which is not mutated until the generation with this
        //   stamp is recycled or dropped; stamps are never reused, so that is the caller's generation;
        // - the caller promises that neither happens during `'a`.
        unsafe { self.pointer.as_ref() }
    }

    pub(crate) fn stamp(self) -> Stamp {
        self.stamp
    }

    /// Returns the line that made the handle, in debug builds.
    fn made_at(self) -> Option<&'static Location<'static>> {
        #[cfg(debug_assertions)]
        return self.made_at;
        #[cfg(not(debug_assertions))]
        None
    }
}

impl<T> FrameHandle<[T]> {
    /// Returns the handle of the only element of a shared slice.
    fn of_only(self) -> FrameHandle<T> {
        assert_eq!(self.pointer.len(), 1);
        FrameHandle {
            pointer: self.pointer.cast(),
            stamp: self.stamp,
            #[cfg(debug_assertions)]
            made_at: self.made_at,
        }
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

/// Two handles are equal if they refer to the same data of the same frame.
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
// - resolving a handle returns `&T`, on any thread: that takes `T: Sync`;
// - the reference borrows the arenas, a lease, an arena or the memory of a task, which keep the data in
//   place, whichever thread reads it;
// - the value is dropped on the thread that recycles or drops its generation, perhaps that of the last
//   lease: that takes `T: Send`, which `share` demands as well.
unsafe impl<T: ?Sized + Send + Sync> Send for FrameHandle<T> {}

// SAFETY: a handle is `Copy` and has no interior mutability, so sharing one is equivalent to sending a
// copy, which the same bounds allow.
unsafe impl<T: ?Sized + Send + Sync> Sync for FrameHandle<T> {}

/// # Reading shared data
impl FrameArena {
    /// Returns the data of a handle, if this arena made it since its last reset.
    ///
    /// This is for standalone arenas: [`FrameArenas::get`](crate::FrameArenas::get) resolves the handles
    /// of all workers, and of the previous frame.
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
        // - an arena's stamp is unique, or that of its generation, whose data lives as long; it is never
        //   `UNSET`, so an unset handle does not match;
        // - neither the arena nor its generation is recycled or dropped while the arena is borrowed.
        unsafe { handle.resolve(self.stamp()) }
    }
}

/// Implements the ways to read handles: `get`, `resolve`, `slice`, `text` and indexing. The docs passed in
/// are those of `get`.
///
/// The type must have `find`, which returns the data or `None`, `why_not`, which returns the error, and
/// `count_stale`, which counts a failed look-up. Its module must import `FrameHandle`,
/// `HandleError` and `Outcome`. This is a macro because
/// inherent methods need no import, and `Index` cannot be implemented for all types of a trait.
macro_rules! resolve_handles {
    ($(#[$get_docs:meta])* $type:ident) => {
        /// # Reading shared data
        impl $type {
            $(#[$get_docs])*
            ///
            /// A failed look-up is counted in [`FrameUsage`](crate::FrameUsage), unless the handle is unset.
            /// The first of each period is recorded with its line and its error. There is no warning: only
            /// look-ups that panic, `arenas[handle]`, are reported as problems.
            #[inline]
            #[track_caller]
            pub fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
                let found = self.find(handle);
                if found.is_none() {
                    self.count_miss(Outcome::Handled, handle);
                }
                found
            }

            /// Returns the data of a handle, or the reason why it does not resolve.
            ///
            /// # Errors
            /// If [`get`](Self::get) returns `None`; see [`HandleError`](crate::HandleError).
            #[inline]
            #[track_caller]
            pub fn resolve<T: ?Sized>(
                &self,
                handle: FrameHandle<T>,
            ) -> std::result::Result<&T, HandleError> {
                match self.get(handle) {
                    Some(value) => Ok(value),
                    None => Err(self.why_not(handle)),
                }
            }

            /// Returns the list of a handle, or an empty one if the handle does not resolve.
            ///
            /// Use it in systems that draw the list if there is one. It is empty before the first list is made,
            /// and while the system that makes it pauses.
            #[inline]
            #[track_caller]
            pub fn slice<T>(&self, handle: FrameHandle<[T]>) -> &[T] {
                self.get(handle).unwrap_or_default()
            }

            /// Returns the text of a handle, or `""` if the handle does not resolve.
            #[inline]
            #[track_caller]
            pub fn text(&self, handle: FrameHandle<str>) -> &str {
                self.get(handle).unwrap_or_default()
            }

            #[cold]
            #[inline(never)]
            #[track_caller]
            fn count_miss<T: ?Sized>(&self, outcome: Outcome, handle: FrameHandle<T>) {
                // An unset handle does not mean that its reader is late.
                if !handle.is_unset() {
                    self.count_stale(outcome, || self.why_not(handle));
                }
            }
        }

        impl<T: ?Sized> std::ops::Index<FrameHandle<T>> for $type {
            type Output = T;

            /// # Panics
            /// If the handle does not resolve, with the text of
            /// [`HandleError`](crate::HandleError).
            #[inline]
            #[track_caller]
            fn index(&self, handle: FrameHandle<T>) -> &T {
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
