//! System parameters: what a system asks for without naming the resource behind it.
#![expect(unsafe_code, reason = "`SystemParam` is an unsafe trait")]

use bevy_ecs::change_detection::Tick;
use bevy_ecs::prelude::*;
use bevy_ecs::system::{
    ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError,
};
use bevy_ecs::world::unsafe_world_cell::UnsafeWorldCell;

use crate::arenas::{FrameArenas, Scratch};

const MISSING: &str = "`Scratch` takes its memory from the resource `FrameArenas`, which does not \
                       exist: add `FrameArenaPlugin`";

/// What it reads of the world.
type Arenas<'w> = Res<'w, FrameArenas>;

// SAFETY: the access that is registered is that of `Res<FrameArenas>`, and nothing else is used.
unsafe impl SystemParam for Scratch<'_> {
    type State = <Arenas<'static> as SystemParam>::State;
    type Item<'w, 's> = Scratch<'w>;

    fn init_state(world: &mut World) -> Self::State {
        Arenas::init_state(world)
    }

    fn init_access(
        state: &Self::State,
        system_meta: &mut SystemMeta,
        system_access: &mut SystemAccess,
        world: &mut World,
    ) {
        Arenas::init_access(state, system_meta, system_access, world);
    }

    #[inline]
    unsafe fn get_param<'w>(
        state: &mut Self::State,
        system_meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        change_tick: Tick,
    ) -> Result<Scratch<'w>, SystemParamValidationError> {
        // SAFETY: the caller's promises are those that `Res` asks for: same state, same access.
        let arenas = unsafe { Arenas::get_param(state, system_meta, world, change_tick) }
            .map_err(|_| SystemParamValidationError::invalid::<Self>(MISSING))?;
        Ok(arenas.into_inner().scratch())
    }
}

// SAFETY: `Res` is read-only.
unsafe impl ReadOnlySystemParam for Scratch<'_> {}
