//! Settings that make no sense: each of them is kept to, and none costs more than an error.

use std::alloc::Layout;

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas, FrameHandle, LivesFor, Pool};

use crate::common::panics::panics;

const MAX: usize = usize::MAX;

/// The largest list, beyond most of the limits.
const MANY: usize = if cfg!(miri) { 300 } else { 20_000 };

const PERIODS: u8 = if cfg!(miri) { 4 } else { 6 };

/// All limits with all budgets, and the other settings in turn.
fn nonsense() -> impl Iterator<Item = FrameArenaSettings> {
    let limits = [0, 1, 7, 8, 9, 63, 64, 100, 4096, MAX - 7, MAX];
    let budgets = [
        0, 1, 64, 127, 128, 129, 191, 256, 1000, 20_000, 500_000, MAX,
    ];
    let pairs = limits
        .into_iter()
        .flat_map(move |limit| budgets.map(|budget| (limit, budget)));
    let pairs = pairs.enumerate().step_by(if cfg!(miri) { 29 } else { 1 });
    pairs.map(|(n, (limit, budget))| {
        let budget_bytes = [Some(budget), None][usize::from(n.is_multiple_of(11))];
        // Without a budget, memory that is touched in advance is memory of the machine.
        let is_small = budget_bytes.is_some_and(|bytes| bytes < 1 << 20);
        FrameArenaSettings {
            block_bytes: [0, 1, 255, 257, 5000, 1 << 20][n % 6].max(if n % 40 == 39 {
                MAX
            } else {
                0
            }),
            worker_limit_bytes: [Some(limit), None][usize::from(n.is_multiple_of(5))],
            budget_bytes,
            trim_after_periods: [None, Some(0), Some(1), Some(17), Some(u32::MAX)][n % 5],
            lives_for: [
                LivesFor::OnePeriod,
                LivesFor::TwoPeriods,
                LivesFor::ThreePeriods,
            ][n % 3],
            pretouch_bytes: if is_small {
                [0, 1, 10_000, MAX][n % 4]
            } else {
                0
            },
            fill_recycled: n.is_multiple_of(2),
        }
    })
}

/// Allocates in many ways. Returns handles with their contents, of what was granted.
#[derive(Clone, Copy)]
#[repr(align(256))]
struct Aligned([u8; 256]);

fn allocate(arena: &FrameArena, seed: u8) -> Vec<(FrameHandle<[u8]>, u8, usize)> {
    let mut granted = Vec::new();
    let mut lives: Vec<(&mut [u8], u8)> = Vec::new();
    for (n, bytes) in (seed..).zip([0, 1, 7, 8, 64, 65, 100, 500 % MANY, 3, MANY / 7, MANY, 1]) {
        if let Ok(live) = arena.try_alloc_slice_fill_copy(bytes, n) {
            lives.push((live, n));
        }
        if let Ok(handle) = arena.try_share_iter((0..bytes).map(|_| n)) {
            granted.push((handle, n, bytes));
        }
        if let Ok(aligned) = arena.try_alloc_slice_fill_copy(bytes / 256, Aligned([n; 256])) {
            assert_eq!(aligned.as_ptr().addr() % 256, 0);
            lives.extend(aligned.iter_mut().map(|it| (&mut it.0[..], n)));
        }
        let mut list = arena.vec();
        let refused = (0..bytes).find_map(|_| list.try_push(n).err());
        assert!(list.iter().all(|byte| *byte == n) && (refused.is_some() || list.len() == bytes));
        drop(list);
        let huge = Layout::from_size_align(isize::MAX as usize - 63, 64).expect("a valid layout");
        assert!(arena.try_alloc_layout(huge).is_err());
        assert!(arena.try_alloc_slice_fill_copy(MAX / 2, [n; 4]).is_err());
    }
    for (live, n) in lives {
        assert!(
            live.iter().all(|byte| *byte == n),
            "two live values share memory"
        );
    }
    granted
}

fn check_limits(arena: &FrameArena, settings: &FrameArenaSettings) {
    assert!(arena.peak_bytes() <= settings.worker_limit_bytes.unwrap_or(MAX));
    assert!(arena.used_bytes() <= arena.held_bytes());
    assert!(arena.held_bytes() <= arena.reserved_bytes());
    assert!(arena.reserved_bytes() <= settings.budget_bytes.unwrap_or(MAX));
}

#[test]
fn settings_that_make_no_sense_are_kept_to_by_all_arenas_of_a_store() {
    for settings in nonsense() {
        let mut arenas = FrameArenas::new(settings.clone());
        let mut pool = Pool::with_store_of(&arenas);
        let mut granted = Vec::new();
        for period in 0..PERIODS {
            granted.push(allocate(arenas.local(), period));
            check_limits(arenas.local(), &settings);
            let scratch = arenas.scratch();
            allocate(&scratch, period);
            check_limits(&scratch, &settings);
            drop(scratch);
            let task = arenas.task_arena();
            allocate(&task, period);
            check_limits(&task, &settings);
            drop(task);
            let collector = arenas.collector();
            let pushed = (0..100)
                .filter(|n| !panics(|| collector.push([*n; 9])))
                .count();
            let mut shared = None;
            if !panics(|| shared = Some(collector.share())) {
                let list = shared.expect("shared without a panic");
                assert_eq!(arenas[list].len(), pushed);
            }
            let keys = (0..50).filter_map(|n| pool.try_insert([n; 9]).ok());
            let keys: Vec<_> = keys.collect();
            assert_eq!(
                keys.iter().filter_map(|key| pool.remove(*key)).count(),
                keys.len()
            );
            let lives = settings.lives_for.periods();
            for (handle, n, bytes) in granted.iter().rev().take(lives).flatten() {
                assert_eq!(arenas[*handle].len(), *bytes, "{settings:?}");
                assert!(arenas[*handle].iter().all(|byte| byte == n));
            }
            for (handle, ..) in granted.iter().rev().skip(lives).flatten() {
                assert_eq!(arenas.get(*handle), None);
            }
            arenas.swap();
            if period == 3 {
                arenas.trim();
            }
            let usage = arenas.usage();
            let sum = usage.held_bytes + usage.kept_bytes + usage.free_bytes;
            assert_eq!(sum, usage.reserved_bytes);
            assert!(usage.reserved_bytes <= settings.budget_bytes.unwrap_or(MAX));
        }
    }
}

#[test]
fn settings_that_make_no_sense_are_kept_to_by_an_arena_of_its_own() {
    for settings in nonsense() {
        let mut arena = FrameArena::with_settings(&settings);
        for round in 0..PERIODS {
            let granted = allocate(&arena, round);
            check_limits(&arena, &settings);
            for (handle, n, bytes) in &granted {
                let found = arena.get(*handle).expect("it was just shared");
                assert!(found.len() == *bytes && found.iter().all(|byte| byte == n));
            }
            if round % 2 == 0 {
                arena.reset();
                assert!(granted.iter().all(|it| arena.get(it.0).is_none()));
                assert_eq!(arena.used_bytes(), 0);
            }
            arena.trim();
        }
    }
}
