//! Visiting the objects of a pool in the order of memory.
#![forbid(unsafe_code)]

use std::iter::{Flatten, FusedIterator};
use std::slice;

use allocator_api2::alloc::{Allocator, Global};
use allocator_api2::vec::Vec;

use super::block::Slot;
use super::{Pool, PoolKey};

/// What [`Pool::iter`](crate::Pool::iter) returns.
pub struct PoolIter<'a, T, A: Allocator = Global> {
    slots: Flatten<slice::Iter<'a, Vec<Slot<T>, A>>>,
    number: u32,
    left: u32,
}

/// What [`Pool::iter_mut`](crate::Pool::iter_mut) returns.
pub struct PoolIterMut<'a, T, A: Allocator = Global> {
    slots: Flatten<slice::IterMut<'a, Vec<Slot<T>, A>>>,
    number: u32,
    left: u32,
}

impl<'a, T, A: Allocator> PoolIter<'a, T, A> {
    pub(super) fn new(blocks: &'a [Vec<Slot<T>, A>], len: u32) -> Self {
        Self {
            slots: blocks.iter().flatten(),
            number: 0,
            left: len,
        }
    }
}

impl<'a, T, A: Allocator> PoolIterMut<'a, T, A> {
    pub(super) fn new(blocks: &'a mut [Vec<Slot<T>, A>], len: u32) -> Self {
        Self {
            slots: blocks.iter_mut().flatten(),
            number: 0,
            left: len,
        }
    }
}

impl<'a, T, A: Allocator> Iterator for PoolIter<'a, T, A> {
    type Item = (PoolKey<T>, &'a T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // What comes behind the last value is not looked at.
        while self.left > 0 {
            let slot = self.slots.next()?;
            let number = self.number;
            self.number += 1;
            if let Slot::Taken { stamp, value } = slot {
                self.left -= 1;
                return Some((PoolKey::new(number, *stamp), value));
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl<'a, T, A: Allocator> Iterator for PoolIterMut<'a, T, A> {
    type Item = (PoolKey<T>, &'a mut T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0 {
            let slot = self.slots.next()?;
            let number = self.number;
            self.number += 1;
            if let Slot::Taken { stamp, value } = slot {
                self.left -= 1;
                return Some((PoolKey::new(number, *stamp), value));
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl<T, A: Allocator> ExactSizeIterator for PoolIter<'_, T, A> {}
impl<T, A: Allocator> ExactSizeIterator for PoolIterMut<'_, T, A> {}
impl<T, A: Allocator> FusedIterator for PoolIter<'_, T, A> {}
impl<T, A: Allocator> FusedIterator for PoolIterMut<'_, T, A> {}

impl<T, A: Allocator> Clone for PoolIter<'_, T, A> {
    fn clone(&self) -> Self {
        Self {
            slots: self.slots.clone(),
            ..*self
        }
    }
}

impl<'a, T, A: Allocator + Clone> IntoIterator for &'a Pool<T, A> {
    type Item = (PoolKey<T>, &'a T);
    type IntoIter = PoolIter<'a, T, A>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, A: Allocator + Clone> IntoIterator for &'a mut Pool<T, A> {
    type Item = (PoolKey<T>, &'a mut T);
    type IntoIter = PoolIterMut<'a, T, A>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
