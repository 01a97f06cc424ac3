//! The slots of a pool: their blocks, keys and iterators.
#![expect(unsafe_code, reason = "keys are addresses, and slots may be vacant")]

use std::alloc::Layout;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, offset_of};
use std::ops::{Deref, Index, IndexMut};
use std::ptr::NonNull;

use super::Pool;

/// The low bits of a tag count the uses of a slot: one for each value inserted and one for each value
/// removed. A tag is therefore odd while the slot has a value. The high bits are the number of the pool.
pub(super) const USE_BITS: u32 = 24;

/// A slot without a value.
#[repr(C)]
pub(super) struct Vacant<T> {
    pub(super) tag: u64,
    /// The slot vacated before this one.
    pub(super) next: Option<NonNull<Slot<T>>>,
}

/// A slot with a value.
#[repr(C)]
pub(super) struct Taken<T> {
    pub(super) tag: u64,
    pub(super) value: T,
}

/// A vacant or a taken slot. Both begin with the tag.
#[repr(C)]
pub(super) union Slot<T> {
    vacant: ManuallyDrop<Vacant<T>>,
    taken: ManuallyDrop<Taken<T>>,
}

impl<T> Slot<T> {
    /// Returns the tag of a slot.
    ///
    /// # Safety
    /// The slot must have been used, and its block must still be allocated.
    #[inline(always)]
    pub(super) unsafe fn tag(slot: NonNull<Self>) -> u64 {
        // SAFETY: the caller's promise; a slot that was used begins with its tag.
        unsafe { slot.cast::<u64>().read() }
    }

    /// Returns the address of a slot's value, which may be uninitialised.
    ///
    /// # Safety
    /// The slot must be within a block.
    #[inline(always)]
    pub(super) unsafe fn value(slot: NonNull<Self>) -> NonNull<T> {
        // SAFETY: the caller's promise; the value is within the slot.
        unsafe { slot.byte_add(offset_of!(Taken<T>, value)) }.cast()
    }
}

/// The head of a block. Its slots follow.
#[repr(C)]
pub(super) struct Block<T> {
    pub(super) next: Option<NonNull<Self>>,
    pub(super) end: NonNull<Slot<T>>,
    /// Aligns the end of the head for slots.
    pub(super) slots: [Slot<T>; 0],
}

impl<T> Block<T> {
    /// Returns the layout of a block with this many slots.
    pub(super) fn layout(slots: usize) -> Option<Layout> {
        let slots = Layout::array::<Slot<T>>(slots).ok()?;
        let (block, _) = Layout::new::<Self>().extend(slots).ok()?;
        Some(block)
    }

    /// Returns the first slot of a block.
    ///
    /// # Safety
    /// `block` must point to memory with the layout of a block.
    #[inline(always)]
    pub(super) unsafe fn first_slot(block: NonNull<Self>) -> NonNull<Slot<T>> {
        // SAFETY: the caller's promise. The size of the head is a multiple of its alignment, which is at
        // least that of a slot.
        unsafe { block.add(1) }.cast()
    }
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
// SAFETY: as above.
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
impl<T, A> Index<PoolKey<T>> for Pool<T, A> {
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
impl<T, A> IndexMut<PoolKey<T>> for Pool<T, A> {
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

/// A walk over the values of a pool.
pub(super) struct Walk<T> {
    /// The next slot of a block, or its end.
    at: NonNull<Slot<T>>,
    end: NonNull<Slot<T>>,
    next_block: Option<NonNull<Block<T>>>,
    /// The pool's `fresh`.
    fresh: [NonNull<Slot<T>>; 2],
    /// Whether all used slots have values.
    is_dense: bool,
    /// The number of values not visited yet.
    left: usize,
}

impl<T> Walk<T> {
    /// # Safety
    /// While the walk is in use, the pool's blocks must stay allocated. Values not visited yet must stay
    /// in their slots, and there must be no `&mut` to them.
    #[inline]
    pub(super) unsafe fn new<A>(pool: &Pool<T, A>) -> Self {
        Self {
            at: pool.fresh[0],
            end: pool.fresh[0],
            next_block: pool.first,
            fresh: pool.fresh,
            // Each used slot has a value, is in the list, or is worn out.
            is_dense: pool.vacant.is_none() && pool.worn_out == 0,
            left: pool.len,
        }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(PoolKey<T>, NonNull<T>)> {
        loop {
            while self.at == self.end {
                self.enter_block()?;
            }
            // SAFETY: this is not the end of the block.
            let (key, value) = unsafe { self.step() };
            if self.is_dense || key.tag % 2 == 1 {
                self.left -= 1;
                return Some((key, value));
            }
        }
    }

    #[inline(always)]
    fn fold<B>(mut self, init: B, mut work: impl FnMut(B, (PoolKey<T>, NonNull<T>)) -> B) -> B {
        let mut result = init;
        loop {
            // Two loops: the first one reads no tags, unless `work` uses the keys.
            while self.is_dense && self.at != self.end {
                // SAFETY: this is not the end of the block.
                result = work(result, unsafe { self.step() });
            }
            while self.at != self.end {
                // SAFETY: as above.
                let item = unsafe { self.step() };
                if item.0.tag % 2 == 1 {
                    result = work(result, item);
                }
            }
            if self.enter_block().is_none() {
                return result;
            }
        }
    }

    /// # Safety
    /// `at` must not be `end`.
    #[inline(always)]
    unsafe fn step(&mut self) -> (PoolKey<T>, NonNull<T>) {
        let slot = self.at;
        // SAFETY: this is not the end of the block.
        self.at = unsafe { slot.add(1) };
        // SAFETY: slots before the first fresh one were used.
        let tag = unsafe { Slot::tag(slot) };
        // SAFETY: the slot is within a block.
        (PoolKey { slot, tag }, unsafe { Slot::value(slot) })
    }

    /// Enters the next block, if there is one up to the active block.
    #[inline]
    fn enter_block(&mut self) -> Option<()> {
        let block = self.next_block?;
        // SAFETY: the blocks stay allocated, and their heads are not written meanwhile.
        let head = unsafe { block.as_ref() };
        let [fresh, fresh_end] = self.fresh;
        (self.end, self.next_block) = if head.end == fresh_end {
            (fresh, None)
        } else {
            (head.end, head.next)
        };
        // SAFETY: it is a block.
        self.at = unsafe { Block::first_slot(block) };
        Some(())
    }
}

/// Iterator over the values and keys of a [`Pool`]: `PoolIter<&T>` of [`Pool::iter`], and `PoolIter<&mut T>`
/// of [`Pool::iter_mut`].
pub struct PoolIter<R: Reference>(pub(super) Walk<R::Target>, pub(super) PhantomData<R>);

/// A reference to a value. The trait is sealed: its module is private.
pub trait Reference: Deref<Target: Sized> {
    /// # Safety
    /// As for [`NonNull::as_ref`] or [`NonNull::as_mut`].
    unsafe fn to(value: NonNull<Self::Target>) -> Self;
}

impl<T> Reference for &T {
    #[inline(always)]
    unsafe fn to(value: NonNull<T>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { value.as_ref() }
    }
}

impl<T> Reference for &mut T {
    #[inline(always)]
    unsafe fn to(mut value: NonNull<T>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { value.as_mut() }
    }
}

// SAFETY: it acts as a list of the references that it yields.
unsafe impl<R: Reference + Send> Send for PoolIter<R> {}
// SAFETY: as above.
unsafe impl<R: Reference + Sync> Sync for PoolIter<R> {}

impl<R: Reference> Iterator for PoolIter<R> {
    type Item = (PoolKey<R::Target>, R);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.next()?;
        // SAFETY: the slot has a value, which is visited once. The pool is borrowed as `R` borrows it.
        Some((key, unsafe { R::to(value) }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.left, Some(self.0.left))
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut work: F) -> B {
        self.0.fold(init, |result, (key, value)| {
            // SAFETY: as in `next`.
            work(result, (key, unsafe { R::to(value) }))
        })
    }
}

impl<R: Reference> ExactSizeIterator for PoolIter<R> {}
impl<R: Reference> FusedIterator for PoolIter<R> {}

impl<'a, T, A> IntoIterator for &'a Pool<T, A> {
    type Item = (PoolKey<T>, &'a T);
    type IntoIter = PoolIter<&'a T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, A> IntoIterator for &'a mut Pool<T, A> {
    type Item = (PoolKey<T>, &'a mut T);
    type IntoIter = PoolIter<&'a mut T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
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
            // SAFETY: the slot was used, and its pool is alive.
            let tag = unsafe { Slot::tag(place) };
            // SAFETY: as above.
            unsafe { place.cast().write((tag | (2 * USES - 1)) - 5) };
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
