//! Taking values out of a pool.
#![forbid(unsafe_code)]

use std::mem::needs_drop;

use allocator_api2::alloc::Allocator;

use super::block::Slot;
use super::lookup::slot_mut;
use super::{NO_SLOT, Pool, PoolKey};
use crate::panics::FirstPanic;

impl<T, A: Allocator + Clone> Pool<T, A> {
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
        let next = self.first_vacant;
        let slot = slot_mut(&mut self.blocks, key.slot)?;
        if !slot.has(key.stamp) {
            return None;
        }
        let value = slot.vacate(next);
        self.first_vacant = key.slot;
        self.len -= 1;
        value
    }

    /// Takes out the values for which `keep` returns `false`, in the order of memory.
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
        let Self {
            blocks,
            first_vacant,
            len,
            ..
        } = self;
        for (number, slot) in (0..).zip(blocks.iter_mut().flatten()) {
            let Slot::Taken { stamp, value } = slot else {
                continue;
            };
            if !keep(PoolKey::new(number, *stamp), value) {
                let value = slot.vacate(*first_vacant);
                // All is in order before the destructor runs.
                *first_vacant = number;
                *len -= 1;
                drop(value);
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
        self.len = 0;
        self.first_vacant = NO_SLOT;
        self.vacate_from(0);
    }

    /// Makes the slots from a number on vacant, and puts them before those in the list.
    pub(super) fn vacate_from(&mut self, first: u32) {
        let mut panic = FirstPanic::default();
        // Backwards, so that they are filled from the first one on.
        let slots = self.blocks.iter_mut().flatten().rev();
        for (number, slot) in (first..self.slots).rev().zip(slots) {
            let value = slot.vacate(self.first_vacant);
            self.first_vacant = number;
            if needs_drop::<T>() {
                panic.catch(|| drop(value));
            }
        }
        panic.resume();
    }
}
