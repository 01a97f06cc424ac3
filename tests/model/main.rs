//! Random programs, run on the arenas and on a reference in plain `Vec`s.
//!
//! The interpreter is shared with the fuzz target in `fuzz/`.

mod held;
mod interpreter;
mod live;
mod lone;
mod program;
mod reference;
mod shared;
mod tasks;
mod tracked;
mod worker;

use interpreter::run;
use lone::run_alone;
use program::{Method, Policy, Program, SharedKind, Step, TaskStep};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

/// Under Miri a program takes minutes.
const CASES: u32 = if cfg!(miri) { 1 } else { 800 };
const STEPS: usize = if cfg!(miri) { 30 } else { 90 };

#[test]
fn random_programs_agree_with_the_reference() {
    check_programs(run);
}

#[test]
fn an_arena_that_stands_alone_agrees_with_its_reference() {
    check_programs(run_alone);
}

fn check_programs(run: fn(&Program)) {
    let mut config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = CASES;
    }
    if std::env::var_os("PROPTEST_MAX_SHRINK_ITERS").is_none() {
        config.max_shrink_iters = 20_000;
    }
    let result = TestRunner::new(config).run(&program(), |program| {
        run(&program);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

fn program() -> impl Strategy<Value = Program> {
    (policy(), policy(), 1..9_u8).prop_flat_map(|(first, second, workers)| {
        vec(step(workers), 1..STEPS).prop_map(move |steps| Program {
            policies: [first, second],
            steps,
        })
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    select(vec![
        Policy::Default,
        Policy::TinyChunksThatTrim,
        Policy::NoFirstChunk,
        Policy::Fail,
        Policy::Budget,
        Policy::TightBudget,
        Policy::Level,
    ])
}

/// Mostly small, at times up to 1 MiB.
fn bytes() -> impl Strategy<Value = u32> {
    prop_oneof![
        10 => 0..64_u32,
        5 => 0..2000_u32,
        1 => 0..=1_u32 << 20,
    ]
}

fn step(workers: u8) -> impl Strategy<Value = Step> {
    let worker = 0..workers;
    // The second arenas are the rarer, so that the first one's frames are fuller.
    let arenas = prop_oneof![4 => Just(0_u8), 1 => Just(1_u8)];
    let nth = any::<u8>();
    prop_oneof![
        20 => (worker.clone(), arenas.clone(), method(), bytes(), 0..13_u8).prop_map(
            |(worker, arenas, method, bytes, align_shift)| Step::Allocate {
                worker, arenas, method, bytes, align_shift,
            }),
        4 => (worker.clone(), nth).prop_map(|(worker, nth)| Step::Write { worker, nth }),
        12 => (worker.clone(), nth, 0..600_u16)
            .prop_map(|(worker, nth, by)| Step::Grow { worker, nth, by }),
        4 => (worker.clone(), nth, 0..300_u16)
            .prop_map(|(worker, nth, to)| Step::Shrink { worker, nth, to }),
        6 => (worker.clone(), nth).prop_map(|(worker, nth)| Step::Free { worker, nth }),
        14 => (worker.clone(), arenas.clone(), shared_kind(), bytes()).prop_map(
            |(worker, arenas, kind, bytes)| Step::Share { worker, arenas, kind, bytes }),
        14 => (worker.clone(), arenas.clone(), nth)
            .prop_map(|(worker, arenas, nth)| Step::Get { worker, arenas, nth }),
        2 => arenas.clone().prop_map(|arenas| Step::Lease { arenas }),
        3 => (arenas.clone(), nth).prop_map(|(arenas, nth)| Step::LeaseHandle { arenas, nth }),
        4 => (nth, nth).prop_map(|(lease, nth)| Step::GetLeased { lease, nth }),
        4 => nth.prop_map(|lease| Step::EndLease { lease }),
        10 => arenas.clone().prop_map(|arenas| Step::Swap { arenas }),
        3 => arenas.clone().prop_map(|arenas| Step::RecycleParked { arenas }),
        2 => arenas.clone().prop_map(|arenas| Step::Trim { arenas }),
        6 => (worker.clone(), arenas.clone(), bytes(), prop::bool::weighted(0.1)).prop_map(
            |(worker, arenas, bytes, forgets)| Step::Scratch { worker, arenas, bytes, forgets }),
        20 => task_step(workers).prop_map(Step::Task),
        2 => worker.prop_map(|worker| Step::ExitThread { worker }),
        1 => (arenas, policy()).prop_map(|(arenas, policy)| Step::Replace { arenas, policy }),
    ]
}

fn task_step(workers: u8) -> impl Strategy<Value = TaskStep> {
    let nth = any::<u8>();
    prop_oneof![
        6 => nth.prop_map(|nth| TaskStep::Take { nth }),
        8 => (nth, shared_kind(), bytes())
            .prop_map(|(task, kind, bytes)| TaskStep::Work { task, kind, bytes }),
        5 => nth.prop_map(|task| TaskStep::Finish { task }),
        1 => (nth, any::<bool>()).prop_map(|(task, panics)| TaskStep::Abandon { task, panics }),
        3 => (nth, nth).prop_map(|(result, nth)| TaskStep::Get { result, nth }),
        2 => (0..workers, 0..2_u8, nth).prop_map(
            |(worker, arenas, result)| TaskStep::Adopt { worker, arenas, result }),
        2 => nth.prop_map(|result| TaskStep::DropResult { result }),
    ]
}

fn method() -> impl Strategy<Value = Method> {
    select(vec![
        Method::Word,
        Method::WordWith,
        Method::Page,
        Method::Layout,
        Method::Copy,
        Method::FillCopy,
        Method::FillWith,
        Method::FillIter,
        Method::Str,
        Method::Fmt,
        Method::BoxTracked,
        Method::Vec,
        Method::Vec,
        Method::VecTracked,
        Method::Map,
        Method::Text,
    ])
}

fn shared_kind() -> impl Strategy<Value = SharedKind> {
    select(vec![
        SharedKind::Word,
        SharedKind::Box,
        SharedKind::Copy,
        SharedKind::Iter,
        SharedKind::Vec,
        SharedKind::Str,
        SharedKind::Text,
        SharedKind::Tracked,
        SharedKind::TrackedSlice,
        SharedKind::Bomb,
    ])
}
