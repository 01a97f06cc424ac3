//! The parts of the window: rows, texts and bars, spawned by [`Builder`] and updated by [`Painter`].
#![forbid(unsafe_code)]

use std::fmt::{self, Write};

use bevy_color::Color;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use bevy_picking::Pickable;
use bevy_text::{Justify, LineBreak, TextColor, TextFont, TextLayout};
use bevy_ui::ComputedNode;
use bevy_ui::prelude::{
    AlignItems, BackgroundColor, Display, FlexDirection, JustifyContent, Node, Overflow,
    PositionType, Text, Val,
};

// Colour-blind people can also tell these colours apart: see the tests of this file.

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

/// Spawns parts of the window, all of which ignore the pointer.
pub(super) struct Builder<'a, 'w, 's> {
    pub(super) commands: &'a mut Commands<'w, 's>,
    pub(super) font: TextFont,
    pub(super) color: Color,
    /// The size of the font, of which all other sizes are multiples.
    pub(super) em: f32,
    /// The prefix of the arenas whose block is being spawned.
    pub(super) prefix: String,
}

impl Builder<'_, '_, '_> {
    pub(super) fn px(&self, ems: f32) -> Val {
        Val::Px(ems * self.em)
    }

    pub(super) fn node(&mut self, parent: Entity, node: Node, color: Color) -> Entity {
        let color = BackgroundColor(color);
        let parts = (node, color, Pickable::IGNORE, ChildOf(parent));
        self.commands.spawn(parts).id()
    }

    /// Spawns a node with a name, by which tests find it: `frame_arena/used`.
    pub(super) fn named(&mut self, parent: Entity, name: &str, node: Node, color: Color) -> Entity {
        let entity = self.node(parent, node, color);
        let name = Name::new(format!("{}/{name}", self.prefix));
        self.commands.entity(entity).insert(name);
        entity
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

    /// Spawns a row for parts side by side.
    pub(super) fn row(&mut self, parent: Entity, height_em: f32) -> Entity {
        let node = Node {
            align_items: AlignItems::Center,
            justify_content: JustifyContent::SpaceBetween,
            ..self.fixed(WIDTH_EM, height_em)
        };
        self.node(parent, node, Color::NONE)
    }

    /// Spawns a text of at most `letters` letters. Its size does not depend on its content.
    pub(super) fn text(
        &mut self,
        parent: Entity,
        name: &str,
        letters: f32,
        color: Color,
    ) -> Entity {
        let node = Node {
            overflow: Overflow::clip(),
            ..self.fixed(letters * LETTER_EM, LINE_EM)
        };
        let entity = self.named(parent, name, node, Color::NONE);
        let text = (
            Text::default(),
            self.font.clone(),
            TextColor(color),
            TextLayout::new(Justify::Left, LineBreak::NoWrap),
        );
        self.commands.entity(entity).insert(text);
        entity
    }

    /// Spawns a text that is as wide as its content. At the end of a row, its right end does not move.
    pub(super) fn free_text(&mut self, row: Entity, name: &str, color: Color) -> Entity {
        let entity = self.text(row, name, 0.0, color);
        let node = Node {
            height: self.px(LINE_EM),
            ..Node::default()
        };
        self.commands.entity(entity).insert(node);
        entity
    }

    /// Spawns a text that never changes.
    pub(super) fn caption(&mut self, parent: Entity, text: &str, color: Color) {
        let entity = self.free_text(parent, "caption", color);
        self.commands.entity(entity).insert(Text::new(text));
    }

    /// Spawns the track of a bar.
    pub(super) fn track(&mut self, row: Entity, width_em: f32) -> Entity {
        let node = self.fixed(width_em, 0.7);
        self.node(row, node, TRACK)
    }

    /// Spawns a filled part of a bar.
    pub(super) fn fill(&mut self, track: Entity, name: &str, color: Color) -> Entity {
        let node = Node {
            position_type: PositionType::Absolute,
            height: Val::Percent(100.0),
            width: Val::Percent(0.0),
            ..Node::default()
        };
        self.named(track, &format!("{name}/bar"), node, color)
    }
}

/// Sets texts, lengths and colours. Unchanged parts are not marked as changed, because Bevy would lay
/// them out again.
#[derive(SystemParam)]
pub(super) struct Painter<'w, 's> {
    texts: Query<'w, 's, &'static mut Text>,
    nodes: Query<'w, 's, (&'static mut Node, &'static mut BackgroundColor)>,
    places: Query<'w, 's, &'static ComputedNode>,
    buffer: Local<'s, String>,
}

impl Painter<'_, '_> {
    pub(super) fn text(&mut self, entity: Entity, text: impl fmt::Display) {
        self.buffer.clear();
        if write!(self.buffer, "{text}").is_ok()
            && let Ok(mut shown) = self.texts.get_mut(entity)
            && shown.0 != *self.buffer
        {
            shown.0.clone_from(&self.buffer);
        }
    }

    pub(super) fn width(&mut self, entity: Entity, percent: f32) {
        self.set(entity, Val::Percent(percent), |node| &mut node.width);
    }

    pub(super) fn height(&mut self, entity: Entity, percent: f32) {
        self.set(entity, Val::Percent(percent), |node| &mut node.height);
    }

    /// Shows a part or removes it from the layout.
    pub(super) fn show(&mut self, entity: Entity, is_shown: bool) {
        let display = if is_shown {
            Display::Flex
        } else {
            Display::None
        };
        self.set(entity, display, |node| &mut node.display);
    }

    pub(super) fn color(&mut self, entity: Entity, color: Color) {
        if let Ok((_, mut shown)) = self.nodes.get_mut(entity) {
            shown.set_if_neq(BackgroundColor(color));
        }
    }

    /// Returns the height of a part in the last layout, in logical pixels; `None` before the first one.
    pub(super) fn height_of(&self, entity: Entity) -> Option<f32> {
        let node = self.places.get(entity).ok()?;
        let height = node.size().y * node.inverse_scale_factor();
        (height > 0.0).then_some(height)
    }

    fn set<T: PartialEq>(&mut self, entity: Entity, value: T, field: fn(&mut Node) -> &mut T) {
        if let Ok((mut node, _)) = self.nodes.get_mut(entity)
            && *field(node.bypass_change_detection()) != value
        {
            *field(&mut node) = value;
        }
    }
}

/// Returns the percentage, at most 100, or 0 if `whole` is 0.
pub(super) fn percent(part: usize, whole: usize) -> f32 {
    match whole {
        0 => 0.0,
        whole => (part as f32 / whole as f32 * 100.0).min(100.0),
    }
}

#[cfg(test)]
mod tests {
    use bevy_color::ColorToComponents;

    use super::*;

    /// Colour vision as matrices in linear RGB: normal vision, then vision without one of the three kinds
    /// of cones (Machado, Oliveira and Fernandes 2009).
    const EYES: [[f32; 9]; 4] = [
        [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        [
            0.152, 1.053, -0.205, 0.115, 0.786, 0.099, -0.004, -0.048, 1.052,
        ],
        [
            0.367, 0.861, -0.228, 0.280, 0.673, 0.047, -0.012, 0.043, 0.969,
        ],
        [
            1.256, -0.077, -0.179, -0.078, 0.931, 0.148, 0.005, 0.691, 0.304,
        ],
    ];

    fn seen(color: Color, eyes: &[f32; 9]) -> [f32; 3] {
        let linear = color.to_linear().to_f32_array_no_alpha();
        let [red, green, blue] = [0, 3, 6].map(|row| {
            let light = eyes[row..].iter().zip(linear);
            let light = light.map(|(part, light)| part * light).sum::<f32>();
            light.clamp(0.0, 1.0)
        });
        let seen = Color::linear_rgb(red, green, blue);
        seen.to_srgba().to_f32_array_no_alpha()
    }

    #[test]
    fn colours_that_are_told_apart_differ_for_all_eyes() {
        for eyes in &EYES {
            for (one, other) in [
                (USED, PEAK),
                (USED, RESERVED),
                (USED, TRACK),
                (USED, WARNING),
                (PEAK, RESERVED),
                (PEAK, TRACK),
                (RESERVED, TRACK),
            ] {
                let pairs = seen(one, eyes).into_iter().zip(seen(other, eyes));
                let squares = pairs.map(|(one, other)| (one - other).powi(2));
                let distance = squares.sum::<f32>().sqrt();
                assert!(distance > 0.25, "{one:?} {other:?}: {distance}");
            }
        }
    }

    /// Returns the contrast of two colours for eyes that see no colours at all, from 1 to 21.
    fn contrast(one: Color, other: Color) -> f32 {
        let [one, other] = [one, other].map(|color| {
            let [red, green, blue] = color.to_linear().to_f32_array_no_alpha();
            0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        });
        one.max(other) / one.min(other)
    }

    #[test]
    fn neighbours_in_the_bar_differ_without_colours() {
        let colors = [USED, PEAK, RESERVED, TRACK];
        for (index, &one) in colors.iter().enumerate() {
            for &other in &colors[..index] {
                let contrast = contrast(one, other);
                assert!(contrast > 1.5, "{one:?} {other:?}: {contrast}");
            }
        }
    }

    #[test]
    fn text_stands_out_from_what_is_behind_it() {
        let text = super::super::FrameArenaOverlayConfig::default().text_color;
        for (text, behind) in [
            (text, BACKGROUND),
            (text, TITLE),
            (text, USED),
            (text, WARNING),
            (FAINT_TEXT, BACKGROUND),
            (WARNING_TEXT, BACKGROUND),
        ] {
            let contrast = contrast(text, behind);
            assert!(contrast > 4.2, "{text:?} on {behind:?}: {contrast}");
        }
    }
}
