//! Blocks: the pieces of memory that arenas are made of.
#![expect(unsafe_code, reason = "allocates and frees raw memory")]

use std::alloc::Layout;
use std::ptr::NonNull;

use super::bump::MAX_ADDRESS;
use super::poison;

/// Keeps different blocks from sharing a cache line or a prefetched pair of lines.
const BLOCK_ALIGN: usize = 128;

/// Bytes at the start of a block that are reserved for its header.
pub(super) const HEADER_BYTES: usize = 64;

/// The alignment of the memory after the header.
pub(super) const DATA_ALIGN: usize = 64;

/// The smallest page size in use. Larger pages are touched more than once.
const PAGE_BYTES: usize = 4096;

/// The header at the start of a block.
struct Header {
    /// The block below this one on its stack.
    below: Option<Block>,
    /// Bytes of the whole block.
    bytes: usize,
    /// The size class, which selects its stack in the store. `OF_TASK` is set while a task arena holds the
    /// block.
    class: usize,
    /// Bytes in use when its arena last left the block.
    used_bytes: usize,
    /// The most bytes in use at any return to the store; recorded only for large blocks.
    touched_bytes: usize,
}

/// A bit above all size classes.
const OF_TASK: usize = 1 << 16;

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);
const _: () = assert!(HEADER_BYTES.is_multiple_of(DATA_ALIGN));
const _: () = assert!(BLOCK_ALIGN.is_multiple_of(DATA_ALIGN));

/// An owned piece of the global allocator's memory. Dropping a block frees the blocks below it as well.
///
/// Blocks are linked through their headers, so that moving one between stacks neither allocates nor fails.
pub(super) struct Block(NonNull<Header>);

// SAFETY: a block owns its memory, which may be used and freed on any thread.
unsafe impl Send for Block {}

impl Block {
    /// Allocates a block of `bytes`, including its header, for a size class. Returns `None` if the global
    /// allocator refuses, or if the block would end above [`MAX_ADDRESS`].
    ///
    /// Only the header is written. An operating system that commits pages lazily provides only addresses for
    /// the rest.
    pub(super) fn new(bytes: usize, class: usize) -> Option<Self> {
        let layout = layout(bytes)?;
        // SAFETY: the size is at least that of the header, so not zero.
        let start = NonNull::new(unsafe { std::alloc::alloc(layout) })?.cast::<Header>();
        let header = Header {
            below: None,
            bytes: layout.size(),
            class,
            used_bytes: 0,
            touched_bytes: 0,
        };
        // SAFETY: the memory was just allocated, is aligned for a header, and has room for it.
        unsafe { start.write(header) };
        // From here on, dropping the block frees the memory.
        let block = Self(start);
        if block.end_address() > MAX_ADDRESS {
            return None;
        }
        poison::mark_dead(block.start(), block.data_bytes());
        Some(block)
    }

    /// Writes to each page of the first `bytes`, so that the operating system commits them now.
    pub(super) fn touch(&mut self, bytes: usize) {
        let bytes = bytes.min(self.data_bytes());
        poison::mark_live(self.start(), bytes);
        for offset in (0..bytes).step_by(PAGE_BYTES) {
            // SAFETY: the offset is less than the bytes after the header.
            let byte = unsafe { self.start().add(offset) };
            // SAFETY: as above, and with `&mut self` nothing else uses the block.
            unsafe { byte.write_volatile(0) };
        }
        poison::mark_dead(self.start(), bytes);
    }

    /// Returns the start of the memory after the header. The pointer may access all of it.
    #[inline]
    pub(super) fn start(&self) -> *mut u8 {
        let block = self.0.as_ptr().cast::<u8>();
        // SAFETY: every block is larger than its header.
        unsafe { block.add(HEADER_BYTES) }
    }

    /// Returns the address one past the end of the block.
    #[inline]
    pub(super) fn end_address(&self) -> usize {
        // The block lies within the address space, so the sum does not wrap around.
        self.0.addr().get() + self.bytes()
    }

    /// Returns the bytes of the whole block, including its header.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.header().bytes
    }

    #[inline]
    pub(super) fn class(&self) -> usize {
        self.header().class & !OF_TASK
    }

    /// Whether the block is of this size class and not held by a task arena.
    #[inline]
    pub(super) fn is_plain(&self, class: usize) -> bool {
        self.header().class == class
    }

    /// Returns the bytes after the header.
    #[inline]
    pub(super) fn data_bytes(&self) -> usize {
        self.bytes() - HEADER_BYTES
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.header().used_bytes
    }

    pub(super) fn set_used_bytes(&mut self, bytes: usize) {
        self.header_mut().used_bytes = bytes;
    }

    pub(super) fn touched_bytes(&self) -> usize {
        self.header().touched_bytes
    }

    #[inline]
    pub(super) fn note_touched(&mut self, bytes: usize) {
        let header = self.header_mut();
        header.touched_bytes = header.touched_bytes.max(bytes);
    }

    /// Sets whether a task arena holds the block, and returns the previous value.
    #[inline]
    pub(super) fn set_of_task(&mut self, is_of_task: bool) -> bool {
        let class = self.class() | if is_of_task { OF_TASK } else { 0 };
        std::mem::replace(&mut self.header_mut().class, class) & OF_TASK != 0
    }

    /// Returns the link to the block below.
    #[inline]
    pub(super) fn below_mut(&mut self) -> &mut Option<Block> {
        &mut self.header_mut().below
    }

    #[inline(always)]
    fn header(&self) -> &Header {
        // SAFETY: `new` wrote the header, and the block owns it. Allocations lie after it.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    fn header_mut(&mut self) -> &mut Header {
        // SAFETY: as in `header`, and the block is borrowed exclusively.
        unsafe { self.0.as_mut() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // A loop, because dropping a long stack by recursion would overflow the thread's stack.
        let mut below = self.below_mut().take();
        while let Some(mut block) = below {
            below = block.below_mut().take();
        }
        poison::mark_live(self.start(), self.data_bytes());
        let layout = layout(self.bytes()).expect("the layout was valid in `new`");
        // SAFETY:
        // - the memory came from the global allocator with this layout, in `new`;
        // - the block owns it, so it is freed once.
        unsafe { std::alloc::dealloc(self.0.as_ptr().cast(), layout) };
    }
}

/// Rounds `bytes` up to a valid block size. Returns `None` on overflow.
pub(super) fn rounded_up(bytes: usize) -> Option<usize> {
    let bytes = bytes.max(HEADER_BYTES + 1);
    bytes.checked_next_multiple_of(DATA_ALIGN)
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(rounded_up(bytes)?, BLOCK_ALIGN).ok()
}

/// A stack of blocks, linked through their headers.
#[derive(Default)]
pub(super) struct Stack {
    top: Option<Block>,
    len: usize,
}

impl Stack {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn top_mut(&mut self) -> Option<&mut Block> {
        self.top.as_mut()
    }

    /// Returns the block below the top one.
    pub(super) fn second_mut(&mut self) -> Option<&mut Block> {
        self.top.as_mut()?.below_mut().as_mut()
    }

    /// Removes the block below the top one.
    pub(super) fn remove_second(&mut self) -> Option<Block> {
        let link = self.top.as_mut()?.below_mut();
        let mut second = link.take()?;
        *link = second.below_mut().take();
        self.len -= 1;
        Some(second)
    }

    #[inline]
    pub(super) fn push(&mut self, mut block: Block) {
        let below = std::mem::replace(block.below_mut(), self.top.take());
        debug_assert!(below.is_none(), "it lies on no other stack");
        // It is `None`, but the compiler cannot see that there is nothing to drop.
        std::mem::forget(below);
        self.top = Some(block);
        self.len += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Block> {
        let mut block = self.top.take()?;
        self.top = block.below_mut().take();
        self.len -= 1;
        Some(block)
    }

    /// Moves one of the `depth` blocks below the top one to the top: the first for which `is_wanted` returns
    /// true. Returns whether there is one.
    pub(super) fn raise(&mut self, depth: usize, is_wanted: impl Fn(&Block) -> bool) -> bool {
        let below_top = self.iter().skip(1).take(depth);
        let Some(index) = below_top.map(is_wanted).position(|it| it) else {
            return false;
        };
        let mut link = &mut self.top;
        for _ in 0..=index {
            link = link.as_mut().expect("a block was found below").below_mut();
        }
        let mut raised = link.take().expect("a block was found here");
        *link = raised.below_mut().take();
        self.len -= 1;
        self.push(raised);
        true
    }

    /// Returns the blocks, the top one first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Block> {
        std::iter::successors(self.top.as_ref(), |block| block.header().below.as_ref())
    }

    /// Returns the bytes of all blocks.
    pub(super) fn bytes(&self) -> usize {
        self.iter().map(Block::bytes).sum()
    }

    /// Removes the lowest `count` blocks, which were pushed first.
    pub(super) fn split_off_lowest(&mut self, count: usize) -> Self {
        let count = count.min(self.len);
        let mut link = &mut self.top;
        for _ in count..self.len {
            link = link.as_mut().expect("there are `len` blocks").below_mut();
        }
        self.len -= count;
        Self {
            top: link.take(),
            len: count,
        }
    }

    /// Removes all blocks and passes each to `take`, the top one first.
    #[inline]
    pub(super) fn drain(&mut self, mut take: impl FnMut(Block)) {
        let mut top = self.top.take();
        self.len = 0;
        while let Some(mut block) = top {
            top = block.below_mut().take();
            take(block);
        }
    }

    /// Reverses the order of the blocks.
    #[inline]
    pub(super) fn reverse(&mut self) {
        if self.len > 1 {
            let mut reversed = Self::default();
            self.drain(|block| reversed.push(block));
            *self = reversed;
        }
    }

    /// Moves all blocks of another stack to the top of this one, and returns their bytes.
    pub(super) fn add_all(&mut self, other: &mut Self) -> usize {
        let mut bytes = 0;
        let mut link = &mut other.top;
        while let Some(block) = link {
            bytes += block.bytes();
            link = block.below_mut();
        }
        *link = self.top.take();
        self.top = other.top.take();
        self.len += std::mem::take(&mut other.len);
        bytes
    }

    /// Removes the blocks for which `is_wanted` returns true. The others keep their order.
    pub(super) fn extract(&mut self, mut is_wanted: impl FnMut(&Block) -> bool) -> Self {
        let (mut wanted, mut kept) = (Self::default(), Self::default());
        self.drain(|block| {
            let to = if is_wanted(&block) {
                &mut wanted
            } else {
                &mut kept
            };
            to.push(block);
        });
        kept.drain(|block| self.push(block));
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(sizes: &[usize]) -> Stack {
        let mut stack = Stack::default();
        for &bytes in sizes {
            stack.push(Block::new(bytes, 0).expect("a small block"));
        }
        stack
    }

    fn sizes(mut stack: Stack) -> Vec<usize> {
        let blocks = std::iter::from_fn(|| stack.pop());
        blocks.map(|block| block.bytes()).collect()
    }

    #[test]
    fn the_block_pushed_last_is_popped_first() {
        assert_eq!(sizes(stack(&[128, 256, 512])), [512, 256, 128]);
    }

    #[test]
    fn the_lowest_blocks_are_those_pushed_first() {
        for (count, lowest, left) in [
            (0, &[][..], &[512, 256, 128][..]),
            (1, &[128], &[512, 256]),
            (3, &[512, 256, 128], &[]),
            (9, &[512, 256, 128], &[]),
        ] {
            let mut stack = stack(&[128, 256, 512]);
            let split = stack.split_off_lowest(count);
            assert_eq!((split.len(), stack.len()), (lowest.len(), left.len()));
            assert_eq!(
                (sizes(split), sizes(stack)),
                (lowest.to_vec(), left.to_vec())
            );
        }
    }

    #[test]
    fn a_block_below_the_top_is_raised() {
        let raised = |depth, bytes| {
            let mut stack = stack(&[128, 256, 512, 1024]);
            let is_raised = stack.raise(depth, |block| block.bytes() == bytes);
            assert_eq!(stack.len(), 4);
            (is_raised, sizes(stack))
        };
        assert_eq!(raised(3, 512), (true, vec![512, 1024, 256, 128]));
        assert_eq!(raised(3, 128), (true, vec![128, 1024, 512, 256]));
        let unchanged = vec![1024, 512, 256, 128];
        assert_eq!(raised(2, 128), (false, unchanged.clone()), "too deep");
        assert_eq!(raised(3, 1024), (false, unchanged), "on top already");
        assert!(!Stack::default().raise(3, |_| true));
    }

    #[test]
    fn blocks_are_extracted_from_anywhere() {
        let mut stack = stack(&[128, 256, 512, 256]);
        let extracted = stack.extract(|block| block.bytes() == 256);
        assert_eq!(
            (sizes(extracted), sizes(stack)),
            (vec![256; 2], vec![512, 128])
        );
    }

    #[test]
    fn a_long_stack_is_freed_without_recursion() {
        let blocks = if cfg!(miri) { 100 } else { 100_000 };
        drop(stack(&vec![128; blocks]));
    }

    #[test]
    fn memory_starts_behind_the_header_and_is_aligned() {
        for bytes in [0, 1, 65, 128, 1000, 4096] {
            let block = Block::new(bytes, 0).expect("a small block");
            assert!(block.bytes() >= bytes && block.data_bytes() > 0);
            assert_eq!(block.start().addr() % DATA_ALIGN, 0);
            assert_eq!(
                block.start().addr() + block.data_bytes(),
                block.end_address()
            );
        }
    }

    #[test]
    fn a_size_that_no_layout_has_is_refused() {
        for bytes in [usize::MAX, isize::MAX as usize, isize::MAX as usize - 200] {
            assert!(Block::new(bytes, 0).is_none());
        }
    }
}
