//! `Pool`: objects of one type that are inserted and removed one by one.
#![expect(unsafe_code, reason = "keys are addresses, and slots may be vacant")]

mod slot;

use std::fmt;
use std::mem::needs_drop;
use std::ptr::NonNull;

pub use self::slot::PoolKey;
use self::slot::{Block, Content, Slot, USE_BITS, Visits};
use crate::arena::FrameArena;
use crate::arenas::FrameArenas;
use crate::containers::or_fail;
use crate::error::ArenaError;
use crate::panics::FirstPanic;
use crate::stamp;

/// The approximate size of the first block, and the size up to which later blocks grow.
const BLOCK_BYTES: [usize; 2] = [4 << 10, 32 << 10];

/// Objects of one type that are inserted and removed one by one: bullets, particles, the nodes of a
/// graph. Use it where entities are too heavy and a frame is too short.
///
/// [`insert`](Self::insert) returns a [`PoolKey`], which is `Copy` and can be stored anywhere.
/// [`remove`](Self::remove) vacates the slot for the next object. Both take constant time. A stale key, or
/// a key of another pool, does not resolve, even if its slot has another object now: each key is unique in
/// the process.
///
/// Slots are allocated in blocks of some kilobytes and never move, so growth copies nothing.
///
/// ```
/// use bevy_frame_arena::Pool;
///
/// let mut bullets = Pool::new();
/// let first = bullets.insert([0.0, 1.0]);
/// let second = bullets.insert([2.0, 3.0]);
/// assert_eq!(bullets.remove(first), Some([0.0, 1.0]));
///
/// let third = bullets.insert([4.0, 5.0]); // in the slot of the first
/// assert_eq!(bullets.get(first), None);
/// assert_eq!(bullets[third], [4.0, 5.0]);
/// for (_, bullet) in bullets.iter_mut() {
///     bullet[1] += 1.0;
/// }
/// assert_eq!(bullets[second], [2.0, 4.0]);
/// ```
///
/// It is a resource with an arena of its own. For a level, create it [with the level's
/// blocks](Self::with_store_of) and remove the resource when the level ends, or [`clear`](Self::clear) it
/// to keep the blocks for the next level. A pool of one system takes the blocks of the frame's arenas in
/// the same way, and returns them when it is dropped.
#[cfg_attr(feature = "bevy", derive(bevy_ecs::resource::Resource))]
pub struct Pool<T> {
    /// The number of the pool, in the high bits as in the tags of its slots. It is unique, and `clear`
    /// replaces it.
    number: u64,
    /// The slot vacated last, which is the head of the list of vacant slots.
    vacant: Option<NonNull<Slot<T>>>,
    len: usize,
    /// The first fresh slot, and the end of its block, the active one. All slots before it were used.
    /// This slot and all behind it, in this block and the following ones, were not.
    fresh: [NonNull<Slot<T>>; 2],
    first: Option<NonNull<Block<T>>>,
    /// The block of the first fresh slot; `Some` if `first` is.
    active: Option<NonNull<Block<T>>>,
    /// The number of slots in all blocks.
    slots: usize,
    /// The number of slots whose use count is exhausted. They stay vacant and are in no list.
    worn_out: usize,
    /// Used only by methods that take `&mut self`.
    arena: FrameArena,
}

// SAFETY: the pool owns its blocks, and the values and the arena are `Send`.
unsafe impl<T: Send> Send for Pool<T> {}
// SAFETY: a shared pool gives access only to its values. The arena, which is `Send`, is used only through
// `&mut Pool`.
unsafe impl<T: Sync> Sync for Pool<T> {}

impl<T> Pool<T> {
    /// Creates a pool without slots.
    pub fn new() -> Self {
        Self::new_in(FrameArena::default())
    }

    /// Creates a pool that takes its blocks from the store and the budget of `arenas`, e.g. those of a
    /// level: `Pool::with_store_of(&level)`. The blocks return to the store when the pool is dropped.
    ///
    /// It holds whole blocks of [`block_bytes`](crate::FrameArenaSettings::block_bytes).
    pub fn with_store_of(arenas: &FrameArenas) -> Self {
        Self::new_in(arenas.arena_for_pool())
    }

    /// Creates a pool with memory from `arena`, e.g. one that has a limit.
    pub fn new_in(arena: FrameArena) -> Self {
        Self {
            number: new_number(),
            vacant: None,
            len: 0,
            fresh: [NonNull::dangling(); 2],
            first: None,
            active: None,
            slots: 0,
            worn_out: 0,
            arena,
        }
    }

    /// Reserves slots for at least `additional` more values, or returns the arena's error.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), ArenaError> {
        match additional.saturating_sub(self.capacity() - self.len) {
            0 => Ok(()),
            missing => self.add_block(missing),
        }
    }

    /// Inserts a value into a vacant slot, and returns its key.
    ///
    /// # Panics
    /// If the arena cannot provide memory for a slot; see [`ArenaError`]. The value is dropped.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: T) -> PoolKey<T> {
        or_fail(self.try_insert(value))
    }

    /// Inserts as [`insert`](Self::insert) does, or returns an error and drops the value.
    #[inline]
    pub fn try_insert(&mut self, value: T) -> Result<PoolKey<T>, ArenaError> {
        let (slot, tag) = if let Some(slot) = self.vacant {
            // SAFETY: slots in the list were used, and the blocks live as long as the pool.
            let vacant = unsafe { slot.as_ref() };
            // Before the list is written, which saves an instruction.
            let tag = vacant.tag + 1;
            // SAFETY: slots in the list are vacant.
            self.vacant = unsafe { vacant.content.next };
            (slot, tag)
        } else {
            if self.fresh[0] == self.fresh[1] {
                self.enter_next_block()?;
            }
            let slot = self.fresh[0];
            // SAFETY: it is not the end of the block.
            self.fresh[0] = unsafe { slot.add(1) };
            (slot, self.number + 1)
        };
        self.len += 1;
        // Not a `Slot` as a whole: the value would be copied into its union first.
        // SAFETY: a slot begins with its tag; the pool is borrowed exclusively.
        unsafe { slot.cast().write(tag) };
        // SAFETY: the slot is within a block.
        let place = unsafe { Slot::value(slot) };
        // SAFETY: the slot is no longer in a list and has no value; the pool is borrowed exclusively.
        unsafe { place.write(value) };
        Ok(PoolKey { slot, tag })
    }

    /// Activates the block after the active one, or a new one if there is none.
    #[cold]
    #[inline(never)]
    fn enter_next_block(&mut self) -> Result<(), ArenaError> {
        if self.block_behind(self.active).is_none() {
            self.add_block(1)?;
        }
        if let Some(block) = self.block_behind(self.active) {
            self.enter(block);
        }
        Ok(())
    }

    /// Adds a block with at least `needed` slots after all others.
    fn add_block(&mut self, needed: usize) -> Result<(), ArenaError> {
        // As many as there are, so that blocks are few, and at least 8, however large the values are.
        let [least, most] = BLOCK_BYTES.map(|bytes| (bytes / size_of::<Slot<T>>()).max(8));
        let count = needed.max(self.slots.clamp(least, most));
        let first = self.arena.try_take_elements::<Slot<T>>(count)?;
        // SAFETY: the memory was taken for this many slots.
        let slots = [first, unsafe { first.add(count) }];
        let block = NonNull::from(self.arena.try_alloc(Block { next: None, slots })?);
        self.slots += count;
        let behind = std::iter::successors(self.active, |&last| self.block_behind(Some(last)));
        if let Some(mut last) = behind.last() {
            // SAFETY: it is a block of this pool, which is borrowed exclusively.
            unsafe { last.as_mut() }.next = Some(block);
        } else {
            self.first = Some(block);
            self.enter(block);
        }
        Ok(())
    }

    fn block_behind(&self, block: Option<NonNull<Block<T>>>) -> Option<NonNull<Block<T>>> {
        // SAFETY: it is a block of this pool.
        unsafe { block?.as_ref() }.next
    }

    /// Activates a block. All its slots must be fresh.
    fn enter(&mut self, block: NonNull<Block<T>>) {
        self.active = Some(block);
        // SAFETY: it is a block of this pool.
        self.fresh = unsafe { block.as_ref() }.slots;
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of values that the pool can hold without growing.
    pub fn capacity(&self) -> usize {
        self.slots - self.worn_out
    }

    /// Returns the value of a key, or `None` if the key is stale.
    #[inline]
    pub fn get(&self, key: PoolKey<T>) -> Option<&T> {
        let value = self.find(key)?;
        // SAFETY: the slot has a value, and the pool is borrowed.
        Some(unsafe { value.as_ref() })
    }

    /// Returns a mutable reference to the value of a key, or `None` if the key is stale.
    #[inline]
    pub fn get_mut(&mut self, key: PoolKey<T>) -> Option<&mut T> {
        let mut value = self.find(key)?;
        // SAFETY: the slot has a value, and the pool is borrowed exclusively.
        Some(unsafe { value.as_mut() })
    }

    /// Returns the address of a key's value, or `None` if the key is stale.
    #[inline(always)]
    fn find(&self, key: PoolKey<T>) -> Option<NonNull<T>> {
        // This check must come first: the key of a dropped pool dangles.
        if (key.tag ^ self.number) >> USE_BITS != 0 {
            return None;
        }
        // SAFETY:
        // - pool numbers are unique, so this pool made the key, after the last `clear`;
        // - the key's slot was therefore used, in a block that lives as long as the pool, which is
        //   borrowed.
        let slot = unsafe { key.slot.as_ref() };
        if slot.tag != key.tag {
            return None;
        }
        // SAFETY: the slot is within a block.
        Some(unsafe { Slot::value(key.slot) })
    }

    /// Returns an iterator over all values and their keys, in memory order. It passes over vacant slots,
    /// so a pool that was once much fuller takes longer, until it is [cleared](Self::clear).
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (PoolKey<T>, &T)> {
        // SAFETY: the iterator borrows the pool.
        let visits = unsafe { Visits::new(self) };
        // SAFETY: the slot has a value, and the pool is borrowed.
        visits.map(|(key, value)| (key, unsafe { value.as_ref() }))
    }

    /// Returns an iterator over all values and their keys, in memory order, with mutable references.
    #[inline]
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (PoolKey<T>, &mut T)> {
        // SAFETY: the iterator borrows the pool exclusively.
        let visits = unsafe { Visits::new(self) };
        // SAFETY: the slot has a value, which is visited once. The pool is borrowed exclusively.
        visits.map(|(key, mut value)| (key, unsafe { value.as_mut() }))
    }

    /// Removes and returns a value, and vacates its slot.
    ///
    /// Returns `None` if the key is stale: the value was removed before, or is in another pool.
    #[inline]
    pub fn remove(&mut self, key: PoolKey<T>) -> Option<T> {
        let value = self.find(key)?;
        // SAFETY: the slot has a value, and is vacated below.
        let removed = Some(unsafe { value.read() });
        self.len -= 1;
        let tag = key.tag + 1;
        let content = Content { next: self.vacant };
        if tag.is_multiple_of(1 << USE_BITS) {
            // The next key would not be unique.
            self.worn_out += 1;
        } else {
            self.vacant = Some(key.slot);
        }
        // SAFETY: the value was moved out, and the pool is borrowed exclusively.
        unsafe { key.slot.write(Slot { tag, content }) };
        removed
    }

    /// Removes the values for which `keep` returns `false`, in memory order.
    ///
    /// If `keep` or the destructor of a value panics, the values not visited yet stay in the pool.
    pub fn retain(&mut self, mut keep: impl FnMut(PoolKey<T>, &mut T) -> bool) {
        // SAFETY: the pool is borrowed, and no value is removed before it is visited.
        for (key, mut value) in unsafe { Visits::new(self) } {
            // SAFETY: the slot has a value, and the pool is borrowed exclusively.
            if !keep(key, unsafe { value.as_mut() }) {
                // The slot is vacated before the value is dropped, which may panic.
                drop(self.remove(key));
            }
        }
    }

    /// Drops all values and keeps the blocks. If `T` needs no dropping, this takes constant time.
    ///
    /// # Panics
    /// If a destructor panics. All other destructors are run first, and the pool is empty afterwards.
    pub fn clear(&mut self) {
        // A new number makes all keys stale, and use counts of slots start from zero.
        self.number = new_number();
        let panic = self.drop_values();
        (self.len, self.worn_out, self.vacant) = (0, 0, None);
        if let Some(first) = self.first {
            self.enter(first);
        }
        panic.resume();
    }

    /// Drops all values without vacating their slots.
    fn drop_values(&mut self) -> FirstPanic {
        let mut panic = FirstPanic::default();
        if needs_drop::<T>() {
            for (_, value) in self.iter_mut() {
                // SAFETY: each value is visited once and not used again.
                panic.catch(|| unsafe { NonNull::from(value).drop_in_place() });
            }
        }
        panic
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        self.drop_values().resume();
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Returns a unique number for a pool, in the high bits of a tag.
fn new_number() -> u64 {
    // Below the maximum, so that no tag wraps around.
    stamp::pool((1 << (u64::BITS - USE_BITS)) - 1) << USE_BITS
}
