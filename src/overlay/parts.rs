//! The parts that the window is made of: rows, texts and bars of fixed sizes.
#![forbid(unsafe_code)]

use bevy_color::Color;
use bevy_ecs::entity::Entity;
use bevy_ecs::hierarchy::ChildOf;
use bevy_ecs::name::Name;
use bevy_ecs::system::Commands;
use bevy_picking::Pickable;
use bevy_text::{Justify, LineBreak, TextColor, TextFont, TextLayout};
use bevy_ui::prelude::{
    AlignItems, BackgroundColor, FlexDirection, JustifyContent, Node, Overflow, PositionType, Text,
    Val,
};

/// What was in use when the frame ended.
pub(super) const USED: Color = Color::srgb(0.08, 0.52, 0.80);
/// The most that was in use at once in the frame.
pub(super) const PEAK: Color = Color::srgb(0.96, 0.77, 0.30);
/// What is held from the global allocator.
pub(super) const RESERVED: Color = Color::srgb(0.36, 0.40, 0.47);
/// What needs attention.
pub(super) const WARNING: Color = Color::srgb(0.86, 0.15, 0.15);
/// A word about what needs attention.
pub(super) const WARNING_TEXT: Color = Color::srgb(1.0, 0.55, 0.50);
/// Words of less importance.
pub(super) const FAINT_TEXT: Color = Color::srgb(0.62, 0.66, 0.72);
/// The empty part of a bar.
pub(super) const TRACK: Color = Color::srgb(0.20, 0.23, 0.28);
/// Behind everything.
pub(super) const BACKGROUND: Color = Color::srgba(0.07, 0.09, 0.12, 0.90);
/// Behind the title.
pub(super) const TITLE: Color = Color::srgb(0.15, 0.18, 0.24);

/// The width of the window within its padding, in multiples of the font's size.
pub(super) const WIDTH_EM: f32 = 41.0;

/// The height of a line of text.
pub(super) const LINE_EM: f32 = 1.3;

/// The width of a letter, if the font is not much wider than Bevy's own.
pub(super) const LETTER_EM: f32 = 0.6;

/// Spawns parts of the window.
pub(super) struct Builder<'a, 'w, 's> {
    pub(super) commands: &'a mut Commands<'w, 's>,
    pub(super) font: TextFont,
    pub(super) color: Color,
    /// The size of the font, of which all other sizes are multiples.
    pub(super) em: f32,
}

impl Builder<'_, '_, '_> {
    pub(super) fn px(&self, ems: f32) -> Val {
        Val::Px(ems * self.em)
    }

    /// Spawns a node that the pointer goes through.
    pub(super) fn node(&mut self, parent: Entity, node: Node, color: Color) -> Entity {
        let parts = (
            node,
            BackgroundColor(color),
            Pickable::IGNORE,
            ChildOf(parent),
        );
        self.commands.spawn(parts).id()
    }

    /// Spawns a row for parts side by side.
    pub(super) fn row(&mut self, parent: Entity, height_em: f32) -> Entity {
        let node = Node {
            height: self.px(height_em),
            width: self.px(WIDTH_EM),
            flex_shrink: 0.0,
            align_items: AlignItems::Center,
            justify_content: JustifyContent::SpaceBetween,
            ..Node::default()
        };
        self.node(parent, node, Color::NONE)
    }

    /// Spawns a column for parts below each other.
    pub(super) fn column(&mut self, parent: Entity) -> Entity {
        let node = Node {
            flex_direction: FlexDirection::Column,
            flex_shrink: 0.0,
            row_gap: self.px(0.2),
            ..Node::default()
        };
        self.node(parent, node, Color::NONE)
    }

    /// Spawns a text of so many letters, at most: its place does not depend on what it says.
    pub(super) fn text(&mut self, parent: Entity, name: String, letters: f32) -> Entity {
        let node = Node {
            width: self.px(letters * LETTER_EM),
            height: self.px(LINE_EM),
            flex_shrink: 0.0,
            overflow: Overflow::clip(),
            ..Node::default()
        };
        let text = (
            Text::default(),
            self.font.clone(),
            TextColor(self.color),
            TextLayout::new(Justify::Left, LineBreak::NoWrap),
        );
        let parts = (
            Name::new(name),
            node,
            text,
            Pickable::IGNORE,
            ChildOf(parent),
        );
        self.commands.spawn(parts).id()
    }

    /// Spawns a text that ends at the right of its place.
    pub(super) fn text_to_the_right(
        &mut self,
        parent: Entity,
        name: String,
        letters: f32,
    ) -> Entity {
        let place = Node {
            width: self.px(letters * LETTER_EM),
            height: self.px(LINE_EM),
            flex_shrink: 0.0,
            justify_content: JustifyContent::FlexEnd,
            overflow: Overflow::clip(),
            ..Node::default()
        };
        let place = self.node(parent, place, Color::NONE);
        let entity = self.text(place, name, letters);
        // As wide as it is; its place is not.
        self.commands.entity(entity).insert(Node::default());
        entity
    }

    /// Spawns a text that never changes.
    pub(super) fn caption(&mut self, parent: Entity, text: &str, color: Color) -> Entity {
        let letters = text.chars().count() as f32;
        let entity = self.text(parent, String::from("caption"), letters + 0.5);
        let text = (Text::new(text), TextColor(color));
        self.commands.entity(entity).insert(text);
        entity
    }

    /// Spawns a small square of a colour that is explained beside it.
    pub(super) fn swatch(&mut self, parent: Entity, color: Color) {
        let node = Node {
            width: self.px(0.8),
            height: self.px(0.8),
            flex_shrink: 0.0,
            ..Node::default()
        };
        self.node(parent, node, color);
    }

    /// Spawns the filled part of a bar, in the track that is its parent.
    pub(super) fn fill(&mut self, parent: Entity, name: String, color: Color) -> Entity {
        let node = Node {
            position_type: PositionType::Absolute,
            left: Val::ZERO,
            top: Val::ZERO,
            height: Val::Percent(100.0),
            width: Val::Percent(0.0),
            ..Node::default()
        };
        let entity = self.node(parent, node, color);
        self.commands.entity(entity).insert(Name::new(name));
        entity
    }
}
