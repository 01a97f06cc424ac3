//! The memory of a container: where it is, how much, and of which arena.
#![expect(unsafe_code, reason = "owns raw memory of an arena")]

use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::arena::FrameArena;
use crate::error::{ArenaError, fail};

/// Memory for `capacity` elements of `T`. It does not know which of them are there.
///
/// Growth passes its parts by value and returns them in registers: a loop of pushes whose vector
/// had its address taken would go through memory for each element.
pub(super) struct RawBuffer<'a, T> {
    /// Dangling where there is nothing to hold; else a block of `arena` for `capacity` elements.
    start: NonNull<T>,
    /// `usize::MAX` for types of no size, so that they never grow.
    capacity: usize,
    arena: &'a FrameArena,
    elements: PhantomData<T>,
}

/// A block and its capacity: what growth returns, in two registers.
type Block<T> = (NonNull<T>, usize);

impl<'a, T> RawBuffer<'a, T> {
    const HAS_SIZE: bool = size_of::<T>() != 0;

    #[inline(always)]
    pub(super) const fn new_in(arena: &'a FrameArena) -> Self {
        Self {
            start: NonNull::dangling(),
            capacity: if Self::HAS_SIZE { 0 } else { usize::MAX },
            arena,
            elements: PhantomData,
        }
    }

    /// Like [`new_in`](Self::new_in), where that is rare.
    #[cold]
    pub(super) const fn new_in_full_chunk(arena: &'a FrameArena) -> Self {
        Self::new_in(arena)
    }

    /// Takes over a block that elements fill.
    ///
    /// # Safety
    /// `elements` start a block of `arena` that nobody else owns, if they have a size at all.
    #[inline]
    pub(super) const unsafe fn from_raw(elements: NonNull<[T]>, arena: &'a FrameArena) -> Self {
        let mut buffer = Self::new_in(arena);
        buffer.start = elements.cast();
        if Self::HAS_SIZE {
            buffer.capacity = elements.len();
        }
        buffer
    }

    #[inline(always)]
    pub(super) const fn start(&self) -> NonNull<T> {
        self.start
    }

    #[inline(always)]
    pub(super) const fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline(always)]
    pub(super) const fn arena(&self) -> &'a FrameArena {
        self.arena
    }

    /// Makes room for `additional` elements behind `len`, and some to spare.
    #[inline(always)]
    #[track_caller]
    pub(super) fn grow(&mut self, len: usize, additional: usize) {
        // SAFETY: these are the parts of this buffer, and they are replaced by what comes back.
        let grown = unsafe { grow_or_fail(self.arena, self.start, self.capacity, len, additional) };
        (self.start, self.capacity) = grown;
    }

    /// Makes room for `additional` elements behind `len`, and some to spare if there is memory.
    #[inline(always)]
    pub(super) fn try_grow(&mut self, len: usize, additional: usize) -> Result<(), ArenaError> {
        // SAFETY: these are the parts of this buffer, and they are replaced by what comes back.
        let grown = unsafe { try_grow(self.arena, self.start, self.capacity, len, additional) };
        (self.start, self.capacity) = grown?;
        Ok(())
    }

    /// Makes room for `additional` elements behind `len`, and no more.
    #[cold]
    pub(super) fn try_grow_exact(
        &mut self,
        len: usize,
        additional: usize,
    ) -> Result<(), ArenaError> {
        let needed = sum::<T>(len, additional)?;
        // SAFETY: these are the parts of this buffer, and they are replaced by what comes back.
        let grown = unsafe { try_resize(self.arena, self.start, self.capacity, needed) };
        (self.start, self.capacity) = grown?;
        Ok(())
    }

    /// Gives back what is beyond `capacity`, where the arena can take it: from its newest block.
    ///
    /// The elements beyond it must be gone.
    #[inline]
    pub(super) fn shrink_to(&mut self, capacity: usize) {
        if !Self::HAS_SIZE || capacity >= self.capacity {
            return;
        }
        let (old_bytes, new_bytes) = (self.capacity * size_of::<T>(), capacity * size_of::<T>());
        // SAFETY: this is the block that the buffer took, with its size, and not larger after it.
        if unsafe {
            self.arena
                .shrink_block(self.start.cast(), old_bytes, new_bytes)
        } {
            self.capacity = capacity;
        }
    }
}

impl<T> Drop for RawBuffer<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if Self::HAS_SIZE && self.capacity != 0 {
            // SAFETY: this is the block that the buffer took, with its size; nobody uses it again.
            unsafe { free(self.arena, self.start.cast(), self.capacity, size_of::<T>()) };
        }
    }
}

/// Out of line, so that the compiler takes the drop itself into the cleanup of a panic: if it calls
/// it there, the vector has an address, and every push stores its length.
///
/// # Safety
/// As for [`FrameArena::free_block`], for a block of `capacity` elements of `element_bytes`.
#[inline(never)]
unsafe fn free(arena: &FrameArena, block: NonNull<u8>, capacity: usize, element_bytes: usize) {
    // Multiplied here: the compiler would keep the product up to date in the loop of pushes.
    // SAFETY: the caller's promise.
    unsafe { arena.free_block(block, capacity * element_bytes) };
}

/// What a container would have to be to leave its thread. Nothing is: it exists for its message,
/// which the compiler shows in place of a list of cells inside the arena.
#[diagnostic::on_unimplemented(
    message = "a container in an arena can't leave the system and thread that made it",
    label = "this keeps arena memory of one frame and one thread",
    note = "to keep its contents in a component, resource or message, or to send them: `share()` \
            the container and store the `FrameHandle`",
    note = "to read a list in a `par_iter`, borrow its slice first: `let list = &list[..];`"
)]
pub(super) trait SharedInstead {}

/// The same for maps and sets, which can't be shared.
#[diagnostic::on_unimplemented(
    message = "a map in an arena can't leave the system and thread that made it",
    label = "this keeps arena memory of one frame and one thread",
    note = "to pass its contents on, make a sorted list of them and `share()` that, or let all workers \
            make lists for each key: `arenas.collector()` and `share_cell_map`"
)]
pub(super) trait ListedInstead {}

/// Keeps a map in its system and on its thread, with that message. First of its fields, so that the
/// compiler comes to it first.
pub(super) struct Stays<T>(PhantomData<T>);

impl<T> Stays<T> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

// SAFETY: nothing implements the bound, so this sends nothing.
unsafe impl<T: ListedInstead> Send for Stays<T> {}
// SAFETY: as above.
unsafe impl<T: ListedInstead> Sync for Stays<T> {}

// SAFETY: nothing implements the bound, so this sends nothing.
unsafe impl<T: SharedInstead> Send for RawBuffer<'_, T> {}
// SAFETY: as above.
unsafe impl<T: SharedInstead> Sync for RawBuffer<'_, T> {}

/// # Safety
/// As for [`try_resize`].
#[cold]
#[inline(never)]
#[track_caller]
unsafe fn grow_or_fail<T>(
    arena: &FrameArena,
    start: NonNull<T>,
    capacity: usize,
    len: usize,
    additional: usize,
) -> Block<T> {
    // SAFETY: the caller's promise.
    if let Some(grown) = unsafe { grow_in_chunk(arena, start, capacity, len, additional) } {
        return grown;
    }
    // SAFETY: the caller's promise.
    match unsafe { try_grow_slow(arena, start, capacity, len, additional) } {
        Ok(grown) => grown,
        Err(error) => fail(error),
    }
}

/// # Safety
/// As for [`try_resize`].
#[cold]
#[inline(never)]
unsafe fn try_grow<T>(
    arena: &FrameArena,
    start: NonNull<T>,
    capacity: usize,
    len: usize,
    additional: usize,
) -> Result<Block<T>, ArenaError> {
    // SAFETY: the caller's promise.
    if let Some(grown) = unsafe { grow_in_chunk(arena, start, capacity, len, additional) } {
        return Ok(grown);
    }
    // SAFETY: the caller's promise.
    unsafe { try_grow_slow(arena, start, capacity, len, additional) }
}

/// Doubles the capacity, or takes what is needed if that is more, where the active chunk has it: the
/// first block, or one that is the newest and grows in place. Otherwise nothing changes.
///
/// # Safety
/// As for [`try_resize`].
#[inline(always)]
unsafe fn grow_in_chunk<T>(
    arena: &FrameArena,
    start: NonNull<T>,
    capacity: usize,
    len: usize,
    additional: usize,
) -> Option<Block<T>> {
    if size_of::<T>() == 0 {
        return None;
    }
    let needed = len.checked_add(additional)?;
    // A block is never more than half of all addresses, so this does not wrap.
    let wanted = (2 * capacity).max(first_capacity::<T>()).max(needed);
    let layout = Layout::array::<T>(wanted).ok()?;
    let block = if capacity == 0 {
        arena.take_elements_of_chunk::<T>(wanted)?.cast()
    } else {
        let old_bytes = capacity * size_of::<T>();
        // SAFETY: a buffer with a capacity has a block of that many elements, and wants more.
        unsafe { arena.grow_in_place(start.cast(), old_bytes, layout.size())? }
    };
    Some((block.cast(), wanted))
}

/// Doubles the capacity; takes what is needed where that is more, or where doubling is refused.
///
/// # Safety
/// As for [`try_resize`].
#[cold]
#[inline(never)]
unsafe fn try_grow_slow<T>(
    arena: &FrameArena,
    start: NonNull<T>,
    capacity: usize,
    len: usize,
    additional: usize,
) -> Result<Block<T>, ArenaError> {
    let needed = sum::<T>(len, additional)?;
    let wanted = capacity.saturating_mul(2).max(first_capacity::<T>());
    if wanted > needed {
        // SAFETY: the caller's promise. If it is refused, the old block is as it was.
        if let Ok(grown) = unsafe { try_resize(arena, start, capacity, wanted) } {
            return Ok(grown);
        }
    }
    // SAFETY: the caller's promise.
    unsafe { try_resize(arena, start, capacity, needed) }
}

/// Makes a block larger, in place or by moving it. An error changes nothing.
///
/// # Safety
/// - `start` and `capacity` are those of a buffer in `arena`;
/// - the buffer goes on with what is returned, if anything is.
unsafe fn try_resize<T>(
    arena: &FrameArena,
    start: NonNull<T>,
    capacity: usize,
    new_capacity: usize,
) -> Result<Block<T>, ArenaError> {
    if new_capacity <= capacity {
        return Ok((start, capacity));
    }
    let layout = Layout::array::<T>(new_capacity).map_err(|_| too_long::<T>(new_capacity))?;
    let block = if capacity == 0 {
        arena.try_alloc_layout(layout)?
    } else {
        let old_bytes = capacity * size_of::<T>();
        // SAFETY:
        // - a buffer with a capacity has a block of that many elements, aligned for them;
        // - the new layout is larger and has the same alignment.
        unsafe { arena.try_grow_block(start.cast(), old_bytes, layout)? }
    };
    Ok((block.cast(), new_capacity))
}

/// Returns how many elements a buffer takes at first: growing one by one costs more than the room.
const fn first_capacity<T>() -> usize {
    match size_of::<T>() {
        0..=1 => 8,
        2..=1024 => 4,
        _ => 1,
    }
}

fn sum<T>(len: usize, additional: usize) -> Result<usize, ArenaError> {
    len.checked_add(additional)
        .ok_or_else(|| too_long::<T>(usize::MAX))
}

#[cold]
fn too_long<T>(len: usize) -> ArenaError {
    ArenaError::TooLong {
        len,
        element_bytes: size_of::<T>(),
    }
}
