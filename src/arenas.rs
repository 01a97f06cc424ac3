//! `FrameArenas`: the two generations, and the swap between them.
#![expect(unsafe_code, reason = "resolves handles and remembered arenas")]

mod generation;
mod lease;
mod lookup;
mod usage;
mod worker;

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use self::generation::{Common, Generation};
pub use self::lease::{FrameLease, LeasedHandle};
pub use self::usage::{FrameUsage, WorkerUsage};
use crate::arena::{Budget, FrameArena, Stock};
use crate::panics::FirstPanic;
use crate::settings::{FrameArenaSettings, OverflowPolicy};
use crate::stamp::{SPARE, Stamp, StampRun};

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
/// assert_eq!(error.age_in_frames(), Some(2));
/// ```
///
/// In Bevy, resources are components: a system with both `Res<FrameArenas>` and
/// `Query<EntityMut>` (or `EntityRef` beside `ResMut`) conflicts with itself, unless the query is
/// filtered with `Without<IsResource>`.
#[cfg_attr(feature = "bevy", derive(bevy_ecs::resource::Resource))]
pub struct FrameArenas {
    /// The stamp of the current generation, here to save `local` a pointer.
    stamp: Stamp,
    previous_stamp: Stamp,
    current: Arc<Generation>,
    previous: Arc<Generation>,
    /// Generations beyond the two: leased ones, and spares that were.
    parked: Vec<Arc<Generation>>,
    /// Frames since all the spares were last needed.
    spare_frames: u32,
    stamps: StampRun,
    frame: u64,
    usage: FrameUsage,
    /// The threads that a warning was made for, so that it is made once.
    warned: Vec<Arc<str>>,
    /// Warnings that wait for the end of the swap.
    warnings: Vec<Warning>,
    common: Arc<Common>,
}

impl FrameArenas {
    /// Creates the arenas. Nothing is reserved before a worker's first allocation, unless the
    /// settings say `pretouch_bytes`.
    pub fn new(settings: FrameArenaSettings) -> Self {
        let budget = Arc::new(Budget::new(settings.budget_bytes));
        let common = Arc::new(Common {
            stock: Stock::for_all_cores(&settings, &budget),
            budget,
            settings,
            stale_lookups: AtomicU64::new(0),
        });
        let mut stamps = StampRun::new();
        let stamp = stamps.advance();
        Self {
            stamp,
            previous_stamp: SPARE,
            current: Generation::new(&common, stamp),
            previous: Generation::new(&common, SPARE),
            parked: Vec::new(),
            spare_frames: 0,
            stamps,
            frame: 0,
            usage: FrameUsage::default(),
            warned: Vec::new(),
            warnings: Vec::new(),
            common,
        }
    }

    /// Returns the settings.
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
    /// In the destructor of a thread local, unless these were the last `FrameArenas` that the
    /// thread used, in this frame.
    #[inline(always)]
    pub fn local(&self) -> &FrameArena {
        match worker::last_used(self.stamp) {
            // SAFETY:
            // - this thread remembered the arena when it claimed it in the generation with this
            //   stamp;
            // - stamps are never given twice, so that generation is `self.current`, and it has
            //   not been recycled since: the claim holds, and the arena is in place;
            // - the generation is neither recycled nor dropped while `self` is borrowed.
            Some(arena) => unsafe { &*arena },
            None => self.find_local(),
        }
    }

    /// Ends the frame: the current generation becomes the previous one, and the one before it is
    /// recycled. [`FrameArenaPlugin`](crate::FrameArenaPlugin) calls it at the start of each frame.
    ///
    /// It never waits and, once warm, never allocates. If somebody still leases the generation
    /// that is due, another takes its place and it is parked until the lease ends.
    ///
    /// # Panics
    /// If the destructor of a shared value panics, or a listener of the log. The swap is complete
    /// by then, and all destructors have run.
    pub fn swap(&mut self) {
        self.measure_ended_frame();
        self.frame += 1;
        self.previous_stamp = self.stamp;
        self.stamp = self.stamps.advance();

        let mut panic = FirstPanic::default();
        mem::swap(&mut self.current, &mut self.previous);
        self.tend_parked(&mut panic);
        self.replace_current_if_leased();
        Arc::get_mut(&mut self.current)
            .expect("a leased generation was replaced")
            .recycle(self.stamp, &mut panic);
        self.measure_memory();
        panic.resume();
        // Last of all: a listener may panic.
        while let Some(warning) = self.warnings.pop() {
            warning.log();
        }
    }

    /// Leases the current frame: its handles resolve through the lease for as long as it lives.
    pub fn lease(&self) -> FrameLease {
        FrameLease::new(&self.current)
    }

    /// Returns the number of the current frame: how often the arenas were swapped.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// Returns the figures of the frame that ended with the last swap.
    pub fn usage(&self) -> &FrameUsage {
        &self.usage
    }

    /// Returns the bytes handed out so far in the current frame, by all workers.
    ///
    /// A worker that allocates meanwhile counts with what it had at some point during the call,
    /// or, if it moves on to another chunk just then, with no more than its capacity.
    pub fn used_bytes(&self) -> usize {
        let workers = self.current.claimed_workers();
        workers.map(|worker| worker.used_bytes()).sum()
    }

    #[cold]
    #[inline(never)]
    fn find_local(&self) -> &FrameArena {
        let arena = self.current.local();
        worker::remember(self.stamp, arena);
        arena
    }

    fn measure_ended_frame(&mut self) {
        self.usage.begin(self.frame);
        let mut guess = 0;
        for worker in self.current.claimed_workers() {
            let (used, capacity) = (worker.used_bytes(), worker.capacity_bytes());
            let overflows = worker.overflows();
            let name = worker.name();
            let is_full =
                self.common.settings.overflow == OverflowPolicy::Fail && used > capacity / 10 * 9;
            if (overflows > 0 || is_full) && !self.warned.contains(&name) {
                self.warned.push(Arc::clone(&name));
                self.warnings.push(Warning {
                    name: Arc::clone(&name),
                    used_bytes: used,
                    capacity_bytes: capacity,
                });
            }
            guess = 1 + self.usage.add(guess, &name, used, capacity, overflows);
        }
        self.usage.finish();
        self.usage.stale_lookups = self.common.stale_lookups.swap(0, Relaxed);
    }

    fn measure_memory(&mut self) {
        self.usage.reserved_bytes = self.common.budget.reserved_bytes();
        self.usage.generations = 2 + self.parked.len();
        self.usage.parked = leased(&self.parked);
    }

    /// Drops what is shared in generations whose lease has ended, and frees old spares.
    fn tend_parked(&mut self, panic: &mut FirstPanic) {
        if self.parked.is_empty() {
            return;
        }
        for generation in self.parked.iter_mut().filter_map(Arc::get_mut) {
            if generation.stamp() != SPARE {
                generation.recycle(SPARE, panic);
            }
        }
        self.spare_frames = self.spare_frames.saturating_add(1);
        if let Some(frames) = self.common.settings.trim_after_frames
            && self.spare_frames > frames
        {
            // One that was not free above may be by now: its shared values must not be dropped
            // here, where a panic of theirs would interrupt the swap.
            self.parked
                .retain_mut(|spare| Arc::get_mut(spare).is_none_or(|spare| spare.stamp() != SPARE));
        }
    }

    /// Puts a free generation in the place of the one that is due, if that is leased.
    fn replace_current_if_leased(&mut self) {
        if Arc::get_mut(&mut self.current).is_some() {
            return;
        }
        self.spare_frames = 0;
        let is_free = |generation: &mut Arc<Generation>| Arc::get_mut(generation).is_some();
        match self.parked.iter_mut().find_map(|g| is_free(g).then_some(g)) {
            Some(spare) => mem::swap(&mut self.current, spare),
            None => {
                let fresh = Generation::new(&self.common, SPARE);
                self.parked.push(mem::replace(&mut self.current, fresh));
            }
        }
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
            .field("used_bytes", &self.used_bytes())
            .field("usage", &self.usage)
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}

fn leased(parked: &[Arc<Generation>]) -> usize {
    let is_leased = |generation: &&Arc<Generation>| Arc::strong_count(generation) > 1;
    parked.iter().filter(is_leased).count()
}

/// A worker's chunk was too small for a frame.
struct Warning {
    name: Arc<str>,
    used_bytes: usize,
    capacity_bytes: usize,
}

impl Warning {
    #[cold]
    fn log(self) {
        let Self {
            name,
            used_bytes,
            capacity_bytes,
        } = self;
        tracing::warn!(
            "the frame arena of thread `{name}` is too small: a frame used {used_bytes} bytes, in \
             {capacity_bytes} bytes of chunks; raise `FrameArenaSettings::worker_capacity_bytes` \
             (this is said once for a thread)"
        );
    }
}
