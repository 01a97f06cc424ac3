//! `FreeList`: blocks of an arena, for containers that free what they outgrow.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

mod allocator;

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ptr::NonNull;

use rlsf::{GRANULARITY, Tlsf};

use crate::arena::FrameArena;
use crate::error::{ArenaError, fail};

/// Lists of free blocks by size: 32 for each power of two, up to 64 GiB with 64-bit addresses.
type Lists<'a> = Tlsf<'a, u32, u32, MAX_POWERS, LISTS_PER_POWER>;

/// As many as fit into 32 bits and into an address.
const MAX_POWERS: usize = if usize::BITS > 32 { 32 } else { 27 };

const LISTS_PER_POWER: usize = 32;

/// What is in front of each block that is in use.
const HEADER_BYTES: usize = GRANULARITY / 2;

/// Sizes whose freed blocks wait for the next one of their size: up to 2 KiB with 64-bit addresses.
const QUICK_SIZES: usize = 64;

/// Memory of an arena that containers take in blocks and give back. Use it in a system whose maps and
/// lists grow and shrink again and again: in the arena itself, what they outgrow stays used until the
/// frame is recycled.
///
/// `&FreeList` is an allocator for hashbrown's maps and for the containers of `allocator_api2`. A
/// small block that was freed waits for the next one of its size. If none of that size waits, blocks are
/// found, split and joined with their neighbours in constant time, by the crate
/// [`rlsf`](https://docs.rs/rlsf) (two-level segregated fit). If all of that is not enough, the list
/// takes more of the arena, at least as much as it has.
///
/// **A container of another crate aborts the process if the arena refuses**, as it may under a
/// [budget](crate::FrameArenaSettings::budget_bytes) or a
/// [limit](crate::FrameArenaSettings::worker_limit_bytes): the trait `Allocator` has no room for the
/// reason. Call [`try_reserve`](Self::try_reserve) before filling one, or the container's own
/// `try_reserve` and, if that fails, [`last_error`](Self::last_error).
///
/// ```
/// use bevy_frame_arena::{FrameArenas, FreeList};
/// use hashbrown::HashMap;
///
/// let arenas = FrameArenas::default();
/// let list = FreeList::new_in(64 << 10, arenas.local());
/// let mut neighbours = HashMap::new_in(&list);
/// for n in 0..1000 {
///     neighbours.insert(n, n + 1); // the tables it outgrows are free again
/// }
/// drop(neighbours);
/// assert_eq!(list.used_bytes(), 0);
/// ```
///
/// What it hands out does not outlive the list, nor the list the arena's frame:
///
/// ```compile_fail,E0505
/// # use bevy_frame_arena::{FrameArena, FreeList};
/// # use hashbrown::HashMap;
/// # let arena = FrameArena::default();
/// let list = FreeList::new_in(4096, &arena);
/// let mut map = HashMap::new_in(&list);
/// drop(list);
/// map.insert(1, 2);
/// ```
///
/// ```compile_fail,E0502
/// # use bevy_frame_arena::{FrameArena, FreeList};
/// # let mut arena = FrameArena::default();
/// let list = FreeList::new_in(4096, &arena);
/// arena.reset();
/// list.free_bytes();
/// ```
///
/// It stays on the thread of its arena:
///
/// ```compile_fail,E0277
/// # use bevy_frame_arena::{FrameArena, FreeList};
/// # let arena = FrameArena::default();
/// let list = FreeList::new_in(4096, &arena);
/// std::thread::scope(|scope| {
///     scope.spawn(|| list.free_bytes());
/// });
/// ```
pub struct FreeList<'a> {
    arena: &'a FrameArena,
    /// In the arena, too: it takes some kilobytes.
    state: &'a State<'a>,
}

struct State<'a> {
    /// Just-freed blocks by size, which are in use for `lists`. No more than a multiple of
    /// `GRANULARITY` makes a difference there, so all of one list are equal.
    quick: [Cell<Option<NonNull<Waiting>>>; QUICK_SIZES],
    lists: RefCell<Lists<'a>>,
    newest: Cell<Option<NonNull<Region>>>,
    capacity_bytes: Cell<usize>,
    /// The bytes of the blocks in use, for `lists`.
    taken_bytes: Cell<usize>,
    last_error: Cell<Option<ArenaError>>,
}

/// What a just-freed block begins with.
struct Waiting {
    next: Option<NonNull<Waiting>>,
}

/// What memory of the arena begins with; blocks are behind it.
#[derive(Clone, Copy)]
struct Region {
    bytes: usize,
    older: Option<NonNull<Region>>,
}

impl<'a> FreeList<'a> {
    /// Takes memory of an arena, with room for one block of at least `bytes`.
    ///
    /// It takes some kilobytes more, for the lists of free blocks. The arena has all of it back when
    /// it is recycled.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{FrameArena, FreeList};
    ///
    /// let arena = FrameArena::new(64 << 10);
    /// let list = FreeList::new_in(10_000, &arena);
    /// assert!(list.largest_free_bytes() >= 10_000);
    /// ```
    #[track_caller]
    pub fn new_in(bytes: usize, arena: &'a FrameArena) -> Self {
        match Self::try_new_in(bytes, arena) {
            Ok(list) => list,
            Err(error) => fail(error),
        }
    }

    /// Takes memory of an arena, like [`new_in`](Self::new_in).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    pub fn try_new_in(bytes: usize, arena: &'a FrameArena) -> Result<Self, ArenaError> {
        let state = arena.try_alloc_with(|| State {
            quick: [const { Cell::new(None) }; QUICK_SIZES],
            lists: RefCell::new(Lists::new()),
            newest: Cell::new(None),
            capacity_bytes: Cell::new(0),
            taken_bytes: Cell::new(0),
            last_error: Cell::new(None),
        })?;
        let list = Self { arena, state };
        list.add_region(bytes)?;
        Ok(list)
    }

    /// Makes sure that a block of `bytes` can be allocated.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    ///
    /// # Examples
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FreeList};
    /// # let arena = FrameArena::default();
    /// let list = FreeList::new_in(4096, &arena);
    /// list.try_reserve(10_000)?;
    /// assert!(list.largest_free_bytes() >= 10_000);
    /// # Ok::<(), bevy_frame_arena::ArenaError>(())
    /// ```
    pub fn try_reserve(&self, bytes: usize) -> Result<(), ArenaError> {
        if self.largest_free_bytes() < bytes {
            self.add_region(bytes)?;
        }
        Ok(())
    }

    /// Returns why the arena refused last, if it ever has.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{FrameArena, FrameArenaSettings, FreeList};
    /// use hashbrown::HashMap;
    ///
    /// let arena = FrameArena::with_settings(&FrameArenaSettings {
    ///     budget_bytes: Some(64 << 10),
    ///     ..Default::default()
    /// });
    /// let list = FreeList::new_in(4096, &arena);
    /// let mut map = HashMap::<u64, u64, hashbrown::DefaultHashBuilder, _>::new_in(&list);
    /// if map.try_reserve(100_000).is_err() {
    ///     let error = list.last_error().expect("a reason");
    ///     assert!(error.to_string().contains("budget"));
    /// }
    /// ```
    pub fn last_error(&self) -> Option<ArenaError> {
        self.state.last_error.get()
    }

    /// Returns the bytes of all blocks, used and free.
    ///
    /// # Examples
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FreeList};
    /// # let arena = FrameArena::default();
    /// let list = FreeList::new_in(10_000, &arena);
    /// assert_eq!(list.capacity_bytes(), list.free_bytes());
    /// ```
    pub fn capacity_bytes(&self) -> usize {
        self.state.capacity_bytes.get()
    }

    /// Returns the bytes of the blocks in use, with their headers and what they are rounded up to.
    ///
    /// Those with an alignment beyond 16 bytes count with all the padding they may need. Blocks that wait
    /// for the next one of their size are counted one by one.
    ///
    /// # Examples
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FreeList};
    /// # let arena = FrameArena::default();
    /// let list = FreeList::new_in(64 << 10, &arena);
    /// let set = hashbrown::HashSet::<u64, hashbrown::DefaultHashBuilder, _>::with_capacity_in(100, &list);
    /// assert!(list.used_bytes() > 800);
    /// ```
    pub fn used_bytes(&self) -> usize {
        self.state.taken_bytes.get() - self.waiting_bytes()
    }

    /// Returns the bytes of the blocks that are free.
    ///
    /// # Examples
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FreeList};
    /// # let arena = FrameArena::default();
    /// let list = FreeList::new_in(64 << 10, &arena);
    /// let set = hashbrown::HashSet::<u64, hashbrown::DefaultHashBuilder, _>::with_capacity_in(100, &list);
    /// assert_eq!(list.free_bytes(), list.capacity_bytes() - list.used_bytes());
    /// ```
    pub fn free_bytes(&self) -> usize {
        // Padding that is counted but was not needed is free, and may be counted again.
        self.capacity_bytes().saturating_sub(self.used_bytes())
    }

    /// Returns the most bytes that can be allocated at once without taking more of the arena.
    ///
    /// It joins all free blocks and tries some sizes, so it takes as long as some tens of allocations.
    ///
    /// # Examples
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FreeList};
    /// # let arena = FrameArena::default();
    /// let list = FreeList::new_in(10_000, &arena);
    /// let before = list.largest_free_bytes();
    /// let set = hashbrown::HashSet::<u64, hashbrown::DefaultHashBuilder, _>::with_capacity_in(100, &list);
    /// assert!(list.largest_free_bytes() < before);
    /// drop(set);
    /// assert_eq!(list.largest_free_bytes(), before);
    /// ```
    pub fn largest_free_bytes(&self) -> usize {
        self.join();
        let (mut fits, mut too_large) = (0, self.capacity_bytes());
        while too_large - fits > 1 {
            let bytes = fits + (too_large - fits) / 2;
            if self.has_room_for(bytes) {
                fits = bytes;
            } else {
                too_large = bytes;
            }
        }
        fits
    }

    /// Returns which part of the free bytes is not in the largest block: 0 if all of them can be
    /// allocated at once, near 1 if they are in crumbs.
    ///
    /// Blocks are found by their size, rounded down by 3 % at most: so much may be rounding. What was
    /// taken of the arena at different times does not join.
    ///
    /// # Examples
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FreeList};
    /// # let arena = FrameArena::default();
    /// let list = FreeList::new_in(64 << 10, &arena);
    /// assert_eq!(list.fragmentation(), 0.0);
    /// ```
    pub fn fragmentation(&self) -> f32 {
        let free = self.free_bytes();
        let largest = match self.largest_free_bytes() {
            0 => 0,
            bytes => bytes + HEADER_BYTES,
        };
        if free == 0 {
            return 0.0;
        }
        1.0 - (largest as f32 / free as f32).min(1.0)
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        let Ok(layout) = Layout::from_size_align(bytes, 1) else {
            return false;
        };
        let mut lists = self.state.lists.borrow_mut();
        let Some(block) = lists.allocate(layout) else {
            return false;
        };
        // SAFETY: the block was just allocated from these lists, with this alignment.
        unsafe { lists.deallocate(block, layout.align()) };
        true
    }

    /// Takes memory of the arena for a block of at least `bytes`.
    #[cold]
    fn add_region(&self, bytes: usize) -> Result<(), ArenaError> {
        let state = self.state;
        let (layout, block_bytes) = region_for(bytes).ok_or(ArenaError::TooLong {
            len: bytes,
            element_bytes: 1,
        })?;
        let region = self.arena.try_alloc_layout(layout)?.cast::<Region>();
        let head = Region {
            bytes: layout.size(),
            older: state.newest.replace(Some(region)),
        };
        // SAFETY: the memory is fresh, aligned, and has room for it.
        unsafe { region.write(head) };
        // SAFETY: the blocks are behind the head.
        let start = unsafe { region.cast::<u8>().add(GRANULARITY) };
        let blocks = NonNull::slice_from_raw_parts(start, layout.size() - GRANULARITY);
        // SAFETY: it is fresh memory of the arena, which nobody else uses and which stays while the
        // arena is borrowed; the lists borrow it for as long.
        unsafe { state.lists.borrow_mut().insert_free_block_ptr(blocks) };
        state
            .capacity_bytes
            .set(state.capacity_bytes.get() + block_bytes);
        Ok(())
    }
}

impl fmt::Debug for FreeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeList")
            .field("capacity_bytes", &self.capacity_bytes())
            .field("used_bytes", &self.used_bytes())
            .finish_non_exhaustive()
    }
}

/// Returns the layout of a region with room for one block of at least `bytes`, and the bytes of that
/// block with its header.
fn region_for(bytes: usize) -> Option<(Layout, usize)> {
    let needed = bytes
        .checked_add(HEADER_BYTES)?
        .checked_next_multiple_of(GRANULARITY)?;
    // A list holds the blocks from its size on: one that is a little larger is not used to the end.
    let step = (1 << needed.ilog2()) / LISTS_PER_POWER;
    let block = needed.checked_next_multiple_of(step.max(GRANULARITY))?;
    // Before it is the region's head, and behind it a block that ends the region.
    let region = block.checked_add(2 * GRANULARITY)?;
    let layout = Layout::from_size_align(region, GRANULARITY).ok()?;
    Some((layout, block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_has_room_for_what_was_asked_and_all_of_it_can_be_used() {
        let arena = FrameArena::default();
        for bytes in [0, 1, 16, 17, 100, 1000, 4096, 10_000, 70_000] {
            let list = FreeList::new_in(bytes, &arena);
            let largest = list.largest_free_bytes();
            assert!(largest >= bytes, "{largest} of {bytes}");
            assert_eq!(largest + HEADER_BYTES, list.capacity_bytes(), "{bytes}");
            assert_eq!(list.fragmentation(), 0.0, "{bytes}");
        }
    }

    #[test]
    fn sizes_beyond_all_addresses_have_no_region() {
        assert!(region_for(usize::MAX).is_none());
        assert!(region_for(isize::MAX as usize).is_none());
    }
}
