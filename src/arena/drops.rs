//! The destructors that run when an arena is recycled.
#![expect(unsafe_code, reason = "drops values behind raw pointers")]

use std::alloc::Layout;
use std::cell::Cell;
use std::mem::needs_drop;
use std::ptr::NonNull;

use super::FrameArena;
use crate::error::ArenaError;
use crate::panics::FirstPanic;

/// A linked list of shared values that need dropping. Its records are stored in the arena itself.
#[derive(Default)]
pub(super) struct DropList {
    head: Cell<Option<NonNull<DropEntry>>>,
}

/// The record of one value, or of the elements of one slice.
struct DropEntry {
    next: Option<NonNull<DropEntry>>,
    values: NonNull<u8>,
    len: usize,
    drop_at: unsafe fn(NonNull<u8>, usize),
}

impl DropList {
    /// Adds values. Their record is written to `entry`.
    ///
    /// # Safety
    /// - `entry` must be valid for writes, and must stay untouched until the list has run;
    /// - `values` must be initialised and stay in place until then, and nothing else may drop or mutate them;
    /// - it must be sound to drop `T` on any thread.
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

    /// Drops all values of the list, each exactly once, even if a destructor panics.
    pub(super) fn run(&mut self, panic: &mut FirstPanic) {
        while let Some(entry) = *self.head.get_mut() {
            // SAFETY: `push` wrote the entry, and its caller promised to keep it in place until now.
            let entry = unsafe { entry.read() };
            // Unlinked before its values are dropped, so that no destructor runs twice.
            *self.head.get_mut() = entry.next;
            for index in 0..entry.len {
                panic.catch(|| {
                    // SAFETY:
                    // - the caller of `push` promised `len` initialised values of the type of `drop_at`;
                    // - the entry is unlinked, and each index is visited once.
                    unsafe { (entry.drop_at)(entry.values, index) };
                });
            }
        }
    }
}

/// Memory for a record in the drop list, or `None` if the type needs no drop.
pub(crate) struct RoomForDrop(Option<NonNull<DropEntry>>);

impl FrameArena {
    /// Allocates the record that [`drop_at_recycle`](Self::drop_at_recycle) needs, so that the latter cannot
    /// fail.
    #[inline]
    pub(crate) fn try_room_for_drop<T>(&self) -> Result<RoomForDrop, ArenaError> {
        if !needs_drop::<T>() {
            return Ok(RoomForDrop(None));
        }
        let room = self.try_alloc_layout(Layout::new::<DropEntry>())?;
        Ok(RoomForDrop(Some(room.cast())))
    }

    /// Registers values to be dropped when the arena is recycled.
    ///
    /// # Safety
    /// - `room` must have been taken for `T`, from this arena;
    /// - `values` must be initialised, in memory of this arena that is not freed before the recycle;
    /// - nothing else may drop or mutate them: until they are dropped, they must be read only through copies
    ///   of this pointer.
    #[inline]
    pub(crate) unsafe fn drop_at_recycle<T: Send>(&self, room: RoomForDrop, values: NonNull<[T]>) {
        if let Some(entry) = room.0 {
            // SAFETY:
            // - the entry is fresh memory of this arena, which stays until the list has run;
            // - the caller promises the same of the values, and that nothing else drops or mutates them;
            // - `T` is `Send`.
            unsafe { self.drops.push(entry, values) };
            // The record and the values must stay until the list has run: the arena counts as shared.
            self.cursor.mark_shared();
            self.needs_cleanup.set(true);
        }
    }
}

/// # Safety
/// `values` must point to more than `index` values of `T`. The one at `index` must be initialised, and must not
/// be used again.
unsafe fn drop_at<T>(values: NonNull<u8>, index: usize) {
    // SAFETY: the caller promises that the index is in bounds.
    let value = unsafe { values.cast::<T>().add(index) };
    // SAFETY: the caller promises an initialised value that is not used again.
    unsafe { value.drop_in_place() };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test makes no handle, because a handle would keep the blocks by itself.
    #[test]
    fn values_to_drop_keep_the_blocks_of_their_arena() {
        let arena = FrameArena::new(256);
        let room = arena.try_room_for_drop::<String>().expect("room");
        let memory = arena.memory_for::<String>().cast::<String>();
        // SAFETY: the memory was taken for a `String`.
        unsafe { memory.write(String::from("Ferris")) };
        assert!(!arena.is_shared());
        let values = NonNull::slice_from_raw_parts(memory, 1);
        // SAFETY: the room and the value are of this arena, and nothing else uses the value.
        unsafe { arena.drop_at_recycle(room, values) };
        assert!(arena.is_shared());
    }
}
