//! What threads do to a store.

use loom::thread::JoinHandle;

use super::free::Window;
use super::model::{Spawn, check};

#[test]
fn a_block_that_one_thread_returns_is_taken_by_another() {
    check(usize::MAX, |model| {
        let threads = [8, 100].map(|size| {
            model.spawn(move |model| {
                model.take(size).expect("there is no limit").put_back();
                model.look();
            })
        });
        model.take(8).expect("there is no limit").put_back();
        join(threads);
        let memory = model.store.memory();
        assert_eq!(memory.free_bytes, memory.reserved_bytes);
    });
}

#[test]
fn one_thread_has_two_blocks_while_another_takes_and_returns() {
    check(usize::MAX, |model| {
        let other = model.spawn(|model| {
            for _ in 0..2 {
                model.take(8).expect("there is no limit").put_back();
            }
        });
        let two = [8, 8].map(|size| model.take(size).expect("there is no limit"));
        two.into_iter().for_each(|taken| taken.put_back());
        other.join().expect("no panic");
    });
}

/// The budget has room for one block of 128 bytes.
#[test]
fn a_budget_that_runs_out_refuses_and_has_room_again() {
    check(128, |model| {
        let threads = [(); 2].map(|()| {
            model.spawn(|model| {
                if let Ok(taken) = model.take(8) {
                    model.look();
                    taken.put_back();
                }
            })
        });
        join(threads);
        model.take(8).expect("all have returned theirs").put_back();
    });
}

/// The budget has room for a small block (128 bytes) or a large one (320), not for both.
#[test]
fn a_budget_gives_up_a_free_block_that_another_thread_may_take() {
    check(384, |model| {
        model.take(8).expect("room for one").put_back();
        let small = model.spawn(|model| {
            if let Ok(taken) = model.take(8) {
                taken.put_back();
            }
        });
        let large = model.spawn(|model| {
            if let Ok(taken) = model.take(200) {
                model.look();
                taken.put_back();
            }
        });
        small.join().expect("no panic");
        large.join().expect("no panic");
        model
            .take(200)
            .expect("all have returned theirs")
            .put_back();
    });
}

#[test]
fn a_closed_store_keeps_no_block_whoever_returns_it_when() {
    check(usize::MAX, |model| {
        let threads = [(); 2]
            .map(|()| model.spawn(|model| model.take(8).expect("there is no limit").put_back()));
        model.store.close();
        join(threads);
        let memory = model.store.memory();
        assert_eq!((memory.reserved_bytes, memory.free_bytes), (0, 0));
    });
}

#[test]
fn blocks_are_trimmed_while_others_are_taken_and_returned() {
    check(usize::MAX, |model| {
        model.take(8).expect("there is no limit").put_back();
        let other = model.spawn(|model| {
            model.take(8).expect("there is no limit").put_back();
            model.look();
        });
        for _ in 0..2 {
            model.store.step_trim(Window::of(1));
        }
        model.store.clear();
        other.join().expect("no panic");
    });
}

fn join<const N: usize>(threads: [JoinHandle<()>; N]) {
    for thread in threads {
        thread.join().expect("no panic");
    }
}
