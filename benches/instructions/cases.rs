//! One call of each kind, the same for all contenders.

use std::alloc::Layout;
use std::fmt::Write;
use std::hint::black_box;
use std::ptr::NonNull;

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas, FrameHandle, FrameVec};
use blink_alloc::Blink;
use bumpalo::Bump;

use crate::contender::{BumpScopeDefault, BumpScopeDown, BumpScopeUp, Contender, MapContender};
use crate::counts::segment;
use crate::heap::{Malloc, Mimalloc};
use crate::limit::Limit;

const CAPACITY_BYTES: usize = 64 << 20;

pub(crate) fn run_all() {
    for case in CASES {
        case_of::<Limit>(case);
        case_of::<FrameArena>(case);
        case_of::<Bump>(case);
        case_of::<Bump<8>>(case);
        case_of::<BumpScopeDefault>(case);
        case_of::<BumpScopeUp>(case);
        case_of::<BumpScopeDown>(case);
        case_of::<Blink>(case);
        case_of::<stumpalo::Arena>(case);
        if case != RESET {
            case_of::<Malloc>(case);
            case_of::<Mimalloc>(case);
        }
    }
    map_of::<FrameArena>();
    map_of::<Bump>();
    map_of::<Bump<8>>();
    map_of::<Malloc>();
    map_of::<Mimalloc>();
    let mut bump = BumpScopeUp::with_size(CAPACITY_BYTES);
    segment(PUSH_EXCLUSIVE, "bump-scope, `MutBumpVec`", || {
        out(measured_mut_bump_vec(black_box(&mut bump)));
    });
    variants();
    peers();
    lists();
    blocks();
    handles();
}

pub(crate) const U64: &str = "u64";
pub(crate) const STRUCT: &str = "64-byte struct";
pub(crate) const ALIGNED: &str = "64-byte struct, 64-aligned";
pub(crate) const COPY: &str = "32 f32 copied";
pub(crate) const COPY_SLICE: &str = "32 f32 copied, length known at run time";
pub(crate) const FILL: &str = "1,000 f32 filled";
pub(crate) const LAYOUT: &str = "layout known at run time";
pub(crate) const FRAME: &str = "typed frame of 1,000, each";
pub(crate) const PUSH: &str = "`Vec` push, each of 1,000";
pub(crate) const PUSH_EXCLUSIVE: &str = "`Vec` push, each of 1,000, by `&mut` of the arena";
pub(crate) const RESET: &str = "reset, one block";
pub(crate) const TEXT: &str = "formatted string";
pub(crate) const MAP: &str = "hash map, each of 1,000 inserts";
const CASES: [&str; 11] = [
    U64, STRUCT, ALIGNED, COPY, COPY_SLICE, FILL, LAYOUT, FRAME, PUSH, TEXT, RESET,
];

const TEXT_ALONE: &str = "formatted string, as its crate has it";
const PAIR: &str = "u64, allocated and freed at once";
pub(crate) const ALLOC_WITH: &str = "u64, `alloc_with`";
pub(crate) const TRY_ALLOC: &str = "u64, `try_alloc`";
pub(crate) const SHARE: &str = "u64, `share`";
pub(crate) const PUSH_U32: &str = "`Vec` push of u32, each of 1,000";
pub(crate) const APPEND: &str = "1,000 u64 by `extend_from_slice`";
pub(crate) const APPEND_FEW: &str = "four 24-byte structs by `extend_from_slice`";
pub(crate) const EXTEND: &str = "1,000 u64 by `extend` of a slice";
pub(crate) const COLLECT: &str = "1,000 u64 collected from a mapped range";
pub(crate) const SHORT_LIST: &str = "a list of 13 u32 from a filter";
pub(crate) const BLOCK: &str = "an allocation that takes a block from the store";
pub(crate) const GET: &str = "`get` of a handle";
pub(crate) const GET_PREVIOUS: &str = "`get` of a handle of the previous frame";

type Plain = [u64; 8];

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned(#[expect(dead_code, reason = "its size and alignment matter")] [u64; 8]);

fn case_of<C: Contender>(case: &str) {
    let mut contender = C::with_capacity(CAPACITY_BYTES);
    let floats = [1.5_f32; 32];
    let run = |work: &mut dyn FnMut()| segment(case, C::NAME, work);
    let c = &contender;
    match case {
        U64 => run(&mut || out(measured_value(black_box(c), black_box(7_u64)))),
        STRUCT => run(&mut || {
            out(measured_value(black_box(c), black_box::<Plain>([7; 8])));
        }),
        ALIGNED => run(&mut || {
            out(measured_value(black_box(c), black_box(Aligned([7; 8]))));
        }),
        COPY => run(&mut || out(measured_copy(black_box(c), black_box(&floats)))),
        COPY_SLICE => run(&mut || out(measured_copy_slice(black_box(c), black_box(&floats)))),
        FILL => run(&mut || out(measured_fill(black_box(c), black_box(1000)))),
        LAYOUT => {
            let layout = Layout::new::<[u64; 3]>();
            run(&mut || out(measured_layout(black_box(c), black_box(layout))));
        }
        FRAME => run(&mut || measured_frame(black_box(c))),
        PUSH => run(&mut || out(measured_pushes(black_box(c)))),
        TEXT => run(&mut || out(measured_text(black_box(c), black_box(7)))),
        RESET => run(&mut || {
            out(contender.value(7_u64));
            measured_reset(black_box(&mut contender));
        }),
        _ => unreachable!("an unknown case"),
    }
}

fn map_of<C: MapContender>() {
    let contender = C::with_capacity(CAPACITY_BYTES);
    segment(MAP, C::NAME, || out(measured_map(black_box(&contender))));
}

/// Other ways to the same value, of ours alone.
fn variants() {
    let arena = FrameArena::with_capacity(CAPACITY_BYTES);
    segment(ALLOC_WITH, FrameArena::NAME, || {
        out(measured_alloc_with(black_box(&arena), black_box(7)));
    });
    segment(TRY_ALLOC, FrameArena::NAME, || {
        out(measured_try_alloc(black_box(&arena), black_box(7)));
    });
    segment(SHARE, FrameArena::NAME, || {
        out(measured_share(black_box(&arena), black_box(7)));
    });
}

/// Ways of others that all contenders together have no room for.
fn peers() {
    let bump = Bump::with_capacity(CAPACITY_BYTES);
    segment(TEXT_ALONE, "`bumpalo::format!`", || {
        out(measured_bumpalo_format(black_box(&bump), black_box(7)));
    });
    segment(TEXT_ALONE, "bumpalo, with capacity", || {
        out(measured_bumpalo_reserved(black_box(&bump), black_box(7)));
    });
    segment(PAIR, "malloc and free", || measured_pair(black_box(7)));
}

/// Lists, beside those of the standard library with the memory reserved.
fn lists() {
    const STD: &str = "std, with capacity";
    let arena = FrameArena::with_capacity(CAPACITY_BYTES);
    let numbers: Vec<u64> = (0..1000).collect();
    let vertices = [[1.5_f64; 3]; 4];
    segment(PUSH_U32, FrameArena::NAME, || {
        out(measured_pushes_u32(black_box(&arena)));
    });

    let mut ours = arena.vec_with_capacity(2000);
    let mut theirs = Vec::with_capacity(2000);
    segment(APPEND, FrameArena::NAME, || {
        ours.clear();
        measured_append(black_box(&mut ours), black_box(&numbers));
    });
    segment(APPEND, STD, || {
        theirs.clear();
        measured_append_std(black_box(&mut theirs), black_box(&numbers));
    });
    segment(EXTEND, FrameArena::NAME, || {
        ours.clear();
        measured_extend(black_box(&mut ours), black_box(&numbers));
    });
    segment(EXTEND, STD, || {
        theirs.clear();
        measured_extend_std(black_box(&mut theirs), black_box(&numbers));
    });

    let mut ours = arena.vec_with_capacity(8);
    let mut theirs = Vec::with_capacity(8);
    segment(APPEND_FEW, FrameArena::NAME, || {
        ours.clear();
        measured_append(black_box(&mut ours), black_box(&vertices));
    });
    segment(APPEND_FEW, STD, || {
        theirs.clear();
        measured_append_std(black_box(&mut theirs), black_box(&vertices));
    });

    segment(COLLECT, FrameArena::NAME, || {
        out(measured_collect(black_box(&arena), black_box(1000)));
    });
    segment(COLLECT, "std", || {
        out(measured_collect_std(black_box(1000)));
    });

    let mut theirs = Vec::with_capacity(32);
    segment(SHORT_LIST, FrameArena::NAME, || {
        out(measured_short_list(black_box(&arena), black_box(32)));
    });
    segment(SHORT_LIST, "`Vec`, cleared and extended", || {
        measured_short_list_reused(black_box(&mut theirs), black_box(32));
    });
}

/// Each allocation fills a block; the reset gives all but one back.
fn blocks() {
    const BLOCK_BYTES: usize = 1024;
    const HEADER_BYTES: usize = 64;
    let mut arena = FrameArena::with_settings(&FrameArenaSettings {
        block_bytes: BLOCK_BYTES,
        ..FrameArenaSettings::default()
    });
    let layout = Layout::new::<[u8; BLOCK_BYTES - HEADER_BYTES]>();
    segment(BLOCK, FrameArena::NAME, || {
        arena.alloc_layout(layout);
        out(measured_block(black_box(&arena), black_box(layout)));
        arena.reset();
    });
}

fn handles() {
    let mut arenas = FrameArenas::default();
    let handle = arenas.local().share(7);
    for case in [GET, GET_PREVIOUS] {
        segment(case, FrameArena::NAME, || {
            out(measured_get(black_box(&arenas), black_box(handle)));
        });
        arenas.swap();
    }
}

fn out<T>(result: T) {
    black_box(result);
}

#[inline(never)]
fn measured_value<C: Contender, T: Copy>(contender: &C, value: T) -> &mut T {
    contender.value(value)
}

#[inline(never)]
fn measured_copy<'a, C: Contender>(contender: &'a C, source: &[f32; 32]) -> &'a mut [f32] {
    contender.copy(source)
}

#[inline(never)]
fn measured_copy_slice<'a, C: Contender>(contender: &'a C, source: &[f32]) -> &'a mut [f32] {
    contender.copy(source)
}

#[inline(never)]
fn measured_fill<C: Contender>(contender: &C, len: usize) -> &mut [f32] {
    contender.fill(len, 1.5)
}

#[inline(never)]
fn measured_layout<C: Contender>(contender: &C, layout: Layout) -> NonNull<u8> {
    contender.layout(layout)
}

/// Eight typed allocations a turn, so that the loop itself costs a fraction of each.
#[inline(never)]
fn measured_frame<C: Contender>(contender: &C) {
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

#[inline(never)]
fn measured_pushes<C: Contender>(contender: &C) -> *const u64 {
    contender.pushes(1000)
}

#[inline(never)]
fn measured_text<C: Contender>(contender: &C, number: u64) -> usize {
    contender.text(number)
}

#[inline(never)]
fn measured_map<C: MapContender>(contender: &C) -> usize {
    let mut map = hashbrown::HashMap::new_in(contender.allocator());
    for number in 0..1000_u64 {
        map.insert(number, number);
    }
    map.len()
}

#[inline(never)]
fn measured_mut_bump_vec(bump: &mut BumpScopeUp) -> *const u64 {
    let mut vec = bump_scope::MutBumpVec::new_in(bump);
    for number in 0..1000_u64 {
        vec.push(number);
    }
    vec.as_ptr()
}

#[inline(never)]
fn measured_reset<C: Contender>(contender: &mut C) {
    contender.reset();
}

#[inline(never)]
fn measured_bumpalo_format(bump: &Bump, number: u64) -> usize {
    bumpalo::format!(in bump, "entity {}: {} HP", number, number % 100).len()
}

#[inline(never)]
fn measured_bumpalo_reserved(bump: &Bump, number: u64) -> usize {
    let mut text = bumpalo::collections::String::with_capacity_in(64, bump);
    write!(text, "entity {}: {} HP", number, number % 100).expect("memory takes all text");
    text.len()
}

#[inline(never)]
fn measured_pair(value: u64) {
    drop(black_box(Box::new(value)));
}

#[inline(never)]
fn measured_alloc_with(arena: &FrameArena, value: u64) -> &mut u64 {
    arena.alloc_with(move || value)
}

#[inline(never)]
fn measured_try_alloc(arena: &FrameArena, value: u64) -> Option<&mut u64> {
    arena.try_alloc(value).ok()
}

#[inline(never)]
fn measured_share(arena: &FrameArena, value: u64) -> FrameHandle<u64> {
    arena.share(value)
}

#[inline(never)]
fn measured_block(arena: &FrameArena, layout: Layout) -> NonNull<u8> {
    arena.alloc_layout(layout)
}

#[inline(never)]
fn measured_get(arenas: &FrameArenas, handle: FrameHandle<u64>) -> Option<&u64> {
    arenas.get(handle)
}

#[inline(never)]
fn measured_pushes_u32(arena: &FrameArena) -> *const u32 {
    let mut vec = arena.vec();
    for number in 0..1000_u32 {
        vec.push(number);
    }
    vec.as_ptr()
}

#[inline(never)]
fn measured_append<T: Copy>(vec: &mut FrameVec<'_, T>, source: &[T]) {
    vec.extend_from_slice(source);
}

#[inline(never)]
fn measured_append_std<T: Copy>(vec: &mut Vec<T>, source: &[T]) {
    vec.extend_from_slice(source);
}

#[inline(never)]
fn measured_extend(vec: &mut FrameVec<'_, u64>, source: &[u64]) {
    vec.extend(source);
}

#[inline(never)]
fn measured_extend_std(vec: &mut Vec<u64>, source: &[u64]) {
    vec.extend(source);
}

#[inline(never)]
fn measured_collect(arena: &FrameArena, count: u64) -> &mut [u64] {
    arena.collect((0..count).map(|number| number * 3)).leak()
}

#[inline(never)]
fn measured_collect_std(count: u64) -> Vec<u64> {
    (0..count).map(|number| number * 3).collect()
}

/// A list of its own, of a length that nobody knows before, for another system to read.
#[inline(never)]
fn measured_short_list(arena: &FrameArena, count: u32) -> FrameHandle<[u32]> {
    arena.collect((0..count).filter(|n| n % 5 < 2)).share()
}

#[inline(never)]
fn measured_short_list_reused(list: &mut Vec<u32>, count: u32) {
    list.clear();
    list.extend((0..count).filter(|n| n % 5 < 2));
}
