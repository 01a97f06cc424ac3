//! System parameters: what a system asks for without naming the resource behind it.
#![expect(unsafe_code, reason = "`SystemParam` is an unsafe trait")]

use bevy_ecs::change_detection::Tick;
use bevy_ecs::prelude::*;
use bevy_ecs::system::{
    ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError,
};
use bevy_ecs::world::unsafe_world_cell::UnsafeWorldCell;

use crate::arenas::{FrameArenas, Scratch};
use crate::sites::SystemPlace;

const MISSING: &str = "`Scratch` takes its memory from the resource `FrameArenas`, which does not \
                       exist: add `FrameArenaPlugin`";

/// What it reads of the world.
type Arenas<'w> = Res<'w, FrameArenas>;

/// What a system keeps for its parameter.
pub struct ScratchState {
    arenas: <Arenas<'static> as SystemParam>::State,
    /// Who takes the memory, if the feature `sites` is on.
    place: SystemPlace,
}

// SAFETY: the access that is registered is that of `Res<FrameArenas>`, and nothing else is used.
unsafe impl SystemParam for Scratch<'_> {
    type State = ScratchState;
    type Item<'w, 's> = Scratch<'w>;

    fn init_state(world: &mut World) -> Self::State {
        ScratchState {
            arenas: Arenas::init_state(world),
            place: SystemPlace::default(),
        }
    }

    fn init_access(
        state: &Self::State,
        system_meta: &mut SystemMeta,
        system_access: &mut SystemAccess,
        world: &mut World,
    ) {
        Arenas::init_access(&state.arenas, system_meta, system_access, world);
    }

    #[inline]
    unsafe fn get_param<'w>(
        state: &mut Self::State,
        system_meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        change_tick: Tick,
    ) -> Result<Scratch<'w>, SystemParamValidationError> {
        // SAFETY: the caller's promises are those that `Res` asks for: same state, same access.
        let arenas =
            unsafe { Arenas::get_param(&mut state.arenas, system_meta, world, change_tick) }
                .map_err(|_| SystemParamValidationError::invalid::<Self>(MISSING))?;
        let place = state.place.named(system_meta.name());
        Ok(arenas.into_inner().scratch_for(place))
    }
}

// SAFETY: `Res` is read-only.
unsafe impl ReadOnlySystemParam for Scratch<'_> {}
