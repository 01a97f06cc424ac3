//! `--record FOLDER`: saves a film of the window as numbered pictures, and exits.
//!
//! The film in `docs`, without a screen (Debian: `xvfb xauth mesa-vulkan-drivers webp`):
//!
//! ```sh
//! xvfb-run -a -s '-screen 0 1280x768x24' cargo run -p voxel_window --ignore-rust-version -- --record FOLDER
//! img2webp -loop 0 -lossy -q 45 -d 100 FOLDER/*.png -o docs/voxel_window.webp
//! ```

use std::path::PathBuf;
use std::time::Duration;

use bevy::prelude::*;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk};
use bevy::time::TimeUpdateStrategy;
use bevy_frame_arena::FrameArenaOverlayConfig;

use crate::game::Frame;

/// The size of the film.
pub(super) const SIZE: (u32, u32) = (800, 450);

/// The game's clock ticks as if frames took this long, however long they take to be saved.
const TICK: Duration = Duration::from_millis(25);

/// The film: its first frame, how many frames are between two pictures, and how many pictures.
const FIRST_FRAME: u32 = 120;
const FRAMES_OF_A_PICTURE: u32 = 4;
const PICTURES: u32 = 60;

/// The pictures from which on keys are pressed: the camera looks around, so that chunks come into view and
/// light up.
const SCRIPT: [(u32, &[KeyCode]); 5] = [
    (6, &[KeyCode::ArrowLeft, KeyCode::KeyD]),
    (18, &[]),
    (21, &[KeyCode::ArrowRight, KeyCode::KeyA]),
    (45, &[]),
    (48, &[KeyCode::ArrowLeft, KeyCode::KeyD]),
];

/// The picture at which the overlay is unfolded.
const UNFOLDED: u32 = 30;

pub(crate) struct RecordingPlugin {
    pub(crate) folder: PathBuf,
}

impl Plugin for RecordingPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(TimeUpdateStrategy::ManualDuration(TICK))
            .add_systems(First, play_script)
            .add_systems(Last, take_pictures(self.folder.clone()));
    }
}

fn play_script(
    frame: Res<Frame>,
    mut keys: ResMut<ButtonInput<KeyCode>>,
    mut overlay: ResMut<FrameArenaOverlayConfig>,
) {
    let Some(picture) = picture_of(&frame) else {
        return;
    };
    let line = SCRIPT.iter().rev().find(|(start, _)| *start <= picture);
    if let Some(&(_, pressed)) = line {
        keys.release_all();
        pressed.iter().for_each(|key| keys.press(*key));
    }
    if picture >= UNFOLDED && !overlay.details {
        overlay.details = true;
    }
}

/// Returns the number of the picture that a frame belongs to.
fn picture_of(frame: &Frame) -> Option<u32> {
    let frame = frame.0.checked_sub(FIRST_FRAME)?;
    Some(frame / FRAMES_OF_A_PICTURE)
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
