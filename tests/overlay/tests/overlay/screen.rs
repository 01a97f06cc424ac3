//! A screen that nobody looks at, of 1280 x 720 if not said otherwise.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use bevy_app::{App, Last, TaskPoolPlugin};
use bevy_asset::AssetPlugin;
use bevy_camera::visibility::InheritedVisibility;
use bevy_camera::{Camera, Camera2d, ComputedCameraValues, RenderTargetInfo, Viewport};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{
    ArenaReport, FrameArenaOverlayConfig, FrameArenaOverlayPlugin, FrameArenaPlugin,
    FrameArenaReport, FrameArenaSettings, FrameArenas,
};
use bevy_image::{ImagePlugin, TextureAtlasPlugin};
use bevy_input::InputPlugin;
use bevy_input_focus::InputFocusPlugin;
use bevy_math::{Rect, UVec2};
use bevy_picking::{InteractionPlugin, PickingPlugin};
use bevy_text::TextPlugin;
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use bevy_ui::prelude::{Display, Node, Text, Val};
use bevy_ui::{ComputedNode, UiGlobalTransform, UiPlugin};
use bevy_window::WindowPlugin;

pub const SIZE: UVec2 = UVec2::new(1280, 720);

/// The overlay draws in each frame.
pub const FRAME_TIME: Duration = Duration::from_millis(100);

pub fn app(settings: FrameArenaSettings, config: FrameArenaOverlayConfig) -> App {
    app_on(SIZE, settings, config)
}

pub fn app_on(size: UVec2, settings: FrameArenaSettings, config: FrameArenaOverlayConfig) -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        InputPlugin,
        WindowPlugin::default(),
        AssetPlugin::default(),
        (ImagePlugin::default(), TextureAtlasPlugin),
        TextPlugin,
        InputFocusPlugin,
        PickingPlugin,
        InteractionPlugin,
        UiPlugin,
        FrameArenaPlugin {
            settings,
            ..Default::default()
        },
        FrameArenaOverlayPlugin { config },
    ))
    .insert_resource(TimeUpdateStrategy::ManualDuration(FRAME_TIME))
    // In place of the plugin for it, which wants meshes.
    .add_systems(Last, |mut nodes: Query<&mut InheritedVisibility>| {
        for mut visibility in &mut nodes {
            *visibility = InheritedVisibility::VISIBLE;
        }
    });
    app.world_mut().spawn((
        Camera2d,
        Camera {
            computed: ComputedCameraValues {
                target_info: Some(RenderTargetInfo {
                    physical_size: size,
                    scale_factor: 1.0,
                }),
                ..Default::default()
            },
            viewport: Some(Viewport {
                physical_size: size,
                ..Default::default()
            }),
            ..Default::default()
        },
    ));
    app.finish();
    app
}

/// Allocates on a thread with this name, in blocks.
pub fn allocate(app: &App, thread: &str, blocks: &[usize]) {
    let arenas = app.world().resource::<FrameArenas>();
    thread::scope(|scope| {
        thread::Builder::new()
            .name(thread.into())
            .spawn_scoped(scope, || {
                for &bytes in blocks {
                    arenas.local().alloc_slice_fill_copy(bytes, 0_u8);
                }
            })
            .expect("a thread starts");
    });
}

/// Returns the figures of the frame.
pub fn report(app: &App) -> &ArenaReport {
    let report = app.world().resource::<FrameArenaReport>();
    report.get("frame_arena").expect("the plugin is there")
}

/// The entities that have a name. Kept, for there are many, and they are asked for often.
#[derive(Resource, Default)]
struct Named(HashMap<String, Entity>);

pub fn entity(app: &mut App, name: &str) -> Entity {
    let named = app.world_mut().get_resource_or_init::<Named>();
    let known = named.0.get(name).copied();
    if let Some(entity) = known.filter(|&entity| app.world().get_entity(entity).is_ok()) {
        return entity;
    }
    let mut names = app.world_mut().query::<(Entity, &Name)>();
    let names = names.iter(app.world());
    let named = names.map(|(entity, name)| (name.to_string(), entity));
    let named = named.collect::<HashMap<_, _>>();
    let found = named.get(name).copied();
    app.insert_resource(Named(named));
    found.unwrap_or_else(|| panic!("there is no {name}"))
}

pub fn text(app: &mut App, name: &str) -> String {
    let entity = entity(app, name);
    let text = app.world().get::<Text>(entity);
    text.expect("it is a text").0.clone()
}

/// Returns how much of its track a bar fills.
pub fn percent(app: &mut App, name: &str) -> f32 {
    let entity = entity(app, name);
    match app.world().get::<Node>(entity).map(|node| node.width) {
        Some(Val::Percent(percent)) => percent,
        other => panic!("the width of {name} is {other:?}"),
    }
}

/// Returns whether a part is in the layout.
pub fn is_shown(app: &mut App, name: &str) -> bool {
    let entity = entity(app, name);
    let node = app.world().get::<Node>(entity).expect("it is a node");
    node.display != Display::None
}

/// Returns where a node is on the screen.
pub fn place(app: &App, entity: Entity) -> Rect {
    let node = app.world().get::<ComputedNode>(entity);
    let transform = app.world().get::<UiGlobalTransform>(entity);
    let node = node.expect("it is a node");
    let center = transform.expect("it has a place").translation;
    Rect::from_center_size(center, node.size())
}

/// Returns where all nodes of the window are, by their order.
pub fn places(app: &mut App) -> Vec<(Entity, Rect)> {
    let mut nodes = app
        .world_mut()
        .query_filtered::<Entity, With<ComputedNode>>();
    let mut nodes = nodes.iter(app.world()).collect::<Vec<_>>();
    nodes.sort();
    let place = |entity| (entity, place(app, entity));
    nodes.into_iter().map(place).collect()
}
