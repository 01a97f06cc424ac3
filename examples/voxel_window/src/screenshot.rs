//! `--screenshot FILE`: plays all ways, saves the window, checks it, and exits.

use bevy::prelude::*;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk};

use crate::game::Frame;
use crate::ways::Way;

/// Frames for each way, and for the arenas at the end.
const FRAMES_OF_A_WAY: u32 = 20;
const FRAMES: u32 = 130;

pub(crate) struct ScreenshotPlugin {
    pub(crate) file: String,
}

impl Plugin for ScreenshotPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Last, (play_all_ways, take_screenshot(self.file.clone())));
    }
}

fn play_all_ways(frame: Res<Frame>, mut way: ResMut<Way>) {
    let turn = (frame.0 / FRAMES_OF_A_WAY) as usize;
    *way = Way::ALL.get(turn).copied().unwrap_or(Way::Arena);
}

fn take_screenshot(file: String) -> impl FnMut(Commands, Res<Frame>) {
    move |mut commands, frame| {
        if frame.0 == FRAMES {
            let mut save = save_to_disk(file.clone());
            commands.spawn(Screenshot::primary_window()).observe(
                move |captured: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>| {
                    let shows_ground = shows_ground(&captured.image);
                    save(captured);
                    exit.write(match shows_ground {
                        true => AppExit::Success,
                        false => {
                            error!("the window shows no ground");
                            AppExit::error()
                        }
                    });
                },
            );
        }
    }
}

/// Whether much of the lower part of the picture is not the sky: the ground is green and brown.
fn shows_ground(picture: &Image) -> bool {
    let size = picture.size();
    let pixels = (0..size.x).flat_map(|x| (size.y / 2..size.y).map(move |y| (x, y)));
    let is_ground = |&(x, y): &(u32, u32)| {
        let color = picture.get_color_at(x, y).map(Srgba::from);
        color.is_ok_and(|color| color.green > color.blue)
    };
    pixels.filter(is_ground).count() > (size.x * size.y / 8) as usize
}
