use std::sync::{Mutex, MutexGuard};

use bevy_frame_arena::FrameArenas;

static LOCK: Mutex<u8> = Mutex::new(1);

fn main() {
    let arenas = FrameArenas::default();
    let arena = arenas.task_arena();
    let guard: MutexGuard<'static, u8> = LOCK.lock().unwrap();
    let handle = arena.share(guard);
    arena.finish(handle);
}
