//! General-purpose allocators as contenders.
#![expect(unsafe_code, reason = "allocators work on raw memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator};
use mimalloc::MiMalloc;

use crate::contender::{Contender, MapContender, label};

/// A general-purpose allocator: each allocation is freed by itself, at the reset.
pub(crate) struct Heap<G> {
    heap: G,
    blocks: RefCell<Vec<(NonNull<u8>, Layout)>>,
}

pub(crate) type Malloc = Heap<System>;
pub(crate) type Mimalloc = Heap<MiMalloc>;

/// A general-purpose allocator that can be compared.
pub(crate) trait NamedHeap: GlobalAlloc {
    const NAME: &'static str;
    const HEAP: Self;
}

impl NamedHeap for System {
    const NAME: &'static str = "malloc";
    const HEAP: Self = System;
}

impl NamedHeap for MiMalloc {
    const NAME: &'static str = "mimalloc";
    const HEAP: Self = MiMalloc;
}

impl<G: NamedHeap> Contender for Heap<G> {
    const NAME: &'static str = <G as NamedHeap>::NAME;

    fn with_capacity(_: usize) -> Self {
        Self {
            heap: G::HEAP,
            blocks: RefCell::new(Vec::with_capacity(1 << 16)),
        }
    }

    #[inline(always)]
    fn value<T: Copy>(&self, value: T) -> &mut T {
        let place = self.layout(Layout::new::<T>()).cast::<T>().as_ptr();
        // SAFETY: the memory was allocated for a `T`.
        unsafe { place.write(value) };
        // SAFETY: as above, and for this call alone.
        unsafe { &mut *place }
    }

    #[inline(always)]
    fn copy<'a>(&'a self, source: &[f32]) -> &'a mut [f32] {
        let place = self.layout(Layout::for_value(source)).cast().as_ptr();
        // SAFETY: the memory was allocated for as many elements.
        unsafe { ptr::copy_nonoverlapping(source.as_ptr(), place, source.len()) };
        // SAFETY: as above, and for this call alone.
        unsafe { std::slice::from_raw_parts_mut(place, source.len()) }
    }

    #[inline(always)]
    fn fill(&self, len: usize, value: f32) -> &mut [f32] {
        let layout = Layout::array::<f32>(len).expect("a small length");
        let place = self.layout(layout).cast::<f32>().as_ptr();
        for index in 0..len {
            // SAFETY: the memory was allocated for `len` elements.
            let element = unsafe { place.add(index) };
            // SAFETY: as above.
            unsafe { element.write(value) };
        }
        // SAFETY: all elements are written, and the memory is for this call alone.
        unsafe { std::slice::from_raw_parts_mut(place, len) }
    }

    #[inline(always)]
    fn layout(&self, layout: Layout) -> NonNull<u8> {
        // SAFETY: no workload allocates zero bytes.
        let block = unsafe { self.heap.alloc(layout) };
        let block = NonNull::new(block).expect("memory for a benchmark");
        self.blocks.borrow_mut().push((block, layout));
        block
    }

    #[inline(always)]
    fn pushes(&self, count: u64) -> *const u64 {
        let mut vec = allocator_api2::vec::Vec::new_in(self);
        for number in 0..count {
            vec.push(number);
        }
        std::hint::black_box(vec.as_ptr())
    }

    #[inline(always)]
    fn text(&self, number: u64) -> usize {
        let mut bytes = allocator_api2::vec::Vec::new_in(self);
        std::io::Write::write_fmt(&mut bytes, label!(number)).expect("memory takes all text");
        std::hint::black_box(bytes.len())
    }

    #[inline(always)]
    fn reset(&mut self) {
        for (block, layout) in self.blocks.get_mut().drain(..) {
            // SAFETY: the block came from this heap, with this layout, and is drained once.
            unsafe { self.heap.dealloc(block.as_ptr(), layout) };
        }
    }
}

impl<G: NamedHeap> MapContender for Heap<G> {
    fn allocator(&self) -> impl Allocator {
        self
    }
}

// SAFETY: blocks come from and go to one global allocator, whatever happens to the reference.
unsafe impl<G: GlobalAlloc> Allocator for &Heap<G> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Err(AllocError);
        }
        // SAFETY: the size is not zero.
        let block = NonNull::new(unsafe { self.heap.alloc(layout) }).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(block, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's block came from `allocate` or `grow`.
        unsafe { self.heap.dealloc(block.as_ptr(), layout) };
    }

    #[inline]
    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller's block came from here, and only its size changes.
        let block = unsafe { self.heap.realloc(block.as_ptr(), old, new.size()) };
        let block = NonNull::new(block).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(block, new.size()))
    }
}
