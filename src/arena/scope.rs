//! `ArenaScope`: what is allocated in it is free again when it ends, and all before it stays.
#![forbid(unsafe_code)]

use std::fmt;
use std::ops::Deref;

use super::FrameArena;
use super::chain::Place;
use super::drops::DropMark;
use super::reset::marks_dead;
use crate::panics::FirstPanic;
use crate::stamp::{self, Stamp, UNSET};

/// An arena for the length of a closure: what is allocated in it is free again when
/// [`FrameArena::scope`] returns. Use it for temporary memory between what an arena keeps.
///
/// It derefs to the [`FrameArena`] itself, which goes on where it stood. Scopes nest.
///
/// What is shared in a scope resolves in that scope and those within it, until it ends. Its
/// [`get`](Self::get) also resolves what was shared before the scope began.
///
/// Nothing but handles lives across the start of a scope: references and containers borrow the
/// arena, and a scope takes it for itself. Where they shall, take another arena, as
/// [`FrameArenas::scratch`](crate::FrameArenas::scratch) does.
///
/// ```
/// use bevy_frame_arena::FrameArena;
///
/// let mut arena = FrameArena::new(4096);
/// let names = arena.share_slice_copy(&["Ferris", "Corro"]);
/// let used_bytes = arena.used_bytes();
///
/// let longest = arena.scope(|scope| {
///     let mut lengths = scope.vec();
///     lengths.extend(scope.get(names)?.iter().map(|name| name.len()));
///     lengths.iter().copied().max()
/// });
/// assert_eq!(longest, Some(6));
/// assert_eq!(arena.used_bytes(), used_bytes);
/// assert_eq!(arena.get(names), Some(&["Ferris", "Corro"][..]));
/// ```
///
/// A reference does not leave its scope:
///
/// ```compile_fail,E0515
/// # use bevy_frame_arena::FrameArena;
/// # let mut arena = FrameArena::default();
/// let value = arena.scope(|scope| scope.alloc(1));
/// ```
///
/// nor does one from before the scope live through it:
///
/// ```compile_fail,E0502
/// # use bevy_frame_arena::FrameArena;
/// # let mut arena = FrameArena::default();
/// let value = arena.alloc(1);
/// arena.scope(|scope| scope.used_bytes());
/// *value = 2;
/// ```
// Not `DerefMut`: with that, a caller could reset the arena, or put another in its place.
pub struct ArenaScope<'a> {
    arena: &'a mut FrameArena,
    outer: Outer<'a>,
}

/// The stamps of what a scope lies in, from the nearest on.
#[derive(Clone, Copy)]
struct Outer<'a> {
    stamp: Stamp,
    next: Option<&'a Outer<'a>>,
}

/// Where an arena stood when a scope began.
struct Mark {
    stamp: Stamp,
    place: Place,
    drops: DropMark,
}

/// # Freeing what came last
impl FrameArena {
    /// Calls `work` with the arena, and then frees what was allocated meanwhile: all that was there
    /// before stays.
    ///
    /// Shared values with a destructor are dropped, the newest first. The memory is kept for
    /// reuse. If `work` panics, all this is done before the panic goes on.
    ///
    /// # Panics
    /// If `work` or the destructor of a shared value panics. All others have run by then, and the
    /// arena is as it was before.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArena;
    ///
    /// let mut arena = FrameArena::new(4096);
    /// let kept = arena.share(7);
    /// for item in 0..100 {
    ///     arena.scope(|scope| scope.alloc([item; 100]).iter().sum::<u32>());
    /// }
    /// assert_eq!(arena.get(kept), Some(&7));
    /// assert!(arena.peak_bytes() < 1000);
    /// ```
    #[inline]
    pub fn scope<R>(&mut self, work: impl FnOnce(ArenaScope<'_>) -> R) -> R {
        enter(self, None, work)
    }

    /// Returns a stamp that no scope and no period had, of this arena or any other.
    #[inline]
    fn stamp_for_scope(&mut self) -> Stamp {
        // From a block of its own: a reset gives the stamps of the arena's one.
        self.scope_stamp = match self.scope_stamp {
            UNSET => stamp::in_another_block(self.stamp),
            last => stamp::after(last),
        };
        self.scope_stamp
    }

    /// Frees what came after the mark.
    #[inline]
    fn rewind_to(&mut self, mark: &Mark) {
        self.note_peak(self.used_now());
        self.stamp = mark.stamp;
        let is_plain = !marks_dead(self.fill_recycled)
            && self.drops.mark() == mark.drops
            && self.chain.is_active_at(mark.place);
        if is_plain {
            self.chain.step_back_to(mark.place, &mut self.cursor);
        } else {
            self.rewind_to_slow(mark);
        }
    }

    /// Drops, marks and frees what came after the mark.
    #[cold]
    #[inline(never)]
    fn rewind_to_slow(&mut self, mark: &Mark) {
        let mut panic = FirstPanic::default();
        self.drops.run_to(mark.drops, &mut panic);
        self.mark_dead_since(mark.place);
        let mut to = self.store.returning();
        let take = |block| to.put(block);
        self.chain
            .return_to(mark.place, &mut self.cursor, self.limit_bytes, take);
        drop(to);
        panic.resume();
    }
}

impl ArenaScope<'_> {
    /// Calls `work` with a scope within this one: see [`FrameArena::scope`].
    ///
    /// # Panics
    /// As for [`FrameArena::scope`].
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArena;
    ///
    /// let mut arena = FrameArena::new(4096);
    /// arena.scope(|mut outer| {
    ///     let rows = outer.share_slice_copy(&[3_usize, 1, 2]);
    ///     for row in 0..3 {
    ///         outer.scope(|inner| {
    ///             let len = inner.get(rows).map_or(0, |rows| rows[row]);
    ///             inner.alloc_slice_fill_copy(len, 0_u8);
    ///         });
    ///     }
    ///     assert_eq!(outer.get(rows), Some(&[3, 1, 2][..]));
    /// });
    /// ```
    #[inline]
    pub fn scope<R>(&mut self, work: impl FnOnce(ArenaScope<'_>) -> R) -> R {
        enter(self.arena, Some(&self.outer), work)
    }

    /// Whether the stamp is that of this scope, of one it lies in, or of the arena around them.
    #[inline]
    pub(crate) fn is_open(&self, stamp: Stamp) -> bool {
        let mut outer = std::iter::successors(Some(&self.outer), |outer| outer.next);
        self.arena.stamp == stamp || outer.any(|outer| outer.stamp == stamp)
    }
}

impl Deref for ArenaScope<'_> {
    type Target = FrameArena;

    #[inline(always)]
    fn deref(&self) -> &FrameArena {
        self.arena
    }
}

impl fmt::Debug for ArenaScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ArenaScope").field(&**self).finish()
    }
}

/// Frees at the end of a scope, also of one that panics.
struct Rewind<'a> {
    arena: &'a mut FrameArena,
    mark: Mark,
}

impl Drop for Rewind<'_> {
    #[inline]
    fn drop(&mut self) {
        self.arena.rewind_to(&self.mark);
    }
}

#[inline]
fn enter<R>(
    arena: &mut FrameArena,
    outer: Option<&Outer<'_>>,
    work: impl FnOnce(ArenaScope<'_>) -> R,
) -> R {
    let mark = Mark {
        stamp: arena.stamp,
        place: arena.chain.place(&arena.cursor),
        drops: arena.drops.mark(),
    };
    let outer = Outer {
        stamp: arena.stamp,
        next: outer,
    };
    arena.stamp = arena.stamp_for_scope();
    // The guard is not in the closure's hands, which could forget it.
    let rewind = Rewind { arena, mark };
    work(ArenaScope {
        arena: &mut *rewind.arena,
        outer,
    })
}
