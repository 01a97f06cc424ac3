//! Blocks of tasks, which one thread takes, another works in, and a third gives back.

use super::model::{Spawn, check};

/// A task begins here and ends on another thread, while this one takes blocks itself.
#[test]
fn a_task_gives_its_blocks_back_from_another_thread() {
    check(usize::MAX, |model| {
        let begun = model.take_for_task(8);
        let task = model.spawn(move |model| {
            // It needs a second block, and gives both back.
            for block in [begun, model.take_for_task(8)] {
                model.resume(block).put_back();
            }
        });
        model.take(8).expect("there is no limit").put_back();
        model.look();
        task.join().expect("no panic");
        let memory = model.store.memory();
        assert_eq!(memory.task_bytes, 0);
        assert_eq!(memory.free_bytes, memory.reserved_bytes);
    });
}

#[test]
fn two_results_are_dropped_at_once_and_counted() {
    check(usize::MAX, |model| {
        let results = [8, 200].map(|size| model.take_for_task(size));
        let bytes = model.store.memory().task_bytes;
        assert!(bytes > 0 && bytes == model.store.memory().reserved_bytes);
        let threads = results.map(|block| model.spawn(move |model| model.resume(block).put_back()));
        // While they end: a part of what is reserved, whatever has come back.
        let memory = model.store.memory();
        assert!(memory.task_bytes <= memory.reserved_bytes - memory.free_bytes);
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(model.store.memory().task_bytes, 0);
    });
}

/// The arenas are dropped while a task begins and another ends.
#[test]
fn a_closed_store_keeps_no_block_of_a_task() {
    check(usize::MAX, |model| {
        let begun = model.take_for_task(8);
        let ends = model.spawn(move |model| model.resume(begun).put_back());
        let begins = model.spawn(|model| {
            let block = model.take_for_task(8);
            model.resume(block).put_back();
        });
        model.store.close();
        ends.join().expect("no panic");
        begins.join().expect("no panic");
        let memory = model.store.memory();
        assert_eq!((memory.reserved_bytes, memory.task_bytes), (0, 0));
    });
}
