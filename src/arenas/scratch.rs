//! `Scratch`: memory for the length of a scope, used again while it is still in the cache.
#![expect(
    unsafe_code,
    reason = "lends arenas, which are not `Sync`, each to one guard alone"
)]

mod stack;

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use self::stack::{Slot, Stack};
use super::FrameArenas;
use super::claims::Claims;
use crate::arena::{ArenaScope, FrameArena, OnOneThread, Store};
use crate::panics::FirstPanic;
use crate::settings::FrameArenaSettings;
use crate::sites::{Site, SiteUsage};
use crate::stamp::{self, Stamp};

/// Temporary memory that is free again at the end of the scope. Use it for what one system, or one
/// item of a loop, needs only while it works: keys to sort by, a mask, a stack of nodes to visit.
///
/// It derefs to a [`FrameArena`] that this guard owns alone. When the guard drops, the arena is
/// rewound and goes back to its worker, so that the next guard writes to memory that is still in
/// the cache, where the frame's own memory moves on through two generations. Taking one costs
/// about as much as a handful of allocations, so take one for each item, or call
/// [`reset`](Self::reset) between two.
///
/// A second guard, taken while the first one lives or by a system that runs nested on a waiting
/// worker, is another arena. What is [shared](FrameArena::share) in scratch resolves through the
/// same guard alone, and until it drops; what others shall read is shared in
/// [`FrameArenas::local`].
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let arenas = FrameArenas::default();
/// for item in 0..3 {
///     let scratch = arenas.scratch();
///     let mut keys = scratch.vec();
///     keys.extend((0..100).map(|n| n * 7 % (item + 5)));
///     keys.sort_unstable();
/// }
/// assert_eq!(arenas.used_bytes_so_far(), 0);
/// ```
///
/// It is a system parameter, too: the guard of one run of a system.
///
/// ```
/// # #[cfg(feature = "bevy")] {
/// # use bevy_ecs::prelude::*;
/// # use bevy_frame_arena::{FrameArenas, Scratch};
/// fn sort_by_distance(scratch: Scratch, objects: Query<Entity>) {
///     let mut keys = scratch.vec();
///     keys.extend(&objects);
///     keys.sort_unstable();
/// }
/// # let mut world = World::new();
/// # world.init_resource::<FrameArenas>();
/// # world.run_system_cached(sort_by_distance).unwrap();
/// # }
/// ```
///
/// A reference into scratch does not outlive its guard:
///
/// ```compile_fail,E0505
/// # use bevy_frame_arena::FrameArenas;
/// # let arenas = FrameArenas::default();
/// let scratch = arenas.scratch();
/// let value = scratch.alloc(1);
/// drop(scratch);
/// *value = 2;
/// ```
///
/// and the guard stays on its thread:
///
/// ```compile_fail,E0277
/// # use bevy_frame_arena::FrameArenas;
/// # let arenas = FrameArenas::default();
/// let scratch = arenas.scratch();
/// std::thread::scope(|scope| {
///     scope.spawn(move || scratch.alloc(1));
/// });
/// ```
// Not `Send`: its drop writes to the stack of the thread that took it.
#[doc(alias = "temp")]
#[doc(alias = "temporary")]
pub struct Scratch<'a> {
    _stays: OnOneThread,
    slot: NonNull<Slot>,
    stack: &'a Stack,
}

// As for the arena itself: a panic leaves nothing half-made.
impl UnwindSafe for Scratch<'_> {}
impl RefUnwindSafe for Scratch<'_> {}

/// # Temporary memory
impl FrameArenas {
    /// Takes temporary memory, which is free again when the guard drops.
    ///
    /// The first guard of a thread in a frame looks up the thread's stack of arenas, later ones
    /// find it in a thread local. Once there are as many arenas as guards at once, taking one
    /// does not allocate.
    ///
    /// # Panics
    /// Perhaps in the destructor of a thread local, unless these were the last `FrameArenas` that the
    /// thread took scratch from, in this frame.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let scratch = arenas.scratch();
    /// let squares = scratch.alloc_slice_fill_with(4, |n| n * n);
    /// assert_eq!(*squares, [0, 1, 4, 9]);
    /// ```
    #[inline]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn scratch(&self) -> Scratch<'_> {
        self.scratch_for(Site::caller())
    }

    /// Takes temporary memory for a site.
    #[inline]
    pub(crate) fn scratch_for(&self, site: Site) -> Scratch<'_> {
        let scratch = self.scratch.take();
        scratch.asked_for_at(site);
        scratch
    }
}

impl Scratch<'_> {
    /// Frees everything at once, as between two items of a loop: see [`FrameArena::reset`].
    ///
    /// # Panics
    /// If the destructor of a shared value panics. All others have run by then.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let mut scratch = arenas.scratch();
    /// for _ in 0..3 {
    ///     scratch.reset();
    ///     scratch.alloc([0_u8; 1024]);
    /// }
    /// assert_eq!(scratch.used_bytes(), 1024);
    /// ```
    #[inline]
    pub fn reset(&mut self) {
        self.arena_mut().reset();
    }

    /// Calls `work` with a scope of this arena, which is free again afterwards: see
    /// [`FrameArena::scope`].
    ///
    /// # Panics
    /// If `work` or the destructor of a shared value panics.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let mut scratch = arenas.scratch();
    /// let weights = scratch.share_slice_copy(&[1, 2, 3]);
    /// for factor in 0..10 {
    ///     scratch.scope(|scope| {
    ///         let mut scaled = scope.vec();
    ///         scaled.extend(scope.get(weights).unwrap_or_default().iter().map(|w| w * factor));
    ///     });
    /// }
    /// assert_eq!(scratch.used_bytes(), 16);
    /// ```
    #[inline]
    pub fn scope<R>(&mut self, work: impl FnOnce(ArenaScope<'_>) -> R) -> R {
        self.arena_mut().scope(work)
    }

    // Not `DerefMut`: with that, a caller could put another arena in its place.
    #[inline]
    fn arena_mut(&mut self) -> &mut FrameArena {
        // SAFETY:
        // - the slot lives until its stack is dropped, which the guard borrows;
        // - it is in no list while the guard lives, so nobody else reaches its arena, and what the
        //   guard has lent out borrows the guard.
        let slot = unsafe { self.slot.as_mut() };
        &mut slot.arena
    }
}

impl Deref for Scratch<'_> {
    type Target = FrameArena;

    #[inline]
    fn deref(&self) -> &FrameArena {
        // SAFETY: as in `arena_mut`; exclusive borrows of the arena end before this one starts.
        let slot = unsafe { self.slot.as_ref() };
        &slot.arena
    }
}

impl Drop for Scratch<'_> {
    #[inline]
    fn drop(&mut self) {
        /// Returns the slot, also if a destructor panics.
        struct Return<'a>(&'a Stack, NonNull<Slot>);

        impl Drop for Return<'_> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY:
                // - the slot was taken from this stack by the guard, which ends here;
                // - the guard is not `Send`, so this is still the thread that owns the stack.
                unsafe { self.0.push(self.1) };
            }
        }

        // The reset comes first: a destructor may take scratch itself, and must not get this one.
        let _return = Return(self.stack, self.slot);
        self.reset();
    }
}

impl fmt::Debug for Scratch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scratch").field(&**self).finish()
    }
}

thread_local! {
    // No destructor, so it can be used as long as the thread runs code at all.
    static LAST_USED: Cell<(Stamp, *const Stack)> = const { Cell::new((0, ptr::null())) };
}

/// The scratch arenas of all threads.
pub(super) struct ScratchStore {
    /// Names one period of this store; advanced when a period ends, and never given twice.
    stamp: Stamp,
    stacks: Claims<Stack>,
    high_watermark_bytes: usize,
    /// Who took scratch in the period that ended last, until the meter asks.
    sites: Vec<SiteUsage>,
    settings: FrameArenaSettings,
    store: Arc<Store>,
}

impl ScratchStore {
    pub(super) fn new(settings: &FrameArenaSettings, store: &Arc<Store>) -> Self {
        Self {
            stamp: stamp::standalone(),
            stacks: Claims::new(),
            high_watermark_bytes: 0,
            sites: Vec::new(),
            settings: settings.clone(),
            store: Arc::clone(store),
        }
    }

    #[inline]
    fn take(&self) -> Scratch<'_> {
        let (stamp, stack) = LAST_USED.get();
        let stack = if stamp == self.stamp {
            // SAFETY:
            // - this thread remembered the stack when it claimed it in the period with this stamp;
            // - stamps are never given twice, so it is a stack of this store, whose stacks stay in
            //   place while it is borrowed.
            unsafe { &*stack }
        } else {
            self.find_stack()
        };
        // SAFETY: this thread claimed the stack, and a claim holds until the period ends.
        let slot = match unsafe { stack.pop() } {
            Some(slot) => slot,
            None => self.make_slot(stack),
        };
        Scratch {
            _stays: OnOneThread::new(),
            slot,
            stack,
        }
    }

    #[cold]
    #[inline(never)]
    fn find_stack(&self) -> &Stack {
        let stack = self.stacks.claim(Stack::default, |_| {});
        LAST_USED.set((self.stamp, stack));
        stack
    }

    #[cold]
    #[inline(never)]
    fn make_slot(&self, stack: &Stack) -> NonNull<Slot> {
        let store = Arc::clone(&self.store);
        let arena = FrameArena::in_store(&self.settings, store, stamp::scratch());
        // SAFETY: the caller, `take`, has found the stack that this thread claimed.
        unsafe { stack.add(Slot::new(arena)) }
    }

    /// Returns the most bytes that were in use at once so far, summed over all arenas.
    pub(super) fn high_watermark_bytes(&self) -> usize {
        self.high_watermark_bytes
    }

    /// Returns who took scratch in the period that ended last.
    #[inline(always)]
    pub(super) fn sites(&mut self) -> &mut Vec<SiteUsage> {
        &mut self.sites
    }

    /// Ends a period: takes back what was forgotten.
    pub(super) fn end_period(&mut self, panic: &mut FirstPanic) {
        self.stamp = stamp::after(self.stamp);
        for (_, stack) in self.stacks.claimed() {
            // SAFETY: with `&mut self` no guard lives, and no thread uses a stack.
            self.high_watermark_bytes += unsafe { stack.end_period(&mut self.sites, panic) };
        }
        self.stacks.release_all();
    }

    /// Gives the blocks of arenas back that were not used since the last call.
    #[cold]
    pub(super) fn give_idle_blocks(&mut self) {
        let mut to = self.store.returning();
        for stack in self.stacks.all() {
            // SAFETY: with `&mut self` no guard lives, and `end_period` has reset all arenas.
            unsafe { stack.give_idle_blocks(&mut to) };
        }
    }

    /// Gives all blocks back, except those of forgotten guards that have values to drop: the end of
    /// the period drops them.
    #[cold]
    pub(super) fn give_blocks(&mut self) {
        let mut to = self.store.returning();
        let mut give = |arena: &mut FrameArena| {
            if !arena.has_drops() {
                arena.give_blocks(&mut to);
            }
        };
        for stack in self.stacks.all() {
            // SAFETY: with `&mut self` no guard lives.
            unsafe { stack.for_each_arena(&mut give) };
        }
    }
}

impl Drop for ScratchStore {
    fn drop(&mut self) {
        // All destructors first: a panic of one must not keep another arena's from running.
        let mut panic = FirstPanic::default();
        self.end_period(&mut panic);
        panic.resume();
    }
}
