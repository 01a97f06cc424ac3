//! The protocols between threads under loom, which runs a test in every order that its threads allow.
//!
//! The files are those of the crate. Only the locks and atomics differ: `arena` and `arenas` have loom's, and
//! `planted`, like the planted tests of `arenas`, some that are wrong on purpose, which loom must find.
#![cfg(test)]
#![expect(clippy::duplicate_mod, reason = "once with each kind of lock")]

#[path = "../../src/settings.rs"]
#[expect(dead_code, reason = "the store reads some of them")]
mod settings;

mod allocator;

mod stamp {
    pub(crate) type Stamp = u64;
    pub(crate) const SPARE: u64 = u64::MAX;
}

/// Claims, lists and leases.
mod arenas {
    #[path = "../../../src/arenas/claims.rs"]
    mod claims;
    mod generation;
    #[path = "../../../src/arenas/linked.rs"]
    mod linked;
    #[path = "../../../src/arenas/parking.rs"]
    #[expect(dead_code, reason = "figures use the rest")]
    mod parking;
    mod sync;
    mod tests;
    mod thread;
}

#[expect(dead_code, reason = "arenas use the rest")]
mod arena {
    #[path = "../../../src/arena/block.rs"]
    mod block;
    #[path = "../../../src/arena/bump.rs"]
    mod bump;
    #[path = "../../../src/arena/free.rs"]
    mod free;
    #[path = "../model.rs"]
    mod model;
    #[path = "../silent.rs"]
    mod poison;
    #[path = "../../../src/arena/sizes.rs"]
    mod sizes;
    #[path = "../../../src/arena/store.rs"]
    mod store;
    mod sync {
        pub(super) use loom::sync::atomic::{AtomicU32, AtomicUsize};
        pub(super) use loom::sync::{Mutex, MutexGuard};
    }
    mod tasks;
    mod tests;
}

#[expect(dead_code, reason = "arenas use the rest")]
mod planted {
    #[path = "../../../src/arena/block.rs"]
    mod block;
    #[path = "../../../src/arena/bump.rs"]
    mod bump;
    #[path = "../../../src/arena/free.rs"]
    mod free;
    #[path = "../model.rs"]
    mod model;
    #[path = "../silent.rs"]
    mod poison;
    #[path = "../../../src/arena/sizes.rs"]
    mod sizes;
    #[path = "../../../src/arena/store.rs"]
    mod store;
    mod sync;

    use self::model::Spawn;

    /// The lock excludes others, and does not publish what was written under it.
    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_lock_that_orders_nothing_is_found() {
        model::check(usize::MAX, |model| {
            let other = model.spawn(|model| {
                model.take(8).expect("there is no limit").put_back();
            });
            model.take(8).expect("there is no limit").put_back();
            other.join().expect("no panic");
        });
    }

    /// A task writes to its block on one thread, and the next owner of the block must see that it is over.
    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_block_of_a_task_that_comes_back_without_order_is_found() {
        model::check(usize::MAX, |model| {
            let begun = model.take_for_task(8);
            let task = model.spawn(move |model| model.resume(begun).put_back());
            let other = model.spawn(|model| {
                model.take(8).expect("there is no limit").put_back();
            });
            task.join().expect("no panic");
            other.join().expect("no panic");
        });
    }
}
