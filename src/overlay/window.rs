//! The window: its title, which drags and collapses it, and the blocks below.
#![forbid(unsafe_code)]

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::hierarchy::ChildOf;
use bevy_ecs::name::Name;
use bevy_ecs::observer::On;
use bevy_ecs::query::{With, Without};
use bevy_ecs::resource::Resource;
use bevy_ecs::system::{Commands, Query, Res, ResMut};
use bevy_picking::Pickable;
use bevy_picking::events::{PointerClick, PointerDrag, PointerPress};
use bevy_ui::prelude::{
    AlignItems, BackgroundColor, Display, FlexDirection, GlobalZIndex, JustifyContent, Node,
    PositionType, UiRect, UiScale, Val,
};

use super::block::Block;
use super::config::FrameArenaOverlayConfig;
use super::parts::{BACKGROUND, Builder, FAINT_TEXT, TITLE, WIDTH_EM};
use crate::app::FrameArenaReport;

/// Bevy's FPS overlay is in front of it.
const Z_INDEX: i32 = i32::MAX - 48;

/// A pointer that moved no further than this has clicked.
const CLICK_PIXELS: f32 = 4.0;

const PADDING_EM: f32 = 0.6;

/// Marks the window that [`FrameArenaOverlayPlugin`](crate::FrameArenaOverlayPlugin) opens.
#[derive(Component, Debug)]
pub struct FrameArenaOverlay;

/// What the title drags and collapses.
#[derive(Component)]
pub(super) struct Contents;

#[derive(Component)]
pub(super) struct TitleBar;

/// The blocks of the window, in the order of the report.
#[derive(Component)]
pub(super) struct Blocks(pub(super) Vec<Block>);

/// Where the window is, and whether it is collapsed: kept when it is closed.
#[derive(Resource, Default)]
pub(super) struct WindowState {
    /// How far it was dragged, to the right and down, in pixels of the UI.
    dragged: (f32, f32),
    is_collapsed: bool,
    /// How far the pointer has moved since it was pressed.
    moved: f32,
}

/// Opens the window.
pub(super) fn spawn(
    commands: &mut Commands,
    config: &FrameArenaOverlayConfig,
    report: &FrameArenaReport,
    state: &WindowState,
    worker_places: usize,
) {
    let mut builder = Builder {
        commands,
        font: config.text_config.clone(),
        color: config.text_color,
        em: config.em(),
    };
    let node = Node {
        position_type: PositionType::Absolute,
        right: Val::Px(config.right - state.dragged.0),
        top: Val::Px(config.top + state.dragged.1),
        flex_direction: FlexDirection::Column,
        width: builder.px(WIDTH_EM + 2.0 * PADDING_EM),
        ..Node::default()
    };
    let window = builder.commands.spawn((
        FrameArenaOverlay,
        Name::new("Frame arena overlay"),
        node,
        GlobalZIndex(Z_INDEX),
        BackgroundColor(BACKGROUND),
        Pickable::IGNORE,
    ));
    let window = window.id();
    spawn_title(&mut builder, window);
    let contents = Node {
        display: display(state.is_collapsed),
        flex_direction: FlexDirection::Column,
        padding: UiRect::all(builder.px(PADDING_EM)),
        row_gap: builder.px(0.6),
        ..Node::default()
    };
    let contents = builder.node(window, contents, bevy_color::Color::NONE);
    builder.commands.entity(contents).insert(Contents);
    let blocks = report.iter().enumerate().map(|(index, arenas)| {
        // The frame's come first, and are those that matter most.
        let places = (index == 0).then_some(worker_places);
        Block::spawn(&mut builder, contents, arenas, places)
    });
    let blocks = Blocks(blocks.collect());
    builder.commands.entity(window).insert(blocks);
}

fn spawn_title(builder: &mut Builder, window: Entity) {
    let node = Node {
        justify_content: JustifyContent::SpaceBetween,
        align_items: AlignItems::Center,
        padding: UiRect::axes(builder.px(PADDING_EM), builder.px(0.25)),
        ..Node::default()
    };
    // Not transparent for the pointer, unlike all the rest.
    let title = (
        TitleBar,
        Name::new("Frame arena overlay title"),
        node,
        BackgroundColor(TITLE),
    );
    let title = builder.commands.spawn((title, ChildOf(window))).id();
    builder.caption(title, "Frame memory", builder.color);
    builder.caption(title, "drag, or click to fold", FAINT_TEXT);
}

fn display(is_collapsed: bool) -> Display {
    match is_collapsed {
        true => Display::None,
        false => Display::Flex,
    }
}

/// A new press is no drag yet.
pub(super) fn press_title(
    press: On<PointerPress>,
    titles: Query<(), With<TitleBar>>,
    mut state: ResMut<WindowState>,
) {
    if titles.contains(press.entity) {
        state.moved = 0.0;
    }
}

/// Moves the window with the pointer.
pub(super) fn drag_by_title(
    mut drag: On<PointerDrag>,
    titles: Query<&ChildOf, With<TitleBar>>,
    mut windows: Query<&mut Node, With<FrameArenaOverlay>>,
    config: Res<FrameArenaOverlayConfig>,
    scale: Option<Res<UiScale>>,
    mut state: ResMut<WindowState>,
) {
    let Ok(title) = titles.get(drag.entity) else {
        return;
    };
    drag.propagate(false);
    let delta = drag.delta / scale.map_or(1.0, |scale| scale.0);
    state.moved += delta.length();
    state.dragged.0 += delta.x;
    state.dragged.1 += delta.y;
    if let Ok(mut node) = windows.get_mut(title.parent()) {
        node.right = Val::Px(config.right - state.dragged.0);
        node.top = Val::Px(config.top + state.dragged.1);
    }
}

/// Folds the window to its title, or unfolds it.
pub(super) fn collapse_by_title(
    mut click: On<PointerClick>,
    titles: Query<(), With<TitleBar>>,
    mut contents: Query<&mut Node, (With<Contents>, Without<FrameArenaOverlay>)>,
    mut state: ResMut<WindowState>,
) {
    if !titles.contains(click.entity) {
        return;
    }
    click.propagate(false);
    if state.moved > CLICK_PIXELS {
        return;
    }
    state.is_collapsed = !state.is_collapsed;
    for mut node in &mut contents {
        node.display = display(state.is_collapsed);
    }
}
