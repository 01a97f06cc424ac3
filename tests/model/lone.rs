//! Runs a program on one arena that stands alone.
//!
//! Of the steps, a swap is a reset, a replacement a reset and a trim, a thread that exits sends the
//! arena to another one, and a lease is a trim of an arena in use, which must do nothing. What
//! concerns other arenas and the workers' threads is left out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bevy_frame_arena::FrameArena;

use super::held::{Held, is_limited};
use super::interpreter::assert_apart;
use super::live::Request;
use super::program::{Program, SharedKind, Step};
use super::shared::Shared;
use super::tracked::Log;

/// What has been shared, and between which resets.
struct Record {
    made_after: usize,
    is_bomb: bool,
    shared: Shared,
}

/// Runs a program; panics where the arena does not do what it says.
pub(crate) fn run_alone(program: &Program) {
    let settings = program.policies[0].settings();
    let log = Arc::<Log>::default();
    let mut arena = FrameArena::with_settings(&settings);
    let mut records = Vec::new();
    let mut peak = 0;
    let mut steps = program.steps.iter().copied().zip(0_u8..=255);
    for resets in 0.. {
        let end = frame(
            &arena,
            &log,
            &mut steps,
            &mut records,
            resets,
            is_limited(&settings),
        );
        let watermark = arena.high_watermark_bytes();
        assert!(watermark >= peak.max(arena.used_bytes()), "it never falls");
        peak = watermark;
        match end {
            None => {
                expect_bombs(&records, resets, || drop(arena));
                break;
            }
            Some(Step::ExitThread { .. }) => {
                let moved = std::thread::spawn(move || {
                    // Whoever owns it may use it.
                    let is_usable = arena.try_alloc(1_u8).is_ok();
                    (arena, is_usable)
                });
                let is_usable;
                (arena, is_usable) = moved.join().expect("nothing to panic about");
                assert!(is_usable || is_limited(&settings));
            }
            Some(_) => {}
        }
        let capacity = arena.held_bytes();
        arena.trim();
        assert!(arena.used_bytes() == 0 || arena.held_bytes() == capacity);
        expect_bombs(&records, resets, || arena.reset());
        assert_eq!(arena.used_bytes(), 0);
        assert_drops(&log, &[]);
        if matches!(end, Some(Step::Replace { .. })) {
            arena.trim();
            assert_eq!(arena.held_bytes(), 0);
        }
    }
    assert_drops(&log, &[]);
}

/// Runs the steps up to a reset, which it returns; the arena is borrowed meanwhile.
fn frame(
    arena: &FrameArena,
    log: &Arc<Log>,
    steps: &mut impl Iterator<Item = (Step, u8)>,
    records: &mut Vec<Record>,
    resets: usize,
    limited: bool,
) -> Option<Step> {
    let mut held = Held::new(log);
    let mut end = None;
    for (step, seed) in steps {
        match step {
            Step::Allocate {
                method,
                bytes,
                align_shift,
                ..
            } => {
                let request = Request {
                    arena,
                    log,
                    bytes: bytes as usize % ((1 << 20) + 1),
                    align: 1 << (align_shift % 13),
                    seed,
                };
                held.allocate(method, &request, limited);
            }
            Step::Write { nth, .. } => held.write(nth.into(), seed),
            Step::Grow { nth, by, .. } => held.grow(nth.into(), by.into(), seed, limited),
            Step::Shrink { nth, to, .. } => held.shrink(nth.into(), to.into(), limited),
            Step::Free { nth, .. } => held.free(nth.into()),
            Step::Share { kind, bytes, .. } => {
                let bytes = bytes as usize % ((1 << 20) + 1);
                if let Some(shared) = held.share(arena, kind, bytes, seed, limited) {
                    records.push(Record {
                        made_after: resets,
                        is_bomb: kind == SharedKind::Bomb,
                        shared,
                    });
                }
            }
            Step::Get { nth, .. } if !records.is_empty() => {
                let record = &records[usize::from(nth) % records.len()];
                let Shared {
                    handle, contents, ..
                } = &record.shared;
                assert_eq!(handle.check(contents, arena), record.made_after == resets);
            }
            Step::Swap { .. } | Step::Replace { .. } | Step::ExitThread { .. } => {
                end = Some(step);
                break;
            }
            _ => {}
        }
        let fresh = records.iter().filter(|record| record.made_after == resets);
        let shared = fresh.clone().map(|record| record.shared.range);
        assert_apart(held.ranges().chain(shared).collect());
        let shared = fresh.flat_map(|record| record.shared.contents.tracked().iter().copied());
        assert_drops(log, &held.tracked().chain(shared).collect::<Vec<_>>());
        assert!(arena.used_bytes() <= arena.held_bytes());
    }
    held.end_frame();
    end
}

/// Does something that drops all that was shared since the last reset.
fn expect_bombs(records: &[Record], resets: usize, work: impl FnOnce()) {
    let bombs = records
        .iter()
        .any(|record| record.made_after == resets && record.is_bomb);
    assert_eq!(catch_unwind(AssertUnwindSafe(work)).is_err(), bombs);
}

/// All tracked values but those in use have been dropped, once.
fn assert_drops(log: &Log, in_use: &[usize]) {
    for id in 0..log.len() {
        let expected = u32::from(!in_use.contains(&id));
        assert_eq!(log.drops_of(id), expected, "value {id}");
    }
}
