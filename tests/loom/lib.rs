//! The store of blocks under loom, which runs a test in every order that its threads allow.
//!
//! The files are those of the crate. Only the locks differ: `arena` has loom's, and `planted` one that
//! is wrong on purpose, which loom must find.
#![cfg(test)]
#![expect(clippy::duplicate_mod, reason = "once with each kind of lock")]

#[path = "../../src/settings.rs"]
#[expect(dead_code, reason = "the store reads some of them")]
mod settings;

mod allocator;

#[expect(dead_code, reason = "arenas use the rest")]
mod arena {
    #[path = "../../../src/arena/block.rs"]
    mod block;
    #[path = "../../../src/arena/bump.rs"]
    mod bump;
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
    mod tests;
}

#[expect(dead_code, reason = "arenas use the rest")]
mod planted {
    #[path = "../../../src/arena/block.rs"]
    mod block;
    #[path = "../../../src/arena/bump.rs"]
    mod bump;
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
}
