//! Nothing: without the feature `sites`, there are no rows for them.
#![forbid(unsafe_code)]

use bevy_ecs::entity::Entity;

use super::painter::Painter;
use super::parts::Builder;
use crate::arenas::FrameUsage;

pub(super) struct SiteRows;

impl SiteRows {
    pub(super) fn spawn(_builder: &mut Builder, _block: Entity, _prefix: &str) -> Self {
        Self
    }

    pub(super) fn draw(&self, _painter: &mut Painter, _usage: &FrameUsage) {}
}
