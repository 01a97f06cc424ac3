//! Keys: to fly, to change the load, and to change how memory is managed.

use bevy::diagnostic::{DiagnosticsStore, FrameTimeDiagnosticsPlugin};
use bevy::input::InputSystems;
use bevy::prelude::*;
use bevy_frame_arena::FrameArenas;

use crate::game::camera::{View, clip_from_world, path};
use crate::game::terrain::Map;
use crate::game::walkers::{Walker, walker};
use crate::game::{Frame, Load};
use crate::gpu::Gpu;
use crate::ways::Way;
use crate::ways::arena::{Draws, Instances, Labels, Meshes, Near};

const SPEED: f32 = 30.0;
const TURN: f32 = 1.2;
/// Walkers that come and go with a digger.
const CROWD: u32 = 1000;

pub(crate) struct ControlsPlugin;

impl Plugin for ControlsPlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins(FrameTimeDiagnosticsPlugin::default())
            .init_resource::<Eye>()
            .add_systems(Startup, spawn_camera_and_text)
            .add_systems(First, (choose_way, start_way).chain().in_set(ChooseSystems))
            .add_systems(PreUpdate, (fly, change_load).after(InputSystems))
            .add_systems(Update, write_text);
    }
}

/// The choice of a way, in `First`: before all systems that belong to one.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ChooseSystems;

/// Where the camera is, and where it looks.
#[derive(Resource)]
pub(crate) struct Eye {
    is_on_path: bool,
    pub(crate) at: Vec3,
    yaw: f32,
    pitch: f32,
    pub(crate) clip_from_world: Mat4,
}

impl Default for Eye {
    fn default() -> Self {
        Self {
            is_on_path: true,
            at: Vec3::ZERO,
            yaw: 0.0,
            pitch: 0.0,
            clip_from_world: Mat4::IDENTITY,
        }
    }
}

impl Eye {
    fn forward(&self) -> Vec3 {
        let (sin, cos) = self.pitch.sin_cos();
        Vec3::new(self.yaw.sin() * cos, sin, self.yaw.cos() * cos)
    }
}

#[derive(Component)]
struct Status;

fn spawn_camera_and_text(mut commands: Commands) {
    commands.spawn((Camera2d, Msaa::Off));
    commands.spawn((
        Status,
        Name::new("status"),
        Text::default(),
        TextFont::from_font_size(14.0),
        BackgroundColor(Color::BLACK.with_alpha(0.5)),
        Node {
            position_type: PositionType::Absolute,
            right: px(12),
            bottom: px(10),
            padding: UiRect::all(px(8)),
            ..default()
        },
    ));
}

fn choose_way(keys: Res<ButtonInput<KeyCode>>, mut way: ResMut<Way>) {
    let digits = [
        KeyCode::Digit1,
        KeyCode::Digit2,
        KeyCode::Digit3,
        KeyCode::Digit4,
    ];
    for (digit, chosen) in digits.into_iter().zip(Way::ALL) {
        if keys.just_pressed(digit) {
            *way = chosen;
        }
    }
}

/// Tells the renderer where to look. The last frame, which a way hands over in this one, is not its
/// own if it has just begun: then what is on the screen stays there, and old handles are forgotten.
fn start_way(
    way: Res<Way>,
    mut last: Local<Option<Way>>,
    mut gpu: ResMut<Gpu>,
    handles: (
        ResMut<Draws>,
        ResMut<Meshes>,
        ResMut<Instances>,
        ResMut<Labels>,
    ),
    mut neighbours: Query<&mut Near>,
) {
    gpu.clear();
    gpu.is_copying = *way != Way::Arena;
    gpu.is_first = last.replace(*way) != Some(*way);
    if gpu.is_first {
        let (mut draws, mut meshes, mut instances, mut labels) = handles;
        *draws = default();
        *meshes = default();
        *instances = default();
        *labels = default();
        neighbours.iter_mut().for_each(|mut near| *near = default());
    }
}

fn fly(
    keys: Res<ButtonInput<KeyCode>>,
    time: Res<Time>,
    frame: Res<Frame>,
    map: Res<Map>,
    window: Single<&Window>,
    mut eye: ResMut<Eye>,
    mut view: ResMut<View>,
) {
    let axis = |plus: &[KeyCode], minus: &[KeyCode]| {
        let pressed = |keys_of: &[KeyCode]| f32::from(u8::from(keys.any_pressed(keys_of.to_vec())));
        pressed(plus) - pressed(minus)
    };
    let ahead = axis(&[KeyCode::KeyW], &[KeyCode::KeyS]);
    let right = axis(&[KeyCode::KeyD], &[KeyCode::KeyA]);
    let up = axis(&[KeyCode::Space], &[KeyCode::ShiftLeft]);
    let yaw = axis(&[KeyCode::ArrowLeft], &[KeyCode::ArrowRight]);
    let pitch = axis(&[KeyCode::ArrowUp], &[KeyCode::ArrowDown]);
    if keys.just_pressed(KeyCode::KeyP) {
        eye.is_on_path = true;
    } else if [ahead, right, up, yaw, pitch] != [0.0; 5] {
        eye.is_on_path = false;
    }
    if eye.is_on_path {
        let [at, target] = path(frame.0, &map);
        let forward = (target - at).normalize();
        eye.at = at;
        eye.yaw = forward.x.atan2(forward.z);
        eye.pitch = forward.y.asin();
    }
    let seconds = time.delta_secs().min(0.1);
    eye.yaw += yaw * TURN * seconds;
    eye.pitch = (eye.pitch + pitch * TURN * seconds).clamp(-1.5, 1.5);
    let forward = eye.forward();
    let sideways = forward.cross(Vec3::Y).normalize();
    let step = forward * ahead + sideways * right + Vec3::Y * up;
    eye.at += step * SPEED * seconds;
    let aspect = window.width() / window.height().max(1.0);
    let target = eye.at + forward;
    eye.clip_from_world = clip_from_world(eye.at, target, aspect);
    *view = View::new(eye.at, target, aspect);
}

fn change_load(
    keys: Res<ButtonInput<KeyCode>>,
    map: Res<Map>,
    walkers: Query<(Entity, &Walker)>,
    mut load: ResMut<Load>,
    mut commands: Commands,
) {
    if keys.just_pressed(KeyCode::KeyT) {
        load.meshes_in_tasks = !load.meshes_in_tasks;
    }
    if keys.any_just_pressed([KeyCode::Equal, KeyCode::NumpadAdd]) {
        let first = load.walkers;
        load.walkers += CROWD;
        load.diggers += 1;
        for number in first..load.walkers {
            commands.spawn(walker(number, &map));
        }
    }
    if keys.any_just_pressed([KeyCode::Minus, KeyCode::NumpadSubtract]) {
        load.walkers = load.walkers.saturating_sub(CROWD);
        load.diggers = load.diggers.saturating_sub(1);
        for (entity, walker) in &walkers {
            if walker.number >= load.walkers {
                commands.entity(entity).despawn();
            }
        }
    }
}

fn write_text(
    way: Res<Way>,
    load: Res<Load>,
    arenas: Res<FrameArenas>,
    diagnostics: Res<DiagnosticsStore>,
    mut text: Single<&mut Text, With<Status>>,
) {
    let time = diagnostics.get(&FrameTimeDiagnosticsPlugin::FRAME_TIME);
    let time = time.and_then(|time| time.smoothed()).unwrap_or(0.0);
    let (name, description) = (way.name(), way.description());
    let (walkers, diggers) = (load.walkers, load.diggers);
    let meshed = match load.meshes_in_tasks {
        true => format!(
            "meshed in tasks, {} with arenas",
            arenas.usage().task_arenas
        ),
        false => "meshed while the frame waits".to_owned(),
    };
    text.0 = format!(
        "memory (1 2 3 4): {name}, {description}\n\
         load (+ -): {walkers} walkers, {diggers} diggers\n\
         chunks (T): {meshed}\n\
         frame: {time:.1} ms     fly: W A S D, arrows     path: P"
    );
}
