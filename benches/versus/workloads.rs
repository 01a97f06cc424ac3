//! What one thread does in a frame: many allocations, all of them written, then the frame's end.
#![expect(unsafe_code, reason = "writes to raw memory")]

use std::alloc::Layout;
use std::hint::black_box;

use bevy_frame_arena::FrameArena;
use blink_alloc::Blink;
use bumpalo::Bump;

use crate::contender::{BumpScopeDefault, BumpScopeDown, BumpScopeUp, Contender, MapContender};
use crate::heap::{Malloc, Mimalloc};
use crate::limit::Limit;
use crate::race::{Effort, Runner, race};

/// One kind of frame, the same for all contenders.
pub(crate) trait Workload {
    const TITLE: &'static str;
    /// How many operations a frame has.
    const UNITS: u32;

    fn allocate<C: Contender>(&self, contender: &C);
}

pub(crate) fn run_all(effort: Effort) {
    race_of(effort, &U64);
    race_of(effort, &Struct);
    race_of(effort, &Aligned);
    race_of(effort, &Copied([1.5; 32]));
    race_of(effort, &Filled);
    race_of(effort, &Text);
    race_of(effort, &Typed);
    race_of(effort, &Mixed::<1_000>::new());
    race_of(effort, &Mixed::<10_000>::new());
    pushes(effort);
    maps(effort);
}

const CAPACITY_BYTES: usize = 16 << 20;

fn race_of<W: Workload>(effort: Effort, workload: &W) {
    race(effort, W::TITLE, W::UNITS, runners(workload));
}

fn runners<W: Workload>(workload: &W) -> Vec<Runner<'_>> {
    vec![
        runner::<W, Limit>(workload),
        runner::<W, FrameArena>(workload),
        runner::<W, Bump>(workload),
        runner::<W, Bump<8>>(workload),
        runner::<W, BumpScopeDefault>(workload),
        runner::<W, BumpScopeUp>(workload),
        runner::<W, BumpScopeDown>(workload),
        runner::<W, Blink>(workload),
        runner::<W, stumpalo::Arena>(workload),
        runner::<W, Malloc>(workload),
        runner::<W, Mimalloc>(workload),
    ]
}

fn runner<'a, W: Workload, C: Contender + 'a>(workload: &'a W) -> Runner<'a> {
    let mut contender = C::with_capacity(CAPACITY_BYTES);
    Runner::new(C::NAME, move || {
        workload.allocate(black_box(&contender));
        contender.reset();
    })
}

struct U64;

impl Workload for U64 {
    const TITLE: &'static str = "u64";
    const UNITS: u32 = 1000;

    #[inline(always)]
    fn allocate<C: Contender>(&self, contender: &C) {
        for number in 0..1000_u64 {
            contender.value(number);
        }
    }
}

struct Struct;

impl Workload for Struct {
    const TITLE: &'static str = "64-byte struct";
    const UNITS: u32 = 1000;

    #[inline(always)]
    fn allocate<C: Contender>(&self, contender: &C) {
        for number in 0..1000_u64 {
            contender.value([number; 8]);
        }
    }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "its size and alignment matter")] [u64; 8]);

struct Aligned;

impl Workload for Aligned {
    const TITLE: &'static str = "64-byte struct, 64-aligned, after a u64";
    const UNITS: u32 = 1000;

    #[inline(always)]
    fn allocate<C: Contender>(&self, contender: &C) {
        for number in 0..500_u64 {
            contender.value(number);
            contender.value(Line([number; 8]));
        }
    }
}

struct Copied([f32; 32]);

impl Workload for Copied {
    const TITLE: &'static str = "32 f32 copied";
    const UNITS: u32 = 1000;

    #[inline(always)]
    fn allocate<C: Contender>(&self, contender: &C) {
        for _ in 0..1000 {
            contender.copy(black_box(&self.0));
        }
    }
}

struct Filled;

impl Workload for Filled {
    const TITLE: &'static str = "1,000 f32 filled";
    const UNITS: u32 = 100;

    #[inline(always)]
    fn allocate<C: Contender>(&self, contender: &C) {
        for _ in 0..100 {
            contender.fill(black_box(1000), 1.5);
        }
    }
}

struct Text;

impl Workload for Text {
    const TITLE: &'static str = "formatted string";
    const UNITS: u32 = 100;

    #[inline(always)]
    fn allocate<C: Contender>(&self, contender: &C) {
        for number in 0..100 {
            contender.text(black_box(number));
        }
    }
}

struct Typed;

impl Workload for Typed {
    const TITLE: &'static str = "1,000 mixed, layouts known to the compiler";
    const UNITS: u32 = 1000;

    #[inline(always)]
    fn allocate<C: Contender>(&self, contender: &C) {
        for turn in 0..125_u32 {
            contender.value(u64::from(turn));
            contender.value([turn, 1]);
            contender.value([1.5_f32; 4]);
            contender.value(turn);
            contender.value((u64::from(turn), 2_u64));
            contender.value([turn, 1, 2]);
            contender.value(turn as u16);
            contender.value([0.5_f32; 8]);
        }
    }
}

/// Sizes of 1 to 256 bytes, alignments of 1 to 16, known at run time alone.
pub(crate) struct Mixed<const COUNT: usize>(Vec<Layout>);

impl<const COUNT: usize> Mixed<COUNT> {
    pub(crate) fn new() -> Self {
        let mut state = 0x9E37_79B9_u32;
        let mut next = move |bound: u32| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state % bound) as usize
        };
        let layout = |_| Layout::from_size_align(1 + next(256), 1 << next(5));
        let layouts: Result<_, _> = (0..COUNT).map(layout).collect();
        Self(layouts.expect("small sizes"))
    }
}

impl<const COUNT: usize> Workload for Mixed<COUNT> {
    const TITLE: &'static str = match COUNT {
        1_000 => "1,000 mixed, layouts known at run time",
        _ => "10,000 mixed, layouts known at run time",
    };
    const UNITS: u32 = COUNT as u32;

    #[inline(always)]
    fn allocate<C: Contender>(&self, contender: &C) {
        for layout in &self.0 {
            let memory = contender.layout(*layout);
            // SAFETY: the memory was just allocated, with this size.
            unsafe { memory.write_bytes(7, layout.size()) };
            black_box(memory);
        }
    }
}

struct Pushes;

impl Workload for Pushes {
    const TITLE: &'static str = "1,000 pushes to a growing `Vec`, each";
    const UNITS: u32 = 1000;

    #[inline(always)]
    fn allocate<C: Contender>(&self, contender: &C) {
        black_box(contender.pushes(black_box(1000)));
    }
}

fn pushes(effort: Effort) {
    let mut reused = Vec::new();
    let mut runners = runners(&Pushes);
    runners.push(Runner::new("`Local<Vec>`, cleared and reused", || {
        reused.clear();
        for number in 0..black_box(1000_u64) {
            reused.push(number);
        }
        black_box(&reused);
    }));
    race(effort, Pushes::TITLE, Pushes::UNITS, runners);
}

fn maps(effort: Effort) {
    fn runner<'a, C: MapContender + 'a>() -> Runner<'a> {
        let mut contender = C::with_capacity(CAPACITY_BYTES);
        Runner::new(C::NAME, move || {
            let mut map = hashbrown::HashMap::new_in(contender.allocator());
            for number in 0..1000_u64 {
                map.insert(number, number);
            }
            black_box(&map);
            drop(map);
            contender.reset();
        })
    }
    let runners = vec![
        runner::<FrameArena>(),
        runner::<Bump>(),
        runner::<Bump<8>>(),
        runner::<Malloc>(),
        runner::<Mimalloc>(),
    ];
    race(effort, "hash map of 1,000, each insert", 1000, runners);
}
