//! `Pool`: objects of one type that come and go one by one.
#![expect(unsafe_code, reason = "keys are addresses, and slots may be vacant")]

mod slot;

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, needs_drop};
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use self::slot::{Head, LINK, Slot, USE_BITS, WORN_OUT, Walk};
pub use self::slot::{PoolIter, PoolIterMut, PoolKey};
use crate::arena::FrameArena;
use crate::error::ArenaError;
use crate::panics::FirstPanic;
use crate::stamp;

/// About as many bytes as the first block has.
const MIN_BLOCK_BYTES: usize = 4 << 10;

/// About as many bytes as a block has at most: few enough that making one is not felt.
const MAX_BLOCK_BYTES: usize = 32 << 10;

/// Where values are so large that too few would fit into a block of that size.
const MIN_BLOCK_SLOTS: usize = 8;

/// Objects of one type that come and go one by one: bullets, particles, the nodes of a graph. Use
/// it where entities would be too much, and a frame too short.
///
/// [`insert`](Self::insert) returns a [`PoolKey`], which is `Copy` and can be stored anywhere;
/// [`remove`](Self::remove) makes the slot vacant for the next object. Both take the same time
/// however many objects there are. A stale key, or one of another pool, resolves to nothing, and
/// never to the object that has the slot now: each key is unique in the process.
///
/// Slots are made in blocks of some kilobytes, and never move: growth copies nothing.
/// [Iterating](Self::iter) goes through them in the order of memory.
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
/// for (key, bullet) in &mut bullets {
///     bullet[1] += 1.0;
/// }
/// assert_eq!(bullets[second], [2.0, 4.0]);
/// ```
///
/// # Whose memory
///
/// `Pool<T>` has an arena of its own, so it can be a resource (it is one), and frees its memory when
/// it is dropped. For the length of a level, remove the resource when the level ends, or
/// [`clear`](Self::clear) it: the blocks are kept then for the next one.
///
/// ```
/// # #[cfg(feature = "bevy")] {
/// # use bevy_app::prelude::*;
/// # use bevy_ecs::prelude::*;
/// # use bevy_frame_arena::Pool;
/// struct Bullet {
///     seconds_left: f32,
/// }
///
/// fn age(mut bullets: ResMut<Pool<Bullet>>) {
///     bullets.retain(|_, bullet| {
///         bullet.seconds_left -= 0.5;
///         bullet.seconds_left > 0.0
///     });
/// }
///
/// let mut app = App::new();
/// app.init_resource::<Pool<Bullet>>().add_systems(Update, age);
/// let mut bullets = app.world_mut().resource_mut::<Pool<Bullet>>();
/// bullets.insert(Bullet { seconds_left: 0.4 });
/// app.update();
/// assert!(app.world().resource::<Pool<Bullet>>().is_empty());
/// # }
/// ```
///
/// [`new_in`](Self::new_in) takes the blocks from another arena: `Pool<T, &FrameArena>` lives within
/// one system.
///
/// # How many
///
/// A pool grows, by a block whenever all slots are taken. [`with_limit`](Self::with_limit) is for
/// those who would rather refuse the object than grow: it makes all slots at once.
#[cfg_attr(feature = "bevy", derive(bevy_ecs::resource::Resource))]
pub struct Pool<T, A = FrameArena> {
    /// The tag of a slot that was not used yet: the number of the pool. No other pool has it, nor this
    /// one after `clear`.
    unused_tag: u64,
    first_vacant: Option<NonNull<Head>>,
    len: usize,
    /// The slots in all blocks, without those that are worn out.
    capacity: usize,
    limit: usize,
    /// The first slot of the first block.
    first: Option<NonNull<Head>>,
    /// The end of the last block.
    end: Option<NonNull<Head>>,
    owns: PhantomData<T>,
    /// Used by methods that take `&mut self` only.
    memory: A,
}

// SAFETY: the blocks are the pool's, and values and arena may be sent.
unsafe impl<T: Send, A: Send> Send for Pool<T, A> {}
// SAFETY: a shared pool reaches its values only. The arena is used by one thread at a time, as if it
// was sent from one to the next.
unsafe impl<T: Sync, A: Send> Sync for Pool<T, A> {}

/// Why a [`Pool`] has no slot for a value.
///
/// The `try_` methods return it; their plain twins panic with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError {
    /// All slots that the pool may have are taken, or would be.
    Full {
        /// The limit.
        slots: usize,
    },
    /// The pool's arena had no memory for more slots.
    Arena(ArenaError),
}

impl<T> Pool<T> {
    /// Creates a pool that grows, without any slots yet.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let pool = Pool::<u32>::new();
    /// assert_eq!((pool.len(), pool.capacity()), (0, 0));
    /// ```
    pub fn new() -> Self {
        Self::new_in(FrameArena::default())
    }

    /// Creates a pool with all the slots it will ever have.
    ///
    /// # Panics
    /// If there is no memory for them; see [`PoolError`].
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut voices = Pool::with_limit(2);
    /// voices.insert("steps");
    /// voices.insert("rain");
    /// assert!(voices.try_insert("thunder").is_err());
    /// ```
    #[track_caller]
    pub fn with_limit(slots: usize) -> Self {
        match Self::try_with_limit_in(slots, FrameArena::default()) {
            Ok(pool) => pool,
            Err(error) => fail(error),
        }
    }
}

impl<T, A: PoolMemory> Pool<T, A> {
    /// Creates a pool that grows, with memory of `arena`: a `&FrameArena`, or a `FrameArena` with
    /// settings of its own.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{FrameArenas, Pool};
    ///
    /// let arenas = FrameArenas::default();
    /// let scratch = arenas.scratch();
    /// let mut nodes = Pool::new_in(&*scratch);
    /// let root = nodes.insert("root");
    /// assert_eq!(nodes[root], "root");
    /// ```
    pub fn new_in(arena: A) -> Self {
        Self {
            unused_tag: unused_tag(),
            first_vacant: None,
            len: 0,
            capacity: 0,
            limit: u32::MAX as usize,
            first: None,
            end: None,
            owns: PhantomData,
            memory: arena,
        }
    }

    /// Creates a pool with all the slots it will ever have, in memory of `arena`.
    ///
    /// # Errors
    /// If there is no memory for them.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{FrameArena, Pool};
    ///
    /// let arena = FrameArena::new(64 << 10);
    /// let pool = Pool::<u64, _>::try_with_limit_in(1000, &arena)?;
    /// assert_eq!(pool.capacity(), 1000);
    /// # Ok::<(), bevy_frame_arena::PoolError>(())
    /// ```
    pub fn try_with_limit_in(slots: usize, arena: A) -> Result<Self, PoolError> {
        let mut pool = Self::new_in(arena);
        pool.limit = slots.min(pool.limit);
        pool.try_reserve(slots)?;
        Ok(pool)
    }

    /// Makes slots for `additional` values more.
    ///
    /// # Errors
    /// If there is no memory for them, or a limit.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::<[f32; 4]>::new();
    /// pool.try_reserve(1000)?;
    /// assert!(pool.capacity() >= 1000);
    /// # Ok::<(), bevy_frame_arena::PoolError>(())
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), PoolError> {
        match additional.saturating_sub(self.capacity - self.len) {
            0 => Ok(()),
            missing => self.add_slots(missing).map(|_| ()),
        }
    }

    /// Puts a value into a vacant slot, and returns its key.
    ///
    /// # Panics
    /// If all slots are taken and there is no memory for more, or a limit; see [`PoolError`]. The
    /// value is dropped then.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let key = pool.insert("Ferris");
    /// assert_eq!(pool.get(key), Some(&"Ferris"));
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: T) -> PoolKey<T> {
        self.insert_with(|_| value)
    }

    /// Puts a value into a vacant slot, like [`insert`](Self::insert).
    ///
    /// # Errors
    /// If all slots are taken and there is no memory for more, or a limit. The value is dropped
    /// then; [`try_insert_with`](Self::try_insert_with) does not make it.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{Pool, PoolError};
    ///
    /// let mut pool = Pool::with_limit(1);
    /// assert!(pool.try_insert(1).is_ok());
    /// assert_eq!(pool.try_insert(2), Err(PoolError::Full { slots: 1 }));
    /// ```
    #[inline]
    pub fn try_insert(&mut self, value: T) -> Result<PoolKey<T>, PoolError> {
        self.try_insert_with(|_| value)
    }

    /// Puts the value that `make` returns into a vacant slot; `make` receives its key.
    ///
    /// # Panics
    /// If all slots are taken and there is no memory for more, or a limit; see [`PoolError`].
    /// `make` is not called then. If `make` panics, the pool is unchanged.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{Pool, PoolKey};
    ///
    /// struct Node {
    ///     parent: PoolKey<Node>,
    /// }
    ///
    /// let mut nodes = Pool::new();
    /// let root = nodes.insert_with(|root| Node { parent: root });
    /// assert_eq!(nodes[root].parent, root);
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert_with(&mut self, make: impl FnOnce(PoolKey<T>) -> T) -> PoolKey<T> {
        match self.try_insert_with(make) {
            Ok(key) => key,
            Err(error) => fail(error),
        }
    }

    /// Puts the value that `make` returns into a vacant slot, like
    /// [`insert_with`](Self::insert_with).
    ///
    /// # Errors
    /// If all slots are taken and there is no memory for more, or a limit. `make` is not called
    /// then.
    #[inline]
    pub fn try_insert_with(
        &mut self,
        make: impl FnOnce(PoolKey<T>) -> T,
    ) -> Result<PoolKey<T>, PoolError> {
        let slot = match self.first_vacant {
            Some(slot) => slot,
            None => self.add_slots(1)?,
        };
        // SAFETY: it is vacant, so it has a head.
        let Head { tag, next } = unsafe { slot.read() };
        self.first_vacant = next;
        self.len += 1;
        let key = PoolKey::new(slot, tag + 1);
        let vacated = Vacated { pool: self, key };
        let value = make(key);
        mem::forget(vacated);
        // SAFETY: the slot is this pool's.
        let place = unsafe { Slot::value(slot) };
        // SAFETY: it is in no list any more, and the pool is borrowed exclusively.
        unsafe { place.write(value) };
        // SAFETY: as above; a slot begins with its tag.
        unsafe { slot.cast().write(key.tag) };
        Ok(key)
    }

    /// Makes a block with so many slots or more, and returns the first.
    #[cold]
    #[inline(never)]
    fn add_slots(&mut self, additional: usize) -> Result<NonNull<Head>, PoolError> {
        let room = self.limit - self.capacity;
        if additional > room {
            return Err(PoolError::Full { slots: self.limit });
        }
        let [least, most] = [MIN_BLOCK_BYTES, MAX_BLOCK_BYTES]
            .map(|bytes| (bytes / size_of::<Slot<T>>()).max(MIN_BLOCK_SLOTS));
        // As many as there are, so that blocks are few.
        let usual = self.capacity.clamp(least, most);
        let slots = additional.max(usual).min(room);
        let layout = Slot::<T>::block(slots).ok_or(PoolError::Arena(ArenaError::TooLong {
            len: slots,
            element_bytes: size_of::<Slot<T>>(),
        }))?;
        let memory = self.memory.arena().try_alloc_layout(layout);
        let block = memory.map_err(PoolError::Arena)?.cast();
        let (tag, mut next) = (self.unused_tag, self.first_vacant);
        for n in (0..slots).rev() {
            // SAFETY: the block has so many slots.
            let slot = unsafe { Slot::<T>::after(block, n) };
            // SAFETY: the memory is fresh, and has room for the slot.
            unsafe { slot.write(Head { tag, next }) };
            next = Some(slot);
        }
        self.first_vacant = next;
        self.capacity += slots;
        // SAFETY: a head is behind the slots.
        let end = unsafe { Slot::<T>::after(block, slots) };
        let (tag, next) = (LINK, None);
        // SAFETY: as above.
        unsafe { end.write(Head { tag, next }) };
        let next = Some(block);
        match self.end.replace(end) {
            // SAFETY: it is the end of a block, and the pool is borrowed exclusively.
            Some(end) => unsafe { end.write(Head { tag, next }) },
            None => self.first = next,
        }
        Ok(block)
    }
}

impl<T, A> Pool<T, A> {
    /// Returns the number of values.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// pool.insert(7);
    /// assert_eq!(pool.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns how many values fit before the pool grows, including those that are there.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// pool.insert(7);
    /// assert!(pool.capacity() > 10); // a block of slots
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the value of a key, or `None` if it is stale.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let key = pool.insert(7);
    /// assert_eq!(pool.get(key), Some(&7));
    /// assert_eq!(Pool::new().get(key), None);
    /// ```
    #[inline]
    pub fn get(&self, key: PoolKey<T>) -> Option<&T> {
        let value = self.find(key)?;
        // SAFETY: there is a value, and the pool is borrowed.
        Some(unsafe { value.as_ref() })
    }

    /// Returns the value of a key to change it, or `None` if it is stale.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let key = pool.insert(7);
    /// if let Some(value) = pool.get_mut(key) {
    ///     *value += 1;
    /// }
    /// assert_eq!(pool[key], 8);
    /// ```
    #[inline]
    pub fn get_mut(&mut self, key: PoolKey<T>) -> Option<&mut T> {
        let mut value = self.find(key)?;
        // SAFETY: there is a value, and the pool is borrowed exclusively.
        Some(unsafe { value.as_mut() })
    }

    /// Returns whether the pool has a value of this key.
    #[inline]
    pub fn contains(&self, key: PoolKey<T>) -> bool {
        self.find(key).is_some()
    }

    /// Returns where the value of a key is, if it is still there.
    #[inline(always)]
    fn find(&self, key: PoolKey<T>) -> Option<NonNull<T>> {
        // First, as the key of a pool that is gone dangles.
        if (key.tag ^ self.unused_tag) >> USE_BITS != 0 {
            return None;
        }
        // SAFETY:
        // - no other pool has, or had, this number: the key is of this one;
        // - so it names a slot in a block that stays until the pool is dropped;
        // - a slot begins with its tag, and the pool is borrowed.
        let tag = unsafe { key.slot.cast::<u64>().read() };
        if tag != key.tag {
            return None;
        }
        // SAFETY: as above.
        Some(unsafe { Slot::value(key.slot) })
    }

    /// Visits all values with their keys, in the order of memory.
    ///
    /// It ends with the last value, and passes over vacant slots before that: a pool that was once
    /// much fuller takes longer.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let key = pool.insert(1);
    /// pool.insert(2);
    /// assert_eq!(pool.iter().map(|(_, value)| value).sum::<i32>(), 3);
    /// assert_eq!(pool.iter().next(), Some((key, &1)));
    /// ```
    pub fn iter(&self) -> PoolIter<'_, T> {
        let (walk, borrows) = (self.walk(), PhantomData);
        PoolIter { walk, borrows }
    }

    /// Visits all values to change them, with their keys, in the order of memory.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let key = pool.insert(1);
    /// for (_, value) in pool.iter_mut() {
    ///     *value *= 10;
    /// }
    /// assert_eq!(pool[key], 10);
    /// ```
    pub fn iter_mut(&mut self) -> PoolIterMut<'_, T> {
        let (walk, borrows) = (self.walk(), PhantomData);
        PoolIterMut { walk, borrows }
    }

    fn walk(&self) -> Walk<T> {
        // SAFETY: these are the slots and values of this pool. Who walks keeps it borrowed.
        unsafe { Walk::new(self.first, self.len) }
    }

    /// Takes a value out, and makes its slot vacant.
    ///
    /// Returns `None` if the key is stale: the value was taken out before, or is in another pool.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let key = pool.insert(7);
    /// assert_eq!(pool.remove(key), Some(7));
    /// assert_eq!(pool.remove(key), None);
    /// ```
    #[inline]
    pub fn remove(&mut self, key: PoolKey<T>) -> Option<T> {
        let value = self.find(key)?;
        // SAFETY: there is a value, whose slot is vacated next.
        let removed = Some(unsafe { value.read() });
        // SAFETY: the key was found, and its value is here.
        unsafe { self.vacate(key) };
        removed
    }

    /// Removes the values for which `keep` returns `false`, in the order of memory.
    ///
    /// If `keep`, or the destructor of a value, panics, those not visited yet stay.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let keys: Vec<_> = (0..10).map(|n| pool.insert(n)).collect();
    /// pool.retain(|_, n| *n % 2 == 0);
    /// assert_eq!(pool.len(), 5);
    /// assert_eq!((pool.get(keys[1]), pool.get(keys[2])), (None, Some(&2)));
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(PoolKey<T>, &mut T) -> bool) {
        let mut walk = self.walk();
        while let Some(key) = walk.next() {
            // SAFETY: the walk returns slots with values.
            let mut value = unsafe { Slot::value(key.slot) };
            // SAFETY: there is a value, and the pool is borrowed exclusively.
            if !keep(key, unsafe { value.as_mut() }) {
                let _vacated = Vacated { pool: self, key };
                // SAFETY: there is a value, whose slot is vacated even if this panics.
                unsafe { value.drop_in_place() };
            }
        }
    }

    /// Drops all values; the slots are kept.
    ///
    /// # Panics
    /// If a destructor panics. All others have run by then, and the pool is empty.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let key = pool.insert(7);
    /// pool.clear();
    /// assert_eq!((pool.len(), pool.get(key)), (0, None));
    /// assert!(pool.capacity() > 0);
    /// ```
    pub fn clear(&mut self) {
        // With another number all keys are stale, however often each slot was used.
        self.unused_tag = unused_tag();
        let panic = self.drop_values();
        self.len = 0;
        let mut last_vacant: Option<NonNull<Head>> = None;
        let mut at = self.first;
        while let Some(slot) = at {
            // SAFETY: a slot, or the end of a block: both have a tag.
            let tag = unsafe { slot.cast::<u64>().read() };
            if tag == LINK {
                // SAFETY: a head is behind the slots of each block.
                at = unsafe { slot.read() }.next;
                continue;
            }
            // SAFETY: it is not the end of the block.
            at = Some(unsafe { Slot::<T>::after(slot, 1) });
            if tag == WORN_OUT {
                continue;
            }
            let unused = Head {
                tag: self.unused_tag,
                next: None,
            };
            // SAFETY: its value is gone.
            unsafe { slot.write(unused) };
            let next = Some(slot);
            match last_vacant.replace(slot) {
                // SAFETY: it was made vacant before.
                Some(last) => unsafe { last.write(Head { next, ..unused }) },
                None => self.first_vacant = next,
            }
        }
        panic.resume();
    }

    /// Drops all values, whose slots are not vacated.
    fn drop_values(&mut self) -> FirstPanic {
        let mut panic = FirstPanic::default();
        if needs_drop::<T>() {
            let mut walk = self.walk();
            while let Some(key) = walk.next() {
                // SAFETY: the walk returns slots with values.
                let value = unsafe { Slot::<T>::value(key.slot) };
                // SAFETY: each is visited once, and not used again.
                panic.catch(|| unsafe { value.drop_in_place() });
            }
        }
        panic
    }

    /// Makes the slot of a key vacant.
    ///
    /// # Safety
    /// The key must be the newest of a slot of this pool that is in no list, and its value gone.
    #[inline(always)]
    unsafe fn vacate(&mut self, key: PoolKey<T>) {
        self.len -= 1;
        let mut head = Head {
            tag: key.tag + 1,
            next: self.first_vacant,
        };
        if head.tag.is_multiple_of(1 << USE_BITS) {
            // The next key would have been made before, or be one of another pool.
            head.tag = WORN_OUT;
            self.capacity -= 1;
        } else {
            self.first_vacant = Some(key.slot);
        }
        // SAFETY: the caller's promise; the pool is borrowed exclusively.
        unsafe { key.slot.write(head) };
    }
}

/// Makes a slot vacant when it is dropped, also by a panic.
///
/// Its key must be as [`Pool::vacate`] demands by then.
struct Vacated<'a, T, A> {
    pool: &'a mut Pool<T, A>,
    key: PoolKey<T>,
}

impl<T, A> Drop for Vacated<'_, T, A> {
    fn drop(&mut self) {
        // SAFETY: whoever made this guard has moved or dropped the value, or not made it.
        unsafe { self.pool.vacate(self.key) };
    }
}

impl<T, A> Drop for Pool<T, A> {
    fn drop(&mut self) {
        self.drop_values().resume();
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
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

impl<'a, T, A> IntoIterator for &'a Pool<T, A> {
    type Item = (PoolKey<T>, &'a T);
    type IntoIter = PoolIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, A> IntoIterator for &'a mut Pool<T, A> {
    type Item = (PoolKey<T>, &'a mut T);
    type IntoIter = PoolIterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: fmt::Debug, A> fmt::Debug for Pool<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { slots } => write!(
                f,
                "the pool is full: it has a limit of {slots} slots; remove objects, raise the \
                 limit, or make the pool with `Pool::new`, which grows"
            ),
            Self::Arena(error) => write!(f, "no memory for more slots of a pool: {error}"),
        }
    }
}

impl Error for PoolError {}

/// What a [`Pool`] takes its blocks from: an arena of its own, or a borrowed one.
///
/// No other crate can implement it: the arena must stay the same, and must not be reset.
pub trait PoolMemory: sealed::Memory {}

impl<A: sealed::Memory> PoolMemory for A {}

mod sealed {
    use crate::arena::FrameArena;

    pub trait Memory {
        fn arena(&self) -> &FrameArena;
    }

    impl Memory for FrameArena {
        fn arena(&self) -> &FrameArena {
            self
        }
    }

    impl Memory for &FrameArena {
        fn arena(&self) -> &FrameArena {
            self
        }
    }
}

/// Returns the tag of unused slots for a number that no pool has had.
fn unused_tag() -> u64 {
    stamp::pool(1 << (u64::BITS - USE_BITS)) << USE_BITS
}

#[cold]
#[inline(never)]
#[track_caller]
fn fail(error: PoolError) -> ! {
    panic!("{error}")
}

#[cold]
#[inline(never)]
#[track_caller]
fn fail_stale<T>(key: PoolKey<T>) -> ! {
    if key.is_unset() {
        panic!("the key was never set: it is `PoolKey::default()`");
    }
    panic!(
        "stale {key:?}: its object was removed, or is in another pool; use `get` where that may be"
    )
}
