//! The allocator of maps and sets, and how they grow.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator};
use hashbrown::TryReserveError;

use crate::arena::FrameArena;
use crate::error::{ArenaError, fail};

/// The allocator of a [`FrameMap`](crate::FrameMap) or [`FrameSet`](crate::FrameSet). Use it to name the
/// hashbrown types that they deref to: `&HashSet<u32, S, TableMemory<'_>>`.
///
/// It allocates from the arena, but panics with the text of the [`ArenaError`] where the arena returns an
/// error. hashbrown would abort the process.
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
}

/// The bound for a map to leave its thread. Nothing implements it: it exists for its message.
#[diagnostic::on_unimplemented(
    message = "a map in an arena can't leave the system and thread that made it",
    label = "this keeps arena memory of one frame and one thread",
    note = "to pass its contents on, make a sorted list of them and `share()` that, or let all workers \
            make lists for each key: `arenas.collector()` and `share_cell_map`"
)]
trait ListedInstead {}

// SAFETY: nothing implements the bound, so this sends nothing.
unsafe impl<'a> Send for TableMemory<'a> where &'a FrameArena: ListedInstead {}
// SAFETY: nothing implements the bound, so this shares nothing.
unsafe impl<'a> Sync for TableMemory<'a> where &'a FrameArena: ListedInstead {}

/// Clones are of the same arena.
impl Clone for TableMemory<'_> {
    fn clone(&self) -> Self {
        Self::new(self.arena)
    }
}

// SAFETY:
// - blocks are those of the arena, and valid while it is borrowed, wherever this value moves;
// - if `allocate` unwinds, it has changed nothing;
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

/// Calls `grow` on a map or set of hashbrown, and returns the arena's error if that fails.
#[cold]
pub(super) fn try_grow<'a, T>(
    table: &mut T,
    memory: fn(&T) -> &TableMemory<'a>,
    grow: impl FnOnce(&mut T) -> Result<(), TryReserveError>,
    too_long: impl FnOnce() -> ArenaError,
) -> Result<(), ArenaError> {
    let asking = Asking(table, memory);
    memory(asking.0).asked.set(true);
    // If the arena refused nothing, hashbrown found no layout for so many elements.
    grow(asking.0).map_err(|_| memory(asking.0).refusal.take().unwrap_or_else(too_long))
}

/// A table during `try_reserve`, when refusals are returned. When this is dropped, even by a panic of a hash
/// function, refusals panic again.
struct Asking<'t, 'a, T>(&'t mut T, fn(&T) -> &TableMemory<'a>);

impl<T> Drop for Asking<'_, '_, T> {
    fn drop(&mut self) {
        (self.1)(self.0).asked.set(false);
    }
}
