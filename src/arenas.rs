//! `FrameArenas`: the arenas of all workers, generation after generation.
#![expect(unsafe_code, reason = "resolves handles and remembered arenas")]

mod changes;
mod claims;
mod collector;
mod generation;
mod lease;
mod lookup;
mod meter;
mod misses;
#[cfg(feature = "bevy")]
mod pace;
mod parking;
mod ring;
mod scratch;
mod swap;
mod task;
mod task_book;
mod thread;
mod usage;
mod worker;

use std::fmt;
use std::sync::Arc;

pub use self::changes::{Change, TwoFrames, changes, changes_by_key};
pub use self::collector::{Batch, CellMap, Cells, CellsError, FrameCollector, GatherInto};
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
use crate::settings::FrameArenaSettings;
use crate::sites::{Site, SiteTable};
use crate::stamp::RunName;

/// The frame arenas of all worker threads, as a resource.
///
/// Allocating takes `Res<FrameArenas>`, so any number of systems do it in parallel:
/// [`local`](Self::local) is the calling worker's own [`FrameArena`]. What is allocated borrows the
/// resource, and so the system; what must live longer is shared, and its handle resolves in this
/// frame and the next.
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
/// `FixedUpdate` runs never, once or many times a frame, so a handle may be stale in the next step:
/// what steps read belongs in `ArenasOf<FixedStep>`, and what a level reads in `ArenasOf<Level>`.
///
/// In Bevy, resources are components: a system with both `Res<FrameArenas>` and
/// `Query<EntityMut>` (or `EntityRef` beside `ResMut`) conflicts with itself, unless the query is
/// filtered with `Without<IsResource>`.
#[doc(alias = "frame allocator")]
#[doc(alias = "double buffer")]
#[doc(alias = "temp")]
#[cfg_attr(feature = "bevy", derive(bevy_ecs::resource::Resource))]
pub struct FrameArenas {
    ring: Ring,
    parking: Parking,
    meter: Meter,
    scratch: ScratchStore,
    frame: u64,
    /// Periods until the next step of the window that decides what is given back.
    periods_to_step: u32,
    /// How many swaps from now on give all memory back.
    swaps_that_give_back: usize,
    /// The pace, if it is not the frame: other arenas' errors name it.
    #[cfg_attr(
        not(feature = "bevy"),
        expect(dead_code, reason = "paces are made by an app")
    )]
    run_name: Option<RunName>,
    common: Arc<Common>,
}

/// # Memory of this thread, leases, figures
impl FrameArenas {
    /// Creates the arenas. Nothing is reserved before a worker's first allocation, unless the
    /// settings say `pretouch_bytes`.
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
        let store = Arc::new(Store::new(&settings));
        store.pretouch(settings.pretouch_bytes);
        let common = Arc::new(Common {
            store,
            settings,
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
            frame: 0,
            periods_to_step: Window::of(common.settings.trim_after_frames.unwrap_or(u32::MAX))
                .step_periods,
            swaps_that_give_back: 0,
            run_name: None,
            common,
        }
    }

    /// Returns the settings.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// assert_eq!(arenas.settings().trim_after_frames, Some(600));
    /// ```
    pub fn settings(&self) -> &FrameArenaSettings {
        &self.common.settings
    }

    /// Returns the calling worker's arena in the current frame.
    ///
    /// Cheap enough to call for each allocation; a loop is cheaper still with the arena taken
    /// once. The first call of a thread in a frame looks the arena up, later ones find it in a
    /// thread local, unless the thread used other `FrameArenas` in between.
    ///
    /// # Panics
    /// Perhaps in the destructor of a thread local, unless these were the last `FrameArenas` that the
    /// thread used, in this frame.
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

    /// Leases the current frame: its handles resolve through the lease for as long as it lives.
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

    /// Returns the number of the current frame: how often the arenas were swapped.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// arenas.swap();
    /// assert_eq!(arenas.frame(), 1);
    /// ```
    pub fn frame(&self) -> u64 {
        self.frame
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
    /// For the figures of a whole frame see [`usage`](Self::usage). A worker that allocates
    /// meanwhile counts with what it had at some point during the call, or, if it takes another
    /// block just then, with no more than it holds.
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

    /// Returns the figures of the period that goes on, and its first stale look-up. The peak is not
    /// known before it ends.
    #[cfg(feature = "bevy")]
    pub(crate) fn so_far(&self) -> (Figures, Option<StaleLookup>) {
        let (stale_lookups, stale_panics, first) = self.common.misses.so_far();
        let figures = Figures {
            used_bytes: self.used_bytes_so_far(),
            reserved_bytes: self.common.store.memory().reserved_bytes,
            refusals: self.common.store.refusals_so_far().into(),
            stale_lookups,
            stale_panics,
            ..Figures::default()
        };
        (figures, first)
    }

    /// Returns the size of the largest allocation that a limit ever refused.
    #[cfg(feature = "bevy")]
    pub(crate) fn largest_refusal_bytes(&self) -> usize {
        self.common.store.largest_refusal_bytes()
    }

    /// Returns the calling worker's arena.
    #[inline(always)]
    fn own_arena(&self) -> &FrameArena {
        match thread::last_used(self.ring.stamp()) {
            // SAFETY:
            // - this thread remembered the arena when it claimed it in the generation with this
            //   stamp;
            // - stamps are never given twice, so that generation is the current one, and it has
            //   not been recycled since: the claim holds, and the arena is in place;
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
        // Leases may keep generations for long, and those their blocks. What is free goes now.
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
            .field("frame", &self.frame)
            .field("used_bytes_so_far", &self.used_bytes_so_far())
            .field("usage", self.usage())
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}
