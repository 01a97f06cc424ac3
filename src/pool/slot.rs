//! The slots of a pool: their blocks, keys and iterators.
#![expect(unsafe_code, reason = "keys are addresses, and slots may be vacant")]

use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::{ManuallyDrop, offset_of};
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use super::Pool;

/// The low bits of a tag count the uses of a slot: one for each value inserted and one for each value
/// removed. A tag is therefore odd while the slot has a value. The high bits are the number of the pool.
pub(super) const USE_BITS: u32 = 24;

/// The slot of one value. Its tag is initialised when it is used for the first time.
#[repr(C)]
pub(super) struct Slot<T> {
    /// First, so that a look-up finds the start of the value in the same cache line.
    pub(super) tag: u64,
    pub(super) content: Content<T>,
}

/// The value of a slot, or the link of a vacant one.
pub(super) union Content<T> {
    pub(super) value: ManuallyDrop<T>,
    /// The slot vacated before this one.
    pub(super) next: Option<NonNull<Slot<T>>>,
}

impl<T> Slot<T> {
    /// Returns the address of a slot's value, which is uninitialised if the slot is vacant.
    ///
    /// # Safety
    /// The slot must be within a block. (A wrapping offset would need no such promise, and would make the
    /// loop of a visit longer by a third.)
    #[inline(always)]
    pub(super) unsafe fn value(slot: NonNull<Self>) -> NonNull<T> {
        // SAFETY: the caller's promise; the value is within the slot.
        unsafe { slot.byte_add(offset_of!(Self, content.value)) }.cast()
    }
}

/// A block of slots, as a link of the list of all blocks.
pub(super) struct Block<T> {
    pub(super) next: Option<NonNull<Self>>,
    /// The first slot, and the end.
    pub(super) slots: [NonNull<Slot<T>>; 2],
}

/// Identifies an object of a [`Pool`]. Store it wherever you would store an `Entity`: it is `Copy` and keeps
/// nothing alive.
///
/// It resolves in the pool that made it, until the object is removed. After that the key is stale and
/// does not resolve. Keys are unique and never reused, in this pool and all others. `PoolKey::default()`
/// is unset and never resolves.
pub struct PoolKey<T> {
    /// Dangles after the pool is dropped. Only a pool with the number in `tag` may dereference it.
    pub(super) slot: NonNull<Slot<T>>,
    pub(super) tag: u64,
}

// SAFETY: a key gives access to its object only through a borrow of the pool.
unsafe impl<T> Send for PoolKey<T> {}
// SAFETY: a key gives access to its object only through a borrow of the pool.
unsafe impl<T> Sync for PoolKey<T> {}

/// Returns an unset key, which never resolves.
impl<T> Default for PoolKey<T> {
    fn default() -> Self {
        // No pool has the number zero.
        let (slot, tag) = (NonNull::dangling(), 0);
        Self { slot, tag }
    }
}

impl<T> Clone for PoolKey<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PoolKey<T> {}

impl<T> PartialEq for PoolKey<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.slot, self.tag) == (other.slot, other.tag)
    }
}

impl<T> Eq for PoolKey<T> {}

impl<T> Hash for PoolKey<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.slot, self.tag).hash(state);
    }
}

impl<T> fmt::Debug for PoolKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str("PoolKey(unset)");
        }
        f.debug_struct("PoolKey")
            .field("pool", &(self.tag >> USE_BITS))
            .field("slot", &self.slot)
            .field("use", &(self.tag % (1 << USE_BITS) / 2))
            .finish()
    }
}

/// Panics if the key is stale.
impl<T> Index<PoolKey<T>> for Pool<T> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, key: PoolKey<T>) -> &T {
        match self.get(key) {
            Some(value) => value,
            None => fail_stale(key),
        }
    }
}

/// Panics if the key is stale.
impl<T> IndexMut<PoolKey<T>> for Pool<T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: PoolKey<T>) -> &mut T {
        match self.get_mut(key) {
            Some(value) => value,
            None => fail_stale(key),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn fail_stale<T>(key: PoolKey<T>) -> ! {
    if key == PoolKey::default() {
        panic!("the key was never set: it is `PoolKey::default()`");
    }
    panic!(
        "stale {key:?}: its object was removed, or is in another pool; use `get` where that may be"
    )
}

/// The keys and addresses of all values of a pool, in memory order.
pub(super) struct Visits<T> {
    /// The next slot of a block, or its end.
    at: NonNull<Slot<T>>,
    end: NonNull<Slot<T>>,
    next_block: Option<NonNull<Block<T>>>,
    /// The pool's `fresh`.
    fresh: [NonNull<Slot<T>>; 2],
    /// Whether all used slots have values.
    is_dense: bool,
}

impl<T> Visits<T> {
    /// # Safety
    /// While the iterator is in use, the pool's blocks must stay allocated. Values not visited yet must stay
    /// in their slots, and there must be no `&mut` to them.
    #[inline]
    pub(super) unsafe fn new(pool: &Pool<T>) -> Self {
        Self {
            at: pool.fresh[0],
            end: pool.fresh[0],
            next_block: pool.first,
            fresh: pool.fresh,
            // Each used slot has a value, is in the list, or is worn out.
            is_dense: pool.vacant.is_none() && pool.worn_out == 0,
        }
    }

    /// Returns the key and the address of a slot, if it has a value.
    ///
    /// # Safety
    /// The slot must be before the first fresh one.
    #[inline(always)]
    unsafe fn look(&self, slot: NonNull<Slot<T>>) -> Option<(PoolKey<T>, NonNull<T>)> {
        // SAFETY: slots before the first fresh one were used.
        let tag = unsafe { slot.as_ref() }.tag;
        // SAFETY: the slot is within a block.
        let value = unsafe { Slot::value(slot) };
        (self.is_dense || tag % 2 == 1).then_some((PoolKey { slot, tag }, value))
    }

    /// Enters the next block, if there is one up to the active block.
    #[inline]
    fn enter_block(&mut self) -> Option<()> {
        // SAFETY: the blocks stay allocated, and their heads are not written meanwhile.
        let block = unsafe { self.next_block?.as_ref() };
        [self.at, self.end] = block.slots;
        self.next_block = block.next;
        let [fresh, fresh_end] = self.fresh;
        if self.end == fresh_end {
            (self.end, self.next_block) = (fresh, None);
        }
        Some(())
    }
}

impl<T> Iterator for Visits<T> {
    type Item = (PoolKey<T>, NonNull<T>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while self.at == self.end {
                self.enter_block()?;
            }
            let slot = self.at;
            // SAFETY: this is not the end of the block.
            self.at = unsafe { slot.add(1) };
            // SAFETY: the slot is before the end, which is at most the first fresh one.
            if let Some(found) = unsafe { self.look(slot) } {
                return Some(found);
            }
        }
    }

    /// Visits block by block, which takes a third of the instructions.
    #[inline(always)]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut work: F) -> B {
        let mut result = init;
        loop {
            // SAFETY: both are slots of one block, or its end.
            let count = unsafe { self.end.offset_from_unsigned(self.at) };
            for index in 0..count {
                // SAFETY: this is not the end of the block.
                let slot = unsafe { self.at.add(index) };
                // SAFETY: the slot is before the end, which is at most the first fresh one.
                if let Some(found) = unsafe { self.look(slot) } {
                    result = work(result, found);
                }
            }
            if self.enter_block().is_none() {
                return result;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Uses of one slot.
    const USES: u64 = 1 << (USE_BITS - 1);

    #[test]
    fn no_key_is_made_twice_by_4_billion_reuses_of_a_slot() {
        let mut pool = Pool::new();
        let mut keys = HashSet::new();
        let mut counted = 0;
        while counted <= u64::from(u32::MAX) {
            let first = pool.insert(0);
            let place = first.slot;
            assert!(keys.insert(first));
            pool.remove(first);
            // Skips all but the last three uses of the slot.
            // SAFETY: the slot was used, and its pool is alive and not borrowed.
            let tag = unsafe { &mut (*place.as_ptr()).tag };
            *tag = (*tag | (2 * USES - 1)) - 5;
            loop {
                let key = pool.insert(7);
                assert!(keys.insert(key), "{key:?}");
                assert_eq!(pool.iter().next(), Some((key, &7)));
                assert_eq!(pool.remove(key), Some(7));
                if key.slot != place {
                    break;
                }
            }
            counted += USES;
        }
        assert!(keys.iter().all(|&key| pool.get(key).is_none()));
        assert_eq!(pool.worn_out as u64, counted / USES);
        // With a new number, worn-out slots are used again.
        let capacity = pool.capacity() + pool.worn_out;
        pool.clear();
        assert_eq!(pool.capacity(), capacity);
        assert!((0..capacity).all(|n| keys.insert(pool.insert(n))));
        assert_eq!((pool.capacity(), pool.iter().count()), (capacity, capacity));
    }
}
