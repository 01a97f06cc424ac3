//! The parts of the window: rows, texts and bars.
#![forbid(unsafe_code)]

use std::{fmt, mem};

use bevy_color::Color;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use bevy_picking::prelude::*;
use bevy_text::prelude::*;
use bevy_ui::prelude::*;

use super::FrameArenaOverlayConfig;

// Colour-blind people can also tell these colours apart: see the tests of the overlay.

/// Memory in use when the frame ended.
pub(super) const USED: Color = Color::srgb(0.06, 0.45, 0.72);
/// The peak of the frame.
pub(super) const PEAK: Color = Color::srgb(0.96, 0.77, 0.30);
/// Memory taken from the global allocator.
pub(super) const RESERVED: Color = Color::srgb(0.60, 0.63, 0.69);
/// Bars that need attention.
pub(super) const WARNING: Color = Color::srgb(0.80, 0.13, 0.13);
/// Texts about problems.
pub(super) const WARNING_TEXT: Color = Color::srgb(1.0, 0.55, 0.50);
/// Less important texts.
pub(super) const FAINT_TEXT: Color = Color::srgb(0.62, 0.66, 0.72);
/// The empty part of a bar.
pub(super) const TRACK: Color = Color::srgb(0.20, 0.23, 0.28);
/// The background of the window. Opaque, because text over a busy game is hard to read.
pub(super) const BACKGROUND: Color = Color::srgb(0.07, 0.09, 0.12);
/// The background of the title.
pub(super) const TITLE: Color = Color::srgb(0.15, 0.18, 0.24);

/// The width of the window within its padding, in multiples of the font's size.
pub(super) const WIDTH_EM: f32 = 32.0;

/// The height of a line of text.
pub(super) const LINE_EM: f32 = 1.3;

/// The width of a letter, if the font is not much wider than Bevy's own.
pub(super) const LETTER_EM: f32 = 0.6;

/// The number of letters in a line.
pub(super) const LINE_LETTERS: f32 = WIDTH_EM / LETTER_EM;

/// Access to the parts of the window in the world.
#[derive(SystemParam)]
pub(super) struct Parts<'w, 's> {
    pub(super) commands: Commands<'w, 's>,
    nodes: Query<'w, 's, (&'static mut Node, &'static mut BackgroundColor)>,
    texts: Query<'w, 's, &'static mut Text>,
    sizes: Query<'w, 's, &'static ComputedNode>,
}

/// Describes the window: each call spawns the next part, or updates it if it exists.
///
/// A window must have the same parts in the same order at each update; some of them may be hidden. All parts
/// ignore the pointer. Unchanged parts are not marked as changed, because Bevy would lay them out again.
pub(super) struct Painter<'a, 'w, 's> {
    pub(super) world: &'a mut Parts<'w, 's>,
    pub(super) config: &'a FrameArenaOverlayConfig,
    /// All parts below the window, in the order of the calls.
    pub(super) parts: &'a mut Vec<Entity>,
    /// The number of calls so far.
    pub(super) count: usize,
    pub(super) parent: Entity,
    /// The prefix of the arenas that are described, with which the names of parts begin. Tests find parts by
    /// their names: `frame_arena/used`.
    pub(super) prefix: &'a str,
}

impl Painter<'_, '_, '_> {
    pub(super) fn px(&self, ems: f32) -> Val {
        Val::Px(ems * self.config.em())
    }

    /// Returns a node of a fixed size.
    pub(super) fn fixed(&self, width_em: f32, height_em: f32) -> Node {
        Node {
            width: self.px(width_em),
            height: self.px(height_em),
            flex_shrink: 0.0,
            ..Node::default()
        }
    }

    /// Returns a node for parts below each other.
    pub(super) fn column(&self) -> Node {
        Node {
            flex_direction: FlexDirection::Column,
            flex_shrink: 0.0,
            row_gap: self.px(0.2),
            ..Node::default()
        }
    }

    /// Adds a part that may contain others.
    pub(super) fn part(&mut self, name: impl fmt::Display, node: Node, color: Color) -> Entity {
        let color = BackgroundColor(color);
        let known = self.parts.get(self.count).copied();
        self.count += 1;
        if let Some(entity) = known {
            if let Ok((mut shown, mut background)) = self.world.nodes.get_mut(entity) {
                shown.set_if_neq(node);
                background.set_if_neq(color);
            }
            return entity;
        }
        let name = format!("{}/{name}", self.prefix);
        let name = Name::new(name.trim_end_matches('/').to_owned());
        // Only columns of the graph have a border.
        let border = BorderColor::all(PEAK);
        let parent = ChildOf(self.parent);
        let part = (name, node, color, border, Pickable::IGNORE, parent);
        let entity = self.world.commands.spawn(part).id();
        self.parts.push(entity);
        entity
    }

    /// Adds a part with others inside of it.
    pub(super) fn group(
        &mut self,
        name: impl fmt::Display,
        node: Node,
        color: Color,
        contents: impl FnOnce(&mut Self),
    ) -> Entity {
        let part = self.part(name, node, color);
        let parent = mem::replace(&mut self.parent, part);
        contents(self);
        self.parent = parent;
        part
    }

    /// Adds a row of parts side by side.
    pub(super) fn row(&mut self, contents: impl FnOnce(&mut Self)) {
        let node = Node {
            align_items: AlignItems::Center,
            justify_content: JustifyContent::SpaceBetween,
            ..self.fixed(WIDTH_EM, LINE_EM)
        };
        self.group("row", node, Color::NONE, contents);
    }

    /// Adds a text.
    pub(super) fn text(
        &mut self,
        name: impl fmt::Display,
        node: Node,
        color: Color,
        text: impl fmt::Display,
    ) {
        let entity = self.part(name, node, Color::NONE);
        let text = Text::new(text.to_string());
        if let Ok(mut shown) = self.world.texts.get_mut(entity) {
            shown.set_if_neq(text);
            return;
        }
        let font = self.config.text_config.clone();
        let font = font.with_font_size(self.config.em());
        let layout = TextLayout::new(Justify::Left, LineBreak::NoWrap);
        let text = (text, font, TextColor(color), layout);
        // A game may despawn the window with all that it has on the screen.
        self.world.commands.entity(entity).try_insert(text);
    }

    /// Adds a text of at most `letters` letters, or hides it if there is none. Its size does not depend on its
    /// content.
    pub(super) fn line(
        &mut self,
        name: impl fmt::Display,
        letters: f32,
        color: Color,
        text: Option<impl fmt::Display>,
    ) {
        let node = Node {
            overflow: Overflow::clip(),
            display: display(text.is_some()),
            ..self.fixed(letters * LETTER_EM, LINE_EM)
        };
        let text = text.map_or(String::new(), |text| text.to_string());
        self.text(name, node, color, text);
    }

    /// Adds a text that is as wide as its content. At the end of a row, its right end does not move.
    pub(super) fn free_text(&mut self, name: &str, color: Color, text: impl fmt::Display) {
        let node = Node {
            height: self.px(LINE_EM),
            ..Node::default()
        };
        self.text(name, node, color, text);
    }

    /// Adds a filled part of a bar.
    pub(super) fn fill(&mut self, name: impl fmt::Display, percent: f32, color: Color) {
        let node = Node {
            position_type: PositionType::Absolute,
            height: Val::Percent(100.0),
            width: Val::Percent(percent),
            ..Node::default()
        };
        self.part(format_args!("{name}/bar"), node, color);
    }

    /// Adds the track of a bar, with its filled parts.
    pub(super) fn bar(&mut self, width_em: f32, fills: impl FnOnce(&mut Self)) {
        let track = self.fixed(width_em, 0.7);
        self.group("track", track, TRACK, fills);
    }

    /// Returns the height of the next part in the last layout, in logical pixels; `None` before the first one.
    pub(super) fn next_height(&self) -> Option<f32> {
        let node = self.world.sizes.get(*self.parts.get(self.count)?).ok()?;
        let height = node.size().y * node.inverse_scale_factor();
        (height > 0.0).then_some(height)
    }
}

/// Returns whether a part is in the layout.
pub(super) fn display(is_shown: bool) -> Display {
    if is_shown {
        Display::Flex
    } else {
        Display::None
    }
}

/// Returns the percentage, at most 100, or 0 if `whole` is 0.
pub(super) fn percent(part: usize, whole: usize) -> f32 {
    match whole {
        0 => 0.0,
        whole => (part as f32 / whole as f32 * 100.0).min(100.0),
    }
}
