//! The slots of a pool: their blocks, keys and iterators.
#![expect(unsafe_code, reason = "keys are addresses, and slots may be vacant")]

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
    pub(super) unsafe fn new(pool: &Pool<T>) -> Self {
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
                // SAFETY: this is not the end of the block.
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
        let tag = unsafe { slot.as_ref() }.tag;
        // SAFETY: the slot is within a block.
        (PoolKey { slot, tag }, unsafe { Slot::value(slot) })
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

/// Iterator over the values and keys of a [`Pool`]: `PoolIter<&T>` of [`Pool::iter`], and `PoolIter<&mut T>`
/// of [`Pool::iter_mut`].
pub struct PoolIter<R: Deref<Target: Sized>>(Walk<R::Target>, PhantomData<R>);

impl<R: Deref<Target: Sized>> PoolIter<R> {
    /// # Safety
    /// The pool must be borrowed as `R` borrows its values.
    pub(super) unsafe fn new(pool: &Pool<R::Target>) -> Self {
        // SAFETY: while the pool is borrowed, its blocks stay, and the iterator has the only access to
        // values that `R` borrows exclusively.
        Self(unsafe { Walk::new(pool) }, PhantomData)
    }
}

// SAFETY: it acts as a list of the references that it yields.
unsafe impl<R: Deref<Target: Sized> + Send> Send for PoolIter<R> {}
// SAFETY: it acts as a list of the references that it yields.
unsafe impl<R: Deref<Target: Sized> + Sync> Sync for PoolIter<R> {}

/// Implements the iterator that yields `&T` or `&mut T`.
macro_rules! visits {
    ($iter:ident $($mut:ident)?) => {
        impl<'a, T> Iterator for PoolIter<&'a $($mut)? T> {
            type Item = (PoolKey<T>, &'a $($mut)? T);

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let (key, value) = self.0.next()?;
                // SAFETY: the slot has a value, which is visited once. The pool is borrowed as the
                // reference borrows it.
                Some((key, unsafe { &$($mut)? *value.as_ptr() }))
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.0.left, Some(self.0.left))
            }

            #[inline]
            fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut work: F) -> B {
                self.0.fold(init, |result, (key, value)| {
                    // SAFETY: the slot has a value, which is visited once. The pool is borrowed as the
                    // reference borrows it.
                    work(result, (key, unsafe { &$($mut)? *value.as_ptr() }))
                })
            }
        }

        impl<'a, T> ExactSizeIterator for PoolIter<&'a $($mut)? T> {}
        impl<'a, T> FusedIterator for PoolIter<&'a $($mut)? T> {}

        impl<'a, T> IntoIterator for &'a $($mut)? Pool<T> {
            type Item = (PoolKey<T>, &'a $($mut)? T);
            type IntoIter = PoolIter<&'a $($mut)? T>;

            fn into_iter(self) -> Self::IntoIter {
                self.$iter()
            }
        }
    };
}

visits! { iter }
visits! { iter_mut mut }

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
