//! Blocks: the pieces of memory that arenas are made of.
#![expect(unsafe_code, reason = "allocates and frees raw memory")]

use std::alloc::Layout;
use std::ptr::NonNull;

use super::bump::MAX_ADDRESS;
use super::poison;

/// Blocks of different workers share no cache line, nor the pair of lines that is prefetched.
const BLOCK_ALIGN: usize = 128;

/// Bytes at the start of a block that no allocation gets.
pub(super) const HEADER_BYTES: usize = 64;

/// The alignment of the memory behind the header.
pub(super) const DATA_ALIGN: usize = 64;

/// The smallest pages in use; where they are larger, each is touched more than once.
const PAGE_BYTES: usize = 4096;

/// What a block knows of itself, at its start.
struct Header {
    /// The block below this one on the stack that it lies on.
    below: Option<Block>,
    /// Bytes of the whole block.
    bytes: usize,
    /// The stack of the store that it belongs on.
    class: usize,
    /// Bytes in use when its arena moved on to another block.
    used_bytes: usize,
    /// The most of it that was ever in use when an arena gave it up.
    touched_bytes: usize,
    /// Whether a task arena holds it.
    is_of_task: bool,
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);
const _: () = assert!(HEADER_BYTES.is_multiple_of(DATA_ALIGN));
const _: () = assert!(BLOCK_ALIGN.is_multiple_of(DATA_ALIGN));

/// Owns a piece of the global allocator's memory. Dropping it frees the blocks below it as well.
///
/// Blocks link to each other through their headers, so that moving one from stack to stack neither
/// allocates nor fails.
pub(super) struct Block(NonNull<Header>);

// SAFETY: a block owns its memory, which may be used and freed on any thread.
unsafe impl Send for Block {}

impl Block {
    /// Allocates a block of `bytes`, its header included, for the stack with the number `class`, unless the global allocator refuses or the
    /// block would end beyond the addresses that `bump` can compute with.
    ///
    /// The memory is not touched but for the header: an operating system that commits pages lazily
    /// provides addresses only.
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
            is_of_task: false,
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

    /// Writes to each page of the first `bytes`, so that the system provides them now.
    pub(super) fn touch(&mut self, bytes: usize) {
        let bytes = bytes.min(self.data_bytes());
        poison::mark_live(self.start(), bytes);
        for offset in (0..bytes).step_by(PAGE_BYTES) {
            // SAFETY: the offset is smaller than the bytes behind the header.
            let byte = unsafe { self.start().add(offset) };
            // SAFETY: as above, and with `&mut self` nothing else uses the block.
            unsafe { byte.write_volatile(0) };
        }
        poison::mark_dead(self.start(), bytes);
    }

    /// Returns where the memory behind the header starts; the pointer may access all of it.
    #[inline]
    pub(super) fn start(&self) -> *mut u8 {
        let block = self.0.as_ptr().cast::<u8>();
        // SAFETY: every block is larger than its header.
        unsafe { block.add(HEADER_BYTES) }
    }

    /// Returns the address behind the block.
    #[inline]
    pub(super) fn end_address(&self) -> usize {
        // The block lies within the address space, so the sum does not wrap around.
        self.0.addr().get() + self.bytes()
    }

    /// Returns the bytes of the whole block.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.header().bytes
    }

    /// Returns the number of the stack of the store that it belongs on.
    #[inline]
    pub(super) fn class(&self) -> usize {
        self.header().class
    }

    /// Returns the bytes behind the header.
    #[inline]
    pub(super) fn data_bytes(&self) -> usize {
        self.bytes() - HEADER_BYTES
    }

    /// Returns the bytes that were in use when the arena moved on.
    pub(super) fn used_bytes(&self) -> usize {
        self.header().used_bytes
    }

    pub(super) fn set_used_bytes(&mut self, bytes: usize) {
        self.header_mut().used_bytes = bytes;
    }

    /// Returns the most bytes that an arena left in the block.
    pub(super) fn touched_bytes(&self) -> usize {
        self.header().touched_bytes
    }

    #[inline]
    pub(super) fn note_touched(&mut self, bytes: usize) {
        let header = self.header_mut();
        header.touched_bytes = header.touched_bytes.max(bytes);
    }

    /// Marks the block as held by a task arena, or by none, and returns whether it was.
    #[inline]
    pub(super) fn set_of_task(&mut self, is_of_task: bool) -> bool {
        std::mem::replace(&mut self.header_mut().is_of_task, is_of_task)
    }

    /// Returns the link to the block below.
    #[inline]
    pub(super) fn below_mut(&mut self) -> &mut Option<Block> {
        &mut self.header_mut().below
    }

    #[inline(always)]
    fn header(&self) -> &Header {
        // SAFETY: `new` wrote the header, and the block owns it; allocations lie behind it.
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
        // One after the other: a long stack dropped by recursion would overflow the thread's own.
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

/// Returns the size of a block of at least `bytes`, if there is such a size.
pub(super) fn rounded_up(bytes: usize) -> Option<usize> {
    let bytes = bytes.max(HEADER_BYTES + 1);
    bytes.checked_next_multiple_of(DATA_ALIGN)
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(rounded_up(bytes)?, BLOCK_ALIGN).ok()
}

/// Blocks, one above the other.
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

    #[inline]
    pub(super) fn push(&mut self, mut block: Block) {
        debug_assert!(block.below_mut().is_none(), "it lies on no other stack");
        *block.below_mut() = self.top.take();
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

    /// Returns the blocks, from the top.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Block> {
        std::iter::successors(self.top.as_ref(), |block| block.header().below.as_ref())
    }

    /// Returns the bytes of all blocks.
    pub(super) fn bytes(&self) -> usize {
        self.iter().map(Block::bytes).sum()
    }

    /// Takes the lowest `count` blocks, which were pushed first.
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

    /// Moves all blocks to another stack.
    pub(super) fn append_to(mut self, other: &mut Self) {
        while let Some(block) = self.pop() {
            other.push(block);
        }
    }

    /// Takes the blocks that `is_wanted` returns true for; the others stay in their order.
    pub(super) fn extract(&mut self, mut is_wanted: impl FnMut(&Block) -> bool) -> Self {
        let (mut wanted, mut kept) = (Self::default(), Self::default());
        while let Some(block) = self.pop() {
            let to = if is_wanted(&block) {
                &mut wanted
            } else {
                &mut kept
            };
            to.push(block);
        }
        kept.append_to(self);
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
