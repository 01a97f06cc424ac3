//! The free list: blocks that are taken, given back and joined again, through safe containers.

use std::cell::RefCell;
use std::rc::Rc;

use allocator_api2::alloc::{Allocator, Layout};
use allocator_api2::boxed::Box as BoxIn;
use allocator_api2::vec::Vec as VecIn;
use bevy_frame_arena::{ArenaError, FrameArena, FrameArenaSettings, FrameArenas, FreeList};
use hashbrown::HashMap;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::TestRunner;

use crate::cases;
use crate::common::address::address;
use crate::common::panics::panics;

/// Returns the size of the only block of a list that has not grown.
fn whole_bytes(list: &FreeList) -> usize {
    let header_bytes = 2 * size_of::<usize>();
    list.capacity_bytes() - header_bytes
}

/// Returns whether a list that has not grown is one free block. One that is not grows by this.
fn is_whole(list: &FreeList) -> bool {
    let capacity = list.capacity_bytes();
    list.try_reserve(whole_bytes(list)).is_ok() && list.capacity_bytes() == capacity
}

#[test]
fn everything_freed_is_one_block_again() {
    let arena = FrameArena::default();
    let list = FreeList::new_in(100_000, &arena);
    assert!(is_whole(&list));
    let mut blocks: Vec<_> = (0..100_usize)
        .map(|n| {
            let mut block = VecIn::new_in(&list);
            block.extend_from_slice(&vec![n as u8; n * 7]);
            block
        })
        .collect();
    // Every second one first, so that there are holes.
    let mut is_odd = false;
    blocks.retain(|_| {
        is_odd = !is_odd;
        is_odd
    });
    blocks.clear();
    assert!(is_whole(&list));
    let block = BoxIn::new_in(0_u8, &list);
    assert!(!is_whole(&list));
    drop(block);
}

#[test]
fn maps_reuse_the_tables_they_outgrow() {
    let arenas = FrameArenas::default();
    let list = FreeList::new_in(256 << 10, arenas.local());
    let before = arenas.local().used_bytes();
    let (rounds, entries) = if cfg!(miri) { (2, 300) } else { (20, 2000) };
    for round in 0..rounds {
        let mut map = HashMap::new_in(&list);
        for n in 0..entries {
            map.insert(n, round);
        }
        assert!((0..entries).all(|n| map[&n] == round));
    }
    assert_eq!(arenas.local().used_bytes(), before);
    assert!(is_whole(&list));
}

/// An arena that refuses whatever does not fit into its first `bytes`.
fn limited_arena(bytes: usize) -> FrameArena {
    FrameArena::with_settings(&FrameArenaSettings {
        worker_limit_bytes: Some(bytes),
        ..Default::default()
    })
}

#[test]
fn an_arena_that_refuses_is_an_error_and_leaves_what_is_there() {
    let arena = limited_arena(16 << 10);
    let list = FreeList::new_in(1000, &arena);
    let mut kept = VecIn::new_in(&list);
    kept.extend_from_slice(&[7_u8; 600]);
    assert!(kept.try_reserve(16 << 10).is_err());
    assert!(matches!(
        list.try_reserve(16 << 10),
        Err(ArenaError::Exhausted { .. })
    ));
    let mut other = VecIn::<u8, _>::new_in(&list);
    assert!(other.try_reserve(16 << 10).is_err());
    assert!(other.try_reserve(isize::MAX as usize).is_err());
    assert!(kept.iter().all(|&byte| byte == 7));
    drop(kept);
    assert!(other.try_reserve(600).is_ok());
}

#[test]
fn a_list_grows_by_memory_of_its_arena_and_blocks_of_all_of_it_are_freed() {
    let arena = FrameArena::default();
    let list = FreeList::new_in(1000, &arena);
    let mut blocks: Vec<_> = (0..100_usize)
        .map(|n| {
            let mut block = VecIn::new_in(&list);
            block.resize(n * 10, n as u8);
            block
        })
        .collect();
    let capacity = list.capacity_bytes();
    assert!(capacity > 50_000 && capacity < 200_000, "{capacity}");
    for (n, block) in blocks.iter().enumerate() {
        assert!(block.iter().all(|&byte| usize::from(byte) == n));
    }
    // Each moves to a larger block, the first of them from the oldest region.
    for block in &mut blocks {
        block.extend_from_slice(&[1; 3000]);
        assert_eq!(block.len() % 10, 0);
    }
    blocks.clear();
    // The newest region is whole again, and as large as all others.
    let capacity = list.capacity_bytes();
    list.try_reserve(capacity / 2 - 100).expect("no limit");
    assert_eq!(list.capacity_bytes(), capacity);
}

#[test]
fn a_block_just_freed_is_the_next_of_its_size_and_joins_when_all_are_needed() {
    let arena = limited_arena(24 << 10);
    let list = FreeList::new_in(8000, &arena);
    let largest = whole_bytes(&list);
    let first = BoxIn::new_in([1_u8; 100], &list);
    let address_of_first = address(&*first);
    drop(first);
    let second = BoxIn::new_in([2_u8; 97], &list);
    assert_eq!(address(&*second), address_of_first);
    drop(second);
    // All of it, in blocks of one size; then in one of another size, which takes them joined.
    let blocks: Vec<_> = (0..50)
        .map(|n| BoxIn::new_in([n as u8; 100], &list))
        .collect();
    let before = arena.used_bytes();
    drop(blocks);
    let mut all = VecIn::<u8, _>::new_in(&list);
    all.try_reserve_exact(largest).expect("all is free");
    assert_eq!(arena.used_bytes(), before);
}

#[test]
fn an_arena_without_room_for_a_list_says_so() {
    let arena = limited_arena(16 << 10);
    let error = FreeList::try_new_in(usize::MAX, &arena).map(|_| ());
    assert!(matches!(error, Err(ArenaError::TooLong { .. })));
    let error = FreeList::try_new_in(32 << 10, &arena).map(|_| ());
    assert!(matches!(error, Err(ArenaError::Exhausted { .. })));
    assert!(panics(|| {
        FreeList::new_in(32 << 10, &arena);
    }));
}

#[test]
fn types_without_size_take_nothing() {
    let arena = FrameArena::default();
    let list = FreeList::new_in(0, &arena);
    let mut nothing = VecIn::new_in(&list);
    nothing.extend([(); 1000]);
    let boxed = BoxIn::new_in((), &list);
    assert_eq!((nothing.len(), *boxed), (1000, ()));
    assert!(is_whole(&list));
}

#[test]
fn over_aligned_types_are_aligned_and_freed() {
    #[repr(align(32))]
    struct A32(u8);
    #[repr(align(4096))]
    struct A4096(u8);

    let arena = FrameArena::default();
    let list = FreeList::new_in(100_000, &arena);
    for _ in 0..10 {
        let small = BoxIn::new_in(A32(1), &list);
        let page = BoxIn::new_in(A4096(2), &list);
        let mut pages = VecIn::new_in(&list);
        for n in 0..5 {
            pages.push(A4096(n));
            pages.push(A4096(n));
            pages.pop();
        }
        pages.shrink_to_fit();
        assert_eq!((address(&*small) % 32, small.0), (0, 1));
        assert_eq!((address(&*page) % 4096, page.0), (0, 2));
        assert_eq!(address(&pages[0]) % 4096, 0);
        assert!(pages.iter().map(|page| page.0).eq(0..5));
    }
    assert!(is_whole(&list));
}

/// No container asks for this; the trait allows it.
#[test]
#[expect(unsafe_code, reason = "calls an allocator as its trait allows")]
fn a_block_keeps_its_bytes_when_its_alignment_changes() {
    let arena = FrameArena::default();
    let list = &FreeList::new_in(100_000, &arena);
    let layout = |bytes, align| Layout::from_size_align(bytes, align).expect("a valid layout");
    let steps = [
        (24, 8),
        (100, 64),
        (50, 4),
        (0, 4),
        (0, 128),
        (40, 128),
        (8, 8),
    ];
    let mut old = layout(0, 1);
    let mut block = list.allocate(old).expect("room").cast::<u8>();
    let mut kept = 0;
    for (bytes, align) in steps {
        let new = layout(bytes, align);
        let resize = if bytes >= old.size() {
            <&FreeList as Allocator>::grow
        } else {
            <&FreeList as Allocator>::shrink
        };
        // SAFETY: the block was allocated by this list, with the layout `old`.
        let resized = unsafe { resize(&list, block, old, new) }.expect("room");
        assert_eq!((resized.len(), resized.addr().get() % align), (bytes, 0));
        block = resized.cast();
        kept = bytes.min(kept);
        // SAFETY: so many bytes were written before, and moved along.
        let bytes_kept = unsafe { std::slice::from_raw_parts(block.as_ptr(), kept) };
        assert!(bytes_kept.iter().all(|&byte| byte == 7));
        // SAFETY: the block has so many bytes.
        unsafe { block.write_bytes(7, bytes) };
        (kept, old) = (bytes, new);
    }
    // SAFETY: as above, and it is not used again.
    unsafe { list.deallocate(block, old) };
    assert!(is_whole(list));
}

#[test]
fn destructors_may_use_the_list_they_are_freed_to() {
    struct Nested<'a>(&'a FreeList<'a>, Rc<RefCell<Vec<usize>>>);
    impl Drop for Nested<'_> {
        fn drop(&mut self) {
            let mut list = VecIn::new_in(self.0);
            list.extend(0..100_u32);
            self.1.borrow_mut().push(list.len());
        }
    }
    let arena = FrameArena::default();
    let list = FreeList::new_in(64 << 10, &arena);
    let log = Rc::default();
    let mut boxes = [(); 3].map(|()| Some(BoxIn::new_in(Nested(&list, Rc::clone(&log)), &list)));
    boxes[0] = None;
    drop(boxes);
    assert_eq!(log.borrow().len(), 3);
    assert!(is_whole(&list));
}

#[test]
fn what_is_forgotten_stays_used_and_harms_nobody() {
    let mut arena = FrameArena::default();
    for _ in 0..3 {
        let list = FreeList::new_in(10_000, &arena);
        let mut forgotten = VecIn::new_in(&list);
        forgotten.extend(0..100_u8);
        std::mem::forget(forgotten);
        let leaked = BoxIn::leak(BoxIn::new_in(7_u64, &list));
        *leaked += 1;
        assert!(!is_whole(&list));
        let mut others: Vec<_> = (0..10).map(|n| BoxIn::new_in([n; 100], &list)).collect();
        others.truncate(5);
        assert_eq!(*leaked, 8);
        drop(others);
        arena.reset();
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A list of bytes, or of values that need this alignment.
    Make(usize, u8),
    Push(usize, usize),
    Shrink(usize),
    Drop(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..600_usize, any::<u8>()).prop_map(|(len, kind)| Step::Make(len, kind)),
        4 => (any::<usize>(), 0..300_usize).prop_map(|(which, len)| Step::Push(which, len)),
        2 => any::<usize>().prop_map(Step::Shrink),
        4 => any::<usize>().prop_map(Step::Drop),
    ];
    vec(step, 0..if cfg!(miri) { 40 } else { 200 })
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Wide(u8);

/// A list whose elements are all the same number.
enum Block<'a> {
    Bytes(VecIn<u8, &'a FreeList<'a>>, u8),
    Wide(VecIn<Wide, &'a FreeList<'a>>, u8),
}

impl<'a> Block<'a> {
    fn new(list: &'a FreeList<'a>, kind: u8) -> Self {
        match kind % 4 {
            0 => Self::Wide(VecIn::new_in(list), kind),
            _ => Self::Bytes(VecIn::new_in(list), kind),
        }
    }

    fn push(&mut self, len: usize) {
        // The list is small: what does not fit is left out.
        match self {
            Self::Bytes(block, n) => {
                if block.try_reserve_exact(len).is_ok() {
                    block.resize(block.len() + len, *n);
                }
            }
            Self::Wide(block, n) => {
                let len = len / 64;
                if block.try_reserve(len).is_ok() {
                    block.resize(block.len() + len, Wide(*n));
                }
            }
        }
    }

    fn shrink(&mut self) {
        match self {
            Self::Bytes(block, _) => {
                block.truncate(block.len() / 2);
                block.shrink_to_fit();
            }
            Self::Wide(block, _) => {
                block.truncate(block.len() / 2);
                block.shrink_to_fit();
            }
        }
    }

    /// Returns the addresses it has, if any.
    fn range(&self) -> std::ops::Range<usize> {
        let (start, bytes) = match self {
            Self::Bytes(block, _) => (block.as_ptr().addr(), block.capacity()),
            Self::Wide(block, _) => (block.as_ptr().addr(), block.capacity() * 64),
        };
        start..start + bytes
    }

    fn check(&self) {
        match self {
            Self::Bytes(block, n) => assert!(block.iter().all(|byte| byte == n)),
            Self::Wide(block, n) => {
                assert!(block.iter().all(|wide| wide.0 == *n));
                assert_eq!(block.as_ptr().addr() % 64, 0);
            }
        }
    }
}

fn run(steps: &[Step], arena: &FrameArena) {
    let list = FreeList::new_in(8000, arena);
    // What comes behind the list in the arena, and must stay as it is. It leaves no room for growth if
    // there is a limit.
    let behind: Vec<_> = (0..64)
        .map_while(|_| arena.try_alloc([0xEE_u8; 64]).ok())
        .collect();
    let capacity = list.capacity_bytes();
    let mut blocks = Vec::new();
    for step in steps {
        let count = blocks.len().max(1);
        match *step {
            Step::Make(len, kind) => {
                let mut block = Block::new(&list, kind);
                block.push(len);
                blocks.push(block);
            }
            Step::Push(which, len) => {
                if let Some(block) = blocks.get_mut(which % count) {
                    block.push(len);
                }
            }
            Step::Shrink(which) => {
                if let Some(block) = blocks.get_mut(which % count) {
                    block.shrink();
                }
            }
            Step::Drop(which) if !blocks.is_empty() => drop(blocks.swap_remove(which % count)),
            Step::Drop(_) => {}
        }
        blocks.iter().for_each(Block::check);
        let mut ranges: Vec<_> = blocks.iter().map(Block::range).collect();
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| range.start);
        assert!(ranges.is_sorted_by(|a, b| a.end <= b.start), "{ranges:?}");
        let in_blocks: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        assert!(list.capacity_bytes() >= in_blocks);
    }
    blocks.clear();
    assert!(list.capacity_bytes() > capacity || is_whole(&list));
    assert!(behind.iter().all(|bytes| **bytes == [0xEE; 64]));
}

#[test]
fn a_free_list_is_what_the_model_says() {
    let test = |steps: Vec<Step>| {
        run(&steps, &limited_arena(18 << 10));
        run(&steps, &FrameArena::default());
        Ok(())
    };
    TestRunner::new(cases(128))
        .run(&steps(), test)
        .expect("the model holds");
}
