//! `FrameArena`: the bump region of one worker in one period.
#![expect(unsafe_code, reason = "says which threads may use an arena")]

mod allocator;
mod budget;
mod bump;
mod chain;
mod chunk;
mod cursor;
mod drops;
mod figures;
mod growth;
mod owner;
mod peaks;
mod poison;
mod refill;
mod reset;
mod scope;
mod slices;
mod stock;
mod values;

use std::alloc::Layout;
use std::cell::Cell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) use self::budget::Budget;
use self::chain::Chain;
use self::chunk::Chunk;
use self::cursor::Cursor;
use self::drops::DropList;
pub(crate) use self::drops::RoomForDrop;
use self::growth::Growth;
pub(crate) use self::owner::OnOneThread;
use self::owner::{OwnerOnly, ThreadBound};
use self::peaks::Peaks;
pub(crate) use self::peaks::WINDOW_STEPS;
use self::reset::marks_dead;
pub use self::scope::ArenaScope;
pub(crate) use self::stock::Stock;
pub(crate) use self::values::put;
pub(crate) use self::values::refuse_destructors;
use crate::error::{ArenaError, fail};
use crate::panics::FirstPanic;
use crate::settings::{FrameArenaSettings, STANDALONE_CAPACITY_BYTES};
use crate::sites::{Site, SiteTable};
use crate::stamp::{self, Stamp, UNSET};

/// A bump region: allocation moves a cursor, and everything is freed at once.
///
/// The arenas of a game come from [`FrameArenas::local`](crate::FrameArenas::local), one for
/// each worker thread and frame; one made with [`new`](Self::new) is standalone and is freed by
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
/// | | a reference, within the system | a handle, for other systems and the next frame | a container, which grows and drops |
/// |---|---|---|---|
/// | a value | [`alloc`], [`alloc_with`] | [`share`], [`share_with`] | [`boxed`] |
/// | a copy of a slice | [`alloc_slice_copy`] | [`share_slice_copy`] | [`vec`], `extend_from_slice` |
/// | a slice that is filled | [`alloc_slice_fill_copy`], [`…_with`](Self::alloc_slice_fill_with) | [`share_slice_fill_with`] | [`vec`], `resize` |
/// | what an iterator yields | [`alloc_slice_fill_iter`] | [`share_iter`] | [`collect`] |
/// | a slice that is aligned | [`alloc_slice_aligned`] | | |
/// | text | [`alloc_str`], [`alloc_fmt`] | [`share_str`], [`share_fmt`] | [`string`] |
/// | raw memory | [`alloc_layout`] | | |
/// | a map, a set | | | [`map`], [`set`] |
///
/// [`alloc`]: Self::alloc
/// [`alloc_with`]: Self::alloc_with
/// [`share`]: Self::share
/// [`share_with`]: Self::share_with
/// [`boxed`]: Self::boxed
/// [`alloc_slice_copy`]: Self::alloc_slice_copy
/// [`share_slice_copy`]: Self::share_slice_copy
/// [`vec`]: Self::vec
/// [`alloc_slice_fill_copy`]: Self::alloc_slice_fill_copy
/// [`share_slice_fill_with`]: Self::share_slice_fill_with
/// [`alloc_slice_fill_iter`]: Self::alloc_slice_fill_iter
/// [`share_iter`]: Self::share_iter
/// [`collect`]: Self::collect
/// [`alloc_slice_aligned`]: Self::alloc_slice_aligned
/// [`alloc_str`]: Self::alloc_str
/// [`alloc_fmt`]: Self::alloc_fmt
/// [`share_str`]: Self::share_str
/// [`share_fmt`]: Self::share_fmt
/// [`string`]: Self::string
/// [`alloc_layout`]: Self::alloc_layout
/// [`map`]: Self::map
/// [`set`]: Self::set
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
// Aligned so that neighbours in a `ThreadLocal` share no cache line, nor the pair that is
// prefetched. What each allocation touches comes first.
#[doc(alias = "bump")]
#[doc(alias = "linear allocator")]
#[doc(alias = "frame allocator")]
#[repr(C, align(128))]
pub struct FrameArena {
    cursor: OwnerOnly<Cursor>,
    stamp: Stamp,
    /// Whether a recycle has more to do than to move the cursor: values to drop, memory to mark,
    /// or chunks to return from.
    needs_cleanup: OwnerOnly<Cell<bool>>,
    fill_recycled: bool,
    /// Whether a single allocation made the first chunk larger than planned. Atomic like all that
    /// the figures are made of: other threads read them while the owner allocates.
    has_large_first: AtomicBool,
    drops: OwnerOnly<DropList>,
    chain: OwnerOnly<Chain>,
    growth: OwnerOnly<Growth>,
    peaks: Peaks,
    budget: Arc<Budget>,
    /// The stamp of the newest scope, or `UNSET`.
    scope_stamp: Stamp,
    /// Who asked for it, if the feature `sites` is on.
    sites: SiteTable,
    /// Alone makes the arena `!Sync`, so that the compiler names it.
    _bound: ThreadBound,
}

// SAFETY:
// - the chunks and the drop list are owned by the arena alone and have no thread affinity;
// - values in the drop list are `Send` (see `drop_at_recycle`);
// - what handles name in the arena's memory is `Send` and `Sync`;
// - whatever else lies there is borrowed from the arena, which does not move meanwhile.
unsafe impl Send for FrameArena {}

// A panic leaves no state half-made: see the tests of panics.
impl RefUnwindSafe for FrameArena {}
impl UnwindSafe for FrameArena {}

/// # Making one
impl FrameArena {
    /// Creates a standalone arena with a first chunk of `capacity_bytes`.
    ///
    /// It chains further chunks when it is full; [`with_settings`](Self::with_settings) can set a
    /// hard limit instead.
    ///
    /// # Panics
    /// If the global allocator has no such block.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArena;
    ///
    /// let arena = FrameArena::new(64 << 10);
    /// assert_eq!(arena.capacity_bytes(), 64 << 10);
    /// ```
    #[track_caller]
    pub fn new(capacity_bytes: usize) -> Self {
        match Self::try_new(capacity_bytes) {
            Ok(arena) => arena,
            Err(error) => fail(error),
        }
    }

    /// Creates a standalone arena with a first chunk of `capacity_bytes`.
    ///
    /// # Errors
    /// [`ArenaError::AllocationFailed`] if the global allocator has no such block.
    pub fn try_new(capacity_bytes: usize) -> Result<Self, ArenaError> {
        let arena = Self::with_settings(&FrameArenaSettings {
            worker_capacity_bytes: capacity_bytes,
            ..FrameArenaSettings::default()
        });
        if capacity_bytes > 0 {
            let requested = capacity_bytes;
            let chunk = Chunk::new(capacity_bytes, 1, &arena.budget)
                .map_err(|_| ArenaError::AllocationFailed { requested })?;
            arena.add_to_chain(chunk)?;
        }
        Ok(arena)
    }

    /// Creates a standalone arena that reserves nothing before its first allocation.
    ///
    /// `trim_after_frames` and `lives_for` have no effect on it: its owner calls
    /// [`reset`](Self::reset) and [`trim`](Self::trim).
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{FrameArena, FrameArenaSettings, OverflowPolicy};
    ///
    /// let arena = FrameArena::with_settings(&FrameArenaSettings {
    ///     worker_capacity_bytes: 1024,
    ///     overflow: OverflowPolicy::Fail,
    ///     ..Default::default()
    /// });
    /// assert!(arena.try_alloc([0_u8; 2000]).is_err());
    /// ```
    pub fn with_settings(settings: &FrameArenaSettings) -> Self {
        let budget = Arc::new(Budget::new(settings.budget_bytes));
        Self::in_budget(settings, budget, stamp::standalone())
    }

    pub(crate) fn in_budget(
        settings: &FrameArenaSettings,
        budget: Arc<Budget>,
        stamp: Stamp,
    ) -> Self {
        let growth = Growth::new(settings.overflow, settings.worker_capacity_bytes);
        Self {
            cursor: OwnerOnly(Cursor::nowhere()),
            stamp,
            needs_cleanup: OwnerOnly(Cell::new(marks_dead(settings.fill_recycled))),
            fill_recycled: settings.fill_recycled,
            has_large_first: AtomicBool::new(false),
            drops: OwnerOnly(DropList::default()),
            chain: OwnerOnly(Chain::default()),
            growth: OwnerOnly(growth),
            peaks: Peaks::default(),
            budget,
            scope_stamp: UNSET,
            sites: SiteTable::default(),
            _bound: ThreadBound::new(),
        }
    }

    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Gives an empty arena the stamp of the period in which it is used next.
    pub(crate) fn set_stamp(&mut self, stamp: Stamp) {
        debug_assert_eq!(self.used_bytes(), 0);
        self.stamp = stamp;
    }

    /// Returns the arena, and notes that a site asked for it.
    #[inline(always)]
    pub(crate) fn asked_for_at(&self, site: Site) -> &Self {
        self.sites.open(site, || self.used_now());
        self
    }

    /// Returns the sites that asked for the arena, which any thread may read.
    #[inline(always)]
    pub(crate) fn sites(&self) -> &SiteTable {
        &self.sites
    }

    /// Takes `size` bytes from the active chunk, if they fit.
    #[inline(always)]
    fn take(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        self.cursor.take(size, align)
    }

    /// Notes the bytes in use before some are freed, or when a chunk was added.
    #[inline(always)]
    fn note_peak(&self, used_bytes: usize) {
        self.peaks.note(used_bytes);
        self.sites.note_peak(|| used_bytes);
    }

    /// Returns the bytes in use, as the owner sees them.
    #[inline]
    fn used_now(&self) -> usize {
        self.chain.closed_bytes() + self.cursor.used_bytes()
    }
}

/// A standalone arena with a small first chunk, which it reserves with its first allocation.
impl Default for FrameArena {
    fn default() -> Self {
        Self::with_settings(&FrameArenaSettings {
            worker_capacity_bytes: STANDALONE_CAPACITY_BYTES,
            ..FrameArenaSettings::default()
        })
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

/// Returns a pointer for an allocation of zero bytes.
fn dangling(layout: Layout) -> NonNull<u8> {
    NonNull::without_provenance(
        layout
            .align()
            .try_into()
            .expect("an alignment is never zero"),
    )
}
