//! Random programs of guards, values, resets, forgotten guards and swaps: nobody's memory is
//! anybody else's, and each shared value is dropped once.

use std::collections::HashSet;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_frame_arena::{FrameArenas, FrameHandle, Scratch};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

use crate::{Tracked, address, small};

/// What is done next; the first number says to which guard.
#[derive(Clone, Copy, Debug)]
enum Step {
    Take,
    /// Shares a list that is filled with the number of the step.
    Fill(usize, u16),
    /// Shares a value with a destructor.
    Share(usize),
    /// Makes a list that comes and goes.
    Grow(usize, u16),
    Reset(usize),
    Drop(usize),
    Forget(usize),
    /// Uses the worker's own arena.
    Frame(u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let guard = any::<usize>;
    let step = prop_oneof![
        3 => Just(Step::Take),
        6 => (guard(), 0..3000_u16).prop_map(|(guard, bytes)| Step::Fill(guard, bytes)),
        2 => guard().prop_map(Step::Share),
        2 => (guard(), 0..500_u16).prop_map(|(guard, len)| Step::Grow(guard, len)),
        1 => guard().prop_map(Step::Reset),
        2 => guard().prop_map(Step::Drop),
        1 => guard().prop_map(Step::Forget),
        1 => (0..3000_u16).prop_map(Step::Frame),
    ];
    vec(step, 0..if cfg!(miri) { 20 } else { 120 })
}

/// A list, and what it is filled with.
type Filled = (FrameHandle<[u8]>, u8);

struct Held<'a> {
    scratch: Scratch<'a>,
    lists: Vec<Filled>,
    values: usize,
}

impl Held<'_> {
    fn has(&self, (handle, _): Filled) -> bool {
        self.scratch.get(handle).is_some()
    }

    fn check(&self) {
        for &(handle, byte) in &self.lists {
            let list = self.scratch.get(handle).expect("its guard lives");
            assert!(list.iter().all(|it| *it == byte));
        }
    }
}

#[derive(Default)]
struct Model<'a> {
    guards: Vec<Held<'a>>,
    /// Lists that no guard has any more.
    gone: Vec<Filled>,
    drops: Arc<AtomicUsize>,
    /// Values that were dropped, and that are in guards that were forgotten.
    dropped: usize,
    forgotten: usize,
}

impl<'a> Model<'a> {
    fn step(&mut self, arenas: &'a FrameArenas, byte: u8, step: Step) {
        match step {
            Step::Take => return self.take(arenas),
            Step::Frame(bytes) => {
                arenas.local().alloc_slice_fill_copy(bytes.into(), 0xEE_u8);
            }
            _ => {}
        }
        let (Step::Fill(guard, _)
        | Step::Share(guard)
        | Step::Grow(guard, _)
        | Step::Reset(guard)
        | Step::Drop(guard)
        | Step::Forget(guard)) = step
        else {
            return;
        };
        let Some(index) = guard.checked_rem(self.guards.len()) else {
            return;
        };
        let held = &mut self.guards[index];
        match step {
            Step::Fill(_, len) => {
                let list = held.scratch.share_iter((0..(len.into())).map(|_| byte));
                held.lists.push((list, byte));
            }
            Step::Share(_) => {
                held.scratch.share(Tracked(Arc::clone(&self.drops)));
                held.values += 1;
            }
            Step::Grow(_, len) => {
                let mut list = held.scratch.vec();
                (0..len).for_each(|n| list.push(n));
                assert!(list.iter().copied().eq(0..len));
            }
            Step::Reset(_) => {
                held.scratch.reset();
                assert_eq!(held.scratch.used_bytes(), 0);
                self.gone.append(&mut held.lists);
                self.dropped += mem::take(&mut held.values);
            }
            Step::Drop(_) => {
                let held = self.guards.swap_remove(index);
                self.gone.extend(held.lists);
                self.dropped += held.values;
            }
            _ => {
                let held = self.guards.swap_remove(index);
                mem::forget(held.scratch);
                self.gone.extend(held.lists);
                self.forgotten += held.values;
            }
        }
    }

    fn take(&mut self, arenas: &'a FrameArenas) {
        let scratch = arenas.scratch();
        assert_eq!(scratch.used_bytes(), 0);
        self.guards.push(Held {
            scratch,
            lists: Vec::new(),
            values: 0,
        });
    }

    fn check(&self) {
        let places: HashSet<_> = self.guards.iter().map(|it| address(&it.scratch)).collect();
        assert_eq!(places.len(), self.guards.len());
        self.guards.iter().for_each(Held::check);
        let is_found = |list: &Filled| self.guards.iter().any(|held| held.has(*list));
        assert!(!self.gone.iter().any(is_found));
        assert_eq!(self.drops.load(SeqCst), self.dropped);
    }
}

#[test]
fn random_programs_mix_no_memory_and_drop_each_value_once() {
    let config = Config {
        cases: if cfg!(miri) { 3 } else { 200 },
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&vec(steps(), 1..5), |frames| {
            let mut arenas = small();
            for steps in &frames {
                let mut model = Model::default();
                for (number, step) in steps.iter().enumerate() {
                    model.step(&arenas, number as u8, *step);
                    model.check();
                }
                let held: usize = model.guards.iter().map(|held| held.values).sum();
                let all = model.dropped + model.forgotten + held;
                let drops = Arc::clone(&model.drops);
                drop(model);
                arenas.swap();
                assert_eq!(drops.load(SeqCst), all);
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}
