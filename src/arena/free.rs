//! The free blocks of a store by size, and the choice of surplus ones.
#![forbid(unsafe_code)]

use super::block::{Block, Stack};
use super::sizes::Request;
use super::store::{Memory, Refused};

/// Free blocks are grouped by size, rounded down to a power of two. Class 0 holds blocks below 256 bytes,
/// made when a budget is nearly exhausted or for a tiny standalone arena; no request takes them.
const CLASSES: usize = usize::BITS as usize - FIRST_SHIFT;
const _: () = assert!(CLASSES <= u64::BITS as usize);
const FIRST_SHIFT: usize = 7;

/// A request takes a free block of at most this many classes above the wanted one. Larger blocks are left for
/// larger requests, or for the trim.
const CLASSES_ABOVE: usize = 2;

/// Blocks of a class that are searched for one that is large enough.
const SEARCHED: usize = 8;

/// The most steps in the window of a trim.
const MAX_STEPS: usize = 16;

/// A block with at most twice this many touched bytes is never freed as oversized.
const MIN_TRIM_BYTES: usize = 64 << 10;

/// The free blocks, and the figures of all blocks: the data that the store's lock protects.
pub(super) struct Free {
    classes: [Class; CLASSES],
    /// Bytes of all blocks, free or held by an arena.
    pub(super) reserved_bytes: usize,
    /// Bytes of the free blocks.
    pub(super) free_bytes: usize,
    /// Bytes of the blocks that task arenas hold.
    pub(super) task_bytes: usize,
    /// Whether the store's owner is gone. Returned blocks are then freed.
    pub(super) is_closed: bool,
    /// A bit for each class that ever had a block.
    used_classes: u64,
    /// A bit for each class that has a free block.
    free_classes: u64,
    /// Steps since the last window ended.
    steps: usize,
}

/// The free blocks of one size class.
#[derive(Default)]
struct Class {
    blocks: Stack,
    /// The lowest number of free blocks since the last step of the window: this many were not needed.
    fewest_free: u32,
    /// The same for the earlier steps, the latest first.
    window: [u32; MAX_STEPS],
    /// The most bytes in use in one block: in this window, and in the one before.
    most_used_bytes: [usize; 2],
}

/// The window of a trim: the time for which unneeded free blocks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Periods per step.
    pub(crate) step_periods: u32,
    steps: usize,
}

impl Window {
    /// Divides `periods` into steps, so that a trim is late by at most an eighth.
    pub(crate) fn of(periods: u32) -> Self {
        let step_periods = periods.div_ceil(MAX_STEPS as u32).max(1);
        Self {
            step_periods,
            steps: periods.div_ceil(step_periods).max(1) as usize,
        }
    }
}

impl Free {
    /// Takes the most recently returned block of the smallest class that has one.
    ///
    /// Blocks up to `ordinary_class` are taken for any smaller request: a warm frame must not call the global
    /// allocator just because its work is spread differently over the workers.
    #[inline]
    pub(super) fn take(&mut self, request: Request, ordinary_class: usize) -> Option<Block> {
        let first = class_for(request.least_bytes);
        let last = (class_for(request.wanted_bytes) + CLASSES_ABOVE).max(ordinary_class);
        let at_least_first = self.free_classes >> first << first;
        let smallest = at_least_first.trailing_zeros() as usize;
        if smallest > last {
            return None;
        }
        let block = self.take_from(smallest)?;
        self.free_bytes -= block.bytes();
        Some(block)
    }

    /// Takes a free block of at least `bytes`, the smallest class first. For a budget that has little left.
    pub(super) fn take_fitting(&mut self, bytes: usize) -> Option<Block> {
        let class = class_of(bytes);
        let fits = |block: &Block| block.bytes() >= bytes;
        // Blocks of the same class may be smaller.
        let blocks = &mut self.classes[class].blocks;
        let index = match blocks.iter().next().is_some_and(fits) || blocks.raise(SEARCHED, fits) {
            true => class,
            false => (self.free_classes >> class >> 1).trailing_zeros() as usize + class + 1,
        };
        let block = self.take_from(index)?;
        self.free_bytes -= block.bytes();
        Some(block)
    }

    /// Takes the most recently returned block of a class.
    #[inline]
    fn take_from(&mut self, index: usize) -> Option<Block> {
        let class = self.classes.get_mut(index)?;
        let block = class.blocks.pop()?;
        let left = class.blocks.len() as u32;
        class.fewest_free = class.fewest_free.min(left);
        if left == 0 {
            self.free_classes &= !(1 << index);
        }
        Some(block)
    }

    /// Returns the figures of all blocks.
    #[inline]
    pub(super) fn memory(&self) -> Memory {
        Memory {
            reserved_bytes: self.reserved_bytes,
            free_bytes: self.free_bytes,
            task_bytes: self.task_bytes,
        }
    }

    /// Adds the blocks of a stack, the top one first, or leaves them there if the store is closed. `is_idle`
    /// means that they were not needed since the last step of the window.
    pub(super) fn put_all(&mut self, blocks: &mut Stack, is_idle: bool) {
        let mut unwanted = Stack::default();
        blocks.drain(|block| self.put(block, is_idle, &mut unwanted));
        *blocks = unwanted;
    }

    fn put(&mut self, mut block: Block, is_idle: bool, unwanted: &mut Stack) {
        let bytes = block.bytes();
        if block.set_of_task(false) {
            self.task_bytes -= bytes;
        }
        if self.is_closed {
            self.reserved_bytes -= bytes;
            return unwanted.push(block);
        }
        self.free_bytes += bytes;
        self.free_classes |= 1 << block.class();
        let class = &mut self.classes[block.class()];
        if bytes > 2 * MIN_TRIM_BYTES {
            let used_bytes = block.used_bytes();
            block.note_touched(used_bytes);
            let [most_used_bytes, _] = &mut class.most_used_bytes;
            *most_used_bytes = used_bytes.max(*most_used_bytes);
        }
        class.fewest_free += u32::from(is_idle);
        class.blocks.push(block);
    }

    /// Adds all blocks of a stack, or leaves them there if the store is closed. All of them must be small and
    /// of this class.
    pub(super) fn put_equal(&mut self, blocks: &mut Stack, class: usize, is_idle: bool) {
        if self.is_closed {
            self.reserved_bytes -= blocks.bytes();
            return;
        }
        if blocks.len() == 0 {
            return;
        }
        self.free_classes |= 1 << class;
        let class = &mut self.classes[class];
        class.fewest_free += u32::from(is_idle) * blocks.len() as u32;
        self.free_bytes += class.blocks.add_all(blocks);
    }

    /// Counts a block of `bytes` that is about to be made, if the limit has room for it. Returns the blocks
    /// that the caller must free first.
    pub(super) fn reserve(&mut self, bytes: usize, limit_bytes: usize) -> Result<Stack, Refused> {
        let held_bytes = self.reserved_bytes - self.free_bytes;
        let fits = |others: usize| {
            others
                .checked_add(bytes)
                .is_some_and(|sum| sum <= limit_bytes)
        };
        if !fits(held_bytes) {
            return Err(Refused::ByBudget);
        }
        let mut given_up = Stack::default();
        // The largest first: they are needed least often.
        for index in self.used() {
            while !fits(self.reserved_bytes)
                && let Some(block) = self.take_from(index)
            {
                self.free_bytes -= block.bytes();
                self.reserved_bytes -= block.bytes();
                given_up.push(block);
            }
        }
        self.reserved_bytes += bytes;
        self.used_classes |= 1 << class_of(bytes);
        Ok(given_up)
    }

    /// Removes all free blocks.
    pub(super) fn clear(&mut self) -> Stack {
        let mut freed = Stack::default();
        for index in self.used() {
            let class = &mut self.classes[index];
            class.fewest_free = 0;
            freed.add_all(&mut class.blocks);
        }
        self.reserved_bytes -= self.free_bytes;
        self.free_bytes = 0;
        self.free_classes = 0;
        freed
    }

    /// Advances the window. Removes blocks that are oversized or were not needed within it.
    pub(super) fn step(&mut self, window: Window) -> Stack {
        self.steps += 1;
        let is_end = self.steps >= window.steps;
        if is_end {
            self.steps = 0;
        }
        let mut freed = Stack::default();
        for index in self.used() {
            let class = &mut self.classes[index];
            class.step(window.steps, is_end, &mut freed);
            if class.blocks.len() == 0 {
                self.free_classes &= !(1 << index);
            }
        }
        let freed_bytes = freed.bytes();
        self.free_bytes -= freed_bytes;
        self.reserved_bytes -= freed_bytes;
        freed
    }

    /// Returns the classes that ever had a block, the largest first.
    fn used(&self) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.used_classes;
        std::iter::from_fn(move || {
            let index = left.checked_ilog2()?;
            left &= !(1 << index);
            Some(index as usize)
        })
    }
}

impl Default for Free {
    fn default() -> Self {
        Self {
            classes: std::array::from_fn(|_| Class::default()),
            reserved_bytes: 0,
            free_bytes: 0,
            task_bytes: 0,
            is_closed: false,
            used_classes: 0,
            free_classes: 0,
            steps: 0,
        }
    }
}

impl Class {
    /// Advances the window of `steps`. Moves blocks that are oversized or were not needed within it to `freed`.
    fn step(&mut self, steps: usize, is_end: bool, freed: &mut Stack) {
        self.window.rotate_right(1);
        self.window[0] = self.fewest_free;
        let window = &mut self.window[..steps.min(MAX_STEPS)];
        let fewest = window.iter().copied().min().unwrap_or(0);
        let mut surplus = self.blocks.split_off_lowest(fewest as usize);
        for step in window {
            *step -= surplus.len() as u32;
        }
        freed.add_all(&mut surplus);
        if is_end {
            // A large block that was once full is not kept for lists that have become short.
            let [now, before] = self.most_used_bytes;
            let enough_bytes = 2 * (now.max(before) / 4 * 5).max(MIN_TRIM_BYTES);
            let is_oversized = |block: &Block| block.touched_bytes() > enough_bytes;
            freed.add_all(&mut self.blocks.extract(is_oversized));
            self.most_used_bytes = [0, now];
        }
        self.fewest_free = self.blocks.len() as u32;
    }
}

/// Returns the lowest class whose blocks all have room for `bytes`, which must be a power of two.
#[inline]
fn class_for(bytes: usize) -> usize {
    debug_assert!(bytes.is_power_of_two() && bytes > 1 << FIRST_SHIFT);
    bytes.trailing_zeros() as usize - FIRST_SHIFT
}

/// Returns the class of a block of `bytes`.
pub(super) fn class_of(bytes: usize) -> usize {
    (bytes.ilog2() as usize).saturating_sub(FIRST_SHIFT)
}
