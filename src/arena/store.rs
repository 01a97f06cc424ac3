//! The store: where blocks wait that no arena holds, and the limit on all of them.
#![forbid(unsafe_code)]

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{OnceLock, PoisonError};

use super::block::{self, Block, HEADER_BYTES, Stack};
use super::sizes::{Request, Sizes};
use super::sync::{AtomicU32, AtomicUsize, Mutex, MutexGuard};
use crate::settings::FrameArenaSettings;

/// Blocks are kept by the power of two that they have room for. Class 0 is for those below 256
/// bytes, which a budget leaves when it runs out: no request is that small.
const CLASSES: usize = usize::BITS as usize - FIRST_SHIFT;
const _: () = assert!(CLASSES <= u64::BITS as usize);
const FIRST_SHIFT: usize = 7;

/// A free block of up to so many classes above the one asked for will do.
const CLASSES_ABOVE: usize = 2;

/// A block takes at most this part of what a budget has left, unless an allocation needs more.
const BUDGET_PART: usize = 4;

/// The window of a trim has at most this many steps.
const MAX_STEPS: usize = 16;

/// Less memory than this is not worth giving back from within a block.
const MIN_TRIM_BYTES: usize = 64 << 10;

/// The blocks of all workers, generations and scratch of one `FrameArenas`, or of one standalone
/// arena.
///
/// An arena takes a block when it is full and gives it back when its data need not live any more. The
/// block given back last is taken first: it is the one most likely to be in the cache.
///
/// The lock is held for a few instructions at a time. Nothing allocates, frees or drops values
/// meanwhile, because the global allocator and destructors may be a user's own and use the arenas.
pub(crate) struct Store {
    sizes: Sizes,
    limit_bytes: usize,
    free: Mutex<Free>,
    /// Allocations that a limit refused since the last [`take_refusals`](Self::take_refusals).
    refusals: AtomicU32,
    /// The largest of all of them.
    largest_refusal_bytes: AtomicUsize,
    /// The type of the pace that the arenas belong to, if it is not the frame: for errors.
    pace: OnceLock<&'static str>,
}

/// What the lock protects.
struct Free {
    classes: [Class; CLASSES],
    /// Bytes of all blocks, free or in an arena.
    reserved_bytes: usize,
    /// Bytes of the free ones.
    free_bytes: usize,
    /// Bytes of those that task arenas hold.
    task_bytes: usize,
    /// Whether the owner is gone, so that blocks are freed as they come back.
    is_closed: bool,
    /// A bit for each class that has had a block.
    used_classes: u64,
    /// Steps since the last window ended.
    steps: usize,
}

/// The free blocks whose size has the same power of two.
#[derive(Default)]
struct Class {
    blocks: Stack,
    /// The fewest blocks that were free since the last step of the window: so many were not needed.
    fewest_free: u32,
    /// The same of the steps before, the last one first.
    window: [u32; MAX_STEPS],
    /// The most bytes in use in one block, in this window and the one before.
    most_used_bytes: [usize; 2],
}

/// Who had no room for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The budget.
    ByBudget,
    /// The global allocator.
    ByAllocator,
}

/// The memory of a store at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Bytes taken from the global allocator.
    pub(crate) reserved_bytes: usize,
    /// Bytes of them that no arena holds.
    pub(crate) free_bytes: usize,
    /// Bytes of them that task arenas hold.
    pub(crate) task_bytes: usize,
}

/// How long free blocks are kept: the window of a trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Periods in a step.
    pub(crate) step_periods: u32,
    steps: usize,
}

impl Window {
    /// Divides `periods` into steps, so that a trim is late by an eighth at most.
    pub(crate) fn of(periods: u32) -> Self {
        let step_periods = periods.div_ceil(MAX_STEPS as u32).max(1);
        Self {
            step_periods,
            steps: periods.div_ceil(step_periods).max(1) as usize,
        }
    }
}

impl Store {
    pub(crate) fn new(settings: &FrameArenaSettings) -> Self {
        let limit_bytes = settings.budget_bytes.unwrap_or(usize::MAX);
        Self {
            sizes: Sizes::new(settings.block_bytes, limit_bytes),
            limit_bytes,
            free: Mutex::new(Free {
                classes: std::array::from_fn(|_| Class::default()),
                reserved_bytes: 0,
                free_bytes: 0,
                task_bytes: 0,
                is_closed: false,
                used_classes: 0,
                steps: 0,
            }),
            refusals: AtomicU32::new(0),
            largest_refusal_bytes: AtomicUsize::new(0),
            pace: OnceLock::new(),
        }
    }

    /// Makes ordinary blocks until `bytes` of them are free, as far as the budget has room, and writes
    /// to each of their pages.
    pub(crate) fn pretouch(&self, bytes: usize) {
        let block_bytes = self.sizes.ordinary_bytes();
        // Beyond the budget, each block would take the place of the one before.
        let most = self.limit_bytes / block_bytes;
        for _ in 0..bytes.div_ceil(block_bytes).min(most) {
            let Ok(mut block) = self.make(block_bytes) else {
                return;
            };
            block.touch(block_bytes);
            self.returning().put(block);
        }
    }

    pub(super) fn sizes(&self) -> Sizes {
        self.sizes
    }

    pub(crate) fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Returns how much memory there is.
    pub(crate) fn memory(&self) -> Memory {
        let free = self.lock();
        Memory {
            reserved_bytes: free.reserved_bytes,
            free_bytes: free.free_bytes,
            task_bytes: free.task_bytes,
        }
    }

    /// Counts a block as a task arena's until it comes back.
    pub(super) fn count_for_task(&self, block: &mut Block) {
        block.set_of_task(true);
        self.lock().task_bytes += block.bytes();
    }

    /// Returns the bytes that arenas may still take: what the limit leaves, and what is free.
    pub(super) fn remaining_bytes(&self) -> usize {
        let memory = self.memory();
        self.limit_bytes - (memory.reserved_bytes - memory.free_bytes)
    }

    /// Takes a free block, or makes one.
    pub(super) fn take(&self, request: Request) -> Result<Block, Refused> {
        if let Some(block) = self.lock().take(request) {
            return Ok(block);
        }
        self.take_new(request)
    }

    /// Makes a block of the size wanted, or the largest one below it that budget and allocator allow.
    #[cold]
    fn take_new(&self, request: Request) -> Result<Block, Refused> {
        let fair_bytes = (self.remaining_bytes() / BUDGET_PART).max(request.needed_bytes);
        let mut bytes = request.wanted_bytes.min(fair_bytes);
        loop {
            match self.make(bytes) {
                Ok(block) => return Ok(block),
                Err(refused) if bytes <= request.needed_bytes => return Err(refused),
                Err(_) => bytes = (bytes / 2).max(request.needed_bytes),
            }
        }
    }

    /// Makes a block with `bytes` behind its header.
    pub(super) fn make_for(&self, bytes: usize) -> Result<Block, Refused> {
        self.make(bytes.saturating_add(HEADER_BYTES))
    }

    /// Makes a block. Free ones are given up for it where the budget or the allocator refuse.
    fn make(&self, bytes: usize) -> Result<Block, Refused> {
        let bytes = block::rounded_up(bytes).ok_or(Refused::ByAllocator)?;
        let given_up = self.lock().reserve(bytes, self.limit_bytes)?;
        drop(given_up);
        let class = class_of(bytes);
        let block = Block::new(bytes, class).or_else(|| {
            self.clear();
            Block::new(bytes, class)
        });
        if block.is_none() {
            self.lock().reserved_bytes -= bytes;
        }
        block.ok_or(Refused::ByAllocator)
    }

    /// Locks the store for giving blocks back.
    pub(crate) fn returning(&self) -> Returning<'_> {
        Returning {
            free: self.lock(),
            unwanted: Stack::default(),
        }
    }

    /// Frees all blocks that no arena holds.
    pub(crate) fn clear(&self) {
        let freed = self.lock().clear();
        drop(freed);
    }

    /// Frees all blocks that no arena holds, now and from now on: the owner of the store is gone, and
    /// arenas that leases keep alive give their blocks back one by one.
    pub(crate) fn close(&self) {
        let mut free = self.lock();
        free.is_closed = true;
        let freed = free.clear();
        drop(free);
        drop(freed);
    }

    /// Ends a step of the window, frees the blocks that were not needed within it, and returns their
    /// bytes.
    #[cold]
    pub(crate) fn step_trim(&self, window: Window) -> usize {
        let mut freed = Stack::default();
        let mut free = self.lock();
        free.steps += 1;
        let is_end = free.steps >= window.steps;
        if is_end {
            free.steps = 0;
        }
        for index in free.used() {
            free.classes[index].step(window.steps, is_end, &mut freed);
        }
        let freed_bytes = freed.bytes();
        free.free_bytes -= freed_bytes;
        free.reserved_bytes -= freed_bytes;
        drop(free);
        drop(freed);
        freed_bytes
    }

    /// Names the pace that the arenas belong to, once.
    #[cfg(feature = "bevy")]
    pub(crate) fn set_pace(&self, type_name: &'static str) {
        self.pace.get_or_init(|| type_name);
    }

    /// Returns the pace that the arenas belong to, if it is not the frame.
    pub(super) fn pace(&self) -> Option<&'static str> {
        self.pace.get().copied()
    }

    /// Counts an allocation that a limit refused.
    pub(super) fn count_refusal(&self, bytes: usize) {
        self.refusals.fetch_add(1, Relaxed);
        self.largest_refusal_bytes.fetch_max(bytes, Relaxed);
    }

    /// Returns the size of the largest allocation that a limit ever refused.
    pub(crate) fn largest_refusal_bytes(&self) -> usize {
        self.largest_refusal_bytes.load(Relaxed)
    }

    /// Returns the refusals since the last [`take_refusals`](Self::take_refusals), and leaves them.
    #[cfg(feature = "bevy")]
    pub(crate) fn refusals_so_far(&self) -> u32 {
        self.refusals.load(Relaxed)
    }

    /// Returns the refusals since the last call.
    pub(crate) fn take_refusals(&self) -> u32 {
        // Without a refusal there is nothing to exchange, which is slower than a look.
        match self.refusals.load(Relaxed) {
            0 => 0,
            _ => self.refusals.swap(0, Relaxed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Free> {
        // Nothing panics while the lock is held.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("sizes", &self.sizes)
            .field("limit_bytes", &self.limit_bytes)
            .field("memory", &self.memory())
            .finish_non_exhaustive()
    }
}

/// Gives blocks back to a store, which is locked meanwhile.
pub(crate) struct Returning<'a> {
    free: MutexGuard<'a, Free>,
    /// Blocks that the store does not want. Dropped after `free`, so after the lock is released.
    unwanted: Stack,
}

impl Returning<'_> {
    /// Gives a block back.
    #[inline]
    pub(super) fn put(&mut self, mut block: Block) {
        if block.set_of_task(false) {
            self.free.task_bytes -= block.bytes();
        }
        if self.free.is_closed {
            self.free.reserved_bytes -= block.bytes();
            self.unwanted.push(block);
        } else {
            self.free.put(block);
        }
    }
}

impl Free {
    /// Takes the block that was given back last, of the smallest class that has one.
    #[inline]
    fn take(&mut self, request: Request) -> Option<Block> {
        let first = class_for(request.least_bytes);
        let last = class_for(request.wanted_bytes) + CLASSES_ABOVE;
        let classes = self.classes.get_mut(first..)?;
        let block = classes
            .iter_mut()
            .take(last + 1 - first)
            .find_map(Class::take)?;
        self.free_bytes -= block.bytes();
        Some(block)
    }

    #[inline]
    fn put(&mut self, mut block: Block) {
        self.free_bytes += block.bytes();
        let class = &mut self.classes[block.class()];
        if block.bytes() > 2 * MIN_TRIM_BYTES {
            let used_bytes = block.used_bytes();
            block.note_touched(used_bytes);
            let [most_used_bytes, _] = &mut class.most_used_bytes;
            *most_used_bytes = used_bytes.max(*most_used_bytes);
        }
        class.blocks.push(block);
    }

    /// Counts a block of `bytes` that is about to be made, if the limit has room for it, and returns
    /// the free blocks that have to be given up for it.
    fn reserve(&mut self, bytes: usize, limit_bytes: usize) -> Result<Stack, Refused> {
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
        // The largest first: they are the rarest needed.
        for index in self.used().rev() {
            while !fits(self.reserved_bytes)
                && let Some(block) = self.classes[index].take()
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

    fn clear(&mut self) -> Stack {
        let mut freed = Stack::default();
        for index in self.used() {
            let class = &mut self.classes[index];
            class.fewest_free = 0;
            std::mem::take(&mut class.blocks).append_to(&mut freed);
        }
        self.reserved_bytes -= self.free_bytes;
        self.free_bytes = 0;
        freed
    }

    /// Returns the classes that have had a block.
    fn used(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let used = self.used_classes;
        (0..CLASSES).filter(move |index| used >> index & 1 == 1)
    }
}

impl Class {
    #[inline]
    fn take(&mut self) -> Option<Block> {
        let block = self.blocks.pop()?;
        self.fewest_free = self.fewest_free.min(self.blocks.len() as u32);
        Some(block)
    }

    /// Moves the window of `steps` on, and adds the blocks to `freed` that were not needed within it.
    fn step(&mut self, steps: usize, is_end: bool, freed: &mut Stack) {
        self.window.rotate_right(1);
        self.window[0] = self.fewest_free;
        let window = &mut self.window[..steps.min(MAX_STEPS)];
        let fewest = window.iter().copied().min().unwrap_or(0);
        let surplus = self.blocks.split_off_lowest(fewest as usize);
        for step in window {
            *step -= surplus.len() as u32;
        }
        surplus.append_to(freed);
        if is_end {
            // A large block that was once full is not kept for a list that has become short.
            let [now, before] = self.most_used_bytes;
            let enough_bytes = 2 * (now.max(before) / 4 * 5).max(MIN_TRIM_BYTES);
            let is_oversized = |block: &Block| block.touched_bytes() > enough_bytes;
            self.blocks.extract(is_oversized).append_to(freed);
            self.most_used_bytes = [0, now];
        }
        self.fewest_free = self.blocks.len() as u32;
    }
}

/// Returns the class whose blocks all have room for `bytes`, a power of two.
#[inline]
fn class_for(bytes: usize) -> usize {
    debug_assert!(bytes.is_power_of_two() && bytes > 1 << FIRST_SHIFT);
    bytes.ilog2() as usize - FIRST_SHIFT
}

/// Returns the class of a block of `bytes`: the largest that it has room for.
fn class_of(bytes: usize) -> usize {
    (bytes.ilog2() as usize).saturating_sub(FIRST_SHIFT)
}
