//! The figures of all arenas on the screen: the plugin, its settings, and the window.
#![forbid(unsafe_code)]

mod block;
mod graph;
mod parts;
mod workers;

use std::time::Duration;

use bevy_app::{App, Plugin, Update};
use bevy_color::Color;
use bevy_ecs::prelude::*;
use bevy_picking::prelude::*;
use bevy_platform::time::Instant;
use bevy_text::prelude::*;
use bevy_time::{Real, Time};
use bevy_ui::prelude::*;

use self::graph::History;
use self::parts::{BACKGROUND, FAINT_TEXT, Painter, Parts, TITLE, display};
use crate::app::{FrameArenaReport, finds_arenas, is_due};

/// Shows the usage of all arenas on the screen.
///
/// The frame has a block, and so has each other set of arenas in the
/// [`FrameArenaReport`](crate::FrameArenaReport) once it was used. A block shows
/// - the used, peak and reserved memory, as numbers and as a bar. The bar's maximum is the budget. Without
///   a budget it is the highest peak so far, and the bar does not show reserved memory;
/// - the memory held by tasks;
/// - the problems of the last seconds, worst first, and how to fix them.
///
/// A click on the title shows or hides the details: a graph of the last seconds, a cell for each worker
/// and, with the feature `sites`, the lines of code that took the most memory. On a low screen, workers
/// without room share a cell, and the graph shrinks.
///
/// All numbers are those of the frame that ended last, as in
/// [`FrameArenas::usage`](crate::FrameArenas::usage). Numbers marked "in 6 s" are sums. A level that is
/// still running is shown with its figures so far.
///
/// The window is at the upper right, clear of Bevy's FPS overlay, and scales with `UiScale`. If the app
/// has Bevy's picking for the UI (feature `ui_picking`), the title can be dragged and clicked.
/// [`FrameArenaOverlayConfig`] shows and hides the window.
///
/// Requires the feature `overlay`. It is built on `bevy_ui`, and adds no renderer.
///
/// ```
/// use bevy_app::App;
/// use bevy_frame_arena::{FrameArenaOverlay, FrameArenaOverlayPlugin, FrameArenaPlugin};
///
/// let mut app = App::new();
/// // In a game, with `DefaultPlugins`.
/// app.add_plugins((FrameArenaPlugin::default(), FrameArenaOverlayPlugin::default()));
/// app.update();
/// let mut windows = app.world_mut().query::<&FrameArenaOverlay>();
/// assert_eq!(windows.iter(app.world()).count(), 1);
/// ```
#[derive(Default)]
pub struct FrameArenaOverlayPlugin {
    /// The initial appearance of the overlay.
    pub config: FrameArenaOverlayConfig,
}

impl Plugin for FrameArenaOverlayPlugin {
    fn build(&self, app: &mut App) {
        let has_config = resource_exists::<FrameArenaOverlayConfig>;
        let can_draw = has_config.and_then(finds_arenas("FrameArenaOverlayPlugin"));
        app.insert_resource(self.config.clone())
            .add_systems(Update, draw.run_if(can_draw));
    }
}

/// The appearance of the overlay, and whether it is shown. This resource can be changed at any time.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_frame_arena::FrameArenaOverlayConfig;
///
/// fn toggle(mut config: ResMut<FrameArenaOverlayConfig>) {
///     config.enabled = !config.enabled;
/// }
/// ```
#[derive(Resource, Clone, Debug)]
pub struct FrameArenaOverlayConfig {
    /// Whether the window is shown. Default: yes. While it is hidden, only the figures of the last seconds are
    /// recorded.
    pub enabled: bool,
    /// Whether the graph, the workers and the lines of code are shown as well. Default: no. A click on
    /// the title toggles it.
    pub details: bool,
    /// The time between two updates, which is also the time covered by a column of the graph. Default:
    /// 100 ms.
    pub refresh_interval: Duration,
    /// The font. All sizes in the window are multiples of its size, from 1 to 100 logical pixels
    /// ([`FontSize::Px`]). Default: 10 pixels, also for other kinds of sizes.
    pub text_config: TextFont,
    /// The colour of the text.
    pub text_color: Color,
    /// The distance from the right edge of the screen, in logical pixels. It changes when the window is
    /// dragged. Default: 8.
    pub right: f32,
    /// The distance from the upper edge of the screen, in logical pixels, likewise. Default: 8.
    pub top: f32,
    /// The number of cells for workers in the details, four in a row, at most 256. Further workers are
    /// added up in the last cell. Default: one for each core, as Bevy's task pools have together, and four
    /// more.
    pub worker_places: usize,
}

/// Returns the number of cells for the task pools, the main thread, the render thread and others.
fn default_places() -> usize {
    let cores = std::thread::available_parallelism().map_or(4, |cores| cores.get());
    (cores + 4).clamp(8, 68)
}

impl Default for FrameArenaOverlayConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            details: false,
            refresh_interval: Duration::from_millis(100),
            text_config: TextFont::from_font_size(FONT_SIZE),
            text_color: Color::srgb(0.93, 0.94, 0.96),
            right: MARGIN,
            top: MARGIN,
            worker_places: default_places(),
        }
    }
}

const FONT_SIZE: f32 = 10.0;

const MARGIN: f32 = 8.0;

impl FrameArenaOverlayConfig {
    /// Returns the size of the font in logical pixels.
    fn em(&self) -> f32 {
        match self.text_config.font_size {
            // Bevy would draw letters of any size, and take for ever.
            FontSize::Px(pixels) if pixels.is_finite() => pixels.clamp(1.0, 100.0),
            _ => FONT_SIZE,
        }
    }

    /// Positions the window.
    fn place(&self, node: &mut Node) {
        let pixels = |pixels: f32| Val::Px(if pixels.is_finite() { pixels } else { MARGIN });
        node.right = pixels(self.right);
        node.top = pixels(self.top);
    }
}

/// Behind Bevy's FPS overlay.
const Z_INDEX: i32 = i32::MAX - 48;

/// The longest movement of the pointer that still counts as a click.
const CLICK_PIXELS: f32 = 4.0;

/// The maximum height of the window, as a part of the screen.
const MAX_HEIGHT_PERCENT: f32 = 96.0;

const PADDING_EM: f32 = 0.6;

/// Marks the window that [`FrameArenaOverlayPlugin`](crate::FrameArenaOverlayPlugin) opens.
#[derive(Component, Debug, Default)]
pub struct FrameArenaOverlay {
    /// The distance the pointer has moved since it was pressed.
    moved: f32,
}

/// The window while it is open, and the last seconds.
#[derive(Default)]
struct Overlay {
    window: Option<Entity>,
    /// The parts of the window.
    parts: Vec<Entity>,
    /// One for each set of arenas in the report.
    histories: Vec<History>,
    /// The time of the last update.
    last: Option<Instant>,
}

/// Records the figures of each frame, and shows them once per interval. Opens the window anew if the config has
/// changed, as it has at the start, or arenas were added.
fn draw(
    config: Res<FrameArenaOverlayConfig>,
    report: Res<FrameArenaReport>,
    time: Option<Res<Time<Real>>>,
    mut overlay: Local<Overlay>,
    mut world: Parts,
) {
    let overlay = &mut *overlay;
    let arenas = report.iter().count();
    let is_outdated = config.is_changed() || overlay.histories.len() != arenas;
    if is_outdated && let Some(window) = overlay.window.take() {
        world.commands.entity(window).try_despawn();
    }
    overlay.histories.resize_with(arenas, History::default);
    for (arenas, history) in report.iter().zip(&mut overlay.histories) {
        history.note(arenas);
    }
    if !is_due(&mut overlay.last, time.as_deref(), config.refresh_interval) && !is_outdated {
        return;
    }
    overlay.histories.iter_mut().for_each(History::end_slot);
    if !config.enabled {
        return;
    }
    let window = *overlay.window.get_or_insert_with(|| {
        overlay.parts.clear();
        open(&mut world.commands, &config)
    });
    let mut painter = Painter {
        world: &mut world,
        config: &config,
        parts: &mut overlay.parts,
        count: 0,
        parent: window,
        prefix: "",
    };
    draw_title(&mut painter);
    draw_blocks(&mut painter, &report, &mut overlay.histories);
}

/// Describes a block for each set of arenas. The frame's arenas come first and matter most: they have details, and
/// their rows are those of the window, so that the grid of workers can shrink.
fn draw_blocks<'a>(
    painter: &mut Painter<'a, '_, '_>,
    report: &'a FrameArenaReport,
    histories: &mut [History],
) {
    for (index, (arenas, history)) in report.iter().zip(histories).enumerate() {
        let is_first = index == 0;
        let node = match is_first {
            true => Node {
                padding: UiRect::all(painter.px(PADDING_EM)),
                flex_shrink: 1.0,
                min_height: Val::ZERO,
                ..painter.column()
            },
            false => Node {
                margin: UiRect::top(painter.px(0.4)),
                display: display(arenas.is_used()),
                ..painter.column()
            },
        };
        painter.prefix = &arenas.prefix;
        let root = painter.group("", node, Color::NONE, |painter| {
            block::draw(painter, arenas, history, is_first);
        });
        if is_first {
            painter.parent = root;
        }
    }
}

/// Opens the window, without its parts.
fn open(commands: &mut Commands, config: &FrameArenaOverlayConfig) -> Entity {
    let mut node = Node {
        position_type: PositionType::Absolute,
        flex_direction: FlexDirection::Column,
        max_height: Val::Vh(MAX_HEIGHT_PERCENT),
        border: UiRect::all(Val::Px(1.0)),
        overflow: Overflow::clip(),
        ..Node::default()
    };
    config.place(&mut node);
    let window = (
        FrameArenaOverlay::default(),
        Name::new("Frame arena overlay"),
        node,
        GlobalZIndex(Z_INDEX),
        BackgroundColor(BACKGROUND),
        // Sets the window off from a dark game.
        BorderColor::all(FAINT_TEXT),
        Pickable::IGNORE,
    );
    commands.spawn(window).id()
}

fn draw_title(painter: &mut Painter) {
    let node = Node {
        flex_shrink: 0.0,
        justify_content: JustifyContent::SpaceBetween,
        align_items: AlignItems::Center,
        padding: UiRect::axes(painter.px(PADDING_EM), painter.px(0.25)),
        ..Node::default()
    };
    let is_new = painter.parts.is_empty();
    let title = painter.group("title", node, TITLE, |title| {
        let hint = match title.config.details {
            true => "click for less",
            false => "click for more",
        };
        title.free_text("caption", title.config.text_color, "Frame memory");
        title.free_text("caption", FAINT_TEXT, hint);
    });
    if is_new {
        let mut title = painter.world.commands.entity(title);
        // Receives pointer events, unlike the rest of the window.
        title.insert((Name::new("Frame arena overlay title"), Pickable::default()));
        title.observe(press).observe(drag).observe(unfold);
    }
}

/// Resets the distance moved when the title is pressed.
fn press(_: On<PointerPress>, mut windows: Query<&mut FrameArenaOverlay>) {
    windows.iter_mut().for_each(|mut it| it.moved = 0.0);
}

/// Moves the window with the pointer.
fn drag(
    mut drag: On<PointerDrag>,
    mut config: ResMut<FrameArenaOverlayConfig>,
    scale: Option<Res<UiScale>>,
    mut windows: Query<(&mut FrameArenaOverlay, &mut Node)>,
) {
    drag.propagate(false);
    let delta = drag.delta / scale.map_or(1.0, |scale| scale.0);
    // A change would open the window anew.
    let config = config.bypass_change_detection();
    config.right -= delta.x;
    config.top += delta.y;
    for (mut window, mut node) in &mut windows {
        window.moved += delta.length();
        config.place(&mut node);
    }
}

/// Shows or hides the details.
fn unfold(
    mut click: On<PointerClick>,
    windows: Query<&FrameArenaOverlay>,
    mut config: ResMut<FrameArenaOverlayConfig>,
) {
    click.propagate(false);
    if windows.iter().all(|it| it.moved <= CLICK_PIXELS) {
        config.details = !config.details;
    }
}
