//! `FreeList`: a block of an arena, for containers that free what they outgrow.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

mod allocator;

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ptr::NonNull;

use rlsf::{GRANULARITY, Tlsf};

use crate::arena::FrameArena;
use crate::error::{ArenaError, fail};

/// Lists of free blocks by size: 32 for each power of two, up to 512 MiB with 64-bit addresses.
type Lists<'a> = Tlsf<'a, u32, u32, 24, LISTS_PER_POWER>;

const LISTS_PER_POWER: usize = 32;

/// What is in front of each block that is in use.
const HEADER_BYTES: usize = GRANULARITY / 2;

/// A block of an arena from which containers take memory and give it back. Use it in a system whose
/// maps and lists grow and shrink again and again: in the arena itself, what they outgrow stays
/// used until the frame is recycled.
///
/// `&FreeList` is an allocator for hashbrown's maps, for the containers of `allocator_api2`, and for
/// [`Pool`](crate::Pool). Blocks are found, split and joined with their neighbours in constant time,
/// by the crate [`rlsf`](https://docs.rs/rlsf) (two-level segregated fit).
///
/// It does not grow. **A container of another crate aborts the process if it finds no memory**:
/// reserve with `try_reserve` where that may be, or look at
/// [`largest_free_bytes`](Self::largest_free_bytes).
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
/// # use bevy_frame_arena::{FrameArena, FreeList, Pool};
/// # let arena = FrameArena::default();
/// let list = FreeList::new_in(4096, &arena);
/// let mut pool = Pool::new_in(&list);
/// drop(list);
/// pool.insert(1);
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
    /// In the arena, too: they take some kilobytes.
    lists: RefCell<&'a mut Lists<'a>>,
    /// A pointer that may access all blocks.
    region: NonNull<u8>,
    capacity_bytes: usize,
    used_bytes: Cell<usize>,
}

impl<'a> FreeList<'a> {
    /// Takes memory of an arena, with room for one block of at least `bytes`.
    ///
    /// No block is larger than 504 MiB (with 64-bit addresses): more than that is several of them.
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
        let (layout, capacity_bytes) = region_for(bytes).ok_or(ArenaError::TooLong {
            len: bytes,
            element_bytes: 1,
        })?;
        let lists = arena.try_alloc_with(Lists::new)?;
        let region = arena.try_alloc_layout(layout)?;
        let block = NonNull::slice_from_raw_parts(region, layout.size());
        // SAFETY: the block is fresh memory of the arena, which nobody else uses and which stays
        // while the arena is borrowed; the lists borrow it for as long.
        unsafe { lists.insert_free_block_ptr(block) };
        Ok(Self {
            lists: RefCell::new(lists),
            region,
            capacity_bytes,
            used_bytes: Cell::new(0),
        })
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
        self.capacity_bytes
    }

    /// Returns the bytes of the blocks in use, with their headers and what they are rounded up to.
    ///
    /// Those with an alignment beyond 16 bytes count with all the padding they may need.
    ///
    /// # Examples
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FreeList, Pool};
    /// # let arena = FrameArena::default();
    /// let list = FreeList::new_in(64 << 10, &arena);
    /// let mut pool = Pool::new_in(&list);
    /// pool.insert([0_u8; 1000]);
    /// assert!(list.used_bytes() > 1000);
    /// ```
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.get()
    }

    /// Returns the bytes of the blocks that are free.
    ///
    /// # Examples
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FreeList, Pool};
    /// # let arena = FrameArena::default();
    /// let list = FreeList::new_in(64 << 10, &arena);
    /// let pool = Pool::<u64, _>::with_limit_in(10, &list);
    /// assert_eq!(list.free_bytes(), list.capacity_bytes() - list.used_bytes());
    /// drop(pool);
    /// assert_eq!(list.free_bytes(), list.capacity_bytes());
    /// ```
    pub fn free_bytes(&self) -> usize {
        // Padding that is counted but was not needed is free, and may be counted again.
        self.capacity_bytes.saturating_sub(self.used_bytes.get())
    }

    /// Returns the most bytes that can be allocated at once now.
    ///
    /// It tries some sizes, so it takes as long as some tens of allocations.
    ///
    /// # Examples
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FreeList, Pool};
    /// # let arena = FrameArena::default();
    /// let list = FreeList::new_in(64 << 10, &arena);
    /// let before = list.largest_free_bytes();
    /// let pool = Pool::<u64, _>::with_limit_in(10, &list);
    /// assert!(list.largest_free_bytes() < before);
    /// drop(pool);
    /// assert_eq!(list.largest_free_bytes(), before);
    /// ```
    pub fn largest_free_bytes(&self) -> usize {
        let (mut fits, mut too_large) = (0, self.capacity_bytes);
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
    /// Blocks are found by their size, rounded down by 3 % at most: so much may be rounding.
    ///
    /// # Examples
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FreeList, Pool};
    /// # let arena = FrameArena::default();
    /// let list = FreeList::new_in(64 << 10, &arena);
    /// assert_eq!(list.fragmentation(), 0.0);
    /// let mut pools = [(); 4].map(|()| Pool::<u64, _>::with_limit_in(500, &list));
    /// pools[1] = Pool::new_in(&list); // leaves a hole
    /// assert!(list.fragmentation() > 0.1);
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
        let mut lists = self.lists.borrow_mut();
        let Some(block) = lists.allocate(layout) else {
            return false;
        };
        // SAFETY: the block was just allocated from these lists, with this alignment.
        unsafe { lists.deallocate(block, layout.align()) };
        true
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
    // Behind it is a block that ends the region.
    let region = block.checked_add(GRANULARITY)?;
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
