//! The memory of a map or set, and how it grows.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator};
use hashbrown::TryReserveError;

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

/// What a map would have to be to leave its thread. Nothing is: it exists for its message.
#[diagnostic::on_unimplemented(
    message = "a map in an arena can't leave the system and thread that made it",
    label = "this keeps arena memory of one frame and one thread",
    note = "to pass its contents on, make a sorted list of them and `share()` that, or let all workers \
            make lists for each key: `arenas.collector()` and `share_cell_map`"
)]
trait ListedInstead {}

// SAFETY: nothing implements the bound, so this sends nothing.
unsafe impl<'a> Send for TableMemory<'a> where &'a FrameArena: ListedInstead {}
// SAFETY: as above.
unsafe impl<'a> Sync for TableMemory<'a> where &'a FrameArena: ListedInstead {}

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

/// Makes a map or set of hashbrown grow by `additional` elements, with the arena's error if it can't.
#[cold]
pub(super) fn try_grow<'a, T>(
    table: &mut T,
    memory: fn(&T) -> &TableMemory<'a>,
    grow: impl FnOnce(&mut T) -> Result<(), TryReserveError>,
    too_long: ArenaError,
) -> Result<(), ArenaError> {
    let asking = Asking(table, memory);
    memory(asking.0).asked.set(true);
    // Without a refusal by the arena it was hashbrown, which found no layout for as many.
    grow(asking.0).map_err(|_| memory(asking.0).refusal.take().unwrap_or(too_long))
}

/// A table that is asked for room. At the end its memory panics again, also if a hash function
/// does.
struct Asking<'t, 'a, T>(&'t mut T, fn(&T) -> &TableMemory<'a>);

impl<T> Drop for Asking<'_, '_, T> {
    fn drop(&mut self) {
        (self.1)(self.0).asked.set(false);
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
