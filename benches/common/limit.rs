//! The bare limit: what bumping costs at least.
#![expect(unsafe_code, reason = "allocators work on raw memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;
use std::ptr::{self, NonNull};

use crate::contender::{Contender, label};

/// The least that bumping can cost: one fixed block, an addition and a bounds check.
///
/// It can't grow, and knows nothing of frames, handles or workers.
pub(crate) struct Limit {
    cursor: Cell<*mut u8>,
    end: usize,
    start: *mut u8,
    layout: Layout,
}

impl Limit {
    #[inline(always)]
    fn take(&self, size: usize, align: usize) -> *mut u8 {
        let cursor = self.cursor.get();
        let start = (cursor.addr() + (align - 1)) & !(align - 1);
        let next = start + ((size + 7) & !7);
        if next > self.end {
            full();
        }
        self.cursor.set(cursor.with_addr(next));
        cursor.with_addr(start)
    }
}

#[cold]
#[inline(never)]
fn full() -> ! {
    panic!("the fixed block is full")
}

const fn beyond_cursor(align: usize) -> usize {
    if align <= 8 { 1 } else { align }
}

impl Contender for Limit {
    const NAME: &'static str = "bare limit";

    fn with_capacity(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes, 128).expect("a sane capacity");
        // SAFETY: no capacity of a benchmark is zero.
        let start = unsafe { System.alloc(layout) };
        assert!(!start.is_null(), "no memory for a benchmark");
        Self {
            cursor: Cell::new(start),
            end: start.addr() + bytes,
            start,
            layout,
        }
    }

    #[inline(always)]
    fn value<T: Copy>(&self, value: T) -> &mut T {
        let place = self
            .take(size_of::<T>(), beyond_cursor(align_of::<T>()))
            .cast::<T>();
        // SAFETY: the memory was taken for a `T`.
        unsafe { place.write(value) };
        // SAFETY: as above, and for this call alone.
        unsafe { &mut *place }
    }

    #[inline(always)]
    fn copy<'a>(&'a self, source: &[f32]) -> &'a mut [f32] {
        let place = self.take(size_of_val(source), 1).cast::<f32>();
        // SAFETY: the memory was taken for as many elements.
        unsafe { ptr::copy_nonoverlapping(source.as_ptr(), place, source.len()) };
        // SAFETY: as above, and for this call alone.
        unsafe { std::slice::from_raw_parts_mut(place, source.len()) }
    }

    #[inline(always)]
    fn fill(&self, len: usize, value: f32) -> &mut [f32] {
        let place = self.take(len * size_of::<f32>(), 1).cast::<f32>();
        for index in 0..len {
            // SAFETY: the memory was taken for `len` elements.
            let element = unsafe { place.add(index) };
            // SAFETY: as above.
            unsafe { element.write(value) };
        }
        // SAFETY: all elements are written, and the memory is for this call alone.
        unsafe { std::slice::from_raw_parts_mut(place, len) }
    }

    #[inline(always)]
    fn layout(&self, layout: Layout) -> NonNull<u8> {
        let place = self.take(layout.size(), layout.align());
        // SAFETY: the place lies in the block, which is not at address zero.
        unsafe { NonNull::new_unchecked(place) }
    }

    /// A vector that never has to grow.
    #[inline(always)]
    fn pushes(&self, count: u64) -> *const u64 {
        let bytes = usize::try_from(count).expect("a small count") * size_of::<u64>();
        let place = self.take(bytes, 1).cast::<u64>();
        let mut next = place;
        for number in 0..count {
            // SAFETY: the memory was taken for `count` elements.
            unsafe { next.write(number) };
            next = next.wrapping_add(1);
        }
        place
    }

    #[inline(always)]
    fn text(&self, number: u64) -> usize {
        struct Bytes<'a>(&'a Limit);
        impl Write for Bytes<'_> {
            fn write_str(&mut self, text: &str) -> std::fmt::Result {
                let place = self.0.cursor.get();
                if place.addr() + text.len() > self.0.end {
                    full();
                }
                // SAFETY: the bytes lie before the end of the block.
                unsafe { ptr::copy_nonoverlapping(text.as_ptr(), place, text.len()) };
                self.0.cursor.set(place.wrapping_add(text.len()));
                Ok(())
            }
        }
        let start = self.cursor.get();
        Bytes(self)
            .write_fmt(label!(number))
            .expect("memory takes all text");
        let end = self.cursor.get();
        self.cursor
            .set(end.with_addr(end.addr().next_multiple_of(8)));
        end.addr() - start.addr()
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.cursor.set(self.start);
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // SAFETY: the block came from this allocator, with this layout.
        unsafe { System.dealloc(self.start, self.layout) };
    }
}
