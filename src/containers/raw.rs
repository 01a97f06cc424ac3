//! The memory of a container: its start, its capacity and its arena.
#![expect(unsafe_code, reason = "owns raw memory of an arena")]

use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::arena::{FrameArena, Purpose, array_layout, too_long};
use crate::error::{ArenaError, or_fail};

/// Memory for `capacity` elements of `T`, initialised or not.
///
/// Growth takes the parts of a buffer by value and returns them in registers. If it took a reference, a
/// loop of pushes would go through memory for each element. That is why there are free functions below.
pub(super) struct RawBuffer<'a, T> {
    /// Dangling if the capacity is zero, or else the start of a block of `arena` for `capacity` elements.
    start: NonNull<T>,
    /// `usize::MAX` for zero-sized types, so that they never grow.
    capacity: usize,
    arena: &'a FrameArena,
    elements: PhantomData<T>,
}

/// A block and its capacity, which growth returns in two registers.
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

    /// Takes over a block of `capacity` elements.
    ///
    /// # Safety
    /// `start` must be that of a block of `arena` without another owner, with room for `capacity` elements.
    #[inline]
    pub(super) const unsafe fn from_raw(
        start: NonNull<T>,
        capacity: usize,
        arena: &'a FrameArena,
    ) -> Self {
        Self {
            start,
            capacity: if Self::HAS_SIZE { capacity } else { usize::MAX },
            arena,
            elements: PhantomData,
        }
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

    /// Makes room for `additional` elements behind `len`, and some more.
    #[inline(always)]
    #[track_caller]
    pub(super) fn grow(&mut self, len: usize, additional: usize) {
        // SAFETY: these are the parts of this buffer, which are replaced by the result.
        let grown = unsafe { grow_or_fail(self.arena, self.start, self.capacity, len, additional) };
        (self.start, self.capacity) = grown;
    }

    /// Makes room for `additional` elements behind `len`, and some more if there is memory.
    #[inline(always)]
    pub(super) fn try_grow(&mut self, len: usize, additional: usize) -> Result<(), ArenaError> {
        // SAFETY: these are the parts of this buffer, which are replaced by the result.
        let grown = unsafe { try_grow(self.arena, self.start, self.capacity, len, additional) };
        (self.start, self.capacity) = grown?;
        Ok(())
    }

    /// Gives the memory beyond `capacity` back if this is the newest allocation of the arena.
    ///
    /// The elements beyond it must have been dropped or moved.
    #[inline]
    pub(super) fn shrink_to(&mut self, capacity: usize) {
        if !Self::HAS_SIZE || capacity >= self.capacity {
            return;
        }
        let (old_bytes, new_bytes) = (self.capacity * size_of::<T>(), capacity * size_of::<T>());
        // SAFETY: this is the block that the buffer took, with its size, and the new size is smaller.
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
            // SAFETY: this is the block that the buffer took, with its size; it is not used again.
            unsafe { free(self.arena, self.start.cast(), self.capacity, size_of::<T>()) };
        }
    }
}

/// Out of line, so that the compiler inlines the drop itself into the cleanup of a panic. A call there
/// would take the vector's address, and every push would store its length.
///
/// # Safety
/// As for [`FrameArena::free_block`], for a block of `capacity` elements of `element_bytes`.
#[inline(never)]
unsafe fn free(arena: &FrameArena, block: NonNull<u8>, capacity: usize, element_bytes: usize) {
    // Multiplied here: otherwise the compiler updates the product in the loop of pushes.
    // SAFETY: the caller's promise.
    unsafe { arena.free_block(block, capacity * element_bytes) };
}

/// The bound for a container to leave its thread. Nothing implements it: it exists for its message, which
/// the compiler shows instead of a list of cells inside the arena.
#[diagnostic::on_unimplemented(
    message = "a container in an arena can't leave the system and thread that made it",
    label = "this keeps arena memory of one frame and one thread",
    note = "to keep its contents in a component, resource or message, or to send them: `share()` \
            the container and store the `FrameHandle`",
    note = "to read a list in a `par_iter`, borrow its slice first: `let list = &list[..];`"
)]
pub(super) trait SharedInstead {}

// SAFETY: nothing implements the bound, so this sends nothing.
unsafe impl<T: SharedInstead> Send for RawBuffer<'_, T> {}
// SAFETY: nothing implements the bound, so this shares nothing.
unsafe impl<T: SharedInstead> Sync for RawBuffer<'_, T> {}

/// As [`try_grow`], with a panic for an error. Growth within the active block is inlined here, because a
/// list that is pushed to element by element takes this path.
///
/// # Safety
/// As for [`try_grow`].
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
    if let Some(grown) = unsafe { grow_in_block(arena, start, capacity, len, additional) } {
        return grown;
    }
    // SAFETY: the caller's promise. The block is unchanged.
    or_fail(unsafe { try_grow(arena, start, capacity, len, additional) })
}

/// Doubles the capacity, or more if more is needed, if the active block has the room: for a first block,
/// or one that is the newest and grows in place. Otherwise nothing changes.
///
/// # Safety
/// As for [`try_grow`].
#[inline(always)]
unsafe fn grow_in_block<T>(
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
    let wanted = (2 * capacity).max(first_capacity::<T>()).max(needed);
    let new_bytes = Layout::array::<T>(wanted).ok()?.size();
    let block = if capacity == 0 {
        arena.take_elements_of_block(wanted)?
    } else {
        let old_bytes = capacity * size_of::<T>();
        // SAFETY: a buffer with a capacity has a block of that many elements, and the new size is larger.
        unsafe { arena.grow_in_place(start.cast(), old_bytes, new_bytes)? }.cast()
    };
    Some((block, wanted))
}

/// Doubles the capacity. If more is needed, or doubling is refused, takes exactly the capacity needed: in
/// place, or by moving the block. An error changes nothing.
///
/// # Safety
/// - `start` and `capacity` must be those of a buffer in `arena`, and `len + additional` must be more;
/// - on success the buffer must go on with the block returned.
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
    if let Some(grown) = unsafe { grow_in_block(arena, start, capacity, len, additional) } {
        return Ok(grown);
    }
    let resize = |new_capacity| {
        let layout = array_layout::<T>(new_capacity)?;
        let block = if capacity == 0 {
            arena.try_alloc_uncounted(layout, Purpose::Fixed)?
        } else {
            let old_bytes = capacity * size_of::<T>();
            // SAFETY:
            // - a buffer with a capacity has a block of that many elements, aligned for them;
            // - the new layout is larger and has the same alignment;
            // - it is resized once: an error leaves it unchanged.
            unsafe { arena.try_grow_block(start.cast(), old_bytes, layout)? }
        };
        Ok((block.cast(), new_capacity))
    };
    // A buffer of zero-sized elements has room for `usize::MAX` of them, so it always fails here.
    let needed = len
        .checked_add(additional)
        .ok_or_else(|| too_long::<T>(usize::MAX))?;
    // A block is never more than half of all addresses, so doubling does not wrap.
    let wanted = (2 * capacity).max(first_capacity::<T>()).max(needed);
    resize(wanted)
        .or_else(|_| resize(needed))
        .inspect_err(|error| arena.count_refusal(error))
}

/// Returns the first capacity of a buffer: 64 bytes, or four elements. Unused room at the end of a block costs
/// nothing until the next allocation, and growing by single elements costs instructions.
const fn first_capacity<T>() -> usize {
    match size_of::<T>() {
        0 => 0,
        bytes @ 1..=16 => 64 / bytes,
        17..=1024 => 4,
        _ => 1,
    }
}
