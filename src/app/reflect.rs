//! Reflection of the report, e.g. for the Bevy Remote Protocol or an inspector.
#![forbid(unsafe_code)]

use std::sync::Arc;

use bevy_ecs::reflect::AppTypeRegistry;
use bevy_ecs::world::World;
use bevy_reflect::ReflectSerialize;
use serde::{Serialize, Serializer};

use super::report::FrameArenaReport;
use crate::arenas::{RunningTask, StaleLookup};
use crate::sites::Site;

/// Registers the report and its parts, so that all of it can be serialised.
pub(super) fn register(world: &mut World) {
    let registry = world.get_resource_or_init::<AppTypeRegistry>();
    let mut registry = registry.write();
    registry.register::<FrameArenaReport>();
    // Names of threads, which are serialised as text.
    registry.register::<Arc<str>>();
    registry.register_type_data::<Arc<str>, ReflectSerialize>();
    registry.register_type_data::<Site, ReflectSerialize>();
    registry.register_type_data::<StaleLookup, ReflectSerialize>();
    registry.register_type_data::<RunningTask, ReflectSerialize>();
}

/// Serialises types as the text of their `Display`.
macro_rules! serialize_as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}

serialize_as_text!(Site, StaleLookup, RunningTask);
