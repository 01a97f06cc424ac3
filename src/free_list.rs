//! `FreeList`: blocks of an arena for containers that grow and shrink.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

mod allocator;

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ptr::NonNull;

use rlsf::{GRANULARITY, Tlsf};

use crate::arena::{FrameArena, too_long};
use crate::containers::or_fail;
use crate::error::ArenaError;

/// Lists of free blocks by size: 32 for each power of two, up to 64 GiB with 64-bit addresses.
type Lists<'a> = Tlsf<'a, u32, u32, MAX_POWERS, LISTS_PER_POWER>;

/// The number of powers of two, limited by the 32 bits of a bitmap and by the size of an address.
const MAX_POWERS: usize = if usize::BITS > 32 { 32 } else { 27 };

const LISTS_PER_POWER: usize = 32;

/// The header in front of each allocated block.
const HEADER_BYTES: usize = GRANULARITY / 2;

/// The number of sizes with a list of freed blocks: up to 2 KiB with 64-bit addresses.
const QUICK_SIZES: usize = 64;

/// An allocator over memory of an arena, for containers that free their blocks. Use it in a system whose
/// maps and lists grow and shrink repeatedly: in the arena itself, outgrown blocks stay in use until the
/// period is recycled.
///
/// `&FreeList` is an allocator for hashbrown's maps and for the containers of `allocator_api2`. A freed
/// small block is reused for the next allocation of its size. If there is none of that size, the crate
/// [`rlsf`](https://docs.rs/rlsf) (two-level segregated fit) finds, splits and joins blocks in constant
/// time. If no free block is large enough, the list takes more memory from the arena: at least as much as
/// it has, or only the needed bytes if the arena refuses that.
///
/// **A container of another crate aborts the process if the arena refuses an allocation**, e.g. because
/// of a [budget](crate::FrameArenaSettings::budget_bytes) or a
/// [limit](crate::FrameArenaSettings::worker_limit_bytes): the trait `Allocator` cannot return the
/// reason. Call [`try_reserve`](Self::try_reserve) before filling a container, or the container's own
/// `try_reserve`.
///
/// ```
/// use bevy_frame_arena::{FrameArenas, FreeList};
/// use hashbrown::HashMap;
///
/// let arenas = FrameArenas::default();
/// let list = FreeList::new_in(64 << 10, arenas.local());
/// let capacity_bytes = list.capacity_bytes();
/// let mut neighbours = HashMap::new_in(&list);
/// for n in 0..1000 {
///     neighbours.insert(n, n + 1); // the tables it outgrows are free again
/// }
/// assert_eq!(list.capacity_bytes(), capacity_bytes); // it took no more from the arena
/// ```
///
/// A container cannot outlive the list, and the list cannot outlive the arena's period:
///
/// ```compile_fail,E0505
/// # use bevy_frame_arena::{FrameArena, FreeList};
/// # let arena = FrameArena::default();
/// let list = FreeList::new_in(4096, &arena);
/// let mut map = hashbrown::HashMap::new_in(&list);
/// drop(list);
/// map.insert(1, 2);
/// ```
///
/// ```compile_fail,E0502
/// # use bevy_frame_arena::{FrameArena, FreeList};
/// # let mut arena = FrameArena::default();
/// let list = FreeList::new_in(4096, &arena);
/// arena.reset();
/// list.capacity_bytes();
/// ```
pub struct FreeList<'a> {
    arena: &'a FrameArena,
    /// Also in the arena, because it takes some kilobytes.
    state: &'a State<'a>,
}

struct State<'a> {
    /// Freed small blocks, one list per size. TLSF still counts them as allocated. Sizes are multiples of
    /// `GRANULARITY`, so all blocks of a list are interchangeable.
    quick: [Cell<Option<NonNull<Waiting>>>; QUICK_SIZES],
    lists: RefCell<Lists<'a>>,
    newest: Cell<Option<NonNull<Region>>>,
    capacity_bytes: Cell<usize>,
}

/// The head of a freed small block.
struct Waiting {
    next: Option<NonNull<Waiting>>,
}

/// The head of a region, which is memory of the arena. Its blocks follow.
#[derive(Clone, Copy)]
struct Region {
    bytes: usize,
    older: Option<NonNull<Region>>,
}

impl<'a> FreeList<'a> {
    /// Creates a list with memory from an arena, with room for one block of at least `bytes`.
    ///
    /// It takes some kilobytes more, for the lists of free blocks. All of this memory is free again when
    /// the arena is recycled.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[track_caller]
    pub fn new_in(bytes: usize, arena: &'a FrameArena) -> Self {
        or_fail(Self::try_new_in(bytes, arena))
    }

    /// Creates a list as [`new_in`](Self::new_in) does, or returns the arena's error.
    pub fn try_new_in(bytes: usize, arena: &'a FrameArena) -> Result<Self, ArenaError> {
        let state = arena.try_alloc_with(|| State {
            quick: [const { Cell::new(None) }; QUICK_SIZES],
            lists: RefCell::new(Lists::new()),
            newest: Cell::new(None),
            capacity_bytes: Cell::new(0),
        })?;
        let list = Self { arena, state };
        list.add_region(bytes)?;
        Ok(list)
    }

    /// Makes sure that a block of `bytes` can be allocated, or returns the arena's error.
    pub fn try_reserve(&self, bytes: usize) -> Result<(), ArenaError> {
        self.join();
        if !self.has_room_for(bytes.max(1)) {
            self.add_region(bytes)?;
        }
        Ok(())
    }

    /// Returns the bytes of all blocks, used and free.
    pub fn capacity_bytes(&self) -> usize {
        self.state.capacity_bytes.get()
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

    /// Takes memory from the arena for a block of at least `bytes`.
    #[cold]
    fn add_region(&self, bytes: usize) -> Result<(), ArenaError> {
        let state = self.state;
        let (layout, block_bytes) = region_for(bytes).ok_or_else(|| too_long::<u8>(bytes))?;
        let region = self.arena.try_alloc_layout(layout)?.cast::<Region>();
        let head = Region {
            bytes: layout.size(),
            older: state.newest.replace(Some(region)),
        };
        // SAFETY: the memory is fresh, aligned and large enough for the head.
        unsafe { region.write(head) };
        // SAFETY: the blocks begin `GRANULARITY` bytes into the region, which is larger than that.
        let start = unsafe { region.cast::<u8>().add(GRANULARITY) };
        let blocks = NonNull::slice_from_raw_parts(start, layout.size() - GRANULARITY);
        // SAFETY: this is fresh memory of the arena, with no other user. It stays valid while the arena
        // is borrowed, and the lists live no longer.
        unsafe { state.lists.borrow_mut().insert_free_block_ptr(blocks) };
        let capacity_bytes = &state.capacity_bytes;
        capacity_bytes.set(capacity_bytes.get() + block_bytes);
        Ok(())
    }
}

impl fmt::Debug for FreeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeList")
            .field("capacity_bytes", &self.capacity_bytes())
            .finish_non_exhaustive()
    }
}

/// Returns the layout of a region with room for one block of at least `bytes`, and the bytes of that
/// block with its header.
fn region_for(bytes: usize) -> Option<(Layout, usize)> {
    let needed = bytes
        .checked_add(HEADER_BYTES)?
        .checked_next_multiple_of(GRANULARITY)?;
    // An allocation searches only lists whose lowest size is large enough, so a block can be used in full
    // only if it has the lowest size of its list.
    let step = (1 << needed.ilog2()) / LISTS_PER_POWER;
    let block = needed.checked_next_multiple_of(step.max(GRANULARITY))?;
    // The region's head is in front of the block, and a block that marks the end of the region is behind
    // it.
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
            let all = list.capacity_bytes() - HEADER_BYTES;
            assert!(all >= bytes, "{all} of {bytes}");
            assert!(list.has_room_for(all) && !list.has_room_for(all + 1));
        }
    }
}
