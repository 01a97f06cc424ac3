//! Random programs of nested scopes, against a list of what was shared in each.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_frame_arena::{ArenaScope, FrameArena, FrameArenaSettings, FrameHandle};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::test_runner::TestRunner;

use crate::cases;
use crate::common::droppy::Droppy;

#[derive(Clone, Debug)]
enum Step {
    Alloc(usize),
    Share(usize),
    /// A value with a destructor, which panics if told to.
    ShareDroppy(bool),
    /// A list that grows, and is dropped or shared.
    Grow(usize, bool),
    Scope(Vec<Step>),
    Panic,
    Reset,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let leaf = prop_oneof![
        4 => (0..300_usize).prop_map(Step::Alloc),
        4 => (0..300_usize).prop_map(Step::Share),
        3 => (0..8_u8).prop_map(|n| Step::ShareDroppy(n == 0)),
        2 => (0..100_usize, proptest::bool::ANY).prop_map(|(len, share)| Step::Grow(len, share)),
        1 => Just(Step::Panic),
        1 => Just(Step::Reset),
    ];
    let most = if cfg!(miri) { 20 } else { 150 };
    let step = leaf.prop_recursive(4, most, 10, |step| vec(step, 0..10).prop_map(Step::Scope));
    vec(step, 0..30)
}

/// What is behind a handle: so many bytes of a value.
type Shared = (FrameHandle<[u8]>, u8);

#[derive(Default)]
struct World {
    /// By level, from the arena itself on.
    open: Vec<Vec<Shared>>,
    stale: Vec<FrameHandle<[u8]>>,
    droppies: Vec<usize>,
    drops: Arc<AtomicUsize>,
    dropped: usize,
    shared: u8,
}

impl World {
    fn enter(&mut self) {
        self.open.push(Vec::new());
        self.droppies.push(0);
    }

    fn leave(&mut self) {
        let shared = self.open.pop().expect("it was entered");
        self.stale
            .extend(shared.into_iter().map(|(handle, _)| handle));
        self.dropped += self.droppies.pop().expect("it was entered");
    }

    fn step(&mut self, arena: &FrameArena, step: &Step) {
        match *step {
            Step::Alloc(bytes) => arena.alloc_slice_fill_copy(bytes, 0xAA_u8).fill(0xBB),
            Step::Share(bytes) => {
                let handle = arena.share_slice_fill_with(bytes, |_| self.shared);
                self.note(handle);
            }
            Step::ShareDroppy(panics) => {
                arena.share(Droppy(Arc::clone(&self.drops), panics));
                *self.droppies.last_mut().expect("a level") += 1;
            }
            Step::Grow(len, shares) => {
                let mut list = arena.vec();
                for _ in 0..len {
                    list.push(self.shared);
                    if shares {
                        arena.alloc(0xCC_u8);
                    }
                }
                if shares {
                    let handle = list.share();
                    self.note(handle);
                }
            }
            Step::Panic | Step::Reset | Step::Scope(_) => unreachable!("steps of levels"),
        }
    }

    fn note(&mut self, handle: FrameHandle<[u8]>) {
        let value = self.shared;
        self.open.last_mut().expect("a level").push((handle, value));
        self.shared = value.wrapping_add(1);
    }

    fn check(&self, get: impl Fn(FrameHandle<[u8]>) -> Option<Vec<u8>>) {
        for &(handle, value) in self.open.iter().flatten() {
            let bytes = get(handle).expect("what is open resolves");
            assert!(bytes.iter().all(|&byte| byte == value));
        }
        assert!(self.stale.iter().all(|&handle| get(handle).is_none()));
        assert_eq!(self.drops.load(SeqCst), self.dropped);
    }

    fn in_scope(&mut self, mut scope: ArenaScope<'_>, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Scope(steps) => {
                    let used_bytes = scope.used_bytes();
                    self.enter();
                    // Panics of the scope, and of its destructors, end here.
                    contain(|| scope.scope(|inner| self.in_scope(inner, steps)));
                    self.leave();
                    assert_eq!(scope.used_bytes(), used_bytes);
                }
                Step::Panic => panic_quietly(),
                Step::Reset => {}
                step => self.step(&scope, step),
            }
            self.check(|handle| scope.get(handle).map(<[u8]>::to_vec));
        }
    }

    fn run(&mut self, arena: &mut FrameArena, steps: &[Step]) {
        self.enter();
        for step in steps {
            match step {
                Step::Scope(steps) => {
                    let used_bytes = arena.used_bytes();
                    self.enter();
                    contain(|| arena.scope(|scope| self.in_scope(scope, steps)));
                    self.leave();
                    assert_eq!(arena.used_bytes(), used_bytes);
                }
                Step::Panic => {}
                Step::Reset => {
                    contain(|| arena.reset());
                    self.leave();
                    self.enter();
                }
                step => self.step(arena, step),
            }
            self.check(|handle| arena.get(handle).map(<[u8]>::to_vec));
        }
    }
}

/// Without a message for each of thousands.
fn panic_quietly() -> ! {
    resume_unwind(Box::new(()))
}

/// Ends the panics that belong to the program, and no others.
fn contain(work: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(work))
        && !payload.is::<()>()
    {
        resume_unwind(payload);
    }
}

#[test]
fn scopes_are_what_the_model_says() {
    let test = |steps: Vec<Step>| {
        for fill_recycled in [false, true] {
            let mut arena = FrameArena::with_settings(&FrameArenaSettings {
                block_bytes: 256,
                fill_recycled,
                ..Default::default()
            });
            let mut world = World::default();
            world.run(&mut arena, &steps);
            contain(|| drop(arena));
            world.leave();
            assert_eq!(world.drops.load(SeqCst), world.dropped);
        }
        Ok(())
    };
    TestRunner::new(cases(256))
        .run(&steps(), test)
        .expect("the model holds");
}
