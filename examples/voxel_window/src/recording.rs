//! `--record FOLDER`: saves a film of the window as numbered pictures, and exits.

use std::path::PathBuf;
use std::time::Duration;

use bevy::prelude::*;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk};
use bevy::time::TimeUpdateStrategy;

use crate::game::Frame;
use crate::ways::Way;

/// The game's clock ticks as if frames took this long, however long they take to be saved.
const TICK: Duration = Duration::from_millis(25);

/// The film: its first frame, how many frames are between two pictures, and how many pictures.
const FIRST_FRAME: u32 = 200;
const FRAMES_OF_A_PICTURE: u32 = 4;
const PICTURES: u32 = 60;

/// The heap is played for a while in the middle, so that the arenas can be seen to be empty.
const HEAP_PICTURES: std::ops::Range<u32> = 24..36;

pub(crate) struct RecordingPlugin {
    pub(crate) folder: PathBuf,
}

impl Plugin for RecordingPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(TimeUpdateStrategy::ManualDuration(TICK))
            .add_systems(Last, (switch_ways, take_pictures(self.folder.clone())));
    }
}

/// Returns the number of the picture that a frame belongs to.
fn picture_of(frame: &Frame) -> Option<u32> {
    let frame = frame.0.checked_sub(FIRST_FRAME)?;
    Some(frame / FRAMES_OF_A_PICTURE)
}

fn switch_ways(frame: Res<Frame>, mut way: ResMut<Way>) {
    let is_heap = picture_of(&frame).is_some_and(|picture| HEAP_PICTURES.contains(&picture));
    *way = if is_heap { Way::Heap } else { Way::Arena };
}

fn take_pictures(folder: PathBuf) -> impl FnMut(Commands, Res<Frame>) {
    move |mut commands, frame| {
        let Some(picture) = picture_of(&frame).filter(|picture| *picture < PICTURES) else {
            return;
        };
        if !(frame.0 - FIRST_FRAME).is_multiple_of(FRAMES_OF_A_PICTURE) {
            return;
        }
        let mut save = save_to_disk(folder.join(format!("{picture:03}.png")));
        commands.spawn(Screenshot::primary_window()).observe(
            move |captured: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>| {
                save(captured);
                if picture + 1 == PICTURES {
                    exit.write(AppExit::Success);
                }
            },
        );
    }
}
