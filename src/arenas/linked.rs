//! A list to which threads add concurrently, and which is cleared only under `&mut`.
#![forbid(unsafe_code)]

use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::sync::AtomicPtr;

/// The head of a linked list: the node added last. Each node links to the one before it.
pub(super) struct Linked<T>(AtomicPtr<T>);

impl<T> Linked<T> {
    pub(super) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Adds a node. `link` must store the previous node in the new one. It is called before other threads can
    /// find the new node, and again if another thread was faster.
    #[inline]
    pub(super) fn add(&self, node: *mut T, link: impl Fn(*mut T)) {
        let mut last = self.0.load(Relaxed);
        loop {
            link(last);
            // Release: a thread that walks the list must see the contents of the node.
            match self.0.compare_exchange_weak(last, node, Release, Relaxed) {
                Ok(_) => return,
                Err(other) => last = other,
            }
        }
    }

    /// Returns the node that was added last, to start a walk from.
    #[inline]
    pub(super) fn last(&self) -> *mut T {
        // Acquire pairs with `add`. It also covers the nodes before the last one: all of them were added in
        // the same release sequence.
        self.0.load(Acquire)
    }

    #[inline]
    pub(super) fn last_mut(&mut self) -> *mut T {
        *self.0.get_mut()
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        *self.0.get_mut() = ptr::null_mut();
    }
}
