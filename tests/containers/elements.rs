//! Element types that notice what is done to them.

use std::cell::Cell;
use std::fmt::Debug;

thread_local! {
    /// Elements made and not dropped yet, of all counted types.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// After how many more clones one panics; negative for never.
    static FUSE: Cell<i32> = const { Cell::new(-1) };
    /// After how many more destructors one panics; negative for never.
    static BOMB: Cell<i32> = const { Cell::new(-1) };
}

/// Returns how many counted elements of this thread are alive.
pub(crate) fn live() -> isize {
    LIVE.get()
}

/// Has the clone after `count` more panic, once.
pub(crate) fn arm_clone(count: i32) {
    FUSE.set(count);
}

/// Has the destructor after `count` more panic, once.
pub(crate) fn arm_drop(count: i32) {
    BOMB.set(count);
}

/// Panics if a countdown ends here.
pub(crate) fn count_down(fuse: &Cell<i32>) {
    let left = fuse.get();
    fuse.set(left.saturating_sub(1).max(-1));
    assert!(left != 0, "armed");
}

pub(crate) trait Element: Clone + PartialEq + Debug {
    /// Whether leaving one behind is nothing to a leak checker.
    const MAY_LEAK: bool = true;

    fn make(number: u32) -> Self;
    fn number(&self) -> u32;

    /// Returns by how much as many elements count in [`live`].
    fn counted(_elements: usize) -> isize {
        0
    }
}

impl Element for u32 {
    fn make(number: u32) -> Self {
        number
    }

    fn number(&self) -> u32 {
        *self
    }
}

/// Counted, and owns memory: dropping it twice is a double free.
#[derive(PartialEq, Debug)]
pub(crate) struct Tracked(Box<u32>);

impl Element for Tracked {
    const MAY_LEAK: bool = false;

    fn make(number: u32) -> Self {
        LIVE.set(LIVE.get() + 1);
        Self(Box::new(number))
    }

    fn number(&self) -> u32 {
        *self.0
    }

    fn counted(elements: usize) -> isize {
        elements as isize
    }
}

impl Clone for Tracked {
    fn clone(&self) -> Self {
        FUSE.with(count_down);
        Self::make(*self.0)
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        LIVE.set(LIVE.get() - 1);
        BOMB.with(count_down);
    }
}

/// Counted, and of no size.
#[derive(PartialEq, Debug)]
pub(crate) struct Nothing;

impl Element for Nothing {
    fn make(_: u32) -> Self {
        LIVE.set(LIVE.get() + 1);
        Self
    }

    fn number(&self) -> u32 {
        0
    }

    fn counted(elements: usize) -> isize {
        elements as isize
    }
}

impl Clone for Nothing {
    fn clone(&self) -> Self {
        FUSE.with(count_down);
        Self::make(0)
    }
}

impl Drop for Nothing {
    fn drop(&mut self) {
        LIVE.set(LIVE.get() - 1);
        BOMB.with(count_down);
    }
}

/// Of no size, but aligned beyond what the arena does by itself.
#[derive(Clone, PartialEq, Debug)]
#[repr(align(64))]
pub(crate) struct AlignedNothing;

impl Element for AlignedNothing {
    fn make(_: u32) -> Self {
        Self
    }

    fn number(&self) -> u32 {
        assert_eq!(std::ptr::from_ref(self).addr() % 64, 0);
        0
    }
}

/// Aligned beyond what the arena does by itself.
#[derive(Clone, PartialEq, Debug)]
#[repr(align(64))]
pub(crate) struct Aligned(u32);

impl Element for Aligned {
    fn make(number: u32) -> Self {
        Self(number)
    }

    fn number(&self) -> u32 {
        assert_eq!(std::ptr::from_ref(self).addr() % 64, 0);
        self.0
    }
}
