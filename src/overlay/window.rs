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

use super::graph::History;
use super::parts::{BACKGROUND, FAINT_TEXT, Painter, Parts, TITLE, display};
use super::{FrameArenaOverlayConfig, MARGIN, block};
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

/// The parts of the window.
#[derive(Component)]
pub(super) struct Contents {
    /// The title comes first.
    parts: Vec<Entity>,
    /// The number of arenas in the report when the window was opened.
    pub(super) arenas: usize,
}

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

/// Opens the window, without its contents.
pub(super) fn open(
    commands: &mut Commands,
    config: &FrameArenaOverlayConfig,
    state: &WindowState,
    arenas: usize,
) {
    let mut node = Node {
        position_type: PositionType::Absolute,
        flex_direction: FlexDirection::Column,
        max_height: Val::Vh(MAX_HEIGHT_PERCENT),
        border: UiRect::all(Val::Px(1.0)),
        overflow: Overflow::clip(),
        ..Node::default()
    };
    state.place(config, &mut node);
    // Receives pointer events, unlike the rest of the window.
    let title = (Name::new("Frame arena overlay title"), Node::default());
    let mut title = commands.spawn(title);
    title.observe(press).observe(drag).observe(unfold);
    let parts = vec![title.id()];
    let mut window = commands.spawn((
        FrameArenaOverlay,
        Name::new("Frame arena overlay"),
        node,
        GlobalZIndex(Z_INDEX),
        BackgroundColor(BACKGROUND),
        // Sets the window off from a dark game.
        BorderColor::all(FAINT_TEXT),
        Pickable::IGNORE,
    ));
    window
        .add_children(&parts)
        .insert(Contents { parts, arenas });
}

impl Contents {
    /// Returns whether the window was not drawn yet.
    pub(super) fn is_new(&self) -> bool {
        self.parts.len() == 1
    }

    /// Shows the figures of the report, and the details with this many places for workers.
    pub(super) fn draw(
        &mut self,
        window: Entity,
        world: &mut Parts,
        config: &FrameArenaOverlayConfig,
        report: &FrameArenaReport,
        histories: &mut [History],
        worker_places: usize,
    ) {
        let mut painter = Painter {
            world,
            config,
            parts: &mut self.parts,
            count: 0,
            parent: window,
            prefix: "",
        };
        draw_title(&mut painter);
        let contents = Node {
            padding: UiRect::all(painter.px(PADDING_EM)),
            flex_shrink: 1.0,
            min_height: Val::ZERO,
            ..painter.column()
        };
        let mut contents = Some(contents);
        for (arenas, history) in report.iter().zip(histories) {
            painter.prefix = &arenas.prefix;
            // The frame's arenas come first and matter most. Their rows are those of the window, so that the
            // grid of workers can shrink.
            let is_first = contents.is_some();
            let node = contents.take().unwrap_or_else(|| Node {
                margin: UiRect::top(painter.px(0.4)),
                display: display(arenas.is_used()),
                ..painter.column()
            });
            let root = painter.part("", node, Color::NONE);
            let places = (is_first && config.details).then_some(worker_places);
            painter.inside(root, |painter| {
                block::draw(painter, arenas, history, is_first, places);
            });
            if is_first {
                painter.parent = root;
            }
        }
    }
}

fn draw_title(painter: &mut Painter) {
    let node = Node {
        flex_shrink: 0.0,
        justify_content: JustifyContent::SpaceBetween,
        align_items: AlignItems::Center,
        padding: UiRect::axes(painter.px(PADDING_EM), painter.px(0.25)),
        ..Node::default()
    };
    let title = painter.part("title", node, TITLE);
    painter.inside(title, |title| {
        let hint = match title.config.details {
            true => "click for less",
            false => "click for more",
        };
        title.free_text("caption", title.config.text_color, "Frame memory");
        title.free_text("caption", FAINT_TEXT, hint);
    });
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
