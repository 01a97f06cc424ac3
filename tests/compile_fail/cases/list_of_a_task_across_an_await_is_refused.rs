use std::future::ready;

use bevy_frame_arena::FrameArenas;

fn spawn(_task: impl Future + Send + 'static) {}

fn main() {
    let arenas = FrameArenas::default();
    let arena = arenas.task_arena();
    spawn(async move {
        let mut list = arena.vec();
        list.push(1);
        ready(()).await;
        let list = list.share();
        arena.finish(list)
    });
}
