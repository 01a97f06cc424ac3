//! Random programs of pushes, foreign allocations and endings, against a plain `Vec`.

use std::mem::MaybeUninit;

use bevy_frame_arena::{Change, FrameArenaSettings, FrameArenas, TwoFrames};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

use crate::{Drops, Tracked};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Pushes to one of the batches.
    Push(usize, u8),
    /// Adds this many to a batch of their own: of a known number, or not.
    Extend(u8, bool),
    /// Pushes without a batch.
    Direct(u8),
    NewBatch,
    NumberedBatch(usize),
    /// Something else of the same worker: a value, or a vector that grows.
    Value(u16),
    Grow(u8),
    Scratch(u16),
}

#[derive(Clone, Copy, Debug)]
enum End {
    Drop,
    Vec,
    Share,
    Sorted,
    Cells(u8),
    CellMap(u8),
    Gather,
    GatherSorted,
    GatherIntoSlots,
    Changes,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (any::<usize>(), any::<u8>()).prop_map(|(batch, n)| Step::Push(batch, n)),
        4 => any::<u8>().prop_map(Step::Direct),
        1 => Just(Step::NewBatch),
        1 => (0..4_usize).prop_map(Step::NumberedBatch),
        1 => (0..3000_u16).prop_map(Step::Value),
        2 => any::<u8>().prop_map(Step::Grow),
        1 => (0..3000_u16).prop_map(Step::Scratch),
    ];
    let extend = || (any::<u8>(), any::<bool>()).prop_map(|(n, exact)| Step::Extend(n, exact));
    prop_oneof![
        1 => vec(extend(), 1..3),
        4 => vec(prop_oneof![12 => step, 1 => extend()], 0..if cfg!(miri) { 20 } else { 300 }),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        1 => Just(End::Drop),
        1 => Just(End::Vec),
        1 => Just(End::Share),
        1 => Just(End::Sorted),
        1 => (1..20_u8).prop_map(End::Cells),
        1 => (1..=255_u8).prop_map(End::CellMap),
        1 => Just(End::Gather),
        1 => Just(End::GatherSorted),
        1 => Just(End::GatherIntoSlots),
        3 => Just(End::Changes),
    ]
}

/// An element that is as large as the program says, with a destructor.
trait Element: PartialEq + Send + Sync + Sized + 'static {
    fn new(n: usize, drops: &Drops) -> Self;
    fn number(&self) -> usize;
}

impl Element for Tracked {
    fn new(n: usize, drops: &Drops) -> Self {
        drops.tracked(n)
    }

    fn number(&self) -> usize {
        self.0
    }
}

#[derive(PartialEq)]
#[repr(align(32))]
struct Large(Tracked, [u8; 200]);

impl Element for Large {
    fn new(n: usize, drops: &Drops) -> Self {
        Self(drops.tracked(n), [n as u8; 200])
    }

    fn number(&self) -> usize {
        assert_eq!(self.1, [self.0.0 as u8; 200]);
        self.0.0
    }
}

#[test]
fn random_programs_agree_with_a_vector() {
    let config = Config {
        cases: if cfg!(miri) { 2 } else { 100 },
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(
            &vec((steps(), end()), 1..if cfg!(miri) { 3 } else { 6 }),
            |frames| {
                run::<Tracked>(&frames);
                run::<Large>(&frames);
                Ok(())
            },
        )
        .unwrap_or_else(|error| panic!("{error}"));
}

fn run<T: Element>(frames: &[(Vec<Step>, End)]) {
    let drops = Drops::default();
    let mut made = 0;
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 1024,
        trim_after_periods: Some(2),
        ..FrameArenaSettings::default()
    });
    // The lists of `End::Changes`, and what the last frame had if it ended so.
    let mut two = TwoFrames::<T>::default();
    let mut before: Vec<usize> = Vec::new();
    for (steps, end) in frames {
        let sorted = run_frame::<T>(&arenas, steps, *end, &drops, &mut made, &mut two);
        if matches!(end, End::Changes) {
            assert_eq!(changes_of(&arenas, &two), differences(&before, &sorted));
            before = sorted;
        } else {
            assert_eq!(changes_of(&arenas, &two), (vec![], vec![]));
            before.clear();
        }
        arenas.swap();
    }
    arenas.swap();
    assert_eq!(drops.count(), made);
}

/// The numbers of what was added, and of what was removed.
type Differences = (Vec<usize>, Vec<usize>);

fn changes_of<T: Element>(arenas: &FrameArenas, two: &TwoFrames<T>) -> Differences {
    let mut found = Differences::default();
    for change in two.changes_by_key(arenas, T::number) {
        match change {
            Change::Added(it) => found.0.push(it.number()),
            Change::Removed(it) => found.1.push(it.number()),
            Change::Changed { .. } => panic!("elements with the same number are equal"),
        }
    }
    found
}

/// What only one of two lists has, by counting.
fn differences(before: &[usize], now: &[usize]) -> Differences {
    let without = |list: &[usize], others: &[usize]| {
        let mut others = others.to_vec();
        let is_left = |n: &usize| match others.iter().position(|other| other == n) {
            Some(place) => {
                others.swap_remove(place);
                false
            }
            None => true,
        };
        list.iter().copied().filter(is_left).collect()
    };
    (without(now, before), without(before, now))
}

/// Returns the numbers of all elements, sorted.
fn run_frame<T: Element>(
    arenas: &FrameArenas,
    steps: &[Step],
    end: End,
    drops: &Drops,
    made: &mut usize,
    two: &mut TwoFrames<T>,
) -> Vec<usize> {
    let collector = arenas.collector::<T>();
    let mut expected = Vec::new();
    let mut batches = Vec::new();
    let mut growing = arenas.local().vec();
    for step in steps {
        let mut element = |n: u8| {
            *made += 1;
            expected.push(usize::from(n));
            T::new(usize::from(n), drops)
        };
        match *step {
            Step::Push(_, n) if batches.is_empty() => collector.push(element(n)),
            Step::Push(batch, n) => {
                let index = batch % batches.len();
                let batch: &mut bevy_frame_arena::Batch<'_, T> = &mut batches[index];
                batch.push(element(n));
            }
            Step::Extend(n, is_exact) => {
                let values = (0..n).rev().map(element);
                if is_exact {
                    collector.batch().extend(values);
                } else {
                    collector.batch().extend(values.filter(|_| true));
                }
            }
            Step::Direct(n) => collector.push(element(n)),
            Step::NewBatch => batches.push(collector.batch()),
            Step::NumberedBatch(order) => batches.push(collector.batch_at(order)),
            Step::Value(bytes) => {
                arenas.local().alloc_slice_fill_copy(bytes.into(), 0xAB_u8);
            }
            Step::Grow(n) => growing.push(n),
            Step::Scratch(bytes) => {
                arenas
                    .scratch()
                    .alloc_slice_fill_copy(bytes.into(), 0xCD_u8);
            }
        }
    }
    drop(batches);
    let sorted = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut numbers: Vec<_> = numbers.collect();
        numbers.sort_unstable();
        numbers
    };
    expected.sort_unstable();
    match end {
        End::Drop => drop(collector),
        End::Vec => {
            let mut list = arenas.local().vec();
            collector.gather_into(&mut list);
            assert_eq!(sorted(&mut list.iter().map(T::number)), expected);
        }
        End::Share => {
            let list = &arenas[collector.share()];
            assert_eq!(sorted(&mut list.iter().map(T::number)), expected);
        }
        End::Sorted => {
            let list = collector.share_sorted_by_key(T::number);
            assert!(
                arenas[list]
                    .iter()
                    .map(T::number)
                    .eq(expected.iter().copied())
            );
        }
        End::Cells(modulus) => {
            let modulus = usize::from(modulus);
            let key = |it: &T| it.number() % modulus;
            let cells = &arenas[collector.share_cells_sorted_by_key(modulus, key, T::number)];
            assert_eq!(cells.len(), modulus);
            for (cell, values) in cells.iter().enumerate() {
                let of_cell = expected.iter().filter(|n| **n % modulus == cell);
                assert!(values.iter().map(T::number).eq(of_cell.copied()));
            }
        }
        End::CellMap(modulus) => {
            let modulus = usize::from(modulus);
            let key = |it: &T| it.number() % modulus;
            let cells = &arenas[collector.share_cell_map(key)];
            for remainder in 0..modulus {
                let of_cell = expected.iter().filter(|n| **n % modulus == remainder);
                let values = sorted(&mut cells[&remainder].iter().map(T::number));
                assert!(values.iter().eq(of_cell));
            }
            let lens = cells.iter().map(|(_, values)| values.len());
            assert_eq!(lens.sum::<usize>(), expected.len());
            assert!(cells.iter().all(|(_, values)| !values.is_empty()));
        }
        End::Gather => {
            let mut list = Vec::new();
            collector.gather_into(&mut list);
            assert_eq!(sorted(&mut list.iter().map(T::number)), expected);
        }
        End::GatherSorted => {
            let mut list = arenas.local().vec();
            collector.gather_sorted_into(&mut list, |a, b| a.number().cmp(&b.number()));
            assert!(list.iter().map(T::number).eq(expected.iter().copied()));
        }
        End::GatherIntoSlots => {
            let mut slots: Vec<_> = (0..expected.len() + 3)
                .map(|_| MaybeUninit::uninit())
                .collect();
            let list = collector.gather_into(&mut slots[..]);
            assert_eq!(sorted(&mut list.iter().map(T::number)), expected);
            slots
                .drain(..expected.len())
                .for_each(crate::drops::drop_filled);
        }
        End::Changes => two.set(collector.share_sorted_by_key(T::number)),
    }
    expected
}
