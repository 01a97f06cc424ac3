//! `FrameArena`: the bump region of one worker in one period.
#![expect(unsafe_code, reason = "says which threads may use an arena")]

mod allocator;
mod block;
mod bump;
mod chain;
mod cursor;
mod drops;
mod figures;
mod free;
mod owner;
mod poison;
mod refill;
mod reset;
mod sizes;
mod slices;
mod store;
mod store_of;
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
pub(crate) use self::free::Window;
pub(crate) use self::owner::OnOneThread;
use self::owner::{OwnerOnly, ThreadBound};
use self::reset::marks_dead;
pub(crate) use self::sizes::Purpose;
pub(crate) use self::slices::{array_layout, too_long};
pub(crate) use self::store::{Memory, Returning, Store};
use self::store_of::StoreOf;
pub(crate) use self::values::put;
use crate::error::{ArenaError, or_fail};
use crate::panics::FirstPanic;
use crate::settings::{FrameArenaSettings, STANDALONE_BLOCK_BYTES};
use crate::sites::{Site, SiteTable};
use crate::stamp::{self, Stamp};

/// A bump region: allocation moves a cursor, and everything is freed at once.
///
/// [`FrameArenas::local`](crate::FrameArenas::local) returns the calling worker's arena of the current frame.
/// An arena made with [`new`](Self::new) is standalone: its owner frees it with [`reset`](Self::reset).
///
/// `alloc` never runs destructors, and rejects types that have one at compile time. Put such values into a
/// [`FrameBox`](crate::FrameBox) or [`FrameVec`](crate::FrameVec), which drop them at the end of the scope,
/// or [`share`](Self::share) them: shared values are dropped when the arena is recycled.
///
/// Each method that allocates, except those that format text, has a `try_` twin. It returns an [`ArenaError`]
/// where the plain method panics with the same text.
///
/// | | a reference, within the system | a handle, for other systems and the next frame | a container, which grows and drops |
/// |---|---|---|---|
/// | a value | [`alloc`], [`alloc_with`] | [`share`] | [`boxed`] |
/// | a copy of a slice | [`alloc_slice_copy`] | [`share_slice_copy`] | [`vec`], `extend_from_slice` |
/// | a slice that is filled | [`alloc_slice_fill_copy`], [`…_with`](Self::alloc_slice_fill_with) | [`share_iter`] | [`vec`], `resize` |
/// | the elements of an iterator | [`collect`], `leak` | [`share_iter`] | [`collect`] |
/// | a slice that is aligned | [`alloc_slice_aligned`] | | |
/// | text | [`alloc_str`], [`alloc_fmt`] | [`share_str`], [`share_fmt`] | [`string`] |
/// | raw memory | [`alloc_layout`] | | |
/// | a map, a set | | | [`map`], [`set`] |
///
/// [`alloc`]: Self::alloc
/// [`alloc_with`]: Self::alloc_with
/// [`share`]: Self::share
/// [`boxed`]: Self::boxed
/// [`alloc_slice_copy`]: Self::alloc_slice_copy
/// [`share_slice_copy`]: Self::share_slice_copy
/// [`vec`]: Self::vec
/// [`alloc_slice_fill_copy`]: Self::alloc_slice_fill_copy
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
// Aligned so that neighbours in a `ThreadLocal` share neither a cache line nor a prefetched pair of lines.
// The fields of the fast path come first.
#[doc(alias = "bump")]
#[doc(alias = "linear allocator")]
#[doc(alias = "frame allocator")]
#[repr(C, align(128))]
pub struct FrameArena {
    cursor: OwnerOnly<Cursor>,
    stamp: Stamp,
    /// Whether a reset has to do more than move the cursor: drop values, mark memory, or return blocks.
    needs_cleanup: OwnerOnly<Cell<bool>>,
    fill_recycled: bool,
    drops: OwnerOnly<DropList>,
    chain: OwnerOnly<Chain>,
    /// The peak since the last reset, updated when memory is freed. Atomic like all figures: other threads read
    /// it while the owner allocates.
    peak_bytes: AtomicUsize,
    /// The highest peak of all periods.
    highest_peak_bytes: AtomicUsize,
    /// The most bytes that may be in use at once.
    limit_bytes: usize,
    /// A reset keeps one block of up to this size, which is likely to be in the cache.
    hot_bytes: usize,
    store: StoreOf,
    /// The sites that asked for the arena, with the feature `sites`.
    sites: SiteTable,
    /// The only field that makes the arena `!Sync`, so that compiler errors show its message.
    _bound: ThreadBound,
}

// SAFETY:
// - the blocks and the drop list are owned by the arena and have no thread affinity;
// - values in the drop list are `Send` (see `drop_at_recycle`);
// - data behind handles is `Send` and `Sync`;
// - all other data is borrowed from the arena, which does not move while it is borrowed.
unsafe impl Send for FrameArena {}

// A panic leaves the arena in a consistent state: see the tests of panics.
impl RefUnwindSafe for FrameArena {}
impl UnwindSafe for FrameArena {}

/// # Creating an arena
impl FrameArena {
    /// Creates a standalone arena with room for `capacity_bytes` in its first block.
    ///
    /// When it is full, it takes further blocks. [`with_settings`](Self::with_settings) can set a limit
    /// instead.
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
        or_fail(Self::try_new(capacity_bytes))
    }

    /// Creates a standalone arena, like [`new`](Self::new).
    ///
    /// # Errors
    /// [`ArenaError::AllocationFailed`] if the global allocator refuses.
    pub fn try_new(capacity_bytes: usize) -> Result<Self, ArenaError> {
        let mut arena = Self::try_with_settings(&FrameArenaSettings {
            block_bytes: capacity_bytes,
            ..FrameArenaSettings::default()
        })?;
        if capacity_bytes > 0 {
            arena.add_block(capacity_bytes)?;
            arena.hot_bytes = arena.hot_bytes.max(arena.held_bytes());
        }
        Ok(arena)
    }

    /// Creates a standalone arena. It takes its first block with its first allocation.
    ///
    /// `trim_after_periods`, `lives_for` and `pretouch_bytes` have no effect on it: its owner calls
    /// [`reset`](Self::reset) and [`trim`](Self::trim).
    ///
    /// # Panics
    /// If the global allocator refuses the 5 KiB for the arena's bookkeeping.
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
    #[track_caller]
    pub fn with_settings(settings: &FrameArenaSettings) -> Self {
        or_fail(Self::try_with_settings(settings))
    }

    fn try_with_settings(settings: &FrameArenaSettings) -> Result<Self, ArenaError> {
        let requested = size_of::<Store>();
        let store = StoreOf::try_one(settings).ok_or(ArenaError::AllocationFailed { requested })?;
        Ok(Self::with_store(
            settings,
            store,
            stamp::Lone::Standalone.block(),
        ))
    }

    pub(crate) fn in_store(settings: &FrameArenaSettings, store: Arc<Store>, stamp: Stamp) -> Self {
        Self::with_store(settings, StoreOf::Many(store), stamp)
    }

    fn with_store(settings: &FrameArenaSettings, store: StoreOf, stamp: Stamp) -> Self {
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
            hot_bytes: store.sizes().first_bytes(),
            store,
            sites: SiteTable::default(),
            _bound: ThreadBound::new(),
        }
    }

    /// Returns the stamp of the current period. For a handle, use [`stamp_to_share`](Self::stamp_to_share),
    /// unless the arena is already marked as shared.
    #[inline(always)]
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Returns the stamp for a handle to memory of this arena, and marks the arena as shared. A shared arena
    /// keeps its blocks for as long as its handles resolve.
    ///
    /// Every handle gets its stamp here, or after [`take_shared_for`](Self::take_shared_for).
    #[inline(always)]
    pub(crate) fn stamp_to_share(&self) -> Stamp {
        self.cursor.mark_shared();
        self.stamp
    }

    /// Sets the stamp of the period in which the arena is used next. The arena must be empty.
    pub(crate) fn set_stamp(&mut self, stamp: Stamp) {
        debug_assert_eq!(self.used_bytes(), 0);
        self.stamp = stamp;
    }

    /// Records the site that asked for the arena, and returns the arena.
    #[inline(always)]
    pub(crate) fn asked_for_at(&self, site: Site) -> &Self {
        self.sites.open(site, || self.used_now());
        self
    }

    /// Returns the sites that asked for the arena. Any thread may read them.
    #[inline(always)]
    pub(crate) fn sites(&self) -> &SiteTable {
        &self.sites
    }

    /// Takes `size` bytes from the active block, if they fit.
    #[inline(always)]
    fn take(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        self.cursor.take(size, align)
    }

    /// Returns the bytes in use. The value is exact only for the owner.
    #[inline]
    fn used_now(&self) -> usize {
        // If another thread reads during a change of blocks, the sum may be meaningless and may wrap around.
        // `used_bytes` caps it.
        self.chain
            .closed_bytes()
            .wrapping_add(self.cursor.used_bytes())
    }
}

/// A standalone arena with small blocks. It takes its first block with its first allocation.
impl Default for FrameArena {
    #[track_caller]
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

/// Returns the aligned, dangling pointer of a zero-sized allocation.
fn dangling(layout: Layout) -> NonNull<u8> {
    NonNull::without_provenance(
        layout
            .align()
            .try_into()
            .expect("an alignment is never zero"),
    )
}
