//! `FrameArena`: the bump region of one worker in one period.
#![expect(unsafe_code, reason = "says which threads may use an arena")]

mod allocator;
mod block;
mod bump;
mod chain;
mod cursor;
mod drops;
mod figures;
mod owner;
mod poison;
mod refill;
mod reset;
mod scope;
mod sizes;
mod slices;
mod store;
mod sync;
mod values;

use std::alloc::Layout;
use std::cell::Cell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use self::chain::Chain;
use self::cursor::Cursor;
use self::drops::DropList;
pub(crate) use self::drops::RoomForDrop;
pub(crate) use self::owner::OnOneThread;
use self::owner::{OwnerOnly, ThreadBound};
use self::reset::marks_dead;
pub use self::scope::ArenaScope;
pub(crate) use self::sizes::Purpose;
pub(crate) use self::store::{Memory, Returning, Store, Window};
pub(crate) use self::values::put;
pub(crate) use self::values::refuse_destructors;
use crate::error::{ArenaError, fail};
use crate::panics::FirstPanic;
use crate::settings::{FrameArenaSettings, STANDALONE_BLOCK_BYTES};
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
    /// Whether a reset has more to do than to move the cursor: values to drop, memory to mark, or
    /// blocks to give back.
    needs_cleanup: OwnerOnly<Cell<bool>>,
    fill_recycled: bool,
    drops: OwnerOnly<DropList>,
    chain: OwnerOnly<Chain>,
    /// The most bytes in use at once since the last reset, as of the last time that memory was freed
    /// or a block was added. Atomic like all figures: other threads read it while the owner allocates.
    peak_bytes: AtomicUsize,
    /// The same over all periods.
    highest_peak_bytes: AtomicUsize,
    /// The most bytes that may be in use at once.
    limit_bytes: usize,
    /// A reset keeps a first block of up to this size: it is likely to be in the cache.
    kept_bytes: usize,
    store: Arc<Store>,
    /// The stamp of the newest scope, or `UNSET`.
    scope_stamp: Stamp,
    /// Who asked for it, if the feature `sites` is on.
    sites: SiteTable,
    /// Makes the arena `!Sync` by itself, so that the compiler names it.
    _bound: ThreadBound,
}

// SAFETY:
// - the blocks and the drop list are owned by the arena and have no thread affinity;
// - values in the drop list are `Send` (see `drop_at_recycle`);
// - what handles name in the arena's memory is `Send` and `Sync`;
// - whatever else lies there is borrowed from the arena, which does not move meanwhile.
unsafe impl Send for FrameArena {}

// A panic leaves no state half-made: see the tests of panics.
impl RefUnwindSafe for FrameArena {}
impl UnwindSafe for FrameArena {}

/// # Making one
impl FrameArena {
    /// Creates a standalone arena that has `capacity_bytes` in one piece from the start.
    ///
    /// It takes further blocks when it is full; [`with_settings`](Self::with_settings) can set a
    /// limit instead.
    ///
    /// # Panics
    /// If the global allocator refuses.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArena;
    ///
    /// let arena = FrameArena::new(64 << 10);
    /// assert_eq!(arena.block_remaining_bytes(), 64 << 10);
    /// ```
    #[track_caller]
    pub fn new(capacity_bytes: usize) -> Self {
        match Self::try_new(capacity_bytes) {
            Ok(arena) => arena,
            Err(error) => fail(error),
        }
    }

    /// Creates a standalone arena, like [`new`](Self::new).
    ///
    /// # Errors
    /// [`ArenaError::AllocationFailed`] if the global allocator refuses.
    pub fn try_new(capacity_bytes: usize) -> Result<Self, ArenaError> {
        let mut arena = Self::with_settings(&FrameArenaSettings {
            block_bytes: capacity_bytes,
            ..FrameArenaSettings::default()
        });
        if capacity_bytes > 0 {
            arena.add_block(capacity_bytes)?;
            arena.kept_bytes = arena.kept_bytes.max(arena.held_bytes());
        }
        Ok(arena)
    }

    /// Creates a standalone arena that takes no memory before its first allocation.
    ///
    /// `trim_after_frames`, `lives_for` and `pretouch_bytes` have no effect on it: its owner calls
    /// [`reset`](Self::reset) and [`trim`](Self::trim).
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{FrameArena, FrameArenaSettings};
    ///
    /// let arena = FrameArena::with_settings(&FrameArenaSettings {
    ///     worker_limit_bytes: Some(1024),
    ///     ..Default::default()
    /// });
    /// assert!(arena.try_alloc([0_u8; 2000]).is_err());
    /// ```
    pub fn with_settings(settings: &FrameArenaSettings) -> Self {
        let store = Arc::new(Store::new(settings));
        Self::in_store(settings, store, stamp::standalone())
    }

    pub(crate) fn in_store(settings: &FrameArenaSettings, store: Arc<Store>, stamp: Stamp) -> Self {
        Self {
            cursor: OwnerOnly(Cursor::nowhere()),
            stamp,
            needs_cleanup: OwnerOnly(Cell::new(marks_dead(settings.fill_recycled))),
            fill_recycled: settings.fill_recycled,
            drops: OwnerOnly(DropList::default()),
            chain: OwnerOnly(Chain::default()),
            peak_bytes: AtomicUsize::new(0),
            highest_peak_bytes: AtomicUsize::new(0),
            limit_bytes: settings.worker_limit_bytes.unwrap_or(usize::MAX),
            kept_bytes: store.sizes().ordinary_bytes(),
            store,
            scope_stamp: UNSET,
            sites: SiteTable::default(),
            _bound: ThreadBound::new(),
        }
    }

    /// Returns the stamp of the current period, for comparing.
    #[inline(always)]
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Returns the stamp for a handle to memory of this arena, and marks the arena as shared: it
    /// keeps its blocks for as long as handles resolve.
    ///
    /// Every handle gets its stamp here, or after [`take_shared`](Self::take_shared).
    #[inline(always)]
    pub(crate) fn stamp_to_share(&self) -> Stamp {
        self.cursor.mark_shared();
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

    /// Takes `size` bytes from the active block, if they fit.
    #[inline(always)]
    fn take(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        self.cursor.take(size, align)
    }

    /// Returns the bytes in use, as the owner sees them.
    #[inline]
    fn used_now(&self) -> usize {
        self.chain.closed_bytes() + self.cursor.used_bytes()
    }
}

/// A standalone arena with small blocks, the first of which it takes with its first allocation.
impl Default for FrameArena {
    fn default() -> Self {
        Self::with_settings(&FrameArenaSettings {
            block_bytes: STANDALONE_BLOCK_BYTES,
            ..FrameArenaSettings::default()
        })
    }
}

impl Drop for FrameArena {
    fn drop(&mut self) {
        let mut panic = FirstPanic::default();
        self.run_drops(&mut panic);
        self.give_all_blocks();
        panic.resume();
    }
}

impl fmt::Debug for FrameArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameArena")
            .field("used_bytes", &self.used_bytes())
            .field("held_bytes", &self.held_bytes())
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
