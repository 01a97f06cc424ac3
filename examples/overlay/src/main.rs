//! Shows the overlay above systems that keep the arenas busy, and lets you break things.
//!
//! `cargo run -p overlay --ignore-rust-version`, with any Rust from 1.95 on. All arguments are optional:
//!
//! | argument | |
//! |---|---|
//! | `--size 640x360` | size of the window; default: 1280x720 |
//! | `--light` | a light game behind the overlay; default: a dark one |
//! | `--workers N` | compute threads; default: 4 |
//! | `--budget MIB` | a budget, against which the bar is drawn; default: none |
//! | `--paces` | arenas for fixed steps, turns and a level as well |
//! | `--details` | the overlay is unfolded |
//! | `--trouble burst,stale,leases` | what goes wrong from the start |
//! | `--screenshot FILE` | runs for a fixed number of frames, saves the window, and exits |
//!
//! The pictures in `docs`, without a screen (Debian: `xvfb xauth mesa-vulkan-drivers imagemagick`):
//!
//! ```sh
//! run() { xvfb-run -a -s '-screen 0 1280x768x24' cargo run -p overlay --ignore-rust-version -- "$@"; }
//! run --budget 8 --paces --trouble burst,stale --screenshot folded.png
//! convert folded.png -crop 350x300+930+0 +repage -scale 200% +dither -colors 32 -strip PNG8:docs/overlay.png
//! run --workers 64 --details --light --screenshot workers.png
//! convert workers.png -crop 350x442+930+0 +repage +dither -colors 32 -strip PNG8:docs/overlay_workers.png
//! ```
#![forbid(unsafe_code)]

mod screenshot;

use std::f32::consts::TAU;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bevy::app::TaskPoolThreadAssignmentPolicy;
use bevy::color::palettes::tailwind;
use bevy::dev_tools::diagnostics_overlay::{DiagnosticsOverlay, DiagnosticsOverlayPlugin};
use bevy::dev_tools::fps_overlay::{FpsOverlayConfig, FpsOverlayPlugin, FrameTimeGraphConfig};
use bevy::dev_tools::render_debug::RenderDebugOverlayPlugin;
use bevy::ecs::batching::BatchingStrategy;
use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy::time::common_conditions::on_timer;
use bevy::window::WindowResolution;
use bevy_frame_arena::{
    ArenasOf, CollectIn, FixedStep, FrameArenaDiagnosticsPlugin, FrameArenaOverlayConfig,
    FrameArenaOverlayPlugin, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenaSettings,
    FrameArenaSubAppPlugin, FrameArenas, FrameHandle, FrameLease,
};

const HELP: &str = "\
A wave of work fills the arenas.

Try it:
  O  show or hide the overlay
  B  a burst: more than a worker may take
  S  look up a handle that is too old
  L  hold leases: generations are parked
  D  the same figures in Bevy's overlay

Drag the window by its title,
click there for more.";

fn main() -> AppExit {
    let number = |name| argument(name).and_then(|it| it.parse::<usize>().ok());
    let workers = number("--workers").unwrap_or(4);
    let (width, height) = size();
    let mut app = App::new();
    app.add_plugins((
        DefaultPlugins
            .set(WindowPlugin {
                primary_window: Some(Window {
                    title: "Frame arenas: overlay".into(),
                    resolution: WindowResolution::new(width, height),
                    ..default()
                }),
                ..default()
            })
            .set(task_pools(workers))
            // It needs `PbrPlugin`, which this example does without.
            .disable::<RenderDebugOverlayPlugin>(),
        FrameArenaPlugin {
            settings: FrameArenaSettings {
                worker_limit_bytes: Some(WORKER_LIMIT_BYTES),
                budget_bytes: number("--budget").map(|mib| mib << 20),
                ..default()
            },
            ..default()
        },
        FrameArenaSubAppPlugin::new(RenderApp),
        // This opens the window.
        FrameArenaOverlayPlugin {
            config: FrameArenaOverlayConfig {
                details: has("--details"),
                // A cell for each of them, for the other pools, and for the main and the render thread.
                worker_places: workers.max(4) + 4,
                ..default()
            },
        },
        // Others that are worth having beside it.
        (
            FpsOverlayPlugin {
                config: FpsOverlayConfig {
                    refresh_interval: Duration::from_millis(500),
                    text_color: tailwind::SLATE_500.into(),
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
    .insert_resource(ClearColor(background().into()))
    .insert_resource(Trouble::from_arguments())
    .add_systems(Startup, set_up)
    .add_systems(
        Update,
        (
            press_keys,
            (think, find_nearest).chain(),
            burst,
            look_back,
            hold_leases,
        ),
    );
    if has("--paces") {
        app.add_plugins((
            FrameArenaPacePlugin::fixed_step(),
            FrameArenaPacePlugin::<Turn>::by_hand(),
            FrameArenaPacePlugin::<Level>::by_hand(),
        ))
        .add_systems(FixedUpdate, step)
        .add_systems(
            Update,
            (plan, ArenasOf::<Turn>::end_period)
                .chain()
                .run_if(on_timer(Duration::from_secs(1))),
        )
        .add_systems(Startup, load);
    }
    screenshot::add_to(&mut app);
    app.run()
}

/// What a worker may take in a frame: enough for all of the work, and not for a burst.
const WORKER_LIMIT_BYTES: usize = 3 << 20;

/// A turn of a game on a board.
struct Turn;

/// A level that does not end.
struct Level;

fn load(arenas: Res<ArenasOf<Level>>) {
    arenas.local().alloc_slice_fill_copy(3 << 20, 1_u8);
}

fn step(arenas: Res<ArenasOf<FixedStep>>) {
    arenas.local().alloc_slice_fill_copy(40 << 10, 1_u8);
}

fn plan(arenas: Res<ArenasOf<Turn>>) {
    arenas.local().alloc_slice_fill_copy(700 << 10, 1_u8);
}

fn size() -> (u32, u32) {
    let size = argument("--size").unwrap_or_default();
    let numbers = size.split_once('x');
    let numbers =
        numbers.and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    numbers.unwrap_or((1280, 720))
}

/// The colour of the game behind the overlay.
fn background() -> Srgba {
    match has("--light") {
        true => tailwind::AMBER_50,
        false => tailwind::SLATE_800,
    }
}

fn has(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
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

fn set_up(mut commands: Commands, window: Single<&Window>) {
    commands.spawn(Camera2d);
    // In a small window, the overlay takes its place.
    if window.width() > 800.0 {
        commands.spawn((
            Text::new(HELP),
            TextFont::from_font_size(15.0),
            TextColor(tailwind::SLATE_500.into()),
            Node {
                position_type: PositionType::Absolute,
                left: px(24),
                top: px(96),
                ..default()
            },
        ));
    }
    commands.spawn_batch((0..16_384).map(|index| {
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
                let items = FrameArenaDiagnosticsPlugin::OVERVIEW
                    .map(Into::into)
                    .to_vec();
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
            let count = (wave * (8.0 + 12.0 * creature.appetite)) as usize;
            let arena = arenas.local();
            let near = arena
                .alloc_slice_fill_with(count, |step| creature.position + Vec2::splat(step as f32));
            std::hint::black_box(near);
        });
}

/// Asks for more than a worker may take. That is an error here, and would be a panic without `try_`.
fn burst(trouble: Res<Trouble>, arenas: Res<FrameArenas>) {
    if trouble.burst {
        let arena = arenas.local();
        let refused = arena.try_alloc_slice_fill_copy(WORKER_LIMIT_BYTES + 1, 1_u8);
        std::hint::black_box(refused.is_err());
    }
}

/// Sorts all creatures by distance, in a list that it drops: the frame's peak is above its use.
fn find_nearest(arenas: Res<FrameArenas>, creatures: Query<&Creature>) {
    let by_distance = creatures
        .iter()
        .map(|creature| (creature.position.length(), creature));
    let mut by_distance = by_distance.collect_in(arenas.local());
    by_distance.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
    std::hint::black_box(by_distance.first());
}

/// Looks up a handle of the first frame, now and then. That is a panic, which only an example catches.
fn look_back(
    trouble: Res<Trouble>,
    arenas: Res<FrameArenas>,
    mut first: Local<Option<FrameHandle<u32>>>,
) {
    let first = *first.get_or_insert_with(|| arenas.local().share(7));
    if trouble.stale && arenas.period() % 32 == 31 {
        let panic = catch_unwind(AssertUnwindSafe(|| arenas[first]));
        std::hint::black_box(panic.is_err());
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
