//! Changes what is on the screen, where it has changed.
#![forbid(unsafe_code)]

use std::fmt::{self, Write};

use bevy_color::Color;
use bevy_ecs::change_detection::DetectChangesMut;
use bevy_ecs::entity::Entity;
use bevy_ecs::system::{Local, Query, SystemParam};
use bevy_text::TextColor;
use bevy_ui::prelude::{BackgroundColor, Node, Text, Val};

/// Changes texts, lengths and colours. What stays as it is is not marked as changed, or all of it
/// would be laid out again.
#[derive(SystemParam)]
pub(super) struct Painter<'w, 's> {
    texts: Query<'w, 's, (&'static mut Text, &'static mut TextColor)>,
    nodes: Query<'w, 's, (&'static mut Node, &'static mut BackgroundColor)>,
    buffer: Local<'s, String>,
}

impl Painter<'_, '_> {
    pub(super) fn text(&mut self, entity: Entity, text: impl fmt::Display) {
        self.buffer.clear();
        if write!(self.buffer, "{text}").is_ok()
            && let Ok((mut shown, _)) = self.texts.get_mut(entity)
            && shown.0 != *self.buffer
        {
            shown.0.clone_from(&self.buffer);
        }
    }

    pub(super) fn text_color(&mut self, entity: Entity, color: Color) {
        if let Ok((_, mut shown)) = self.texts.get_mut(entity) {
            shown.set_if_neq(TextColor(color));
        }
    }

    pub(super) fn width(&mut self, entity: Entity, percent: f32) {
        let width = Val::Percent(percent);
        if let Ok((mut node, _)) = self.nodes.get_mut(entity)
            && node.width != width
        {
            node.width = width;
        }
    }

    pub(super) fn height(&mut self, entity: Entity, percent: f32) {
        let height = Val::Percent(percent);
        if let Ok((mut node, _)) = self.nodes.get_mut(entity)
            && node.height != height
        {
            node.height = height;
        }
    }

    pub(super) fn color(&mut self, entity: Entity, color: Color) {
        if let Ok((_, mut shown)) = self.nodes.get_mut(entity) {
            shown.set_if_neq(BackgroundColor(color));
        }
    }
}

/// Returns the percentage, or none of nothing.
pub(super) fn percent(part: usize, whole: usize) -> f32 {
    match whole {
        0 => 0.0,
        whole => (part as f32 / whole as f32 * 100.0).min(100.0),
    }
}
