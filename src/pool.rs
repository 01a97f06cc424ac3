//! `Pool`: objects of one type that come and go one by one.
#![forbid(unsafe_code)]

mod block;
mod error;
mod insert;
mod iter;
mod key;
mod lookup;
mod remove;

use std::fmt;

use allocator_api2::alloc::{Allocator, Global};
use allocator_api2::vec::Vec;

use self::block::Slot;
pub use self::error::PoolError;
pub use self::iter::{PoolIter, PoolIterMut};
pub use self::key::PoolKey;
use crate::stamp::{self, Stamp};

/// Where the list of vacant slots ends. No slot has this number.
const NO_SLOT: u32 = u32::MAX;

/// Objects of one type that come and go one by one: bullets, particles, the nodes of a graph. Use
/// it where entities would be too much, and a frame too short.
///
/// [`insert`](Self::insert) returns a [`PoolKey`], which is `Copy` and can be stored anywhere;
/// [`remove`](Self::remove) makes the slot vacant for the next object. Both take the same time
/// however many objects there are. A key of an object that was removed, or of another pool, is
/// stale and resolves to nothing, never to the object that has the slot now: each object has a
/// number that is given once in a process.
///
/// Slots are made in blocks of four kilobytes, and never move: growth copies nothing, so it makes
/// no frame slow. [Iterating](Self::iter) goes through them in the order of memory, and vacant ones
/// are filled first.
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
/// `Pool<T>` takes its blocks from the global allocator, so it can be a resource (it is one) and
/// live as long as it likes. For the length of a level, [`clear`](Self::clear) it when the level
/// ends: the blocks are kept for the next one, and the keys of the old one are stale.
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
/// app.world_mut()
///     .resource_mut::<Pool<Bullet>>()
///     .insert(Bullet { seconds_left: 0.8 });
/// app.update();
/// assert_eq!(app.world().resource::<Pool<Bullet>>().len(), 1);
/// app.update();
/// assert!(app.world().resource::<Pool<Bullet>>().is_empty());
/// # }
/// ```
///
/// [`new_in`](Self::new_in) takes another allocator: a [`FrameArena`](crate::FrameArena), for a pool
/// that lives within one system, or a `FreeList`. Such a pool borrows its memory, so it can't be a
/// resource.
///
/// ```
/// use bevy_frame_arena::{FrameArenas, Pool};
///
/// let arenas = FrameArenas::default();
/// let scratch = arenas.scratch();
/// let mut nodes = Pool::new_in(&*scratch);
/// let root = nodes.insert("root");
/// assert_eq!(nodes[root], "root");
/// ```
///
/// # How many
///
/// A pool grows, by a block whenever all slots are taken. [`with_limit`](Self::with_limit) is for
/// those who would rather refuse the object than grow: it makes all slots at once.
#[cfg_attr(feature = "bevy", derive(bevy_ecs::resource::Resource))]
pub struct Pool<T, A: Allocator + Clone = Global> {
    /// Each of `block_slots` slots; the last one of a limited pool may have less.
    blocks: Vec<Vec<Slot<T>, A>, A>,
    /// The slots in all of them.
    slots: u32,
    /// The first of the vacant slots, which name each other.
    first_vacant: u32,
    len: u32,
    /// The most slots that there may be.
    limit: u32,
    /// The number of the object that came last.
    last_stamp: Stamp,
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
        Self::new_in(Global)
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
        Self::with_limit_in(slots, Global)
    }
}

impl<T, A: Allocator + Clone> Pool<T, A> {
    /// Creates a pool that grows, with memory of `allocator`: `&FrameArena`, `&FreeList`, or any
    /// other of `allocator_api2`.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{FrameArena, Pool};
    ///
    /// let arena = FrameArena::new(64 << 10);
    /// let mut pool = Pool::new_in(&arena);
    /// let key = pool.insert(7);
    /// assert_eq!(pool[key], 7);
    /// ```
    pub fn new_in(allocator: A) -> Self {
        Self {
            blocks: Vec::new_in(allocator),
            slots: 0,
            first_vacant: NO_SLOT,
            len: 0,
            limit: NO_SLOT,
            last_stamp: stamp::standalone(),
        }
    }

    /// Creates a pool with all the slots it will ever have, in memory of `allocator`.
    ///
    /// # Panics
    /// If there is no memory for them; see [`PoolError`].
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{FrameArena, Pool};
    ///
    /// let arena = FrameArena::new(64 << 10);
    /// let pool = Pool::<u64, _>::with_limit_in(1000, &arena);
    /// assert_eq!(pool.capacity(), 1000);
    /// ```
    #[track_caller]
    pub fn with_limit_in(slots: usize, allocator: A) -> Self {
        match Self::try_with_limit_in(slots, allocator) {
            Ok(pool) => pool,
            Err(error) => fail(error),
        }
    }

    /// Creates a pool with all the slots it will ever have, in memory of `allocator`.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn try_with_limit_in(slots: usize, allocator: A) -> Result<Self, PoolError> {
        let mut pool = Self::new_in(allocator);
        pool.limit = u32::try_from(slots).unwrap_or(NO_SLOT);
        pool.try_reserve(slots)?;
        Ok(pool)
    }

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
        self.len as usize
    }

    /// Returns whether there are no values.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// assert!(Pool::<u32>::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns how many values fit before the pool grows, with those that are there.
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
        self.slots as usize
    }

    /// Makes slots for `additional` values more.
    ///
    /// # Errors
    /// If there is no memory for them, or a limit. The slots made by then are kept.
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
        let vacant = self.capacity() - self.len();
        if additional <= vacant {
            return Ok(());
        }
        self.add_slots(additional - vacant)
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
    pub fn iter(&self) -> PoolIter<'_, T, A> {
        PoolIter::new(&self.blocks, self.len)
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
    pub fn iter_mut(&mut self) -> PoolIterMut<'_, T, A> {
        PoolIterMut::new(&mut self.blocks, self.len)
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug, A: Allocator + Clone> fmt::Debug for Pool<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn fail(error: PoolError) -> ! {
    panic!("{error}")
}
