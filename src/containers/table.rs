//! The memory of a map or set, and how it grows.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

use std::alloc::Layout;
use std::cell::Cell;
use std::hash::{BuildHasher, Hash};
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator};
use hashbrown::{HashMap, HashSet, TryReserveError};

use crate::arena::FrameArena;
use crate::error::{ArenaError, fail};

/// The allocator of a [`FrameMap`](crate::FrameMap) or [`FrameSet`](crate::FrameSet): for naming the
/// hashbrown types that they lend.
///
/// It is the arena, except that a refusal panics with the text of the [`ArenaError`]. hashbrown
/// aborts the process where an allocator returns an error.
///
/// ```
/// use bevy_frame_arena::{FrameArena, TableMemory};
/// use hashbrown::HashSet;
///
/// fn count_common<S: std::hash::BuildHasher>(
///     a: &HashSet<u32, S, TableMemory<'_>>,
///     b: &HashSet<u32, S, TableMemory<'_>>,
/// ) -> usize {
///     a.intersection(b).count()
/// }
///
/// let arena = FrameArena::new(4096);
/// let (mut a, mut b) = (arena.set(), arena.set());
/// a.extend([1, 2, 3]);
/// b.extend([2, 3, 4]);
/// assert_eq!(count_common(&a, &b), 2);
/// ```
#[derive(Debug)]
pub struct TableMemory<'a> {
    arena: &'a FrameArena,
    /// Whether the next refusal is returned instead of a panic.
    asked: Cell<bool>,
    refusal: Cell<Option<ArenaError>>,
}

impl<'a> TableMemory<'a> {
    pub(super) const fn new(arena: &'a FrameArena) -> Self {
        Self {
            arena,
            asked: Cell::new(false),
            refusal: Cell::new(None),
        }
    }

    #[inline]
    pub(super) const fn arena(&self) -> &'a FrameArena {
        self.arena
    }
}

/// Of the same arena.
impl Clone for TableMemory<'_> {
    fn clone(&self) -> Self {
        Self::new(self.arena)
    }
}

// SAFETY:
// - blocks are those of the arena, and valid while it is borrowed, wherever this value moves;
// - `allocate` may unwind, and has changed nothing then;
// - clones are of the same arena.
unsafe impl Allocator for TableMemory<'_> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        match self.arena.try_alloc_layout(layout) {
            Ok(block) => Ok(NonNull::slice_from_raw_parts(block, layout.size())),
            Err(error) if self.asked.get() => {
                self.refusal.set(Some(error));
                Err(AllocError)
            }
            Err(error) => fail(error),
        }
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller gives up the block, which has this layout.
        unsafe { self.arena.free_block(block, layout.size()) };
    }
}

/// What maps and sets of hashbrown have in common.
pub(super) trait Table {
    fn memory(&self) -> &TableMemory<'_>;
    fn room(&self) -> usize;
    fn grow(&mut self, additional: usize) -> Result<(), TryReserveError>;
}

impl<K: Eq + Hash, V, S: BuildHasher> Table for HashMap<K, V, S, TableMemory<'_>> {
    fn memory(&self) -> &TableMemory<'_> {
        self.allocator()
    }

    #[inline(always)]
    fn room(&self) -> usize {
        self.capacity() - self.len()
    }

    fn grow(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.try_reserve(additional)
    }
}

impl<T: Eq + Hash, S: BuildHasher> Table for HashSet<T, S, TableMemory<'_>> {
    fn memory(&self) -> &TableMemory<'_> {
        self.allocator()
    }

    #[inline(always)]
    fn room(&self) -> usize {
        self.capacity() - self.len()
    }

    fn grow(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.try_reserve(additional)
    }
}

/// Makes room for `additional` more elements.
#[inline(always)]
pub(super) fn try_reserve(
    table: &mut impl Table,
    additional: usize,
    element_bytes: usize,
) -> Result<(), ArenaError> {
    // Compared here, because hashbrown's own comparison is out of line.
    if additional <= table.room() {
        return Ok(());
    }
    try_grow(table, additional, element_bytes)
}

#[cold]
fn try_grow(
    table: &mut impl Table,
    additional: usize,
    element_bytes: usize,
) -> Result<(), ArenaError> {
    table.memory().asked.set(true);
    let asking = Asking(table);
    asking.0.grow(additional).map_err(|_| {
        let refusal = asking.0.memory().refusal.take();
        // Without a refusal it was hashbrown, which found no layout for as many.
        refusal.unwrap_or(ArenaError::TooLong {
            len: additional,
            element_bytes,
        })
    })
}

/// A table that is asked for room. At the end its memory panics again, also if a hash function
/// does.
struct Asking<'t, T: Table>(&'t mut T);

impl<T: Table> Drop for Asking<'_, T> {
    fn drop(&mut self) {
        self.0.memory().asked.set(false);
    }
}

/// Returns how many elements to make room for, if an iterator yields at least `known`: half of them
/// where keys may repeat, as in hashbrown.
pub(super) const fn expected(known: usize, table_is_empty: bool) -> usize {
    if table_is_empty {
        known
    } else {
        known.div_ceil(2)
    }
}
