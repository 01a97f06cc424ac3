//! The window: its title, which drags and unfolds it, and the blocks below.
#![forbid(unsafe_code)]

use bevy_color::Color;
use bevy_ecs::prelude::*;
use bevy_picking::Pickable;
use bevy_picking::events::{PointerClick, PointerDrag, PointerPress};
use bevy_ui::prelude::{
    AlignItems, BackgroundColor, BorderColor, FlexDirection, GlobalZIndex, JustifyContent, Node,
    Overflow, PositionType, UiRect, UiScale, Val,
};

use super::block::Block;
use super::parts::{BACKGROUND, Builder, FAINT_TEXT, TITLE};
use super::{FrameArenaOverlayConfig, MARGIN};
use crate::app::FrameArenaReport;

/// Behind Bevy's FPS overlay.
const Z_INDEX: i32 = i32::MAX - 48;

/// The longest movement of the pointer that still counts as a click.
const CLICK_PIXELS: f32 = 4.0;

/// The maximum height of the window, as a part of the screen.
const MAX_HEIGHT_PERCENT: f32 = 96.0;

const PADDING_EM: f32 = 0.6;

/// Marks the window that [`FrameArenaOverlayPlugin`](crate::FrameArenaOverlayPlugin) opens.
#[derive(Component, Debug)]
pub struct FrameArenaOverlay;

/// The blocks of the window, in the order of the report.
#[derive(Component)]
pub(super) struct Blocks(pub(super) Vec<Block>);

/// The position of the window, kept while it is closed.
#[derive(Resource, Default)]
pub(super) struct WindowState {
    /// The distance it was dragged to the right and down, in pixels of the UI.
    dragged: (f32, f32),
    /// The distance the pointer has moved since it was pressed.
    moved: f32,
}

impl WindowState {
    /// Positions the window: by the margins of the config, and the distance it was dragged.
    fn place(&self, config: &FrameArenaOverlayConfig, node: &mut Node) {
        let pixels = |pixels: f32| Val::Px(if pixels.is_finite() { pixels } else { MARGIN });
        node.right = pixels(config.right - self.dragged.0);
        node.top = pixels(config.top + self.dragged.1);
    }
}

/// Opens the window.
pub(super) fn spawn(
    commands: &mut Commands,
    config: &FrameArenaOverlayConfig,
    report: &FrameArenaReport,
    state: &WindowState,
    worker_places: usize,
) {
    let em = config.em();
    let mut builder = Builder {
        commands,
        font: config.text_config.clone().with_font_size(em),
        color: config.text_color,
        em,
        prefix: String::new(),
    };
    let mut node = Node {
        position_type: PositionType::Absolute,
        flex_direction: FlexDirection::Column,
        max_height: Val::Vh(MAX_HEIGHT_PERCENT),
        border: UiRect::all(Val::Px(1.0)),
        overflow: Overflow::clip(),
        ..Node::default()
    };
    state.place(config, &mut node);
    let window = builder.commands.spawn((
        FrameArenaOverlay,
        Name::new("Frame arena overlay"),
        node,
        GlobalZIndex(Z_INDEX),
        BackgroundColor(BACKGROUND),
        // Sets the window off from a dark game.
        BorderColor::all(FAINT_TEXT),
        Pickable::IGNORE,
    ));
    let window = window.id();
    spawn_title(&mut builder, window, config.details);
    let contents = Node {
        padding: UiRect::all(builder.px(PADDING_EM)),
        flex_shrink: 1.0,
        min_height: Val::ZERO,
        ..builder.column()
    };
    let contents = builder.node(window, contents, Color::NONE);
    let blocks = report.iter().enumerate().map(|(index, arenas)| {
        // The frame's arenas come first and matter most.
        let is_first = index == 0;
        let places = (is_first && config.details).then_some(worker_places);
        Block::spawn(&mut builder, contents, arenas, is_first, places)
    });
    let blocks = Blocks(blocks.collect());
    builder.commands.entity(window).insert(blocks);
}

fn spawn_title(builder: &mut Builder, window: Entity, details: bool) {
    let node = Node {
        flex_shrink: 0.0,
        justify_content: JustifyContent::SpaceBetween,
        align_items: AlignItems::Center,
        padding: UiRect::axes(builder.px(PADDING_EM), builder.px(0.25)),
        ..Node::default()
    };
    let name = Name::new("Frame arena overlay title");
    let title = (name, node, BackgroundColor(TITLE), ChildOf(window));
    // Receives pointer events, unlike the rest of the window.
    let mut title = builder.commands.spawn(title);
    title.observe(press).observe(drag).observe(unfold);
    let title = title.id();
    builder.caption(title, "Frame memory", builder.color);
    let hint = match details {
        true => "click for less",
        false => "click for more",
    };
    builder.caption(title, hint, FAINT_TEXT);
}

/// Resets the distance moved when the title is pressed.
fn press(_: On<PointerPress>, mut state: ResMut<WindowState>) {
    state.moved = 0.0;
}

/// Moves the window with the pointer.
fn drag(
    mut drag: On<PointerDrag>,
    config: Res<FrameArenaOverlayConfig>,
    scale: Option<Res<UiScale>>,
    mut state: ResMut<WindowState>,
    mut windows: Query<&mut Node, With<FrameArenaOverlay>>,
) {
    drag.propagate(false);
    let delta = drag.delta / scale.map_or(1.0, |scale| scale.0);
    state.moved += delta.length();
    state.dragged.0 += delta.x;
    state.dragged.1 += delta.y;
    for mut node in &mut windows {
        state.place(&config, &mut node);
    }
}

/// Shows or hides the details.
fn unfold(
    mut click: On<PointerClick>,
    state: Res<WindowState>,
    mut config: ResMut<FrameArenaOverlayConfig>,
) {
    click.propagate(false);
    if state.moved <= CLICK_PIXELS {
        config.details = !config.details;
    }
}
