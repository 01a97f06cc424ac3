//! The slots of a pool: their keys, and walking from one to the next.
#![expect(unsafe_code, reason = "keys are addresses, and slots may be vacant")]

use std::alloc::Layout;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, offset_of};
use std::ptr::NonNull;

/// The low bits of a tag count the uses of a slot, two for each value: it is odd while there is one. The
/// others are the number of the pool.
pub(super) const USE_BITS: u32 = 24;

/// The tag behind the last slot of a block. No pool has the number zero.
pub(super) const LINK: u64 = 0;

/// The tag of a slot whose uses are all counted. It stays vacant.
pub(super) const WORN_OUT: u64 = 2;

/// What a vacant slot begins with, and what is behind the last slot of a block.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Head {
    pub(super) tag: u64,
    /// The next vacant slot, or the first slot of the next block.
    pub(super) next: Option<NonNull<Head>>,
}

/// A slot with a value. The tag is where that of `Head` is.
#[repr(C)]
struct Taken<T> {
    tag: u64,
    value: ManuallyDrop<T>,
}

/// Room for either.
#[repr(C)]
pub(super) union Slot<T> {
    vacant: Head,
    taken: ManuallyDrop<Taken<T>>,
}

impl<T> Slot<T> {
    /// Returns the layout of a block: so many slots, and a head behind them.
    pub(super) fn block(slots: usize) -> Option<Layout> {
        let slots = Layout::array::<Self>(slots).ok()?;
        let (block, _) = slots.extend(Layout::new::<Head>()).ok()?;
        Some(block)
    }

    /// Returns the slot, or the end of the block, that is `count` slots further.
    ///
    /// # Safety
    /// It must be in the same block.
    #[inline(always)]
    pub(super) unsafe fn after(slot: NonNull<Head>, count: usize) -> NonNull<Head> {
        // SAFETY: the caller's promise.
        unsafe { slot.cast::<Self>().add(count) }.cast()
    }

    /// Returns where the value of a slot is, or will be.
    ///
    /// # Safety
    /// `slot` must be in a block of slots of this type.
    #[inline(always)]
    pub(super) unsafe fn value(slot: NonNull<Head>) -> NonNull<T> {
        // SAFETY: the caller's promise; the value is within the slot.
        unsafe { slot.byte_add(offset_of!(Taken<T>, value)) }.cast()
    }
}

/// Names an object of a [`Pool`](crate::Pool). Store it wherever you would store an `Entity`: it is
/// `Copy`, and keeps nothing alive.
///
/// It resolves in the pool that made it, until the object is removed. After that it is stale and
/// resolves to nothing: no other object ever gets the same key, in this pool or another one.
///
/// `PoolKey::default()` is unset, and resolves to nothing. Keys are ordered by address.
///
/// ```
/// use bevy_frame_arena::{Pool, PoolKey};
///
/// #[derive(Default)]
/// struct Turret {
///     target: PoolKey<&'static str>,
/// }
///
/// let mut enemies = Pool::new();
/// let mut turret = Turret::default();
/// assert_eq!(enemies.get(turret.target), None);
/// turret.target = enemies.insert("Corro");
/// assert_eq!(enemies.get(turret.target), Some(&"Corro"));
/// ```
///
/// A key of one type is no key of another:
///
/// ```compile_fail,E0308
/// # use bevy_frame_arena::Pool;
/// let key = Pool::new().insert("Corro");
/// Pool::<u32>::new().get(key);
/// ```
pub struct PoolKey<T> {
    /// Dangles if the pool is gone. Only a pool with the number in `tag` may read there.
    pub(super) slot: NonNull<Head>,
    pub(super) tag: u64,
    names: PhantomData<fn() -> T>,
}

// SAFETY: a key reaches its object through a borrow of the pool only.
unsafe impl<T> Send for PoolKey<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for PoolKey<T> {}

impl<T> PoolKey<T> {
    #[inline(always)]
    pub(super) const fn new(slot: NonNull<Head>, tag: u64) -> Self {
        let names = PhantomData;
        Self { slot, tag, names }
    }

    /// Returns whether the key is `PoolKey::default()`, and so was never set.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{Pool, PoolKey};
    ///
    /// assert!(PoolKey::<u32>::default().is_unset());
    /// assert!(!Pool::new().insert(7).is_unset());
    /// ```
    pub fn is_unset(self) -> bool {
        self == Self::default()
    }
}

/// A key that resolves to nothing.
impl<T> Default for PoolKey<T> {
    fn default() -> Self {
        Self::new(NonNull::dangling(), LINK)
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

impl<T> PartialOrd for PoolKey<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for PoolKey<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.slot, self.tag).cmp(&(other.slot, other.tag))
    }
}

impl<T> Hash for PoolKey<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.slot, self.tag).hash(state);
    }
}

impl<T> fmt::Debug for PoolKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unset() {
            return f.write_str("PoolKey(unset)");
        }
        f.debug_struct("PoolKey")
            .field("pool", &(self.tag >> USE_BITS))
            .field("slot", &self.slot)
            .field("use", &(self.tag % (1 << USE_BITS) / 2))
            .finish()
    }
}

/// Goes from value to value. The owner makes sure that the blocks stay.
pub(super) struct Walk<T> {
    at: NonNull<Head>,
    /// Values ahead.
    left: usize,
    slots: PhantomData<fn() -> T>,
}

impl<T> Walk<T> {
    /// # Safety
    /// While `next` is called:
    /// - `first` and what follows must be a pool's slots of this type, with `len` values;
    /// - a value that was not visited yet must stay, and nobody may hold a `&mut` to it.
    pub(super) unsafe fn new(first: Option<NonNull<Head>>, len: usize) -> Self {
        Self {
            at: first.unwrap_or(NonNull::dangling()),
            left: len,
            slots: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<PoolKey<T>> {
        // What is behind the last value is not visited.
        while self.left > 0 {
            let slot = self.at;
            // SAFETY: there are values ahead, so this is a slot or the end of a block: both have a tag.
            let tag = unsafe { slot.cast::<u64>().read() };
            if tag % 2 == 1 {
                self.left -= 1;
                // SAFETY: this is not the end of the block.
                self.at = unsafe { Slot::<T>::after(slot, 1) };
                return Some(PoolKey::new(slot, tag));
            }
            self.at = if tag == LINK {
                // SAFETY: a head is behind the last slot of each block.
                unsafe { slot.read() }.next?
            } else {
                // SAFETY: this is not the end of the block.
                unsafe { Slot::<T>::after(slot, 1) }
            };
        }
        None
    }
}

/// What [`Pool::iter`](crate::Pool::iter) returns.
pub struct PoolIter<'a, T> {
    pub(super) walk: Walk<T>,
    pub(super) borrows: PhantomData<&'a T>,
}

/// What [`Pool::iter_mut`](crate::Pool::iter_mut) returns.
pub struct PoolIterMut<'a, T> {
    pub(super) walk: Walk<T>,
    pub(super) borrows: PhantomData<&'a mut T>,
}

// SAFETY: it is a `&Pool<T>` that reaches the values only.
unsafe impl<T: Sync> Send for PoolIter<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for PoolIter<'_, T> {}
// SAFETY: it is a `&mut Pool<T>` that reaches the values only.
unsafe impl<T: Send> Send for PoolIterMut<'_, T> {}
// SAFETY: a shared one returns no values.
unsafe impl<T: Sync> Sync for PoolIterMut<'_, T> {}

impl<'a, T> Iterator for PoolIter<'a, T> {
    type Item = (PoolKey<T>, &'a T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.walk.next()?;
        // SAFETY: the walk returns slots with values.
        let value = unsafe { Slot::value(key.slot) };
        // SAFETY: there is a value, and the pool is borrowed for `'a`.
        Some((key, unsafe { value.as_ref() }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.walk.left, Some(self.walk.left))
    }
}

impl<'a, T> Iterator for PoolIterMut<'a, T> {
    type Item = (PoolKey<T>, &'a mut T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.walk.next()?;
        // SAFETY: the walk returns slots with values.
        let mut value = unsafe { Slot::value(key.slot) };
        // SAFETY: there is a value, the pool is borrowed for `'a`, and no slot is visited twice.
        Some((key, unsafe { value.as_mut() }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.walk.left, Some(self.walk.left))
    }
}

impl<T> ExactSizeIterator for PoolIter<'_, T> {}
impl<T> ExactSizeIterator for PoolIterMut<'_, T> {}
impl<T> FusedIterator for PoolIter<'_, T> {}
impl<T> FusedIterator for PoolIterMut<'_, T> {}

impl<T> Clone for PoolIter<'_, T> {
    fn clone(&self) -> Self {
        Self {
            walk: Walk { ..self.walk },
            borrows: PhantomData,
        }
    }
}
