use bevy_frame_arena::FrameArenas;

fn main() {
    let mut arenas = FrameArenas::default();
    let handle = arenas.local().share(String::from("shared"));
    arenas.swap();
    assert_eq!(arenas[handle], "shared");

    let arena = arenas.task_arena();
    let task = std::thread::spawn(move || {
        let handle = arena.share_str("result");
        arena.finish(handle)
    });
    assert_eq!(&*task.join().unwrap(), "result");
}
