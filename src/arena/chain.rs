//! The chunks of an arena, in the order in which it uses them.
#![forbid(unsafe_code)]

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use super::bump;
use super::chunk::Chunk;
use super::cursor::Cursor;
use crate::error::ArenaError;

/// The chunks: used ones, the active one, and free ones behind it.
///
/// The figures are atomic so that other threads can read them; the owner alone writes them.
#[derive(Default)]
pub(super) struct Chain {
    chunks: RefCell<Vec<Chunk>>,
    /// The index of the active chunk.
    active: Cell<usize>,
    /// Bytes used in the chunks before the active one.
    closed_bytes: AtomicUsize,
    capacity_bytes: AtomicUsize,
    /// How often the arena moved on to another chunk since it was rewound. It stays at its largest:
    /// scopes give back what they took and not the count, so an arena that lives by scopes alone may
    /// get there.
    moves: AtomicU32,
}

/// How far an arena has come: all that was handed out so far lies before it.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    /// The index of the active chunk.
    active: usize,
    /// Bytes used in it.
    used_bytes: usize,
    /// Bytes used in the chunks before it.
    closed_bytes: usize,
}

impl Chain {
    /// Returns how far the arena has come.
    #[inline]
    pub(super) fn place(&self, cursor: &Cursor) -> Place {
        Place {
            active: self.active.get(),
            used_bytes: cursor.used_bytes(),
            closed_bytes: self.closed_bytes(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.borrow().is_empty()
    }

    /// Whether the first chunk is the active one.
    pub(super) fn is_rewound(&self) -> bool {
        self.active.get() == 0
    }

    /// Returns the bytes used in the chunks before the active one.
    #[inline]
    pub(super) fn closed_bytes(&self) -> usize {
        self.closed_bytes.load(Relaxed)
    }

    /// Returns the bytes of all chunks.
    pub(super) fn capacity_bytes(&self) -> usize {
        self.capacity_bytes.load(Relaxed)
    }

    /// Returns how often the arena moved on to another chunk since it was rewound.
    pub(super) fn moves(&self) -> u32 {
        self.moves.load(Relaxed)
    }

    /// Moves on to the first chunk behind the active one that has room for `layout`.
    pub(super) fn activate_kept(&self, cursor: &Cursor, layout: Layout) -> bool {
        let mut chunks = self.chunks.borrow_mut();
        let next = self.active.get() + 1;
        let has_room = |chunk: &Chunk| {
            let start = chunk.start().addr();
            bump::bump(start, chunk.end_address(), layout.size(), layout.align()).is_some()
        };
        let Some(found) = (next..chunks.len()).find(|&index| has_room(&chunks[index])) else {
            return false;
        };
        chunks.swap(next, found);
        self.activate(cursor, &mut chunks, next);
        true
    }

    /// Puts a chunk behind the active one and activates it.
    pub(super) fn push(&self, cursor: &Cursor, chunk: Chunk) -> Result<(), ArenaError> {
        self.reserve_place()?;
        let mut chunks = self.chunks.borrow_mut();
        let capacity_bytes = self.capacity_bytes() + chunk.bytes();
        self.capacity_bytes.store(capacity_bytes, Relaxed);
        chunks.push(chunk);
        // Chunks that were too small for the layout at hand stay free for the next one.
        let last = chunks.len() - 1;
        let next = last.min(self.active.get() + 1);
        chunks.swap(next, last);
        self.activate(cursor, &mut chunks, next);
        Ok(())
    }

    /// Makes room for one more chunk in the list.
    ///
    /// The list is not borrowed while the global allocator works: it may use the arena.
    fn reserve_place(&self) -> Result<(), ArenaError> {
        loop {
            let len = self.chunks.borrow().len();
            if len < self.chunks.borrow().capacity() {
                return Ok(());
            }
            let places = 2 * len + 4;
            let mut longer = Vec::new();
            longer
                .try_reserve_exact(places)
                .map_err(|_| ArenaError::AllocationFailed {
                    requested: Layout::array::<Chunk>(places).map_or(usize::MAX, |it| it.size()),
                })?;
            let mut chunks = self.chunks.borrow_mut();
            if chunks.len() < longer.capacity() {
                longer.append(&mut chunks);
                mem::swap(&mut *chunks, &mut longer);
            }
            drop(chunks);
            drop(longer);
        }
    }

    /// Makes the chunk at `index` the active one, and closes the one that was.
    fn activate(&self, cursor: &Cursor, chunks: &mut [Chunk], index: usize) {
        if index > 0 {
            let used = cursor.used_bytes();
            chunks[index - 1].used_bytes = used;
            self.closed_bytes.store(self.closed_bytes() + used, Relaxed);
            self.moves.store(self.moves().saturating_add(1), Relaxed);
        }
        self.active.set(index);
        cursor.enter(&chunks[index]);
    }

    /// Calls `visit` for the memory of each chunk that was handed out since `place`: where it
    /// starts, and how many bytes.
    pub(super) fn for_each_used_since(
        &mut self,
        place: Place,
        cursor: &Cursor,
        mut visit: impl FnMut(*mut u8, usize),
    ) {
        let active = *self.active.get_mut();
        let chunks = self.chunks.get_mut().iter().enumerate();
        for (index, chunk) in chunks.take(active + 1).skip(place.active) {
            let used = if index == active {
                cursor.used_bytes()
            } else {
                chunk.used_bytes
            };
            let before = if index == place.active {
                place.used_bytes
            } else {
                0
            };
            visit(chunk.start().wrapping_add(before), used - before);
        }
    }

    /// Returns to the first chunk; all of them are free.
    pub(super) fn rewind(&mut self, cursor: &mut Cursor) {
        self.rewind_to(Place::default(), cursor);
        *self.moves.get_mut() = 0;
    }

    /// Whether the arena has not moved on to another chunk since it was at `place`.
    #[inline]
    pub(super) fn is_active_at(&self, place: Place) -> bool {
        self.active.get() == place.active
    }

    /// Returns to a place in the active chunk: what comes after it is free.
    #[inline]
    pub(super) fn step_back_to(&mut self, place: Place, cursor: &mut Cursor) {
        debug_assert!(self.is_active_at(place));
        cursor.step_back_to(place.used_bytes);
    }

    /// Returns to a place that the arena has been at since it was rewound: what comes after it is
    /// free.
    ///
    /// The chunks before it, and its own, are where they were: those that are moved on to come
    /// behind the active one.
    pub(super) fn rewind_to(&mut self, place: Place, cursor: &mut Cursor) {
        // There was none yet if a scope made the first chunk, and then nothing was used.
        if let Some(chunk) = self.chunks.get_mut().get(place.active) {
            cursor.enter_at(chunk, place.used_bytes);
        }
        *self.active.get_mut() = place.active;
        *self.closed_bytes.get_mut() = place.closed_bytes;
    }

    /// Frees all chunks.
    pub(super) fn clear(&mut self, cursor: &mut Cursor) {
        self.rewind(cursor);
        *cursor = Cursor::nowhere();
        self.chunks.get_mut().clear();
        *self.capacity_bytes.get_mut() = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::arena::budget::Budget;

    #[test]
    fn an_arena_may_move_on_for_ever() {
        let budget = Arc::new(Budget::new(None));
        let (chain, cursor) = (Chain::default(), Cursor::nowhere());
        chain.moves.store(u32::MAX - 1, Relaxed);
        for _ in 0..4 {
            let chunk = Chunk::new(128, 1, &budget).expect("a small block");
            chain.push(&cursor, chunk).expect("a place in the list");
        }
        assert_eq!(chain.moves(), u32::MAX);
    }
}
