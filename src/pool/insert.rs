//! Putting values into a pool, and making slots for them.
#![forbid(unsafe_code)]

use allocator_api2::alloc::Allocator;

use super::block::{Slot, block_slots, new_block};
use super::key::to_keep;
use super::lookup::slot_mut;
use super::{NO_SLOT, Pool, PoolError, PoolKey, fail};
use crate::stamp;

impl<T, A: Allocator + Clone> Pool<T, A> {
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

    /// Puts the value that `make` returns into a vacant slot; `make` is told its key.
    ///
    /// If it panics, the pool is as it was.
    ///
    /// # Panics
    /// If all slots are taken and there is no memory for more, or a limit; see [`PoolError`].
    /// `make` is not called then.
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
        if self.first_vacant == NO_SLOT
            && let Err(error) = self.add_slots(1)
        {
            fail(error);
        }
        self.fill_vacant(make)
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
        if self.first_vacant == NO_SLOT {
            self.add_slots(1)?;
        }
        Ok(self.fill_vacant(make))
    }

    /// Fills the first vacant slot, which there is.
    #[inline]
    fn fill_vacant(&mut self, make: impl FnOnce(PoolKey<T>) -> T) -> PoolKey<T> {
        let number = self.first_vacant;
        // Given before `make` is called: if it panics, it may have told somebody the key.
        self.last_stamp = stamp::after(self.last_stamp);
        let key = PoolKey::new(number, to_keep(self.last_stamp));
        let Some(slot @ &mut Slot::Vacant { next }) = slot_mut(&mut self.blocks, number) else {
            unreachable!("the first vacant slot is there, and vacant");
        };
        *slot = Slot::Taken {
            stamp: key.stamp,
            value: make(key),
        };
        self.first_vacant = next;
        self.len += 1;
        key
    }

    /// Makes at least so many slots, and whole blocks of them if there is no limit.
    #[cold]
    #[inline(never)]
    pub(super) fn add_slots(&mut self, additional: usize) -> Result<(), PoolError> {
        let until = (self.slots as usize).saturating_add(additional);
        if until > self.limit as usize {
            let slots = self.limit as usize;
            return Err(PoolError::Full { slots });
        }
        let first_new = self.slots;
        let added = self.add_blocks(until);
        // Also those that were made before the memory ran out.
        self.vacate_from(first_new);
        added
    }

    /// Makes blocks until there are so many slots; they are in no list yet.
    fn add_blocks(&mut self, until: usize) -> Result<(), PoolError> {
        while (self.slots as usize) < until {
            let left = self.limit - self.slots;
            let slots = block_slots::<T>().min(left as usize);
            let block = new_block(slots, self.blocks.allocator().clone())?;
            self.blocks
                .try_reserve(1)
                .map_err(|_| PoolError::OutOfMemory {
                    requested_bytes: size_of_val(&block),
                })?;
            self.blocks.push(block);
            // Not more than are left to the limit, so they fit.
            self.slots += slots as u32;
        }
        Ok(())
    }
}
