//! What every allocator under comparison is asked to do.

use std::alloc::Layout;
use std::ptr::NonNull;

use allocator_api2::alloc::Allocator;
use bevy_frame_arena::FrameArena;
use blink_alloc::{Blink, BlinkAlloc};
use bump_scope::alloc::Global;
use bump_scope::settings::BumpSettings;
use bump_scope::traits::BumpAllocatorTyped;

/// Raw size and alignment, plain values, slices and growing containers, until a reset.
#[expect(
    clippy::mut_from_ref,
    reason = "each call returns memory of its own, as in the crates behind it"
)]
pub(crate) trait Contender: Sized {
    const NAME: &'static str;

    fn with_capacity(bytes: usize) -> Self;
    fn value<T: Copy>(&self, value: T) -> &mut T;
    fn copy<'a>(&'a self, source: &[f32]) -> &'a mut [f32];
    fn fill(&self, len: usize, value: f32) -> &mut [f32];
    fn layout(&self, layout: Layout) -> NonNull<u8>;
    /// Pushes `count` numbers to a growing vector and returns where they lie.
    fn pushes(&self, count: u64) -> *const u64;
    /// Formats a label and returns its length.
    fn text(&self, number: u64) -> usize;
    fn reset(&mut self);
}

/// Contenders that a hash map can use.
pub(crate) trait MapContender: Contender {
    fn allocator(&self) -> impl Allocator;
}

/// The label that the contenders format.
macro_rules! label {
    ($number:expr) => {
        format_args!("entity {}: {} HP", $number, $number % 100)
    };
}
pub(crate) use label;

impl Contender for FrameArena {
    const NAME: &'static str = "ours";

    fn with_capacity(bytes: usize) -> Self {
        Self::new(bytes)
    }

    #[inline(always)]
    fn value<T: Copy>(&self, value: T) -> &mut T {
        self.alloc(value)
    }

    #[inline(always)]
    fn copy<'a>(&'a self, source: &[f32]) -> &'a mut [f32] {
        self.alloc_slice_copy(source)
    }

    #[inline(always)]
    fn fill(&self, len: usize, value: f32) -> &mut [f32] {
        self.alloc_slice_fill_copy(len, value)
    }

    #[inline(always)]
    fn layout(&self, layout: Layout) -> NonNull<u8> {
        self.alloc_layout(layout)
    }

    #[inline(always)]
    fn pushes(&self, count: u64) -> *const u64 {
        let mut vec = self.vec();
        for number in 0..count {
            vec.push(number);
        }
        vec.as_ptr()
    }

    #[inline(always)]
    fn text(&self, number: u64) -> usize {
        self.alloc_fmt(label!(number)).len()
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.reset();
    }
}

impl MapContender for FrameArena {
    fn allocator(&self) -> impl Allocator {
        self
    }
}

impl<const MIN_ALIGN: usize> Contender for bumpalo::Bump<MIN_ALIGN> {
    const NAME: &'static str = match MIN_ALIGN {
        1 => "bumpalo",
        _ => "bumpalo, MIN_ALIGN 8",
    };

    fn with_capacity(bytes: usize) -> Self {
        Self::with_min_align_and_capacity(bytes)
    }

    #[inline(always)]
    fn value<T: Copy>(&self, value: T) -> &mut T {
        self.alloc(value)
    }

    #[inline(always)]
    fn copy<'a>(&'a self, source: &[f32]) -> &'a mut [f32] {
        self.alloc_slice_copy(source)
    }

    #[inline(always)]
    fn fill(&self, len: usize, value: f32) -> &mut [f32] {
        self.alloc_slice_fill_copy(len, value)
    }

    #[inline(always)]
    fn layout(&self, layout: Layout) -> NonNull<u8> {
        self.alloc_layout(layout)
    }

    #[inline(always)]
    fn pushes(&self, count: u64) -> *const u64 {
        let mut vec = allocator_api2::vec::Vec::new_in(self);
        for number in 0..count {
            vec.push(number);
        }
        vec.as_ptr()
    }

    #[inline(always)]
    fn text(&self, number: u64) -> usize {
        // bumpalo's own strings are for the default `MIN_ALIGN` alone; `bumpalo::format!` has a row
        // of its own.
        let mut bytes = allocator_api2::vec::Vec::new_in(self);
        std::io::Write::write_fmt(&mut bytes, label!(number)).expect("memory takes all text");
        bytes.len()
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.reset();
    }
}

impl<const MIN_ALIGN: usize> MapContender for bumpalo::Bump<MIN_ALIGN> {
    fn allocator(&self) -> impl Allocator {
        self
    }
}

/// bump-scope as it comes.
pub(crate) type BumpScopeDefault = bump_scope::Bump<Global, BumpSettings>;
/// bump-scope with the settings that make it fastest, upwards.
pub(crate) type BumpScopeUp = bump_scope::Bump<Global, BumpSettings<8, true, true, false>>;
/// bump-scope with the settings that make it fastest, downwards.
pub(crate) type BumpScopeDown = bump_scope::Bump<Global, BumpSettings<8, false, true, false>>;

impl<const MIN_ALIGN: usize, const UP: bool, const CLAIMABLE: bool> Contender
    for bump_scope::Bump<Global, BumpSettings<MIN_ALIGN, UP, true, CLAIMABLE>>
where
    bump_scope::settings::MinimumAlignment<MIN_ALIGN>:
        bump_scope::settings::SupportedMinimumAlignment,
{
    const NAME: &'static str = match (MIN_ALIGN, UP) {
        (1, _) => "bump-scope",
        (_, true) => "bump-scope, tuned, up",
        (_, false) => "bump-scope, tuned, down",
    };

    fn with_capacity(bytes: usize) -> Self {
        Self::with_size(bytes)
    }

    #[inline(always)]
    fn value<T: Copy>(&self, value: T) -> &mut T {
        bump_scope::BumpBox::leak(self.alloc(value))
    }

    #[inline(always)]
    fn copy<'a>(&'a self, source: &[f32]) -> &'a mut [f32] {
        self.alloc_slice_copy(source).into_mut()
    }

    #[inline(always)]
    fn fill(&self, len: usize, value: f32) -> &mut [f32] {
        self.alloc_slice_fill(len, value).into_mut()
    }

    #[inline(always)]
    fn layout(&self, layout: Layout) -> NonNull<u8> {
        self.allocate_layout(layout)
    }

    #[inline(always)]
    fn pushes(&self, count: u64) -> *const u64 {
        let mut vec = bump_scope::BumpVec::new_in(self);
        for number in 0..count {
            vec.push(number);
        }
        vec.as_ptr()
    }

    #[inline(always)]
    fn text(&self, number: u64) -> usize {
        self.as_scope().alloc_fmt(label!(number)).len()
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.reset_to_start();
    }
}

impl Contender for Blink {
    const NAME: &'static str = "blink-alloc";

    fn with_capacity(bytes: usize) -> Self {
        Self::new_in(BlinkAlloc::with_chunk_size(bytes))
    }

    #[inline(always)]
    fn value<T: Copy>(&self, value: T) -> &mut T {
        self.put_no_drop(value)
    }

    #[inline(always)]
    fn copy<'a>(&'a self, source: &[f32]) -> &'a mut [f32] {
        self.copy_slice(source)
    }

    #[inline(always)]
    fn fill(&self, len: usize, value: f32) -> &mut [f32] {
        self.emplace_no_drop()
            .from_iter(std::iter::repeat_n(value, len))
    }

    #[inline(always)]
    fn layout(&self, layout: Layout) -> NonNull<u8> {
        let block = self.allocator().allocate(layout);
        block.expect("the capacity is ample").cast()
    }

    #[inline(always)]
    fn pushes(&self, count: u64) -> *const u64 {
        let mut vec = allocator_api2_04::vec::Vec::new_in(self.allocator());
        for number in 0..count {
            vec.push(number);
        }
        vec.as_ptr()
    }

    /// It has no formatting of its own: a `String`, copied.
    #[inline(always)]
    fn text(&self, number: u64) -> usize {
        self.copy_str(&std::fmt::format(label!(number))).len()
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.reset();
    }
}

impl Contender for stumpalo::Arena {
    const NAME: &'static str = "stumpalo";

    fn with_capacity(bytes: usize) -> Self {
        Self::with_capacity(bytes)
    }

    #[inline(always)]
    fn value<T: Copy>(&self, value: T) -> &mut T {
        self.alloc(value)
    }

    #[inline(always)]
    fn copy<'a>(&'a self, source: &[f32]) -> &'a mut [f32] {
        self.alloc_slice_copy(source)
    }

    #[inline(always)]
    fn fill(&self, len: usize, value: f32) -> &mut [f32] {
        self.alloc_slice_fill_copy(len, value)
    }

    #[inline(always)]
    fn layout(&self, layout: Layout) -> NonNull<u8> {
        self.alloc_layout(layout)
    }

    #[inline(always)]
    fn pushes(&self, count: u64) -> *const u64 {
        let mut vec = allocator_api2_04::vec::Vec::new_in(self);
        for number in 0..count {
            vec.push(number);
        }
        vec.as_ptr()
    }

    /// It has no formatting of its own: the text is written to a vector of bytes.
    #[inline(always)]
    fn text(&self, number: u64) -> usize {
        let mut bytes = allocator_api2_04::vec::Vec::new_in(self);
        std::io::Write::write_fmt(&mut bytes, label!(number)).expect("memory takes all text");
        bytes.len()
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.clear();
    }
}
