//! Shows the overlay above systems that keep the arenas busy, and lets you break things.
//!
//! `cargo run -p overlay --ignore-rust-version`, with any Rust from 1.95 on. Arguments, all of them
//! optional: `--workers N` threads; `--mib N` for each of them; `--trouble burst,stale,leases` from the start;
//! `--screenshot FILE` runs for a fixed number of frames, saves the window and exits.
#![forbid(unsafe_code)]

mod screenshot;

use std::f32::consts::TAU;
use std::time::Duration;

use bevy::app::TaskPoolThreadAssignmentPolicy;
use bevy::color::palettes::tailwind;
use bevy::dev_tools::diagnostics_overlay::{DiagnosticsOverlay, DiagnosticsOverlayPlugin};
use bevy::dev_tools::fps_overlay::{FpsOverlayConfig, FpsOverlayPlugin, FrameTimeGraphConfig};
use bevy::dev_tools::render_debug::RenderDebugOverlayPlugin;
use bevy::ecs::batching::BatchingStrategy;
use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy::window::WindowResolution;
use bevy_frame_arena::{
    FrameArenaDiagnosticsPlugin, FrameArenaOverlayConfig, FrameArenaOverlayPlugin,
    FrameArenaPlugin, FrameArenaSettings, FrameArenaSubAppPlugin, FrameArenas, FrameHandle,
    FrameLease,
};

const HELP: &str = "\
Each worker has an arena of 1 MiB, and a
wave of work fills them.

Try it:
  O  show or hide the overlay
  B  a burst: one worker takes much more
  S  look up a handle that is too old
  L  hold leases: generations are parked
  D  the same figures in Bevy's overlay

Drag the window by its title,
click there to fold it.";

fn main() -> AppExit {
    let workers = argument("--workers").and_then(|it| it.parse().ok());
    let mib = argument("--mib")
        .and_then(|it| it.parse().ok())
        .unwrap_or(1_usize);
    let mut app = App::new();
    app.add_plugins((
        DefaultPlugins
            .set(WindowPlugin {
                primary_window: Some(Window {
                    title: "Frame arenas: overlay".into(),
                    resolution: WindowResolution::new(1280, 720),
                    ..default()
                }),
                ..default()
            })
            .set(task_pools(workers.unwrap_or(4)))
            // It needs `PbrPlugin`, which this example does without.
            .disable::<RenderDebugOverlayPlugin>(),
        FrameArenaPlugin {
            settings: FrameArenaSettings {
                block_bytes: mib << 20,
                budget_bytes: Some(mib << 28),
                ..default()
            },
            ..default()
        },
        FrameArenaSubAppPlugin::new(RenderApp),
        // This line opens the window.
        FrameArenaOverlayPlugin::default(),
        // Others that are worth having beside it.
        (
            FpsOverlayPlugin {
                config: FpsOverlayConfig {
                    refresh_interval: Duration::from_millis(500),
                    frame_time_graph_config: FrameTimeGraphConfig {
                        enabled: false,
                        ..default()
                    },
                    ..default()
                },
            },
            DiagnosticsOverlayPlugin,
        ),
    ))
    .insert_resource(ClearColor(tailwind::SLATE_800.into()))
    .insert_resource(Trouble::from_arguments())
    .add_systems(Startup, set_up)
    .add_systems(Update, (press_keys, think, burst, look_back, hold_leases));
    screenshot::add_to(&mut app);
    app.run()
}

/// So many compute threads, also on a small machine, so that there is something to see.
fn task_pools(workers: usize) -> TaskPoolPlugin {
    TaskPoolPlugin {
        task_pool_options: TaskPoolOptions {
            min_total_threads: workers + 2,
            compute: TaskPoolThreadAssignmentPolicy {
                min_threads: workers,
                max_threads: workers,
                percent: 1.0,
                on_thread_spawn: None,
                on_thread_destroy: None,
            },
            ..default()
        },
    }
}

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}

/// What goes wrong on purpose.
#[derive(Resource, Default)]
struct Trouble {
    burst: bool,
    stale: bool,
    leases: bool,
}

impl Trouble {
    fn from_arguments() -> Self {
        let trouble = argument("--trouble").unwrap_or_default();
        Self {
            burst: trouble.contains("burst"),
            stale: trouble.contains("stale"),
            leases: trouble.contains("leases"),
        }
    }
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
        Text::new(HELP),
        TextFont::from_font_size(15.0),
        TextColor(tailwind::SLATE_300.into()),
        Node {
            position_type: PositionType::Absolute,
            left: px(24),
            top: px(96),
            ..default()
        },
    ));
    commands.spawn_batch((0..8192).map(|index| {
        let angle = index as f32 * 2.4;
        Creature {
            position: Vec2::from_angle(angle) * (index as f32).sqrt(),
            appetite: (index % 64) as f32 / 64.0,
        }
    }));
}

fn press_keys(
    keys: Res<ButtonInput<KeyCode>>,
    mut config: ResMut<FrameArenaOverlayConfig>,
    mut trouble: ResMut<Trouble>,
    mut commands: Commands,
    bevys: Query<Entity, With<DiagnosticsOverlay>>,
) {
    if keys.just_pressed(KeyCode::KeyO) {
        config.enabled = !config.enabled;
    }
    if keys.just_pressed(KeyCode::KeyB) {
        trouble.burst = !trouble.burst;
    }
    if keys.just_pressed(KeyCode::KeyS) {
        trouble.stale = !trouble.stale;
    }
    if keys.just_pressed(KeyCode::KeyL) {
        trouble.leases = !trouble.leases;
    }
    if keys.just_pressed(KeyCode::KeyD) {
        match bevys.single() {
            Ok(overlay) => commands.entity(overlay).despawn(),
            Err(_) => {
                type Paths = FrameArenaDiagnosticsPlugin;
                let items = [Paths::USED, Paths::PEAK, Paths::RESERVED, Paths::STALE];
                let items = items.map(Into::into).to_vec();
                commands.spawn(DiagnosticsOverlay::new("Frame arenas", items));
            }
        }
    }
}

/// Lists for each creature what is near, in the arena of the worker that thinks for it.
fn think(time: Res<Time>, arenas: Res<FrameArenas>, creatures: Query<&Creature>) {
    let wave = 0.55 + 0.45 * (time.elapsed_secs() / 5.0 * TAU).sin();
    let small_batches = BatchingStrategy::fixed(64);
    creatures
        .par_iter()
        .batching_strategy(small_batches)
        .for_each(|creature| {
            let count = (wave * (16.0 + 24.0 * creature.appetite)) as usize;
            let arena = arenas.local();
            let near = arena
                .alloc_slice_fill_with(count, |step| creature.position + Vec2::splat(step as f32));
            std::hint::black_box(near);
        });
}

/// Takes much more on one worker than it has in other frames.
fn burst(trouble: Res<Trouble>, arenas: Res<FrameArenas>) {
    if trouble.burst {
        for _ in 0..24 {
            arenas.local().alloc_slice_fill_copy(100 << 10, 1_u8);
        }
    }
}

/// Looks up a handle of the first frame, again and again.
fn look_back(
    trouble: Res<Trouble>,
    arenas: Res<FrameArenas>,
    mut first: Local<Option<FrameHandle<u32>>>,
) {
    let first = *first.get_or_insert_with(|| arenas.local().share(7));
    if trouble.stale {
        for _ in 0..100 {
            std::hint::black_box(arenas.get(first));
        }
    }
}

/// Never lets go of the last frames.
fn hold_leases(
    trouble: Res<Trouble>,
    arenas: Res<FrameArenas>,
    mut leases: Local<Vec<FrameLease>>,
) {
    match trouble.leases {
        true if leases.len() < 8 => leases.push(arenas.lease()),
        true => {}
        false => leases.clear(),
    }
}
