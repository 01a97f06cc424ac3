//! The destructors that run when a frame's memory is recycled.
#![expect(unsafe_code, reason = "drops values behind raw pointers")]

use std::alloc::Layout;
use std::cell::Cell;
use std::mem::needs_drop;
use std::ptr::NonNull;

use super::FrameArena;
use crate::error::ArenaError;
use crate::panics::FirstPanic;

/// A linked list of shared values that need dropping, kept in the arena itself.
#[derive(Default)]
pub(super) struct DropList {
    head: Cell<Option<NonNull<DropEntry>>>,
}

/// The newest entry of a list at some time.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct DropMark(Option<NonNull<DropEntry>>);

/// One value, or the elements of one slice.
struct DropEntry {
    next: Option<NonNull<DropEntry>>,
    values: NonNull<u8>,
    len: usize,
    drop_at: unsafe fn(NonNull<u8>, usize),
}

impl DropList {
    /// Adds values; `entry` is where the list keeps its note of them.
    ///
    /// # Safety
    /// - `entry` is valid for writes, and stays untouched until the list has run;
    /// - `values` stay in place until then, and nobody else drops or mutates them;
    /// - `T` may be dropped on any thread.
    unsafe fn push<T>(&self, entry: NonNull<DropEntry>, values: NonNull<[T]>) {
        let note = DropEntry {
            next: self.head.get(),
            values: values.cast(),
            len: values.len(),
            drop_at: drop_at::<T>,
        };
        // SAFETY: the caller promises that `entry` is valid for writes.
        unsafe { entry.write(note) };
        self.head.set(Some(entry));
    }

    /// Whether there is nothing to drop.
    pub(super) fn is_empty(&self) -> bool {
        self.head.get().is_none()
    }

    /// Returns a mark between what is in the list, and what will be.
    #[inline]
    pub(super) fn mark(&self) -> DropMark {
        DropMark(self.head.get())
    }

    /// Drops everything in the list, each value once, even when one of them panics.
    pub(super) fn run(&mut self, panic: &mut FirstPanic) {
        self.run_to(DropMark(None), panic);
    }

    /// Drops what was added since the mark, each value once, even when one of them panics.
    pub(super) fn run_to(&mut self, mark: DropMark, panic: &mut FirstPanic) {
        while let Some(entry) = *self.head.get_mut()
            && Some(entry) != mark.0
        {
            // SAFETY: `push` wrote the entry, and its caller keeps it in place until now.
            let entry = unsafe { entry.read() };
            // Unlinked before anything is dropped: nothing runs twice.
            *self.head.get_mut() = entry.next;
            for index in 0..entry.len {
                panic.catch(|| {
                    // SAFETY:
                    // - `push` was promised as many values of the type that `drop_at` is for;
                    // - the entry is unlinked and each index comes once.
                    unsafe { (entry.drop_at)(entry.values, index) };
                });
            }
        }
    }
}

/// Room for a note in the drop list, or none where nothing needs dropping.
pub(crate) struct RoomForDrop(Option<NonNull<DropEntry>>);

impl FrameArena {
    /// Takes the room that [`drop_at_recycle`](Self::drop_at_recycle) needs, while failing is easy.
    #[inline]
    pub(crate) fn try_room_for_drop<T>(&self) -> Result<RoomForDrop, ArenaError> {
        if !needs_drop::<T>() {
            return Ok(RoomForDrop(None));
        }
        let room = self.try_alloc_layout(Layout::new::<DropEntry>())?;
        Ok(RoomForDrop(Some(room.cast())))
    }

    /// Has values dropped when the arena is recycled.
    ///
    /// # Safety
    /// - `room` was taken for `T`, from this arena;
    /// - `values` lie in memory of this arena that is not given back, and nobody else drops or
    ///   mutates them: until they are dropped, they are read through copies of this pointer alone.
    #[inline]
    pub(crate) unsafe fn drop_at_recycle<T: Send>(&self, room: RoomForDrop, values: NonNull<[T]>) {
        if let Some(entry) = room.0 {
            // SAFETY:
            // - the entry is fresh memory of this arena, which outlives the list;
            // - so do the values, which the caller vouches for;
            // - `T` is `Send`.
            unsafe { self.drops.push(entry, values) };
            // The record and the values must stay until it has run: it is shared memory.
            self.cursor.mark_shared();
            self.needs_cleanup.set(true);
        }
    }
}

/// # Safety
/// `values` points to more than `index` values of `T`, and the one at `index` is not used again.
unsafe fn drop_at<T>(values: NonNull<u8>, index: usize) {
    // SAFETY: the caller promises that the index is in bounds.
    let value = unsafe { values.cast::<T>().add(index) };
    // SAFETY: the caller promises a value that nobody uses again.
    unsafe { value.drop_in_place() };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever shares makes a handle as well, which also keeps the blocks.
    #[test]
    fn values_to_drop_keep_the_blocks_of_their_arena() {
        let arena = FrameArena::new(256);
        let room = arena.try_room_for_drop::<String>().expect("room");
        let memory = arena.memory_for::<String>().cast::<String>();
        // SAFETY: the memory was taken for a `String`.
        unsafe { memory.write(String::from("Ferris")) };
        assert!(!arena.is_shared());
        let values = NonNull::slice_from_raw_parts(memory, 1);
        // SAFETY: the room and the value are of this arena, and nobody else uses the value.
        unsafe { arena.drop_at_recycle(room, values) };
        assert!(arena.is_shared());
    }
}
