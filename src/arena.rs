//! `FrameArena`: the bump region of one worker in one frame.
#![expect(unsafe_code, reason = "hands out raw memory of its chunks")]

mod allocator;
mod budget;
mod bump;
mod chain;
mod chunk;
mod drops;
mod poison;
mod reset;
mod slices;
mod stock;
mod values;

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::Relaxed};

pub(crate) use self::budget::Budget;
use self::chunk::Chunk;
use self::drops::DropList;
use self::reset::marks_dead;
pub(crate) use self::stock::Stock;
pub(crate) use self::values::refuse_destructors;
use crate::error::{ArenaError, fail};
use crate::panics::FirstPanic;
use crate::settings::{FrameArenaSettings, OverflowPolicy};
use crate::stamp::{self, Stamp};

/// A bump region: allocation moves a cursor, and everything is freed at once.
///
/// The arenas of a game come from [`FrameArenas::local`](crate::FrameArenas::local), one for
/// each worker thread and frame; one made with [`new`](Self::new) stands alone and is freed by
/// [`reset`](Self::reset).
///
/// Destructors do not run for what `alloc` returns, so it refuses types that have one, at compile
/// time. Put such values into a [`FrameBox`](crate::FrameBox) or [`FrameVec`](crate::FrameVec),
/// which drop them at the end of the scope, or [`share`](Self::share) them: they are then dropped
/// when the frame's memory is recycled.
///
/// Each method that allocates has a `try_` twin that returns an [`ArenaError`] where the plain
/// one panics with the same text.
///
/// ```
/// use bevy_frame_arena::FrameArena;
///
/// let mut arena = FrameArena::new(64 * 1024);
/// let answer = arena.alloc(42_u64);
/// *answer += 1;
/// let squares = arena.alloc_slice_fill_with(4, |i| i * i);
/// assert_eq!((*answer, &*squares), (43, &[0, 1, 4, 9][..]));
///
/// arena.reset();
/// assert_eq!(arena.used_bytes(), 0);
/// ```
///
/// In a `Local` it is the scratch memory of one system. That needs no second generation, so it
/// writes to memory that the last run left in the cache:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_frame_arena::FrameArena;
/// fn sort_by_distance(mut scratch: Local<FrameArena>, objects: Query<Entity>) {
///     scratch.reset();
///     let mut keys = scratch.vec();
///     keys.extend(&objects);
///     keys.sort_unstable();
/// }
/// # let mut world = World::new();
/// # world.run_system_cached(sort_by_distance).unwrap();
/// ```
// Aligned so that neighbours in a `ThreadLocal` share no cache line, nor the pair that is
// prefetched. The hot fields come first. The atomics are written by the owner alone; they are
// atomic so that other threads can read the usage while the owner allocates.
#[repr(C, align(128))]
pub struct FrameArena {
    /// The next free byte of the active chunk; a multiple of `bump::CURSOR_ALIGN`.
    cursor: AtomicPtr<u8>,
    /// The address behind the active chunk.
    end: Cell<usize>,
    /// The first byte of the active chunk.
    start: AtomicPtr<u8>,
    stamp: Stamp,
    drops: DropList,
    /// The index of the active chunk; the chunks behind it are free.
    active: Cell<usize>,
    /// Bytes used in the chunks before the active one.
    closed_bytes: AtomicUsize,
    capacity_bytes: AtomicUsize,
    /// How often an allocation did not fit into the active chunk since the last recycle.
    overflows: AtomicU32,
    fill_recycled: bool,
    /// Whether a recycle has more to do than to move the cursor: values to drop, memory to mark,
    /// or chunks to return from.
    recycle_takes_work: Cell<bool>,
    overflow: OverflowPolicy,
    /// The size of the first chunk that the settings ask for.
    worker_capacity_bytes: usize,
    /// The size of the first chunk: larger after a trim that left more than that in use.
    first_chunk_bytes: usize,
    /// The size of the next chunk that growth makes.
    growth_bytes: Cell<usize>,
    /// The most bytes in use at once since the last trim, as of the last reset, chunk or free.
    window_peak_bytes: Cell<usize>,
    /// The most bytes in use at once before the last trim.
    older_peak_bytes: usize,
    /// The most bytes in use at once since the chunks were made, as of the last trim.
    touched_bytes: usize,
    chunks: RefCell<Vec<Chunk>>,
    budget: Arc<Budget>,
}

// SAFETY:
// - the chunks and the drop list are owned by the arena alone and have no thread affinity;
// - values in the drop list are `Send` (see `drop_at_recycle`);
// - nothing else in the arena's memory is reachable through the arena.
unsafe impl Send for FrameArena {}

// A panic leaves no state half-made: see the tests in `tests/panics.rs`.
impl RefUnwindSafe for FrameArena {}
impl UnwindSafe for FrameArena {}

impl FrameArena {
    /// Creates an arena that stands alone, with a first chunk of `capacity_bytes`.
    ///
    /// It chains further chunks when it is full; [`with_settings`](Self::with_settings) can set a
    /// hard limit instead.
    ///
    /// # Panics
    /// If the global allocator has no such block.
    #[track_caller]
    pub fn new(capacity_bytes: usize) -> Self {
        Self::try_new(capacity_bytes).unwrap_or_else(|error| fail(error))
    }

    /// Creates an arena that stands alone, with a first chunk of `capacity_bytes`.
    ///
    /// # Errors
    /// [`ArenaError::AllocationFailed`] if the global allocator has no such block.
    pub fn try_new(capacity_bytes: usize) -> Result<Self, ArenaError> {
        let arena = Self::with_settings(&FrameArenaSettings {
            worker_capacity_bytes: capacity_bytes,
            ..FrameArenaSettings::default()
        });
        if capacity_bytes > 0 {
            arena.push_chunk(Chunk::new(capacity_bytes, 1, &arena.budget)?)?;
        }
        Ok(arena)
    }

    /// Creates an arena that stands alone and reserves nothing before its first allocation.
    ///
    /// `trim_after_frames` has no effect on it: its owner calls [`trim`](Self::trim).
    pub fn with_settings(settings: &FrameArenaSettings) -> Self {
        let budget = Arc::new(Budget::new(settings.budget_bytes));
        Self::in_budget(settings, budget, stamp::single())
    }

    pub(crate) fn in_budget(
        settings: &FrameArenaSettings,
        budget: Arc<Budget>,
        stamp: Stamp,
    ) -> Self {
        Self {
            cursor: AtomicPtr::new(nowhere()),
            end: Cell::new(nowhere().addr()),
            start: AtomicPtr::new(nowhere()),
            stamp,
            drops: DropList::default(),
            active: Cell::new(0),
            closed_bytes: AtomicUsize::new(0),
            capacity_bytes: AtomicUsize::new(0),
            overflows: AtomicU32::new(0),
            fill_recycled: settings.fill_recycled,
            recycle_takes_work: Cell::new(marks_dead(settings.fill_recycled)),
            overflow: settings.overflow,
            worker_capacity_bytes: settings.worker_capacity_bytes,
            first_chunk_bytes: settings.worker_capacity_bytes,
            growth_bytes: Cell::new(chain::first_growth(settings.worker_capacity_bytes)),
            window_peak_bytes: Cell::new(0),
            older_peak_bytes: 0,
            touched_bytes: 0,
            chunks: RefCell::new(Vec::new()),
            budget,
        }
    }

    /// Returns the bytes handed out since the last reset, with the padding between them.
    pub fn used_bytes(&self) -> usize {
        // Another thread may read in the middle of a change of chunks. Cursor and start are then
        // of different chunks, and their distance means nothing; the capacity still bounds it.
        let cursor = self.cursor.load(Relaxed).addr();
        let start = self.start.load(Relaxed).addr();
        let used = self.closed_bytes.load(Relaxed) + cursor.saturating_sub(start);
        used.min(self.capacity_bytes())
    }

    /// Returns the bytes that can be handed out before the active chunk is full.
    pub fn remaining_bytes(&self) -> usize {
        self.end.get() - self.cursor.load(Relaxed).addr()
    }

    /// Returns the bytes of all chunks.
    pub fn capacity_bytes(&self) -> usize {
        self.capacity_bytes.load(Relaxed)
    }

    /// Returns the most bytes that were in use at once, over all resets.
    pub fn high_watermark_bytes(&self) -> usize {
        self.used_bytes()
            .max(self.window_peak_bytes.get())
            .max(self.older_peak_bytes)
    }

    /// Returns how often an allocation did not fit into the active chunk since the last reset.
    pub fn overflows(&self) -> u32 {
        self.overflows.load(Relaxed)
    }

    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Keeps the bytes in use now, if they are the most so far, for [`trim`](Self::trim).
    #[inline]
    fn note_peak(&self) {
        let active = self.cursor.load(Relaxed).addr() - self.start.load(Relaxed).addr();
        let used = self.closed_bytes.load(Relaxed) + active;
        if used > self.window_peak_bytes.get() {
            self.window_peak_bytes.set(used);
        }
    }

    /// Takes `size` bytes from the active chunk, if they fit.
    ///
    /// `size` and `align` are those of a valid `Layout`, or `align` is that of `beyond_cursor`.
    #[inline(always)]
    fn take(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let cursor = self.cursor.load(Relaxed);
        let bump = bump::bump(cursor.addr(), self.end.get(), size, align)?;
        self.cursor.store(cursor.with_addr(bump.next), Relaxed);
        let start = cursor.with_addr(bump.start);
        poison::mark_live(start, size);
        // SAFETY: `start` lies between the cursor and the end of a chunk, neither of them null.
        Some(unsafe { NonNull::new_unchecked(start) })
    }
}

/// An arena that stands alone, with the default settings. It reserves nothing before its first
/// allocation.
impl Default for FrameArena {
    fn default() -> Self {
        Self::with_settings(&FrameArenaSettings::default())
    }
}

impl Drop for FrameArena {
    fn drop(&mut self) {
        let mut panic = FirstPanic::default();
        self.run_drops(&mut panic);
        panic.resume();
    }
}

impl fmt::Debug for FrameArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameArena")
            .field("used_bytes", &self.used_bytes())
            .field("capacity_bytes", &self.capacity_bytes())
            .field("overflows", &self.overflows())
            .finish_non_exhaustive()
    }
}

/// Where the cursor of an arena without chunks stands: aligned, not null, with no room.
const fn nowhere() -> *mut u8 {
    ptr::without_provenance_mut(bump::CURSOR_ALIGN)
}

/// Returns a pointer for an allocation of zero bytes.
fn dangling(layout: Layout) -> NonNull<u8> {
    NonNull::without_provenance(
        layout
            .align()
            .try_into()
            .expect("an alignment is never zero"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_torn_by_a_change_of_chunks_is_bounded_by_the_capacity() {
        let arena = FrameArena::new(4096);
        arena.alloc([0_u8; 1024]);
        // What another thread sees between two stores of `activate`.
        for (start, used_bytes) in [(8, 4096), (usize::MAX, 0)] {
            let of_another_chunk = ptr::without_provenance_mut(start);
            arena.start.store(of_another_chunk, Relaxed);
            assert_eq!(arena.used_bytes(), used_bytes);
        }
    }
}
