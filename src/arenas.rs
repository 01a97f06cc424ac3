//! `FrameArenas`: the arenas of all workers, in all generations.
#![expect(unsafe_code, reason = "resolves handles and remembered arenas")]

mod changes;
mod claims;
mod collector;
mod generation;
mod lease;
mod linked;
mod lookup;
mod meter;
mod misses;
#[cfg(feature = "bevy")]
mod pace;
mod parking;
mod ring;
mod scratch;
mod swap;
mod sync;
mod task;
mod task_book;
mod thread;
mod usage;
mod worker;

use std::fmt;
use std::panic::Location;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

pub use self::changes::{Change, TwoFrames, changes};
pub use self::collector::{Batch, CellMap, Cells, FrameCollector, GatherInto};
use self::generation::Common;
pub use self::lease::{FrameLease, LeasedHandle};
use self::meter::Meter;
use self::misses::Misses;
pub(crate) use self::misses::Outcome;
pub use self::misses::StaleLookup;
use self::parking::Parking;
use self::ring::Ring;
pub use self::scratch::Scratch;
use self::scratch::ScratchStore;
pub use self::task::{TaskArena, TaskArenas, TaskMemory, TaskResult};
pub use self::task_book::RunningTask;
use self::task_book::TaskBook;
pub use self::usage::{FrameUsage, WorkerUsage};
use crate::arena::{FrameArena, Store, Window};
#[cfg(feature = "bevy")]
use crate::figures::Figures;
use crate::settings::{FIRST_BLOCK_BYTES, FrameArenaSettings};
use crate::sites::{Site, SiteTable};
use crate::stamp::{self, RunName};

/// The frame arenas of all worker threads, as a resource.
///
/// Allocating takes `Res<FrameArenas>`, so any number of systems can do it in parallel:
/// [`local`](Self::local) returns the calling worker's own [`FrameArena`]. Allocations borrow the resource,
/// and so cannot outlive the system. Data that must live longer is shared: its handle resolves in this frame
/// and the next.
///
/// ```text
/// frame      N                     N+1                   N+2
/// gen A   | written by systems  | readable (previous)  | recycled, written again
/// gen B   | readable (previous) | written by systems   | readable (previous)
///         ^ swap                ^ swap                 ^ swap
/// ```
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let mut arenas = FrameArenas::default();
/// let handle = arenas.local().share([1, 2, 3]);
///
/// arenas.swap();
/// assert_eq!(arenas[handle], [1, 2, 3]);
///
/// arenas.swap();
/// let error = arenas.resolve(handle).unwrap_err();
/// assert!(error.to_string().contains("made 2 frames ago"));
/// ```
///
/// `FixedUpdate` runs any number of times per frame, so a handle may be stale in the next step. Use
/// `ArenasOf<FixedStep>` for data that fixed steps read, and `ArenasOf<Level>` for data of a level.
///
/// In Bevy, resources are components: a system with both `Res<FrameArenas>` and
/// `Query<EntityMut>` (or `EntityRef` beside `ResMut`) conflicts with itself, unless the query is
/// filtered with `Without<IsResource>`.
#[doc(alias = "frame allocator")]
#[doc(alias = "double buffer")]
#[doc(alias = "temp")]
#[cfg_attr(
    feature = "bevy",
    derive(bevy_ecs::resource::Resource),
    component(on_add)
)]
pub struct FrameArenas {
    ring: Ring,
    parking: Parking,
    meter: Meter,
    scratch: ScratchStore,
    period: u64,
    /// Periods until the next step of the trim window.
    periods_to_step: u32,
    /// The number of coming swaps that give all free memory back; never 0 if the settings ask for that.
    swaps_that_give_back: usize,
    /// The name of the pace, for errors of other arenas. `None` if the pace is the frame.
    #[cfg_attr(
        not(feature = "bevy"),
        expect(dead_code, reason = "paces are made by an app")
    )]
    run_name: Option<RunName>,
    /// The first line that compared the lists of a [`TwoFrames`] although data lives for one period.
    lost_list_at: OnceLock<&'static Location<'static>>,
    common: Arc<Common>,
}

/// # Memory of this thread, leases, figures
impl FrameArenas {
    /// Creates the arenas. No memory is reserved before a worker's first allocation, unless `pretouch_bytes`
    /// is set.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{FrameArenaSettings, FrameArenas};
    ///
    /// let arenas = FrameArenas::new(FrameArenaSettings {
    ///     budget_bytes: Some(64 << 20),
    ///     ..Default::default()
    /// });
    /// assert_eq!(arenas.usage().reserved_bytes, 0);
    /// ```
    pub fn new(settings: FrameArenaSettings) -> Self {
        let store = Arc::new(Store::new(&settings, FIRST_BLOCK_BYTES));
        store.pretouch(settings.pretouch_bytes);
        let common = Arc::new(Common {
            store,
            settings,
            kept_bytes: AtomicUsize::new(0),
            misses: Misses::default(),
            stale_sites: SiteTable::default(),
            tasks: TaskBook::default(),
        });
        let ring = Ring::new(&common);
        let parking = Parking::default();
        let mut meter = Meter::default();
        meter.note_memory(common.store.memory(), 0);
        meter.note_generations(&ring, &parking);
        Self {
            ring,
            parking,
            meter,
            scratch: ScratchStore::new(&common.settings, &common.store),
            period: 0,
            periods_to_step: Window::of(common.settings.trim_after_periods.unwrap_or(u32::MAX))
                .step_periods,
            swaps_that_give_back: usize::from(common.settings.trim_after_periods == Some(0)),
            run_name: None,
            lost_list_at: OnceLock::new(),
            common,
        }
    }

    /// Returns the settings.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// assert_eq!(arenas.settings().trim_after_periods, Some(600));
    /// ```
    pub fn settings(&self) -> &FrameArenaSettings {
        &self.common.settings
    }

    /// Returns the calling worker's arena in the current frame.
    ///
    /// Cheap enough to call for each allocation. In a loop, taking the arena once is cheaper still. The first
    /// call of a thread in a frame looks the arena up. Later calls find it in a thread local, unless the
    /// thread used other `FrameArenas` in between.
    ///
    /// # Panics
    /// May panic in a thread-local destructor, unless the thread's last `local` call was on these arenas in
    /// this period.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let arena = arenas.local();
    /// let mut list = arena.vec();
    /// list.extend([3, 1, 2]);
    /// let name = arena.alloc_str("Ferris");
    /// ```
    #[inline(always)]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn local(&self) -> &FrameArena {
        self.own_arena().asked_for_at(Site::caller())
    }

    /// Leases the current frame. Its handles resolve through the lease for as long as the lease lives.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// let score = arenas.local().share(7);
    /// let lease = arenas.lease();
    /// for _ in 0..10 {
    ///     arenas.swap();
    /// }
    /// assert_eq!((arenas.get(score), lease[score]), (None, 7));
    /// ```
    pub fn lease(&self) -> FrameLease {
        FrameLease::new(self.ring.current())
    }

    /// Returns the number of the current frame, i.e. the number of swaps so far.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// arenas.swap();
    /// assert_eq!(arenas.period(), 1);
    /// ```
    pub fn period(&self) -> u64 {
        self.period
    }

    /// Returns the figures of the frame that ended with the last swap.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// arenas.local().alloc([0_u64; 100]);
    /// arenas.swap();
    /// let usage = arenas.usage();
    /// assert_eq!((usage.used_bytes, usage.active_workers), (800, 1));
    /// ```
    pub fn usage(&self) -> &FrameUsage {
        self.meter.usage()
    }

    /// Returns the bytes in use so far in the current frame, by all workers.
    ///
    /// For the figures of a whole frame, see [`usage`](Self::usage). For a worker that is allocating, the
    /// figure is approximate, but never more than it holds.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// arenas.local().alloc([0_u64; 100]);
    /// assert_eq!(arenas.used_bytes_so_far(), 800);
    /// ```
    pub fn used_bytes_so_far(&self) -> usize {
        let workers = self.ring.current().claimed_workers();
        workers.map(|(_, worker)| worker.figures().used_bytes).sum()
    }

    /// Returns the figures of the current period so far, without those of single workers and sites.
    #[cfg(feature = "bevy")]
    pub(crate) fn so_far(&self) -> FrameUsage {
        let (last, common) = (self.usage(), &self.common);
        let (stale_lookups, stale_panics, first_stale_lookup) = common.misses.so_far();
        let (task_arenas, oldest_task) = common.tasks.running();
        let memory = common.store.memory();
        let kept_bytes = self.kept_bytes();
        let (mut of_workers, mut active_workers) = (Figures::default(), 0);
        for (_, worker) in self.ring.current().claimed_workers() {
            let figures = worker.figures();
            of_workers.add_memory(&figures);
            active_workers += usize::from(figures.peak_bytes > 0);
        }
        let held_bytes = memory.reserved_bytes - memory.free_bytes;
        FrameUsage {
            period: self.period(),
            figures: Figures {
                // The last lease of a parked generation may end on another thread in the meantime.
                held_bytes: held_bytes.saturating_sub(kept_bytes),
                reserved_bytes: memory.reserved_bytes,
                refusals: common.store.refusals_so_far().into(),
                stale_lookups,
                stale_panics,
                ..of_workers
            },
            high_watermark_bytes: last.high_watermark_bytes.max(of_workers.peak_bytes),
            scratch_high_watermark_bytes: last.scratch_high_watermark_bytes,
            kept_bytes,
            free_bytes: memory.free_bytes,
            task_arenas,
            task_results: common.tasks.results(),
            task_bytes: memory.task_bytes,
            oldest_task,
            largest_refusal_bytes: common.store.largest_refusal_bytes(),
            parked: last.parked,
            generations: last.generations,
            first_stale_lookup,
            active_workers,
            workers: Vec::new(),
            sites: Vec::new(),
        }
    }

    /// Returns a separate arena with the settings and the store of these arenas.
    pub(crate) fn arena_for_pool(&self) -> FrameArena {
        let store = Arc::clone(&self.common.store);
        FrameArena::in_store(
            &self.common.settings,
            store,
            stamp::Lone::Standalone.block(),
        )
    }

    /// Returns whether the last refusal was by the limit of a worker, not by the budget.
    #[cfg(feature = "bevy")]
    pub(crate) fn is_worker_refused(&self) -> bool {
        self.common.store.is_worker_refused()
    }

    /// Returns the first line that compared the lists of a [`TwoFrames`] although data lives for one period.
    #[cfg(feature = "bevy")]
    pub(crate) fn lost_list_at(&self) -> Option<&'static Location<'static>> {
        self.lost_list_at.get().copied()
    }

    /// Returns the calling worker's arena.
    #[inline(always)]
    fn own_arena(&self) -> &FrameArena {
        match thread::last_used(self.ring.stamp()) {
            // SAFETY:
            // - this thread stored the pointer when it claimed the arena in the generation with this stamp;
            // - stamps are unique and never reused, so that generation is the current one and has not been
            //   recycled since: the claim holds, and the arena is in place;
            // - the generation is neither recycled nor dropped while `self` is borrowed.
            Some(arena) => unsafe { &*arena },
            None => self.find_local(),
        }
    }

    #[cold]
    #[inline(never)]
    fn find_local(&self) -> &FrameArena {
        debug_assert_eq!(self.ring.stamp(), self.ring.current().stamp());
        let arena = self.ring.current().local();
        thread::remember(self.ring.stamp(), arena);
        arena
    }
}

impl Drop for FrameArenas {
    fn drop(&mut self) {
        // Free blocks are freed now: leases and tasks may keep the store alive for long.
        self.common.store.close();
    }
}

impl Default for FrameArenas {
    fn default() -> Self {
        Self::new(FrameArenaSettings::default())
    }
}

impl fmt::Debug for FrameArenas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameArenas")
            .field("period", &self.period)
            .field("used_bytes_so_far", &self.used_bytes_so_far())
            .field("usage", self.usage())
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}
