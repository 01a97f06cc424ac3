//! Saves the window after a fixed number of frames, for the pictures in `docs`.

use std::sync::Barrier;
use std::time::Duration;

use bevy::prelude::*;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk};
use bevy::tasks::ComputeTaskPool;
use bevy::time::TimeUpdateStrategy;
use bevy_frame_arena::FrameArenas;

use super::{argument, background, think};

/// The crest of the wave is in the graph then, and the frame is below it.
const FRAMES: u32 = 140;
const FRAME_TIME: Duration = Duration::from_millis(50);

pub fn add_to(app: &mut App) {
    if let Some(file) = argument("--screenshot") {
        app.insert_resource(TimeUpdateStrategy::ManualDuration(FRAME_TIME))
            .add_systems(Update, take_screenshot(file))
            // All are awake then.
            .add_systems(Update, work_on_all_threads.before(think));
    }
}

/// Has each thread of the pool use its arena, so that there is something to see. On a small machine, a
/// few of many threads would have done all the work before the others wake up.
fn work_on_all_threads(arenas: Res<FrameArenas>) {
    let pool = ComputeTaskPool::get();
    let threads = pool.thread_num();
    let barrier = Barrier::new(threads);
    let work = async |share: usize| {
        // Each waits for all the others, so each has a thread of its own.
        barrier.wait();
        arenas.local().alloc_slice_fill_copy(share << 10, 1_u8);
    };
    pool.scope(|scope| {
        for number in 0..threads {
            scope.spawn(work(64 + number * 37 % 128));
        }
    });
}

fn take_screenshot(file: String) -> impl FnMut(Commands, Local<u32>) {
    move |mut commands, mut frame| {
        *frame += 1;
        if *frame == FRAMES {
            let mut save = save_to_disk(file.clone());
            commands.spawn(Screenshot::primary_window()).observe(
                move |captured: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>| {
                    let shows_something = shows_something(&captured.image);
                    save(captured);
                    exit.write(match shows_something {
                        true => AppExit::Success,
                        false => {
                            error!("there is no overlay in the picture");
                            AppExit::error()
                        }
                    });
                },
            );
        }
    }
}

/// Whether enough of the upper right of the picture is not background.
fn shows_something(picture: &Image) -> bool {
    let background = background().to_u8_array_no_alpha();
    let size = picture.size();
    let corner = (size.x / 2..size.x).flat_map(|x| (0..size.y / 2).map(move |y| (x, y)));
    let is_drawn = |&(x, y): &(u32, u32)| {
        let color = picture.get_color_at(x, y).map(Srgba::from);
        color.is_ok_and(|color| color.to_u8_array_no_alpha() != background)
    };
    corner.filter(is_drawn).count() > 15_000
}
