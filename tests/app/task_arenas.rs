//! Task arenas in Bevy's tasks: apps that exit, tasks that are cancelled, two apps.

use std::sync::mpsc::{Receiver, channel};

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArenaPlugin, FrameArenas, FrameHandle, TaskResult};
use bevy_tasks::futures_lite::future::block_on;
use bevy_tasks::{AsyncComputeTaskPool, Task};

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), FrameArenaPlugin::default()));
    app.finish();
    app.cleanup();
    app
}

fn arenas(app: &App) -> &FrameArenas {
    app.world().resource::<FrameArenas>()
}

/// Begins a task that makes a list as soon as it is told how long it is.
fn begin(app: &App, len: Receiver<u32>) -> Task<TaskResult<[u32]>> {
    let arena = arenas(app).task_arena();
    AsyncComputeTaskPool::get().spawn(async move {
        let len = len.recv().unwrap_or(0);
        let list = arena.share_iter(0..len);
        arena.finish(list)
    })
}

#[test]
fn a_task_outlives_its_app() {
    let mut app = app();
    let (sender, receiver) = channel();
    let task = begin(&app, receiver);
    app.update();
    drop(app);
    sender.send(1000).expect("the task waits");
    let list = block_on(task);
    assert_eq!((list.len(), list[999]), (1000, 999));
}

#[test]
fn a_task_that_is_dropped_with_its_entity_gives_its_memory_back() {
    #[derive(Component)]
    #[expect(dead_code, reason = "it is dropped with its entity")]
    struct Meshing(Task<TaskResult<[u32]>>);

    let mut app = app();
    let (sender, receiver) = channel();
    let task = begin(&app, receiver);
    let entity = app.world_mut().spawn(Meshing(task)).id();
    app.update();
    assert_eq!(arenas(&app).usage().task_arenas, 1);
    app.world_mut().despawn(entity);
    // It may be at work: then it goes on to its end.
    drop(sender);
    loop {
        app.update();
        let usage = arenas(&app).usage();
        if usage.task_arenas + usage.task_results == 0 {
            assert_eq!(usage.task_bytes, 0);
            break;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_result_of_one_app_is_adopted_by_another() {
    let (mut maker, mut reader) = (app(), app());
    let (sender, receiver) = channel();
    sender.send(10).expect("the receiver is there");
    let list = block_on(begin(&maker, receiver));
    maker.update();
    assert_eq!(arenas(&maker).usage().task_results, 1);
    assert_eq!(arenas(&reader).usage().task_results, 0);

    let handle: FrameHandle<[u32]> = arenas(&reader).adopt(list);
    assert_eq!(arenas(&maker).get(handle), None);
    drop(maker);
    reader.update();
    assert_eq!(arenas(&reader)[handle][9], 9);
    reader.update();
    assert_eq!(arenas(&reader).get(handle), None);
}
