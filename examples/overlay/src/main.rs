//! Opens Bevy's diagnostics overlay for the arenas, above systems that keep them busy.
//!
//! `cargo run -p overlay --ignore-rust-version`, with any Rust from 1.95 on. `-- --screenshot FILE`
//! runs for a fixed number of frames, saves the window and exits.
#![forbid(unsafe_code)]

use std::f32::consts::TAU;
use std::time::Duration;

use bevy::app::TaskPoolThreadAssignmentPolicy;
use bevy::color::palettes::tailwind;
use bevy::dev_tools::render_debug::RenderDebugOverlayPlugin;
use bevy::ecs::batching::BatchingStrategy;
use bevy::prelude::*;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk};
use bevy::time::TimeUpdateStrategy;
use bevy::window::WindowResolution;
use bevy_frame_arena::{
    FrameArenaOverlayPlugin, FrameArenaPlugin, FrameArenaSettings, FrameArenas,
};

/// Frames until the screenshot: it is at the crest of the wave then.
const FRAMES: u32 = 128;
const FRAME_TIME: Duration = Duration::from_millis(50);

fn main() -> AppExit {
    let mut app = App::new();
    app.add_plugins((
        DefaultPlugins
            .set(WindowPlugin {
                primary_window: Some(Window {
                    title: "Frame arenas: overlay".into(),
                    resolution: WindowResolution::new(640, 400),
                    ..default()
                }),
                ..default()
            })
            .set(TaskPoolPlugin {
                // Four workers, also on a small machine, so that there is something to see.
                task_pool_options: TaskPoolOptions {
                    min_total_threads: 6,
                    compute: TaskPoolThreadAssignmentPolicy {
                        min_threads: 4,
                        max_threads: 4,
                        percent: 1.0,
                        on_thread_spawn: None,
                        on_thread_destroy: None,
                    },
                    ..default()
                },
            })
            // It needs `PbrPlugin`, which this example does without.
            .disable::<RenderDebugOverlayPlugin>(),
        FrameArenaPlugin {
            settings: FrameArenaSettings {
                worker_capacity_bytes: 1 << 20,
                ..default()
            },
            ..default()
        },
        // This line opens the window.
        FrameArenaOverlayPlugin {
            left: 16.0,
            top: 12.0,
            ..default()
        },
    ))
    .insert_resource(ClearColor(tailwind::SLATE_800.into()))
    .add_systems(Startup, set_up)
    .add_systems(Update, think);
    if let Some(file) = screenshot_file() {
        app.insert_resource(TimeUpdateStrategy::ManualDuration(FRAME_TIME))
            .add_systems(Update, take_screenshot(file));
    }
    app.run()
}

/// A creature that looks for others around it, some of them more thoroughly than others.
#[derive(Component)]
struct Creature {
    position: Vec2,
    appetite: f32,
}

fn set_up(mut commands: Commands) {
    commands.spawn(Camera2d);
    commands.spawn((
        Text::new(
            "Each worker has an arena of 1 MiB.\n\n\
             A wave of work fills them;\n\
             at its crest some overflow into a\n\
             second chunk: their bars turn red.\n\n\
             Drag the window by its title,\n\
             click there to collapse it.",
        ),
        TextFont::from_font_size(13.0),
        TextColor(tailwind::SLATE_300.into()),
        Node {
            position_type: PositionType::Absolute,
            left: px(352),
            top: px(40),
            ..default()
        },
    ));
    commands.spawn_batch((0..4096).map(|index| {
        let angle = index as f32 * 2.4;
        Creature {
            position: Vec2::from_angle(angle) * (index as f32).sqrt(),
            appetite: (index % 64) as f32 / 64.0,
        }
    }));
}

/// Lists for each creature what is near, in the arena of the worker that thinks for it.
fn think(time: Res<Time>, arenas: Res<FrameArenas>, creatures: Query<&Creature>) {
    let wave = 0.55 + 0.45 * (time.elapsed_secs() / 5.0 * TAU).sin();
    let small_batches = BatchingStrategy::fixed(64);
    creatures
        .par_iter()
        .batching_strategy(small_batches)
        .for_each(|creature| {
            let count = (wave * (22.0 + 44.0 * creature.appetite)) as usize;
            let arena = arenas.local();
            let near = arena
                .alloc_slice_fill_with(count, |step| creature.position + Vec2::splat(step as f32));
            std::hint::black_box(near);
        });
}

fn screenshot_file() -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--screenshot");
    arguments.nth(1)
}

fn take_screenshot(file: String) -> impl FnMut(Commands, Local<u32>) {
    move |mut commands, mut frame| {
        *frame += 1;
        if *frame == FRAMES {
            let mut save = save_to_disk(file.clone());
            commands.spawn(Screenshot::primary_window()).observe(
                move |captured: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>| {
                    let shows_bars = shows_bars(&captured.image);
                    save(captured);
                    exit.write(match shows_bars {
                        true => AppExit::Success,
                        false => {
                            error!("the window shows no graph");
                            AppExit::error()
                        }
                    });
                },
            );
        }
    }
}

/// Whether enough of the picture has a colour of the graph and the bars.
fn shows_bars(picture: &Image) -> bool {
    let colors = [tailwind::SKY_600, tailwind::RED_600].map(|color| color.to_u8_array_no_alpha());
    let size = picture.size();
    let pixels = (0..size.x).flat_map(|x| (0..size.y).map(move |y| (x, y)));
    let is_of_a_bar = |&(x, y): &(u32, u32)| {
        let color = picture.get_color_at(x, y).map(Srgba::from);
        color.is_ok_and(|color| colors.contains(&color.to_u8_array_no_alpha()))
    };
    pixels.filter(is_of_a_bar).count() > 1000
}
