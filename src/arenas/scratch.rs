//! `Scratch`: memory for one scope, reused while it is still in the cache.
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
use crate::arena::{FrameArena, OnOneThread, Store};
use crate::panics::FirstPanic;
use crate::settings::FrameArenaSettings;
use crate::sites::{Site, SiteUsage};
use crate::stamp::{self, Stamp};

/// Temporary memory that is freed at the end of the scope. Use it for intermediate data of one system, or of
/// one item of a loop: sort keys, a mask, a stack of nodes to visit.
///
/// It derefs to a [`FrameArena`] that only this guard uses. When the guard is dropped, the arena is rewound
/// and returned to its worker, so that the next guard writes to memory that is still in the cache. The
/// frame's own memory, in contrast, is not reused before the next swap. Taking a guard costs about as much as
/// a handful of allocations.
///
/// A guard that is taken while another one lives gets another arena, even in a system that runs nested on a
/// waiting worker. Data [shared](FrameArena::share) in scratch resolves only through the same
/// guard, until it is reset or dropped. Share data for other readers in [`FrameArenas::local`].
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
/// In a `par_iter`, take one guard for many items, and [`reset`](Self::reset) it before each. If an item
/// needs only one list, a list that is cleared for each item costs as little as a buffer of your own:
///
/// ```
/// # #[cfg(feature = "bevy")] {
/// # use bevy_ecs::prelude::*;
/// # use bevy_frame_arena::FrameArenas;
/// # #[derive(Component)] struct Place(f32);
/// # #[derive(Component)] struct Crowd(usize);
/// fn count_neighbours(arenas: Res<FrameArenas>, all: Query<&Place>, mut agents: Query<(&Place, &mut Crowd)>) {
///     agents.par_iter_mut().for_each_init(
///         || arenas.local().vec(),
///         |near, (place, mut crowd)| {
///             near.clear();
///             near.extend(all.iter().filter(|other| (other.0 - place.0).abs() < 1.0));
///             crowd.0 = near.len();
///         },
///     );
/// }
/// # }
/// ```
///
/// `Scratch` is also a system parameter. The guard lives for one run of the system:
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
/// A reference into scratch cannot outlive its guard:
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
/// The guard cannot move to another thread:
///
/// ```compile_fail,E0277
/// # use bevy_frame_arena::FrameArenas;
/// # let arenas = FrameArenas::default();
/// let scratch = arenas.scratch();
/// std::thread::scope(|scope| {
///     scope.spawn(move || scratch.alloc(1));
/// });
/// ```
// Not `Send`: its drop writes to the `Stack` of the thread that took it.
#[doc(alias = "temp")]
#[doc(alias = "temporary")]
pub struct Scratch<'a> {
    slot: OnOneThread<NonNull<Slot>>,
    stack: &'a Stack,
}

// As for the arena itself: a panic leaves it in a consistent state.
impl UnwindSafe for Scratch<'_> {}
impl RefUnwindSafe for Scratch<'_> {}

/// # Temporary memory
impl FrameArenas {
    /// Takes temporary memory, which is freed when the guard is dropped.
    ///
    /// The first guard of a thread in a frame looks up the thread's stack of arenas. Later guards find it in
    /// a thread local. Once a thread has as many arenas as it uses guards at once, taking a guard does not
    /// allocate.
    ///
    /// # Panics
    /// May panic in a thread-local destructor, unless the thread's last `scratch` call was on these arenas in
    /// this period.
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

    /// Takes temporary memory, and records the site that asked for it.
    #[inline]
    pub(crate) fn scratch_for(&self, site: Site) -> Scratch<'_> {
        let scratch = self.scratch.take();
        scratch.asked_for_at(site);
        scratch
    }
}

impl Scratch<'_> {
    /// Frees everything at once, e.g. between two items of a loop. See [`FrameArena::reset`].
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

    // Not `DerefMut`, because a caller could then replace the arena with another.
    #[inline]
    fn arena_mut(&mut self) -> &mut FrameArena {
        // SAFETY:
        // - the slot lives as long as its stack, which the guard borrows;
        // - the slot is not free while the guard lives, so nothing else reaches its arena, and all references
        //   into the arena borrow the guard.
        let slot = unsafe { self.slot.0.as_mut() };
        &mut slot.arena
    }
}

impl Deref for Scratch<'_> {
    type Target = FrameArena;

    #[inline]
    fn deref(&self) -> &FrameArena {
        // SAFETY: as in `arena_mut`; exclusive borrows of the arena ended before this one started.
        let slot = unsafe { self.slot.0.as_ref() };
        &slot.arena
    }
}

impl Drop for Scratch<'_> {
    #[inline]
    fn drop(&mut self) {
        /// Returns the slot, even if a destructor panics.
        struct Return<'a>(&'a Stack, NonNull<Slot>);

        impl Drop for Return<'_> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY:
                // - the guard took the slot from this stack, and ends here;
                // - the guard is not `Send`, so this is still the thread that owns the stack.
                unsafe { self.0.push(self.1) };
            }
        }

        // The reset comes first: a destructor may itself take scratch, and must not get this slot.
        let _return = Return(self.stack, self.slot.0);
        self.reset();
    }
}

impl fmt::Debug for Scratch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scratch").field(&**self).finish()
    }
}

thread_local! {
    // It has no destructor, so it stays usable until the thread ends. The null pointer is never used: no store
    // has the stamp 0.
    static LAST_USED: Cell<(Stamp, *const Stack)> = const { Cell::new((0, ptr::null())) };
}

/// The scratch arenas of all threads.
pub(super) struct ScratchStore {
    /// Identifies one period of this store. It is unique, never reused, and advanced when a period ends.
    stamp: Stamp,
    stacks: Claims<Stack>,
    high_watermark_bytes: usize,
    /// The sites that took scratch in the period that ended last, until the meter collects them.
    sites: Vec<SiteUsage>,
    settings: FrameArenaSettings,
    store: Arc<Store>,
}

impl ScratchStore {
    pub(super) fn new(settings: &FrameArenaSettings, store: &Arc<Store>) -> Self {
        Self {
            stamp: stamp::Lone::Standalone.block(),
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
            // - this thread stored the pointer when it claimed the stack in the period with this stamp;
            // - stamps are unique and never reused, so it is a stack of this store, whose stacks stay in
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
            slot: OnOneThread::new(slot),
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
        let arena = FrameArena::in_store(&self.settings, store, stamp::Lone::Scratch.block());
        // SAFETY: the caller, `take`, passes the stack that this thread claimed.
        unsafe { stack.add(Slot::new(arena)) }
    }

    /// Returns the sum of the high watermarks of all arenas so far.
    pub(super) fn high_watermark_bytes(&self) -> usize {
        self.high_watermark_bytes
    }

    #[inline(always)]
    pub(super) fn sites(&mut self) -> &mut Vec<SiteUsage> {
        &mut self.sites
    }

    /// Ends a period: measures the used arenas, and recovers those of forgotten guards.
    #[inline(always)]
    pub(super) fn end_period(&mut self, panic: &mut FirstPanic) {
        self.stamp = stamp::after(self.stamp);
        for (_, stack) in self.stacks.claimed() {
            // SAFETY: with `&mut self` no guard lives, and no thread uses a stack.
            self.high_watermark_bytes += unsafe { stack.end_period(&mut self.sites, panic) };
        }
        self.stacks.release_all();
    }

    /// Gives back the blocks of arenas that were not used since the last call.
    #[cold]
    pub(super) fn give_idle_blocks(&mut self) {
        let mut to = self.store.returning();
        for stack in self.stacks.all() {
            // SAFETY: with `&mut self` no guard lives, and all arenas have been empty since `end_period`.
            unsafe { stack.give_idle_blocks(&mut to) };
        }
        to.finish_idle();
    }

    /// Gives all blocks back, except those of forgotten guards with values to drop, which the end of the
    /// period drops. No handle of a forgotten guard can resolve: its slot is unreachable until it is
    /// recovered.
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
        // All destructors run first: a panic in one must not prevent those of other arenas.
        let mut panic = FirstPanic::default();
        self.end_period(&mut panic);
        panic.resume();
    }
}
