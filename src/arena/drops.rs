//! The destructors that run when a frame's memory is recycled.
#![expect(unsafe_code, reason = "drops values behind raw pointers")]

use alloc::boxed::Box;
use core::alloc::Layout;
use core::any::Any;
use core::cell::Cell;
use core::mem::needs_drop;
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::FrameArena;
use crate::error::ArenaError;

/// A linked list of shared values that need dropping, kept in the arena itself.
#[derive(Default)]
pub(super) struct DropList {
    head: Cell<Option<NonNull<DropEntry>>>,
}

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

    /// Drops everything in the list, each value once, even when one of them panics.
    pub(super) fn run(&mut self, panic: &mut FirstPanic) {
        while let Some(entry) = *self.head.get_mut() {
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
            self.recycle_takes_work.set(true);
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

/// Keeps the first of several panics, so that the work they interrupt can be finished.
#[derive(Default)]
#[must_use]
pub(crate) struct FirstPanic {
    payload: Option<Box<dyn Any + Send>>,
}

impl FirstPanic {
    fn catch(&mut self, work: impl FnOnce()) {
        // Unwind safety: what `work` leaves half-done is a value that is never looked at again.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            match &self.payload {
                None => self.payload = Some(payload),
                Some(_) => discard(payload),
            }
        }
    }

    /// Continues the panic that was caught, unless this thread is unwinding already.
    pub(crate) fn resume(self) {
        if let Some(payload) = self.payload {
            if std::thread::panicking() {
                discard(payload);
            } else {
                resume_unwind(payload);
            }
        }
    }
}

/// Drops the payload of a panic, which could panic itself; there is nobody left to tell.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        core::mem::forget(another);
    }
}
