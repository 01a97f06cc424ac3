//! Random programs on a pool, against a list of all objects that ever were.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_frame_arena::{FrameArena, FrameArenas, Pool, PoolKey};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::TestRunner;

use crate::cases;
use crate::common::droppy::Droppy;

#[derive(Clone, Debug)]
enum Step {
    Insert(usize),
    /// Of any object that ever was.
    Remove(usize),
    Change(usize),
    Retain(u64),
    Clear,
    Reserve(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1..20_usize).prop_map(Step::Insert),
        12 => any::<usize>().prop_map(Step::Remove),
        4 => any::<usize>().prop_map(Step::Change),
        1 => (1..5_u64).prop_map(Step::Retain),
        1 => Just(Step::Clear),
        1 => (0..100_usize).prop_map(Step::Reserve),
    ];
    vec(step, 0..if cfg!(miri) { 30 } else { 120 })
}

/// A number in a value of some kind.
trait Object: Sized {
    fn new(n: u64, drops: &Arc<AtomicUsize>) -> Self;
    fn number(&mut self) -> &mut u64;
}

/// Large, so that blocks have few slots, with a destructor.
struct Large(
    u64,
    #[expect(dead_code, reason = "its drop is counted")] Droppy,
    #[expect(dead_code, reason = "its size matters")] [u8; 3000],
);

impl Object for Large {
    fn new(n: u64, drops: &Arc<AtomicUsize>) -> Self {
        Self(n, Droppy(Arc::clone(drops), false), [n as u8; 3000])
    }

    fn number(&mut self) -> &mut u64 {
        &mut self.0
    }
}

#[repr(align(128))]
struct Aligned(u64);

impl Object for Aligned {
    fn new(n: u64, _: &Arc<AtomicUsize>) -> Self {
        Self(n)
    }

    fn number(&mut self) -> &mut u64 {
        &mut self.0
    }
}

struct Model<T> {
    pool: Pool<T>,
    drops: Arc<AtomicUsize>,
    /// Each key that was given, with the number of its object while that is in the pool.
    all: Vec<(PoolKey<T>, Option<u64>)>,
    made: u64,
}

impl<T: Object> Model<T> {
    fn step(&mut self, step: Step) {
        match step {
            Step::Insert(count) => {
                for _ in 0..count {
                    self.made += 1;
                    let key = self.pool.insert(T::new(self.made, &self.drops));
                    self.all.push((key, Some(self.made)));
                }
            }
            Step::Remove(which) => {
                let count = self.all.len().max(1);
                if let Some((key, object)) = self.all.get_mut(which % count) {
                    let removed = self.pool.remove(*key);
                    assert_eq!(removed.map(|mut object| *object.number()), object.take());
                }
            }
            Step::Change(which) => {
                let count = self.all.len().max(1);
                if let Some((key, object)) = self.all.get_mut(which % count) {
                    let found = self.pool.get_mut(*key).map(T::number);
                    assert_eq!(found.as_deref(), object.as_ref());
                    if let (Some(found), Some(object)) = (found, object) {
                        self.made += 1;
                        (*found, *object) = (self.made, self.made);
                    }
                }
            }
            Step::Retain(divisor) => {
                self.pool
                    .retain(|_, object| *object.number() % divisor == 0);
                for (_, object) in &mut self.all {
                    *object = object.filter(|n| n % divisor == 0);
                }
            }
            Step::Clear => {
                self.pool.clear();
                self.all.iter_mut().for_each(|(_, object)| *object = None);
            }
            Step::Reserve(additional) => {
                self.pool.try_reserve(additional).expect("memory");
                assert!(self.pool.capacity() - self.pool.len() >= additional);
            }
        }
    }

    fn check(&mut self) {
        let live: HashMap<_, _> = self
            .all
            .iter()
            .filter_map(|&(key, object)| Some((key, object?)))
            .collect();
        assert_eq!(
            (self.pool.len(), self.pool.is_empty()),
            (live.len(), live.is_empty())
        );
        assert!(self.pool.capacity() >= live.len());
        let visited: HashMap<_, _> = self
            .pool
            .iter_mut()
            .map(|(key, object)| (key, *object.number()))
            .collect();
        assert_eq!(visited, live);
        let is_right =
            |&(key, object): &(_, Option<u64>)| self.pool.get(key).is_some() == object.is_some();
        assert!(self.all.iter().all(is_right));
    }
}

fn run<T: Object>(steps: &[Step], pool: Pool<T>, has_drops: bool) {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut model = Model {
        pool,
        drops: Arc::clone(&drops),
        all: Vec::new(),
        made: 0,
    };
    for step in steps {
        model.step(step.clone());
        model.check();
    }
    let made = model.all.len();
    let live = model.pool.len();
    if has_drops {
        assert_eq!(drops.load(SeqCst), made - live);
    }
    drop(model);
    if has_drops {
        assert_eq!(drops.load(SeqCst), made);
    }
}

#[test]
fn a_pool_is_what_the_model_says() {
    let test = |steps: Vec<Step>| {
        run::<Large>(&steps, Pool::new_in(FrameArena::new(1024)), true);
        run::<Aligned>(&steps, Pool::new(), false);
        let arenas = FrameArenas::default();
        run::<Large>(&steps, Pool::with_store_of(&arenas), true);
        run::<Aligned>(&steps, Pool::with_store_of(&arenas), false);
        Ok(())
    };
    TestRunner::new(cases(32))
        .run(&steps(), test)
        .expect("the model holds");
}
